"""Entering Triton and leaving it again: ``enable``, ``disable``, ``record`` and ``session``."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import _capture, _config, _former
from ._capture import Capture
from ._errors import UsageError
from ._launching import Options, with_changes
from ._simulation import Simulation
from ._simulator import Recording, Simulator, active, check_closed, enabled, recorded_gpu
from ._target import Filter, Mode, Target, asked_again, named_by, ranges, recorded_again
from ._units import parse_size

if TYPE_CHECKING:
    from ._gpu_device import Gpu
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._stops import Stop
    from .hooks.instrument import Rewriter
    from .hooks.launch import Launch, Storage

_DEVICES = ("auto", "gpu", "simulator")
_SHOWN = 20  # rows of a card
_KEPT = 1000  # launches that a Recording remembers in full, findings that it lists


_alone = threading.RLock()  # held by prlx.simulate: options of the simulator are those of one launch at a time
_host: Recording | None = None  # of prlx simulate, while a script runs: what the script enables is that


def enable(
    *,
    device: str = "auto",
    output: AnyPath | None = None,
    filter: Filter = None,
    mode: Mode = "control-flow",
    capture: Capture | None = None,
    plan: bool = False,
    window: str | None = None,
    within_registers: bool = False,
    map_cuda: bool = False,
    seed: int = 0,
    stop: bool = False,
    nan: bool = False,
    races: bool = True,
    global_races: bool = False,
    warp_races: bool = False,
    views: bool = False,
    empty: Iterable[str] = (),
    convergence: bool = True,
    counts: bool = True,
    stores: bool = False,
    atomics: bool = False,
    loads: bool = False,
    barriers: bool = False,
    contents_after: bool = True,
    events_per_warp: int | None = None,
    outputs: int | str | None = None,
    inputs: int | str | None = None,
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
    """Run Triton kernels on the simulator from now on, or record those that run on a GPU.

    The simulator runs the compiled kernel without a GPU.
    User code stays as it is: ``kernel[grid](...)`` on NumPy arrays and torch CPU tensors, with autotuning, heuristics, hooks
    and benchmarks (whose time is the count of instructions). Call it before modules are imported that ask for Triton's driver.

    Parameters
    ----------
    device
        ``"simulator"``; ``"gpu"``: kernels run where they ran, and record by themselves; ``"auto"``: the GPU where Triton sees
        one, else the simulator. On a GPU nothing is checked, and options of checks and of the simulator are refused.
    output
        Record every launch: a directory for a session, or a name that ends in ``.prlx`` for a single launch.
    filter
        Which kernels and lines are recorded, as for ``record``.
    mode, stores, atomics, loads, barriers, events_per_warp, outputs, inputs, sources, overwrite
        What is recorded, as for ``record``.
    capture
        ``"observed"`` (the simulator's default): it watches the kernel as Triton compiles it. ``"instrumented"`` (the only one
        on a GPU): the kernel is compiled to record by itself, into memory that ``PRLX_ARENA`` bounds (256 MiB). It then leaves
        branches, switches, predicates and what is stored, and says so. ``PRLX_HISTORY_DEPTH=N`` keeps the last N events of a
        warp, ``PRLX_SAMPLE_RATE=N`` one of N that a warp passes at a site.
    plan
        Record nothing: with ``capture="instrumented"`` kernels count what they would record. ``Recording.plans`` says of each
        launch how many bytes a recording takes and what it would lose; it is printed when the device is disabled. What kernels
        compute is as ever.
    window
        With ``capture="instrumented"``, keep the events of each warp around one: ``SITE:VISIT:AFTER`` is the visit (from 0) of
        the site of this key, and how many events are kept behind it; without them the first visit, and 16. As many are kept
        before it as ``events_per_warp`` and the arena leave room for. Default: the first events of each warp.
    within_registers
        With ``capture="instrumented"``, record what the kernel could record on a GPU (sm_80): where the recorder would push
        values out of registers, branches and switches alone, or nothing. Recordings say what is left out. It runs Triton's
        assembler once or more for each kernel; the simulator itself has registers enough.
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
    warp_races
        Look for races between lanes of one warp in shared memory, too.
    views
        Look for accesses outside of the view that was passed and inside the array that it is a view of, too. Its shape and
        strides say which part that is.
    empty
        Arguments whose arrays nobody wrote before a launch, such as those of ``torch.empty``, by name: in every kernel that
        has them, reads of what the launch did not write itself are ``uninitialised-global``.
    convergence
        Look for instructions that need the whole warp at once (``mma``, ``ldmatrix``), and that a GPU may
        execute with a part of it.
    counts
        Count instructions, branches and traffic per line.
    contents_after
        On a GPU, make digests of what the memory behind arguments holds before and after each launch, by a small kernel of our
        own on its stream. It reads all of each argument's storage, twice. The simulator sees what is written.
    max_findings
        Distinct findings that are kept of a launch; the rest is counted.
    max_instructions
        Instructions of warps after which a launch ends with an error; None for 10^10, 0 for no limit.
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
        warp_races=warp_races,
        views=views,
        empty_somewhere=empty if isinstance(empty, str) else tuple(empty),
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
    wanted = extras(stores, atomics, loads, barriers, events_per_warp, outputs, sources, inputs)
    wanted |= {} if contents_after else {"contents_after": False}
    asked = Asked(output, mode, filter, overwrite, wanted, capture, plan, window, within_registers)
    return start(device, options, asked, map_cuda=map_cuda, memory=memory)


