"""Two sessions of recordings compared, launch by launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._diff import Diff, Divergence, Explanation, run_files
from ._diff_outputs import distances
from ._diff_text import details, verdict
from ._errors import TraceFormatError, UsageError, in_python
from ._lines import Look, clean, grid, short, times, wrapped
from ._origin import Origin, text_of
from ._result import Card, clipped
from ._units import format_count, plural

if TYPE_CHECKING:
    from ._progress import Progress
    from ._table import Table


@dataclass(frozen=True, repr=False)
class SessionDiff(Diff):
    """Where two sessions differ. The document is ``prlx.session-diff/1``.

    ``first``, ``divergences``, ``clusters`` and ``sites`` are those of the first launch that differs; ``launch`` compares
    another one in full.

    Examples
    --------
    Of two sessions, which are directories that ``prlx.record`` wrote:

    >>> diff = prlx.diff_traces("good", "bad")
    >>> diff.status, diff.missing, diff.inserted
    ('diverged', (), ())
    >>> diff.launches.to_pandas()[["kernel", "status"]].values.tolist()
    [['softmax_rows', 'diverged']]
    """

    @cached_property
    def launches(self) -> Table:
        """One row per launch that both sessions have: whether it differs, where and how much."""
        from ._rows import table

        rows = (
            {
                **row,
                "grid": times(row["grid"]),
                "block": times(row["block"]),
                "first": None if row.get("first") is None else str(Divergence.of(row["first"])),
            }
            for row in self.document["kernel_results"]
        )
        return table(_RESULTS, rows)

    @cached_property
    def first(self) -> Divergence | None:
        """The first divergence of the first launch that differs; None when no launch does, or only what it wrote."""
        first = (self.document.get("first") or {}).get("diff", {}).get("first")
        return None if first is None else Divergence.of(first)

    @property
    def origins(self) -> tuple[Origin | None, Origin | None]:
        """What the kernels of the first launch that differs compute, where that was recorded."""
        first = (self.document.get("first") or {}).get("diff") or {"a": {}, "b": {}}
        a, b = (Origin.of(first[side].get("origin")) for side in "ab")
        return a, b

    @property
    def causes(self) -> tuple[Mapping[str, Any], ...]:
        """Where the sessions begin to differ: launches that do something else, are given something else, or are missing.

        Launches that only received what such a one made are not among them.

        Examples
        --------
        >>> [cause["kernel"] for cause in prlx.diff_traces("good", "bad").causes]
        ['softmax_rows']
        """
        return tuple(self.document["causes"])

    @property
    def missing(self) -> tuple[str, ...]:
        """The launches that B lacks."""
        return tuple(self.document["unmatched_a"])

    @property
    def inserted(self) -> tuple[str, ...]:
        """The launches that only B has."""
        return tuple(self.document["unmatched_b"])

    @property
    def warps_diverged(self) -> int:
        """How many warps differ, over all launches."""
        return int(self.document["totals"]["warps_diverged"])

    def launch(self, number: int) -> Diff:
        """The comparison of one launch, by its number in A.

        Raises
        ------
        UsageError
            Not both sessions have such a launch.
        TraceFormatError
            It could not be compared.

        Examples
        --------
        >>> prlx.diff_traces("good", "bad").launch(0).first.location
        'softmax_rows.cu:softmax_rows:11:21'
        """
        for row in self.document["kernel_results"]:
            if row["launch"] == number:
                if row["status"] == "error":
                    raise TraceFormatError(row["error"], path=str(Path(self.request["a"][0]) / row["file_a"]))
                sides = {side: [str(Path(self.request[side][0]) / row[f"file_{side}"])] for side in "ab"}
                return run_files(
                    {**self.request, **sides, "baseline": None, "baseline_b": None, "outputs": None}, tables=True
                )
        raise UsageError(f"there is no launch {number} in both sessions", hint="the table .launches lists them")

    @cached_property
    def _tables(self) -> Mapping[str, Table]:
        first = self.document.get("first")
        if first is None:
            raise UsageError("no launch differs, so there are no divergences", hint=".launches lists them all")
        return self.launch(first["launch"]).tables

    def explain(self) -> Explanation | None:
        """Why the first launch that differs does.

        Examples
        --------
        >>> prlx.diff_traces("good", "bad").explain().cause
        'loop-bound'
        """
        first = self.document.get("first")
        if first is None:
            return None
        found = first["diff"].get("explanation")
        return self.launch(first["launch"]).explain() if found is None else Explanation.of(found)

    def to_text(self, *, width: int = 80, clusters: int = 10, history: bool = False) -> str:
        """The comparison as ``prlx session diff`` prints it, without colours.

        Examples
        --------
        >>> print(prlx.diff_traces("good", "bad").to_text())
        DIVERGED: 1 of 1 launch differs, the first is softmax_rows (launch 0); compared:
        ...
        """
        return "\n".join(render_session(self.document, Look(width=width, clusters=clusters, history=history)))

    def _card(self) -> Card:
        rows = [
            (
                str(row["launch"]),
                row["kernel"],
                row["status"],
                format_count(row["divergences"]),
                "" if row.get("first") is None else str(Divergence.of(row["first"])),
            )
            for row in self.document["kernel_results"]
            if row["status"] != "identical"
        ]
        notes = [f"B lacks {name}" for name in self.missing] + [f"only B has {name}" for name in self.inserted]
        headings = ("launch", "kernel", "status", "divergences", "first")
        title = f"SessionDiff: {self.document['status']}"
        return Card(title, self.verdict, headings, rows[:20], [*notes[:20], *self.warnings])

    def __repr__(self) -> str:
        return clipped(f"<SessionDiff: {self.verdict}>")


_RESULTS = (
    ("launch", "int64", ""),
    ("launch_b", "int64", ""),
    ("kernel", "string", ""),
    ("status", "string", ""),
    ("divergences", "int64", ""),
    ("counted_divergences", "int64", ""),
    ("warps_compared", "int64", ""),
    ("warps_diverged", "int64", ""),
    ("first", "string", ""),
    ("matched_by", "string", ""),
    ("grid", "string", ""),
    ("block", "string", ""),
    ("file_a", "string", ""),
    ("file_b", "string", ""),
    ("error", "string", ""),
)


def run_sessions(request: Mapping[str, Any], *, progress: Progress = "auto") -> SessionDiff:
    """Run the comparison of two sessions that a request of ``diff`` asks for."""
    from ._progress import shown

    with shown(progress) as watch:
        reply = _core.run("session_diff", request, progress=watch)
    return SessionDiff(reply, request, {})


def render_session(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The lines of a document ``prlx.session-diff/1``."""
    yield from verdict(document, look)
    for letter in "ab":
        side = document[letter]
        about = plural(side["launches"], "launch") + ("" if side["manifest"] else ", without a manifest")
        yield f"  {look.style(letter.upper(), 'bold')}  {clean(side['path'])}  {look.style(about, 'dim')}"
    yield from _causes(document, look)
    yield from _launches(document, look)
    yield from _sequence(document, look)
    first = document.get("first")
    if first is not None:
        yield ""
        yield look.style(f"launch {first['launch']}, {clean(first['kernel'])}:", "bold")
        yield from details(first["diff"], look)


