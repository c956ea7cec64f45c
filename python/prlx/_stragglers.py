"""Stragglers: who was late at which collective, by how much, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _options, _request
from ._errors import InconclusiveError, UsageError, said
from ._request import Inputs
from ._result import Brief, Card
from ._units import format_ns
from ._verdict import Judged

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from ._option_keywords import StragglersKeywords
    from ._progress import Progress
    from ._request import Path as AnyPath

_GATE = re.compile(r"rank-loss\s*>\s*(\d+(?:\.\d+)?)\s*%")
FORMATS = {".html": "html", ".md": "markdown", ".csv": "csv", ".xml": "junit", ".junit": "junit"}
"""The reports that are made of a document, by the ending of their name."""
_OVERLAY = ".trace.json"


@dataclass(frozen=True, repr=False)
class RankCost(Brief):
    """What one rank cost the others.

    Attributes
    ----------
    id, host, device
        Which rank; its device such as ``GPU 3``, empty where the trace does not say it.
    blamed
        It cost more than chance explains.
    cost_ns
        The part of its late arrival that its own slower work explains, where nobody else was waited for; ns.
    gain_ns
        By how much earlier operations would have begun that waited for it, were it as fast as usual; ns.
    replay_gain_ns
        By how much shorter the job would have been, were this rank as fast as the median: the job replayed; ns. ``None`` for
        ranks that cost little.
    share
        The part of the time that the cost is.
    steps
        In how many steps it was the most expensive rank.
    operations, last, late
        How many it executed, and of these in how many it certainly entered last, or later than the middle one of the others and
        by more than anybody else.
    cause
        What took longer than usual, most of all; empty where that is not known.
    """

    id: str
    host: str
    device: str
    blamed: bool
    cost_ns: int
    gain_ns: int
    replay_gain_ns: int | None
    share: float
    steps: int
    operations: int
    last: int
    late: int
    cause: str
    document: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Stragglers(Judged):
    """Who was late at operations that several ranks execute together. The document is ``prlx.stragglers/1``.

    Its truth is that of its ``conclusion``: True where nobody was late.

    Examples
    --------
    >>> found = prlx.find_stragglers("examples/straggler_job/recorded")
    >>> found.status, found.conclusion.outcome
    ('blamed', 'failed')
    >>> found.operations
    121
    """

    @property
    def status(self) -> str:
        """``blamed``, ``nobody``, or ``inconclusive``: time was lost and nobody can be named, or something is missing."""
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
    def late(self) -> int:
        """Of these, those in which a rank certainly entered later than the middle one of the others."""
        return int(self.document["operations"]["late"])

    @property
    def together(self) -> int:
        """Of these, those in which nobody can have been late by more than 5 % of the time since the operation before."""
        return int(self.document["operations"]["together"])

    @property
    def undecided(self) -> int:
        """Of these, those of which the bounds of the clocks leave open whether somebody was late."""
        return int(self.document["operations"]["undecided"])

    @property
    def bandwidths(self) -> tuple[Mapping[str, Any], ...]:
        """How fast operations of one kind, size and communicator were, as nccl-tests defines it: as in the document."""
        return tuple(self.document["bandwidths"])

    @property
    def time(self) -> Mapping[str, int]:
        """The time of all ranks in operations, divided.

        The parts add up: ``transfer_ns``, ``waiting_ns``, ``late_launch_ns``, ``profiler_start_ns`` and ``undecided_ns``.
        """
        return dict(self.document["time"])

    @cached_property
    def ranks(self) -> tuple[RankCost, ...]:
        """All ranks: those that are blamed first, then by cost."""
        return tuple(
            RankCost(
                **{
                    key: row[key]
                    for key in (
                        "id",
                        "host",
                        "device",
                        "blamed",
                        "cost_ns",
                        "gain_ns",
                        "replay_gain_ns",
                        "share",
                        "steps",
                    )
                },
                operations=row["operations"],
                last=row["last"],
                late=row["late"],
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

    def over(self, fail_on: str) -> tuple[RankCost, ...]:
        """The ranks that are blamed and cost more than a gate allows.

        Parameters
        ----------
        fail_on
            The gate, such as ``rank-loss>5%``: a part of the time.

        Raises
        ------
        UsageError
            The text is no gate.
        InconclusiveError
            No rank is known to have cost more, and the verdict is open: whether one did is not known.

        Examples
        --------
        >>> [rank.id for rank in prlx.find_stragglers("examples/straggler_job/recorded").over("rank-loss>5%")]
        ['rank4']
        """
        most = gate(fail_on)
        found = tuple(rank for rank in self.blamed if most is not None and 100 * rank.share > most)
        if not found and self.conclusion.outcome == "inconclusive":
            raise InconclusiveError(f"inconclusive: {self.conclusion.why}", hint="ask .conclusion.outcome")
        return found

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, fail_on: str | None = None) -> Path:
        """Write the document or a report of it; the ending decides.

        Parameters
        ----------
        path
            ``.json`` the document, ``.html`` one page for a browser that needs no network, ``.md`` Markdown, ``.csv`` a row a
            rank, ``.xml`` JUnit.
        overwrite
            Replace a file that exists.
        fail_on
            A gate, such as ``rank-loss>5%``: in JUnit, ranks that met it are failures. Without it nothing fails.

        Raises
        ------
        UsageError
            The ending says no format, or the text is no gate.
        FileAccessError
            The file exists and ``overwrite`` was not given.

        Examples
        --------
        >>> found = prlx.find_stragglers("examples/torch_ranks")
        >>> found.save("late.md").name, found.save("late.xml", fail_on="rank-loss>5%").name
        ('late.md', 'late.xml')
        """
        target, most = Path(path), gate(fail_on)
        if target.name.lower().endswith(_OVERLAY):
            raise UsageError(
                "tracks are made of the traces, not of the result",
                path=str(target),
                hint="find_stragglers(..., overlay=...) writes them",
            )
        if target.suffix == ".json":
            return super().save(target, overwrite=overwrite)
        if target.suffix not in FORMATS:
            raise UsageError(
                "the ending says no format", path=str(target), hint="end it in .json, .html, .md, .csv or .xml"
            )
        output = {"format": FORMATS[target.suffix], "path": _request.absolute(target)}
        asked = {"document": dict(self.document), "outputs": [output], "overwrite": overwrite, "fail_on": most}
        _core.run("report", asked)
        return target

    def _card(self) -> Card:
        rows = [
            (rank.id, rank.host, format_ns(rank.cost_ns), f"{100 * rank.share:.2f} %", str(rank.last), rank.cause)
            for rank in self.ranks
        ]
        return Card("Stragglers", self.verdict, ("rank", "host", "cost", "share", "last", "cause"), rows, self.warnings)


@_options.by_name("stragglers")
def find_stragglers(
    inputs: Inputs,
    *,
    overlay: AnyPath | None = None,
    overwrite: bool = False,
    progress: Progress = "auto",
    **options: Unpack[StragglersKeywords],
) -> Stragglers:
    """Say who was late at the collectives of several ranks, by how much, and what it cost.

    Traces that are not on one clock are aligned on the way, as ``combine_traces`` does it; nothing is written.

    Parameters
    ----------
    inputs
        Traces of all ranks, one combined trace, or a trace whose lines are ranks.
    **options
        Those of ``StragglersKeywords``.
    overlay
        A file ``.trace.json`` that is written: tracks of each rank that open in Perfetto beside the trace, with its operations,
        their parts and what its lateness cost.
    overwrite
        Replace that file where it exists.
    progress
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
    outputs = () if overlay is None else ({"format": "chrome", "path": _request.absolute(overlay)},)
    found = run(request(inputs, outputs=outputs, overwrite=overwrite, **options), progress=progress)
    return Stragglers({key: value for key, value in found.document.items() if key not in ("written", "rendered")})


