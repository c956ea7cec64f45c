"""Watching a training: its loss and the size of its gradients, and a tape of the steps before something goes wrong."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import statistics
import warnings
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from . import _core, _request
from ._errors import FileAccessError, PrlxError, UsageError
from ._replay import Keeper
from ._result import Brief
from ._units import format_bytes, plural

if TYPE_CHECKING:
    from ._request import Path as AnyPath
    from ._steps import Steps

LOG = "anomaly_log.jsonl"
_RING = "ring.tape"
_LEAST = 5  # losses before a jump can be told
_REFRESH = 50  # steps after which the model is asked again which parameters it has


@dataclass(frozen=True, repr=False)
class Anomaly(Brief):
    """Something that a training should not do; a line of ``anomaly_log.jsonl``.

    Attributes
    ----------
    step
        The number of the step.
    kind
        ``loss-not-finite``, ``loss-jump``, ``gradient-not-finite`` or ``gradient-large``.
    value
        The loss, or the norm of the gradients, as text: JSON has no NaN.
    limit
        What it should not exceed; empty where it should be finite.
    tape
        The name of the tape with this step and those before it; None where none was kept.
    maker
        The first operator in the tape that made NaN or infinite elements, in a sentence; empty where none did.
    replay
        The name of the file from which ``prlx.torch.replay`` runs the step again; None where none was kept.

    Examples
    --------
    >>> prlx.Anomaly(7, "loss-jump", "9.5", "2.0", None, "").kind
    'loss-jump'
    """

    step: int
    kind: str
    value: str
    limit: str
    tape: str | None
    maker: str
    replay: str | None = None


class TrainingMonitor:
    """Watches the loss and the gradients of a training, and keeps tapes of the steps before an anomaly.

    Every anomaly is a line of ``anomaly_log.jsonl``, written at once. With ``ring`` a tape of the last steps is kept, and of an
    anomaly the steps up to it, itself included, are saved.

    Parameters
    ----------
    directory
        Where the log and the tapes go; it is made.
    model
        A module of torch whose gradients' norm is looked at in each step; ``None`` looks at the loss alone.
    loss_threshold
        A loss above so many times the median of the last ones is a jump.
    gradient_threshold
        A norm of the gradients above this is large.
    window
        How many losses the median is of.
    ring
        Keep a tape of so many of the last steps; ``None`` takes none, and nothing listens to torch.
    most
        So many tapes, and so many replays, are saved at most.
    snapshot
        Objects that have a state dict (model, optimizer, scheduler) by name: their states and those of random numbers are
        copied every so many steps, and the batches that ``begin`` is given since then, to run an anomalous step again.
    snapshot_every
        A snapshot comes every so many steps.
    snapshot_limit
        Bytes that a snapshot may have; ``snapshot_bytes`` says how many it will.
    overwrite
        Replace the log and tapes of an earlier run.

    Attributes
    ----------
    anomalies
        What was found so far.
    model
        The module whose gradients are looked at; None until somebody says which.
    snapshot_bytes
        How many bytes of memory a snapshot takes, before the first is made; 0 without snapshots.

    Examples
    --------
    >>> with prlx.TrainingMonitor("watched") as monitor:
    ...     for loss in (1.0, 0.9, float("nan")):
    ...         found = monitor.step(loss)
    >>> found[0].kind, found[0].step
    ('loss-not-finite', 2)
    """

    def __init__(
        self,
        directory: AnyPath,
        *,
        model: Any = None,
        loss_threshold: float = 2.0,
        gradient_threshold: float = 100.0,
        window: int = 50,
        ring: int | None = None,
        most: int = 10,
        snapshot: Mapping[str, Any] | None = None,
        snapshot_every: int = 100,
        snapshot_limit: int = 4 << 30,
        overwrite: bool = False,
    ) -> None:
        if not (loss_threshold > 1 and gradient_threshold > 0 and window >= _LEAST):
            raise UsageError(
                f"loss_threshold={loss_threshold}, gradient_threshold={gradient_threshold}, window={window}: expected "
                f"more than 1, more than 0, and {_LEAST} or more"
            )
        if snapshot_every < 1:
            raise UsageError(f"snapshot_every={snapshot_every}: expected 1 or more")
        self._keeper = Keeper(snapshot, snapshot_every) if snapshot else None
        self.snapshot_bytes = 0 if self._keeper is None else self._keeper.expected()
        if self.snapshot_bytes > snapshot_limit:
            raise UsageError(
                f"a snapshot takes {format_bytes(self.snapshot_bytes)} of memory, allowed are {format_bytes(snapshot_limit)}",
                hint=f"snapshot_limit={self.snapshot_bytes} allows it",
            )
        self.directory = Path(_request.absolute(directory))
        self.anomalies: list[Anomaly] = []
        self.model = model
        self._loss_threshold, self._gradient_threshold = loss_threshold, gradient_threshold
        self._losses: deque[float] = deque(maxlen=window)
        self._ring, self._most, self._overwrite = ring, most, overwrite
        self._torch: Any = None
        self._parameters: list[Any] = []
        self._number = 0
        self._saved = 0
        self._replays = 0
        self._log: IO[str] | None = None
        self._tape: Steps | None = None

    @property
    def running(self) -> bool:
        """Whether it watches: it was entered and not closed."""
        return self._log is not None

    def hugging_face(self) -> Any:
        """The monitor as a callback of Hugging Face's trainer.

        It begins with the training and ends with it, and watches the model of the trainer. A step's loss is the mean of what
        its passes came to; the trainer has clipped the gradients before they are looked at.

        Returns
        -------
        transformers.TrainerCallback

        Examples
        --------
        >>> monitor = prlx.TrainingMonitor("watched", ring=3)
        >>> trainer = transformers.Trainer(model, callbacks=[monitor.hugging_face()])  # doctest: +SKIP
        """
        from ._callbacks import hugging_face

        return hugging_face(self)

    def lightning(self) -> Any:
        """The monitor as a callback of Lightning's trainer.

        It begins with the first batch and ends with the fit, and watches the trainer's module. Batches go to ``begin``.

        Returns
        -------
        lightning.pytorch.Callback

        Examples
        --------
        >>> monitor = prlx.TrainingMonitor("watched", ring=3)
        >>> trainer = lightning.Trainer(callbacks=[monitor.lightning()])  # doctest: +SKIP
        """
        from ._callbacks import lightning

        return lightning(self)

    def __enter__(self) -> TrainingMonitor:
        self.directory.mkdir(parents=True, exist_ok=True)
        log = self.directory / LOG
        if log.exists() and not self._overwrite:
            raise FileAccessError("already exists", path=str(log), hint="overwrite=True replaces it")
        self._log = log.open("w", encoding="utf-8")
        if self._ring is not None:
            from ._steps import steps

            self._tape = steps(self.directory / _RING, ring=self._ring, overwrite=True)
            self._tape.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End watching; hooks are removed.

        Examples
        --------
        >>> monitor = prlx.TrainingMonitor("watched").__enter__()
        >>> monitor.step(0.5)
        ()
        >>> monitor.close()
        """
        if self._tape is not None:
            self._tape.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    def begin(self, batch: Any = None) -> None:
        """Say that a step begins, with this batch, before anything of it is computed. Snapshots need it.

        Parameters
        ----------
        batch
            What the step is given: tensors, numbers and texts, in lists, tuples and dictionaries. A copy is kept.

        Examples
        --------
        >>> with prlx.TrainingMonitor("watched") as monitor:
        ...     monitor.begin([1, 2])
        ...     found = monitor.step(0.5)
        """
        if self._keeper is not None:
            with self._tape.paused() if self._tape is not None else contextlib.nullcontext():
                self._keeper.begin(self._number, batch)

    def step(self, loss: Any) -> tuple[Anomaly, ...]:
        """Say what a step came to, after its backward pass.

        Parameters
        ----------
        loss
            A number, or a tensor with one element.

        Returns
        -------
        tuple of Anomaly
            What is wrong with this step; empty where nothing is.

        Examples
        --------
        >>> with prlx.TrainingMonitor("watched") as monitor:
        ...     found = [kind.kind for loss in (1, 1, 1, 1, 1, 5) for kind in monitor.step(loss)]
        >>> found
        ['loss-jump']
        """
        if self._log is None:
            raise UsageError("the monitor does not run", hint="with prlx.TrainingMonitor(directory) as monitor:")
        if self._tape is None:
            value, norm = _number(loss), self._norm()
        else:
            with self._tape.paused():  # what we compute is no part of the training
                value, norm = _number(loss), self._norm()
        if self._keeper is not None:
            self._keeper.end(value)
        wrong = list(self._judge(value, norm))
        found: tuple[Anomaly, ...] = ()
        if wrong:
            tape, maker = self._capture()
            replay = self._save_replay()
            found = tuple(Anomaly(self._number, kind, said, limit, tape, maker, replay) for kind, said, limit in wrong)
            for each in found:
                self._log.write(json.dumps(asdict(each)) + "\n")
            self._log.flush()
            self.anomalies += found
        self._number += 1
        return found

    def _norm(self) -> float | None:
        """The norm of all gradients together."""
        if self.model is None:
            return None
        if self._number % _REFRESH == 0 or not self._parameters:
            self._parameters = list(self.model.parameters())
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        if not gradients:
            return None
        if self._torch is None:
            self._torch = importlib.import_module("torch")
        with self._torch.no_grad():
            return float(self._torch.nn.utils.get_total_norm(gradients))

    def _judge(self, loss: float, norm: float | None) -> Iterable[tuple[str, str, str]]:
        """What is wrong with a loss and a norm: kind, value and limit."""
        if not math.isfinite(loss):
            yield "loss-not-finite", str(loss), ""
        else:
            if len(self._losses) >= _LEAST:
                limit = self._loss_threshold * statistics.median(self._losses)
                if limit > 0 and loss > limit:
                    yield "loss-jump", f"{loss:.9g}", f"{limit:.9g}"
            self._losses.append(loss)
        if norm is not None and not math.isfinite(norm):
            yield "gradient-not-finite", str(norm), ""
        elif norm is not None and norm > self._gradient_threshold:
            yield "gradient-large", f"{norm:.9g}", f"{self._gradient_threshold:.9g}"

    def _capture(self) -> tuple[str | None, str]:
        """Save the steps up to this one, and ask who made the first NaN in them."""
        if self._tape is None or self._saved >= self._most:
            return None, ""
        name = f"step_{self._number}.tape"
        try:
            self._tape.save(self.directory / name, overwrite=self._overwrite)
            paths = [{"path": str(self.directory / name)}]
            tape = _core.run("inspect", {"paths": paths})["files"][0]["tape"]
        except PrlxError as error:  # a training does not end for its tape
            return None, f"no tape: {error}"
        self._saved += 1
        made = tape["first_maker"] or tape["first_carrier"]
        return name, made["text"] if made else ""

    def _save_replay(self) -> str | None:
        """Write what it takes to run this step again."""
        if self._keeper is None or self._replays >= self._most:
            return None
        name = f"step_{self._number}.replay"
        try:
            if not self._keeper.save(self.directory / name):
                return None
        except (OSError, RuntimeError) as error:  # a training does not end for it
            warnings.warn(f"no replay of step {self._number}: {error}", stacklevel=3)
            return None
        self._replays += 1
        return name

    def __repr__(self) -> str:
        return f"<TrainingMonitor: {plural(self._number, 'step')}, {len(self.anomalies)} anomalies>"


def _number(loss: Any) -> float:
    """A loss as a number, without a word about its gradient."""
    return float(loss.detach() if hasattr(loss, "detach") else loss)
