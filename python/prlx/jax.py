"""JAX's profiler with clocks: ``with prlx.jax.trace(log_dir):`` in every process gives one run that is put on one clock.

Every process writes its trace into one run directory, whoever started it when, with the readings of its host's clocks in the
trace (plane ``/host:snapshots``) and beside it (``<host>.snapshot_pairs.pb``). ``prlx combine`` finds all of it by itself.

``prlx.jax.simulate(function, *args)`` runs the Pallas kernels of a function on the simulator.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import secrets
import shutil
import socket
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _peers, _probe, _snapshots
from ._clocks import Clocks, Probes, finished, is_distributed, rank_of_environment, record
from ._errors import PrlxError, UsageError

if TYPE_CHECKING:
    from ._combine import CombinedTrace
    from ._pallas import PallasRun, simulate
    from ._request import Path as AnyPath

__all__ = ["PallasRun", "Trace", "simulate", "start_trace", "stop_trace", "trace"]


def __getattr__(name: str) -> Any:
    """The simulator's names, when they are used: jobs that are traced need none of it."""
    if name not in ("PallasRun", "simulate"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _pallas

    return getattr(_pallas, name)


_TIMEOUT_MS = 60_000  # for the other processes to say how the run is called


@dataclass(repr=False)
class Trace:
    """A trace that is being recorded, or was.

    Attributes
    ----------
    log_dir, run_dir
        What TensorBoard and XProf are given, and the run in it: the same in all processes of a job.
    process, processes
        Which process of the job this is, and how many there are.
    xplane, snapshots, probes
        The trace of this process, the readings of its clocks and its probes of the other hosts' clocks, once the
        recording has ended; None where there are none: the first process of a host probes for all of them.
    counters
        The telemetry of the sampler of clocks.
    combined
        What ``prlx.combine_traces`` made of the run, in process 0 of a job with ``combine=True``; else None.
    """

    log_dir: Path
    run_dir: Path | None
    process: int
    processes: int
    xplane: Path | None = None
    snapshots: Path | None = None
    probes: Path | None = None
    counters: dict[str, int] = field(default_factory=dict)
    combined: CombinedTrace | None = None
    _private: Path | None = None
    _name: str = ""
    _combine: bool = False
    _clocks: Clocks | None = None
    _in_metadata: bool = False  # that is where the readings go in the trace

    @property
    def command(self) -> str:
        """The command that puts all traces of the run on one clock."""
        return f"prlx combine {self.run_dir or self.log_dir}"

    def __repr__(self) -> str:
        return f"<Trace: process {self.process} of {self.processes}, {self.run_dir or self.log_dir}>"


_running: Trace | None = None
_registered = False


def _profiler_call(name: str) -> Any:
    """A function of the profiler of jaxlib, which has had several names; None where this jaxlib has none of that name."""
    for module, attribute in (
        ("jaxlib._profiler", None),
        ("jax._src.lib", "_profiler"),
        ("jaxlib.xla_client", "profiler"),
    ):
        with contextlib.suppress(ImportError, AttributeError):
            found = importlib.import_module(module)
            call = getattr(found if attribute is None else getattr(found, attribute), name, None)
            if call is not None:
                return call
    return None


def _register(tracer: str, period_ms: float | None) -> bool:
    """Have XLA's profiler ask ours for its plane, in every session from now on; whether it takes profilers."""
    global _registered
    library = _snapshots.library()
    said = ctypes.create_string_buffer(256)
    if library.prlx_snapshot_pjrt_configure(tracer.encode(), _snapshots.period_ns(period_ms), said, len(said)):
        raise UsageError(said.value.decode(errors="replace"))
    if _registered:
        return True
    register = _profiler_call("register_plugin_profiler")
    if register is None:
        return False
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    register(capsule(library.prlx_snapshot_pjrt_api(), b"pjrt_c_api", None))
    _registered = True
    return True


_MOST_IN_METADATA = 400  # readings: a text of metadata is kept up to 64 KiB


def _add_metadata(clocks: Clocks) -> None:
    """Put the readings among the metadata of the session that runs, where this jaxlib lets no plane be added."""
    add = _profiler_call("set_metadata")
    if add is None:  # they are beside the trace
        return
    clocks.now()
    try:
        rows = [json.loads(line) for line in clocks.snapshots.read_text().splitlines()]
        pairs = [row for row in rows if "tracer_clock_ns" in row]
        kept = pairs[:: -(-len(pairs) // _MOST_IN_METADATA) or 1] + pairs[-1:]
        add("prlx_snapshots", json.dumps({"tracer_clock_name": clocks.tracer, "pairs": kept}))
    except (OSError, ValueError) as error:  # the trace itself is what counts
        warnings.warn(f"the trace has no clocks in it, but beside it: {error}", stacklevel=4)


def _client() -> Any:
    """JAX's coordination service; None where this process is on its own."""
    with contextlib.suppress(ImportError, AttributeError):
        return importlib.import_module("jax._src.distributed").global_state.client
    return None


_runs = 0  # how many runs the processes of the job have agreed on


def _agree(runs: Path, process: int, processes: int) -> tuple[str, str]:
    """The name of the run, the same in all processes, and the begin of the names of this process's files, its own."""
    global _runs
    mine = now = time.strftime("%Y_%m_%d_%H_%M_%S")
    for number in range(2, 100):
        if not (runs / mine).exists():
            break
        mine = f"{now}_{number}"  # another run of the same second
    host = socket.gethostname()
    if processes < 2:
        rank = rank_of_environment()  # of a job whose processes do not know each other through JAX
        return mine, host if rank is None else f"{host}.rank{rank}"
    name = (
        f"{host}.rank{process}"  # the number says which probes are of this process, and keeps those of one host apart
    )
    client = _client()
    if client is None:
        return mine, name
    _runs += 1
    try:
        if process == 0:
            client.key_value_set(f"prlx/trace/{_runs}/name", mine)
        mine = str(client.blocking_key_value_get(f"prlx/trace/{_runs}/name", _TIMEOUT_MS))
    except Exception as error:
        warnings.warn(f"the processes did not agree on the name of the run: {error}", stacklevel=4)
    return mine, name


def _probe_others(done: Trace, private: Path) -> Probes | None:
    """Start the prober of this host, whose peers are those of the others; None where another process of the host does."""
    client, key = _client(), f"prlx/trace/{_runs}"
    try:
        if client is None or done.processes < 2:
            # Its launcher may tell of the other hosts; then a key shows who of these belongs to the job.
            return (
                Probes(_probe.request(output=private)) if is_distributed() and os.environ.get("PRLX_JOB_KEY") else None
            )
        if done.process == 0:
            client.key_value_set(f"{key}/key", secrets.token_hex(32))
        coordinator = importlib.import_module("jax._src.distributed").global_state.coordinator_address
        host, _, port = str(coordinator).rpartition(":")
        client.key_value_set(f"{key}/peer/{done.process}", _peers.introduction(host.strip("[]"), int(port)))
        secret = client.blocking_key_value_get(f"{key}/key", _TIMEOUT_MS)
        told = [client.blocking_key_value_get(f"{key}/peer/{one}", _TIMEOUT_MS) for one in range(done.processes)]
        return _peers.probes(told, done.process, secret, private)
    except Exception as error:  # of the service, of the network: a trace without probes is better than none
        warnings.warn(f"the clocks of the other processes are not measured: {error}", stacklevel=4)
        return None


def _cadence(profiler_options: Any) -> str | None:
    """The cadence that a profiler's options ask for; None where they do not, or do not let it be read (JAX 0.6)."""
    try:
        asked = (getattr(profiler_options, "advanced_configuration", None) or {}).get("snapshot_pair_period_ms")
    except TypeError:
        return None
    return None if asked is None else str(asked)


def start_trace(
    log_dir: AnyPath,
    *,
    snapshots: bool | None = None,
    tracer: str = "auto",
    period_ms: float | None = None,
    probes: bool | None = None,
    combine: bool = False,
    **options: Any,
) -> Trace:
    """``jax.profiler.start_trace`` in every process of a job, with the clocks of the hosts.

    Parameters
    ----------
    log_dir
        What TensorBoard and XProf are given. The same in all processes, also of one host.
    snapshots
        Whether clocks are recorded. ``None``: where this process is one of several; elsewhere this is
        ``jax.profiler.start_trace`` and nothing else.
    tracer, period_ms
        As for ``prlx.clocks``. ``profiler_options.advanced_configuration["snapshot_pair_period_ms"]`` counts where
        ``period_ms`` is ``None``.
    probes
        Whether the hosts measure each other's clocks meanwhile, by small UDP packets of one process of each; ``None`` does so
        where clocks are recorded. A network that drops them costs nothing but the probes.
    combine
        At the end process 0 waits for the others and puts the run on one clock, into ``<run>_aligned`` beside it: where all
        of them see the directory. Otherwise a warning says what is missing, and ``Trace.command`` does it later.
    **options
        What ``jax.profiler.start_trace`` takes, for instance ``profiler_options``.

    Returns
    -------
    Trace
        With the run directory; ``stop_trace`` returns the same, with the files.

    Examples
    --------
    >>> prlx.jax.start_trace("log")  # doctest: +SKIP
    <Trace: process 0 of 4, log/plugins/profile/2026_03_01_12_00_00>
    """
    global _running
    import jax

    if _running is not None:
        raise UsageError("a trace is being recorded already", hint="end it first: prlx.jax.stop_trace()")
    process, processes = int(jax.process_index()), int(jax.process_count())
    root = Path(log_dir).expanduser().absolute()
    wanted = (processes > 1 or is_distributed()) if snapshots is None else snapshots
    if not wanted:
        jax.profiler.start_trace(str(root), **options)
        _running = Trace(root, None, process, processes)
        return _running
    run, name = _agree(root / "plugins" / "profile", process, processes)
    # A folder of its own: the profiler names files by the host, and would write over those of other processes of it.
    private = root / ".prlx" / f"{run}-{process}-{os.getpid()}"
    private.mkdir(parents=True, exist_ok=True)
    started = Trace(
        root, root / "plugins" / "profile" / run, process, processes, _private=private, _name=name, _combine=combine
    )
    try:
        started._in_metadata = not _register(tracer, period_ms)
        started._clocks = record(
            private, tracer=tracer, period_ms=period_ms, rank=process, name=name,
            option=_cadence(options.get("profiler_options")),
        )  # fmt: skip
    except (PrlxError, OSError) as error:
        if snapshots:
            raise
        warnings.warn(f"no clocks are recorded: {error}", stacklevel=2)
    if started._clocks is not None and probes is not False and (prober := _probe_others(started, private)) is not None:
        started._clocks._add(prober)
    try:
        jax.profiler.start_trace(str(private), **options)
    except BaseException:
        if started._clocks is not None:
            started._clocks.stop()
        shutil.rmtree(private, ignore_errors=True)
        raise
    _running = started
    return started


def stop_trace() -> Trace:
    """End what ``start_trace`` began: the files of this process are in the run directory.

    Examples
    --------
    >>> done = prlx.jax.stop_trace()  # doctest: +SKIP
    >>> done.xplane.name, done.snapshots.name  # doctest: +SKIP
    ('node7.xplane.pb', 'node7.snapshot_pairs.pb')
    """
    global _running
    import jax

    if _running is None:
        raise UsageError("no trace is being recorded", hint="begin one: prlx.jax.start_trace(log_dir)")
    done, _running = _running, None
    if done._private is None or done.run_dir is None:
        jax.profiler.stop_trace()
        found = sorted(done.log_dir.glob("plugins/profile/*/*.xplane.pb"), key=lambda path: path.stat().st_mtime)
        if found:
            done.xplane, done.run_dir = found[-1], found[-1].parent
        return done
    try:
        if done._in_metadata and done._clocks is not None:
            _add_metadata(done._clocks)
        jax.profiler.stop_trace()
    finally:
        if done._clocks is not None:
            done._clocks.stop()
            done.counters = done._clocks.counters
        _collect(done, done._private, done.run_dir)
    if done._combine:
        _combined(done, done.run_dir)
    return done


def _combined(done: Trace, run: Path) -> None:
    """Have process 0 wait for the traces of the others and combine them."""
    client, key = _client(), f"prlx/trace/{_runs}/done"
    names = [done._name]
    try:
        if client is not None and done.processes > 1:
            client.key_value_set(f"{key}/{done.process}", done._name)
            if done.process:
                return
            names = [client.blocking_key_value_get(f"{key}/{one}", _TIMEOUT_MS) for one in range(done.processes)]
    except Exception as error:
        warnings.warn(f"not all processes have ended their trace, which is not combined: {error}", stacklevel=4)
        return
    away = [name for name in names if not (run / f"{name}.xplane.pb").exists()]
    if away:
        warnings.warn(
            f"{len(away)} of {len(names)} traces are not in {run}, which is not combined: bring them there, then: "
            f"{done.command}",
            stacklevel=4,
        )
        return
    from ._combine import combine_traces

    try:
        done.combined = combine_traces(run, output=run.with_name(f"{run.name}_aligned"), progress=False)
    except PrlxError as error:
        warnings.warn(f"the run is not combined: {error}", stacklevel=4)


def _collect(done: Trace, private: Path, run: Path) -> None:
    """Move what this process wrote into the run directory, under names of its own."""
    run.mkdir(parents=True, exist_ok=True)
    for written in sorted(private.glob("plugins/profile/*/*")):
        # <host>.xplane.pb, <host>.trace.json.gz: what follows the host stays
        ending = written.name.removeprefix(socket.gethostname())
        ending = (
            ending
            if ending != written.name and ending.startswith(".")
            else "." + ".".join(written.name.split(".")[-2:])
        )
        target = run / f"{done._name}{ending}"
        written.replace(target)
        if ending == ".xplane.pb":
            done.xplane = target
    if done._clocks is not None and done._clocks.snapshots.exists():
        message = run / f"{done._name}.snapshot_pairs.pb"
        finished(done._clocks.snapshots, message=str(message), overwrite=True)
        done.snapshots = message
        if done._clocks.probes is not None and done.counters.get("probes_answered"):
            done.probes = run / done._clocks.probes.name
            done._clocks.probes.replace(done.probes)
    shutil.rmtree(private, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are not done yet
        private.parent.rmdir()


@contextlib.contextmanager
def trace(
    log_dir: AnyPath,
    *,
    snapshots: bool | None = None,
    tracer: str = "auto",
    period_ms: float | None = None,
    probes: bool | None = None,
    combine: bool = False,
    **options: Any,
) -> Iterator[Trace]:
    """Record a trace of what runs in a ``with`` block, in every process of a job.

    Parameters
    ----------
    log_dir, snapshots, tracer, period_ms, probes, combine, **options
        As for ``start_trace``.

    Yields
    ------
    Trace
        Its files are there when the block has ended.

    Examples
    --------
    >>> with prlx.jax.trace("log") as traced:  # doctest: +SKIP
    ...     train()
    >>> print(traced.command)  # doctest: +SKIP
    prlx combine log/plugins/profile/2026_03_01_12_00_00
    """
    started = start_trace(
        log_dir, snapshots=snapshots, tracer=tracer, period_ms=period_ms, probes=probes, combine=combine, **options
    )
    try:
        yield started
    finally:
        stop_trace()
