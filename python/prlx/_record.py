"""Entering Triton and leaving it again: ``enable``, ``disable``, ``record`` and ``session``."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _capture, _config, _former
from ._capture import Capture
from ._errors import UsageError
from ._result import Card, clipped
from ._simulation import Finding, Options, Simulation, execute, report, with_changes
from ._target import Filter, Mode, Target, recorded_again
from ._units import format_count, parse_size, plural

if TYPE_CHECKING:
    from ._kernel_trace import KernelTrace
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._session import Session
    from ._stops import Stop
    from .hooks.arrays import Storage
    from .hooks.inductor import Inductor
    from .hooks.instrument import Rewriter
    from .hooks.simulator import Launch

_DEVICES = ("auto", "gpu", "simulator")
_SHOWN = 20  # rows of a card
_KEPT = 1000  # launches that a Recording remembers in full, findings that it lists


class Recording:
    """What happened on the device since it was enabled, or inside of a ``with`` block.

    As the result of ``enable`` it can be used in a ``with`` statement, which disables the device at its end.

    Attributes
    ----------
    path
        The directory, or file, that launches are recorded to; None when nothing is recorded.
    launches
        How many kernels were launched.
    simulations
        The latest launches (at most 1000), oldest first.
    instructions
        Instructions of warps, over all launches.
    findings
        What the checks found, in the order of the launches; at most 1000.
    trials
        Launches by which torch's compiler chose a configuration and in which nothing was found (``enable_pytorch``); they are
        not among ``launches``. Those of Triton's own autotuner are.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> with prlx.enable(device="simulator", output="runs") as recording:
    ...     _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
    >>> recording.launches, recording.recorded, recording.findings
    (1, 1, [])
    """

    def __init__(self, target: Target | None = None) -> None:
        self._target = target
        self.path = None if target is None else target.path
        self.launches = 0
        self.instructions = 0
        self.trials = 0
        self.simulations: deque[Simulation] = deque(maxlen=_KEPT)
        self.findings: list[Finding] = []
        self._listeners: list[Callable[[Simulation], object]] = []
        self._thread: int | None = None  # whose launches it is told of; None for everybody's

    @property
    def recorded(self) -> int:
        """How many launches were recorded."""
        return 0 if self._target is None else len(self._target.launches)

    def register(self, *arrays: Any) -> None:
        """Name memory that kernels reach through pointers which they load, such as the rows of a table of pointers.

        What arguments point to needs no registration. The arrays are kept alive until the device is disabled.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> table = np.array([row.ctypes.data for row in x])  # a kernel that loads pointers from it reaches x
        >>> with prlx.enable(device="simulator") as recording:
        ...     recording.register(x)
        """
        _enabled("register memory").register(arrays)

    def on_launch(self, call: Callable[[Simulation], object]) -> None:
        """Call a function with every launch from now on, when it has ended.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> verdicts = []
        >>> with prlx.enable(device="simulator") as recording:
        ...     recording.on_launch(lambda launch: verdicts.append(launch.verdict))
        ...     _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> verdicts
        ['softmax: no finding']
        """
        self._listeners.append(call)

    def read(self) -> Session | KernelTrace:
        """What was recorded, opened: a session, or the recording of the one launch that a file holds.

        Raises
        ------
        UsageError
            Nothing is recorded here.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> out = np.zeros_like(x)
        >>> with prlx.record("runs") as recording:
        ...     _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
        >>> recording.read()
        <Session ...: 1 launch of 1 kernel>
        """
        if self.path is None:
            raise UsageError("nothing is recorded here", hint="name a path: prlx.record(path)")
        if self._target is not None and self._target.is_file:
            from ._kernel_trace import read_trace

            return read_trace(self.path, progress=False)
        from ._session import open_session

        return open_session(self.path)

    def _add(self, simulation: Simulation, *, trial: bool) -> None:
        if trial and simulation.passed:
            self.trials += 1
            return
        self.launches += 1
        self.instructions += simulation.instructions
        self.simulations.append(simulation)
        if len(self.findings) < _KEPT:
            self.findings += simulation.findings[: _KEPT - len(self.findings)]
        for call in self._listeners:
            call(simulation)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _active is not None and _active.recordings[0] is self and _host is not self:
            _active.close(partial=error is not None)

    def _sentence(self) -> str:
        found = plural(len(self.findings), "finding") if self.findings else "no finding"
        return f"{plural(self.launches, 'launch')}, {plural(self.instructions, 'warp instruction')}, {found}"

    def __repr__(self) -> str:
        to = "" if self.path is None else f" to {self.path}"
        return clipped(f"<Recording{to}: {self._sentence()}>")

    def _repr_html_(self) -> str:
        rows = [
            (str(one.document["launch"]), one.kernel, str(one.grid), format_count(one.instructions), one.verdict)
            for one in list(self.simulations)[-_SHOWN:]
        ]
        notes = [str(finding) for finding in self.findings[:_SHOWN]]
        headings = ("launch", "kernel", "grid", "instructions", "")
        return Card("Recording", self._sentence(), headings, rows, notes).to_html()


class _Simulator:
    """The simulated device while it is enabled."""

    def __init__(self, options: Options, recording: Recording, rewriter: Rewriter | None = None) -> None:
        from .hooks import simulator, triton

        self.options = options
        self.quiet = 0
        self.recordings = [recording]
        self._registered: list[Storage] = []
        self._launched = 0
        self._lock = threading.Lock()
        self._surfaces = triton.Surfaces(simulator.KEY, rewriter)
        plain = simulator.DEVICE + simulator.ARCH
        own = plain if rewriter is None else plain + rewriter.device * simulator.DEVICE
        if rewriter is not None:
            rewriter.clean = lambda: bool(self._surfaces.benchmarking)
        self._driver, self._device = simulator.driver(self._run, lambda: plain if self._surfaces.benchmarking else own)
        self._undo = contextlib.ExitStack()
        self.compiler: Inductor | None = None

    def open(self, *, map_cuda: bool, compiler: bool) -> None:
        """Take the place of Triton's driver, and of the GPU that torch's compiler compiles for."""
        if map_cuda:
            from .hooks import cuda

            self._undo.callback(cuda.install(self._driver.get_device_interface()))
        try:
            self._surfaces.install(self._driver)
            if compiler:
                from .hooks import inductor

                made = inductor.Inductor(self._device, self._surfaces, self._driver.get_device_interface())
                made.install()
                self._undo.callback(made.restore)
                self.compiler = made
        except BaseException:
            self._surfaces.restore()
            self._undo.close()
            raise

    def close(self, *, partial: bool = False) -> None:
        """Put everything back and finish what is recorded."""
        global _active
        if _active is self:
            _active = None
        self._device.open = False
        self._undo.close()
        self._surfaces.restore()
        for recording in self.recordings:
            if recording._target is not None:
                recording._target.close(partial=partial)

    def register(self, arrays: Sequence[Any]) -> None:
        from .hooks.arrays import storage

        for i, array in enumerate(arrays):
            found = storage(array, f"registered memory {len(self._registered) + i}")
            if found is None:
                raise UsageError(f"cannot tell the size of what was registered: {type(array).__name__}")
            self._registered.append(found)

    def target(self) -> Target | None:
        """Where the next launch is recorded: the innermost recording that has a place."""
        if self._surfaces.benchmarking:
            return None  # the autotuner's trials are no part of the program
        return next((r._target for r in reversed(self.recordings) if r._target is not None), None)

    def _run(self, launch: Launch) -> int:
        with self._lock:
            target, number = self.target(), self._launched
            self._launched += 1
            begun = None if target is None else target.begin(launch.function.name)
        simulation = None
        try:
            number, record = (number, None) if begun is None else begun
            if launch.table and record is not None:
                launch, record = _capture.into_arena(launch, record)
            simulation = execute(launch, self.options, number=number, registered=self._registered, record=record)
        finally:
            with self._lock:
                if begun is not None and target is not None:
                    target.end(begun[0], simulation)
        with self._lock:
            trial = self.compiler is not None and self._surfaces.benchmarking > 0
            for recording in self.recordings:
                if recording._thread in (None, threading.get_ident()):
                    recording._add(simulation, trial=trial)
        if simulation.output and not self.quiet:
            sys.stdout.write(simulation.output)  # where the kernel's prints come out on a GPU, too
        if self.options.stop or not self.quiet:
            report(simulation, stop=self.options.stop)
        return simulation.instructions


_active: _Simulator | None = None
_alone = threading.RLock()  # held by prlx.simulate: options of the simulator are those of one launch at a time
_host: Recording | None = None  # of prlx simulate, while a script runs: what the script enables is that


def is_enabled() -> bool:
    """Whether the simulator is enabled, by whatever."""
    return _active is not None


def _enabled(what: str) -> _Simulator:
    if _active is None:
        raise UsageError(f"nothing is enabled, so there is no device to {what}", hint="call prlx.enable first")
    return _active


def enable(
    *,
    device: str = "auto",
    output: AnyPath | None = None,
    filter: Filter = None,
    mode: Mode = "control-flow",
    capture: Capture = "observed",
    map_cuda: bool = False,
    seed: int = 0,
    stop: bool = False,
    nan: bool = False,
    races: bool = True,
    global_races: bool = False,
    convergence: bool = True,
    counts: bool = True,
    stores: bool = False,
    atomics: bool = False,
    loads: bool = False,
    barriers: bool = False,
    events_per_warp: int | None = None,
    outputs: int | str | None = None,
    sources: bool | None = None,
    max_findings: int = 1000,
    max_instructions: int | None = None,
    touched: bool = False,
    breaks: Iterable[str] = (),
    max_stops: int = 100,
    on_stop: Callable[[Stop], object] | None = None,
    memory: Iterable[Any] = (),
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Recording:
    """Run Triton kernels on the simulator from now on: the compiled kernel, without a GPU.

    User code stays as it is: ``kernel[grid](...)`` on NumPy arrays and torch CPU tensors, with autotuning, heuristics, hooks
    and benchmarks (whose time is the count of instructions). Call it before modules are imported that ask for Triton's driver.

    Parameters
    ----------
    device
        ``"simulator"``; ``"auto"`` is the simulator where Triton sees no GPU. Recording on GPUs is not there yet.
    output
        Record every launch: a directory for a session, or a name that ends in ``.prlx`` for a single launch.
    filter
        Which kernels are recorded.
    mode, stores, atomics, loads, barriers, events_per_warp, outputs, sources, overwrite
        What is recorded, as for ``record``.
    capture
        ``"observed"``: the simulator watches the kernel as Triton compiles it. ``"instrumented"``: the kernel is compiled to
        record by itself, as it will on a GPU, into memory that ``PRLX_ARENA`` bounds (256 MiB). It then leaves branches,
        switches and predicates, and says so.
    map_cuda
        Take ``device="cuda"`` in torch code for the CPU; ``torch.cuda.synchronize()`` then does nothing.
    seed
        Permutes the order of blocks and warps; 0 is ascending. Results that depend on it are races.
    stop
        The first finding ends the launch and raises ``FindingError``; otherwise a launch with findings ends with a
        ``FindingWarning``.
    nan
        Report instructions that make a NaN of numbers.
    races
        Look for races and uninitialised reads in shared memory.
    global_races
        Look for races between blocks in global memory, too; blocks then run one after the other.
    convergence
        Look for instructions that need the whole warp at once (barriers, matrix products), and that a GPU may
        execute with a part of it.
    counts
        Count instructions, branches and traffic per line.
    max_findings
        Distinct findings that are kept of a launch; the rest is counted.
    max_instructions
        Instructions of warps after which a launch ends with an error.
    touched
        Say which blocks touched which elements of which array: ``Simulation.touched``, and the pictures of its page.
    breaks
        Lines, ``FILE:LINE`` or ``FILE:LINE:LANE``, at which is looked what lanes hold: ``Simulation.stops``.
    max_stops
        Stops at these lines that are kept of a launch; the rest is counted.
    on_stop
        Is called with each ``Stop`` that is kept, when its launch has ended.
    memory
        Arrays that kernels reach through pointers which they load; ``Recording.register`` adds more.
    workers, memory_limit, progress
        As for ``combine_traces``. Results do not depend on the number of workers.

    Returns
    -------
    Recording
        What happens from now on. Leaving its ``with`` block disables the device.

    Raises
    ------
    UsageError
        Something is enabled already, or Triton is not there. Under ``prlx simulate`` nothing is raised: its command line
        decides, and a warning says so.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> recording = prlx.enable(device="simulator")
    >>> _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
    >>> prlx.disable()
    >>> recording
    <Recording: 1 launch, 1,896 warp instructions, no finding>
    """
    options = Options(
        seed=seed,
        stop=stop,
        nan=nan,
        races=races,
        global_races=global_races,
        convergence=convergence,
        counts=counts,
        max_findings=max_findings,
        max_instructions=max_instructions,
        touched=touched,
        breaks=(breaks,) if isinstance(breaks, str) else tuple(breaks),
        max_stops=max_stops,
        on_stop=on_stop,
        workers=workers,
        memory_limit=memory_limit,
        progress=progress,
    ).checked()
    wanted = extras(stores, atomics, loads, barriers, events_per_warp, outputs, sources)
    asked = Asked(output, mode, filter, overwrite, wanted, capture)
    return start(device, options, asked, map_cuda=map_cuda, memory=memory)


@dataclass(frozen=True)
class Asked:
    """What is to be recorded, as ``enable`` is told."""

    output: AnyPath | None
    mode: Mode
    filter: Filter
    overwrite: bool
    extras: Mapping[str, Any]
    capture: Capture = "observed"

    def target(self) -> Target | None:
        """Where to; None where nothing is recorded."""
        if self.output is None:
            return None
        return Target(
            self.output,
            mode=self.mode,
            filter=self.filter,
            overwrite=self.overwrite,
            extras=self.extras,
            directory=False,
        )


def start(
    device: str, options: Options, asked: Asked, *, map_cuda: bool, memory: Iterable[Any], compiler: bool = False
) -> Recording:
    """Enable the simulator, for Triton's kernels or (``compiler``) also for those that torch's compiler makes."""
    _check_device(device)
    if _host is not None:
        host = "prlx pytorch run" if _enabled("run on").compiler is not None else "prlx simulate"
        warnings.warn(f"{host} has enabled the simulator, with the options of its command line", stacklevel=3)
        _host.register(*memory)
        return _host
    rewriter = _capture.rewriter(asked.capture, asked.filter)
    recording = Recording(asked.target())
    simulator = _open(options, recording, map_cuda=map_cuda, rewriter=rewriter, compiler=compiler)
    try:
        simulator.register(list(memory))
    except BaseException:
        simulator.close(partial=True)
        raise
    return recording


def compiler_regions() -> list[str] | None:
    """The names of the regions that the program is in, where torch's compiler is enabled; None where it is not."""
    return None if _active is None or _active.compiler is None else _active.compiler.regions