@dataclass(frozen=True)
class Asked:
    """What is to be recorded, as ``enable`` is told."""

    output: AnyPath | None
    mode: str
    filter: Filter
    overwrite: bool
    extras: Mapping[str, Any]
    capture: Capture | None = None
    plan: bool = False
    window: str | None = None
    within_registers: bool = False

    def with_environment(self, *, on_gpu: bool) -> Asked:
        """What is recorded when variables of the environment have had their say."""
        stores = self.extras["stores"] or os.environ.get("PRLX_INSTRUMENT_STORES") == "1"
        mode, wanted = asked_again(self.mode, {**self.extras, "stores": stores}, on_gpu=on_gpu)
        output = named_by(os.environ) if self.output is None else self.output
        return replace(self, output=output, mode=mode, extras=wanted)

    def target(self) -> Target | None:
        """Where to; None where nothing is recorded."""
        if self.output is None or self.plan:
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
    """Enable a device, for Triton's kernels or (``compiler``) also for those that torch's compiler makes."""
    from .hooks import triton

    triton.check()  # imports it, with which prlx run begins to record
    if _host is not None:
        if _host._gpu is not None:
            warnings.warn("prlx run records, with the options of its command line", stacklevel=3)
            return _host
        host = "prlx pytorch run" if enabled("run on").compiler is not None else "prlx simulate"
        warnings.warn(f"{host} has enabled the simulator, with the options of its command line", stacklevel=3)
        _host.register(*memory)
        return _host
    on_gpu = on_which(device) == "gpu"
    asked = asked.with_environment(on_gpu=on_gpu)
    if on_gpu:
        from . import _gpu_device

        said = (("map_cuda", map_cuda), ("memory", list(memory)), ("plan", asked.plan), ("compiler", compiler))
        recording = _gpu_device.start(options, asked, [name for name, given in said if given])
        _finish_at_exit()
        return recording
    asked = replace(asked, extras={name: value for name, value in asked.extras.items() if name != "contents_after"})
    if asked.window is not None:
        kept = {"window": _capture.window(asked.window, asked.capture or "observed")}
        asked = replace(asked, extras={**asked.extras, **kept})
    rewriter = _capture.rewriter(
        asked.capture or "observed", asked.filter, asked.extras, asked.mode, within_registers=asked.within_registers
    )
    recording = Recording(asked.target())
    if asked.plan:
        if asked.capture != "instrumented":
            raise UsageError("plan: the simulator records without an arena", hint='choose capture="instrumented"')
        recording._planned = {**asked.extras, "mode": asked.mode}
    simulator = _open(options, recording, map_cuda=map_cuda, rewriter=rewriter, compiler=compiler)
    try:
        simulator.register(list(memory))
    except BaseException:
        simulator.close(partial=True)
        raise
    return recording


def compiler_regions() -> list[str] | None:
    """The names of the regions that the program is in, where torch's compiler is enabled; None where it is not."""
    device = active()
    return None if device is None or device.compiler is None else device.compiler.regions


def _open(
    options: Options,
    recording: Recording,
    *,
    map_cuda: bool = False,
    rewriter: Rewriter | None = None,
    compiler: bool = False,
) -> Simulator:
    check_closed()
    from .hooks import triton

    triton.check()
    for sentence in _former.ignored(os.environ):
        warnings.warn(sentence, stacklevel=3)
    seed = recorded_again(os.environ).get("seed")
    if seed is not None:
        options = with_changes(options, {"seed": seed})
    simulator = Simulator(options, recording, rewriter)
    simulator.open(map_cuda=map_cuda, compiler=compiler)
    _finish_at_exit()
    return simulator


def _finish_at_exit() -> None:
    atexit.unregister(disable)
    atexit.register(disable)


def on_which(device: str) -> str:
    """What a name of a device stands for here: ``gpu`` or ``simulator``."""
    from .hooks import triton

    if device not in _DEVICES:
        raise UsageError(f"device: expected one of {', '.join(_DEVICES)}, got {device!r}")
    triton.check()
    if device == "auto":
        return "gpu" if triton.sees_gpu() else "simulator"
    return device