def gate(text: str | None) -> float | None:
    """The percentage of a gate such as ``rank-loss>5%``; ``None`` for none."""
    if text is None:
        return None
    found = _GATE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"fail_on is {text!r}, expected rank-loss>PERCENT%", hint="such as 'rank-loss>5%'")
    percent = float(found[1])
    if percent >= 100:
        raise UsageError(
            f"fail_on is {text!r}, and no rank can cost more than all of the time", hint="such as 'rank-loss>5%'"
        )
    return percent


@_options.by_name("stragglers")
def request(
    inputs: Inputs,
    *,
    fail_on: str | None = None,
    outputs: Sequence[Mapping[str, str]] = (),
    overwrite: bool = False,
    **options: Unpack[StragglersKeywords],
) -> dict[str, Any]:
    """The request of the operation ``stragglers``; arguments as of ``find_stragglers``, and reports written on the way."""
    return {
        "inputs": _request.named(inputs),
        **_request.of("stragglers", options),
        "fail_on": gate(fail_on),
        "outputs": list(outputs) or None,
        "overwrite": overwrite,
    }


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> Stragglers:
    """Run a request of the operation ``stragglers``."""
    from ._progress import shown

    if not asked["inputs"]:
        raise UsageError("no input given")
    with shown(progress) as watch:
        return Stragglers(_core.run("stragglers", asked, progress=watch))