def _open(
    options: Options,
    recording: Recording,
    *,
    map_cuda: bool = False,
    rewriter: Rewriter | None = None,
    compiler: bool = False,
) -> _Simulator:
    global _active
    if _active is not None:
        raise UsageError("the simulator is enabled already", hint="call prlx.disable first")
    from .hooks import triton

    triton.check()
    for sentence in _former.ignored(os.environ):
        warnings.warn(sentence, stacklevel=3)
    seed = recorded_again(os.environ).get("seed")
    if seed is not None:
        options = with_changes(options, {"seed": seed})
    simulator = _Simulator(options, recording, rewriter)
    simulator.open(map_cuda=map_cuda, compiler=compiler)
    _active = simulator
    atexit.unregister(disable)
    atexit.register(disable)  # finishes what is recorded
    return simulator


def _check_device(device: str) -> None:
    from .hooks import triton

    if device not in _DEVICES:
        raise UsageError(f"device: expected one of {', '.join(_DEVICES)}, got {device!r}")
    triton.check()
    if device == "gpu" or (device == "auto" and triton.sees_gpu()):
        raise UsageError(
            "recording on a GPU is not there yet", hint='device="simulator" runs the compiled kernels without the GPU'
        )


def launch(one: Launch, changes: Mapping[str, Any], registered: Sequence[Storage]) -> Simulation:
    """Run a launch on the simulator that is enabled, without warnings and with other options; its recordings see it."""
    with quiet(changes) as seen:
        simulator = _enabled("launch on")
        before = list(simulator._registered)
        simulator._registered += registered
        try:
            simulator._run(one)
        finally:
            simulator._registered[:] = before
    return seen[-1]