_SAID = {"same-results": "same results", "inconclusive": "too little was recorded"}
_ROLES = {"follows": "was given other inputs", "unclear": "may only follow", "given": "was given something else"}


_ARRAYS = 4  # of a launch whose distances are shown

_BEGINS = {"missing": "is missing from B", "inserted": "is only in B", "given": "", "launch": ""}


def _causes(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """Where the sessions begin to differ, before the list of all launches."""
    causes = document["causes"][: look.clusters]
    for cause in causes:
        what = _BEGINS[cause["what"]] or cause["because"]
        follow = f"; {plural(cause['follow'], 'launch')} behind it only received that" if cause["follow"] else ""
        name = f"{clean(cause['kernel'])} (launch {cause['launch']})"
        head = f"  begins with {name}: "
        yield from wrapped(head, clean(what) + follow, look, head=f"  begins with {look.style(name, 'bold')}: ")
    if len(causes) < len(document["causes"]):
        yield f"  and {plural(len(document['causes']) - len(causes), 'more cause')}"


def _launches(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    differ = [row for row in document["kernel_results"] if row["status"] != "identical"]
    rows = [
        (
            str(row["launch"]),
            "" if row["launch"] == row["launch_b"] else str(row["launch_b"]),
            clean(row.get("kernel_name") or row["kernel"]),
            format_count(row["warps_diverged"]) if row["divergences"] else "",
            format_count(row["divergences"]) if row["divergences"] else "",
            row["first"]["kind"] if row.get("first") else "",
            short(row["first"].get("source_location"), row["first"]["site_id"]) if row.get("first") else "",
            clean(row.get("error") or _SAID.get(row["status"], "") or _ROLES.get(row.get("role", ""), "")),
        )
        for row in differ[: look.clusters]
    ]
    if rows:
        yield ""
        some = f", {len(rows)} shown" if len(rows) < len(differ) else ""
        total = len(document["kernel_results"])
        yield look.style("launches", "bold") + f" ({_counted(differ, total)}{some})"
        headings = ("launch", "in B", "kernel", "warps", "divergences", "first kind", "at", "")
        yield from grid(headings, rows, look, indent=2, right=(0, 1, 3, 4))
        for row in differ[: look.clusters]:
            if row.get("verdict"):
                said = row["verdict"].partition("; compared:")[0]
                yield from wrapped(f"  {row['launch']}  ", clean(said if look.flags else in_python(said)), look)
            yield from distances(row.get("arrays", ())[:_ARRAYS], look, f"{row['launch']}  ")
            if text := text_of(row):
                yield from wrapped(f"  {row['launch']}  computes ", clean(text), look)


def _counted(rows: Sequence[Mapping[str, Any]], total: int) -> str:
    """How many launches differ, and of how many it is not known whether they do: ``1 of 3 differs, 2 of 3 undecided``."""
    undecided = sum(row["status"] == "inconclusive" for row in rows)
    differ = len(rows) - undecided
    counts = ((differ, "differs" if differ == 1 else "differ"), (undecided, "undecided"))
    return ", ".join(f"{format_count(count)} of {format_count(total)} {word}" for count, word in counts if count)


def _sequence(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    for text, names in (("only in A", document["unmatched_a"]), ("only in B", document["unmatched_b"])):
        if names:
            shown = ", ".join(clean(name) for name in names[: look.clusters])
            more = f", and {format_count(len(names) - look.clusters)} more" if len(names) > look.clusters else ""
            yield ""
            yield f"{look.style(f'{text}:', 'yellow')} {shown}{more}"
