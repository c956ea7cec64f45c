"""Where two versions of a function compute something else, once what one only names, splits or joins otherwise is followed.

Names stand for what was assigned to them last above, in the order of the text. That is no proof: it says what to try.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

_MOST_DEEP = 60  # names and operations that are followed into each other
_MOST_STEPS = 30_000  # pairs of expressions that are looked at
_MOST_TERMS = 40  # of a sum that are followed
_MOST_WIDER = 8  # names in a sum that are followed into sums of their own
_MOST_WRITTEN = 40  # names in whose place what they stand for is written
_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Add, ast.Sub: ast.Add, ast.Mult: ast.Mult,
                                                       ast.BitAnd: ast.BitAnd, ast.BitOr: ast.BitOr}  # fmt: skip
BARE = "bare"
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

    def follow(self, at: At) -> At | None:
        """What a name stands for, None where it is no name or that is not known."""
        if not isinstance(at.node, ast.Name):
            return None
        d = self.definition(at.node.id, at.k)
        value = None if d is None else self.value(at.node.id, d)
        return None if value is None else replace(value, view=at.view)

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


def spots(b: Text, a: Text) -> list[Spot]:
    """Where B computes something else than A, the smallest expressions of it."""
    return _Matching(b, a).run()


def with_a(b: Text, a: Text, spot: Spot) -> str:
    """The statement of B with what A has at a spot, in B's names."""
    return _put(b.trees[spot.b.k], spot.b.node, _Matching(b, a).translated(spot.a, spot.b.k))


def with_b(b: Text, a: Text, spot: Spot) -> str:
    """The statement of A with what B has at a spot, in A's names."""
    return _put(a.trees[spot.a.k], spot.a.node, _Matching(a, b).translated(spot.b, spot.a.k))


class _Keys:
    """Numbers of expressions, the same for those that compute the same: as was seen, else as names and operations tell."""

    def __init__(self, text: Text, shared: Set[tuple[int, int]], known: dict[Any, int]) -> None:
        self._text, self._shared, self._known = text, shared, known
        self._found: dict[tuple[int, int], tuple[int, ast.expr]] = {}  # with whose number it is, which so stays

    def of(self, at: At) -> int:
        place = (id(at.node), at.k)
        if place not in self._found:
            self._found[place] = (0, at.node)
            value = self._text.follow(at)
            self._found[place] = (self._number(at) if value is None else self.of(value), at.node)
        return self._found[place][0]

    def _number(self, at: At) -> int:
        seen = self._text.seen(at)
        key = ("seen", seen) if seen in self._shared else self._made(at)
        return self._known.setdefault(key, len(self._known) + 1)

    def _made(self, at: At) -> Any:
        node = _mirrored(at.node)
        if isinstance(node, ast.Name):
            return self._named(node, at)
        if isinstance(node, ast.Constant):
            return type(node.value).__name__, repr(node.value)
        if _sum(node) is not None:
            terms: list[tuple[bool, At]] = []
            self._terms(at, True, _sum(node), terms)
            return _sum(node), tuple(sorted((sign, self.of(one)) for sign, one in terms))
        parts = [(name, self.of(at.part(one))) for name, one in _children(node)]
        if _commutes(node) and not _is_where(node):
            parts[-2:] = sorted(parts[-2:])
        return _operation(node), tuple(parts)

    def _named(self, node: ast.Name, at: At) -> Any:
        d = self._text.definition(node.id, at.k)
        if d is None:
            return "name", node.id
        tree = self._text.trees[d]
        if isinstance(tree, ast.Assign):
            return "of", self._text.assigned_by(d).index(node.id), self.of(At(d, tree.value))
        return "loop", self._text.loops.index(d)

    def _terms(self, at: At, positive: bool, kind: object, found: list[tuple[bool, At]]) -> None:
        """The terms of a sum, of those in it and of those that names in it stand for."""
        inner = at if not isinstance(at.node, ast.Name) else self._text.follow(at)
        if (
            inner is None
            or len(found) > _MOST_TERMS
            or not isinstance(inner.node, ast.BinOp)
            or _sum(inner.node) is not kind
        ):
            found.append((positive, at))
            return
        self._terms(inner.part(inner.node.left), positive, kind, found)
        self._terms(inner.part(inner.node.right), positive == (not isinstance(inner.node.op, ast.Sub)), kind, found)


