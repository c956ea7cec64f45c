"""What a command concludes, what that rests on, and the exit code that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import in_python
from ._result import Brief, Result

EXIT_CODES: dict[str, int] = {"same": 0, "passed": 0, "differs": 1, "failed": 1, "inconclusive": 5}
"""The exit code of each outcome, in every command that judges. Refusals have 2, 3 and 4 (see ``PrlxError.exit_code``)."""


@dataclass(frozen=True, repr=False)
class Looked(Brief):
    """One kind of thing that was looked at.

    Attributes
    ----------
    what
        What it was, such as ``warps`` or ``collectives``.
    count
        How many were looked at.
    of
        How many there are; None where the inputs do not say.

    Examples
    --------
    >>> prlx.Looked("ranks", 3, 4)
    <Looked what='ranks' count=3 of=4>
    """

    what: str
    count: int
    of: int | None


@dataclass(frozen=True, repr=False)
class Missing(Brief):
    """One thing that was not looked at, and could have changed the answer.

    Attributes
    ----------
    what
        What is missing.
    count
        How many of it; None where that is not known.
    why
        Why it was not looked at.

    Examples
    --------
    >>> prlx.Missing("rank 3", None, "no file of it")
    <Missing what='rank 3' count=None why='no file of it'>
    """

    what: str
    count: int | None
    why: str


@dataclass(frozen=True, repr=False)
class Verdict(Brief):
    """What a command concludes.

    Its truth is whether all is well: True for ``same`` and ``passed``, False for ``differs`` and ``failed``.

    Attributes
    ----------
    outcome
        ``same`` or ``differs`` of a comparison, ``passed`` or ``failed`` of a check, or ``inconclusive``.
    why
        The reason, in a sentence.
    looked
        What was looked at.
    missing
        What was not looked at, and could have changed the answer.

    Examples
    --------
    >>> verdict = prlx.Verdict("failed", "rank 2 was late", (prlx.Looked("ranks", 4, 4),), ())
    >>> verdict.exit_code, bool(verdict)
    (1, False)
    """

    outcome: str
    why: str
    looked: tuple[Looked, ...]
    missing: tuple[Missing, ...]

    @property
    def exit_code(self) -> int:
        """With what the command line ends: 0, 1 or 5."""
        return EXIT_CODES[self.outcome]

    def __bool__(self) -> bool:
        """Whether all is well.

        Raises
        ------
        InconclusiveError
            The verdict is inconclusive: neither yes nor no would be true.
        """
        if self.outcome == "inconclusive":
            from ._errors import InconclusiveError

            raise InconclusiveError(f"inconclusive: {self.why}", hint="ask .conclusion.outcome")
        return self.exit_code == 0


class Evidence:
    """What a command has looked at and missed so far: the counterpart of the core's, for documents that are made here."""

    def __init__(self) -> None:
        self._looked: list[dict[str, Any]] = []
        self._missing: list[dict[str, Any]] = []

    def looked(self, what: str, count: int, *, of: int | None = None) -> None:
        """Add things that were looked at, and how many there are where that is known."""
        self._looked.append({"what": what, "count": count, "of": of})

    def missed(self, what: str, why: str, *, count: int | None = None) -> None:
        """Add a thing that was not looked at, and could have changed the answer."""
        self._missing.append({"what": what, "count": count, "why": why})

    def check(self, failed: bool, why: str) -> dict[str, Any]:
        """The conclusion of a check: failed if something was found, passed only where nothing is missing."""
        outcome = "failed"
        if not failed:
            outcome, why = self._unless_open("passed", why)
        return {"outcome": outcome, "why": why, "looked": self._looked, "missing": self._missing}

    def _unless_open(self, good: str, why: str) -> tuple[str, str]:
        parts = [] if any(each["count"] for each in self._looked) else ["nothing was looked at"]
        for each in self._missing:
            many = "" if each["count"] in (None, 1) else f"{each['count']} "
            parts.append(f"{many}{each['what']}: {each['why']}")
        return ("inconclusive", f"{why}; but {'; '.join(parts)}") if parts else (good, why)


def conclusion_of(document: Mapping[str, Any], said: Callable[[str], str] = str) -> Verdict:
    """The verdict in a document, with what ``said`` makes of its sentences.

    One without a verdict is inconclusive, for nothing says what was looked at.
    """
    found = document.get("conclusion")
    if not found:
        return Verdict("inconclusive", "the document has no conclusion: an earlier version of prlx wrote it", (), ())
    return Verdict(
        found["outcome"],
        said(found["why"]),
        tuple(Looked(each["what"], each["count"], each["of"]) for each in found["looked"]),
        tuple(Missing(each["what"], each["count"], said(each["why"])) for each in found["missing"]),
    )


class Judged(Result):
    """A result that comes to a verdict."""

    @property
    def conclusion(self) -> Verdict:
        """The verdict: the outcome, why, what was looked at and what was not."""
        return conclusion_of(self.document, in_python)

    def __bool__(self) -> bool:
        """Whether all is well; raises ``InconclusiveError`` where the verdict is inconclusive."""
        return bool(self.conclusion)
