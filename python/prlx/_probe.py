"""Probing: what a prober of this host measured of the clocks of other hosts."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._errors import UsageError, said
from ._result import Card
from ._units import format_count, format_ns, parse_duration, plural
from ._verdict import Judged

if TYPE_CHECKING:
    from ._request import Path as AnyPath

_NAP_S = (
    1.0  # a prober runs for hours beside a job, which the core should not be woken up for: Ctrl-C ends a nap at once
)

# What the core looks at: the key of the job, and what programs that start jobs say of their hosts.
VARIABLES = (
    "PRLX_JOB_KEY",
    "SLURM_JOB_NODELIST",
    "SLURM_NODEID",
    "PBS_NODEFILE",
    "LSB_MCPU_HOSTS",
    "OMPI_MCA_orte_default_hostfile",
    "TPU_WORKER_HOSTNAMES",
    "TPU_WORKER_ID",
    "MASTER_ADDR",
    "JOB_COMPLETION_INDEX",
)


class Probing(Judged):
    """What became of the probes of this host. The document is ``prlx.probe/1``; the stamps are in a file.

    Examples
    --------
    >>> import prlx
    >>> import pathlib
    >>> pathlib.Path("job.key").touch(mode=0o600)
    >>> _ = pathlib.Path("job.key").write_text("a key of at least sixteen bytes")
    >>> peers = ["127.0.0.1:27003", "127.0.0.1:27004"]
    >>> probed = prlx.probe_clocks(peers=peers, node=1, output="probes", duration=0.1, job_file="job.key")
    >>> probed.measured, probed.node, probed.counters["late"]
    (False, 1, 0)
    """

    @property
    def measured(self) -> bool:
        """Whether this process measured; if not, nobody answered, or another process of this host measures (``status``)."""
        return bool(self.document["status"] == "measured")

    @property
    def status(self) -> str:
        """``measured``, ``inconclusive`` (no probe was answered) or ``elsewhere`` (another process of this host measures)."""
        return str(self.document["status"])

    @property
    def node(self) -> int:
        """The number of this host: its place in the list of peers, from 0."""
        return int(self.document["node"])

    @property
    def path(self) -> Path | None:
        """The file of raw probe stamps that was written last; ``None`` where another process measured."""
        return None if self.status == "elsewhere" else Path(self.document["output"])

    @property
    def counters(self) -> Mapping[str, int]:
        """What became of packets: sent, answered, late, dropped, rejected and others."""
        found: Mapping[str, int] = self.document["counters"]
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the result, in sentences."""
        return said(self.document["warnings"])

    @property
    def summary(self) -> str:
        """One line: how many probes were answered, by how many peers."""
        if self.status == "elsewhere":
            return f"node {self.node}: another process of this host measures"
        peers = [link for link in self.document["links"] if link["answered"]]
        count = self.counters
        return (
            f"node {self.node}: {count['answered']:,} of {plural(count['sent'], 'probe')} answered, "
            f"by {len(peers)} of {plural(len(self.document['links']), 'peer')}"
        )

    def _card(self) -> Card:
        rows = [
            (
                str(link["node"]),
                link["name"],
                format_count(link["sent"]),
                format_count(link["answered"]),
                format_ns(link["min_rtt_ns"] or None),
            )
            for link in self.document["links"]
        ]
        return Card("Probing", self.summary, ("node", "peer", "sent", "answered", "shortest"), rows, self.warnings)


