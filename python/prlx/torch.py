"""PyTorch's profiler with clocks: traces of many ranks that ``prlx combine`` puts on one clock.

``on_trace_ready=prlx.torch.trace_handler(directory)`` writes what ``torch.profiler.tensorboard_trace_handler`` writes, under
the same names, and in a job of several ranks also records the clocks of the host: in the trace, and in a file beside it.

``with prlx.torch.steps("a.tape"):`` writes what the operators of training steps got and made; ``prlx diff`` compares two
such tapes. ``prlx.torch.replay`` runs a step again that a ``prlx.TrainingMonitor`` saved.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import itertools
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _peers
from ._clocks import Clocks, attached, clocks, is_distributed
from ._errors import PrlxError
from ._replay import Replay, replay
from ._steps import Steps, steps

if TYPE_CHECKING:
    from ._request import Path as AnyPath

__all__ = ["Replay", "Steps", "TraceHandler", "profile", "replay", "steps", "trace_handler"]

_LOOK_S = 0.5  # how often a handler looks whether all ranks are there
_handlers = itertools.count()  # all ranks make their handlers in the same order


def _group() -> dict[str, Any] | None:
    """The process group of this process: backend, rank and world size; None where there is none (yet)."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return {
        "backend": str(distributed.get_backend()),
        "rank": int(distributed.get_rank()),
        "world_size": int(distributed.get_world_size()),
    }


class TraceHandler:
    """Writes traces as they become ready, with the clocks that were recorded: ``torch.profiler.profile(on_trace_ready=...)``.

    It may be called by several profilers, one after the other. ``trace_handler`` is another name of it.

    Parameters
    ----------
    directory
        Where traces are written, under the names that TensorBoard and HolisticTraceAnalysis look for. The same for all
        ranks that see one file system.
    worker_name
        How the names of this process's files begin; ``None`` is ``<host>_<process id>``.
    use_gzip
        Compress traces.
    snapshots
        Whether clocks are recorded. ``None``: where this process is one of several, as ``torch.distributed`` or the
        launcher says; elsewhere nothing but the trace is written.
    tracer, period_ms
        As for ``prlx.clocks``.
    probes
        Whether the hosts of ranks that record clocks measure each other's meanwhile, by small UDP packets of one rank of
        each, from when all ranks have a handler. They find each other through the store of ``torch.distributed``; no rank
        waits for another.

    Attributes
    ----------
    paths
        The traces that were written.
    clocks
        The recording of clocks; None where this process is on its own.

    Examples
    --------
    >>> handler = prlx.torch.trace_handler("traces")
    >>> handler
    <TraceHandler: 0 traces, no clocks>
    """

    def __init__(
        self,
        directory: AnyPath,
        *,
        worker_name: str | None = None,
        use_gzip: bool = False,
        snapshots: bool | None = None,
        tracer: str = "auto",
        period_ms: float | None = None,
        probes: bool = True,
    ) -> None:
        self.directory = Path(directory).expanduser().absolute()
        self.paths: list[Path] = []
        self.clocks: Clocks | None = None
        self._worker = worker_name
        self._gzip = use_gzip
        self._snapshots = snapshots
        self._tracer = tracer
        self._period_ms = period_ms
        self._probes = probes
        self._number: int | None = None  # of the handlers of this process that have told the others where it is
        self._owner = os.getpid()
        self._looking = threading.Lock()
        self._closed = threading.Event()
        self.look()

    @property
    def worker_name(self) -> str:
        """How the names of files begin."""
        return self._worker or f"{socket.gethostname()}_{os.getpid()}"

    def look(self) -> None:
        """Begin to record clocks where this process has become one of several: process groups may be made late."""
        group = _group()
        if self.clocks is not None and self._owner == os.getpid():
            self._find_peers(group)
            return
        wanted = self._snapshots
        if wanted is None:
            wanted = is_distributed() if group is None else group["world_size"] > 1
        if not wanted:
            return
        self._owner = os.getpid()
        try:
            self.clocks = clocks(
                self.directory,
                tracer=self._tracer,
                period_ms=self._period_ms,
                rank=None if group is None else group["rank"],
                name=self.worker_name,
            )
        except (PrlxError, OSError) as error:
            if self._snapshots:
                raise
            self._snapshots = False  # a trace without clocks is better than a training that ends
            warnings.warn(f"no clocks are recorded: {error}", stacklevel=3)
            return
        atexit.register(self.close)
        self._find_peers(group)
        if self._probes and (group is not None or is_distributed()):  # nobody calls a handler before a trace is ready
            threading.Thread(target=self._seek, name="prlx-peers", daemon=True).start()

    def _seek(self) -> None:
        """Look for the other ranks until all are there."""
        while self._probes and not self._closed.wait(_LOOK_S):
            self._find_peers(_group())

    def _find_peers(self, group: dict[str, Any] | None) -> None:
        """Tell the other ranks where this one is; once all have done so, begin to measure their clocks. Nobody waits."""
        if group is None or group["world_size"] < 2 or not self._looking.acquire(blocking=False):
            return
        try:
            if self._probes and self.clocks is not None and not self._closed.is_set():
                self._meet(self.clocks, group)
        finally:
            self._looking.release()

    def _meet(self, recorded: Clocks, group: dict[str, Any]) -> None:
        """What every look for the others does."""
        try:
            store = importlib.import_module("torch.distributed.distributed_c10d")._get_default_store()
            rank, new = group["rank"], self._number is None
            if new:
                self._number = next(_handlers)
            begin = f"prlx/{self._number}"
            keys = [f"{begin}/peer/{one}" for one in range(group["world_size"])]
            if new:
                if rank == 0:
                    store.set(f"{begin}/key", secrets.token_hex(32))
                met = os.environ.get("MASTER_ADDR") or socket.gethostname()
                store.set(keys[rank], _peers.introduction(met, int(os.environ.get("MASTER_PORT") or 9)))
            if not store.check([f"{begin}/key", *keys]):
                return
            self._probes = False  # from now on they run
            told = [store.get(key).decode() for key in keys]
            prober = _peers.probes(told, rank, store.get(f"{begin}/key").decode(), self.directory)
            if prober is not None:
                recorded._add(prober)
        except Exception as error:  # of the store, of the network: a training goes on without probes
            self._probes = False
            warnings.warn(f"the clocks of the other ranks are not measured: {error}", stacklevel=4)

    def __call__(self, profiler: Any) -> None:
        """Write the trace of a profiler whose recording has ended."""
        self.look()
        self.directory.mkdir(parents=True, exist_ok=True)
        # The names that TensorBoard looks for; the number keeps traces of one worker apart.
        path = self.directory / f"{self.worker_name}.{time.time_ns()}.pt.trace.json{'.gz' if self._gzip else ''}"
        if self.clocks is None or not self.clocks.running:
            profiler.export_chrome_trace(str(path))
        else:
            self.clocks.now()
            with tempfile.TemporaryDirectory(prefix=".prlx-", dir=self.directory) as folder:
                exported = Path(folder) / path.name.removesuffix(".gz")
                profiler.export_chrome_trace(str(exported))
                self._attach(self.clocks, exported, path)
        self.paths.append(path)

    def _attach(self, recorded: Clocks, exported: Path, path: Path) -> None:
        """Put the clocks into a trace; where that fails the trace is kept as the profiler wrote it."""
        try:
            attached(recorded.snapshots, trace=exported, output=path, distributed=_group())
        except PrlxError as error:
            warnings.warn(f"the trace has no clocks in it, but beside it: {error}", stacklevel=4)
            if not self._gzip:
                exported.replace(path)
                return
            import gzip
            import shutil

            with exported.open("rb") as source, gzip.open(path, "wb") as target:
                shutil.copyfileobj(source, target)

    def close(self) -> None:
        """End the recording of clocks. The end of the process does that too."""
        with contextlib.suppress(Exception):
            atexit.unregister(self.close)
        if self.clocks is None or self._owner != os.getpid():
            return
        self._closed.set()
        with self._looking:  # a prober that is being started ends too
            self.clocks.stop()

    def __repr__(self) -> str:
        return f"<TraceHandler: {len(self.paths)} traces, {self.clocks or 'no clocks'}>"