def extras(
    stores: bool,
    atomics: bool,
    loads: bool,
    barriers: bool,
    events_per_warp: int | None,
    outputs: int | str | None,
    sources: bool | None,
) -> dict[str, Any]:
    """What a recording holds besides control flow, as the core takes it."""
    if events_per_warp is not None and (not isinstance(events_per_warp, int) or not 0 < events_per_warp < 1 << 32):
        raise UsageError(f"events_per_warp: expected a whole number above 0, got {events_per_warp!r}")
    return {
        "predicates": True,
        "stores": stores,
        "atomics": atomics,
        "loads": loads,
        "barriers": barriers,
        "events_per_warp": events_per_warp,
        "outputs": _size("outputs", outputs),
        "sources": _config.load().get("simulate.sources").value if sources is None else sources,
    }


def _size(name: str, value: int | str | None) -> int:
    """A number of bytes, or a text such as ``64MB``; None is 0."""
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise UsageError(f"{name}: expected a size in bytes or a text such as 64MB, got {value!r}")
    return value


def disable() -> None:
    """Put back everything that ``enable`` replaced, and finish what is recorded. Nothing happens when nothing is enabled.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> recording = prlx.enable(device="simulator")
    >>> prlx.disable()
    >>> prlx.disable()  # nothing is enabled, and nothing happens
    """
    if _active is not None and _host is None:
        _active.close()


