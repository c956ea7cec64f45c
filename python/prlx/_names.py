"""What the source calls a value that lanes hold: the argument's name, or what the line assigns whose outcome the value is.

The core says of each register at which lines nothing takes it any more; what stands at these lines in Python is read as syntax.
A name is given only where a line assigns one variable and nothing else: better none than a wrong one.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

_MOST_LINES = 50_000  # of a file that is read for names
# Of C: one assignment to a variable, or its declaration.
_ASSIGNS = re.compile(r"\s*(?:[A-Za-z_][\w:<>]*[\s*&]+){0,4}([A-Za-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_LOADS = (
    "load",
    "atomic_add",
    "atomic_cas",
    "atomic_xchg",
    "atomic_max",
    "atomic_min",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
)

_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)

_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
# Of integers: the instructions that an operation becomes. A compiler moves steps of an expression out of loops and into
# addresses, so that a step can be all that is left of a line.
_SUM = ("add", "sub", "or", "xor", "mad", "neg")
_BECOMES: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: _SUM,
    ast.Sub: _SUM,
    ast.Mult: ("mul", "shl", "mad", "neg"),
    ast.LShift: ("shl", "shf", "bfi"),
    ast.RShift: ("shr", "shf", "bfe"),
    ast.BitAnd: ("and", "bfe", "lop3", "setp", "selp"),
    ast.BitOr: ("or", "bfi", "lop3", "setp", "selp", "prmt"),
    ast.BitXor: ("xor", "lop3", "setp", "not"),
}


class Assigned(NamedTuple):
    """What a line assigns."""

    variable: str = ""
    loads: bool = False  # it calls a load or an atomic
    lays_out: bool = False  # by tl.arange, and does nothing else
    asks: bool = False  # something that is true or not
    becomes: tuple[str, ...] = ()  # what makes the value of an integer; empty: anything


_NONE = Assigned()


def with_names(stops: Iterable[Mapping[str, Any]], texts: Callable[[], Mapping[str, Any]] | None) -> None:
    """Note in the values of stops what the source calls them."""
    source = None
    for stop in stops:
        for value in stop["values"]:
            source = source or Source(None if texts is None else texts())
            value["variable"] = name(value, source)


def name(value: Mapping[str, Any], source: Source) -> str:
    """What the source calls a value; empty where it has no name, or where its instructions make two variables of it."""
    if value["origin"] == "argument":
        return str(value["name"])
    found = {_first(frames, source, value) for frames in value["results"] or ()}
    return found.pop() if len(found) == 1 else ""


def _first(frames: Iterable[Mapping[str, Any]], source: Source, value: Mapping[str, Any]) -> str:
    for frame in frames:
        found = source.assigned(frame["file"], frame["line"])
        if found.variable:
            address = found.loads and value["origin"] not in ("load", "atomic")
            step = frame["steps"] and not found.lays_out
            guard = value["type"] == "pred" and not found.asks  # of code that a compiler put there
            whole = not found.becomes or value["type"][0] not in "subp" or frame["op"] in (*found.becomes, "mov")
            return found.variable if whole and not (address or step or guard) else ""
    return ""


class Source:
    """The text of lines, and what they assign: as they were compiled where that is known, else as the files have them.

    Parameters
    ----------
    texts
        The functions of a kernel; None where they are not known.
    """

    def __init__(self, texts: Mapping[str, Any] | None) -> None:
        self._functions = [] if texts is None else texts["functions"]
        self._tables: dict[str, dict[int, Assigned]] = {}

    def assigned(self, file: str, line: int) -> Assigned:
        """The variable that a line assigns, where it assigns one and nothing else stands on it."""
        for same in (_same_path, _same_name):  # a compiler may keep where it stood once
            for one in self._functions:
                lines = one["text"].splitlines()
                if same(one["file"], file) and 0 <= line - one["first_line"] < len(lines):
                    if not _is_python(one["file"]):
                        return _of_c(lines[line - one["first_line"]])
                    return self._table(f"{one['file']}:{one['first_line']}", lines, one["first_line"]).get(line, _NONE)
        if not _is_python(file):
            return _of_c(linecache.getline(file, line))
        return self._table(file, linecache.getlines(file), 1).get(line, _NONE)

    def _table(self, key: str, lines: list[str], first: int) -> dict[int, Assigned]:
        if key not in self._tables:
            import textwrap  # its patterns take milliseconds, and many runs name no kernel

            text = textwrap.dedent("\n".join(line.rstrip("\n") for line in lines[:_MOST_LINES]))
            self._tables[key] = {first - 1 + at: found for at, found in _assignments(text)}
        return self._tables[key]


def _same_path(a: str, b: str) -> bool:
    return a == b


def _same_name(a: str, b: str) -> bool:
    return Path(a).name == Path(b).name


def _is_python(file: str) -> bool:
    return Path(file).suffix not in (".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".hip")


def _of_c(line: str) -> Assigned:
    found = _ASSIGNS.match(line)
    if found is None or line.count(";") > 1 or len(re.findall(r"(?<![=!<>])=(?!=)", line)) > 1:
        return _NONE
    return Assigned(found[1], asks=True)


def _assignments(text: str) -> Iterator[tuple[int, Assigned]]:
    """The lines of a text at which one variable gets a value, from 1: where the expression of the value begins."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    here: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            for line in _lines_of(node):
                here.setdefault(line, []).append(node)
    for line, statements in here.items():
        if len(statements) == 1 and (found := _variable(statements[0], line)) is not None:
            yield line, found


def _lines_of(statement: ast.stmt) -> range:
    """The lines of a statement, of one with a body those of its head."""
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if body and isinstance(body[0], ast.stmt):
        last = max(body[0].lineno - 1, statement.lineno)
    return range(statement.lineno, last + 1)


def _variable(statement: ast.stmt, line: int) -> Assigned | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, begins = statement.targets[0], statement.value.lineno
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target, begins = statement.target, statement.value.lineno
    elif isinstance(statement, ast.AugAssign):
        target, begins = statement.target, statement.lineno
    else:
        return None
    inside = list(ast.walk(statement))
    if not isinstance(target, ast.Name) or begins != line or any(isinstance(one, ast.NamedExpr) for one in inside):
        return None
    value = statement.value
    operator = statement if isinstance(statement, ast.AugAssign) else value
    becomes = _BECOMES.get(type(operator.op), ()) if isinstance(operator, (ast.AugAssign, ast.BinOp)) else ()
    return Assigned(
        target.id,
        loads=any(_called(one) in _LOADS for one in inside),
        lays_out=operator is value and _called(value) == "arange",
        asks=_asks(operator),
        becomes=becomes,
    )


def _asks(node: ast.AST | None) -> bool:
    """Whether an expression can be of truth values."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return isinstance(node.op, _BITS)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.Invert, ast.Not))
    return isinstance(node, (ast.Compare, ast.BoolOp))


def _called(node: ast.AST | None) -> str:
    """The name of the function that a call calls, without the module's; empty where nothing is called."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
