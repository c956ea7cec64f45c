"""The monitor of a training as a callback of the trainers that people use: Hugging Face's, and Lightning's."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._errors import UsageError

if TYPE_CHECKING:
    from ._training import TrainingMonitor

_LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


class Losses:
    """The losses of the passes that one step of the optimizer is of, and the monitor that is told their mean."""

    def __init__(self, monitor: TrainingMonitor) -> None:
        self._monitor = monitor
        self._losses: list[Any] = []

    def begin(self, model: Any, batch: Any = None) -> None:
        """A step begins; a monitor that does not run is started."""
        if not self._monitor.running:
            self._monitor.__enter__()
        if self._monitor.model is None:
            self._monitor.model = model
        if not self._losses:
            self._monitor.begin(batch)

    def add(self, loss: Any) -> None:
        """A pass came to this loss."""
        if loss is not None:
            self._losses.append(loss.detach() if hasattr(loss, "detach") else loss)

    def end(self) -> None:
        """The gradients of a step are there."""
        losses, self._losses = self._losses, []
        if losses and self._monitor.running:
            self._monitor.step(sum(float(each) for each in losses) / len(losses))


def hugging_face(monitor: TrainingMonitor) -> Any:
    """The monitor as a callback of Hugging Face's trainer."""
    try:
        base = importlib.import_module("transformers").TrainerCallback
    except (ImportError, AttributeError) as error:
        raise UsageError(f"transformers cannot be imported: {error}", hint="pip install transformers") from error
    losses = Losses(monitor)

    class MonitorCallback(base):  # type: ignore[misc, valid-type]
        """Tells a ``prlx.TrainingMonitor`` each step."""

        _hook: Any = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            self.on_train_end(args, state, control)
            self._hook = given["model"].register_forward_hook(_note)

        def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
            losses.begin(given["model"])

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
            losses.end()

        def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
            if self._hook is not None:
                self._hook.remove()
                self._hook = None
                monitor.close()

    def _note(model: Any, given: Any, output: Any) -> None:  # noqa: ARG001
        if model.training:
            losses.add(output.get("loss") if hasattr(output, "get") else getattr(output, "loss", None))

    return MonitorCallback()


def lightning(monitor: TrainingMonitor) -> Any:
    """The monitor as a callback of Lightning's trainer, of whichever of its two packages the program uses."""
    names = sorted(_LIGHTNING, key=lambda name: name not in sys.modules)
    for name in names:
        try:
            base = importlib.import_module(name).Callback
            break
        except ImportError:
            continue
    else:
        raise UsageError("Lightning cannot be imported", hint="pip install lightning")
    losses = Losses(monitor)

    class MonitorCallback(base):  # type: ignore[misc, valid-type]
        """Tells a ``prlx.TrainingMonitor`` each step."""

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:  # noqa: ARG002
            losses.begin(pl_module, batch)

        def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:  # noqa: ARG002
            losses.add(loss * trainer.accumulate_grad_batches)  # Lightning has divided it

        def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:  # noqa: ARG002
            losses.end()

        def on_fit_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
            monitor.close()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:  # noqa: ARG002
            monitor.close()

    return MonitorCallback()