@contextlib.contextmanager
def hosting(recording: Recording) -> Iterator[None]:
    """Let code that enables and disables the simulator itself run under one that is enabled: it changes nothing."""
    global _host
    _host = recording
    try:
        yield
    finally:
        _host = None


@contextlib.contextmanager
def record(
    path: AnyPath,
    *,
    mode: Mode = "control-flow",
    filter: Filter = None,
    stores: bool = False,
    atomics: bool = False,
    loads: bool = False,
    barriers: bool = False,
    events_per_warp: int | None = None,
    outputs: int | str | None = None,
    sources: bool | None = None,
    overwrite: bool = False,
) -> Iterator[Recording]:
    """Record the launches of a ``with`` block, by watching the clean kernels on the simulator.

    The simulator need not be enabled; then it is, with its defaults, for the block. Trials of the autotuner are not recorded.

    Every recording says what the launch wrote: counts and hashes of what each warp stored, digests of the bytes of each array
    that were written, and what the simulator's checks found.

    Parameters
    ----------
    path
        A directory for a session with a file per launch, or a name that ends in ``.prlx`` for one launch.
    mode
        ``"control-flow"`` has an event for each branch and each predicate of a memory access, with active and taken lanes;
        ``"values"`` also has operands of every lane; ``"digest"`` only hashes.
    filter
        Names of kernels, with ``*`` and ``?``; default all.
    stores, atomics, loads, barriers
        Have events for these, too.
    events_per_warp
        Keep at most so many events of a warp, the first ones; default all.
    outputs
        Keep the contents of what each launch wrote, too, up to so many bytes (``"64MB"``), with the thread that wrote each
        element last. Of arrays that do not fit the front is kept. Default: digests only.
    sources
        Hold the text of the kernel and of the functions of yours that it calls, and its PTX, so that reports show the lines
        that ran, also when the file was edited since, and explanations follow the code. Default: the setting
        ``simulate.sources``, which is true.
    overwrite
        Replace what is there: the file, or the recordings in the directory.

    Yields
    ------
    Recording
        What happens in the block; ``read()`` opens the recordings when it has ended.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> for slip in (0, -1):
    ...     with prlx.record(f"slip{slip}.prlx"):
    ...         _ = softmax[(6,)](out, x, 200, 200, SLIP=slip, BLOCK=256)
    >>> prlx.diff_traces("slip0.prlx", "slip-1.prlx").status
    'diverged'
    """
    wanted = extras(stores, atomics, loads, barriers, events_per_warp, outputs, sources)
    with _recorded(path, mode, filter, overwrite, wanted, directory=False) as recording:
        yield recording


