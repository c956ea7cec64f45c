"""Launching kernels on the simulator: how, on which memory, from which text, and what is said of what the checks found."""

from __future__ import annotations

import base64
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import FindingError, FindingWarning, IncompatibleTracesError, SimulationError, UsageError
from ._names import with_names
from ._simulation import Simulation
from ._stops import Stop, places
from ._units import plural

if TYPE_CHECKING:
    from ._progress import Progress
    from ._standing import Standing
    from .hooks.launch import Function, Launch, Parameter, Storage

_TABLES = ("*i64", "*u64")  # types of arguments that can be tables of pointers


@dataclass(frozen=True)
class Options:
    """How the simulator runs launches.

    Attributes
    ----------
    seed
        Permutes the order of blocks and warps; 0 is ascending.
    stop
        The first finding ends the launch and raises ``FindingError``.
    nan
        Report instructions that make a NaN of numbers.
    races
        Look for races and uninitialised reads in shared memory.
    global_races
        Look for races in global memory by happens-before, too; a launch whose blocks meet there runs on one worker.
    warp_races
        Look for races between lanes of one warp in shared memory, too.
    views
        Look for accesses outside of the view that was passed, in the array that it is a view of.
    convergence
        Look for instructions that need the whole warp at once, and that a GPU may execute with a part of it.
    counts
        Count per line.
    max_findings
        Distinct findings that are kept of a launch.
    max_instructions
        Instructions of warps after which a launch ends with an error; None for 10^10, which take minutes, 0 for no limit.
    heap
        Bytes of the heap that ``malloc`` in a kernel takes from; None for 8 MiB, as a GPU has it. It belongs to the module,
        and keeps its size once ``malloc`` was called. It takes twice as many bytes of the memory limit.
    empty
        Arguments whose arrays nobody wrote before a launch, such as those of ``torch.empty``, by name: reads of what the launch
        did not write itself are ``uninitialised-global``.
    empty_somewhere
        Likewise, of launches that have arguments of these names.
    touched
        Say which blocks touched which elements of which array, for the pictures of a page.
    breaks
        Lines, ``FILE:LINE`` or ``FILE:LINE:LANE``, at which is looked what lanes hold.
    max_stops
        Stops at these lines that are kept of a launch; the rest is counted.
    on_stop
        Is called with each ``Stop`` that is kept, when the launch has ended, in the order of blocks and warps.
    workers, memory_limit
        As of every operation.
    progress
        Whether long launches show how far they are.
    """

    seed: int = 0
    stop: bool = False
    nan: bool = False
    races: bool = True
    global_races: bool = False
    warp_races: bool = False
    views: bool = False
    convergence: bool = True
    counts: bool = True
    max_findings: int = 1000
    max_instructions: int | None = None
    heap: int | None = None
    empty: Sequence[str] = ()
    empty_somewhere: Sequence[str] = ()
    touched: bool = False
    breaks: Sequence[str] = ()
    max_stops: int = 100
    on_stop: Callable[[Stop], object] | None = None
    workers: int | None = None
    memory_limit: int | str | None = None
    progress: Progress = "auto"

    def checked(self) -> Options:
        """The options with the settings where nothing was given.

        Raises
        ------
        UsageError
            A number is what it cannot be.
        """
        places(self.breaks)
        for names in (self.empty, self.empty_somewhere):
            if isinstance(names, str):
                raise UsageError(f"empty: expected names of arguments, got {names!r}", hint=f"write empty=[{names!r}]")
        for name, least in (("seed", 0), ("max_findings", 1), ("max_instructions", 0), ("heap", 1), ("max_stops", 1)):
            value = getattr(self, name)
            if value is None and name in ("max_instructions", "heap"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 64:
                raise UsageError(f"{name}: expected a whole number from {least} on, got {value!r}")
        limits = _request.limits(self.workers, self.memory_limit, _config.load())
        return replace(self, **limits)


# Options that a request has under their names, and those that stand in its description of what is watched.
_WATCHED = frozenset({"touched", "max_stops"})
_ASKED = frozenset(Options.__dataclass_fields__) - {"empty", "empty_somewhere", "breaks", "on_stop", "progress"}


def with_keywords(given: Mapping[str, Any], *, on_stop: Callable[[Stop], object] | None, progress: Progress) -> Options:
    """The options that keyword arguments of ``enable`` ask for."""
    empty, breaks = given["empty"] or (), given["breaks"] or ()
    return Options(
        empty_somewhere=empty if isinstance(empty, str) else tuple(empty),
        breaks=(breaks,) if isinstance(breaks, str) else tuple(breaks),
        on_stop=on_stop,
        progress=progress,
        **{name: value for name, value in given.items() if name in _ASKED},
    ).checked()


def with_changes(options: Options, changes: Mapping[str, Any]) -> Options:
    """Options with some of them changed by name.

    Raises
    ------
    UsageError
        There is no such option.
    """
    for name in changes:
        if name not in Options.__dataclass_fields__:
            near = _config.did_you_mean(name, list(Options.__dataclass_fields__))
            raise UsageError(f"the simulator has no option {name!r}{near}")
    return replace(options, **changes).checked()


def execute(
    launch: Launch,
    options: Options,
    *,
    number: int,
    registered: Iterable[Storage] = (),
    standing: Standing | None = None,
    record: Mapping[str, Any] | None = None,
) -> Simulation:
    """Run a launch on the simulator.

    Parameters
    ----------
    launch
        What the driver was asked to launch.
    options
        How.
    number
        Its number in the session.
    registered
        Memory that pointers loaded by the kernel may lead to, besides that of the arguments.
    standing
        The same, of arrays that stay from launch to launch.
    record
        What to record of it and where, as the core takes it.

    Raises
    ------
    SimulationError
        The kernel has something that the simulator does not execute.
    """
    from ._progress import shown
    from .hooks.arrays import in_order
    from .hooks.freed import FREED

    known = [p.storage for p in launch.parameters if p.storage is not None] + list(registered)
    others, table, alive = _reachable(launch, options, known, standing, whole=record is not None)
    pieces = in_order(known + others)
    empty = _empty(options, launch, pieces)
    freed = _freed([*pieces, *alive], standing)
    FREED.remember(known, number)
    request = {
        "module": _module(launch.function),
        "kernel": launch.function.name,
        "called": launch.called,
        "launch": number,
        "grid": launch.grid,
        "block": launch.block,
        "cluster": (launch.cluster, 1, 1) if launch.cluster > 1 else None,
        "shared_bytes": launch.shared,
        "params": [
            {"name": p.name, "type": p.type, "bits": p.bits, "allocation": _index(pieces, p) if p.is_pointer else -1}
            | ({} if p.data is None else {"data": base64.b64encode(p.data).decode()})
            | _view(options, p)
            | ({} if record is None else described(p))
            for p in launch.parameters
        ],
        "allocations": [
            {"name": piece.name, "address": piece.address, "bytes": piece.size, "read_only": piece.read_only}
            | ({"unwritten": True} if i in empty else {})
            for i, piece in enumerate(pieces)
        ],
        "table": table,
        **{name: getattr(options, name) for name in _ASKED - _WATCHED},
        "freed": freed,
        "record": None if record is None else _with_arena(_with_texts(record, launch), pieces, launch),
        "origin": launch.origin,
        "watch": _watched(options, pieces),
    }
    with shown(options.progress, unit="count") as watch, _refusals():
        document = _core.run("simulate_launch", request, progress=watch)
    del alive  # another thread may let go of its tensors now
    if document["stopped"] is not None:
        with_names(document["stopped"]["stops"], launch.texts)
    done = Simulation(document, launch.texts)
    if options.on_stop is not None:
        for stop in done.stops:
            options.on_stop(stop)
    return done


def _freed(held: Sequence[Storage], standing: Standing | None) -> list[dict[str, Any]]:
    """What was freed, without what others hold now: what is registered lives, whether or not a launch lists it."""
    from .hooks.freed import FREED

    freed = FREED.gone(held)
    if not freed or standing is None:
        return freed
    with standing.lock:
        return [row for row in freed if not standing.near([(row["address"], row["address"] + row["bytes"])])]


def _reachable(
    launch: Launch, options: Options, known: Sequence[Storage], standing: Standing | None, *, whole: bool
) -> tuple[list[Storage], int | None, list[Storage]]:
    """What pointers that the kernel loads may lead to: pieces of memory that the launch lists, and the table of the others.

    The last are tensors that are to be kept until the launch has ended: no table does that.

    It lists those that the arguments are parts of. Where somebody wants to know what was done to each, it lists all that the
    kernel can reach or name: of one whose addresses all derive from its arguments these are no others.
    """
    from .hooks.arrays import living_tensors

    tables = any(p.type in _TABLES and p.storage is not None for p in launch.parameters)
    named = whole or options.breaks
    listed = bool(standing) and bool(named)
    bound = (tables or listed) and not options.touched and not (tables and named) and _is_bound(launch)
    living = living_tensors() if tables and not bound else []
    if standing is None:
        return living, None, living
    ranges = [(one.address, one.end) for one in known]
    ranges += [(int(p.value), int(p.value)) for p in launch.parameters if p.is_pointer and p.storage is None]
    with standing.lock:
        if bound and named and (_has_structures(launch) or standing.near(_wide_numbers(launch))):
            bound = False  # a value that the kernel stores may be an address
        if not bound and (named or options.touched):
            return [*standing.registered, *living], None, living
        chosen = standing.with_living(living) if living else standing
        return chosen.near(ranges), chosen.table() or None, living


def _is_bound(launch: Launch) -> bool:
    """Whether all addresses of a kernel derive from arguments whose memory is known: then they lead to no other."""
    reach = launch.function.loaded.get("reach")
    if reach is None:
        with _refusals():
            reach = _core.run("simulate_reach", {"module": _module(launch.function), "kernel": launch.function.name})
        launch.function.loaded["reach"] = reach
    known = anywhere = 0
    for i, p in enumerate(launch.parameters):
        bit = 1 << min(i, 63)
        if p.is_pointer and (p.storage is not None or p.value == 0):
            known |= bit
        elif p.is_pointer or not p.type or reach["declared"] & bit:
            anywhere |= bit
    known &= ~anywhere
    return all(one & known and not one & anywhere for one in reach["sets"] or ())


def _has_structures(launch: Launch) -> bool:
    return any(p.data is not None for p in launch.parameters)


def _wide_numbers(launch: Launch) -> list[tuple[int, int]]:
    """The numbers of a launch that are wide enough for an address."""
    return [(p.bits, p.bits) for p in launch.parameters if not p.is_pointer and p.type in ("i64", "u64")]


def _empty(options: Options, launch: Launch, pieces: Sequence[Storage]) -> frozenset[int]:
    """The pieces of memory that nobody wrote before the launch."""
    names = {p.name for p in launch.parameters if p.is_pointer}
    for name in options.empty:
        if name not in names:
            raise UsageError(
                f"empty: {launch.function.name} has no array {name!r}", hint=f"it has {', '.join(sorted(names))}"
            )
    wanted = {*options.empty, *options.empty_somewhere}
    return frozenset(_index(pieces, p) for p in launch.parameters if p.is_pointer and p.name in wanted) - {-1}


def _view(options: Options, parameter: Parameter) -> dict[str, Any]:
    """Which part of its array a pointer was passed for, where that is asked for."""
    if not options.views or parameter.storage is None:
        return {}
    from .hooks.arrays import view_of

    found = view_of(parameter.storage)
    return {} if found is None else {"view": found}


def described(parameter: Parameter) -> dict[str, Any]:
    """What recordings say of an argument besides its value: shape, strides, what the compiler took for granted."""
    about: dict[str, Any] = {"special": parameter.special} if parameter.special else {}
    array: Any = None if parameter.storage is None else parameter.storage.keep
    try:
        shape, size = [int(n) for n in array.shape], _item_bytes(array)
        strides = array.stride() if callable(getattr(array, "stride", None)) else [n // size for n in array.strides]
        return about | ({"shape": shape, "strides": [int(n) for n in strides]} if size > 0 else {})
    except Exception:  # None, and an object of a class that nobody knows
        return about


def _watched(options: Options, pieces: Sequence[Storage]) -> dict[str, Any] | None:
    """What else is looked at, as the core takes it."""
    if not options.touched and not options.breaks:
        return None
    return {
        "touched": options.touched,
        "layouts": [_layout(piece) for piece in pieces] if options.touched else [],
        "breaks": places(options.breaks),
        "stops": options.max_stops,
    }


def _layout(piece: Storage) -> dict[str, Any]:
    """How a piece of memory is laid out: its shape where one array in row-major order takes all of it."""
    try:
        array = piece.keep
        shape, size = [int(n) for n in array.shape], _item_bytes(array)  # type: ignore[attr-defined]
        whole = prod(shape) * size == piece.size and _in_rows(array)
    except Exception:  # an object of a class that nobody knows
        return {"shape": None, "element_bytes": 0}
    return {"shape": shape if whole else None, "element_bytes": size if 0 < size <= _WIDEST else 0}


_WIDEST = 16  # bytes of an element


def _item_bytes(array: Any) -> int:
    return int(array.itemsize if hasattr(array, "itemsize") else array.element_size())


def _in_rows(array: Any) -> bool:
    return bool(array.is_contiguous() if hasattr(array, "is_contiguous") else array.flags.c_contiguous)


def _with_texts(record: Mapping[str, Any], launch: Launch) -> dict[str, Any]:
    """What to record, with the text of the kernel where that is wanted and known."""
    asked = dict(record)
    if asked.pop("sources") and launch.texts is not None:
        asked["texts"] = launch.texts()
    return asked


def _with_arena(record: dict[str, Any], pieces: Sequence[Storage], launch: Launch) -> dict[str, Any]:
    """What to record; of a kernel that records by itself, which piece of memory its scratch points to."""
    if "instrumented" in record:
        record["instrumented"] = {**record["instrumented"], "arena": _index(pieces, launch.parameters[-1])}
    return record


def _index(pieces: Sequence[Storage], parameter: Parameter) -> int:
    """Which piece of memory a pointer argument points into; -1 for none."""
    known = parameter.storage
    for i, piece in enumerate(pieces):
        if known is not None and piece.address <= known.address and known.end <= piece.end:
            return i
        if known is None and piece.address <= parameter.value < piece.end:
            return i
    return -1


class _Module:
    """A PTX text in the core, which forgets it with this object."""

    def __init__(self, number: int) -> None:
        self.number = number
        weakref.finalize(self, _unload, number).atexit = False  # type: ignore[misc]


def _unload(number: int) -> None:
    if _core.is_loaded():
        _core.call("simulate_unload", {"module": number})


@dataclass(frozen=True)
class Text:
    """A PTX text in the core, with what its kernels take.

    Attributes
    ----------
    text
        The PTX.
    kernels
        Their names, in the order of the text.
    signatures
        What each takes: ``params`` with ``name``, ``type``, ``bytes`` and ``pointer``.
    """

    text: str
    kernels: Sequence[str]
    signatures: Sequence[Mapping[str, Any]]
    module: _Module

    def function(self, name: str) -> Function:
        """One of its kernels as launches name it."""
        from .hooks.launch import Function

        found = Function(name, self.text.encode())
        found.loaded["module"] = self.module
        return found


_TEXTS_KEPT = 16
_texts: dict[str, Text] = {}


def load_text(text: str) -> Text:
    """A PTX text in the core; those that were used last stay there.

    Raises
    ------
    TraceFormatError
        It is not PTX.
    SimulationError
        It has something that the simulator does not execute.
    """
    found = _texts.pop(text, None)
    if found is None:
        with _refusals():
            done = _core.run("simulate_load", {"name": "the PTX", "ptx": text, "signatures": True})
        found = Text(text, done["kernels"] or (), done.get("signatures") or (), _Module(done["module"]))
    _texts[text] = found  # behind the others
    while len(_texts) > _TEXTS_KEPT:
        _texts.pop(next(iter(_texts)), None)
    return found


def _module(function: Function) -> int:
    """The number of a kernel's module, which is loaded for its first launch."""
    found: _Module | None = function.loaded.get("module")
    if found is None:
        request = {"name": f"{function.name}.ptx", "ptx": function.text.decode()}
        with _refusals():
            loaded = _core.run("simulate_load", request)
        made = _Module(loaded["module"])
        found = function.loaded.setdefault(
            "module", made
        )  # of several threads the first one's; the others' are unloaded
    return found.number


class _refusals:  # noqa: N801 - used as a function
    """Turns what the core refuses to execute into ``SimulationError``."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IncompatibleTracesError):
            raise SimulationError(error.args[0], path=error.path, line=error.line, hint=error.advice) from None


def report(simulation: Simulation, *, stop: bool) -> None:
    """Say what a launch's checks found: raise the first with ``stop``, else one warning at the line that launched it.

    Raises
    ------
    FindingError
        Something was found, and the first was to stop the program.
    """
    if not simulation.findings:
        return
    first = simulation.findings[0]
    if stop:
        raise FindingError(first.what, path=first.file or None, line=first.line or None, finding=first)
    more = len(simulation.findings) - 1 + simulation.document["more_findings"]
    text = str(first) + (f" (and {plural(more, 'more finding')})" if more else "")
    frame = next(_users_frames(), None)
    if frame is None:
        warnings.warn(text, FindingWarning, stacklevel=2)
        return
    filename, line, module, registry = frame
    warnings.warn_explicit(text, FindingWarning, filename, line, module, registry)


def _users_frames() -> Iterator[tuple[str, int, str, Any]]:
    """The frames of the stack that are neither ours nor Triton's nor torch's, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in ("prlx", "triton", "torch"):
            yield frame.f_code.co_filename, frame.f_lineno, name, frame.f_globals.setdefault("__warningregistry__", {})
        frame = frame.f_back  # type: ignore[assignment]
