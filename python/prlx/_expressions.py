"""The expressions of a kernel's text: what names in them stand for, what they are made of, and how they are put elsewhere."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Add, ast.Sub: ast.Add, ast.Mult: ast.Mult,
                                                       ast.BitAnd: ast.BitAnd, ast.BitOr: ast.BitOr}  # fmt: skip
BARE = "bare"
_MOST_NAMES = 60  # names and sums that are followed to where an address begins
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
                                                      ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}  # fmt: skip
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@dataclass(frozen=True)
class At:
    """An expression in a statement of a version."""

    k: int
    node: ast.expr
    made: bool = False  # of terms that stand apart in the text
    view: str = ""  # an index as "[:, None]" that is yet to be taken of it, or BARE: those in it are yet to be left out

    def part(self, node: ast.expr) -> At:
        """An expression within it, or which it stands for."""
        return replace(self, node=node, made=False)


Noted = Mapping[tuple[int, str], tuple[int, int]]
"""By statement and dump of an expression, hashes of what it was seen to hold: of its bits, and of its shape."""


@dataclass(frozen=True)
class Spot:
    """An expression of B in whose place A has another one."""

    b: At
    a: At
    late: bool = False  # another spot is as good, and more often meant


class Text:
    """A version of a function: its statements as trees, and what names stand for."""

    def __init__(self, texts: Sequence[str], noted: Noted | None = None) -> None:
        self._noted = noted or {}
        self.held = set(self._noted.values())
        self.trees = [_parsed(text) for text in texts]
        self._binds: list[dict[str, ast.expr | None]] = [_bound(tree) for tree in self.trees]
        self.loops = [k for k, tree in enumerate(self.trees) if isinstance(tree, ast.For)]

    def definition(self, name: str, k: int) -> int | None:
        """The statement above that assigns a name last, None where it is an argument or known from outside."""
        return next((i for i in range(k - 1, -1, -1) if name in self._binds[i]), None)

    def value(self, name: str, d: int) -> At | None:
        """What a statement assigns to a name, None where it has no expression: the variable of a loop, one of several."""
        node = self._binds[d][name]
        return None if node is None else At(d, node)

    def seen(self, at: At) -> tuple[int, int] | None:
        """What an expression was seen to hold, None where that is not known."""
        return self._noted.get((at.k, ast.dump(at.node))) if self._noted else None

    def does_nothing(self, k: int) -> bool:
        """Whether a statement was seen to assign what a variable that it uses holds already."""
        for name in self.assigned_by(k):
            value = self.value(name, k)
            seen = None if value is None else self.seen(value)
            if value is not None and seen is not None and not isinstance(value.node, ast.Name):
                used = [one for one in ast.walk(value.node) if isinstance(one, ast.Name)]
                return any(self.seen(At(k, one)) == seen for one in used)
        return False

    def follow(self, at: At) -> At | None:
        """What a name stands for, None where it is no name or that is not known."""
        if not isinstance(at.node, ast.Name):
            return None
        d = self.definition(at.node.id, at.k)
        value = None if d is None else self.value(at.node.id, d)
        return None if value is None else replace(value, view=at.view)

    def base(self, at: At) -> str:
        """The argument that an address begins with, "" where that is not known."""
        inner: At | None = at
        for _ in range(_MOST_NAMES):
            if inner is None or isinstance(inner.node, ast.Name):
                value = None if inner is None else self.follow(inner)
                if value is None:
                    break
                inner = value
            elif isinstance(inner.node, ast.BinOp):
                inner = inner.part(inner.node.left)
            elif isinstance(inner.node, ast.Subscript):
                inner = inner.part(inner.node.value)
            else:
                return ""
        if inner is None or not isinstance(inner.node, ast.Name):
            return ""
        name = inner.node.id
        return name if self.definition(name, inner.k) is None and name not in ("tl", "triton") else ""

    def stores_to(self, at: At) -> str:
        """The array that a call stores to, as its argument is called; "" where it stores to none."""
        return self.base(at.part(at.node.args[0])) if isinstance(at.node, ast.Call) and at.node.args else ""

    def names(self, k: int) -> list[str]:
        """The variables that are assigned above a statement, the nearest first."""
        return list(dict.fromkeys(name for i in range(k - 1, -1, -1) for name in self._binds[i]))

    def effects(self) -> list[At]:
        """What a version does: its calls beside assignments, what it returns, and what decides branches."""
        found: list[At] = []
        for k, tree in enumerate(self.trees):
            if isinstance(tree, (ast.Expr, ast.Return)) and tree.value is not None:
                found.append(At(k, tree.value))
            elif isinstance(tree, (ast.If, ast.While)):
                found.append(At(k, tree.test))
        return found

    def assigned(self, name: str) -> list[int]:
        return [k for k, names in enumerate(self._binds) if name in names]

    def variables(self) -> list[At]:
        """What is assigned to variables."""
        return [At(k, node) for k, names in enumerate(self._binds) for node in names.values() if node is not None]

    def assigned_by(self, k: int) -> list[str]:
        return [*self._binds[k]]


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new
        self.count = 0

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            self.count += 1
            return self._new
        return super().generic_visit(node)


def put_in(tree: ast.stmt | None, old: ast.expr, new: ast.expr) -> str:
    """A statement with another expression in the place of one, "" where it does not stand in it."""
    if tree is None:
        return ""
    if isinstance(tree, ast.AugAssign) and isinstance(old, ast.BinOp) and old.right is tree.value:
        return ast.unparse(ast.fix_missing_locations(ast.Assign([tree.target], new)))
    places = [*ast.walk(tree)]
    at = next((i for i, node in enumerate(places) if node is old), None)
    if at is None:
        return ""
    again = copy.deepcopy(tree)
    put = _Put([*ast.walk(again)][at], new)
    text = ast.unparse(ast.fix_missing_locations(put.visit(again)))
    return text.rsplit("\n", 1)[0] if isinstance(tree, (ast.For, ast.If, ast.While, ast.With)) else text


def _parsed(text: str) -> ast.stmt | None:
    try:
        return ast.parse(text + " pass" if text.endswith(":") else text).body[0]
    except (SyntaxError, IndexError):
        return None


def _bound(tree: ast.stmt | None) -> dict[str, ast.expr | None]:
    """The names that a statement assigns, each with its value where that is an expression of its own."""
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
        return {tree.target.id: ast.BinOp(ast.Name(tree.target.id, ast.Load()), tree.op, tree.value)}
    if isinstance(tree, ast.Assign) and len(tree.targets) == 1 and isinstance(tree.targets[0], ast.Name):
        return {tree.targets[0].id: tree.value}
    if isinstance(tree, ast.AnnAssign) and isinstance(tree.target, ast.Name) and tree.value is not None:
        return {tree.target.id: tree.value}
    if tree is None or not isinstance(tree, (ast.Assign, ast.For)):
        return {}
    targets: Sequence[ast.expr] = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
    return {node.id: None for one in targets for node in ast.walk(one) if isinstance(node, ast.Name)}


def range_of(tree: ast.stmt | None) -> list[ast.expr] | None:
    """From where, to where, and in which steps a loop runs, where that is a range."""
    if not isinstance(tree, ast.For) or not isinstance(tree.iter, ast.Call):
        return None
    call = tree.iter
    if not ast.unparse(call.func).endswith("range") or not call.args or len(call.args) > 3:
        return None
    return [ast.Constant(0), *call.args] if len(call.args) == 1 else list(call.args)


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def kind_of_sum(node: ast.expr) -> type[ast.operator] | None:
    return _SUMS.get(type(node.op)) if isinstance(node, ast.BinOp) else None


def mirrored(node: ast.expr) -> ast.expr:
    """A comparison by "less"."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _MIRRORED:
        return ast.Compare(node.comparators[0], [_MIRRORED[type(node.ops[0])]()], [node.left])
    return node


