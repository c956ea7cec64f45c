"""Solving: probes between nodes become offsets of their clocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _options, _request
from ._errors import UsageError, said
from ._result import Brief, Card
from ._units import format_ns, node_name, one_unit, plural
from ._verdict import Judged

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_keywords import SolveKeywords
    from ._progress import Progress
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class NodeOffset(Brief):
    """The clock of one node against that of the reference.

    Attributes
    ----------
    offset_ns, drift_ppm
        Its clock minus that of the reference in the middle of what was measured, and how fast that changes.
    steps
        Jumps of its clock that were found.
    """

    id: str
    offset_ns: int | None
    drift_ppm: float | None
    bound_p50_ns: int | None
    bound_p99_ns: int | None
    bound_max_ns: int | None
    windows: int
    missing_windows: int
    steps: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, node: Mapping[str, Any]) -> NodeOffset:
        """The node of a ``prlx.solve/1`` document."""
        bound = node.get("bound_ns") or {}
        return cls(
            id=str(node["id"]),
            offset_ns=node.get("offset_ns"),
            drift_ppm=node.get("drift_ppm"),
            bound_p50_ns=bound.get("p50"),
            bound_p99_ns=bound.get("p99"),
            bound_max_ns=bound.get("max"),
            windows=node.get("windows", 0),
            missing_windows=node.get("missing_windows", 0),
            steps=tuple(node.get("steps") or ()),
            warnings=said(node.get("warnings")),
            document=node,
        )


@dataclass(frozen=True, repr=False)
class Offsets(Judged):
    """Offsets of all nodes. The document is ``prlx.solve/1``.

    Examples
    --------
    >>> solved = prlx.solve_offsets([f"examples/jax_p4/probes_node{node}.jsonl" for node in range(4)])
    >>> solved.reference, solved.nodes[1].offset_ns, solved.nodes[1].bound_p99_ns
    ('0', 37567041, 24834)
    >>> solved.path is None  # no output was asked for
    True
    """

    base: Path

    @property
    def reference(self) -> str:
        """The node that all offsets are relative to."""
        return str(self.document["reference"])

    @cached_property
    def nodes(self) -> tuple[NodeOffset, ...]:
        """One entry for each node."""
        return tuple(NodeOffset.from_document(node) for node in self.document["nodes"])

    @property
    def path(self) -> Path | None:
        """The file of round offsets that was written, if one was asked for."""
        found = self.document.get("outputs") or ()
        return self.base / found[0]["path"] if found else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be measured, in sentences."""
        return said(self.document.get("warnings"))

    def _card(self) -> Card:
        shown = one_unit(time for node in self.nodes for time in (node.offset_ns, node.bound_p50_ns, node.bound_max_ns))
        rows = [
            (
                node.id,
                "reference" if node.id == self.reference else shown(node.offset_ns, sign=True),
                "-" if node.drift_ppm is None else f"{node.drift_ppm:+.1f} ppm",
                shown(node.bound_p50_ns),
                shown(node.bound_max_ns),
                str(len(node.steps)),
            )
            for node in self.nodes
        ]
        bounds = [node.bound_p99_ns for node in self.nodes if node.bound_p99_ns is not None]
        sentence = f"{plural(len(self.nodes), 'node')} relative to {node_name(self.reference)}"
        sentence += f", bound p99 {format_ns(max(bounds))}" if bounds else ""
        return Card(
            "Offsets", sentence, ("node", "offset", "drift", "bound p50", "bound max", "steps"), rows, self.warnings
        )


@_options.by_name("solve")
def solve_offsets(
    files: AnyPath | Iterable[AnyPath], *, progress: Progress = "auto", **options: Unpack[SolveKeywords]
) -> Offsets:
    """Turn probe windows or raw probe stamps into offsets.

    Parameters
    ----------
    files
        Files of windows (``probe_windows_node3.jsonl``) or of raw stamps (``src, dst, seq, t1..t4``).
    **options
        Those of ``SolveKeywords``.
    progress
        ``"auto"`` shows it on a terminal; ``True``, ``False``, or a function that is called with each state.

    Returns
    -------
    Offsets
        With bound, drift and steps of each node.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> probes = [f"examples/jax_p4/probes_node{node}.jsonl" for node in range(4)]
    >>> solved = prlx.solve_offsets(probes, output="offsets.jsonl")
    >>> solved
    <Offsets: 4 nodes relative to node 0, bound p99 24.83 us>
    >>> solved.path.name
    'offsets.jsonl'
    """
    return run(request(files, **options), progress=progress)


@_options.by_name("solve")
def request(files: AnyPath | Iterable[AnyPath], **options: Unpack[SolveKeywords]) -> dict[str, Any]:
    """The request of the operation ``solve``; arguments as of ``solve_offsets``."""
    return {"files": _request.paths(files), **_request.of("solve", options)}


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> Offsets:
    """Run a request of the operation ``solve``."""
    from ._progress import shown

    if not asked["files"]:
        raise UsageError("no file of probes given")
    with shown(progress) as watch:
        document = _core.run("solve", asked, progress=watch)
    return Offsets(document, Path(asked["output"]).parent if asked["output"] else Path.cwd())
