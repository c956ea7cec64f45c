"""A GPU while launches on it are recorded: who gets an arena, what is written, and what was lost and why."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from . import _capture, _core
from ._arenas import PATIENCE_S, Arena, Drain, Header, Pool
from ._contents import Digester, Rows
from ._cuda import Cuda, DriverError, NoDeviceError
from ._errors import PrlxError, UsageError
from ._hip import Hip
from ._launching import Options, described
from ._simulator import Recording, check_closed, record_on, recorded_gpu

if TYPE_CHECKING:
    from ._record import Asked
    from ._target import Filter, Target
    from .hooks.gpu import Kernel, Vendor
    from .hooks.instrument import Rewriter
    from .hooks.launch import Parameter, Storage

_MOST_HEADERS = 256  # prepared ones that are kept
_ADDED = ("global_scratch", "profile_scratch")  # parameters that Triton adds to every kernel


class Prepared:
    """A launch as its arena and its recording need it; one like it needs nothing more."""

    def __init__(self, header: Header, request: Mapping[str, Any], not_held: str) -> None:
        self.header = header
        self.request = request
        self.not_held = not_held  # why nobody looks at what memory holds


class Launched:
    """One launch that is recorded: ``hooks.gpu.Ticket``."""

    __slots__ = ("_gpu", "_held", "_not_held", "_number", "_path", "_prepared", "_stream", "_target", "arena")

    def __init__(
        self, gpu: Gpu, target: Target, number: int, path: str, prepared: Prepared, arena: Arena, stream: int
    ) -> None:
        self._gpu, self._target, self._number, self._path = gpu, target, number, path
        self._prepared, self._held, self._stream = prepared, arena, stream
        self._not_held = prepared.not_held
        self.arena = arena.at
        self._digest("before", arena.places.before)

    def launched(self) -> None:
        """It is on its stream: the arena is brought home when that gets there."""
        held = self._held
        self._digest("after", held.places.after)
        try:
            self._gpu.cuda.mark(held.event, self._stream)
        except DriverError as error:
            self.failed(error)
            return
        self._gpu.drain.put(self._held, self._request, self._done)

    def failed(self, error: BaseException) -> None:
        """It was not launched, or nobody knows. The arena is counted out: something may write it still."""
        self._gpu.pool.lose(self._held.context)
        self._gpu.ended(self._target, self._number, None, f"the launch failed: {_first_line(error)}")

    def _digest(self, side: str, parameters: Any) -> None:
        """Look at what memory holds. Where that cannot be done the launch has no digests, and loses nothing else."""
        held = self._held
        if held.rows is None or self._not_held:
            return
        try:
            self._gpu.digester.launch(held.context, held.rows, parameters, self._stream)
        except DriverError as error:
            self._not_held = f"what memory held {side} the launch is not known: {_first_line(error)}"

    def _request(self, filled: bytes) -> Mapping[str, Any]:
        request, rows = self._prepared.request, self._held.rows
        held = [] if rows is None or self._not_held else list(rows.held(filled))
        more = {"launch": self._number, "held": held, "not_held": self._not_held}
        return {**request, "record": {**request["record"], "path": self._path}, **more}

    def _done(self, document: Mapping[str, Any] | None, error: BaseException | None) -> None:
        row = None if document is None else _row(self._prepared.request, document)
        why = self._not_held if error is None else _first_line(error)
        self._gpu.ended(self._target, self._number, row, why)


class Gpu:
    """The GPUs of this process while launches on them are recorded.

    Parameters
    ----------
    rewriter
        Makes kernels record by themselves.
    waits
        Whether the driver is left alone until the program launches something.
    contents
        Whether digests are made of what the memory behind arguments holds before and after each launch.

    Attributes
    ----------
    recordings
        Who is told of launches; the innermost one that has a place gets them.
    losses
        How many launches were not recorded, by why.
    without_digests
        How many were recorded without digests of memory, by why.

    Raises
    ------
    UsageError
        There is no driver, or no GPU.
    """

    def __init__(self, rewriter: Rewriter, *, waits: bool = False, contents: bool = True) -> None:
        from .hooks import gpu

        vendor, self.cuda = _found(initialize=not waits)
        self.rewriter = rewriter
        self.recordings: list[Recording] = []
        self.losses: Counter[str] = Counter()
        self.without_digests: Counter[str] = Counter()
        self.pool = Pool(self.cuda, _capture.arena_bytes())
        self.drain = Drain(self.cuda, self.pool)
        self.digester = Digester(self.cuda)
        self._contents = contents
        self._lock = threading.Lock()
        self._seam = gpu.Seam(vendor, rewriter, self._begin, self._unknown, self._storage)
        self._prepared: dict[Any, Prepared] = {}
        self._scratch: Any = None  # memory of the host in which arenas are prepared
        self._chosen: dict[Any, dict[str, Any] | None] = {}  # what is recorded of kernels, by where to
        self._forks = _forks
        self._open = False
        self._warned = False  # that launches of a forked child are not recorded

    def add(self, recording: Recording) -> None:
        """Have a recording told of launches from now on."""
        recording._gpu = self
        recording._lost_before = Counter(self.losses), Counter(self.without_digests)
        self.recordings.append(recording)

    def open(self) -> None:
        """Replace what has to be replaced of Triton."""
        self._seam.install()
        self._open = True
        record_on(self)

    def close(self, *, partial: bool = False) -> None:
        """Put everything back, wait for launches that still run, and finish what is recorded."""
        if not self._open:
            return
        self._open = False
        record_on(None)
        self._seam.restore()
        if _forks != self._forks:
            return
        self.drain.close()
        self._prepared.clear()
        self._chosen.clear()
        self.digester.close()
        self.pool.close()
        for recording in self.recordings:
            if recording._target is not None:
                recording._target.close(partial=partial or bool(recording.losses))
        for what, counted in (
            ("not recorded", self.losses),
            ("recorded without digests of memory", self.without_digests),
        ):
            for why, count in counted.items():
                were = "launch was" if count == 1 else "launches were"
                warnings.warn(f"{count:,} {were} {what}: {why}", stacklevel=3)

    def target(self) -> Target | None:
        """Where the next launch is recorded: the innermost recording that has a place."""
        return next((r._target for r in reversed(self.recordings) if r._target is not None), None)

    def ended(self, target: Target, number: int, row: Mapping[str, Any] | None, why: str) -> None:
        """Note what became of a launch: that it was lost and why, or that it was recorded and why without digests.

        The number of one that was lost stays its own: others have theirs already.
        """
        with self._lock:
            if row is None:
                self.losses[why] += 1
                return
            target.end(number, row)
            if why:
                self.without_digests[why] += 1

    def _unknown(self) -> None:
        if self.target() is not None and _forks == self._forks:
            with self._lock:
                self.losses["their kernels were compiled before prlx was enabled"] += 1

    def _of_child(self) -> None:
        """A forked child launches: neither the core nor the arenas came along."""
        if not self._warned:
            self._warned = True
            warnings.warn("launches of a forked process are not recorded: start it by spawn", stacklevel=4)

    def _begin(self, kernel: Kernel, grid: tuple[int, int, int], stream: int, args: Sequence[Any]) -> Launched | None:
        if _forks != self._forks:
            self._of_child()
            return None
        with self._lock:
            target = None
            for recording in self.recordings:
                recording.launches += 1
                target = recording._target or target
            record = None if target is None else self._record(kernel, target)
            numbered = None if record is None or target is None else target.number(kernel.name)
        if record is None or target is None or numbered is None:
            return None
        number, path = numbered
        try:
            return self._recorded(kernel, grid, stream, args, target, record, number, path)
        except PrlxError as error:  # the program goes on, and the recording says what it lacks
            self.ended(target, number, None, _first_line(error))
        except Exception as error:  # ours, and no reason for the program to end
            self.ended(target, number, None, f"a fault of prlx: {type(error).__name__}: {_first_line(error)}")
        return None

    def _record(self, kernel: Kernel, target: Target) -> dict[str, Any] | None:
        """What of a kernel's launches is recorded: the kernel and the target are asked once."""
        key = kernel, target
        try:
            return self._chosen[key]
        except KeyError:
            made = self._chosen[key] = target.chosen(kernel.name, kernel.texts)
            return made

    def _recorded(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        stream: int,
        args: Sequence[Any],
        target: Target,
        record: Mapping[str, Any],
        number: int,
        path: str,
    ) -> Launched | None:
        context = self.cuda.context(_device)
        if self.cuda.is_capturing(stream):
            self.ended(target, number, None, "a CUDA graph was captured, whose replays have no arena of their own")
            return None
        key = (
            kernel,
            grid,
            target,
            _capture.variables(),
            tuple([v if type(v) in _PLAIN else self._said(v) for v in args]),
        )
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._prepare(key, kernel, grid, args, {**record, "path": path}, context)
        arena = self.pool.take(context)
        if arena is None:
            self.ended(target, number, None, f"all arenas were in use for {PATIENCE_S:.0f} s")
            return None
        try:
            prepared.header.send(arena, stream)
        except DriverError:
            self.pool.lose(context)
            raise
        return Launched(self, target, number, path, prepared, arena, stream)

    def _prepare(
        self,
        key: Any,
        kernel: Kernel,
        grid: tuple[int, int, int],
        args: Sequence[Any],
        record: Mapping[str, Any],
        context: int,
    ) -> Prepared:
        parameters = kernel.parameters(args)
        asked = _capture.recorded(record, kernel.table)
        del asked["path"]  # of the first of the launches that share this
        asked.pop("contents_after", None)
        if asked.pop("sources"):
            asked["texts"] = kernel.texts()
        request = {**launch_request(kernel, grid, parameters), "record": asked}
        with self._lock:
            rows, not_held = self._rows(kernel, parameters, context)
            header = self._header(request, rows)
            while len(self._prepared) >= _MOST_HEADERS:
                self._prepared.pop(next(iter(self._prepared)))
            made = self._prepared[key] = Prepared(header, request, not_held)
        return made

    def _said(self, value: Any) -> Any:
        """What of an array decides how an arena is prepared and what a recording says of it; at a doubt like no other."""
        try:
            address = value.data_ptr()
        except AttributeError:
            return object()
        try:
            return address, tuple(value.shape), value.stride(), value.untyped_storage().nbytes()
        except AttributeError:  # no tensor of torch: what it says itself, and what the driver says of its address
            said = getattr(value, "shape", None), getattr(value, "strides", None), getattr(value, "nbytes", None)
            return (address, self.cuda.range_of(address), *map(str, said))

    def _rows(self, kernel: Kernel, parameters: Sequence[Parameter], context: int) -> tuple[Rows | None, str]:
        """The memory of which there are digests, or why there are none."""
        rows = Rows(parameters) if self._contents else None
        if rows is None or rows.count == 0:
            return None, ""
        why = self.digester.why_not(context, kernel)
        return (None, f"what memory holds is not known: {why}") if why else (rows, "")

    def _header(self, request: Mapping[str, Any], rows: Rows | None) -> Header:
        if self._scratch is None:
            from .hooks import instrument

            self._scratch = instrument.Arena(self.pool.size)
        at = self._scratch.data_ptr()
        front = _core.call("arena_prepare", {**request, "address": at, "bytes": self.pool.size})["front"]
        try:
            return Header(self.cuda, ctypes.string_at(at, front), rows)
        finally:
            ctypes.memset(at, 0, front)

    def _storage(self, value: Any, name: str) -> Storage | None:
        """The memory behind an argument: what it says itself, else what the driver says of its address."""
        from .hooks.arrays import storage
        from .hooks.launch import Storage as Found

        said = storage(value, name, anywhere=True)
        if said is not None or value is None:
            return said
        address = value if isinstance(value, int) else value.data_ptr()
        held = self.cuda.range_of(address)
        return None if held is None else Found(address, held[0] + held[1] - address, name, keep=value, told=False)


