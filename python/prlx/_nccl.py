"""What NCCL did in a job, of the recordings that its profiler plug-in wrote: where the time went, and what holds the job up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import UsageError, said
from ._result import Brief, Card, Result
from ._units import format_ns
from ._verdict import Judged

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath

PARTS = (
    "launch_ns",
    "scheduling_ns",
    "waiting_ns",
    "kernel_ns",
    "proxy_ns",
    "credit_ns",
    "network_ns",
    "flush_ns",
)
"""The parts of the time of a rank in an operation; they add up."""


@dataclass(frozen=True, repr=False)
class NcclFinding(Brief):
    """Something that is wrong with a job.

    Attributes
    ----------
    kind
        ``never-arrived``, ``ended``, ``unrecorded``, ``not-started``, ``mismatch``, ``deadlock``, ``stage``, ``stuck``,
        ``slow-link``, ``slow-nic`` or ``straggler``.
    sentence
        What it is, with rank, host, operation and, where they are known, peer, channel and NIC.
    certain
        The recordings show it; otherwise they suggest it.
    ranks, hosts
        That cause it.
    peer, channel, nic, stage
        Of a link or a step of a proxy; empty, ``None`` or -1 where there is none.
    waiting
        The ranks that wait for it.
    """

    kind: str
    sentence: str
    certain: bool
    ranks: tuple[str, ...]
    hosts: tuple[str, ...]
    peer: str
    channel: int
    nic: int
    stage: str
    waiting: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class NcclDiagnosis(Judged):
    """What holds a job up. The document is ``prlx.nccl-diagnose/1``.

    Examples
    --------
    >>> diagnosis = prlx.diagnose_nccl("examples/nccl_hang")
    >>> diagnosis.status, diagnosis.findings[0].kind, diagnosis.findings[0].ranks, diagnosis.findings[0].stage
    ('culprit', 'stage', ('2',), 'SendWait')
    """

    @property
    def status(self) -> str:
        """``culprit``, ``nothing``, or ``inconclusive``: nothing could be looked at, or nothing tells where it is wrong."""
        return str(self.document["status"])

    @property
    def verdict(self) -> str:
        """What is wrong, in one sentence."""
        return str(self.document["verdict"])

    @cached_property
    def findings(self) -> tuple[NcclFinding, ...]:
        """All that is wrong, the culprit first."""
        return tuple(
            NcclFinding(
                kind=row["class"],
                ranks=tuple(row["ranks"]),
                hosts=tuple(row["hosts"]),
                waiting=tuple(row["waiting"]),
                document=row,
                **{key: row[key] for key in ("sentence", "certain", "peer", "channel", "nic", "stage")},
            )
            for row in self.document["findings"]
        )

    @property
    def stuck(self) -> tuple[Mapping[str, Any], ...]:
        """Operations that do not come to an end, by rank and stage: as in the document."""
        return tuple(self.document["stuck"])

    @property
    def advice(self) -> tuple[str, ...]:
        """What to record to know more, in sentences."""
        return said(self.document.get("advice"))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen or assumed, in sentences."""
        return said(self.document.get("notes"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be looked at, in sentences."""
        return said(self.document.get("warnings"))

    def save(self, path: AnyPath, *, overwrite: bool = False) -> Path:
        """Write the document (``.json``), or a page of it (``.html``): findings, what stands still, data quality.

        Parameters
        ----------
        path
            Where to; its ending decides.
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
        >>> prlx.diagnose_nccl("examples/nccl_hang").save("hang.html").name
        'hang.html'
        """
        return _saved(self, super().save, path, overwrite=overwrite)

    def _card(self) -> Card:
        rows = [(found.kind, ", ".join(found.ranks), found.stage, found.sentence) for found in self.findings]
        return Card("NCCL", self.verdict, ("finding", "rank", "stage", "what"), rows, self.warnings)


@dataclass(frozen=True, repr=False)
class NcclReport(Judged):
    """Where the time of a job's NCCL operations went. The document is ``prlx.nccl/1``.

    Examples
    --------
    >>> report = prlx.read_nccl("examples/nccl_hang")
    >>> len(report.ranks), report.operations[0]["operation"]
    (4, 'AllReduce')
    >>> row = report.ranks[0]["time"]
    >>> sum(row.values()) == sum(row[part] for part in ("launch_ns", "scheduling_ns", "waiting_ns", "kernel_ns",
    ...                                                 "proxy_ns", "credit_ns", "network_ns", "flush_ns"))
    True
    """

    @property
    def verdict(self) -> str:
        """What was recorded and where the time went, in one sentence."""
        return str(self.document["verdict"])

    @property
    def ranks(self) -> tuple[Mapping[str, Any], ...]:
        """Where the time of each rank went: as in the document."""
        return tuple(self.document["ranks"])

    @property
    def communicators(self) -> tuple[Mapping[str, Any], ...]:
        """The communicators: as in the document."""
        return tuple(self.document["communicators"])

    @property
    def operations(self) -> tuple[Mapping[str, Any], ...]:
        """Operations by communicator, function and size, those that took most time first: as in the document."""
        return tuple(self.document["operations"])

    @property
    def links(self) -> tuple[Mapping[str, Any], ...]:
        """What went from rank to rank through the network, slowest link first: as in the document."""
        return tuple(self.document["links"])

    @property
    def bandwidths(self) -> tuple[Mapping[str, Any], ...]:
        """Algorithm and bus bandwidth by operation and size, as nccl-tests defines them: as in the document."""
        return tuple(self.document["bandwidths"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be read or related, in sentences."""
        return said(self.document.get("warnings"))

    @property
    def waits(self) -> tuple[Mapping[str, Any], ...]:
        """Who waited for whom, and for how long, longest first: as in the document."""
        return tuple(self.document["waits"])

    def save(self, path: AnyPath, *, overwrite: bool = False) -> Path:
        """Write the document (``.json``), or a page of it (``.html``): who waited for whom, links, operations.

        ``read_nccl(..., html=...)`` writes a page that also says what holds the job up, which this document does not know.

        Parameters
        ----------
        path
            Where to; its ending decides.
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
        >>> prlx.read_nccl("examples/nccl_hang").save("time.html").name
        'time.html'
        """
        return _saved(self, super().save, path, overwrite=overwrite)

    def _card(self) -> Card:
        rows = [
            (row["id"], row["host"], str(row["operations"]), *(format_ns(row["time"][part]) for part in PARTS))
            for row in self.ranks
        ]
        headings = ("rank", "host", "operations", *(part.removesuffix("_ns") for part in PARTS))
        return Card("NCCL", self.verdict, headings, rows, self.warnings)


def _saved(result: Result, plainly: Callable[..., Path], path: AnyPath, *, overwrite: bool) -> Path:
    """Save a result: the core makes the page."""
    target = Path(path)
    if target.suffix != ".html":
        return plainly(target, overwrite=overwrite)
    output = {"format": "html", "path": _request.absolute(target)}
    _core.run("report", {"document": dict(result.document), "outputs": [output], "overwrite": overwrite})
    return target


def read_nccl(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    probes: AnyPath | list[AnyPath] | None = None,
    limit: int | None = None,
    html: AnyPath | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> NcclReport:
    """Say where the time of a job's NCCL operations went.

    Parameters
    ----------
    inputs
        The recordings of all ranks: files, or directories with them. Those of processes that still run, that ended and that
        were killed are read alike.
    probes
        Stamps of ``prlx probe``, which relate the clocks of hosts; without them operations do.
    limit
        How many operations are listed with all their ranks; left out, 10.
    html
        A page to write: who waited for whom, links, the operations that took longest, and what holds the job up.
    overwrite
        Replace that page where it exists.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    NcclReport
        With ranks, operations, links and bandwidths.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> prlx.read_nccl("examples/nccl_hang").communicators[0]["ranks"]
    4
    """
    asked = request(inputs, probes=probes, limit=limit, workers=workers, memory_limit=memory_limit)
    outputs = () if html is None else ({"format": "html", "path": _request.absolute(html)},)
    found = run_report(asked | written(outputs, overwrite=overwrite), progress=progress)
    return NcclReport({key: value for key, value in found.document.items() if key not in ("written", "rendered")})


def diagnose_nccl(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    probes: AnyPath | list[AnyPath] | None = None,
    stall_after: float | None = None,
    limit: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> NcclDiagnosis:
    """Say what holds a job up: who never arrived, which step of which proxy hangs, which link is slow, who is late.

    Parameters
    ----------
    inputs
        As for ``read_nccl``.
    probes
        As for ``read_nccl``.
    stall_after
        Seconds without progress after which an operation counts as stalled; left out, 5.
    limit
        How many findings are listed; left out, 20.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    NcclDiagnosis
        Its ``verdict`` names the culprit in one sentence.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> prlx.diagnose_nccl("examples/nccl_hang").findings[0].peer
    '3'
    """
    asked = request(inputs, probes=probes, limit=limit, workers=workers, memory_limit=memory_limit)
    return run_diagnosis(asked | {"stall_after": stall_after}, progress=progress)


def request(
    inputs: AnyPath | Iterable[AnyPath],
    *,
    probes: AnyPath | list[AnyPath] | None = None,
    limit: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``nccl_report``; that of ``nccl_diagnose`` has ``stall_after`` as well."""
    return {
        "inputs": _request.paths(inputs),
        "probes": _request.paths(probes),
        "limit": limit,
        **_request.limits(workers, memory_limit, _config.load()),
    }


def written(outputs: Sequence[Mapping[str, str]], *, overwrite: bool) -> dict[str, Any]:
    """What the request of ``nccl_report`` has beside: the pages to write."""
    return {"outputs": list(outputs) or None, "overwrite": overwrite}


def run_report(asked: dict[str, Any], *, progress: Progress = "auto") -> NcclReport:
    """Run a request of the operation ``nccl_report``."""
    return NcclReport(_run("nccl_report", asked, progress))


def run_diagnosis(asked: dict[str, Any], *, progress: Progress = "auto") -> NcclDiagnosis:
    """Run a request of the operation ``nccl_diagnose``."""
    return NcclDiagnosis(_run("nccl_diagnose", asked, progress))


def _run(operation: str, asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
    from ._progress import shown

    if not asked["inputs"]:
        raise UsageError("no recordings of NCCL events given")
    with shown(progress) as watch:
        return _core.run(operation, asked, progress=watch)