@contextlib.contextmanager
def session(
    path: AnyPath,
    *,
    mode: Mode = "control-flow",
    filter: Filter = None,
    outputs: int | str | None = None,
    sources: bool | None = None,
    overwrite: bool = False,
) -> Iterator[Recording]:
    """Record the launches of a ``with`` block as a session, whatever the directory is called; see ``record``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> with prlx.session("runs"):
    ...     _ = softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
    >>> prlx.open("runs")
    <Session ...: 1 launch of 1 kernel>
    """
    wanted = extras(False, False, False, False, None, outputs, sources)
    with _recorded(path, mode, filter, overwrite, wanted, directory=True) as recording:
        yield recording


@contextlib.contextmanager
def _recorded(
    path: AnyPath, mode: str, filter: Filter, overwrite: bool, extras: Mapping[str, Any], *, directory: bool
) -> Iterator[Recording]:
    if _active is not None and any(r._target is not None for r in _active.recordings):
        raise UsageError("launches are recorded already", hint="leave the other recording first")
    if _active is None:
        _check_device("auto")
    target = Target(path, mode=mode, filter=filter, overwrite=overwrite, extras=extras, directory=directory)
    recording = Recording(target)
    complete = False
    with _listening(recording):
        try:
            yield recording
            complete = True
        finally:
            target.close(partial=not complete)