def _found(*, initialize: bool) -> tuple[Vendor, Cuda]:
    """The driver of the GPU that Triton launches on, of which it is asked unless the driver is to be left alone."""
    from .hooks import gpu

    vendor = gpu.active(ask=initialize)
    problems = []
    for one in (gpu.NVIDIA, gpu.AMD) if vendor is None else (vendor,):
        try:
            made = Cuda(initialize=initialize) if one is gpu.NVIDIA else Hip(gpu.hip_library(), initialize=initialize)
        except NoDeviceError as error:
            problems.append(str(error))
        else:
            return one, made
    raise UsageError(
        f"there is no GPU: {', and '.join(problems)}", hint="the device simulator runs the compiled kernels without one"
    )


def _device() -> int:
    return int(importlib.import_module("triton.runtime").driver.active.get_current_device())


def _first_line(error: BaseException) -> str:
    text = str(error.args[0]) if error.args else type(error).__name__
    return text.partition("\n")[0]


_PLAIN = frozenset((int, float, bool, str, type(None)))
_forks = 0  # of how many processes this one is a forked child


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


def launch_request(kernel: Any, grid: tuple[int, int, int], parameters: Sequence[Parameter]) -> dict[str, Any]:
    """A launch as the operations on arenas take it; ``kernel`` has what ``hooks.gpu.Kernel`` has."""
    return {
        "kernel": kernel.name,
        "grid": (grid[0] * kernel.cluster, grid[1], grid[2]),
        "block": kernel.block,
        "cluster": (kernel.cluster, 1, 1) if kernel.cluster > 1 else (0, 0, 0),
        "lanes": kernel.lanes,
        "arch": kernel.arch,
        "arch_number": kernel.arch_number,
        "code": kernel.code,
        "names": [*(p.name for p in parameters), *_ADDED],
        "arguments": [
            {"name": p.name, "type": p.type, "bits": p.bits, **described(p)}
            | ({} if p.storage is None else {"offset": max(int(p.value) - p.storage.address, 0)})
            for p in parameters
        ],
        "arrays": list(_arrays(parameters)),
    }


