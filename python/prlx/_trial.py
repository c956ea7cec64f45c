"""Which of several changed statements makes two versions of a kernel differ: each is undone alone, run again on what was given.

The texts are those that recordings hold. Running them is running code out of a file: nobody does that who has not asked for it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import InternalError
from ._expressions import Noted
from ._inputs import Inputs, beside, read
from ._mixed_runs import Bench, NotTriedError
from ._mixing import Change, Mix, Versions
from ._values import does, noting

if TYPE_CHECKING:
    import numpy as np

    from ._diff import Diff
    from ._progress import Progress

MOST_RUNS = 160  # of mixed texts
_MOST_ENDS = 3  # of these that may end the process that compiles them, and are left out then
_NEAR = 0.01  # how far a result may be from another, as a part of how far both versions are apart, and be like it
_CLOSE = 1e-3  # the same of its own size, where one version has no number at all


@dataclass(frozen=True)
class Candidate:
    """A changed statement, and what came of undoing it alone."""

    side: str
    file: str
    line: int
    text: str
    tried: bool  # some mix with it ran
    repairs: bool  # B without it writes what A writes
    breaks: bool  # A with it writes what B writes, or something else than A
    more: int  # statements besides that the best repair took from A
    size: int  # words of the statement that it changed
    rank: int  # 0: an expression as A has it, once names are followed; 1: A's text, or a small edit; 2: another statement of A
    leans: bool  # that repair leaves out what other changed statements compute for this one, or stands on what A does not name
    late: bool = False  # another repair of that rank is more often meant
    is_plain: bool = False  # it only gives a name or a number to a variable
    is_seen: bool = False  # A computes what it assigns as well: what uses it may be what is wrong
    fed: bool = True  # what it uses is right, so it is the first that is wrong

    @property
    def order(self) -> tuple[int, bool, bool, bool, int, int, bool]:
        """The most probable comes first: by how it is repaired, and of what; then the smallest repair."""
        return self.rank, not self.fed, not self.is_plain, self.late, self.more, self.size, not self.breaks

    def row(self) -> dict[str, Any]:
        """As documents have it."""
        return {
            "side": self.side, "file": self.file, "line": self.line, "text": self.text, "tried": self.tried,
            "repairs": self.repairs, "breaks": self.breaks,
        }  # fmt: skip


@dataclass(frozen=True)
class Tried:
    """What came of running mixed texts."""

    runs: int
    candidates: tuple[Candidate, ...]
    why_not: str = ""  # why nothing could be run, "" where it could

    @property
    def best(self) -> Candidate | None:
        """The statement without which B writes what A writes, by the smallest mix; None where none does."""
        found = [one for one in self.candidates if one.repairs]
        return min(found, key=lambda one: one.order) if found else None

    @property
    def sure(self) -> bool:
        """Whether one statement alone repairs B, as A has it and no other does as well, and breaks A.

        A repair that leaves out what other changed statements compute is not sure: any of them may be what it repairs. So where
        what the statement uses was not seen in A, or what it assigns was: then what it uses, or what uses it, may be wrong.
        """
        best = self.best
        if best is None or best.more or best.rank > 1 or not best.breaks or best.leans or best.is_seen or not best.fed:
            return False
        return sum(one.repairs and one.more == 0 and one.rank <= best.rank for one in self.candidates) == 1

    def request(self) -> dict[str, Any]:
        """As the comparison takes it."""
        best = self.best
        return {
            "runs": self.runs,
            "candidates": [one.row() for one in self.candidates],
            "best": -1 if best is None else self.candidates.index(best),
            "sure": self.sure,
            "why_not": self.why_not,
        }


def tried_apart(a: Path, b: Path) -> dict[str, Any]:
    """What ``tried`` says, as the comparison takes it, from a process of its own: a mixed text can make a compiler abort."""
    try:
        for path in (a, b):
            _given(path)
    except NotTriedError as reason:
        return Tried(0, (), str(reason)).request()
    known = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    alone = {name: value for name, value in os.environ.items() if name != "PRLX_RUN"}  # nobody records that
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="prlx-trial-") as folder:
        said, began = Path(folder) / "said.json", Path(folder) / "began"
        while True:
            ended = subprocess.run(
                [sys.executable, "-m", "prlx._trial", a, b, said, began, *left_out], env={**alone, "PYTHONPATH": known},
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
            if said.exists():
                found: dict[str, Any] = json.loads(said.read_text())
                return found
            if ended.returncode > 0:
                raise InternalError(f"changed statements could not be tried: {ended.stderr.strip()[-1000:]}")
            if not began.exists() or len(left_out) == _MOST_ENDS:
                break
            left_out.append(began.read_text())
            began.unlink()
    why = f"one of the mixed texts ended the process that compiled it: {_signal(ended.returncode)}"
    return Tried(0, (), why).request()


def _signal(returncode: int) -> str:
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def tried(a: Path, b: Path, began: Path | None = None, left_out: Sequence[int] = ()) -> Tried:
    """Undo each changed statement of B alone, on what A was given; both are recordings with their inputs beside them."""
    try:
        given = [_given(path) for path in (a, b)]
        bench = Bench(given[0])
        bench.began, bench.left_out = began, frozenset(left_out)
        with bench.open():
            return _search(bench, given[0].head["texts"], given[1].head["texts"])
    except NotTriedError as reason:
        return Tried(0, (), str(reason))


def try_statements(diff: Diff, asked: Mapping[str, Any] | None = None, *, progress: Progress = "auto") -> Diff:
    """Tell which of several changed statements makes two recordings differ, by running mixed texts of the kernel.

    Both must have been recorded with ``inputs``: then each changed statement of B is undone alone, and the text is run on what
    A was given, on the simulator. That runs the text that the recordings hold; do so with recordings that you trust.

    Parameters
    ----------
    diff
        A comparison of recordings, or of sessions: then of the first launch that differs.
    asked
        Its request, where that asks for more; that of the comparison when left out.
    progress
        ``"auto"``, a flag, or a function of stage, done and total.

    Returns
    -------
    Diff
        The same comparison, whose explanation names the statement that was found, and lists all candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> for name in ("a", "b"):
    ...     with prlx.record(f"{name}.prlx", inputs="1MiB"):
    ...         _ = softmax[(6,)](np.zeros_like(x), x, 200, 200, SLIP=0, BLOCK=256)
    >>> prlx.try_statements(prlx.diff_traces("a.prlx", "b.prlx")).status
    'identical'
    """
    from ._compare import run

    again = {**(asked or diff.request), "explain": True}
    found = edited(diff)
    if found is not None:
        again["tested"] = tried_apart(*found)
    elif diff.status == "diverged":
        again["tested"] = Tried(0, (), "the recordings hold no statement that was changed").request()
    return run(again, progress=progress)


def edited(diff: Diff) -> tuple[Path, Path] | None:
    """The recordings whose texts are mixed; None where nothing was edited, or nothing differs."""
    document, (a, b) = diff.document, (Path(diff.request[side][0]) for side in "ab")
    if "kernel_results" in document:
        first = document["first"]
        if first is None:
            return None
        document = first["diff"]
        a, b = Path(document["a"]["path"]), Path(document["b"]["path"])
    edits = document.get("edits")
    return (a, b) if document["status"] == "diverged" and edits and edits["functions"] else None


def _given(recording: Path) -> Inputs:
    found = read(beside(recording))
    if found is None:
        raise NotTriedError("what the launches were given was not kept: record both with --inputs SIZE")
    if not found.head["kept"]:
        raise NotTriedError(f"the arrays have {found.head['bytes']} bytes, more than were to be kept: --inputs SIZE")
    if not (found.head["texts"] or {}).get("functions"):
        raise NotTriedError("the text of a kernel is not known")
    return found


def _search(bench: Bench, a: Mapping[str, Any], b: Mapping[str, Any]) -> Tried:
    pairs = _changed(a["functions"], b["functions"])
    if not pairs:
        raise NotTriedError("no function was edited")
    right = bench.run(a["functions"], a, {})
    wrong = bench.run(b["functions"], b, {})
    if isinstance(right, str) or isinstance(wrong, str):
        raise NotTriedError(right if isinstance(right, str) else str(wrong))
    apart = _distance(right, wrong)
    if apart.none:
        raise NotTriedError("on what A was given both texts write the same")
    pairs[0][1].noted = _noted(bench, a, b, *pairs[0])
    trials = [_Trial(bench, a, b, right, apart, *pair, change) for pair in pairs for change in pair[1].changes]
    _run([(one, mix) for one in trials for mix in one.versions.matched(one.change)], bench)
    if not any(one.is_exact for one in trials):
        _run([(one, mix) for one in trials for mix in one.versions.redefined(one.change)], bench)
    if not any(one.is_whole for one in trials):
        _search_by_text(bench, trials)
    for one in trials:
        one.confirm()
    return Tried(bench.runs, tuple(one.candidate() for one in trials))


def _search_by_text(bench: Bench, trials: list[_Trial]) -> None:
    """Statements as A has them, else small edits, where names that are followed do not lead to what is wrong."""
    _run([(one, mix) for one in trials for mix in one.versions.repairs(one.change)], bench)
    whole = [one for one in trials if one.is_whole]
    bypassed = {name for one in whole for name in one.versions.bypassed(one.change)}
    for names in (False, True):
        chosen = [one for one in trials if not whole or bypassed & one.versions.binds(one.change)]
        _run([(one, mix) for one in chosen for mix in one.versions.edits(one.change, names=names)], bench)


def _run(mixes: list[tuple[_Trial, Mix]], bench: Bench) -> None:
    """Run mixed texts, the smallest changes first: whoever undoes most undoes what is wrong among the rest."""
    for trial, mix in sorted(mixes, key=lambda pair: pair[1].order):
        if bench.runs >= MOST_RUNS:
            return
        trial.repair(mix)


class _Trial:
    """One changed statement that is undone."""

    def __init__(
        self, bench: Bench, a: Mapping[str, Any], b: Mapping[str, Any], right: list[Any], apart: _Apart,
        names: tuple[str, str], versions: Versions, files: tuple[str, str], change: Change,
    ) -> None:  # fmt: skip
        self._bench, self._a, self._b, self._right, self._apart = bench, a, b, right, apart
        self._names, self._files = names, files
        self.versions, self.change = versions, change
        self._best: Mix | None = None  # the best repair
        self._did = self._breaks = False

    @property
    def is_whole(self) -> bool:
        """Whether undoing it alone repairs B."""
        return self._best is not None and self._best.more == 0

    @property
    def is_exact(self) -> bool:
        """Whether undoing it alone repairs B, and what it uses is right: nothing before it is wrong."""
        return (
            self._best is not None
            and (self._best.rank, self._best.more) == (0, 0)
            and self.versions.is_fed(self.change, self._best.part)
        )

    def repair(self, mix: Mix) -> None:
        """Run a text of B with the statement undone, where that could be a smaller repair than is known."""
        if self._best is not None and mix.order >= self._best.order:
            return
        got = self._bench.run(self._b["functions"], self._b, {self._names[1]: mix.text})
        self._did = self._did or not isinstance(got, str)
        if not isinstance(got, str) and _like(got, self._right, self._apart):
            self._best = mix

    def confirm(self) -> None:
        """Run A with the statement as B has it, where B without it is repaired."""
        if self._best is None:
            return
        text = self._best.back or self.versions.a_with(self.change)
        got = self._bench.run(self._a["functions"], self._a, {self._names[0]: text})
        self._breaks = not isinstance(got, str) and not _like(got, self._right, self._apart)

    def candidate(self) -> Candidate:
        """What came of it."""
        side, statement = self.versions.shown(self.change)
        file = self._files[1 if side == "B" else 0]
        best = self._best
        row = Candidate(
            side, file, statement.line, statement.text, self._did, best is not None, self._breaks, 0, 0, 0, leans=False
        )
        if best is None:
            return row
        return replace(
            row, rank=best.rank, more=best.more, size=best.size,
            leans=best.leans or self.versions.is_guessed(self.change, best.part), late=best.late, is_plain=best.is_plain,
            is_seen=self.versions.is_seen_in_a(self.change), fed=self.versions.is_fed(self.change, best.part),
        )  # fmt: skip


def _noted(
    bench: Bench, a: Mapping[str, Any], b: Mapping[str, Any], names: tuple[str, str], versions: Versions, _: Any
) -> tuple[Noted, Noted]:
    """What the expressions of both versions of the kernel compute; nothing is known of what does not run."""
    if (names[0], names[1]) != (a["functions"][0]["function"], b["functions"][0]["function"]):
        return {}, {}
    noted: list[Noted] = []
    for of, head, body, name in (
        (a, versions.heads[0], versions.a, names[0]), (b, versions.heads[1], versions.b, names[1])
    ):  # fmt: skip
        unsafe = {one["function"] for one in of["functions"][1:] if does(one["text"])}
        text, slots = noting(head, body, unsafe)
        noted.append(bench.noted(of["functions"], of, {name: text}, slots))
    return noted[0], noted[1]


def _changed(
    a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]
) -> list[tuple[tuple[str, str], Versions, tuple[str, str]]]:
    """The functions that both versions have and that differ, the kernel first."""
    pairs = [(a[0], b[0])] + [
        (x, y) for x in a[1:] for y in b[1:] if x["function"] == y["function"]
    ]  # fmt: skip
    found = []
    for x, y in pairs:
        try:
            versions = Versions((x["text"], x["first_line"]), (y["text"], y["first_line"]))
        except (SyntaxError, StopIteration, ValueError):
            continue
        if versions.changes:
            found.append(((x["function"], y["function"]), versions, (x["file"], y["file"])))
    return found


@dataclass(frozen=True)
class _Apart:
    """How far two results are from each other."""

    by: float  # the largest distance of two numbers, infinite where one side has none
    scale: float  # of the numbers of A
    none: bool  # nothing differs


def _distance(right: Sequence[np.ndarray[Any, Any]], other: Sequence[np.ndarray[Any, Any]]) -> _Apart:
    import numpy as np

    by = scale = 0.0
    for x, y in zip(right, other, strict=True):
        p, q = x.astype(np.float64), y.astype(np.float64)
        finite = np.isfinite(p) & np.isfinite(q)
        odd = ~finite & ~((p == q) | (np.isnan(p) & np.isnan(q)))
        if odd.any():
            by = float("inf")
        if finite.any():
            by = max(by, float(np.abs(p[finite] - q[finite]).max()))
        scale = max(scale, float(np.abs(p[np.isfinite(p)]).max(initial=0.0)))
    return _Apart(by, scale, by == 0.0)


def _like(got: Sequence[np.ndarray[Any, Any]], right: Sequence[np.ndarray[Any, Any]], apart: _Apart) -> bool:
    """Whether a result is that of A, but for what other orders of the same operations make."""
    by = _distance(right, got).by
    return by <= (_NEAR * apart.by if apart.by < float("inf") else _CLOSE * apart.scale)


def main() -> None:
    """``python -m prlx._trial A B FILE BEGAN [RUN ...]``: what came of trying the changed statements, into a file."""
    a, b, said, began = (Path(word) for word in sys.argv[1:5])
    again = said.with_suffix(".new")
    again.write_text(json.dumps(tried(a, b, began, [int(word) for word in sys.argv[5:]]).request()))
    again.replace(said)


if __name__ == "__main__":
    main()
