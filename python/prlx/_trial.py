"""Which of several changed statements makes two versions of a kernel differ: each is undone alone, run again on what was given.

The texts are those that recordings hold. Running them is running code out of a file: nobody does that who has not asked for it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import linecache
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import PrlxError
from ._expressions import Noted
from ._inputs import Inputs, beside, read
from ._mixing import Change, Mix, Versions, head_of, statements, written
from ._values import SUMS, does, noting

if TYPE_CHECKING:
    import numpy as np

    from ._diff import Diff
    from ._progress import Progress

MOST_RUNS = 160  # of mixed texts
_NEAR = 0.01  # how far a result may be from another, as a part of how far both versions are apart, and be like it
_CLOSE = 1e-3  # the same of its own size, where one version has no number at all
_MOST_INSTRUCTIONS = 10**8  # of warps, that a mixed text may take
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
_NUMPY = {"fp64": "f8", "fp32": "f4", "fp16": "f2", "i64": "i8", "u64": "u8", "i32": "i4", "u32": "u4", "i16": "i2",
          "u16": "u2", "i8": "i1", "u8": "u1", "i1": "?", "u1": "?"}  # fmt: skip
_NAMED = {"bf16": ("bfloat16", 2), "fp8e5": ("float8_e5m2", 1), "fp8e4nv": ("float8_e4m3fn", 1)}


class _NotTriedError(Exception):
    """Why mixed texts cannot be run; its words go into the document."""


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
    leans: bool  # that repair leaves out what other changed statements compute for this one
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


def tried(a: Path, b: Path) -> Tried:
    """Undo each changed statement of B alone, on what A was given; both are recordings with their inputs beside them."""
    try:
        given = [_given(path) for path in (a, b)]
        bench = _Bench(given[0])
        with bench.open():
            return _search(bench, given[0].head["texts"], given[1].head["texts"])
    except _NotTriedError as reason:
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
        again["tested"] = tried(*found).request()
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
        raise _NotTriedError("what the launches were given was not kept: record both with --inputs SIZE")
    if not found.head["kept"]:
        raise _NotTriedError(f"the arrays have {found.head['bytes']} bytes, more than were to be kept: --inputs SIZE")
    if not (found.head["texts"] or {}).get("functions"):
        raise _NotTriedError("the text of a kernel is not known")
    return found


def _search(bench: _Bench, a: Mapping[str, Any], b: Mapping[str, Any]) -> Tried:
    pairs = _changed(a["functions"], b["functions"])
    if not pairs:
        raise _NotTriedError("no function was edited")
    right = bench.run(a["functions"], a, {})
    wrong = bench.run(b["functions"], b, {})
    if isinstance(right, str) or isinstance(wrong, str):
        raise _NotTriedError(right if isinstance(right, str) else str(wrong))
    apart = _distance(right, wrong)
    if apart.none:
        raise _NotTriedError("on what A was given both texts write the same")
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


def _search_by_text(bench: _Bench, trials: list[_Trial]) -> None:
    """Statements as A has them, else small edits, where names that are followed do not lead to what is wrong."""
    _run([(one, mix) for one in trials for mix in one.versions.repairs(one.change)], bench)
    whole = [one for one in trials if one.is_whole]
    bypassed = {name for one in whole for name in one.versions.bypassed(one.change)}
    for names in (False, True):
        chosen = [one for one in trials if not whole or bypassed & one.versions.binds(one.change)]
        _run([(one, mix) for one in chosen for mix in one.versions.edits(one.change, names=names)], bench)


def _run(mixes: list[tuple[_Trial, Mix]], bench: _Bench) -> None:
    """Run mixed texts, the smallest changes first: whoever undoes most undoes what is wrong among the rest."""
    for trial, mix in sorted(mixes, key=lambda pair: pair[1].order):
        if bench.runs >= MOST_RUNS:
            return
        trial.repair(mix)


class _Trial:
    """One changed statement that is undone."""

    def __init__(
        self, bench: _Bench, a: Mapping[str, Any], b: Mapping[str, Any], right: list[Any], apart: _Apart,
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
            row, rank=best.rank, more=best.more, size=best.size, leans=best.leans, late=best.late, is_plain=best.is_plain,
            is_seen=self.versions.is_seen_in_a(self.change), fed=self.versions.is_fed(self.change, best.part),
        )  # fmt: skip


def _noted(
    bench: _Bench, a: Mapping[str, Any], b: Mapping[str, Any], names: tuple[str, str], versions: Versions, _: Any
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


class _Bench:
    """Runs texts of a kernel on what a launch was given."""

    def __init__(self, inputs: Inputs) -> None:
        head = inputs.head
        odd = [row["name"] for row in head["params"] if "." in row["name"] or _kind(row["type"]) is None]
        if odd:
            raise _NotTriedError(f"{odd[0]} is an argument that cannot be made again")
        self._inputs = inputs
        self._folder = Path()
        self._number = 0
        self.runs = 0

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Enable the simulator for a block, quietly."""
        from ._record import quiet

        try:
            importlib.import_module("triton")
        except ImportError:
            raise _NotTriedError("Triton is not installed here") from None
        with tempfile.TemporaryDirectory(prefix="prlx-trial-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._folder = Path(folder)
            with quiet({"max_instructions": _MOST_INSTRUCTIONS, "workers": 1}), _silent():
                yield

    def run(
        self, functions: Sequence[Mapping[str, Any]], of: Mapping[str, Any], changed: Mapping[str, str],
        sums: np.ndarray[Any, Any] | None = None,
    ) -> list[np.ndarray[Any, Any]] | str:  # fmt: skip
        """What the arrays hold after a launch of a text, by argument; else why it cannot run."""
        self.runs += 1
        try:
            kernel = self._kernel(functions, changed)
            arrays, arguments = self._arguments(kernel, of["constants"], {} if sums is None else {SUMS: sums})
            options = {row["name"]: _literal(row["value"]) for row in of["constants"] if row["name"] in _OPTIONS}
            kept = {name: options[name] for name in ("num_warps", "num_stages") if name in options}
            grid = self._inputs.head["grid"]
            kernel[(grid[0] // max(self._inputs.head["cluster"], 1), grid[1], grid[2])](**arguments, **kept)
        except _NotTriedError as error:
            return str(error)
        except (PrlxError, Exception) as error:  # whatever a mixed text makes a compiler say
            return f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
        return arrays

    def noted(
        self, functions: Sequence[Mapping[str, Any]], of: Mapping[str, Any], changed: Mapping[str, str],
        slots: Sequence[tuple[int, str]],
    ) -> Noted:  # fmt: skip
        """What a text notes of its expressions."""
        import numpy as np

        sums = np.zeros(3 * len(slots), np.int64)  # two that are kept, and what the last pass made
        said = self.run(functions, of, changed, sums)
        if isinstance(said, str):
            return {}
        pairs = ((key, (int(x), int(y))) for key, (x, y, _) in zip(slots, sums.reshape(-1, 3), strict=True))
        return {key: pair for key, pair in pairs if pair != (0, 0)}  # the others are no numbers, or did not run

    def _kernel(self, functions: Sequence[Mapping[str, Any]], changed: Mapping[str, str]) -> Any:
        """The kernel of a text, with the functions that it calls."""
        triton = importlib.import_module("triton")
        names = _surroundings(functions)
        noting = importlib.import_module("prlx._noting")
        names |= {
            f"prlx_{name}": getattr(noting, name) for name in ("note", "bits", "distance", "is_number", "is_pointer")
        }
        made = None
        for one in reversed(functions):  # what is called before who calls it
            text = changed.get(one["function"]) or written(
                head_of(one["text"]), statements(one["text"], one["first_line"])
            )
            self._number += 1
            file = self._folder / f"mixed_{self._number}.py"
            file.write_text(text)
            linecache.checkcache(str(file))
            exec(compile(text, str(file), "exec"), names)  # what the caller asked for
            made = names[one["function"]] = triton.jit(names[one["function"]])
        return made

    def _arguments(
        self, kernel: Any, constants: Sequence[Mapping[str, Any]], more: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arrays, and all arguments by name."""
        import numpy as np

        memory = []
        for one, given in zip(self._inputs.head["pieces"], self._inputs.pieces, strict=True):
            room = np.zeros(len(given) + 32, np.uint8)
            begin = (int(one.get("odd", 0)) - room.ctypes.data) % 16
            piece = room[begin : begin + len(given)]
            piece[:] = np.frombuffer(given, np.uint8)
            memory.append(piece)
        known = {row["name"]: _literal(row["value"]) for row in constants if row["name"] in kernel.arg_names}
        known |= more
        arrays = []
        for row in self._inputs.head["params"]:
            if row["name"] not in kernel.arg_names:
                raise _NotTriedError(f"the other version has no argument {row['name']}")
            if not row["type"].startswith("*"):
                known.setdefault(row["name"], row["value"])
                continue
            if row["piece"] < 0:
                raise _NotTriedError(f"{row['name']} is an address of memory that is not known")
            value, seen = _array(row["type"][1:], memory[row["piece"]], row["offset"])
            known[row["name"]] = value
            arrays.append(seen)
        lacking = [name for name in kernel.arg_names if name not in known]
        if lacking:
            raise _NotTriedError(f"it is not known what {lacking[0]} was given")
        return arrays, known


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Nothing on the terminal: MLIR writes there what is wrong with a text, and kernels print."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)
        os.close(nowhere)


def _kind(ty: str) -> str | None:
    """The type of an argument, where it can be made again."""
    inner = ty.removeprefix("*")
    return inner if inner in _NUMPY or inner in _NAMED else None


class _Array:
    """An array of numbers that NumPy has no type for, as kernels take it."""

    def __init__(self, memory: np.ndarray[Any, Any], name: str, size: int) -> None:
        self._memory = memory
        self.dtype = name
        self.shape = (memory.size // size,)
        self.nbytes = memory.nbytes

    def data_ptr(self) -> int:
        return int(self._memory.ctypes.data)


def _array(kind: str, memory: Any, offset: int) -> tuple[Any, Any]:
    """An argument, and its numbers as they are compared: from the element that it points to up to the end of its memory."""
    import numpy as np

    if kind in _NUMPY:
        dtype = np.dtype(_NUMPY[kind])
        view = memory[offset : offset + (memory.size - offset) // dtype.itemsize * dtype.itemsize].view(dtype)
        return view, view
    name, size = _NAMED[kind]
    part = memory[offset : offset + (memory.size - offset) // size * size]
    if kind == "bf16":
        return _Array(part, name, size), _Wide(part)
    return _Array(part, name, size), part


class _Wide:
    """The numbers of bf16, when they are looked at."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def astype(self, dtype: Any) -> Any:
        import numpy as np

        return (self._memory.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(dtype)


def _literal(text: str) -> Any:
    """The value of a constant that is spelled in a recording."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        tl = importlib.import_module("triton.language")
        known = {str(one): one for one in vars(tl).values() if isinstance(one, tl.dtype)}
        if text in known:
            return known[text]
        if text in ("inf", "-inf", "nan"):
            return float(text)
        raise _NotTriedError(f"the constant {text!r} cannot be made again") from None


def _surroundings(functions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The names that kernels find around them: Triton's, and of their files the imports and constants that they use."""
    triton, tl = importlib.import_module("triton"), importlib.import_module("triton.language")
    names: dict[str, Any] = {"triton": triton, "tl": tl, "__name__": "mixed"}
    wanted = {word for one in functions for word in _words(one["text"])}
    for file in dict.fromkeys(str(one["file"]) for one in functions):
        try:
            tree = ast.parse(Path(file).read_text())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in tree.body:
            if not _is_constant(node) or not wanted & _bound(node):
                continue
            with contextlib.suppress(Exception):  # what cannot be had here is missed when it is used
                exec(compile(ast.Module([node], []), file, "exec"), names)
    return names


def _words(text: str) -> set[str]:
    return {
        node.id
        for node in ast.walk(ast.parse(written(head_of(text), statements(text, 1))))
        if isinstance(node, ast.Name)
    }


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement of a module only names things: an import, or a constant."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if not isinstance(node, ast.Assign):
        return False
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("constexpr") and len(value.args) == 1:
        value = value.args[0]
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(one.asname or one.name).split(".")[0] for one in node.names}
    assert isinstance(node, ast.Assign)
    return {one.id for one in node.targets if isinstance(one, ast.Name)}
