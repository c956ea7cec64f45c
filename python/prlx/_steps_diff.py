"""Two trainings compared by their tapes: where did they first compute something else?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _request
from ._diff import Comparison
from ._lines import Look, clean, wrapped
from ._result import Brief, Card
from ._units import format_count, plural

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath

_MAGIC = b"\x89PRLXT\n\x1a"
_LOGS = b'"torch.utils._debug_mode.DebugMode.logs"'  # what save_logs of PyTorch's DebugMode writes
_HEAD = 256  # bytes
_ENDING = ".tape"
_PACKED = (".tape.gz", ".tape.zst")


@dataclass(frozen=True, repr=False)
class StepDifference(Brief):
    """One way in which an operator of two trainings differs.

    Attributes
    ----------
    kind
        ``missing`` or ``inserted`` where one side lacks the operator; else the first of what differs: ``type``, ``shape``,
        ``arguments``, ``random`` (the state of the random numbers before), ``input``, or ``output`` of the same inputs.
    step, phase, module, operator, rank
        Where; of an operator of the optimizer, ``module`` is its parameter.
    tensor
        The argument or result that differs.
    follows
        Whether an earlier difference can be its cause.
    deviating
        Among the ranks of one run: those that are not like the others. Empty where nothing tells which they are.
    text
        All of it in a sentence.
    document
        Everything, as in ``prlx.steps-diff/1``.
    """

    kind: str
    step: int
    phase: str
    module: str
    operator: str
    rank: int
    tensor: str
    follows: bool
    deviating: tuple[int, ...]
    text: str
    document: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StepDifference:
        """The difference that a document describes."""
        at = document["a"] or document["b"]
        return cls(
            kind=document["kind"],
            step=at["step"],
            phase=at["phase"],
            module=at["module"],
            operator=at["operator"],
            rank=at["rank"],
            tensor=document["tensor"],
            follows=document["follows"],
            deviating=tuple(document["ranks"]),
            text=document["text"],
            document=document,
        )

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class StepsDiff(Comparison):
    """Where two trainings first computed something else. The document is ``prlx.steps-diff/1``."""

    @property
    def first(self) -> StepDifference | None:
        """The first operator that differs; None when none does."""
        found = self.document["first"]
        return None if found is None else StepDifference.of(found)

    @property
    def differences(self) -> tuple[StepDifference, ...]:
        """The first differences, in their order; ``document["total"]`` counts all."""
        return tuple(StepDifference.of(each) for each in self.document["differences"])

    @property
    def facts(self) -> Mapping[str, tuple[str, str]]:
        """What is not the same of the runs themselves: versions, settings, seeds, numbers of threads; of A and of B."""
        return {each["name"]: (each["a"], each["b"]) for each in self.document["facts"]}

    @property
    def summary(self) -> str:
        """One line: the verdict."""
        return self.verdict

    def _card(self) -> Card:
        rows = [(each.kind, clean(each.text)) for each in self.differences[:10]]
        return Card("Two trainings", self.verdict, ("differs in", "where"), rows, self.warnings)


def are_tapes(path: AnyPath) -> bool:
    """Whether a path is a tape of training steps or a log of PyTorch's DebugMode, by its beginning, or a directory of tapes."""
    where = Path(_request.absolute(path))
    if where.is_dir():
        return any(where.glob(f"*{_ENDING}"))
    if where.name.endswith(_PACKED):
        return True
    if not where.is_file():  # a pipe is read once, by whoever compares
        return False
    try:
        with where.open("rb") as file:
            head = file.read(_HEAD)
            return head.startswith(_MAGIC) or (head.lstrip().startswith(b"{") and _LOGS in head)
    except OSError:
        return False  # whoever opens it says why


def diff_tapes(
    a: AnyPath,
    b: AnyPath,
    *,
    baseline: Sequence[AnyPath] = (),
    outputs: Sequence[Mapping[str, str]] = (),
    overwrite: bool = False,
    progress: Progress = "auto",
) -> StepsDiff:
    """Compare the tapes of two trainings, or those of the ranks of one.

    Parameters
    ----------
    a, b
        Tapes, or directories with one of each rank. Twice the same directory: its ranks are compared with each other, as far
        as they should agree.
    baseline
        Runs that should be equal to A. What differs between A and one of them is noise: it is counted by itself.
    outputs
        Reports to write: ``path`` and ``format`` of each.
    overwrite
        Replace reports that exist.
    progress
        As for ``diff_traces``.

    Returns
    -------
    StepsDiff
        With the first operator that differs.
    """
    from ._progress import shown

    here = _request.absolute(".")
    sides = {"a": _request.absolute(a), "b": _request.absolute(b)}
    files = [str(each) for side in sides.values() for each in (Path(side), *sorted(Path(side).glob(f"*{_ENDING}")))]
    asked = {
        **sides,
        "baseline": [_request.absolute(each) for each in baseline],
        "names": {path: _request.seen_from(path, here) for path in files},
        "outputs": list(outputs),
        "overwrite": overwrite,
        "root": here,
    }
    with shown(progress) as watch:
        return StepsDiff(_core.run("tape_diff", asked, progress=watch))


def render_steps(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The lines of a comparison: what is set up differently first, then where the trainings part."""
    facts = document["facts"]
    among = document["among"] == "ranks"
    if facts:
        yield look.style(f"the {document['among']} were not set up alike", "yellow", "bold")
        yield from (f"  {clean(each['name'])}: {clean(each['a'] or '-')} / {clean(each['b'] or '-')}" for each in facts)
        yield ""
    word = {"identical": "same", "diverged": "differs"}.get(document["status"], "inconclusive")
    color = {"same": "green", "differs": "red"}.get(word, "yellow")
    yield from wrapped(f"{word}: ", clean(document["verdict"]), look, head=f"{look.style(word, color, 'bold')}: ")
    first = document["first"]
    if first is not None:
        yield from _first(first, among)
        if document["noise"]:
            yield f"  {plural(document['noise'], 'operator')} more differ as they do between equal runs, or follow from that"
        total, followers = document["total"], document["followers"]
        yield f"  {plural(total, 'operator')} differ, {format_count(followers)} of them can follow from earlier ones"
        others = [each for each in document["differences"] if not each["follows"]][1 : look.clusters + 1]
        if others:
            yield ""
            yield look.style("also, and not because of it", "bold")
            yield from (f"  {clean(each['text'])}" for each in others)
    for rank in document["ranks"]:
        for side in "ab":
            made = rank[f"not_finite_{side}"]
            if made:
                name = f"rank {made['at']['rank']}" if among else side.upper()
                yield f"  first NaN or infinite of {name}: {clean(made['text'])}"
    for missing in document["conclusion"]["missing"]:
        count = "" if missing["count"] in (None, 1) else f"{format_count(missing['count'])} "
        yield f"  not looked at: {count}{clean(missing['what'])}: {clean(missing['why'])}"


def _first(first: Mapping[str, Any], among: bool) -> Iterator[str]:
    """What both sides have where they part."""
    if not (first["value_a"] or first["value_b"]):
        return
    for side in "ab":
        at = first[side]
        name = f"rank {at['rank']}" if among and at else side.upper()
        yield f"  {name}: {clean(first[f'value_{side}'])}"
