"""The simulated device while it is enabled, and what happens on it."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _capture
from ._errors import SimulationError, UsageError
from ._inputs import beside, keep
from ._launching import Options, execute, report
from ._result import Card, clipped
from ._simulation import Finding, Simulation
from ._standing import Standing
from ._target import Target
from ._units import format_count, plural

if TYPE_CHECKING:
    from ._gpu_device import Gpu
    from ._kernel_trace import KernelTrace
    from ._plan import Plan
    from ._session import Session
    from .hooks.inductor import Inductor
    from .hooks.instrument import Rewriter
    from .hooks.launch import Launch, Storage

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
    plans
        With ``plan=True``, what a recording of each launch would take and lose; at most 1000.
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
        self._refusal_listeners: list[Callable[[str, str], object]] = []
        self._gpu: Gpu | None = None  # that it is of; None: the simulator
        self._lost_before: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        self._hosted = False  # by a command that runs a script, and closes the device when that has ended
        self.plans: list[Plan] = []
        self._says_plans = True  # when the device is disabled; a command does that itself
        self._planned: dict[str, Any] | None = None  # what would be recorded, where that is only planned
        self._thread: int | None = None  # whose launches it is told of; None for everybody's

    @property
    def losses(self) -> dict[str, int]:
        """How many launches on a GPU could not be recorded, by why. On the simulator there are none."""
        return {} if self._gpu is None else dict(self._gpu.losses - self._lost_before[0])

    @property
    def without_digests(self) -> dict[str, int]:
        """How many launches on a GPU were recorded without digests of what memory held, by why. All else of them is there."""
        return {} if self._gpu is None else dict(self._gpu.without_digests - self._lost_before[1])

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
        enabled("register memory").register(arrays)

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

    def on_refusal(self, call: Callable[[str, str], object]) -> None:
        """Call a function with the kernel and the reason of every launch that the simulator refuses from now on.

        The launch raises a ``SimulationError`` as well; a program may catch it and go on, without what the kernel computes.

        Examples
        --------
        >>> import numpy as np
        >>> from softmax import softmax  # examples/laptop/softmax.py
        >>> x = np.ones((6, 200), np.float32)
        >>> refused = []
        >>> with prlx.enable(device="simulator", progress=False) as recording:
        ...     recording.on_refusal(lambda kernel, why: refused.append(kernel))
        ...     _ = softmax[(6,)](np.zeros_like(x), x, 200, 200, SLIP=0, BLOCK=256)
        >>> refused
        []
        """
        self._refusal_listeners.append(call)

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
        if trial and not simulation.findings:
            self.trials += 1
            return
        self.launches += 1
        self.instructions += simulation.instructions
        self.simulations.append(simulation)
        if len(self.findings) < _KEPT:
            self.findings += simulation.findings[: _KEPT - len(self.findings)]
        if "planned" in simulation.document and len(self.plans) < _KEPT:
            from ._plan import planned

            self.plans.append(planned(simulation.document))
        for call in self._listeners:
            call(simulation)

    def _refuse(self, kernel: str, message: str) -> None:
        for call in self._refusal_listeners:
            call(kernel, message)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        device = self._gpu or _active
        if device is not None and device.recordings[:1] == [self] and not self._hosted:
            device.close(partial=error is not None)

    def _sentence(self) -> str:
        if self._gpu is not None:
            lost = sum(self.losses.values())
            said = f"{plural(self.launches, 'launch')} on a GPU, {self.recorded:,} recorded"
            return said + (f", {lost:,} lost" if lost else "")
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


class Simulator:
    """The simulated device while it is enabled."""

    def __init__(self, options: Options, recording: Recording, rewriter: Rewriter | None = None) -> None:
        from .hooks import simulator, triton

        self.options = options
        self.rewriter = rewriter
        self.quiet = 0
        self.recordings = [recording]
        self._registered: list[Storage] = []  # for the launch that runs
        self._standing = Standing()
        self._launched = 0
        self._unseen = set(options.empty_somewhere)
        self._lock = threading.Lock()
        self._surfaces = triton.Surfaces(simulator.KEY, rewriter)
        self._surfaces.on_leaving = self._left
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
        global _active
        _active = self

    def close(self, *, partial: bool = False) -> None:
        """Put everything back and finish what is recorded."""
        global _active
        if _active is self:
            _active = None
        self._device.open = False
        if self._launched and not partial:
            for name in sorted(self._unseen):
                warnings.warn(f"empty: no kernel that was launched has an array {name!r}", stacklevel=3)
        self._undo.close()
        self._surfaces.restore()
        for recording in self.recordings:
            if recording._target is not None:
                recording._target.close(partial=partial)
            if recording.plans and recording._says_plans:
                from ._plan import sentences

                sys.stdout.writelines(f"{line}\n" for line in sentences(recording.plans))

    def register(self, arrays: Sequence[Any]) -> None:
        """Name memory that kernels reach through pointers which they load."""
        from .hooks.arrays import storage

        pieces = []
        for i, array in enumerate(arrays):
            found = storage(array, f"registered memory {len(self._standing) + i}")
            if found is None:
                raise UsageError(f"cannot tell the size of what was registered: {type(array).__name__}")
            pieces.append(found)
        self._standing.register(pieces)

    def target(self) -> Target | None:
        """Where the next launch is recorded: the innermost recording that has a place."""
        if self._surfaces.benchmarking:
            return None  # the autotuner's trials are no part of the program
        return next((r._target for r in reversed(self.recordings) if r._target is not None), None)

    def _planned(self, record: dict[str, Any] | None) -> dict[str, Any] | None:
        """What is recorded of a launch, or would be where that is only planned."""
        asked = self.recordings[0]._planned
        return record if record is not None or asked is None or self._surfaces.benchmarking else dict(asked)

    def _left(self, kernel: str, driver: str) -> None:
        """A kernel was loaded on another driver, which the program made Triton's: nobody checks what it does there."""
        why = f"the program made another driver of Triton active ({driver}): what is launched there is not checked"
        warnings.warn(f"{kernel}: {why}", stacklevel=2)
        for recording in self._told():
            recording._refuse(kernel, why)

    def _told(self) -> list[Recording]:
        """The recordings that are told of this thread's launches."""
        return [one for one in self.recordings if one._thread in (None, threading.get_ident())]

    def _run(self, launch: Launch) -> int:
        with self._lock:
            target, number = self.target(), self._launched
            self._launched += 1
            begun = None if target is None else target.begin(launch.function.name, launch.texts)
        self._unseen -= {p.name for p in launch.parameters if p.is_pointer}
        simulation = None
        try:
            number, record = (number, None) if begun is None else begun
            record = self._planned(record)
            if record is not None and (limit := record.pop("inputs", 0)) and record.get("path"):
                keep(beside(Path(record["path"])), launch, limit)
            if launch.table and record is not None:
                launch, record = _capture.into_arena(launch, record)
            elif record is not None and not record.get("path"):
                record = None  # a plan is of kernels that record by themselves
            elif record is not None:
                record.pop("window", None)
            simulation = execute(
                launch, self.options, number=number, registered=self._registered, standing=self._standing, record=record
            )
        except SimulationError as error:
            for recording in self._told():
                recording._refuse(launch.function.name, error.message)
            raise
        finally:
            with self._lock:
                if begun is not None and target is not None:
                    target.end(begun[0], None if simulation is None else row_of(simulation))
        with self._lock:
            trial = self.compiler is not None and self._surfaces.benchmarking > 0
            for recording in self._told():
                recording._add(simulation, trial=trial)
        if simulation.output and not self.quiet:
            sys.stdout.write(simulation.output)  # where the kernel's prints come out on a GPU, too
        if self.options.stop or not self.quiet:
            report(simulation, stop=self.options.stop)
        return simulation.instructions


