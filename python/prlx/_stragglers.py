"""Stragglers: who was late at which collective, by how much, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _config, _core, _request
from ._errors import UsageError, said
from ._request import Inputs
from ._result import Brief, Card, Result
from ._units import format_ns

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class RankCost(Brief):
    """What one rank cost the others.

    Attributes
    ----------
    id, host
        Which rank.
    blamed
        It cost more than chance explains.
    cost_ns
        By how much later than the others it entered operations that nobody else was waited for, as far as it took longer than
        usual itself; ns.
    gain_ns
        By how much shorter the job would be, were this rank as fast as the median; ns.
    share
        The part of the time that the cost is.
    steps
        In how many steps it was the most expensive rank.
    operations, last
        How many it executed, and of these in how many it certainly entered last.
    cause
        What took longer than usual, most of all; empty where that is not known.
    """

    id: str
    host: str
    blamed: bool
    cost_ns: int
    gain_ns: int
    share: float
    steps: int
    operations: int
    last: int
    cause: str
    document: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Stragglers(Result):
    """Who was late at operations that several ranks execute together. The document is ``prlx.stragglers/1``.

    Examples
    --------
    >>> found = prlx.find_stragglers("examples/torch_ranks")
    >>> found.status
    'nobody'
    >>> found.operations
    360
    """

    @property
    def status(self) -> str:
        """``blamed``, ``nobody``, or ``inconclusive``: nothing could be judged."""
        return str(self.document["status"])

    @property
    def verdict(self) -> str:
        """Who was late and what it cost, in one sentence."""
        return str(self.document["verdict"])

    @property
    def operations(self) -> int:
        """Operations of several ranks that were looked at."""
        return int(self.document["operations"]["count"])

    @property
    def told(self) -> int:
        """Of these, those of which it is certain who entered last."""
        return int(self.document["operations"]["told"])

    @property
    def time(self) -> Mapping[str, int]:
        """The time of all ranks in operations, divided.

        The parts add up: ``transfer_ns``, ``waiting_ns``, ``profiler_start_ns`` and ``undecided_ns``.
        """
        return dict(self.document["time"])

    @cached_property
    def ranks(self) -> tuple[RankCost, ...]:
        """All ranks: those that are blamed first, then by cost."""
        return tuple(
            RankCost(
                **{key: row[key] for key in ("id", "host", "blamed", "cost_ns", "gain_ns", "share", "steps")},
                operations=row["operations"],
                last=row["last"],
                cause=row["causes"][0]["name"] if row["causes"] else "",
                document=row,
            )
            for row in self.document["ranks"]
        )

    @property
    def blamed(self) -> tuple[RankCost, ...]:
        """The ranks that cost more than chance explains."""
        return tuple(rank for rank in self.ranks if rank.blamed)

    @property
    def links(self) -> tuple[Mapping[str, Any], ...]:
        """Pairs of ranks, or communicators, whose operations took longer than usual when all were there: as in the document."""
        return tuple(self.document["links"])

    @property
    def steps(self) -> tuple[Mapping[str, Any], ...]:
        """Steps by time, each with its most expensive rank: as in the document."""
        return tuple(self.document["steps"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen or assumed, in sentences."""
        return said(self.document.get("notes"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the result, in sentences."""
        return said(self.document.get("warnings"))

    def _card(self) -> Card:
        rows = [
            (rank.id, rank.host, format_ns(rank.cost_ns), f"{100 * rank.share:.2f} %", str(rank.last), rank.cause)
            for rank in self.ranks
        ]
        return Card("Stragglers", self.verdict, ("rank", "host", "cost", "share", "last", "cause"), rows, self.warnings)


def find_stragglers(
    inputs: Inputs,
    *,
    since: float | None = None,
    step: Sequence[str | int] | None = None,
    group: str | None = None,
    method: str | None = None,
    snapshots: Inputs | None = None,
    offsets: AnyPath | None = None,
    probes: AnyPath | list[AnyPath] | None = None,
    declared: AnyPath | None = None,
    round_bound_ns: int | None = None,
    skip_unreadable: bool = False,
    salvage: bool = False,
    limit: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Stragglers:
    """Say who was late at the collectives of several ranks, by how much, and what it cost.

    Traces that are not on one clock are aligned on the way, as ``combine_traces`` does it; nothing is written.

    Parameters
    ----------
    inputs
        Traces of all ranks, one combined trace, or a trace whose lines are ranks.
    since
        Seconds from the first operation: operations that all had left before do not count. Default 0.
    step
        Names of the steps that count, as the result lists them; all unless given.
    group
        Part of the name of a communicator: only its operations count. All unless given.
    method
        What relates the clocks, as for ``combine_traces``: ``auto`` unless given.
    snapshots, offsets, probes, declared, round_bound_ns, skip_unreadable, salvage
        As for ``combine_traces``.
    limit
        How many of the most expensive single latenesses the document lists; 20 unless given.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    Stragglers
        Its ``verdict`` is the answer in a sentence, its ``ranks`` are in order of blame.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> found = prlx.find_stragglers("examples/torch_ranks")
    >>> [rank.id for rank in found.blamed]
    []
    """
    asked = request(
        inputs,
        since=since,
        step=step,
        group=group,
        method=method,
        snapshots=snapshots,
        offsets=offsets,
        probes=probes,
        declared=declared,
        round_bound_ns=round_bound_ns,
        skip_unreadable=skip_unreadable,
        salvage=salvage,
        limit=limit,
        workers=workers,
        memory_limit=memory_limit,
    )
    return run(asked, progress=progress)


def request(
    inputs: Inputs,
    *,
    since: float | None = None,
    step: Sequence[str | int] | None = None,
    group: str | None = None,
    method: str | None = None,
    snapshots: Inputs | None = None,
    offsets: AnyPath | None = None,
    probes: AnyPath | list[AnyPath] | None = None,
    declared: AnyPath | None = None,
    round_bound_ns: int | None = None,
    skip_unreadable: bool = False,
    salvage: bool = False,
    limit: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``stragglers``; arguments as of ``find_stragglers``."""
    defaults = _config.load()
    return {
        "inputs": _request.named(inputs),
        "since": since,
        "step": None if step is None else [str(name) for name in step],
        "group": group,
        "method": method,
        **_request.clocks(snapshots=snapshots, offsets=offsets, probes=probes, declared=declared),
        "round_bound_ns": round_bound_ns,
        "skip_unreadable": skip_unreadable,
        "salvage": salvage,
        **_request.limits(workers, memory_limit, defaults),
        "limit": limit,
    }


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> Stragglers:
    """Run a request of the operation ``stragglers``."""
    from ._progress import shown

    if not asked["inputs"]:
        raise UsageError("no input given")
    with shown(progress) as watch:
        return Stragglers(_core.run("stragglers", asked, progress=watch))
