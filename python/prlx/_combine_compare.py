"""Comparing two alignments of the same traces: how the clocks that they found differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._errors import said
from ._result import Brief, Card
from ._units import one_unit
from ._verdict import Judged

if TYPE_CHECKING:
    from ._request import Path as AnyPath


@dataclass(frozen=True, repr=False)
class ClockDifference(Brief):
    """How the two clocks of a node differ, at the instants that both documents state.

    Attributes
    ----------
    status
        ``agree``, ``contradict`` (at some instant what one allows the other excludes), ``inconclusive``, or ``reference``.
    why
        Why nothing was compared, where that is so.
    method_a, method_b
        What each rests on.
    instants
        At how many instants they were compared.
    apart_p50_ns, apart_max_ns
        How far apart the offsets are, in size; ``None`` when nothing was compared.
    drift_ppm
        How much more the node's clock gains according to B.
    bound_a_ns, bound_b_ns
        The median bound of each.
    document
        Everything that the core said about it.
    """

    id: str
    status: str
    why: str
    method_a: str
    method_b: str
    instants: int
    apart_p50_ns: int | None
    apart_max_ns: int | None
    drift_ppm: float | None
    bound_a_ns: int | None
    bound_b_ns: int | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, node: Mapping[str, Any]) -> ClockDifference:
        """The node of a ``prlx.combine-compare/1`` document."""
        apart = node["apart_ns"] or {}
        return cls(
            id=str(node["id"]),
            status=node["status"],
            why=node["why"],
            method_a=node["a"]["method"],
            method_b=node["b"]["method"],
            instants=node["instants"],
            apart_p50_ns=apart.get("p50"),
            apart_max_ns=apart.get("max"),
            drift_ppm=node["drift_ppm"],
            bound_a_ns=node["a"]["bound_ns"],
            bound_b_ns=node["b"]["bound_ns"],
            document=node,
        )


@dataclass(frozen=True, repr=False)
class AlignmentComparison(Judged):
    """How the clocks of two alignments differ. The document is ``prlx.combine-compare/1``.

    Examples
    --------
    >>> probes = prlx.combine_traces("examples/jax_p4", output="by_probes", method="probes")
    >>> collectives = prlx.combine_traces("examples/jax_p4", output="by_collectives", method="collectives")
    >>> compared = prlx.compare_alignments("by_probes", "by_collectives")
    >>> compared.agree, [node.status for node in compared.nodes]
    (True, ['reference', 'agree', 'agree', 'agree'])
    """

    @property
    def status(self) -> str:
        """``agree``, ``contradict``, or ``inconclusive``: not every clock could be compared."""
        return str(self.document["status"])

    @property
    def agree(self) -> bool | None:
        """Whether no clock of one lies where the other excludes it; ``None`` when not every clock could be compared."""
        return {"agree": True, "contradict": False}.get(self.status)

    @property
    def verdict(self) -> str:
        """Whether they agree, and how far apart they are, in a sentence."""
        return str(self.document["verdict"])

    @property
    def reference(self) -> str:
        """The node whose clock all others are compared with, the same in both."""
        return str(self.document["reference"])

    @cached_property
    def nodes(self) -> tuple[ClockDifference, ...]:
        """One entry for each node that both documents have, in the order of A."""
        return tuple(ClockDifference.from_document(node) for node in self.document["nodes"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be compared, in sentences."""
        return said(self.document["warnings"])

    def _card(self) -> Card:
        times = [(node.apart_p50_ns, node.apart_max_ns, node.bound_a_ns, node.bound_b_ns) for node in self.nodes]
        shown = one_unit(time for row in times for time in row)
        rows = [
            (node.id, node.method_a, node.method_b, node.status, *map(shown, row))
            for node, row in zip(self.nodes, times, strict=True)
        ]
        headings = ("node", "A", "B", "status", "apart p50", "max", "bound A", "bound B")
        return Card("Comparison of alignments", self.verdict, headings, rows, self.warnings)


def compare_alignments(a: AnyPath, b: AnyPath) -> AlignmentComparison:
    """Compare the clocks that two alignments of the same traces found.

    Parameters
    ----------
    a, b
        The document of each (``alignment.json``, ``FILE.alignment.json``), or the run directory that holds it. Their clocks
        must be on that of the same reference.

    Returns
    -------
    AlignmentComparison
        Its ``agree`` says whether the two allow each other's clocks at every instant that both state.

    Raises
    ------
    IncompatibleTracesError
        The two have different references.
    TraceFormatError
        One of them is not a document of ``combine_traces``.

    Examples
    --------
    >>> combined = prlx.combine_traces("examples/jax_p4", output="by_probes", method="probes")
    >>> raw = prlx.combine_traces("examples/jax_p4", output="as_recorded", method="wall")
    >>> prlx.compare_alignments("by_probes", "as_recorded").status
    'inconclusive'
    """
    return run(request(a, b))


def request(a: AnyPath, b: AnyPath) -> dict[str, Any]:
    """The request of the operation ``combine_compare``."""
    return {"a": _request.absolute(a), "b": _request.absolute(b)}


def run(asked: dict[str, Any]) -> AlignmentComparison:
    """Run a request of the operation ``combine_compare``; it names files as seen from here."""
    document = _core.run("combine_compare", asked)
    for side in ("a", "b"):
        document[side]["path"] = _request.seen_from(document[side]["path"], str(Path.cwd()))
    return AlignmentComparison(document)
