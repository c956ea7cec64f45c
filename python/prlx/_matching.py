"""Where two versions of a function compute something else, once what one only names, splits or joins otherwise is followed.

Names stand for what was assigned to them last above, in the order of the text. That is no proof: it says what to try.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence, Set
from typing import Any

from ._expressions import (
    BARE,
    At,
    Spot,
    Text,
    alike,
    children,
    commutes,
    either,
    is_where,
    is_zero,
    joined,
    kind_of_sum,
    lifted,
    mirrored,
    operation,
    plain_copy,
    put_in,
    range_of,
    seen_otherwise,
    size_of,
    stretched,
    turned,
    within,
)

_MOST_DEEP = 60  # names and operations that are followed into each other
_MOST_STEPS = 30_000  # pairs of expressions that are looked at
_MOST_TERMS = 40  # of a sum that are followed
_MOST_WIDER = 8  # names in a sum that are followed into sums of their own
_NOTHING_IN_COMMON = 10_000  # nodes: more than two expressions have that are held against each other
_MOST_WRITTEN = 40  # names in whose place what they stand for is written


def spots(b: Text, a: Text) -> list[Spot]:
    """Where B computes something else than A, the smallest expressions of it."""
    return _Matching(b, a).run()


def with_a(b: Text, a: Text, spot: Spot) -> str:
    """The statement of B with what A has at a spot, in B's names."""
    return put_in(b.trees[spot.b.k], spot.b.node, _Matching(b, a).translated(spot.a, spot.b.k))


def defined_by_a(b: Text, a: Text, of: At, instead: At) -> str:
    """The statement of B that assigns ``of``, with an expression of A for it, in B's names."""
    return put_in(b.trees[of.k], of.node, _Matching(b, a).translated(instead, of.k))


def with_b(b: Text, a: Text, spot: Spot) -> str:
    """The statement of A with what B has at a spot, in A's names."""
    return put_in(a.trees[spot.a.k], spot.a.node, _Matching(a, b).translated(spot.b, spot.a.k))


