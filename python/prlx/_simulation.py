"""Running kernels on the simulator: what a launch did there, and what its checks found."""

from __future__ import annotations

import base64
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import FindingError, FindingWarning, IncompatibleTracesError, SimulationError, UsageError
from ._result import Brief, Card, Result
from ._simulated import COUNTS, Run, save_page
from ._stops import Stop, places, with_names
from ._units import format_count, plural

if TYPE_CHECKING:
    import pandas
    import polars

    from ._kernel_trace import KernelTrace
    from ._progress import Progress
    from ._table import Table
    from .hooks.arrays import Storage
    from .hooks.simulator import Function, Launch, Parameter

_LINES = (
    ("file", "string", ""),
    ("line", "int64", ""),
    ("instructions", "int64", ""),
    ("lane_instructions", "int64", ""),
    *((name, "int64", "bytes" if name == "global_bytes" else "") for name in COUNTS),
)
_SHOWN = 20  # rows of a card
_TABLES = ("*i64", "*u64")  # types of arguments that can be tables of pointers
_LANES = 32


@dataclass(frozen=True, repr=False)
class Origin(Brief):
    """Which part of a model a kernel computes: what torch's compiler knows of it.

    Attributes
    ----------
    text
        All of it in a few words; empty where no node is known.
    region
        The names that ``pytorch_trace`` gave, outermost first, with slashes; empty outside of it.
    graph, backward
        Torch's number of the compiled frame, such as ``"0/0"``, and whether the graph computes gradients.
    nodes
        Operations of the graph in their order, each with ``node``, ``op`` and, where they are known, ``module``, ``file``,
        ``line``, ``function`` and ``code`` of the user's program.

    Examples
    --------
    >>> node = {"node": "add", "op": "aten.add.Tensor", "file": "model.py", "line": 12}
    >>> document = {"text": "aten.add.Tensor, at model.py:12, graph 0/0", "graph": "0/0", "backward": False, "nodes": [node]}
    >>> prlx.Origin.of(document).lines
    (('model.py', 12),)
    """

    text: str
    region: str
    graph: str
    backward: bool
    nodes: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> Origin | None:
        """The origin that a document describes; None for none.

        Examples
        --------
        >>> prlx.Origin.of(None) is None
        True
        """
        if document is None:
            return None
        nodes = tuple(document["nodes"] or ())
        return cls(document["text"], document.get("region", ""), document["graph"], document["backward"], nodes)

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """File and line of the user's program, each once."""
        found = ((str(node["file"]), int(node["line"])) for node in self.nodes if node.get("file"))
        return tuple(dict.fromkeys(found))

    @property
    def ops(self) -> tuple[str, ...]:
        """The operations, each once: ``aten.add.Tensor``."""
        return tuple(dict.fromkeys(str(node["op"]) for node in self.nodes))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Finding(Brief):
    """Something that a check found in a launch, once for each instruction and check.

    Attributes
    ----------
    check
        ``out-of-bounds``, ``misaligned``, ``uninitialised-shared``, ``shared-race``, ``barrier-divergence``, ...
    message
        What happened, in one sentence.
    kernel, file, line
        Where in the user's code; ``file`` is empty where the PTX says no line.
    block, warp, lane, lanes
        Who did it the first time: the block, the warp in it, its first lane and all of its lanes.
    count
        How often it was found.
    document
        Everything, as in ``prlx.simulation/1``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=1, BLOCK=256)
    >>> first = done.findings[0]
    >>> first.check, first.place, first.who
    ('out-of-bounds', 'softmax.py:21', 'block (5, 0, 0), warp 2, lane 8')
    """

    check: str
    message: str
    kernel: str
    file: str
    line: int
    block: tuple[int, int, int]
    warp: int
    lane: int
    lanes: tuple[int, ...]
    count: int
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Finding:
        """The finding that a document describes.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=1, BLOCK=256)
        >>> prlx.Finding.of(done.document["findings"][0]) == done.findings[0]
        True
        """
        return cls(
            check=document["check"],
            message=document["message"],
            kernel=document["kernel"],
            file=document.get("file", ""),
            line=document.get("line", 0),
            block=tuple(document["block"]),
            warp=document["warp"],
            lane=document["lane"],
            lanes=tuple(document["lanes"]),
            count=document["count"],
            document=document,
        )

    @property
    def origin(self) -> Origin | None:
        """Which part of a model the kernel computes, where torch's compiler made it (``enable_pytorch``); else None."""
        return Origin.of(self.document.get("origin"))

    @property
    def place(self) -> str:
        """``kernels.py:11``, or the instruction where no line is known."""
        return f"{Path(self.file).name}:{self.line}" if self.line else str(self.document["instruction"])

    @property
    def who(self) -> str:
        """``block (4, 0, 0), warp 3, lanes 8-31``."""
        from ._lines import lane_text

        lanes = f"lane{'s' if len(self.lanes) > 1 else ''} {lane_text(self.lanes)}" if self.lanes else ""
        return ", ".join(filter(None, (f"block {self.block}", f"warp {self.warp}", lanes)))

    @property
    def what(self) -> str:
        """Everything but the place."""
        times = f", {format_count(self.count)} times" if self.count > 1 else ""
        computes = f"; the kernel computes {self.origin.text}" if self.origin is not None and self.origin.text else ""
        return f"{self.check} in {self.kernel}, {self.who}{times}: {self.message}{computes}"

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True, repr=False)
class Simulation(Result):
    """One launch on the simulator. The document is ``prlx.simulation/1``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=1, BLOCK=256)
    >>> done.passed, len(done.findings)
    (False, 2)
    >>> done.instructions, done.branches
    (1920, 0)
    """

    texts: Callable[[], Mapping[str, Any]] | None = field(default=None, repr=False, compare=False)
    """The text of the kernel as it was compiled; None where nobody knows it."""

    @property
    def passed(self) -> bool:
        """Whether no check found anything."""
        return bool(self.document["status"] == "clean")

    @property
    def verdict(self) -> str:
        """One sentence."""
        return str(self.document["verdict"])

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return str(self.document["kernel"])

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks in each direction."""
        x, y, z = self.document["grid"]
        return x, y, z

    @property
    def instructions(self) -> int:
        """Instructions of warps."""
        return int(self.document["instructions"])

    @property
    def origin(self) -> Origin | None:
        """Which part of a model the kernel computes, where torch's compiler made it (``enable_pytorch``); else None."""
        return Origin.of(self.document.get("origin"))

    @property
    def lanes_active(self) -> float:
        """The share of lanes that took part in the instructions, 0 to 1."""
        return share(self.document)

    @property
    def branches(self) -> int:
        """Conditional branches of warps."""
        return int(self.document["totals"]["branches"])

    @property
    def divergent_branches(self) -> int:
        """Those that split their warp."""
        return int(self.document["totals"]["divergent"])

    @property
    def global_bytes(self) -> int:
        """Bytes that lanes loaded from and stored to global memory."""
        return int(self.document["totals"]["global_bytes"])

    @property
    def bank_conflicts(self) -> int:
        """Further passes that accesses of shared memory need because lanes meet in a bank."""
        return int(self.document["totals"]["bank_conflicts"])

    @property
    def output(self) -> str:
        """What the kernel printed."""
        return str(self.document["output"])

    @property
    def recording(self) -> Path | None:
        """The recording of this launch, where one was made."""
        found = self.document["recording"]
        return None if found is None else Path(found["file"])

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks found, in the order of the instructions."""
        return tuple(Finding.of(row) for row in self.document["findings"])

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """What lanes held at the lines that ``breaks`` names, in the order of blocks and warps."""
        found = self.document["stopped"]
        return () if found is None else tuple(Stop.of(row, self.kernel) for row in found["stops"])

    @property
    def touched(self) -> Mapping[str, Any] | None:
        """Which blocks touched which elements of which array, as in ``prlx.simulation/1``; None where nobody asked."""
        found: Mapping[str, Any] | None = self.document["touched"]
        return found

    @cached_property
    def lines(self) -> Table:
        """One row a source line: instructions, branches, traffic, bank conflicts."""
        from ._rows import table

        return table(_LINES, self.document["lines"])

    def trace(self) -> KernelTrace:
        """The recording of this launch, opened.

        Raises
        ------
        UsageError
            None was made.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> with prlx.record("run.prlx") as recording:
        ...     _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> recording.simulations[0].trace()
        <KernelTrace ...: softmax, 6x1x1 blocks of 128x1x1, 24 warps, ...>
        """
        from ._kernel_trace import read_trace

        if self.recording is None:
            raise UsageError("this launch was not recorded", hint="launch it inside of prlx.record(path)")
        return read_trace(self.recording, progress=False)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document (``.json``), or a page for a browser that needs no network (``.html``).

        The page shows the source with what each line did, findings at their lines, and with ``touched`` which block touched
        what.

        Parameters
        ----------
        path
            Where to; its ending decides the format.
        overwrite
            Replace a file that exists.

        Raises
        ------
        UsageError
            The ending is neither ``.json`` nor ``.html``.
        FileAccessError
            The file exists and ``overwrite`` was not given.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256, machine={"touched": True})
        >>> done.save("softmax.html").name
        'softmax.html'
        """
        target = Path(path)
        if target.suffix != ".html":
            return super().save(target, overwrite=overwrite)
        run = Run("")
        run.add(self)
        save_page(run.document(recording=None, status=0, pictures=True), target, overwrite=overwrite)
        return target

    def to_pandas(self) -> pandas.DataFrame:
        """The lines as a ``pandas.DataFrame``.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> int(done.to_pandas()["instructions"].sum()) == done.instructions
        True
        """
        return self.lines.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The lines as a ``polars.DataFrame``.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> done.to_polars()["instructions"].sum() == done.instructions
        True
        """
        return self.lines.to_polars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.lines.__arrow_c_stream__(requested_schema)

    def _card(self) -> Card:
        notes = [str(finding) for finding in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN or self.document["more_findings"]:
            hidden = len(self.findings) - len(notes) + self.document["more_findings"]
            notes.append(f"{format_count(hidden)} more")
        rows = [
            (
                f"{Path(row['file']).name}:{row['line']}" if row["line"] else "no line",
                format_count(row["instructions"]),
                percent(share(row)),
                format_count(row["global_bytes"]),
                format_count(row["bank_conflicts"]),
            )
            for row in busiest(self.document["lines"], _SHOWN)
        ]
        sentence = (
            f"{self.kernel}: {plural(self.instructions, 'instruction')} of {plural(self.document['warps'], 'warp')}, "
        )
        sentence += f"{percent(self.lanes_active)} of lanes active, {plural(len(self.findings), 'finding')}"
        return Card("Simulation", sentence, ("line", "instructions", "lanes", "bytes", "conflicts"), rows, notes)


def share(row: Mapping[str, Any]) -> float:
    """The share of lanes that took part in the instructions of a launch or line."""
    slots = _LANES * row["instructions"]
    return row["lane_instructions"] / slots if slots else 0.0


def percent(ratio: float) -> str:
    """``97 %``."""
    return f"{100 * ratio:.0f} %"


def busiest(lines: Iterable[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """The lines with the most instructions, most first."""
    return sorted(lines, key=lambda row: (-row["instructions"], row["file"], row["line"]))[:count]


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
        Look for races between blocks in global memory, too; blocks then run one after the other.
    convergence
        Look for instructions that need the whole warp at once, and that a GPU may execute with a part of it.
    counts
        Count per line.
    max_findings
        Distinct findings that are kept of a launch.
    max_instructions
        Instructions of warps after which a launch ends with an error; None for no limit.
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
    convergence: bool = True
    counts: bool = True
    max_findings: int = 1000
    max_instructions: int | None = None
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
        for name, least in (("seed", 0), ("max_findings", 1), ("max_instructions", 1), ("max_stops", 1)):
            value = getattr(self, name)
            if value is None and name == "max_instructions":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 64:
                raise UsageError(f"{name}: expected a whole number from {least} on, got {value!r}")
        limits = _request.limits(self.workers, self.memory_limit, _config.load())
        return replace(self, **limits)


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
    record
        What to record of it and where, as the core takes it.

    Raises
    ------
    SimulationError
        The kernel has something that the simulator does not execute.
    """
    from ._progress import shown
    from .hooks.arrays import in_order, living_tensors

    known = [p.storage for p in launch.parameters if p.storage is not None] + list(registered)
    if any(p.type in _TABLES and p.storage is not None for p in launch.parameters):
        known += living_tensors()
    pieces = in_order(known)
    request = {
        "module": _module(launch.function),
        "kernel": launch.function.name,
        "launch": number,
        "grid": launch.grid,
        "block": launch.block,
        "cluster": (launch.cluster, 1, 1) if launch.cluster > 1 else None,
        "shared_bytes": launch.shared,
        "params": [
            {"name": p.name, "type": p.type, "bits": p.bits, "allocation": _index(pieces, p) if p.is_pointer else -1}
            | ({} if p.data is None else {"data": base64.b64encode(p.data).decode()})
            for p in launch.parameters
        ],
        "allocations": [
            {"name": piece.name, "address": piece.address, "bytes": piece.size, "read_only": piece.read_only}
            for piece in pieces
        ],
        "seed": options.seed,
        "stop": options.stop,
        "nan": options.nan,
        "races": options.races,
        "global_races": options.global_races,
        "convergence": options.convergence,
        "counts": options.counts,
        "max_findings": options.max_findings,
        "max_instructions": options.max_instructions,
        "workers": options.workers,
        "memory_limit": options.memory_limit,
        "record": None if record is None else _with_arena(_with_texts(record, launch), pieces, launch),
        "origin": launch.origin,
        "watch": _watched(options, pieces),
    }
    with shown(options.progress, unit="count") as watch, _refusals():
        document = _core.run("simulate_launch", request, progress=watch)
    if document["stopped"] is not None:
        with_names(document["stopped"]["stops"], launch.texts)
    done = Simulation(document, launch.texts)
    if options.on_stop is not None:
        for stop in done.stops:
            options.on_stop(stop)
    return done


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
        from .hooks.simulator import Function

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
    if simulation.passed:
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