def row_of(simulation: Simulation) -> dict[str, Any]:
    """What the manifest of a session says of a launch that was recorded."""
    document = simulation.document
    done = document["recording"]
    row = {key: document[key] for key in ("kernel", "grid", "block")}
    row |= {key: done[key] for key in ("argument_digest", "module_hash", "file")}
    row["origin"] = document.get("origin")
    fidelity = document["fidelity"]
    row["fidelity"] = {
        "exact": fidelity["exact"],
        "approximated": list(dict.fromkeys(one["instruction"] for one in fidelity["approximated"])),
        "decides": sorted({one["use"] for one in fidelity["decides"]}),
    }
    return row


_active: Simulator | None = None
_gpu: Gpu | None = None  # that is recorded on


def recorded_gpu() -> Gpu | None:
    """The GPU that is recorded on, None where none is."""
    return _gpu


def record_on(gpu: Gpu | None) -> None:
    """Note which GPU is recorded on."""
    global _gpu
    _gpu = gpu


def check_closed() -> None:
    """Refuse to enable a device where one is enabled."""
    if _active is not None:
        raise UsageError("the simulator is enabled already", hint="call prlx.disable first")
    if _gpu is not None:
        raise UsageError("launches on a GPU are recorded already", hint="call prlx.disable first")


def active() -> Simulator | None:
    """The simulator that is enabled, None where none is."""
    return _active


def is_enabled() -> bool:
    """Whether the simulator is enabled, by whatever."""
    return _active is not None


def enabled(what: str) -> Simulator:
    """The simulator that is enabled, which somebody wants to do something on."""
    if _active is None:
        raise UsageError(f"nothing is enabled, so there is no device to {what}", hint="call prlx.enable first")
    return _active
