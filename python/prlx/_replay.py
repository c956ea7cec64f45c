"""A step of a training that is run again: what a monitor kept of it, and the run that has everything taken."""

from __future__ import annotations

import copy
import importlib
import math
import random
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._errors import FileAccessError, TraceFormatError, UsageError
from ._result import Brief
from ._steps import steps
from ._units import plural

if TYPE_CHECKING:
    from ._request import Path as AnyPath

_VERSION = 1


def _moved(value: Any, move: Callable[[Any], Any]) -> Any:
    """A copy of tensors in lists, tuples and dictionaries; other values are copied as they are."""
    if hasattr(value, "detach"):
        return move(value)
    if isinstance(value, Mapping):
        return {key: _moved(each, move) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return (
            [_moved(each, move) for each in value]
            if isinstance(value, list)
            else tuple(_moved(each, move) for each in value)
        )
    return copy.deepcopy(value)


def _kept(value: Any) -> Any:
    """A copy that nobody changes."""
    return _moved(value, lambda tensor: tensor.detach().clone())


def _bytes(value: Any) -> int:
    """How many bytes tensors within a value have."""
    if hasattr(value, "detach"):
        return int(value.numel() * value.element_size())
    if isinstance(value, Mapping):
        return sum(map(_bytes, value.values()))
    return sum(map(_bytes, value)) if isinstance(value, (list, tuple)) else 0


def _random_states(torch: Any) -> dict[str, Any]:
    """The states of the generators that a training draws from."""
    states: dict[str, Any] = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    if "numpy" in sys.modules:
        name, keys, *rest = sys.modules["numpy"].random.get_state()
        states["numpy"] = (str(name), [int(key) for key in keys], *rest)
    return states


def _restore_random(torch: Any, states: Mapping[str, Any]) -> None:
    torch.set_rng_state(states["torch"])
    version, inner, gauss = states["python"]
    random.setstate((version, tuple(inner), gauss))
    if "cuda" in states:
        torch.cuda.set_rng_state_all(states["cuda"])
    if "numpy" in states:
        importlib.import_module("numpy").random.set_state(tuple(states["numpy"]))


@dataclass
class Keeper:
    """Keeps a snapshot every so many steps, and the batches since the last, in memory.

    Attributes
    ----------
    parts
        What has a state: a model, its optimizer, a scheduler.
    every
        A snapshot comes every so many steps.
    """

    parts: Mapping[str, Any]
    every: int
    _first: int = 0  # the step that the snapshot is of
    _snapshot: dict[str, Any] | None = None
    _batches: list[Any] = field(default_factory=list)
    _random: list[dict[str, Any]] = field(default_factory=list)
    _losses: list[float] = field(default_factory=list)

    def expected(self) -> int:
        """How many bytes a snapshot will have; the state of an optimizer that has none yet counts as two of each parameter."""
        total = 0
        for part in self.parts.values():
            state = part.state_dict()
            total += _bytes(state)
            if "param_groups" in state and not state.get("state"):
                total += 2 * sum(_bytes(group["params"]) for group in part.param_groups)
        return total

    def begin(self, number: int, batch: Any) -> None:
        """A step begins."""
        torch = importlib.import_module("torch")
        if self._snapshot is None or number % self.every == 0:
            states = {name: _kept(part.state_dict()) for name, part in self.parts.items()}
            self._snapshot = states
            self._first, self._batches, self._random, self._losses = number, [], [], []
        self._batches.append(_kept(batch))
        self._random.append(_random_states(torch))  # whoever makes batches may draw some between two steps

    def end(self, loss: float) -> None:
        """What the step came to."""
        self._losses.append(loss)

    def save(self, path: Path) -> bool:
        """Write the snapshot, and the batches and losses since; whether there are any."""
        if self._snapshot is None or len(self._batches) != len(self._losses):
            return False
        whole = {
            "version": _VERSION,
            "first": self._first,
            "states": self._snapshot,
            "random": self._random,
            "batches": self._batches,
            "losses": self._losses,
        }
        importlib.import_module("torch").save(whole, path)
        return True


@dataclass(frozen=True, repr=False)
class Replay(Brief):
    """What came of running a step again.

    Attributes
    ----------
    step
        The number of the step.
    reproduced
        Whether all steps since the snapshot came to the same loss, bit for bit.
    tape
        The tape of the step, of each operator.
    maker
        The first operator that made NaN or infinite elements in it, in a sentence; empty where none did.
    text
        What came of it, in a sentence.
    """

    step: int
    reproduced: bool
    tape: Path
    maker: str
    text: str


def _same(a: float, b: float) -> bool:
    return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))