def _arrays(parameters: Sequence[Parameter]) -> Iterator[dict[str, Any]]:
    """Where the arrays are. Of several in one piece of memory the first has all, the others what is behind their begin."""
    from .hooks.arrays import merged

    held = [(i, p, p.storage) for i, p in enumerate(parameters) if p.storage is not None]
    for piece in merged([storage for _, _, storage in held]):
        inside = [(i, p) for i, p, storage in held if piece.address <= storage.address and storage.end <= piece.end]
        for k, (i, p) in enumerate(sorted(inside, key=lambda one: one[1].value)):
            begin = piece.address if k == 0 else min(max(int(p.value), piece.address), piece.end)
            if piece.size:
                yield {"id": i, "type": p.type, "base": int(p.value), "at": [(begin, piece.end - begin)]}


def _row(request: Mapping[str, Any], done: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest of a session says of a launch that was recorded."""
    row = {name: request[name] for name in ("kernel", "grid", "block")}
    return row | {name: done[name] for name in ("argument_digest", "module_hash", "file")}


def start(options: Options, asked: Asked, told: Sequence[str], *, waits: bool = False) -> Recording:
    """Record launches on the GPU from now on.

    Parameters
    ----------
    options
        Of the simulator: they have to be as they are by default.
    asked
        What is recorded.
    told
        Further options that are the simulator's and were given.
    waits
        As for ``Gpu``.

    Raises
    ------
    UsageError
        There is no GPU, or what is asked cannot be had of one.
    """
    plain = Options(workers=options.workers, memory_limit=options.memory_limit, progress=options.progress)
    others = [one.name for one in fields(Options) if getattr(options, one.name) != getattr(plain, one.name)]
    for name in (*others, *told):
        raise UsageError(
            f"{name}: that is for the simulator, and kernels run on the GPU", hint='choose device="simulator"'
        )
    if asked.capture == "observed":
        raise UsageError("capture: nobody can watch a GPU; kernels record by themselves", hint='choose "instrumented"')
    extras = asked.extras
    if asked.window is not None:
        extras = {**extras, "window": _capture.window(asked.window, "instrumented")}
    contents = extras.get("contents_after", True)
    extras = {name: value for name, value in extras.items() if name != "contents_after"}
    made = _open(asked.mode, asked.filter, extras, asked.within_registers, waits=waits, contents=contents)
    recording = Recording(replace(asked, extras=extras).target())
    made.add(recording)
    made.open()
    return recording


def _open(
    mode: str,
    filter: Filter,
    extras: Mapping[str, Any],
    within_registers: bool = False,
    *,
    waits: bool = False,
    contents: bool = True,
) -> Gpu:
    check_closed()
    for name in ("loads", "outputs", "inputs"):
        if extras.get(name):
            raise UsageError(f"{name}: a kernel on a GPU does not leave that", hint='choose device="simulator"')
    rewriter = _capture.rewriter("instrumented", filter, extras, mode, within_registers=within_registers)
    assert rewriter is not None
    return Gpu(rewriter, waits=waits, contents=contents)


@contextlib.contextmanager
def listening(mode: str, filter: Filter, extras: Mapping[str, Any], recording: Recording) -> Iterator[None]:
    """Have a recording told of launches; those of the GPU record for the block where they do not yet."""
    opened = None
    gpu = recorded_gpu()
    if gpu is None:
        gpu = opened = _open(mode, filter, extras, contents=extras.get("contents_after", True))
        opened.open()
    gpu.add(recording)
    try:
        yield
    finally:
        gpu.drain.settle()
        gpu.recordings.remove(recording)
        if opened is not None:
            opened.close()
