"""Recording the clocks of this process's host while a program runs: ``with prlx.clocks(directory):``."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from . import _core, _probe
from ._errors import ForkedProcessError, PrlxError, UsageError
from ._snapshots import Clock, Sampler

if TYPE_CHECKING:
    from ._request import Path as AnyPath

# Variables in which launchers say which of how many processes this is.
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "JAX_PROCESS_ID")
_SIZES = (
    "WORLD_SIZE", "SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "JAX_NUM_PROCESSES",
)  # fmt: skip


def _number(names: tuple[str, ...]) -> int | None:
    for name in names:
        text = os.environ.get(name, "")
        if re.fullmatch(r"\d{1,9}", text):
            return int(text)
    return None


def rank_of_environment() -> int | None:
    """Which process of the job this is, as its launcher says; None where none says it."""
    return _number(_RANKS)


def is_distributed() -> bool:
    """Whether the launcher says that this process is one of several."""
    return (_number(_SIZES) or 1) > 1


class Recorder(Protocol):
    """What ``Clocks`` starts and stops: the sampler, and whatever else measures clocks beside it."""

    @property
    def running(self) -> bool:
        """Whether it runs, in this process."""
        ...

    def counters(self) -> dict[str, int]:
        """Its telemetry, so far or all in all."""
        ...

    def stop(self) -> None:
        """End it; again, it does nothing."""
        ...


class Probes:
    """A prober that runs in the core until it is stopped. A forked child has none."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._owner = os.getpid()
        self._job: _core.Job | None = _core.start("probe", asked)
        self.result: _probe.Probing | None = None
        if self._job.wait(0.1):  # a key that is too short, a port that is taken
            self.result = _probe.Probing(self._job.result())
            self._job = None

    @property
    def running(self) -> bool:
        """Whether it runs, in this process."""
        return self._job is not None and self._owner == os.getpid()

    def counters(self) -> dict[str, int]:
        """What became of packets, once it has ended."""
        return {} if self.result is None else {f"probes_{name}": n for name, n in self.result.counters.items()}

    def stop(self) -> None:
        """End it; what it measured is in its file. Again, it does nothing."""
        if self._job is None or not self.running:
            return
        job, self._job = self._job, None
        job.cancel()
        while not job.wait(1.0):
            pass
        try:
            self.result = _probe.Probing(job.result())
        except PrlxError as error:  # what it measured up to then is in its file, and the program goes on
            warnings.warn(f"the prober has ended early: {error}", stacklevel=3)