def commutes(node: ast.expr) -> bool:
    """Whether the last two parts of an expression can be exchanged."""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        return is_where(node) or (name in ("maximum", "minimum") and len(node.args) == 2 and not node.keywords)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)


def is_where(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("where")
        and len(node.args) == 3
        and not node.keywords
    )


def turned(b: At, a: At) -> tuple[At, At]:
    """Conditions of which one is to be the opposite of the other, as two that are to be the same."""
    if isinstance(b.node, ast.UnaryOp):
        return b.part(b.node.operand), a
    return b, a.part(_opposite(a.node))


def opposite(at: At) -> At:
    """The opposite of a condition."""
    return at.part(_opposite(at.node))


def _opposite(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
        return node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE:
        return ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)
    return ast.UnaryOp(ast.Invert(), node)


def seen_otherwise(b: At, a: At) -> tuple[At, At] | None:
    """Two expressions of which one is negated, or stretched to another shape as a whole, without that; else None."""
    if isinstance(b.node, ast.UnaryOp) != isinstance(a.node, ast.UnaryOp):
        inverted = [one.node for one in (b, a) if isinstance(one.node, ast.UnaryOp)]
        other = a.node if isinstance(b.node, ast.UnaryOp) else b.node
        if isinstance(inverted[0].op, (ast.Invert, ast.Not)) and isinstance(other, (ast.Compare, ast.Name)):
            return turned(b, a)
    ours, theirs = stretched(b.node), stretched(a.node)
    if ours is not None and theirs is None:
        return b.part(ours[0]), replace(a, view=BARE)
    if theirs is not None and ours is None:
        return b, replace(a.part(theirs[0]), view=a.view or theirs[1])
    return None


