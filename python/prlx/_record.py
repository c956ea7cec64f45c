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

from . import _capture, _config, _former, _options
from ._capture import Capture
from ._errors import UsageError
from ._launching import Options, with_changes, with_keywords
from ._simulation import Simulation
from ._simulator import Recording, Simulator, active, check_closed, enabled, recorded_gpu
from ._target import Filter, Target, asked_again, named_by, ranges, recorded_again
from ._units import parse_size

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._gpu_device import Gpu
    from ._option_keywords import RecordKeywords, SessionKeywords, SimulateKeywords
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._stops import Stop
    from .hooks.instrument import Rewriter
    from .hooks.launch import Launch, Storage

_DEVICES = ("auto", "gpu", "simulator")
_SHOWN = 20  # rows of a card
_KEPT = 1000  # launches that a Recording remembers in full, findings that it lists


_HELD = ("stores", "atomics", "loads", "barriers", "events_per_warp", "outputs", "sources", "inputs")

_alone = threading.RLock()  # held by prlx.simulate: options of the simulator are those of one launch at a time
_host: Recording | None = None  # of prlx simulate, while a script runs: what the script enables is that


@_options.by_name("simulate")
def enable(
    *,
    device: str = "auto",
    on_stop: Callable[[Stop], object] | None = None,
    memory: Iterable[Any] = (),
    progress: Progress = "auto",
    **options: Unpack[SimulateKeywords],
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
    **options
        See ``docs/options.md``.
    on_stop
        Is called with each ``Stop`` that is kept, when its launch has ended.
    memory
        Arrays that kernels reach through pointers which they load; ``Recording.register`` adds more.
    progress
        As for ``combine_traces``.

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
    given = _options.filled("simulate", options)
    chosen = with_keywords(given, on_stop=on_stop, progress=progress)
    return start(device, chosen, Asked.of(given), map_cuda=given["map_cuda"], memory=memory)


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

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Asked:
        """What keyword arguments of ``enable`` ask for."""
        wanted = extras(**{name: given[name] for name in _HELD})
        wanted |= {} if given.get("contents_after", True) else {"contents_after": False}
        plain = ("output", "mode", "filter", "overwrite", "capture", "plan", "window", "within_registers")
        return cls(extras=wanted, **{name: given[name] for name in plain})

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
    *,
    stores: bool | None = False,
    atomics: bool | None = False,
    loads: bool | None = False,
    barriers: bool | None = False,
    events_per_warp: int | None = None,
    outputs: int | str | None = None,
    sources: bool | None = None,
    inputs: int | str | None = None,
) -> dict[str, Any]:
    """What a recording holds besides control flow, as the core takes it; ``inputs``, where given, are kept on this side."""
    if events_per_warp is not None and (not isinstance(events_per_warp, int) or not 0 < events_per_warp < 1 << 32):
        raise UsageError(f"events_per_warp: expected a whole number above 0, got {events_per_warp!r}")
    return {
        "predicates": True,
        "stores": bool(stores),
        "atomics": bool(atomics),
        "loads": bool(loads),
        "barriers": bool(barriers),
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


@_options.by_name("record")
@contextlib.contextmanager
def record(path: AnyPath, **options: Unpack[RecordKeywords]) -> Iterator[Recording]:
    """Record the launches of a ``with`` block, by watching the clean kernels on the simulator.

    The simulator need not be enabled; then it is, with its defaults, for the block. Trials of the autotuner are not recorded.

    Every recording says what the launch wrote: counts and hashes of what each warp stored, digests of the bytes of each array
    that were written, and what the simulator's checks found.

    Parameters
    ----------
    path
        A directory for a session with a file per launch, or a name that ends in ``.prlx`` for one launch.
    **options
        See ``docs/options.md``.

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
    given = _options.filled("record", options)
    wanted = extras(**{name: given[name] for name in _HELD})
    with _recorded(path, given["mode"], given["filter"], given["overwrite"], wanted, directory=False) as recording:
        yield recording


@_options.by_name("session")
@contextlib.contextmanager
def session(path: AnyPath, **options: Unpack[SessionKeywords]) -> Iterator[Recording]:
    """Record the launches of a ``with`` block as a session, whatever the directory is called; see ``record``.

    Parameters
    ----------
    path
        The directory.
    **options
        See ``docs/options.md``.

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
    given = _options.filled("session", options)
    wanted = extras(**{name: given.get(name) for name in _HELD})
    with _recorded(path, given["mode"], given["filter"], given["overwrite"], wanted, directory=True) as recording:
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
    wanted = extras(**flags, outputs=outputs, inputs=inputs)
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