@dataclass(repr=False)
class Clocks:
    """Clocks that are being recorded, or were. Leaving its ``with`` block ends the recording.

    Attributes
    ----------
    directory
        Where the files lie: what ``prlx combine`` is given, with the traces.
    snapshots
        The readings of the system clock and the tracer's clock. It is readable at any time.
    tracer
        The clock that was read beside the system clock, as the file names it.
    probes
        The file of probe stamps, once the recording has ended; None without peers, and where another process of this host
        has measured.

    Examples
    --------
    >>> with prlx.clocks("run7", rank=3, period_ms=10) as clocks:
    ...     pass  # the program
    >>> clocks.snapshots.name, clocks.counters["snapshots_taken"] >= 2
    ('rank3.pairs.jsonl', True)
    """

    directory: Path
    snapshots: Path
    tracer: str
    period_ms: float
    probes: Path | None = None
    _recorders: list[Recorder] = field(default_factory=list)
    _counters: dict[str, int] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether clocks are being recorded, in this process."""
        return any(one.running for one in self._recorders)

    @property
    def counters(self) -> dict[str, int]:
        """How much was read and lost: ``snapshots_taken``, ``missed_deadline``, ``dropped_samples`` and others."""
        for one in self._recorders:
            self._counters.update(one.counters())
        return dict(self._counters)

    def now(self) -> None:
        """Read the clocks now, besides the cadence: at the begin and the end of what matters.

        Examples
        --------
        >>> with prlx.clocks("run5", rank=0) as clocks:
        ...     clocks.now()
        >>> clocks.counters["snapshots_taken"]
        3
        """
        for one in self._recorders:
            if isinstance(one, Sampler):
                one.now()

    def _add(self, recorder: Recorder) -> None:
        """Have something else that measures clocks end with this recording."""
        self._recorders.append(recorder)

    def stop(self) -> Clocks:
        """End the recording. A file of more than 64 KiB is compressed. Again, and in a forked child, it does nothing.

        Examples
        --------
        >>> prlx.clocks("run6", rank=0).stop().running
        False
        """
        if not self.running:
            return self
        for one in self._recorders:
            one.stop()
        self._counters = self.counters
        for one in self._recorders:
            if isinstance(one, Probes) and one.result is not None:
                self.probes = one.result.path
        self._recorders = []
        if self.snapshots.exists():
            with contextlib.suppress(
                ForkedProcessError
            ):  # there is no core here: the file stays as it is, which is as good
                self.snapshots = Path(finished(self.snapshots)["path"])
        return self

    def __enter__(self) -> Clocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "running" if self.running else "stopped"
        taken = self.counters.get("snapshots_taken", 0)
        return f"<Clocks: {state}, {taken:,} readings of {self.tracer}, every {self.period_ms:g} ms>"


def finished(snapshots: Path, **asked: Any) -> dict[str, Any]:
    """What the core makes of a file of readings."""
    return _core.run("finish_snapshots", {"path": str(snapshots), **asked})


def attached(snapshots: Path, *, trace: Path, output: Path, distributed: dict[str, Any] | None) -> dict[str, Any]:
    """Write a trace again with the readings in it, which may go on meanwhile."""
    asked = {"path": str(snapshots), "trace": str(trace), "output": str(output), "distributed": distributed}
    return _core.run("attach_snapshots", asked)


def clocks(
    directory: AnyPath,
    *,
    tracer: str = "auto",
    clock: Clock | None = None,
    period_ms: float | None = None,
    duration_s: float | None = None,
    rank: int | None = None,
    name: str | None = None,
    peers: AnyPath | Iterable[str] | None = None,
    node: int | str | None = None,
    interface: str | None = None,
    job_file: AnyPath | None = None,
) -> Clocks:
    """Record the clocks of this process's host from now on, until ``stop`` or the end of a ``with`` block.

    A thread in C reads the system clock and a tracer's clock together, at a cadence, and appends each pair to a file. With
    ``peers`` a prober also measures the clocks of the other hosts.

    Parameters
    ----------
    directory
        Where files are written; it is made where it is missing. The same for all processes of a job, or one for each.
    tracer
        The clock beside the system clock: ``"auto"`` (that of rocprofiler where the program has loaded it, else
        ``CLOCK_MONOTONIC_RAW``), ``"monotonic"``, ``"monotonic_raw"``, ``"boottime"``, ``"tai"``, ``"tsc"``,
        ``"cupti"``, ``"rocprofiler"``, ``"hsa"``, ``"ptp:/dev/ptp0"``. With ``clock`` it is the name of that clock.
    clock
        A function that returns nanoseconds of a clock of the caller's.
    period_ms
        The cadence, 10 to 3,600,000. ``None``: the variable ``PRLX_SNAPSHOT_PERIOD_MS``, else
        ``XLA_ROCM_SNAPSHOT_PERIOD_MS``, else 4,000.
    duration_s
        How long the recording will take, for the room in memory; the file has no limit.
    rank
        The number of this process in its job; ``None`` takes that of the launcher (torchrun, SLURM, MPI).
    name
        How the files begin; ``None`` is ``rank<N>``, or host and process id where there is no rank.
    peers
        All hosts of the job, this one included, in the same order everywhere, as for ``prlx.probe_clocks``: their numbers
        in that order are those of the traces. ``None`` measures no other clocks.
    node, interface, job_file
        Of the prober, as for ``prlx.probe_clocks``.

    Returns
    -------
    Clocks
        With the paths of the files and the counters.

    Raises
    ------
    PrlxError
        Where a clock is not there, or the file cannot be made.

    Examples
    --------
    >>> recording = prlx.clocks("run8", tracer="monotonic", rank=0)
    >>> recording.now()
    >>> recording.stop().counters["missed_deadline"]
    0
    """
    recording = record(
        directory, tracer=tracer, clock=clock, period_ms=period_ms, duration_s=duration_s, rank=rank, name=name
    )
    if peers is not None:
        try:
            asked = _probe.request(
                output=recording.directory, peers=peers, node=node, interface=interface, job_file=job_file
            )
            recording._add(Probes(asked))
        except BaseException:
            recording.stop()
            raise
    return recording


def record(
    directory: AnyPath,
    *,
    tracer: str = "auto",
    clock: Clock | None = None,
    period_ms: float | None = None,
    duration_s: float | None = None,
    rank: int | None = None,
    name: str | None = None,
    option: str | None = None,
) -> Clocks:
    """``clocks``, with the cadence that a profiler's options ask for: it counts where there is no ``period_ms``."""
    folder = Path(directory).expanduser().absolute()
    folder.mkdir(parents=True, exist_ok=True)
    number = rank_of_environment() if rank is None else rank
    host = socket.gethostname()
    begin = name or (f"{host}_{os.getpid()}" if number is None else f"rank{number}")
    if "/" in begin:
        raise UsageError(f"name is {begin!r}, expected the begin of a file name")
    path = free_name(folder, begin)
    sampler = Sampler(
        path, tracer=tracer, clock=clock, period_ms=period_ms, option=option, duration_s=duration_s, host=host, rank=number,
    )  # fmt: skip
    return Clocks(folder, path, sampler.clock, sampler.period_ns / 1e6, _recorders=[sampler])


def free_name(folder: Path, begin: str) -> Path:
    """A file for readings that is not there: what an earlier recording left is kept."""
    for number in range(1000):
        path = folder / (f"{begin}.pairs.jsonl" if number == 0 else f"{begin}.{number}.pairs.jsonl")
        if not path.exists() and not path.with_name(path.name + ".zst").exists():
            return path
    raise UsageError(f"{folder} holds 1,000 recordings of {begin}", hint="name another directory")
