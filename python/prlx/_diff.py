"""Comparing recordings of a kernel: where do two runs first differ, and why?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import _core, _request
from ._diff_outputs import findings, first_output, outputs
from ._diff_source import source
from ._diff_text import render
from ._errors import IncompatibleTracesError, in_python, said
from ._lines import Look, lane_text, place, short
from ._losses import Losses
from ._origin import Origin
from ._result import Brief, Card, Result, clipped
from ._units import format_count, plural
from ._verdict import Verdict, conclusion_of

if TYPE_CHECKING:
    from ._progress import Progress
    from ._table import Table

TALK = ("written", "rendered", "notes")  # what a reply says besides the document
_TOTALS = ("total_divergences", "warps_compared", "warps_diverged", "total_events_a", "total_events_b")


@dataclass(frozen=True, repr=False)
class Divergence(Brief):
    """One difference between two warps.

    Attributes
    ----------
    kind
        ``Branch``, ``ActiveMask``, ``Value``, ``Path`` or ``ExtraEvents``.
    warp, event, event_b, occurrence
        Where: the warp, the event's position on both sides, and how often the warp had passed the site before.
    site, location
        The site's id, and its ``file:function:line:column`` where known.
    lanes
        The lanes that differ; empty when that is not known.
    cluster
        The number of its cluster.
    follows, noise
        Whether an earlier divergence can be its cause; whether runs that should be equal differ here too.
    document
        Everything, as in ``prlx.diff/1``.

    Examples
    --------
    >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
    >>> diff.first
    <Divergence ...>
    >>> diff.first.kind, diff.first.location, diff.first.warp
    ('ExtraEvents', 'softmax_rows.cu:softmax_rows:11:21', 0)
    """

    kind: str
    warp: int
    event: int
    event_b: int
    occurrence: int
    site: str
    location: str | None
    lanes: tuple[int, ...]
    cluster: int
    follows: bool
    noise: bool
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Divergence:
        """The divergence that a document describes.

        Examples
        --------
        >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
        >>> rows = [prlx.Divergence.of(row) for row in diff.document["divergences"]]
        >>> str(rows[0])
        'ExtraEvents at softmax_rows.cu:11:21 in softmax_rows, warp 0, event 6'
        """
        return cls(
            kind=document["kind"],
            warp=document["warp_idx"],
            event=document["event_idx"],
            event_b=document["event_idx_b"],
            occurrence=document["occurrence"],
            site=document["site_id"],
            location=document.get("source_location"),
            lanes=tuple(document.get("lanes") or ()),
            cluster=document["cluster"],
            follows=document["follows"],
            noise=document["noise"],
            document=document,
        )

    def __str__(self) -> str:
        lanes = f", lanes {lane_text(self.lanes)}" if self.lanes else ""
        return f"{self.kind} at {place(self.document)}, warp {self.warp}, event {self.event}{lanes}"


@dataclass(frozen=True, repr=False)
class Explanation(Brief):
    """Why the first divergence happened, as far as the recordings tell.

    Attributes
    ----------
    cause
        ``race``, ``precision``, ``loop-bound``, ``index-or-mask``, ``stale-data``, ``formula``, ``operation`` or ``unknown``.
    confidence
        ``strong``, ``likely`` or ``weak``.
    summary
        One sentence.
    statement
        The statement to look at: ``source_location``, ``side`` (``A`` or ``B``), ``text``, ``why`` and ``way``, the lines
        through which what differs depends on it. None where the recordings do not hold the code of their kernel.
    chain
        The evidence, from the divergence back to where it can come from: one mapping a step.
    missing
        What was not recorded and would settle it.
    document
        Everything, as in ``prlx.diff/1``.
    """

    cause: str
    confidence: str
    summary: str
    statement: Mapping[str, Any] | None
    chain: tuple[Mapping[str, Any], ...]
    missing: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Explanation:
        """The explanation that a document holds."""
        return cls(
            cause=document["class"],
            confidence=document["confidence"],
            summary=document["summary"],
            statement=document.get("statement"),
            chain=tuple(document.get("chain") or ()),
            missing=said(document.get("missing")),
            document=document,
        )

    def __str__(self) -> str:
        return f"{self.cause} ({self.confidence}): {self.summary}"


class Comparison(Result):
    """What the comparisons of recordings and of sessions have in common. The document decides; nothing is computed twice.

    A comparison has no truth value: ``if diff`` could mean either answer. Ask ``.identical`` or ``.passed``.
    """

    @property
    def identical(self) -> bool:
        """Whether nothing differs in what was compared (``coverage``)."""
        return bool(self.document["status"] == "identical")

    @property
    def status(self) -> str:
        """``identical``, ``same-results`` (the kernel wrote the same, in a different way), ``diverged``, or ``inconclusive``.

        ``inconclusive`` says that not enough was recorded to call the runs the same; of sessions ``error`` says that launches
        could not be compared.
        """
        return str(self.document["status"])

    @property
    def conclusion(self) -> Verdict:
        """The verdict: the outcome, why, what was looked at and what was not.

        Examples
        --------
        >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
        >>> diff.conclusion.outcome, diff.conclusion.looked[0]
        ('differs', <Looked what='warps' count=8 of=None>)
        """
        return conclusion_of(self.document, in_python)

    @property
    def coverage(self) -> Mapping[str, Any]:
        """What was compared: ``coverage["text"]`` says it in words."""
        return self.document.get("coverage") or {}

    @property
    def passed(self) -> bool:
        """Whether no more differs than was allowed, in what must agree; an inconclusive comparison never passes."""
        return bool(self.document["passed"])

    @property
    def verdict(self) -> str:
        """One sentence, with what limits it."""
        return in_python(str(self.document["verdict"]))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is unusual in the recordings or could not be used, one sentence each."""
        return said(self.document.get("warnings"))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen, such as the site map, in sentences."""
        return said(self.document.get("notes"))

    def to_json(self, *, indent: int | None = 2) -> str:
        """The document as JSON text; its first key is ``schema``.

        Examples
        --------
        >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
        >>> diff.to_json(indent=None)[:47]
        '{"schema": "prlx.diff/1", "status": "diverged",'
        """
        document = {key: value for key, value in self.document.items() if key not in TALK}
        return json.dumps(document, indent=indent, ensure_ascii=False)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the truth of a {type(self).__name__} is ambiguous: ask .identical or .passed")

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, format: str | None = None) -> Path:
        """Write a report.

        Parameters
        ----------
        path
            Where to; its ending decides the format: ``.html``, ``.json``, ``.csv``, ``.xml`` (JUnit), ``.sarif``, ``.md``,
            ``.trace.json`` (Chrome), ``.perfetto-trace``, ``.github.txt`` (annotations).
        overwrite
            Replace a file that exists.
        format
            The format, where the ending does not say it: ``html``, ``json``, ``csv``, ``junit``, ``sarif``, ``markdown``,
            ``chrome``, ``perfetto`` or ``github``.

        Returns
        -------
        pathlib.Path
            The file written.

        Raises
        ------
        UsageError
            The ending says no format.
        FileAccessError
            The file exists and ``overwrite`` was not given, or its directory does not.

        Examples
        --------
        >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
        >>> diff.save("diff.html").name, diff.save("diff.xml").name  # one page for a browser, JUnit
        ('diff.html', 'diff.xml')
        """
        output = {"path": _request.absolute(path), "format": format or ""}
        _core.run("report", {"document": dict(self.document), "outputs": [output], "overwrite": overwrite})
        return Path(path)


@dataclass(frozen=True, repr=False)
class Diff(Comparison):
    """Where two recordings of a kernel differ. The document is ``prlx.diff/1``.

    Tables are ``Table`` objects: NumPy columns, and data frames of pandas, polars and Arrow.

    Attributes
    ----------
    request
        What was asked for.
    tables
        The tables by name, where they were read at once.

    Examples
    --------
    >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
    >>> diff.identical, diff.warps_diverged, diff.total_divergences
    (False, 8, 2336)
    >>> diff.clusters.to_pandas()["warp_ranges"].tolist()[:3]
    ['0', '1', '2']
    """

    request: Mapping[str, Any] = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)

    @cached_property
    def _tables(self) -> Mapping[str, Table]:
        """The tables; the recordings are read again where they were not asked for at once: most callers never look."""
        if self.tables:
            return self.tables
        again = run_files({**self.request, "outputs": None, "limit": 1}, tables=True, progress=False)
        if any(again.document[name] != self.document[name] for name in _TOTALS):
            raise IncompatibleTracesError(
                "the recordings are not those that were compared: they changed since", hint="compare them again"
            )
        return again.tables

    @property
    def origins(self) -> tuple[Origin | None, Origin | None]:
        """What the kernels of A and of B compute, where ``torch.compile`` made them and that was recorded."""
        a, b = (Origin.of(self.document[side].get("origin")) for side in "ab")
        return a, b

    @property
    def divergences(self) -> Table:
        """One row per divergence: all of them, also those that the document does not list."""
        return self._tables["divergences"]

    @property
    def clusters(self) -> Table:
        """One row a way to differ: how many warps, which, and where it begins."""
        return self._tables["clusters"]

    @property
    def sites(self) -> Table:
        """One row per site that differs, the earliest possible cause first."""
        return self._tables["sites"]

    @cached_property
    def first(self) -> Divergence | None:
        """The earliest divergence that no other can have caused; None when nothing differs."""
        first = self.document.get("first")
        return None if first is None else Divergence.of(first)

    @cached_property
    def losses(self) -> tuple[Losses, Losses]:
        """What is missing from A and from B; each is false when nothing is."""
        losses = self.document["losses"]
        return Losses.of(losses["a"]), Losses.of(losses["b"])

    @property
    def outputs(self) -> Mapping[str, Any] | None:
        """How what the kernel wrote differs: ``first``, ``arrays`` and ``stores``; None when nothing of it does.

        Each array has its ``distance``: how many elements differ, and how far apart they are at most, ``absolute``,
        ``relative`` and in ``ulps``. It is None where contents were not recorded; ``distance_text`` says either in words.
        """
        return self.document.get("outputs")

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """What the simulator's checks found in one run only, more often in one, or in both (``both``)."""
        return tuple(self.document.get("findings") or ())

    @property
    def total_divergences(self) -> int:
        """How many differences there are."""
        return int(self.document["total_divergences"])

    @property
    def counted_divergences(self) -> int:
        """How many of them count: not noise, not accepted, not ignored."""
        return int(self.document["counted_divergences"])

    @property
    def warps_diverged(self) -> int:
        """How many warps differ."""
        return int(self.document["warps_diverged"])

    def explain(self) -> Explanation | None:
        """Why the first divergence happened; reads the recordings again unless ``explain=True`` was given.

        Returns
        -------
        Explanation or None
            None when no event differs, and when the kernel wrote the same in a different way: nothing went wrong then.

        Examples
        --------
        >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
        >>> diff.explain().cause
        'loop-bound'
        """
        if self.status not in ("diverged", "inconclusive") or not (self.document.get("first") or self.outputs):
            return None
        found = self.document.get("explanation")
        if found is None:
            again = {**self.request, "explain": True, "outputs": None, "limit": 1}
            found = _core.run("diff", {**again, "tables": False}).get("explanation")
        return None if found is None else Explanation.of(found)

    def to_text(self, *, width: int = 80, clusters: int = 10, history: bool = False) -> str:
        """The comparison as ``prlx diff`` prints it, without colours.

        Examples
        --------
        >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
        >>> print(diff.to_text())
        DIVERGED: 8 warps of 8 diverge, in 8 ways, first at softmax_rows.cu:11, warp 0,
        ...
        """
        return "\n".join(render(self.document, Look(width=width, clusters=clusters, history=history)))

    def __str__(self) -> str:
        return self.to_text()

    def _card(self) -> Card:
        rows = [
            (
                format_count(cluster["warps"]),
                cluster["warp_ranges"],
                cluster["first"]["kind"],
                short(cluster["first"].get("source_location"), cluster["first"]["site_id"]),
                format_count(cluster["first"]["event_idx"]),
                format_count(cluster["divergences"]),
                "noise" if cluster["noise"] else "follows" if cluster["follows"] else "",
            )
            for cluster in self.document["clusters"][:10]
        ]
        notes = [*_said(self.document), *self.losses[0].notes, *self.losses[1].notes, *self.warnings]
        headings = ("warps", "which", "first kind", "at", "event", "divergences each", "")
        return Card(f"Diff: {self.document['status']}", self.verdict, headings, rows, notes)

    def __repr__(self) -> str:
        return clipped(self._line())

    def _line(self) -> str:
        found = plural(self.total_divergences, "divergence")
        if self.status in ("same-results", "inconclusive"):
            return f"<Diff: {self.verdict}>"
        if self.identical:
            compared = plural(int(self.document["warps_compared"]), "warp")
            lost = " as far as recorded" if any(map(bool, self.losses)) else ""
            return f"<Diff: identical{lost}, {compared} compared>"
        if self.first is None:
            return f"<Diff: {self.verdict}>"
        return f"<Diff: {found} in {plural(self.warps_diverged, 'warp')}, first: {self.first}>"