def stretched(node: ast.expr) -> tuple[ast.expr, str] | None:
    """What is indexed, and the index, where that only adds dimensions of length one."""
    if not isinstance(node, ast.Subscript):
        return None
    index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    plain = all(
        (isinstance(one, ast.Constant) and one.value is None)
        or (isinstance(one, ast.Slice) and one.lower is one.upper is one.step is None)
        for one in index
    )
    return (node.value, f"[{ast.unparse(node.slice).strip('()')}]") if plain else None


def operation(node: ast.expr) -> str:
    """What a node does with its parts."""
    inner = getattr(node, "op", None) or "".join(type(op).__name__ for op in getattr(node, "ops", []))
    return (
        f"{type(node).__name__} {inner if isinstance(inner, str) else type(inner).__name__} {getattr(node, 'attr', '')}"
    )


def alike(x: ast.expr, y: ast.expr) -> bool:
    """Whether two nodes of one kind are the same but for their parts."""
    if isinstance(x, ast.Constant) and isinstance(y, ast.Constant):
        return type(x.value) is type(y.value) and repr(x.value) == repr(y.value)
    if isinstance(x, ast.Attribute) and isinstance(y, ast.Attribute):
        return x.attr == y.attr
    if isinstance(x, (ast.BinOp, ast.UnaryOp, ast.BoolOp)) and isinstance(y, (ast.BinOp, ast.UnaryOp, ast.BoolOp)):
        return type(x.op) is type(y.op)
    if isinstance(x, ast.Compare) and isinstance(y, ast.Compare):
        return [type(op) for op in x.ops] == [type(op) for op in y.ops]
    return True


def children(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """The parts of an expression, keywords of a call by their names."""
    if isinstance(node, ast.Call):
        plain = [("", one) for one in [node.func, *node.args]]
        return plain + sorted(((one.arg or "", one.value) for one in node.keywords), key=lambda pair: pair[0])
    found: list[tuple[str, ast.expr]] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(("", child))
        elif isinstance(child, ast.Slice):
            found += [("", part) for part in (child.lower, child.upper, child.step) if part is not None]
    return found


def joined(terms: Sequence[tuple[bool, At]], whole: At) -> At | None:
    """Terms that are one expression again, in the statement of the first; None where none of them is added."""
    kind = kind_of_sum(whole.node)
    first = next((one for one in terms if one[0]), None)
    if first is None or kind is None:
        return None
    node = first[1].node
    for one in terms:
        if one is not first:
            node = ast.BinOp(node, kind() if one[0] else ast.Sub(), one[1].node)
    return At(first[1].k, node, made=len(terms) > 1)


def either(used: Spot, made: Sequence[Spot], *, made_first: bool) -> list[Spot]:
    """What was lost where a name is used, or where it is made."""
    return [replace(used, late=made_first), *(replace(one, late=one.late or not made_first) for one in made)]


def lifted(parts: Sequence[list[Spot]], b: At, a: At) -> list[Spot]:
    """What differs of the parts of an expression; where several do, the expression, too."""
    found = [spot for part in parts for spot in part]
    here = sum(any(spot.b.k == b.k for spot in part) for part in parts)
    return [*found, Spot(b, a)] if here > 1 else found


def within(at: At) -> list[At]:
    """The expressions within one that stands in the text."""
    return (
        []
        if at.made
        else [At(at.k, node) for node in ast.walk(at.node) if isinstance(node, ast.expr) and node is not at.node]
    )


def plain_copy(node: ast.expr) -> ast.expr:
    """An expression without where it stands."""
    return ast.parse(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))), mode="eval").body


def names_in(node: ast.expr) -> frozenset[str]:
    """The names that an expression uses."""
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def size_of(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))
