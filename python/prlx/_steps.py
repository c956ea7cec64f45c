"""Tapes of training steps: what each operator of a run got and made, written while it runs."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import sys
import threading
import warnings
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from . import _core, _request
from ._errors import PrlxError, UsageError
from ._units import format_bytes, plural
from .hooks.operators import Listener
from .hooks.tensors import Layout, Record, Slot, type_name

if TYPE_CHECKING:
    from ._request import Path as AnyPath

LIMIT = 4 << 30  # bytes of a tape without a ring, unless more are allowed
_ENVIRONMENT = (
    "CUBLAS_WORKSPACE_CONFIG",
    "MKL_NUM_THREADS",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_NUM_THREADS",
    "PYTHONHASHSEED",
)

_running: Steps | None = None  # a process takes one tape at a time
_lock = threading.Lock()


class Steps:
    """A tape that is being written: ``with prlx.torch.steps(path) as tape:``.

    Attributes
    ----------
    path
        The file, with the rank in its name where the run has several.
    step_number
        The number of the step that runs; -1 before the first.
    operators
        How many records were taken.
    failed
        Why taking stopped before the run did; None while it goes on.
    """

    def __init__(self, path: Path, *, every: int, ring: int | None, level: str, limit: int, overwrite: bool) -> None:
        self.path = path
        self.operators = 0
        self.failed: str | None = None
        self.bytes = 0
        self._places: dict[Any, tuple[int, Layout]] = {}
        self._looked: dict[tuple[Slot, ...], tuple[Layout, bytes]] = {}  # slots that were looked at before a call
        self._asked = {"every": every, "ring": ring or 0, "level": level, "limit": limit, "overwrite": overwrite}
        self._tape: int | None = None
        self._owner = os.getpid()
        self._listener = Listener(self, every=every, modules=level == "modules", failed=self._stopped)

    @property
    def step_number(self) -> int:
        """The number of the step that runs; -1 before the first."""
        return self._listener.number

    def begin_step(self) -> None:
        """Say that a step begins here, where no optimizer of torch says so.

        Without it a step begins with what comes after an optimizer's ``step``; after the first call, with each call alone.
        """
        self._listener.step()

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """A block in which nothing is taken: what is computed there is no part of the training."""
        return self._listener.paused()

    def save(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Write the steps that the tape has, up to now, as a tape of its own; this one goes on."""
        asked = {"tape": self._tape, "path": _request.absolute(path), "overwrite": overwrite}
        _core.call("tape_save", asked)

    def __enter__(self) -> Steps:
        global _running
        with _lock:
            if _running is not None:
                raise UsageError(f"a tape is being written: {_running.path}", hint="a process writes one at a time")
            rank, ranks = _rank()
            if ranks > 1:
                self.path = self.path.with_name(f"{self.path.stem}.rank{rank}{self.path.suffix}")
            run = {
                "level": self._asked["level"],
                "every": self._asked["every"],
                "ring": self._asked["ring"],
                "rank": rank,
                "ranks": ranks,
                "facts": [{"name": name, "value": value} for name, value in sorted(_facts().items())],
            }
            asked = {
                "path": _request.absolute(self.path),
                "run": run,
                "limit": self._asked["limit"],
                "overwrite": self._asked["overwrite"],
            }
            self._tape = _core.call("tape_open", asked)["tape"]
            try:
                self._listener.open()
            except BaseException:
                self._close()
                raise
            _running = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the tape; every hook is removed."""
        global _running
        with _lock:
            if _running is self:
                _running = None
        self._listener.close()
        self._close()

    def _close(self) -> None:
        tape, self._tape = self._tape, None
        if tape is None or os.getpid() != self._owner:
            return
        said = {"tape": tape, "skipped": dict(self._listener.skipped), "failed": self.failed or ""}
        try:
            self.bytes = _core.call("tape_close", said)["bytes"]
        except PrlxError as error:
            if self.failed is None:  # else it was said, and a training does not end for its tape
                self._stopped(str(error))

    def _stopped(self, why: str) -> None:
        """Taking cannot go on; the training does."""
        self.failed = why
        warnings.warn(f"the tape {self.path} ends here, the training goes on: {why}", stacklevel=2)

    # what the listener calls

    def step(self, number: int) -> None:
        """A step begins that is to be taken."""
        _core.call("tape_step", {"tape": self._tape, "number": number})

    def look(self, record: Record) -> None:
        """Look at tensors before an operator writes some of them."""
        slots = tuple(record.slots)
        known = self._looked.get(slots)
        if known is None:
            types = ",".join(type_name(slot[2]) for slot in slots)
            known = self._looked[slots] = (Layout.of(slots), types.encode())
        layout, types_text = known
        if layout.uneven:
            layout.settle(record)
        _core.call_packed("tape_look", (self._tape or 0, len(slots), *record.addresses, *layout.sizes), types_text)

    def add(self, record: Record, generator: list[int] | None) -> None:
        """Write the record of an operator that ran."""
        key = (record.module, record.cls, record.operator, record.phase, record.line, record.held, *record.slots)
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = (self._define(record), Layout.of(record.slots[record.held :]))
        place, layout = known
        if layout.uneven:
            layout.settle(record)
        _core.call_packed(
            "tape_add",
            (
                *(self._tape or 0, place, record.held > 0, len(layout.sizes)),
                *record.addresses,
                *layout.sizes,
                *((0,) if generator is None else (5, *generator)),
            ),
            record.scalars.encode(errors="replace"),
        )
        self.operators += 1

    def _define(self, record: Record) -> int:
        names = ("role", "name", "type", "shape", "stride")
        place: dict[str, int] = _core.call(
            "tape_place",
            {
                "tape": self._tape,
                "module": record.module,
                "class": record.cls,
                "operator": record.operator,
                "phase": record.phase,
                "line": record.line,
                "slots": [
                    dict(zip(names, (role, name, type_name(kind), shape, stride), strict=True))
                    for role, name, kind, shape, stride, *_ in record.slots
                ],
            },
        )
        return place.get("place", 0)

    def __repr__(self) -> str:
        state = "ended" if self._tape is None else "running"
        size = f", {format_bytes(self.bytes)}" if self.bytes else ""
        return (
            f"<Steps: {state}, {plural(self._listener.number + 1, 'step')}, {plural(self.operators, 'record')}{size}>"
        )


def steps(
    path: AnyPath,
    *,
    every: int = 1,
    ring: int | None = None,
    level: Literal["operators", "modules"] = "operators",
    limit: int = LIMIT,
    overwrite: bool = False,
) -> Steps:
    """Write down what the operators of training steps get and make: ``with prlx.torch.steps("a.tape"):``.

    Each operator is one record: its module, its phase (forward, backward or optimizer), digests of what it got and made, how
    much of that is NaN or infinite, the largest value, and the state of the random numbers around it. ``prlx diff`` compares
    two tapes and names the first operator that made something else of the same inputs. Outside of the block nothing of torch
    is touched.

    Parameters
    ----------
    path
        The tape to write. In a job of several ranks ``.rank3`` comes before the ending.
    every
        Take one step in so many.
    ring
        Keep only so many of the last steps; ``None`` keeps all.
    level
        ``"operators"`` takes each operator below autograd, ``"modules"`` what modules got and made, gradients and parameters.
    limit
        Bytes that the tape may have; records beyond it are dropped and counted.
    overwrite
        Replace a tape that exists.

    Returns
    -------
    Steps
        Enter it with ``with``.

    Raises
    ------
    UsageError
        torch cannot be imported, or an argument makes no sense.
    """
    if every < 1 or (ring is not None and ring < 1):
        raise UsageError(f"every={every}, ring={ring}: expected 1 or more")
    if level not in ("operators", "modules"):
        raise UsageError(f"there is no level {level!r}", hint="operators or modules")
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise UsageError(f"torch cannot be imported: {error}", hint="tapes are of programs that use torch") from error
    return Steps(
        Path(path).expanduser().absolute(), every=every, ring=ring, level=level, limit=limit, overwrite=overwrite
    )


def _rank() -> tuple[int, int]:
    """The rank of this process, and of how many."""
    distributed = importlib.import_module("torch").distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    try:
        return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    except ValueError:
        return 0, 1


def _facts() -> dict[str, str]:
    """What is true of the whole run and can make it differ from another: versions, settings, seeds, numbers of threads."""
    torch = importlib.import_module("torch")
    facts = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "machine": platform.machine(),
        "cpu": str(torch.backends.cpu.get_cpu_capability()),
        "threads": str(torch.get_num_threads()),
        "interop threads": str(torch.get_num_interop_threads()),
        "seed": str(torch.initial_seed()),
        "default type": str(torch.get_default_dtype()).removeprefix("torch."),
        "deterministic algorithms": str(torch.are_deterministic_algorithms_enabled()),
        "float32 precision of products": str(torch.get_float32_matmul_precision()),
    }
    if "numpy" in sys.modules:
        facts["numpy"] = str(sys.modules["numpy"].__version__)
    if torch.cuda.is_available():
        facts["cuda"] = str(torch.version.cuda)
        facts["gpu"] = torch.cuda.get_device_name()
        facts["cudnn"] = str(torch.backends.cudnn.version())
        facts["cudnn benchmark"] = str(torch.backends.cudnn.benchmark)
    for name in _ENVIRONMENT:
        if name in os.environ:
            facts[name] = os.environ[name]
    return facts