_Pair = tuple[int, int, int, int, str]


def _pair(b: At, a: At) -> _Pair:
    return id(b.node), b.k, id(a.node), a.k, a.view


class _Matching:
    """Two versions that are held against each other."""

    def __init__(self, b: Text, a: Text) -> None:
        self._b, self._a = b, a
        known: dict[Any, int] = {}
        self._ours, self._theirs = (_Keys(one, b.held & a.held, known) for one in (b, a))
        self._steps = 0
        self._costs: dict[_Pair, tuple[int, At, At]] = {}
        self._written = 0
        self._done: set[tuple[int, int]] = set()  # pairs of definitions that are told apart already

    def run(self) -> list[Spot]:
        found: list[Spot] = []
        for k, i in zip(self._b.loops, self._a.loops, strict=False):
            found += self._loop(k, i)
        found += self._effects()
        found += self._carried()
        once: dict[tuple[int, str], Spot] = {}
        for one in found:
            once.setdefault((one.b.k, ast.dump(one.b.node) + ast.dump(one.a.node)), one)
        return list(once.values())

    def _effects(self) -> list[Spot]:
        """Calls and branches, each held against that of A which is most like it."""
        left, found = list(self._a.effects()), []
        waiting = []
        for one in self._b.effects():
            twin = next((other for other in left if self._equal(one, other)), None)
            if twin is None:
                waiting.append(one)
            else:
                left.remove(twin)
        if len(waiting) != len(left):
            return []  # one does what several did: any of them could be made to do it all
        for one in waiting:
            tried = [(self._cost(one, other), i) for i, other in enumerate(left)]
            found += self._differ(one, left.pop(min(tried)[1]), 0)
        return found

    def _carried(self) -> list[Spot]:
        """What is assigned last to a variable of the same name: loops carry it, and nothing below need use it."""
        found = []
        for name in dict.fromkeys(self._b.names(len(self._b.trees))):
            ours, theirs = self._b.assigned(name), self._a.assigned(name)
            if min(len(ours), len(theirs)) < 2:  # nothing that is made of what it was
                continue
            b, a = self._b.value(name, ours[-1]), self._a.value(name, theirs[-1])
            if b is not None and a is not None and (b.k, a.k) not in self._done:
                self._done.add((b.k, a.k))
                found += self._differ(b, a, 0)
        return found

    def _loop(self, k: int, i: int) -> list[Spot]:
        """The range of a loop; A can go in steps where B counts them."""
        ours, theirs = _range(self._b.trees[k]), _range(self._a.trees[i])
        if ours is None or theirs is None:
            return []
        if len(ours) == 2 and len(theirs) == 3 and _is_zero(ours[0]):
            length = theirs[1] if _is_zero(theirs[0]) else ast.BinOp(theirs[1], ast.Sub(), theirs[0])
            count = ast.parse("tl.cdiv(x, y)", mode="eval").body
            assert isinstance(count, ast.Call)
            count.args = [length, theirs[2]]
            return self._differ(At(k, ours[1]), At(i, count), 0)
        if len(ours) != len(theirs):
            return []
        return [spot for x, y in zip(ours, theirs, strict=True) for spot in self._differ(At(k, x), At(i, y), 0)]

    def _cost(self, b: At, a: At) -> int:
        """How much of two expressions is not the same."""
        key = _pair(b, a)
        if key not in self._costs:
            self._costs[key] = (0, b, a)
            done, self._done = self._done, set()
            found = [one for one in self._differ(b, a, 0) if not one.late]
            self._costs[key] = (sum(_size(one.b.node) + _size(one.a.node) for one in found), b, a)
            self._done = done
        return self._costs[key][0]

    def _equal(self, b: At, a: At) -> bool:
        """Whether both compute the same, as far as that was seen or names can be followed."""
        if self._ours.of(b) == self._theirs.of(a):
            return True
        x, y = self._b.seen(b), self._a.seen(a)
        return bool(a.view) and x is not None and y is not None and x[0] == y[0]

    def _differ(self, b: At, a: At, deep: int) -> list[Spot]:
        """Where an expression of B is not that of A."""
        if self._equal(b, a):
            return []
        self._steps += 1
        if deep > _MOST_DEEP or self._steps > _MOST_STEPS:
            return [Spot(b, a)]
        if isinstance(b.node, ast.Name) or isinstance(a.node, ast.Name):
            return self._names(b, a, deep + 1)
        again = _seen_otherwise(b, a)
        if again is not None:
            return _either(Spot(b, a), self._differ(*again, deep + 1), made_first=True)
        x, y = _mirrored(b.node), _mirrored(a.node)
        if isinstance(x, ast.BinOp) and isinstance(y, ast.BinOp) and _sum(x) is not None and _sum(x) is _sum(y):
            return self._sums(b, a, deep + 1)
        ours, theirs = _children(x), _children(y)
        if type(x) is not type(y) or not _alike(x, y) or [name for name, _ in ours] != [name for name, _ in theirs]:
            return [Spot(b, a), *self._common(b, a, deep + 1)]
        left, right = [b.part(one) for _, one in ours], [a.part(one) for _, one in theirs]
        if _commutes(x):
            right = [*right[:-2], *self._in_order(left[-2:], right[-2:])]
            if _is_where(x) and right[-1].node is theirs[-2][1] and self._equal(left[0], right[0]):
                right[1:] = right[:0:-1]
            elif _is_where(x) and right[-1].node is theirs[-2][1]:
                left[1], right[1] = _turned(left[1], right[1])
        return _lifted([self._differ(p, q, deep + 1) for p, q in zip(left, right, strict=True)], b, a)

    def _common(self, b: At, a: At, deep: int) -> list[Spot]:
        """Where variables differ that two expressions both use: then these need not."""
        theirs = {node.id: node for node in ast.walk(a.node) if isinstance(node, ast.Name)}
        both = {node.id: node for node in ast.walk(b.node) if isinstance(node, ast.Name) and node.id in theirs}
        pairs = [(b.part(node), a.part(theirs[name])) for name, node in both.items()]
        return [one for x, y in pairs if self._b.follow(x) is not None for one in self._differ(x, y, deep)]

    def _in_order(self, ours: Sequence[At], theirs: Sequence[At]) -> list[At]:
        """Expressions of A in the order of those of B which they are most like."""
        if len(ours) < 2:
            return list(theirs)
        costs = sorted((self._cost(b, a), i, j) for i, b in enumerate(ours) for j, a in enumerate(theirs))
        places: dict[int, int] = {}
        for _, i, j in costs:
            if i not in places and j not in places.values():
                places[i] = j
        return [theirs[places[i]] for i in range(len(ours))]

    def _names(self, b: At, a: At, deep: int) -> list[Spot]:
        """A name on either side, and what it stands for."""
        ours, theirs = self._b.follow(b), self._a.follow(a)
        if isinstance(b.node, ast.Name) and isinstance(a.node, ast.Name):
            dx, dy = self._b.definition(b.node.id, b.k), self._a.definition(a.node.id, a.k)
            if dx is None and dy is None:
                return [] if b.node.id == a.node.id else [Spot(b, a)]
            if dx is not None and dy is not None and ours is None and theirs is None:
                return [] if self._paired(dx, dy) else self._several(b, a, dx, dy, deep)
            if ours is not None and theirs is not None:
                if (ours.k, theirs.k) in self._done:
                    return []
                if not self._equal(ours, theirs) and self._is_another(b, a, deep):
                    return _either(Spot(b, a), self._differ(ours, theirs, deep), made_first=False)
                if any(self._equal(b, part) for part in _within(theirs)):
                    return self._lost(b, ours, theirs, deep)
                self._done.add((ours.k, theirs.k))
                return self._differ(ours, theirs, deep)
        if self._is_counted(b, a):
            return []
        if theirs is not None and not isinstance(b.node, ast.Name):
            inside = any(self._equal(part, a) for part in _within(b))
            return [Spot(b, a)] if inside else self._differ(b, theirs, deep)
        if ours is not None and self._equal(ours, a):
            return []
        if ours is not None and self._is_another(b, a, deep):
            return _either(Spot(b, a), self._differ(ours, a, deep), made_first=False)
        if ours is not None and isinstance(ours.node, ast.Name):
            return [Spot(ours, a), *self._differ(ours, a, deep)]
        if ours is not None and any(self._equal(b, part) for part in _within(a)):
            return self._lost(b, ours, a, deep)
        if ours is not None:
            return self._differ(ours, a, deep)
        return self._differ(b, theirs, deep) if theirs is not None else [Spot(b, a)]

    def _lost(self, b: At, ours: At, a: At, deep: int) -> list[Spot]:
        """What B lost around a name: that can have stood where the name is made, or where it is used.

        Of a variable that A has, too, it was lost where that is used. Of one that B alone has it is rather a term or factor that
        was lost where it is made, and a call or a condition where it is used.
        So where its shape would be another if it was made there, and where a number or an argument is added.
        """
        there = self._differ(ours, a, deep)
        is_term = isinstance(a.node, ast.BinOp) and not isinstance(a.node.op, (ast.BitAnd, ast.BitOr))
        ours_seen, theirs_seen = self._b.seen(b), self._a.seen(a)
        is_term &= ours_seen is None or theirs_seen is None or ours_seen[1] == theirs_seen[1]
        is_term &= not (isinstance(a.node, ast.BinOp) and self._is_offset(a.node)) and not self._is_shared(ours)
        return _either(Spot(b, a), there, made_first=is_term or not any(one.b.node is ours.node for one in there))

    def _is_offset(self, node: ast.BinOp) -> bool:
        """Whether a number or an argument is added, as one that keeps a root from zero."""
        last = node.right
        known = isinstance(last, ast.Constant) or (isinstance(last, ast.Name) and not self._a.assigned(last.id))
        return isinstance(node.op, (ast.Add, ast.Sub)) and known

    def _is_shared(self, value: At) -> bool:
        """Whether A has a variable of that value as well; another name of B for one is none."""
        if isinstance(value.node, ast.Name):
            return False
        return any(self._equal(value, one) for one in self._a.variables())

    def _paired(self, k: int, i: int) -> bool:
        """Whether two statements that assign no expression stand for each other: loops in their order, else equal texts."""
        if k in self._b.loops and i in self._a.loops:
            return self._b.loops.index(k) == self._a.loops.index(i)
        x, y = self._b.trees[k], self._a.trees[i]
        return isinstance(x, ast.Assign) and isinstance(y, ast.Assign) and self._equal(At(k, x.value), At(i, y.value))

    def _several(self, b: At, a: At, k: int, i: int, deep: int) -> list[Spot]:
        """Where statements that assign several names differ."""
        x, y = self._b.trees[k], self._a.trees[i]
        if not isinstance(x, ast.Assign) or not isinstance(y, ast.Assign):
            return [Spot(b, a)]
        if (k, i) in self._done:
            return []
        self._done.add((k, i))
        return self._differ(At(k, x.value), At(i, y.value), deep)

    def _is_another(self, b: At, a: At, deep: int) -> bool:
        """Whether B does not only name what A has there: A has that variable, too, for something else, or B has what A uses."""
        assert isinstance(b.node, ast.Name)
        if isinstance(a.node, ast.Name) and a.node.id == b.node.id:
            return False
        ours = self._b.follow(b)
        theirs = [self._a.value(b.node.id, k) for k in self._a.assigned(b.node.id)]
        if ours is not None and any(one is not None and self._equal(ours, one) for one in theirs):
            return True
        names = [ast.Name(name, ast.Load()) for name in self._b.names(b.k) if name != b.node.id]
        return any(value is not None and self._equal(value, a) for value in (self._b.follow(At(b.k, n)) for n in names))

    def _is_counted(self, b: At, a: At) -> bool:
        """Whether B has the number of a pass times the step where A's loop itself goes in steps."""
        counted = self._counted(a)
        return counted is not None and ast.dump(_plain(b.node)) == ast.dump(_plain(counted))

    def _counted(self, a: At) -> ast.expr | None:
        """What B would have for the variable of a loop of A that goes in steps, where B counts its passes."""
        if not isinstance(a.node, ast.Name):
            return None
        d = self._a.definition(a.node.id, a.k)
        if d is None or d not in self._a.loops or len(self._b.loops) <= self._a.loops.index(d):
            return None
        bounds, k = _range(self._a.trees[d]), self._b.loops[self._a.loops.index(d)]
        head = self._b.trees[k]
        if bounds is None or len(bounds) != 3 or not isinstance(head, ast.For) or not isinstance(head.target, ast.Name):
            return None
        ours = _range(head)
        if ours is None or len(ours) == 3:
            return None
        product = ast.BinOp(ast.Name(head.target.id, ast.Load()), ast.Mult(), bounds[2])
        return product if _is_zero(bounds[0]) else ast.BinOp(bounds[0], ast.Add(), product)

    def _sums(self, b: At, a: At, deep: int) -> list[Spot]:
        """Sums, products and conditions: in any order, and of parts that a name can hold."""
        ours, theirs = self._terms(b), self._terms(a)
        whole = [*theirs]
        parts = [(one[1], value) for one in ours if one[0] and (value := self._b.follow(one[1])) is not None]
        for _ in range(_MOST_WIDER):
            self._cancel(ours, theirs, deep)
            if (
                not ours
                or not theirs
                or any(len(p) == 1 and isinstance(p[0][1].node, ast.Name) for p in (ours, theirs))
            ):
                break
            if not (self._widen(self._b, ours, b) or self._widen(self._a, theirs, a)):
                break
        if not ours and not theirs:
            return []
        if not ours and (lost := self._fewer(b, a, parts, whole, theirs, deep)):
            return lost
        if not any(one[0] for one in [*ours, *theirs]):
            ours, theirs = ([(True, one[1]) for one in terms] for terms in (ours, theirs))
        x, y = _joined(ours, b), _joined(theirs, a)
        if len(ours) > 1 and sorted(one[0] for one in ours) == sorted(one[0] for one in theirs):
            signs = (True, False)
            left = [one[1] for sign in signs for one in ours if one[0] == sign]
            right = [q for sign in signs for q in self._in_order(
                [one[1] for one in ours if one[0] == sign], [one[1] for one in theirs if one[0] == sign])]  # fmt: skip
            return _lifted([self._differ(p, q, deep + 1) for p, q in zip(left, right, strict=True)], b, a)
        if x is None or y is None or 1 not in (len(ours), len(theirs)):
            return [Spot(b, a)]
        if _sum(x.node) is _sum(b.node) and _sum(y.node) is _sum(a.node):  # that would not end
            return [Spot(b, a)]
        return [Spot(b, a) if one.b.node is x.node and x.made else one for one in self._differ(x, y, deep + 1)]

    def _fewer(
        self, b: At, a: At, names: Sequence[tuple[At, At]], whole: Sequence[tuple[bool, At]],
        lost: Sequence[tuple[bool, At]], deep: int,
    ) -> list[Spot]:  # fmt: skip
        """Terms that B lost, where they can have stood in a part of the sum that B gives a name."""
        found = []
        for name, value in names:
            twin = next((one for one in whole if one[0] and one not in lost and self._equal(name, one[1])), None)
            more = None if twin is None else _joined([one for one in whole if one is twin or one in lost], a)
            if more is not None:
                is_offset = len(names) == 1 and self._is_argument(b)
                made = is_offset and not self._is_shared(value)
                found += _either(Spot(b, a), self._differ(value, more, deep), made_first=made)
        return found

    def _is_argument(self, at: At) -> bool:
        """Whether a sum of two begins with an argument, as what is loaded with an offset does."""
        left = at.node.left if isinstance(at.node, ast.BinOp) else at.node
        return isinstance(left, ast.Name) and self._b.definition(left.id, at.k) is None

    def _terms(self, at: At) -> list[tuple[bool, At]]:
        """The terms of a sum with their signs, and so the factors of a product."""
        kind, found = _sum(at.node), []
        waiting = [(True, at.node)]
        while waiting:
            positive, node = waiting.pop()
            if isinstance(node, ast.BinOp) and _sum(node) is kind:
                waiting.append((positive == (not isinstance(node.op, ast.Sub)), node.right))
                waiting.append((positive, node.left))
            else:
                found.append((positive, at.part(node)))
        return found

    def _cancel(self, ours: list[tuple[bool, At]], theirs: list[tuple[bool, At]], deep: int) -> None:
        for one in [*ours]:
            twin = next((t for t in theirs if t[0] == one[0] and self._is_same_term(one[1], t[1], deep)), None)
            if twin is not None:
                ours.remove(one)
                theirs.remove(twin)

    def _is_same_term(self, b: At, a: At, deep: int) -> bool:
        return self._equal(b, a) or self._is_counted(b, a)

    def _widen(self, text: Text, terms: list[tuple[bool, At]], whole: At) -> bool:
        """Put in the place of a name the sum that it stands for."""
        for i, (positive, at) in enumerate(terms):
            value = text.follow(at)
            if value is not None and isinstance(value.node, ast.BinOp) and _sum(value.node) is _sum(whole.node):
                more = [(positive == sign, term) for sign, term in self._terms(value)]
                terms[i : i + 1] = more
                return True
        return False

    def translated(self, a: At, k: int, deep: int = 0) -> ast.expr:
        """An expression of A in names that B has at a statement."""
        node = copy.deepcopy(a.node)
        if deep > _MOST_DEEP:
            return node
        made: ast.expr = _Renaming(self, a, k, deep).visit(node)
        if a.view and a.view != BARE:
            made = ast.parse(f"({ast.unparse(ast.fix_missing_locations(made))}){a.view}", mode="eval").body
        return made

    def held(self, a: At, k: int) -> ast.expr | None:
        """The variable of B that holds an expression of A at a statement."""
        for own in self._b.names(k):
            at = At(k, ast.Name(own, ast.Load()))
            if self._equal(at, a):
                return at.node
        return None

    def named(self, name: ast.Name, i: int, k: int, deep: int) -> ast.expr:
        """A name of A, as B has it at a statement: B's name for that, or its variable of that name, else what it stands for."""
        if self._a.definition(name.id, i) is None or self._written > _MOST_WRITTEN:
            return name
        for own in sorted(self._b.names(k), key=lambda one: one != name.id):
            if self._equal(At(k, ast.Name(own, ast.Load())), At(i, name)):
                return ast.Name(own, ast.Load())
        counted = self._counted(At(i, name))
        if counted is not None:
            return self.translated(At(i, counted), k, deep + 1)
        value = self._a.follow(At(i, name))
        if (
            value is None
            or self._b.definition(name.id, k) is not None
            or name.id in {n.id for n in ast.walk(value.node) if isinstance(n, ast.Name)}
        ):
            return name
        self._written += 1
        return self.translated(value, k, deep + 1)