def probe_clocks(
    *,
    output: AnyPath,
    peers: AnyPath | Iterable[str] | None = None,
    duration: float | str,
    node: int | str | None = None,
    keep: float | str | None = None,
    rate: int | None = None,
    interface: str | None = None,
    job_file: AnyPath | None = None,
) -> Probing:
    """Measure the clocks of other hosts for some time, by small UDP packets to their probers.

    Every host runs one. Of several processes of a host one measures, and the next takes over when it ends.

    Parameters
    ----------
    output
        A directory for the raw probe stamps. What is there is added to.
    peers
        Every host, this one included, in the same order everywhere: a file with one ``host:port`` a line, or the peers
        themselves. ``None`` takes the list of SLURM, PBS, LSF, Open MPI, Kubeflow or a TPU pod.
    duration
        For how long: seconds, or text such as ``"10min"``.
    node
        Which of the peers this host is, from 0; ``None`` finds it by name and address.
    keep
        Keep the stamps of the last so many seconds only; ``None`` keeps all.
    rate
        Probes a second, to all peers together; ``None`` sends 24.
    interface
        The network interface to use; ``None`` leaves it to the system.
    job_file
        A file with the key of the job, the same on all hosts; ``None`` takes ``PRLX_JOB_KEY``.

    Returns
    -------
    Probing
        What became of the probes.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> import pathlib
    >>> pathlib.Path("job.key").touch(mode=0o600)
    >>> _ = pathlib.Path("job.key").write_text("a key of at least sixteen bytes")
    >>> peers = ["127.0.0.1:27001", "127.0.0.1:27002"]
    >>> probed = prlx.probe_clocks(peers=peers, node=0, output="probes", duration=0.1, job_file="job.key")
    >>> probed.status, probed.path.name, probed.counters["answered"]  # nobody runs at the other
    ('inconclusive', 'probes_node0.jsonl', 0)
    """
    return run(
        request(
            output=output,
            peers=peers,
            duration=duration,
            node=node,
            keep=keep,
            rate=rate,
            interface=interface,
            job_file=job_file,
        )
    )


def request(
    *,
    output: AnyPath | None = None,
    peers: AnyPath | Iterable[str] | None = None,
    duration: float | str | None = None,
    node: int | str | None = None,
    keep: float | str | None = None,
    rate: int | None = None,
    interface: str | None = None,
    job_file: AnyPath | None = None,
) -> dict[str, Any]:
    """The request of the operation ``probe``; arguments as of ``probe_clocks``."""
    if peers is not None:
        several = [os.fspath(peers)] if isinstance(peers, (str, os.PathLike)) else list(peers)
        peers = [str(Path(one).expanduser().absolute()) if Path(one).is_file() else one for one in several]
    return {
        "peers": peers,
        "output": _request.absolute_or_none(output),
        "duration": _nanoseconds("duration", duration),
        "node": _request.node_id("node", node),
        "keep": _nanoseconds("keep", keep),
        "rate": _rate(rate),
        **_request.words(interface=interface),
        "job_file": _request.absolute_or_none(job_file),
        "environment": {name: os.environ[name] for name in VARIABLES if os.environ.get(name)},
    }


def _rate(given: int | None) -> int | None:
    if given is not None and given <= 0:
        raise UsageError(f"rate is {given}, expected at least 1 probe a second")
    return given


def _nanoseconds(name: str, given: float | str | None) -> int | None:
    if given is None:
        return None
    try:
        ns = parse_duration(given) if isinstance(given, str) else round(given * 10**9)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
    if ns <= 0:
        raise UsageError(f"{name}: expected a time above 0, got {given!r}")
    return ns


def run(
    asked: dict[str, Any], *, until_interrupted: bool = False, began: Callable[[str], object] | None = None
) -> Probing:
    """Run a request of the operation ``probe``.

    Parameters
    ----------
    asked
        The request.
    until_interrupted
        Ctrl-C is how it ends, and no error.
    began
        Called with each stage that the job enters: ``waiting`` while another process of this host measures, ``probing``
        when this one does. A request that is refused enters none.
    """
    with _core.start("probe", asked) as job:
        told = ""
        end = time.monotonic() + asked["duration"] / 1e9 if asked.get("duration") else math.inf
        try:
            rest = 0.0
            while not job.wait(0 if rest > 0 else 0.05):
                stage = job.progress()[0]
                if began is not None and stage not in ("", told):
                    began(stage)
                    told = stage
                rest = min(_NAP_S, end - time.monotonic()) if stage == "probing" else 0.0
                if rest > 0:
                    time.sleep(rest)
        except KeyboardInterrupt:
            if not until_interrupted:
                raise
            job.cancel()
        return Probing(job.result())
