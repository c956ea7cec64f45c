"""Validating: does the order of collectives across nodes make sense on these clocks?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _options, _request
from ._errors import UsageError, said
from ._request import Inputs
from ._result import Brief, Card
from ._units import one_unit
from ._verdict import Judged

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_keywords import ValidateKeywords
    from ._progress import Progress


@dataclass(frozen=True, repr=False)
class Suspect(Brief):
    """One collective that looks wrong: a node left it before another node had entered it.

    Attributes
    ----------
    key, kind, occurrence
        Which operation, what it does (``all-reduce``, ``permute``, ...), and which of its executions, from 0.
    verdict
        ``violated`` or ``undecidable``.
    gap_ns
        When the one left minus when the other entered; negative means impossible.
    bound_ns
        How far off the gap can be; ``None`` when nobody has bounded the clocks, as those of traces that are taken as recorded.
    nodes
        The node that left early, and the node that entered late.
    """

    key: str
    kind: str
    occurrence: int
    verdict: str
    gap_ns: int
    bound_ns: int | None
    nodes: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Verdicts(Judged):
    """How many collectives are possible on these clocks. The document is ``prlx.validate/1``.

    Examples
    --------
    >>> verdicts = prlx.validate_collectives("examples/jax_p4")
    >>> verdicts.violated, verdicts.consistent, verdicts.undecidable
    (238, 2, 0)
    >>> verdicts.worst[0].nodes, verdicts.worst[0].gap_ns
    (('node2', 'node1'), -43583141)
    """

    @property
    def status(self) -> str:
        """``passed``, ``violated``, or ``inconclusive``: nothing could be judged, or something is missing (``conclusion``)."""
        return str(self.document["status"])

    @property
    def verdict(self) -> str:
        """How many collectives are possible, in one sentence."""
        return str(self.document["verdict"])

    @property
    def passed(self) -> bool | None:
        """Whether no collective is impossible; ``None`` when that is inconclusive."""
        passed = self.document["passed"]
        return None if passed is None else bool(passed)

    @property
    def groups(self) -> int:
        """Collectives that were matched across nodes or devices."""
        return int(self.document["groups"])

    @property
    def violated(self) -> int:
        """Impossible: an end before a start that it depends on."""
        return int(self.document["violated"])

    @property
    def consistent(self) -> int:
        """Possible on these clocks."""
        return int(self.document["consistent"])

    @property
    def undecidable(self) -> int:
        """Neither, because the clocks are not known well enough."""
        return int(self.document["undecidable"])

    @property
    def unmatched(self) -> int:
        """Executions for which no partner was found."""
        return int(self.document["unmatched"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen or assumed, in sentences."""
        return said(self.document.get("notes"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be judged, in sentences."""
        return said(self.document.get("warnings"))

    @property
    def files(self) -> Mapping[str, Any]:
        """What became of every file that the inputs stand for: ``seen``, ``used``, and ``passed_over`` with the reasons."""
        return self.document.get("files") or {}

    @property
    def skipped(self) -> tuple[Mapping[str, Any], ...]:
        """The inputs that cannot be read and were left out: ``path``, ``id``, ``error`` and ``hint`` of each."""
        return tuple(self.document.get("skipped") or ())

    @cached_property
    def worst(self) -> tuple[Suspect, ...]:
        """The worst ones, worst first."""
        return tuple(
            Suspect(
                key=row["key"],
                kind=row.get("kind", ""),
                occurrence=row["occurrence"],
                verdict=row.get("verdict", ""),
                gap_ns=row["gap_ns"],
                bound_ns=row.get("bound_ns"),
                nodes=tuple(str(node) for node in row["nodes"]),
                document=row,
            )
            for row in self.document["worst"]
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document (``.json``) or a report of it (``.html``), one page that needs no network.

        Parameters
        ----------
        path
            Where to; its ending decides the format.
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
        >>> verdicts = prlx.validate_collectives("examples/jax_p4")
        >>> verdicts.save("verdicts.html").name
        'verdicts.html'
        """
        target = Path(path)
        if target.suffix != ".html":
            return super().save(target, overwrite=overwrite)
        output = {"format": "html", "path": _request.absolute(target)}
        _core.run("report", {"document": dict(self.document), "outputs": [output], "overwrite": overwrite})
        return target

    def _card(self) -> Card:
        shown = one_unit(time for row in self.worst for time in (row.gap_ns, row.bound_ns))
        rows = [
            (row.key, str(row.occurrence), shown(row.gap_ns), shown(row.bound_ns), ", ".join(row.nodes))
            for row in self.worst
        ]
        return Card(
            "Collectives", self.verdict, ("collective", "occurrence", "gap", "bound", "nodes"), rows, self.warnings
        )


@_options.by_name("validate")
def validate_collectives(
    inputs: Inputs, *, progress: Progress = "auto", **options: Unpack[ValidateKeywords]
) -> Verdicts:
    """Check collectives of aligned or raw traces for impossible order.

    Parameters
    ----------
    inputs
        Traces of all nodes, or one combined trace.
        With clock files they are judged on the clocks that these relate. Without them they are judged as they are, with the
        bounds that traces of ``combine_traces`` carry.
    **options
        Those of ``ValidateKeywords``.
    progress
        As for ``combine_traces``.

    Returns
    -------
    Verdicts
        Its ``passed`` says whether none is impossible; ``None`` when nothing could be judged.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> prlx.validate_collectives("examples/jax_p4").passed  # each node on its own clock
    False
    >>> combined = prlx.combine_traces("examples/jax_p4", output="merged")
    >>> prlx.validate_collectives("merged").passed
    True
    """
    return run(request(inputs, **options), progress=progress)


@_options.by_name("validate")
def request(inputs: Inputs, **options: Unpack[ValidateKeywords]) -> dict[str, Any]:
    """The request of the operation ``validate``; arguments as of ``validate_collectives``."""
    return {"inputs": _request.named(inputs), **_request.of("validate", options)}


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> Verdicts:
    """Run a request of the operation ``validate``."""
    from ._progress import shown

    if not asked["inputs"]:
        raise UsageError("no input given")
    with shown(progress) as watch:
        return Verdicts(_core.run("validate", asked, progress=watch))
