"""Small edits of a statement's text: a term less, another comparison or operation, two arguments exchanged, another name."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence

_MOST_EDITS = 40  # small ones of a statement that are tried

_STRICT = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_TURNED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def small_edits(text: str, theirs: Sequence[str]) -> list[str]:
    """A statement with one small edit: a term less, another comparison or operation, two arguments exchanged, another name.

    Names, numbers and attributes are those of the statements ``theirs``.
    """
    tree = _parsed(text)
    if tree is None:
        return []
    others = [node for one in theirs if (other := _parsed(one)) is not None for node in ast.walk(other)]
    names = sorted({node.id for node in others if isinstance(node, ast.Name)})
    attributes = sorted({node.attr for node in others if isinstance(node, ast.Attribute)})
    numbers = sorted({repr(node.value) for node in others if isinstance(node, ast.Constant) and _is_number(node.value)})
    found: list[str] = []
    for place, node in enumerate(ast.walk(tree)):
        for new in _instead_of(node, names, attributes, numbers):
            copy = _parsed(text)
            assert copy is not None
            old = list(ast.walk(copy))[place]
            _Put(old, new).visit(copy)
            found.append(_unparsed(ast.fix_missing_locations(copy), text))
    return found[:_MOST_EDITS]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _instead_of(
    node: ast.AST, names: Sequence[str], attributes: Sequence[str], numbers: Sequence[str]
) -> Iterator[ast.AST]:
    """What could stand in the place of a part of a statement."""
    if isinstance(node, ast.BinOp):
        yield node.left
        if isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)):
            yield node.right
        turned = _TURNED.get(type(node.op))
        if turned is not None:
            yield ast.BinOp(node.left, turned(), node.right)
        if isinstance(node.op, (ast.Sub, ast.Div)):
            yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _STRICT:
        yield ast.Compare(node.left, [_STRICT[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.Call) and len(node.args) == 3:
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from (ast.Name(name, ast.Load()) for name in names if name != node.id and name not in ("tl", "triton"))
    elif isinstance(node, ast.Constant) and _is_number(node.value):
        yield from (ast.parse(one, mode="eval").body for one in numbers if one != repr(node.value))
    elif isinstance(node, ast.Attribute):
        yield from (ast.Attribute(node.value, one, node.ctx) for one in attributes if one != node.attr)


class _Put(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)


def _parsed(text: str) -> ast.Module | None:
    source = text + " pass" if text.endswith(":") else text
    with contextlib.suppress(SyntaxError):
        return ast.parse(source)
    return None


def _unparsed(tree: ast.Module, text: str) -> str:
    lines = ast.unparse(tree)
    return lines.rsplit("\n", 1)[0] if text.endswith(":") else lines