def replay(
    path: AnyPath,
    train_step: Callable[[Any], Any],
    parts: Mapping[str, Any],
    *,
    tape: AnyPath | None = None,
    overwrite: bool = False,
) -> Replay:
    """Run the step that a monitor saved again, with a tape of each operator.

    States are set to those of the snapshot before the step, and the batches since then are trained again, each with the random
    numbers that it had. The last of them is the step.

    Parameters
    ----------
    path
        A ``step_*.replay`` that ``prlx.TrainingMonitor(snapshot=...)`` wrote.
    train_step
        Is given a batch, trains with it, the optimizer's step included, and returns the loss.
    parts
        Objects of the names that the monitor was given; their states are replaced.
    tape
        Where the tape goes; beside the replay by default.
    overwrite
        Replace a tape that exists.

    Returns
    -------
    Replay
        Whether it went as before, and who made the first NaN.

    Raises
    ------
    UsageError
        The parts are not those of the snapshot.
    """
    torch = importlib.import_module("torch")
    source = Path(_request.absolute(path))
    saved = _load(torch, source)
    if set(parts) != set(saved["states"]):
        raise UsageError(f"got {sorted(parts)}, the snapshot is of {sorted(saved['states'])}")
    for name, part in parts.items():
        part.load_state_dict(saved["states"][name])
    target = Path(_request.absolute(tape)) if tape is not None else source.with_suffix(".replayed.tape")
    last = len(saved["batches"]) - 1
    said = ""
    for number, (batch, before) in enumerate(zip(saved["batches"], saved["losses"], strict=True)):
        _restore_random(torch, saved["random"][number])
        if number < last:
            loss = train_step(batch)
        else:
            with steps(target, overwrite=overwrite) as taken:
                taken.begin_step()
                loss = train_step(batch)
        now = float(loss.detach() if hasattr(loss, "detach") else loss)
        if not said and not _same(now, before):
            said = f"the loss of step {saved['first'] + number} was {before:.9g} and is {now:.9g} now"
    found = _core.run("inspect", {"paths": [{"path": str(target)}]})["files"][0]["tape"]
    made = found["first_maker"] or found["first_carrier"]
    maker = made["text"] if made else ""
    if said:
        text = f"the step does not reproduce: {said}; what this tape shows need not be what happened"
    else:
        text = f"the step went as before, {plural(last + 1, 'step')} after the snapshot" + (
            f"; {maker}" if maker else ""
        )
    return Replay(saved["first"] + last, not said, target, maker, text)


def _load(torch: Any, path: Path) -> Mapping[str, Any]:
    """What was saved. Nothing in the file is executed."""
    try:
        saved = torch.load(path, weights_only=True, map_location="cpu")
    except OSError as error:
        raise FileAccessError(error.strerror or str(error), path=str(path)) from error
    except Exception as error:
        raise TraceFormatError(
            f"cannot be read: {error}", path=str(path), hint="batches of tensors, numbers and texts can"
        ) from error
    if not isinstance(saved, dict) or saved.get("version") != _VERSION:
        raise TraceFormatError("is no replay of this version of prlx", path=str(path))
    return saved