@contextlib.contextmanager
def recorded(path: AnyPath, options: Mapping[str, Any]) -> Iterator[Recording]:
    """Record a session with options as ``PRLX_RECORD`` has them: one launch alone with ``launch``."""
    asked = dict(options)
    mode, only, outputs = asked.pop("mode", "control-flow"), asked.pop("launch", None), asked.pop("outputs", None)
    flags = {name: asked.pop(name, False) for name in ("stores", "atomics", "loads", "barriers")}
    wanted = extras(**flags, events_per_warp=None, outputs=outputs, sources=None)
    with _recorded(path, mode, None, True, wanted, directory=True) as recording:
        assert recording._target is not None
        recording._target.only = only
        yield recording


@contextlib.contextmanager
def quiet(changes: Mapping[str, Any]) -> Iterator[Sequence[Simulation]]:
    """Collect the launches of a block without warnings, with other options of the simulator."""
    recording = Recording()
    recording._thread = threading.get_ident()  # launches of other threads are none of ours
    with _alone, _listening(recording) as simulator:
        before = simulator.options
        simulator.options = with_changes(before, changes)
        simulator.quiet += 1
        try:
            yield recording.simulations
        finally:
            simulator.options = before
            simulator.quiet -= 1


@contextlib.contextmanager
def _listening(recording: Recording) -> Iterator[_Simulator]:
    """Have a recording told of launches; the simulator is enabled for the block where it is not yet."""
    opened = None if _active is not None else _open(Options().checked(), Recording())
    simulator = _enabled("listen to")
    simulator.recordings.append(recording)
    try:
        yield simulator
    finally:
        with contextlib.suppress(ValueError):
            simulator.recordings.remove(recording)
        if opened is not None:
            opened.close()


@contextlib.contextmanager
def listening() -> Iterator[Recording]:
    """Collect the launches of a block; the simulator is enabled."""
    recording = Recording()
    with _listening(recording):
        yield recording
