"""One text for both forms of a kernel: what a marked text says in its first and its second form, and which lines are true.

A kernel of this folder is written once. Marks at the ends of lines, and in comments, say how its two forms differ:

``code  # BUG``    only in the wrong form; this is the line that is wrong
``# FIX: code``    only in the right form; the line that stands in the place of what is wrong
``code  # WRONG``  in both forms; the statement that first computes a wrong value where no line of the wrong form is wrong
                   (a line is missing, or the caller is wrong), or where that statement is another one
``code  # WAS``    a refactored kernel: only in the form before
``# NOW: code``    a refactored kernel: only in the form after

Neither form holds a mark. This module needs no Triton.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = "import triton\nimport triton.language as tl\n\n\n"
FIRST, SECOND = "first", "second"  # right and wrong, before and after
_END = re.compile(r"\s+# (BUG|WRONG|WAS)$")
_OWN = re.compile(r"^(\s*)# (FIX|NOW):(?: (.*))?$")
_FORM = {"FIX": FIRST, "WAS": FIRST, "BUG": SECOND, "NOW": SECOND}


@dataclass(frozen=True)
class Form:
    """One form of a kernel: the text of a module of its own, and the lines of it that a report may name."""

    text: str
    true_lines: tuple[int, ...]


def form(marked: str, which: str) -> Form:
    """The first or the second form of a marked text."""
    kept: list[str] = []
    true: list[int] = []
    for line in marked.splitlines():
        own, end = _OWN.match(line), _END.search(line)
        mark = own.group(2) if own else end.group(1) if end else ""
        if mark in _FORM and _FORM[mark] != which:
            continue
        kept.append((own.group(1) + (own.group(3) or "")).rstrip() if own else line[: end.start()] if end else line)
        if mark in ("FIX", "BUG", "WRONG"):
            true.append(len(kept))
    return Form("\n".join(kept) + "\n", tuple(true))


def renamed(text: str) -> str:
    """A text in which every variable that a function assigns has another name: nothing else is done."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assigned = {
        name.id for f in functions for name in ast.walk(f) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }  # fmt: skip
    parameters = {argument.arg for f in functions for argument in f.args.args}
    lines, depth = text.splitlines(keepends=True), 0
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, after in reversed([*zip(tokens, [*tokens[1:], tokens[-1]], strict=True)]):
        depth += (
            {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(token.string, 0) if token.type == tokenize.OP else 0
        )
        if token.type != tokenize.NAME or token.string not in assigned - parameters:
            continue
        row, column = token.start[0] - 1, token.start[1]
        before = lines[row][:column]
        if before.endswith(".") or (depth > 0 and after.string == "="):
            continue  # an attribute, or the keyword of a call
        lines[row] = before + token.string + "_2" + lines[row][token.end[1] :]
    return "".join(lines)


def marked_text(module: Path, name: str) -> str:
    """The marked text of a kernel, with the helpers of its module that it names, as a module of its own."""
    source = module.read_text()
    lines = source.splitlines()
    spans = {
        node.name: (min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1, node.end_lineno or node.lineno)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    taken = [name]
    for known in taken:  # grows while it is read
        words = set(re.findall(r"\w+", "\n".join(lines[slice(*_to_end(lines, spans[known]))])))
        taken += [other for other in spans if other.startswith("_") and other in words and other not in taken]
    parts = ["\n".join(lines[slice(*_to_end(lines, spans[known]))]) for known in (*taken[1:], name)]
    return HEAD + "\n\n\n".join(parts) + "\n"


def _to_end(lines: list[str], span: tuple[int, int]) -> tuple[int, int]:
    """A function ends after the marks that stand behind its last statement."""
    first, last = span
    while last < len(lines) and _OWN.match(lines[last]):
        last += 1
    return first, last


@dataclass(frozen=True)
class Row:
    """A row of the list in README.md."""

    id: str
    source: str
    wrong: str
    kind: str  # a class of the table of classes
    by: str  # "control flow" or "data"
    state: str  # "differs", or why it does not


def table(title: str) -> list[list[str]]:
    """The rows of the table below a heading of README.md, without its head."""
    text = (HERE / "README.md").read_text()
    section = text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip().strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


def rows(title: str) -> list[Row]:
    """The bugs that a section of README.md lists."""
    return [Row(*row) for row in table(title)]


def causes() -> dict[str, set[str]]:
    """By class of bug, the causes which an explanation may name and be right."""
    return {kind: {kind, *accepted.replace("`", "").split(", ")} - {"none"} for kind, _, accepted in table("Classes")}