def _said(document: Mapping[str, Any]) -> Iterator[str]:
    """What a card says besides its clusters: the first place with its source and lanes, why, what was edited and written."""
    look = Look(width=200)
    first = document.get("first")
    if first:
        yield f"first: {first['kind']} at {place(first)}"
        yield from (
            line.strip(" >") for line in source(first, document, look) if line.startswith("  >") or line[2:3] in "AB"
        )
        if first.get("lanes"):
            yield f"lanes that differ: {lane_text(first['lanes'])}"
    why = document.get("explanation")
    if why:
        yield f"why: {why['class']} ({why['confidence']}): {why['summary']}"
    edited = document.get("edits") or {}
    if edited.get("functions") or edited.get("constants"):
        yield f"source: {edited['text']}"
    for lines in (findings(document, look), first_output(document, look), outputs(document, look)):
        yield from (line.strip() for line in lines if line.strip())


def run_files(request: Mapping[str, Any], *, tables: bool = False, progress: Progress = "auto") -> Diff:
    """Run a whole request of the operation ``diff``.

    Parameters
    ----------
    request
        Of the operation, with how its document calls the files.
    tables
        Read the tables at once; else they are read when first asked for.
    progress
        As for ``diff_traces``.
    """
    from ._progress import shown

    request = {**request, "tables": tables}
    with shown(progress) as watch:
        reply = _core.run("diff", request, progress=watch)
    found: dict[str, Table] = {}
    if "tables" in reply:
        from ._table import as_bits  # brings NumPy

        found = {name: as_bits(table) for name, table in reply.pop("tables").items()}
    return Diff(reply, request, found)
