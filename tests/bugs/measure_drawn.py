"""Breaks the tidied kernels of commits_fresh, commits_third and commits_fourth by edits drawn at random: is the line found?

    PYTHONPATH=build/triton/3.9.0 python tests/bugs/measure_drawn.py SEED [EDITS [NUMBER,NUMBER]]

First run ``measure_commits.py equal``, whose recordings hold what the kernels were given. Of each kernel EDITS changed
statements are edited (default 3): an operand is dropped, an operation, comparison, name or number is another one, a call is
left out. An edit that does not compile or changes nothing is drawn again. Prints what was missed, and how many were right.
"""

from __future__ import annotations

import ast
import copy
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prlx import _mixing, _small_edits, _trial

FOLDER = Path(__file__).resolve().parents[2] / "build/bugs/equal"
STRICT = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
TURNED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr,
          ast.BitOr: ast.BitAnd}  # fmt: skip
WRAPS = ("maximum", "minimum", "exp", "log", "sqrt", "abs", "where")


def instead(node: ast.AST, names: list[str]) -> Iterator[tuple[str, ast.AST]]:
    """What an edit puts in the place of a part of a statement."""
    if isinstance(node, ast.BinOp):
        yield from (("dropped", node.left), ("dropped", node.right))
        if type(node.op) in TURNED:
            yield "operation", ast.BinOp(node.left, TURNED[type(node.op)](), node.right)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in STRICT:
        yield "comparison", ast.Compare(node.left, [STRICT[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in WRAPS:
            yield "call", node.args[node.func.attr == "where"]
        elif node.func.attr == "to":
            yield "call", node.func.value
        elif node.func.attr in ("load", "store") and len(node.keywords) == 2:
            yield "other", ast.Call(node.func, node.args, node.keywords[:1])
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from (("name", ast.Name(one, ast.Load())) for one in names if one != node.id)


def edits(text: str, names: list[str]) -> list[tuple[str, str]]:
    """A statement with one edit: of what kind, and the text."""
    source = text + " pass" if text.endswith(":") else text
    found = []
    for i, node in enumerate(ast.walk(ast.parse(source))):
        for kind, new in instead(node, names):
            tree = ast.parse(source)
            _small_edits._Put([*ast.walk(tree)][i], copy.deepcopy(new)).visit(tree)
            lines = ast.unparse(ast.fix_missing_locations(tree))
            found.append((kind, lines.rsplit("\n", 1)[0] if text.endswith(":") else lines))
    return found


def drawn(rng: random.Random, a: Any, b: Any) -> Iterator[tuple[_mixing.Statement, str, str, Any]]:
    """Edits of changed statements of B, at most two of a kind each: the statement, the kind, its text, and all texts of B."""
    function = b["functions"][0]
    texts = [(one["functions"][0]["text"], one["functions"][0]["first_line"]) for one in (a, b)]
    body, found = _mixing.statements(*texts[1]), []
    for change in _mixing.Versions(*texts).changes:
        if change.b is None or body[change.b].text.startswith("el"):
            continue
        one = body[change.b]
        names = sorted({name for other in body[: change.b] for name in other.binds} | one.uses - {"tl"})
        known = edits(one.text, names)
        for kind in sorted({kind for kind, _ in known}):
            some = sorted({text for other, text in known if other == kind} - {one.text})
            found += [(one, kind, text) for text in rng.sample(some, min(2, len(some)))]
    rng.shuffle(found)
    for one, kind, text in found:
        lines = function["text"].split("\n")
        at = one.line - function["first_line"]
        if one.text in lines[at]:
            indent = re.match(r"\s*", lines[at])
            lines[at] = (indent[0] if indent else "") + text
            again = copy.deepcopy(b)
            again["functions"][0]["text"] = "\n".join(lines)
            yield one, kind, text, again


def main() -> None:
    rng, count = random.Random(int(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    numbers = sys.argv[3].split(",") if len(sys.argv) > 3 else [str(i) for i in range(40, 110)]
    right = total = sure = wrong = 0
    for number in numbers:
        given = [_trial._given(FOLDER / number / f"{side}.prlx") for side in "ab"]
        a, b = (one.head["texts"] for one in given)
        done = 0
        for one, kind, text, texts in drawn(rng, a, b):
            if done == count:
                break
            bench = _trial.Bench(given[0])
            try:
                with bench.open():
                    found = _trial._search(bench, a, texts)
            except _trial.NotTriedError:  # it does not compile, or changes nothing
                continue
            best = found.best
            holds = best is not None and (best.side, best.line) == ("B", one.line)
            done, total, right = done + 1, total + 1, right + holds
            sure, wrong = sure + (holds and found.sure), wrong + (found.sure and not holds)
            if not holds:
                said = "nothing" if best is None else best.text
                print(f"{number} {kind}{', SURE' * found.sure}: {one.text}\n  is   {text}\n  said {said}", flush=True)
    print(f"line true: {right} of {total}, {sure} of them sure; wrong and sure: {wrong}")


if __name__ == "__main__":
    main()
