"""What the expressions of two versions of a kernel compute, each run once on what the launch was given.

A copy of the kernel notes before each statement what the expressions in it are: a hash of their bits over all programs and
passes. What stays the same from pass to pass counts once, so that it may stand before the loop. So it is known which
expressions hold the same, whatever they are called and however they are made.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ._expressions import At, Text

if TYPE_CHECKING:
    from ._mixing import Statement

SUMS = "prlx_sums"  # the argument that holds what is noted
_MOST = 600  # expressions that are noted
_EFFECTS = ("store", "atomic", "print", "assert", "barrier", "asm")  # of names that must not be called twice


def noting(head: str, body: Sequence[Statement], unsafe: set[str]) -> tuple[str, list[tuple[int, str]]]:
    """A text of a kernel that notes, and what stands in each slot; ``unsafe`` are functions that do more than compute."""
    lines = [head.replace("(", f"({SUMS}, ", 1)]
    slots: list[tuple[int, str]] = []
    text = Text([one.text for one in body])
    for k, one in enumerate(body):
        indent = "    " * max(one.indent, 1)
        for node in expressions(text, k):
            key = (k, ast.dump(node))
            if key in slots or len(slots) >= _MOST or _does(node, unsafe):
                continue
            value = ast.unparse(node)
            lines.append(f"{indent}if prlx_is_number({value}):")
            lines.append(f"{indent}    prlx_note({SUMS}, {len(slots)}, prlx_bits({value}))")
            base = text.base(At(k, node))
            if base:
                place = f"{value}, {base}, {zlib.crc32(base.encode()) >> 4}"
                lines.append(f"{indent}if prlx_is_pointer({value}):")
                lines.append(f"{indent}    prlx_note({SUMS}, {len(slots)}, prlx_distance({place}))")
            slots.append(key)
        lines.append(indent + one.text)
    return "\n".join(lines) + "\n", slots


def expressions(text: Text, k: int) -> Iterator[ast.expr]:
    """What is computed in a statement, the head of a loop at its beginning alone."""
    tree = text.trees[k]
    if tree is None or isinstance(tree, ast.While):
        return
    roots: list[ast.AST] = [tree]
    if isinstance(tree, ast.For):
        roots = [tree.iter]
    elif isinstance(tree, ast.If):
        roots = [tree.test]
    elif isinstance(tree, ast.AugAssign):
        roots = [value.node for name in text.assigned_by(k) if (value := text.value(name, k)) is not None]
    for root in roots:
        skipped = {id(node.func) for node in ast.walk(root) if isinstance(node, ast.Call)}
        for node in ast.walk(root):
            if not isinstance(node, ast.expr) or isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.Slice)):
                continue
            if id(node) not in skipped and not isinstance(getattr(node, "ctx", None), ast.Store):
                yield node


def _does(node: ast.expr, unsafe: set[str]) -> bool:
    """Whether an expression does more than compute, or is no value: an attribute of a module."""
    if isinstance(node, ast.Attribute):
        return True
    calls = [ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)]
    return any(word in call.rpartition(".")[2] for call in calls for word in _EFFECTS) or bool(unsafe & set(calls)) or (
        isinstance(node, ast.Call) and calls[0].endswith("range")
    )  # fmt: skip


def does(text: str) -> bool:
    """Whether a function may do more than compute."""
    return any(word in text for word in _EFFECTS)