class _Renaming(ast.NodeTransformer):
    def __init__(self, matching: _Matching, a: At, k: int, deep: int) -> None:
        self._matching, self._a, self._k, self._deep = matching, a, k, deep

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Name, ast.Constant)):
            bare = _stretched(node) if self._a.view == BARE else None
            if bare is not None:
                return self.visit(bare[0])
            held = self._matching.held(At(self._a.k, node), self._k)
            if held is not None:
                return held
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._matching.named(node, self._a.k, self._k, self._deep)


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new
        self.count = 0

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            self.count += 1
            return self._new
        return super().generic_visit(node)


def _put(tree: ast.stmt | None, old: ast.expr, new: ast.expr) -> str:
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


def _range(tree: ast.stmt | None) -> list[ast.expr] | None:
    """From where, to where, and in which steps a loop runs, where that is a range."""
    if not isinstance(tree, ast.For) or not isinstance(tree.iter, ast.Call):
        return None
    call = tree.iter
    if not ast.unparse(call.func).endswith("range") or not call.args or len(call.args) > 3:
        return None
    return [ast.Constant(0), *call.args] if len(call.args) == 1 else list(call.args)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _sum(node: ast.expr) -> type[ast.operator] | None:
    return _SUMS.get(type(node.op)) if isinstance(node, ast.BinOp) else None