trace_handler = TraceHandler
"""Make a handler for ``torch.profiler.profile(on_trace_ready=...)``: ``TraceHandler`` under the name that torch's own has."""


_profile: type[Any] | None = None


def _profile_class() -> type[Any]:
    """``torch.profiler.profile`` that looks, at each step, whether this process has become one of several."""
    global _profile
    if _profile is None:
        from torch.profiler import profile as plain

        class Profile(plain):  # type: ignore[misc, unused-ignore]
            """The profiler of torch, with a handler that records clocks."""

            handler: TraceHandler

            def start(self) -> None:
                self.handler.look()
                super().start()

            def step(self) -> None:
                self.handler.look()
                super().step()

        _profile = Profile
    return _profile


def profile(
    directory: AnyPath,
    *,
    worker_name: str | None = None,
    use_gzip: bool = False,
    snapshots: bool | None = None,
    tracer: str = "auto",
    period_ms: float | None = None,
    probes: bool = True,
    **options: Any,
) -> Any:
    """``torch.profiler.profile`` whose traces go to a directory, with the clocks of the host.

    Parameters
    ----------
    directory, worker_name, use_gzip, snapshots, tracer, period_ms, probes
        As for ``trace_handler``.
    **options
        What ``torch.profiler.profile`` takes: activities, a schedule and so on. A function that is given as
        ``on_trace_ready`` is called after the trace was written.

    Returns
    -------
    torch.profiler.profile
        With the attribute ``handler``, the ``TraceHandler`` that it writes through.

    Examples
    --------
    >>> with prlx.torch.profile("traces") as profiler:  # doctest: +SKIP
    ...     train()
    >>> profiler.handler.paths  # doctest: +SKIP
    [PosixPath('traces/node7_4242.1760000000000000000.pt.trace.json')]
    """
    handler = trace_handler(
        directory,
        worker_name=worker_name,
        use_gzip=use_gzip,
        snapshots=snapshots,
        tracer=tracer,
        period_ms=period_ms,
        probes=probes,
    )
    then = options.pop("on_trace_ready", None)

    def ready(profiler: Any) -> None:
        handler(profiler)
        if then is not None:
            then(profiler)

    made = _profile_class()(on_trace_ready=ready, **options)
    made.handler = handler
    return made
