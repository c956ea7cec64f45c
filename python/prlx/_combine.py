"""Combining: N traces, each on its own clock, become one on the clock of the reference node."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _options, _request
from ._errors import NotAlignedWarning, PrlxError, UsageError, in_python, said
from ._lines import clean
from ._request import Inputs
from ._result import Brief, Card, clipped
from ._units import format_count, format_ns, one_unit
from ._verdict import Judged

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas
    import polars
    from typing_extensions import Unpack

    from ._option_keywords import CombineKeywords
    from ._progress import Progress
    from ._table import Table
    from ._timeline import Timeline


_COLUMNS = (
    ("id", "string", ""),
    ("host", "string", ""),
    ("rank", "int64", ""),
    ("method", "string", ""),
    ("offset_ns", "int64", "ns"),
    ("drift_ppm", "float64", "ppm"),
    ("bound_p50_ns", "int64", "ns"),
    ("bound_p99_ns", "int64", "ns"),
    ("bound_max_ns", "int64", "ns"),
    ("coverage", "float64", ""),
    ("events", "int64", ""),
    ("events_corrected", "int64", ""),
    ("events_clamped_monotonic", "int64", ""),
    ("snapshot_extrapolations", "int64", ""),
    ("offset_extrapolations", "int64", ""),
    ("min_correction_ns", "int64", "ns"),
    ("max_correction_ns", "int64", "ns"),
)
_NOT_TRACES = frozenset(("html", "json", "report", "alignment", "stats"))


@dataclass(frozen=True, repr=False)
class Output(Brief):
    """A file or run directory that was written."""

    path: Path
    format: str
    bytes: int
    sha256: str


@dataclass(frozen=True, repr=False)
class NodeReport(Brief):
    """What was found for one node, and what was done to its events.

    Attributes
    ----------
    method
        What its clock was related by: ``probes``, ``declared``, ``collectives``, ``host`` (that of another trace of its host),
        ``wall`` or ``none``.
    offset_ns, drift_ppm
        Its clock minus that of the reference in the middle of its trace, and how fast that changes; ``None`` when its
        clock could not be related.
    bound_p50_ns, bound_p99_ns, bound_max_ns
        How far off a corrected time can be; ``None`` when nothing says so, as for ``wall``.
    coverage
        The share of its events that lie between clock readings, 0 to 1.
    document
        Everything that the core said about it.
    """

    id: str
    host: str
    rank: int | None
    method: str
    offset_ns: int | None
    drift_ppm: float | None
    bound_p50_ns: int | None
    bound_p99_ns: int | None
    bound_max_ns: int | None
    coverage: float | None
    events: int
    events_corrected: int
    events_clamped_monotonic: int
    snapshot_extrapolations: int
    offset_extrapolations: int
    min_correction_ns: int | None
    max_correction_ns: int | None
    warnings: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, node: Mapping[str, Any]) -> NodeReport:
        """The node of a ``prlx.combine/1`` document."""
        method = node.get("method") or "none"
        # The document says 0 of a clock that was not corrected, which would read as exact.
        known = method != "none" and not (method == "wall" and "bound_ns" in node and node["bound_ns"] is None)
        bound = (node.get("bound_ns") or {}) if known and method != "wall" else {}
        return cls(
            id=str(node["id"]),
            host=node.get("host") or "",
            rank=node.get("rank"),
            method=method,
            offset_ns=node.get("offset_ns") if known else None,
            drift_ppm=node.get("drift_ppm") if known else None,
            bound_p50_ns=bound.get("p50"),
            bound_p99_ns=bound.get("p99"),
            bound_max_ns=bound.get("max"),
            coverage=node.get("coverage"),
            events=node.get("events", 0),
            events_corrected=node.get("events_corrected", 0),
            events_clamped_monotonic=node.get("events_clamped_monotonic", 0),
            snapshot_extrapolations=node.get("snapshot_extrapolations", 0),
            offset_extrapolations=node.get("offset_extrapolations", 0),
            min_correction_ns=node.get("min_correction_ns"),
            max_correction_ns=node.get("max_correction_ns"),
            warnings=said(node.get("warnings")),
            document=node,
        )


@dataclass(frozen=True, repr=False)
class CombinedTrace(Judged):
    """The traces of all nodes on one clock: where they were written, and how far they can be trusted.

    The document is ``prlx.combine/1``; paths in it are relative to ``base``.

    Examples
    --------
    >>> combined = prlx.combine_traces("examples/jax_p4", output="merged")
    >>> combined.status, combined.reference, combined.conclusion.outcome
    ('aligned', 'node0', 'passed')
    >>> [node.offset_ns for node in combined.nodes]
    [0, 37567041, -5578389, 415118]
    >>> combined.collectives["before"]["violated"], combined.collectives["after"]["violated"]
    (238, 0)
    """

    base: Path

    @property
    def status(self) -> str:
        """``aligned``, ``degraded`` (a part is missing or only roughly placed) or ``unaligned``."""
        return str(self.document["status"])

    @property
    def verdict(self) -> str:
        """What became of the clocks, in one sentence."""
        return str(self.document["verdict"])

    @property
    def not_aligned(self) -> str:
        """Why no clock was corrected, such as ``no clock data``; empty when one was."""
        return in_python(str(self.document.get("not_aligned") or ""))

    @property
    def reference(self) -> str:
        """The node whose clock the others were put on."""
        return str(self.document["reference"])

    @cached_property
    def nodes(self) -> tuple[NodeReport, ...]:
        """One report for each node, in the order of the inputs."""
        return tuple(NodeReport.from_document(node) for node in self.document["nodes"])

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """What was written."""
        return tuple(
            Output(self.base / row["path"], row["format"], row.get("bytes", 0), row.get("sha256", ""))
            for row in self.document["outputs"]
        )

    @cached_property
    def traces(self) -> tuple[Output, ...]:
        """The outputs that are traces, without documents and reports."""
        return tuple(output for output in self.outputs if output.format not in _NOT_TRACES)

    @property
    def path(self) -> Path:
        """The trace to open: the one file, or the run directory that holds one file a host."""
        found = [output.path for output in self.traces]
        if not found:
            raise PrlxError("nothing was written")
        return found[0] if len(found) == 1 and self.traces[0].format != "run" else _directory(found)

    @cached_property
    def table(self) -> Table:
        """One row a node, as columns: ``.to_pandas()``, ``.to_polars()`` and Arrow."""
        from ._rows import table

        return table(_COLUMNS, map(vars, self.nodes))

    def to_pandas(self) -> pandas.DataFrame:
        """One row a node, as a ``pandas.DataFrame``.

        Examples
        --------
        >>> combined = prlx.combine_traces("examples/jax_p4", output="merged")
        >>> combined.to_pandas()[["id", "method", "offset_ns"]].to_dict("records")[1]
        {'id': 'node1', 'method': 'probes', 'offset_ns': 37567041}
        """
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """One row a node, as a ``polars.DataFrame``.

        Examples
        --------
        >>> combined = prlx.combine_traces("examples/jax_p4", output="merged")
        >>> combined.to_polars().shape
        (4, 17)
        """
        return self.table.to_polars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """One row a node, as an Arrow stream."""
        return self.table.__arrow_c_stream__(requested_schema)

    @property
    def collectives(self) -> Mapping[str, Any]:
        """Collectives before and after: ``groups``, ``unmatched``, and ``violated, consistent, undecidable`` of each.

        ``passed`` says whether none is impossible afterwards; ``None`` when none could be judged.
        """
        return self.document.get("collectives") or {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen on the way, in sentences: clock files found beside the traces, how nodes were told apart."""
        return said(self.document.get("notes"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything that could not be done as asked, in sentences; those of single nodes are with their node."""
        return said(self.document.get("warnings"))

    @property
    def files(self) -> Mapping[str, Any]:
        """What became of every file that the inputs stand for: ``seen``, ``used``, and ``passed_over`` with the reasons."""
        return self.document.get("files") or {}

    @property
    def skipped(self) -> tuple[Mapping[str, Any], ...]:
        """The inputs that cannot be read and were left out: ``path``, ``id``, ``error`` and ``hint`` of each."""
        return tuple(self.document.get("skipped") or ())

    def open(self) -> Timeline:
        """The combined trace as a ``Timeline``.

        Examples
        --------
        >>> combined = prlx.combine_traces("examples/jax_p4", output="merged")
        >>> timeline = combined.open()
        >>> timeline.hosts
        ('node0', 'node1', 'node2', 'node3')
        """
        from . import _timeline

        return _timeline.open_timeline(self.path)

    def _card(self) -> Card:
        shown = one_unit(time for node in self.nodes for time in (node.offset_ns, node.bound_p99_ns))
        known = any(node.rank is not None for node in self.nodes)
        rows = [
            (
                node.id,
                node.host,
                *([str(node.rank) if node.rank is not None else "-"] if known else []),
                "reference" if node.id == self.reference else node.method,
                shown(node.offset_ns, sign=True),
                "-" if node.drift_ppm is None else f"{node.drift_ppm:+.1f} ppm",
                shown(node.bound_p99_ns),
                format_count(node.events),
            )
            for node in self.nodes
        ]
        headings = ("node", "host", *(["rank"] if known else []), "method", "offset", "drift", "bound p99", "events")
        return Card("Combined trace", self._sentence(), headings, rows, self.warnings)

    def _sentence(self) -> str:
        return self.verdict + self._numbers()

    def __repr__(self) -> str:
        """The sentence, with the numbers before what the status is subject to: a long one is cut at its end."""
        aligned, colon, subject = self.verdict.partition(f": {self.status};")
        said = f"{aligned}: {self.status}{self._numbers()};{subject}" if colon else self._sentence()
        return clipped(f"<{type(self).__name__}: {clean(said)}>")

    def _numbers(self) -> str:
        said = ""
        halves = [node.bound_p50_ns for node in self.nodes if node.bound_p50_ns is not None]
        bounds = [node.bound_p99_ns for node in self.nodes if node.bound_p99_ns is not None]
        if halves and bounds:
            said += f", bound p50 {format_ns(max(halves))}, p99 {format_ns(max(bounds))}"
        before, after = (self.collectives.get(when) or {} for when in ("before", "after"))
        if self.collectives.get("groups"):
            said += f", impossible collectives {before.get('violated', '?')} -> {after.get('violated', '?')}"
            said += f" of {self.collectives['groups']}"
        return said


def _directory(files: list[Path]) -> Path:
    return files[0] if files[0].is_dir() else files[0].parent


@_options.by_name("combine")
def combine_traces(
    inputs: Inputs,
    *,
    executor: Executor | None = None,
    progress: Progress = "auto",
    **options: Unpack[CombineKeywords],
) -> CombinedTrace:
    """Put the traces of several nodes on one clock and into one output.

    Parameters
    ----------
    inputs
        Files, directories, globs or log directories; a mapping names the node of each.
    **options
        Those of ``CombineKeywords``.
    executor
        Any ``concurrent.futures`` executor: each node's file is read and written by tasks of it, where the file lies. The
        output is then a run directory.
    progress
        ``"auto"`` shows it on a terminal; ``True``, ``False``, or a function that is called with each state.

    Returns
    -------
    CombinedTrace
        Where it was written and how far it can be trusted.

    Warns
    -----
    NotAlignedWarning
        Nothing says how the clocks relate, so the traces were merged as they are.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> combined = prlx.combine_traces("examples/jax_p4", output="merged.json", format="chrome")
    >>> combined
    <CombinedTrace: 4 nodes on the clock of node0: aligned, bound p50 ...>
    >>> combined.path.name
    'merged.json'
    """
    return warn_unless_aligned(run(request(inputs, **options), executor=executor, progress=progress))


@_options.by_name("combine")
def request(inputs: Inputs, **options: Unpack[CombineKeywords]) -> dict[str, Any]:
    """The request of the operation ``combine``; arguments as of ``combine_traces``."""
    return {"inputs": _request.named(inputs), **_request.of("combine", options)}


def warn_unless_aligned(result: CombinedTrace) -> CombinedTrace:
    """The result, with a warning to the caller's caller when it was to be aligned and nothing said how the clocks relate."""
    for text in result.warnings:
        if text.startswith("not aligned: "):
            warnings.warn(text, NotAlignedWarning, stacklevel=3)
    return result


def run(asked: dict[str, Any], *, executor: Executor | None = None, progress: Progress = "auto") -> CombinedTrace:
    """Run a request of the operation ``combine``, here or spread over the tasks of an executor."""
    from ._progress import shown

    if not asked["inputs"]:
        raise UsageError("no input given")
    with shown(progress) as watch:
        if executor is None:
            return result_of(_core.run("combine", asked, progress=watch))
        from ._combine_spread import spread

        return result_of(spread(asked, executor, watch))


def result_of(document: dict[str, Any]) -> CombinedTrace:
    """The result of a reply: where its paths start is known here, not in the document, which is the same everywhere."""
    base = document.pop("base", None)
    return CombinedTrace(document, Path(base) if base else Path.cwd())