def _mirrored(node: ast.expr) -> ast.expr:
    """A comparison by "less"."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _MIRRORED:
        return ast.Compare(node.comparators[0], [_MIRRORED[type(node.ops[0])]()], [node.left])
    return node


def _commutes(node: ast.expr) -> bool:
    """Whether the last two parts of an expression can be exchanged."""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        return _is_where(node) or (name in ("maximum", "minimum") and len(node.args) == 2 and not node.keywords)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)


def _is_where(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("where")
        and len(node.args) == 3
        and not node.keywords
    )


def _turned(b: At, a: At) -> tuple[At, At]:
    """Conditions of which one is to be the opposite of the other, as two that are to be the same."""
    if isinstance(b.node, ast.UnaryOp):
        return b.part(b.node.operand), a
    return b, a.part(_opposite(a.node))


def _opposite(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
        return node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE:
        return ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)
    return ast.UnaryOp(ast.Invert(), node)


def _seen_otherwise(b: At, a: At) -> tuple[At, At] | None:
    """Two expressions of which one is negated, or stretched to another shape as a whole, without that; else None."""
    if isinstance(b.node, ast.UnaryOp) != isinstance(a.node, ast.UnaryOp):
        inverted = [one.node for one in (b, a) if isinstance(one.node, ast.UnaryOp)]
        other = a.node if isinstance(b.node, ast.UnaryOp) else b.node
        if isinstance(inverted[0].op, (ast.Invert, ast.Not)) and isinstance(other, (ast.Compare, ast.Name)):
            return _turned(b, a)
    ours, theirs = _stretched(b.node), _stretched(a.node)
    if ours is not None and theirs is None:
        return b.part(ours[0]), replace(a, view=BARE)
    if theirs is not None and ours is None:
        return b, replace(a.part(theirs[0]), view=a.view or theirs[1])
    return None


def _stretched(node: ast.expr) -> tuple[ast.expr, str] | None:
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


def _operation(node: ast.expr) -> str:
    """What a node does with its parts."""
    inner = getattr(node, "op", None) or "".join(type(op).__name__ for op in getattr(node, "ops", []))
    return (
        f"{type(node).__name__} {inner if isinstance(inner, str) else type(inner).__name__} {getattr(node, 'attr', '')}"
    )


def _alike(x: ast.expr, y: ast.expr) -> bool:
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


def _children(node: ast.expr) -> list[tuple[str, ast.expr]]:
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


def _joined(terms: Sequence[tuple[bool, At]], whole: At) -> At | None:
    """Terms that are one expression again, in the statement of the first; None where none of them is added."""
    kind = _sum(whole.node)
    first = next((one for one in terms if one[0]), None)
    if first is None or kind is None:
        return None
    node = first[1].node
    for one in terms:
        if one is not first:
            node = ast.BinOp(node, kind() if one[0] else ast.Sub(), one[1].node)
    return At(first[1].k, node, made=len(terms) > 1)


def _either(used: Spot, made: Sequence[Spot], *, made_first: bool) -> list[Spot]:
    """What was lost where a name is used, or where it is made."""
    return [replace(used, late=made_first), *(replace(one, late=one.late or not made_first) for one in made)]


def _lifted(parts: Sequence[list[Spot]], b: At, a: At) -> list[Spot]:
    """What differs of the parts of an expression; where several do, the expression, too."""
    found = [spot for part in parts for spot in part]
    here = sum(any(spot.b.k == b.k for spot in part) for part in parts)
    return [*found, Spot(b, a)] if here > 1 else found


def _within(at: At) -> list[At]:
    """The expressions within one that stands in the text."""
    return (
        []
        if at.made
        else [At(at.k, node) for node in ast.walk(at.node) if isinstance(node, ast.expr) and node is not at.node]
    )


def _plain(node: ast.expr) -> ast.expr:
    """An expression without where it stands."""
    return ast.parse(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))), mode="eval").body


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))