def lost(b: Text, a: Text, of: At, among: Sequence[At], all_of_b: Sequence[At]) -> list[At]:
    """Of expressions of A those that B computes nowhere, those of the shape of ``of`` first.

    There are none where A computes ``of``, an expression of B, as well.
    """
    matching = _Matching(b, a)
    if any(matching.is_same(of, one) for one in among):
        return []
    parts = {id(node) for node in ast.walk(of.node)}  # B may do more with what it should hold
    held, shape = {matching.key(one) for one in all_of_b if id(one.node) not in parts}, b.seen(of)
    found = [one for one in among if matching.key_of_a(one) not in held]
    return sorted(
        found, key=lambda one: shape is not None and (seen := a.seen(one)) is not None and seen[1] != shape[1]
    )


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
        node = mirrored(at.node)
        if isinstance(node, ast.Name):
            return self._named(node, at)
        if isinstance(node, ast.Constant):
            return type(node.value).__name__, repr(node.value)
        if kind_of_sum(node) is not None:
            terms: list[tuple[bool, At]] = []
            self._terms(at, True, kind_of_sum(node), terms)
            return kind_of_sum(node), tuple(sorted((sign, self.of(one)) for sign, one in terms))
        parts = [(name, self.of(at.part(one))) for name, one in children(node)]
        if commutes(node) and not is_where(node):
            parts[-2:] = sorted(parts[-2:])
        return operation(node), tuple(parts)

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
            or kind_of_sum(inner.node) is not kind
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
        """Calls and branches, each held against that of A which is most like it; stores to one array come first."""
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
            base = self._b.stores_to(one)
            tried = [(base != self._a.stores_to(other), self._cost(one, other), i) for i, other in enumerate(left)]
            found += self._differ(one, left.pop(min(tried)[2]), 0)
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
        ours, theirs = range_of(self._b.trees[k]), range_of(self._a.trees[i])
        if ours is None or theirs is None:
            return []
        if len(ours) == 2 and len(theirs) == 3 and is_zero(ours[0]):
            length = theirs[1] if is_zero(theirs[0]) else ast.BinOp(theirs[1], ast.Sub(), theirs[0])
            count = ast.parse("tl.cdiv(x, y)", mode="eval").body
            assert isinstance(count, ast.Call)
            count.args = [length, theirs[2]]
            return self._differ(At(k, ours[1]), At(i, count), 0)
        if len(ours) != len(theirs):
            return []
        return [spot for x, y in zip(ours, theirs, strict=True) for spot in self._differ(At(k, x), At(i, y), 0)]

    def _cost(self, b: At, a: At) -> int:
        """How much of two expressions is not the same, each difference once; most where they have nothing in common."""
        key = _pair(b, a)
        if key not in self._costs:
            self._costs[key] = (0, b, a)
            done, self._done = self._done, set()
            found = [one for one in self._differ(b, a, 0) if not one.late]
            once = {(ast.dump(one.b.node), ast.dump(one.a.node)): one for one in found}.values()
            apart = any(self._is_apart(one, b, a) for one in found)
            cost = sum(size_of(one.b.node) + size_of(one.a.node) for one in once)
            self._costs[key] = (cost + _NOTHING_IN_COMMON * apart, b, a)
            self._done = done
        return self._costs[key][0]

    def _is_apart(self, spot: Spot, b: At, a: At) -> bool:
        """Whether what differs is all that two expressions are, and none has the other as a part."""
        ours, theirs = self._b.follow(b) or b, self._a.follow(a) or a
        whole = spot.b.node in (b.node, ours.node) and spot.a.node in (a.node, theirs.node)
        return whole and not any(self._equal(spot.b, part) for part in within(spot.a)) and not any(
            self._equal(part, spot.a) for part in within(spot.b)
        )  # fmt: skip

    def key(self, b: At) -> int:
        """The number of an expression of B."""
        return self._ours.of(b)

    def key_of_a(self, a: At) -> int:
        """The number of an expression of A, that of B's where both compute the same."""
        return self._theirs.of(a)

    def is_same(self, b: At, a: At) -> bool:
        """Whether an expression of B computes what one of A does."""
        return self._ours.of(b) == self._theirs.of(a)

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
        again = seen_otherwise(b, a)
        if again is not None:
            return either(Spot(b, a), self._differ(*again, deep + 1), made_first=True)
        x, y = mirrored(b.node), mirrored(a.node)
        if (
            isinstance(x, ast.BinOp)
            and isinstance(y, ast.BinOp)
            and kind_of_sum(x) is not None
            and kind_of_sum(x) is kind_of_sum(y)
        ):
            return self._sums(b, a, deep + 1)
        ours, theirs = children(x), children(y)
        if type(x) is not type(y) or not alike(x, y) or [name for name, _ in ours] != [name for name, _ in theirs]:
            return [Spot(b, a), *self._common(b, a, deep + 1)]
        left, right = [b.part(one) for _, one in ours], [a.part(one) for _, one in theirs]
        if commutes(x):
            right = [*right[:-2], *self._in_order(left[-2:], right[-2:])]
            if is_where(x) and right[-1].node is theirs[-2][1] and self._equal(left[1], right[1]):
                right[2:] = right[:1:-1]
            elif is_where(x) and right[-1].node is theirs[-2][1]:
                left[1], right[1] = turned(left[1], right[1])
        return lifted([self._differ(p, q, deep + 1) for p, q in zip(left, right, strict=True)], b, a)

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
                if not self._equal(ours, theirs) and self._is_another(b, a):
                    return either(Spot(b, a), self._differ(ours, theirs, deep), made_first=False)
                if any(self._equal(b, part) for part in within(theirs)):
                    if b.node.id == a.node.id and self._is_rebound(b.node.id):  # a link of A's chain has what was lost
                        return either(Spot(b, theirs), self._differ(ours, theirs, deep), made_first=True)
                    return self._lost(b, ours, theirs, deep)
                self._done.add((ours.k, theirs.k))
                return self._differ(ours, theirs, deep)
        if self._is_counted(b, a):
            return []
        if theirs is not None and not isinstance(b.node, ast.Name):
            inside = any(self._equal(part, a) for part in within(b))
            return [Spot(b, a)] if inside else self._differ(b, theirs, deep)
        if ours is not None and self._equal(ours, a):
            return []
        if ours is not None and self._is_another(b, a):
            return either(Spot(b, a), self._differ(ours, a, deep), made_first=False)
        if ours is not None and isinstance(ours.node, ast.Name):
            return [Spot(ours, a), *self._differ(ours, a, deep)]
        if ours is not None and any(self._equal(b, part) for part in within(a)):
            return self._lost(b, ours, a, deep)
        if ours is not None:
            return self._differ(ours, a, deep)
        return self._differ(b, theirs, deep) if theirs is not None else [Spot(b, a)]

    def _lost(self, b: At, ours: At, a: At, deep: int) -> list[Spot]:
        """What B lost around a name: that can have stood where the name is made, or where it is used.

        Of a variable that A has, too, it was lost where that is used. Of one that B alone has it is rather a term, factor or
        condition that was lost where it is made, and a call where it is used. So where a number would have another shape if it
        was made there, and where a number or an argument is added.
        """
        there = self._differ(ours, a, deep)
        is_term = isinstance(a.node, ast.BinOp) and not self._is_offset(a.node) and not self._is_shared(ours)
        if not isinstance(a.node, ast.BinOp) or not isinstance(a.node.op, (ast.BitAnd, ast.BitOr)):
            x, y = self._b.seen(b), self._a.seen(a)
            is_term &= x is None or y is None or x[1] == y[1]
        return either(Spot(b, a), there, made_first=is_term or not any(one.b.node is ours.node for one in there))

    def _is_rebound(self, name: str) -> bool:
        """Whether both versions assign a name more than once."""
        return min(len(self._a.assigned(name)), len(self._b.assigned(name))) > 1

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

    def _is_another(self, b: At, a: At) -> bool:
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
        return counted is not None and ast.dump(plain_copy(b.node)) == ast.dump(plain_copy(counted))

    def _counted(self, a: At) -> ast.expr | None:
        """What B would have for the variable of a loop of A that goes in steps, where B counts its passes."""
        if not isinstance(a.node, ast.Name):
            return None
        d = self._a.definition(a.node.id, a.k)
        if d is None or d not in self._a.loops or len(self._b.loops) <= self._a.loops.index(d):
            return None
        bounds, k = range_of(self._a.trees[d]), self._b.loops[self._a.loops.index(d)]
        head = self._b.trees[k]
        if bounds is None or len(bounds) != 3 or not isinstance(head, ast.For) or not isinstance(head.target, ast.Name):
            return None
        ours = range_of(head)
        if ours is None or len(ours) == 3:
            return None
        product = ast.BinOp(ast.Name(head.target.id, ast.Load()), ast.Mult(), bounds[2])
        return product if is_zero(bounds[0]) else ast.BinOp(bounds[0], ast.Add(), product)

    def _sums(self, b: At, a: At, deep: int) -> list[Spot]:
        """Sums, products and conditions: in any order, and of parts that a name can hold."""
        ours, theirs = self._terms(b), self._terms(a)
        whole, known = [*theirs], [*ours]
        parts = [(one[1], value) for one in ours if one[0] and (value := self._b.follow(one[1])) is not None]
        for _ in range(_MOST_WIDER):
            self._cancel(ours, theirs)
            if (
                not ours
                or not theirs
                or any(len(p) == 1 and isinstance(p[0][1].node, ast.Name) for p in (ours, theirs))
            ):
                break
            if not (self._widen(self._b, ours, b) or self._widen(self._a, theirs, a)):
                break
            known += ours
        if not ours and not theirs:
            return []
        if not ours and (lost := self._fewer(b, a, parts, whole, theirs, deep)):
            return lost
        if ours and self._is_negated(ours, theirs):
            return [Spot(b, a)]  # a part is added that is to be subtracted
        if not any(one[0] for one in [*ours, *theirs]):
            ours, theirs = ([(True, one[1]) for one in terms] for terms in (ours, theirs))
        x, y = joined(ours, b), joined(theirs, a)
        if len(ours) > 1 and sorted(one[0] for one in ours) == sorted(one[0] for one in theirs):
            signs = (True, False)
            left = [one[1] for sign in signs for one in ours if one[0] == sign]
            right = [q for sign in signs for q in self._in_order(
                [one[1] for one in ours if one[0] == sign], [one[1] for one in theirs if one[0] == sign])]  # fmt: skip
            return lifted([self._differ(p, q, deep + 1) for p, q in zip(left, right, strict=True)], b, a)
        if x is None or y is None or 1 not in (len(ours), len(theirs)):
            return [Spot(b, a)]
        if kind_of_sum(x.node) is kind_of_sum(b.node) and kind_of_sum(y.node) is kind_of_sum(
            a.node
        ):  # that would not end
            return [Spot(b, a)]
        found = [Spot(b, a) if one.b.node is x.node and x.made else one for one in self._differ(x, y, deep + 1)]
        twins = [
            Spot(term, spot.a, late=True)
            for spot in found
            for _, term in known
            if term.k != spot.b.k and self._is_one(term, spot.b)
        ]  # of two terms that are the same it may be either
        return [*found, *twins]

    def _is_one(self, x: At, y: At) -> bool:
        """Whether two expressions of B compute the same."""
        return self._ours.of(x) == self._ours.of(y)

    def _is_negated(self, ours: Sequence[tuple[bool, At]], theirs: Sequence[tuple[bool, At]]) -> bool:
        """Whether the terms of B, names followed, are those of A with the other sign."""
        spelled: list[tuple[bool, At]] = []
        for sign, one in ours:
            value = self._b.follow(one)
            spelled += [(sign == own, term) for own, term in ([(True, one)] if value is None else self._terms(value))]
        negated = [any(one[0] != t[0] and self._equal(one[1], t[1]) for t in theirs) for one in spelled]
        return len(spelled) == len(theirs) and all(negated)

    def _fewer(
        self, b: At, a: At, names: Sequence[tuple[At, At]], whole: Sequence[tuple[bool, At]],
        lost: Sequence[tuple[bool, At]], deep: int,
    ) -> list[Spot]:  # fmt: skip
        """Terms that B lost, where they can have stood in a part of the sum that B gives a name."""
        found = []
        for name, value in names:
            twin = next((one for one in whole if one[0] and one not in lost and self._equal(name, one[1])), None)
            more = None if twin is None else joined([one for one in whole if one is twin or one in lost], a)
            if more is not None:
                is_offset = len(names) == 1 and self._is_argument(b)
                made = is_offset and not self._is_shared(value)
                found += either(Spot(b, a), self._differ(value, more, deep), made_first=made)
        return found

    def _is_argument(self, at: At) -> bool:
        """Whether a sum of two begins with an argument, as what is loaded with an offset does."""
        left = at.node.left if isinstance(at.node, ast.BinOp) else at.node
        return isinstance(left, ast.Name) and self._b.definition(left.id, at.k) is None

    def _terms(self, at: At) -> list[tuple[bool, At]]:
        """The terms of a sum with their signs, and so the factors of a product."""
        kind, found = kind_of_sum(at.node), []
        waiting = [(True, at.node)]
        while waiting:
            positive, node = waiting.pop()
            if isinstance(node, ast.BinOp) and kind_of_sum(node) is kind:
                waiting.append((positive == (not isinstance(node.op, ast.Sub)), node.right))
                waiting.append((positive, node.left))
            else:
                found.append((positive, at.part(node)))
        return found

    def _cancel(self, ours: list[tuple[bool, At]], theirs: list[tuple[bool, At]]) -> None:
        for one in sorted(
            ours, key=lambda one: self._b.follow(one[1]) is not None
        ):  # a name that holds the same comes last
            twin = next((t for t in theirs if t[0] == one[0] and self._is_same_term(one[1], t[1])), None)
            if twin is not None:
                ours.remove(one)
                theirs.remove(twin)

    def _is_same_term(self, b: At, a: At) -> bool:
        return self._equal(b, a) or self._is_counted(b, a)

    def _widen(self, text: Text, terms: list[tuple[bool, At]], whole: At) -> bool:
        """Put in the place of a name the sum that it stands for."""
        for i, (positive, at) in enumerate(terms):
            value = text.follow(at)
            if (
                value is not None
                and isinstance(value.node, ast.BinOp)
                and kind_of_sum(value.node) is kind_of_sum(whole.node)
            ):
                more = [(positive == sign, term) for sign, term in self._terms(value)]
                terms[i : i + 1] = more
                return True
        return False

    def translated(self, a: At, k: int, deep: int = 0) -> ast.expr:
        """An expression of A in names that B has at a statement."""
        node = copy.deepcopy(a.node)
        if deep > _MOST_DEEP:
            return node
        made = _Renaming(self, a, k, deep).visit(node)
        assert isinstance(made, ast.expr)
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
            or (self._b.definition(name.id, k) is not None and not self._is_elsewhere(name, value, k))
            or name.id in {n.id for n in ast.walk(value.node) if isinstance(n, ast.Name)}
        ):
            return name
        self._written += 1
        return self.translated(value, k, deep + 1)

    def _is_elsewhere(self, name: ast.Name, value: At, k: int) -> bool:
        """Whether B computes what A's variable holds, and its own variable of that name holds something else."""
        own = self._b.follow(At(k, name))
        if own is None:
            return False
        x, y = self._b.seen(own), self._a.seen(value)
        return x is not None and y is not None and x != y and y in self._b.held


class _Renaming(ast.NodeTransformer):
    def __init__(self, matching: _Matching, a: At, k: int, deep: int) -> None:
        self._matching, self._a, self._k, self._deep = matching, a, k, deep

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Name, ast.Constant)):
            bare = stretched(node) if self._a.view == BARE else None
            if bare is not None:
                return self.visit(bare[0])
            held = self._matching.held(At(self._a.k, node), self._k)
            if held is not None:
                return held
        again: ast.AST = super().visit(node)
        return again

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._matching.named(node, self._a.k, self._k, self._deep)
