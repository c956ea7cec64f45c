"""Two runs of a job: which part of the time of its NCCL operations grew, and for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import UsageError, said
from ._result import Card
from ._units import format_ns
from ._verdict import Judged

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class NcclComparison(Judged):
    """Where the time of NCCL operations went in two runs. The document is ``prlx.nccl-compare/1``.

    Its truth is that of its ``conclusion``: True where B takes no longer than A.

    Examples
    --------
    >>> found = prlx.compare_nccl("examples/nccl_hang", "examples/nccl_hang")
    >>> found.status, found.held["change_ns"]
    ('inconclusive', 0)
    """

    @property
    def status(self) -> str:
        """``slower`` (B takes longer, by more than chance and clocks explain), ``faster``, ``same``, or ``inconclusive``."""
        return str(self.document["status"])

    @property
    def verdict(self) -> str:
        """What changed and for whom, in one sentence."""
        return str(self.document["verdict"])

    @property
    def held(self) -> Mapping[str, Any]:
        """For how long an operation holds a rank, in both runs: as in the document."""
        held: Mapping[str, Any] = self.document["held"]
        return held

    @property
    def parts(self) -> tuple[Mapping[str, Any], ...]:
        """The parts of the time in both runs, what grew most first: as in the document."""
        return tuple(self.document["parts"])

    @property
    def operations(self) -> tuple[Mapping[str, Any], ...]:
        """The same by communicator, function and size: ``classes`` of the document."""
        return tuple(self.document["classes"])

    @property
    def ranks(self) -> tuple[Mapping[str, Any], ...]:
        """The same by rank, and how often the others waited for it: as in the document."""
        return tuple(self.document["ranks"])

    @property
    def links(self) -> tuple[Mapping[str, Any], ...]:
        """Links that both runs used, what became slowest first: as in the document."""
        return tuple(self.document["links"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out or is different, in sentences."""
        return said(self.document["notes"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be read or related, in sentences."""
        return said(self.document["warnings"])

    def _card(self) -> Card:
        rows = [
            (row["part"], format_ns(row["a_ns"]), format_ns(row["b_ns"]), format_ns(row["change_ns"]), row["rank"])
            for row in (self.held, *self.parts)
        ]
        return Card("NCCL", self.verdict, ("part", "A", "B", "change", "most for rank"), rows, self.warnings)


def compare_nccl(
    a: AnyPath | Iterable[AnyPath],
    b: AnyPath | Iterable[AnyPath],
    *,
    least_share: float | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> NcclComparison:
    """Say which part of the time of a job's NCCL operations grew from one run to another, and for whom.

    Parameters
    ----------
    a, b
        The recordings of all ranks of a run each: files, or directories with them.
    least_share
        A change of the time for which operations hold ranks by less than this part does not count; left out, 0.02.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    NcclComparison
        Its ``verdict`` names the part, and the rank or link where one stands out.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> prlx.compare_nccl("examples/nccl_hang", "examples/nccl_hang").operations[0]["operation"]
    'AllReduce'
    """
    return run(request(a, b, least_share=least_share, workers=workers, memory_limit=memory_limit), progress=progress)


def request(
    a: AnyPath | Iterable[AnyPath],
    b: AnyPath | Iterable[AnyPath],
    *,
    least_share: float | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``nccl_compare``."""
    return {
        "a": _request.paths(a),
        "b": _request.paths(b),
        "least_share": least_share,
        **_request.limits(workers, memory_limit, _config.load()),
    }


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> NcclComparison:
    """Run a request of the operation ``nccl_compare``."""
    from ._progress import shown

    if not asked["a"] or not asked["b"]:
        raise UsageError("no recordings of NCCL events given for one of the runs")
    with shown(progress) as watch:
        return NcclComparison(_core.run("nccl_compare", asked, progress=watch))