def launch(one: Launch, changes: Mapping[str, Any], registered: Sequence[Storage]) -> Simulation:
    """Run a launch on the simulator that is enabled, without warnings and with other options; its recordings see it."""
    with quiet(changes) as seen:
        simulator = enabled("launch on")
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
    inputs: int | str | None = None,
) -> dict[str, Any]:
    """What a recording holds besides control flow, as the core takes it; ``inputs``, where given, are kept on this side."""
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
    } | ({} if inputs is None else {"inputs": _size("inputs", inputs)})


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
    device = active() or recorded_gpu()
    if device is not None and _host is None:
        device.close()


def host(recording: Recording) -> None:
    """From now on, let code that enables and disables a device do so under one that is enabled: it changes nothing."""
    global _host
    _host = recording
    recording._hosted = True


@contextlib.contextmanager
def hosting(recording: Recording) -> Iterator[None]:
    """Let code that enables and disables the simulator itself run under one that is enabled: it changes nothing."""
    global _host
    host(recording)
    try:
        yield
    finally:
        _host = None
        recording._hosted = False


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
    inputs: int | str | None = None,
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
        What is recorded: names of kernels with ``*`` and ``?`` (one without is also found inside of names), ``FILE:LINE``,
        ``FILE:FROM-TO``, ``func:NAME``; several, also with commas. Default: what ``PRLX_FILTER`` says, else all.
    stores, atomics, loads, barriers
        Have events for these, too.
    events_per_warp
        Keep at most so many events of a warp, the first ones; default all.
    outputs
        Keep the contents of what each launch wrote, too, up to so many bytes (``"64MB"``), with the thread that wrote each
        element last. Of arrays that do not fit the front is kept. Default: digests only.
    inputs
        Keep the arrays of each launch as they were before it, too, where they have at most so many bytes together, beside its
        recording. With them :func:`prlx.try_statements` tells which of several changed statements matters.
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
    wanted = extras(stores, atomics, loads, barriers, events_per_warp, outputs, sources, inputs)
    with _recorded(path, mode, filter, overwrite, wanted, directory=False) as recording:
        yield recording


@contextlib.contextmanager
def session(
    path: AnyPath,
    *,
    mode: Mode = "control-flow",
    filter: Filter = None,
    outputs: int | str | None = None,
    inputs: int | str | None = None,
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
    wanted = extras(False, False, False, False, None, outputs, sources, inputs)
    with _recorded(path, mode, filter, overwrite, wanted, directory=True) as recording:
        yield recording


@contextlib.contextmanager
def _recorded(
    path: AnyPath, mode: str, filter: Filter, overwrite: bool, extras: Mapping[str, Any], *, directory: bool
) -> Iterator[Recording]:
    device: Simulator | Gpu | None = active() or recorded_gpu()
    if device is not None and any(r._target is not None for r in device.recordings):
        raise UsageError("launches are recorded already", hint="leave the other recording first")
    listening: Callable[[Recording], contextlib.AbstractContextManager[object]] = _listening
    on_gpu = not isinstance(device, Simulator) and (device is not None or on_which("auto") == "gpu")
    mode, extras = asked_again(mode, extras, on_gpu=on_gpu)
    rewriter = None if device is None else device.rewriter
    if rewriter is not None and rewriter.hashes != (mode == "digest"):
        compiled = "digest" if rewriter.hashes else "events"
        raise UsageError(
            f"mode: kernels are compiled to record {compiled} where the device is enabled, and {mode} is asked for here",
            hint="give enable the same mode, or leave it to record to enable the device",
        )
    if on_gpu:
        from . import _gpu_device

        listening = functools.partial(_gpu_device.listening, mode, filter, extras)
    target = Target(path, mode=mode, filter=filter, overwrite=overwrite, extras=extras, directory=directory)
    recording = Recording(target)
    complete = False
    try:
        with listening(recording):
            yield recording
        complete = True
    finally:
        target.close(partial=not complete or bool(recording.losses))


@contextlib.contextmanager
def recorded(path: AnyPath, options: Mapping[str, Any]) -> Iterator[Recording]:
    """Record a session with options as ``PRLX_RECORD`` has them: one launch alone with ``launch``."""
    asked = dict(options)
    mode, only, outputs = asked.pop("mode", "control-flow"), asked.pop("launch", None), asked.pop("outputs", None)
    inputs = asked.pop("inputs", None)
    warps = asked.pop("warps", "")
    flags = {name: asked.pop(name, False) for name in ("stores", "atomics", "loads", "barriers")}
    wanted = extras(**flags, events_per_warp=None, outputs=outputs, sources=None, inputs=inputs)
    if warps:
        wanted["warps"] = ranges(warps)
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
def _listening(recording: Recording) -> Iterator[Simulator]:
    """Have a recording told of launches; the simulator is enabled for the block where it is not yet."""
    opened = None if active() is not None else _open(Options().checked(), Recording())
    simulator = enabled("listen to")
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
