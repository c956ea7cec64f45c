"""Texts between two versions of a kernel: what was changed by statement, and either version with one change of the other."""

from __future__ import annotations

import ast
import difflib
import io
import keyword
import re
import textwrap
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ._expressions import At, Noted, Text, names_in, opposite
from ._matching import defined_by_a, lost, spots, with_a, with_b
from ._small_edits import small_edits
from ._values import expressions

_MOST_LINES = 2000
_MOST_OTHERS = 3  # statements of A that are tried in the place of one of B, besides the one that it was
_MOST_OTHER_VALUES = 8  # expressions of A that are tried as what a statement of B assigns
_MOST_LIKE = 2  # statements of A whose names are tried in one of B
_MOST_PARTS = 6  # of a statement that are tried alone
_SAME_NAME = 0.75  # of the letters of two names, from which on one is probably the other
_ALIKE = 0.5  # of the words of two statements, from which on one is the other, edited


@dataclass(frozen=True)
class Statement:
    """A logical line of a function: a simple statement, or the head of a compound one."""

    line: int  # of the file
    indent: int
    text: str  # without comments, in one line

    @property
    def words(self) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", self.text)

    @property
    def binds(self) -> set[str]:
        """The variables that it assigns."""
        return {node.id for node in _names(self.text) if isinstance(node.ctx, ast.Store)}

    @property
    def uses(self) -> set[str]:
        return {node.id for node in _names(self.text) if isinstance(node.ctx, ast.Load)} | (
            self.binds if re.search(r"[-+*/%&|^@<>]=", self.text) and "==" not in self.text else set()
        )

    @property
    def is_plain(self) -> bool:
        """Whether it only computes: an assignment without an effect on memory."""
        return bool(re.match(r"[\w, ]+=[^=]", self.text)) and not re.search(r"\b(store|atomic_\w+)\(", self.text)

    @property
    def is_head(self) -> bool:
        return self.text.endswith(":")


def _names(text: str) -> Iterator[ast.Name]:
    source = text + " pass" if text.endswith(":") else text
    source = f"if 1: pass\n{source}" if re.match(r"(else|elif)\b", source) else source
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return iter(())
    return (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def statements(text: str, first_line: int) -> list[Statement]:
    """The statements of a function's body, and the heads in it; the lines of its own head and decorators are left out."""
    found: list[Statement] = []
    body = textwrap.dedent(text)
    tokens: list[tokenize.TokenInfo] = []
    indent = start = 0
    for token in tokenize.generate_tokens(io.StringIO(body).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        if token.type == tokenize.INDENT:
            indent += 1
        elif token.type == tokenize.DEDENT:
            indent -= 1
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if tokens:
                found.append(Statement(first_line + start - 1, indent, _joined(tokens)))
            tokens = []
        else:
            start = start if tokens else token.start[0]
            tokens.append(token)
    heads = [i for i, one in enumerate(found) if re.match(r"(async )?def ", one.text)]
    kept = found[heads[0] + 1 :] if heads else []
    return [one for one in kept if not re.fullmatch(r"""[rR]?(["']).*\1""", one.text, re.S)][:_MOST_LINES]


def _joined(tokens: Sequence[tokenize.TokenInfo]) -> str:
    """Tokens in one line, with the room between them as it was, but for ends of lines."""
    text, row, column = "", tokens[0].start[0], tokens[0].start[1]
    for token in tokens:
        gap = (
            token.start[1] - column
            if token.start[0] == row
            else int(text[-1:] not in "([{" and token.string not in ")]}")
        )
        text += " " * max(gap, 0) + token.string
        row, column = token.end
    return text


def head_of(text: str) -> str:
    """A function's own head, without decorators."""
    body = textwrap.dedent(text)
    node = next(one for one in ast.parse(body).body if isinstance(one, ast.FunctionDef))
    return f"def {node.name}({ast.unparse(node.args)}):"


def written(head: str, body: Sequence[Statement]) -> str:
    """A function of a head and statements."""
    lines = [head, *("    " * max(one.indent, 1) + one.text for one in body)]
    return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"]) + "\n"


def _with(head: str, body: Sequence[Statement], k: int, text: str) -> str:
    """A function with another text of one statement."""
    return written(head, [Statement(s.line, s.indent, text) if i == k else s for i, s in enumerate(body)])


@dataclass(frozen=True)
class Change:
    """One statement that a version has otherwise, has alone, or lacks: places in both, None where a side has none."""

    a: int | None
    b: int | None


@dataclass(frozen=True)
class Mix:
    """A text of one version with one change undone."""

    change: Change
    text: str
    more: int  # statements besides that it took from the other version
    size: int  # words of the statement that it changes
    rank: int = (
        1  # 0: as A has it, once names are followed; 1: by A's text or a small edit; 2: by another statement of A
    )
    back: str = ""  # for rank 0, the text of A with what B has there
    late: bool = False  # another one of that rank is more often meant
    leans: bool = False  # it leaves out what other changed statements compute
    part: frozenset[str] | None = None  # the names in what it undoes, where that is a part of the statement
    is_plain: bool = (
        False  # B's statement only gives a name or a number to a variable, or what another holds: something was lost
    )

    @property
    def order(self) -> tuple[int, bool, bool, int, int]:
        """The least comes first."""
        return self.rank, not self.is_plain, self.late, self.more, self.size


class Versions:
    """Two versions of a function, the second with the names of the first where it only renames."""

    def __init__(self, a: tuple[str, int], b: tuple[str, int]) -> None:
        self.heads = (head_of(a[0]), head_of(b[0]))
        self.a, self.b = statements(*a), statements(*b)
        self._shown = self.b
        names = _renames(self.a, self.b)
        self.b = [Statement(one.line, one.indent, _renamed(one.text, names)) for one in self.b]
        self.changes = _changes(self.a, self.b)
        self._matched: dict[int, list[Mix]] | None = None
        self.noted: tuple[Noted, Noted] = ({}, {})  # what expressions of A and B were seen to hold

    def matched(self, change: Change) -> list[Mix]:
        """Texts of B in which one expression of a statement is what A has in its place, whatever both call it."""
        if self._matched is None:
            self._matched = self._match()
        return [] if change.b is None else self._matched.get(change.b, [])

    def _match(self) -> dict[int, list[Mix]]:
        b, a = self._texts()
        of = {change.b: change for change in self.changes if change.b is not None}
        found: dict[int, list[Mix]] = {}
        for spot in spots(b, a):
            k, i = spot.b.k, spot.a.k
            text, back = with_a(b, a, spot), with_b(b, a, spot)
            if k not in of or not text or text == self.b[k].text:
                continue
            mix = replace(self._instead(of[k], text), part=names_in(spot.b.node))
            reverse = _with(self.heads[0], self.a, i, back) if back else ""
            is_plain = bool(re.fullmatch(r"\w+ = [-\w.]+", self.b[k].text)) or b.does_nothing(k)
            found.setdefault(k, []).append(replace(mix, rank=0, back=reverse, late=spot.late, is_plain=is_plain))
        return found

    def redefined(self, change: Change) -> list[Mix]:
        """Texts of B in which a variable that holds what A never computes is an expression of A that B never computes."""
        if change.b is None or not self.is_fed(change, loops=True):
            return []
        b, a = self._texts()
        names = b.assigned_by(change.b)
        of = b.value(names[0], change.b) if len(names) == 1 else None
        if of is None or isinstance(of.node, (ast.Name, ast.Constant)):
            return []
        mine = self.b[change.b]
        theirs = [At(k, node) for k in self._changed_in_a() for node in _computed(a, k)]
        ours = [At(k, node) for k in range(len(self.b)) for node in _computed(b, k)]
        found = lost(b, a, of, theirs, ours)
        found += [opposite(one) for one in found if isinstance(one.node, ast.Compare)]
        texts = dict.fromkeys(defined_by_a(b, a, of, one) for one in found)
        mixes = [replace(self._instead(change, text, 0), leans=True) for text in texts if text and text != mine.text]
        return sorted(mixes, key=lambda mix: mix.size)[:_MOST_OTHER_VALUES]

    def _texts(self) -> tuple[Text, Text]:
        """B and A, with what was seen of them."""
        return Text([one.text for one in self.b], self.noted[1]), Text([one.text for one in self.a], self.noted[0])

    def shown(self, change: Change) -> tuple[str, Statement]:
        """Whose statement a reader is told of, and it as it stands there: B's, where B has one."""
        if change.b is not None:
            return "B", self._shown[change.b]
        assert change.a is not None
        return "A", self.a[change.a]

    def a_with(self, change: Change) -> str:
        """The text of A with one statement as B has it."""
        return self._mixed(0, change.a, change.b)[0]

    def repairs(self, change: Change) -> list[Mix]:
        """Texts of B with one statement made as A has it: whole, with names spelled out, another in its place, a part of it."""
        text, more = self._mixed(1, change.b, change.a)
        found = [Mix(change, text, more, self._size(change, change.a), leans=self._leans(change, change.a))]
        if change.b is None or (self.b[change.b].is_head and change.a is None):
            return found
        mine = self.b[change.b]
        near = [k for k in self._changed_in_a() if k != change.a and self.a[k].is_plain and mine.is_plain]
        near.sort(key=lambda k: -_likeness(self.a[k], mine))
        for k in near[:_MOST_OTHERS]:
            text, more = self._mixed(1, change.b, k)
            found.append(Mix(change, text, more, self._size(change, k), 2, leans=self._leans(change, k)))
        texts = dict.fromkeys([] if change.a is None else _parts(self.a[change.a], mine), 1)
        for place in [change.a, *near[:1]]:
            for one in [] if place is None else self._spelled_out(place, mine):
                texts.setdefault(one, 1 if place == change.a else 2)
        return found + [self._instead(change, text, rank) for text, rank in texts.items()]

    def bypassed(self, change: Change) -> set[str]:
        """What B's statement is computed of, and A's in its place would not be: where that is wrong, the statement is not."""
        if change.b is None:
            return set()
        return self.b[change.b].uses - (set() if change.a is None else self.a[change.a].uses)

    def _leans(self, change: Change, instead: int | None) -> bool:
        return self._leaves_out(change, set() if instead is None else self.a[instead].uses)

    def _leaves_out(self, change: Change, uses: set[str]) -> bool:
        """Whether other changed statements compute what B's statement uses, and another in its place does not."""
        left = set() if change.b is None else self.b[change.b].uses - uses
        return bool(left & {name for one in self.changes if one != change for name in self.binds(one)})

    def is_fed(self, change: Change, part: frozenset[str] | None = None, *, loops: bool = False) -> bool:
        """Whether what B's statement uses was seen to be right: some expression of A holds the same.

        Of a ``part`` of the statement that is undone only the names in it count. With ``loops`` the variable of a loop is
        right: A may count from elsewhere.
        """
        if change.b is None:
            return True
        b, a = self._texts()
        known = {bits for bits, _ in a.held}
        used = self.b[change.b].uses if part is None else part
        names = [At(change.b, ast.Name(name, ast.Load())) for name in used]
        seen = [
            b.seen(one)
            for one in names
            if isinstance(one.node, ast.Name)
            and (d := b.definition(one.node.id, one.k)) is not None
            and not (loops and d in b.loops)
        ]
        return all(one is None or one[0] in known for one in seen)

    def is_guessed(self, change: Change, part: frozenset[str] | None) -> bool:
        """Whether what is undone uses what another changed statement assigns, and A has no variable for that."""
        if change.b is None:
            return False
        b, a = self._texts()
        own = {name for one in self.changes if one != change for name in self.binds(one)}
        used = (self.b[change.b].uses if part is None else part) & own
        held = {bits for value in a.variables() if (seen := a.seen(value)) is not None for bits in seen[:1]}
        values = [b.seen(At(change.b, ast.Name(name, ast.Load()))) for name in used]
        return any(one is not None and one[0] not in held for one in values)

    def is_seen_in_a(self, change: Change) -> bool:
        """Whether what B's statement assigns was seen in A, too: what is wrong may be what uses it."""
        if change.b is None:
            return False
        b, a = self._texts()
        values = [b.value(name, change.b) for name in b.assigned_by(change.b)]
        return any(value is not None and b.seen(value) in a.held for value in values)

    def binds(self, change: Change) -> set[str]:
        """What B's statement assigns."""
        return set() if change.b is None else self.b[change.b].binds

    def edits(self, change: Change, *, names: bool) -> list[Mix]:
        """Texts of B with one small edit of a changed statement: of its structure, or by names of like statements of A."""
        if change.b is None:
            return []
        mine = self.b[change.b]
        like = sorted(self._changed_in_a(), key=lambda k: (k != change.a, -_likeness(self.a[k], mine)))[:_MOST_LIKE]
        texts = small_edits(mine.text, [self.a[k].text for k in like] if names else [])
        if names:
            texts = [text for text in texts if text not in small_edits(mine.text, [])]
        rank = 2 if names else 1
        return [self._instead(change, text, rank) for text in dict.fromkeys(texts) if text != mine.text]

    def _instead(self, change: Change, text: str, rank: int = 1) -> Mix:
        """B with another text of one statement."""
        assert change.b is not None
        mine = self.b[change.b]
        one = Statement(mine.line, mine.indent, text)
        leans = self._leaves_out(change, one.uses)
        return Mix(change, _with(self.heads[1], self.b, change.b, text), 0, _apart(mine, one), rank, leans=leans)

    def _size(self, change: Change, theirs: int | None) -> int:
        empty = Statement(0, 0, "")
        mine = empty if change.b is None else self.b[change.b]
        return _apart(mine, empty if theirs is None else self.a[theirs])

    def _spelled_out(self, at: int, place: Statement) -> list[str]:
        """A statement of A in which what it uses, and B computes otherwise, is written out."""
        statement, text = self.a[at], self.a[at].text
        for k in range(at - 1, -1, -1):
            one = self.a[k]
            found = re.fullmatch(r"(\w+) = (.*)", one.text, re.S)
            if found is None or found[1] in place.uses or sum(found[1] in other.binds for other in self.a) > 1:
                continue
            value = f"({found[2]})".replace("\\", r"\\")
            text = re.sub(rf"(?<![\w.]){found[1]}(?!\w|\s*=[^=])", value, text)
        if text == statement.text:
            return []
        return [_bound_to(Statement(statement.line, statement.indent, text), place).text]

    def _changed_in_a(self) -> list[int]:
        return [change.a for change in self.changes if change.a is not None]

    def _mixed(self, base: int, at: int | None, theirs: int | None) -> tuple[str, int]:
        """A version with one statement of the other, and how many more that took; ``at`` is None for one that it lacks."""
        own, other = (self.a, self.b) if base == 0 else (self.b, self.a)
        names = {name for one in own for name in one.binds}
        where = self._anchors(base).get(theirs, len(own)) if at is None and theirs is not None else at
        out: list[Statement] = []
        more = 0
        for k, one in enumerate([*own, None]):
            if k == where and theirs is not None:
                level = None if at is None else own[at].indent
                taken = self._completed(other, theirs, {n for line in out for n in line.binds}, names, level)
                if at is not None:
                    taken[-1] = _bound_to(taken[-1], own[at])
                more = len(taken) - 1
                out += taken
            if one is not None and k != at:
                out.append(one)
        return written(self.heads[base], out), more

    def _completed(
        self, other: Sequence[Statement], at: int, defined: set[str], names: set[str], indent: int | None = None
    ) -> list[Statement]:
        """A statement of the other version, behind those of it which define what this version has no name for."""
        level = other[at].indent if indent is None else indent
        wanted, found = other[at].uses - defined - names, []
        for k in range(at - 1, -1, -1):
            one = other[k]
            if wanted & one.binds and one.is_plain and not one.binds & names:
                found.append(Statement(one.line, level, one.text))
                wanted = (wanted - one.binds) | (one.uses - defined - names)
        return [*reversed(found), Statement(other[at].line, level, other[at].text)]

    def _anchors(self, base: int) -> dict[int, int]:
        """Before which of its own statements a version would have one that only the other has."""
        anchors, behind = {}, 0
        partner = {}
        for a, b in self._pairs():
            mine, theirs = (a, b) if base == 0 else (b, a)
            partner[theirs] = mine
        for theirs in range(len(self.b if base == 0 else self.a)):
            if theirs in partner:
                behind = partner[theirs] + 1
            else:
                anchors[theirs] = behind
        return anchors

    def _pairs(self) -> list[tuple[int, int]]:
        """The statements that stand for each other, changed or not."""
        return _aligned(self.a, self.b)


def _computed(text: Text, k: int) -> list[ast.expr]:
    """What a statement computes; names and attributes are not computed."""
    return [node for node in expressions(text, k) if not isinstance(node, (ast.Name, ast.Attribute))]


def _aligned(a: Sequence[Statement], b: Sequence[Statement]) -> list[tuple[int, int]]:
    """Pairs of statements: equal ones, and between them those that are alike."""
    pairs: list[tuple[int, int]] = []
    matcher = difflib.SequenceMatcher(None, [one.text for one in a], [one.text for one in b], autojunk=False)
    for kind, a0, a1, b0, b1 in matcher.get_opcodes():
        if kind == "equal":
            pairs += zip(range(a0, a1), range(b0, b1), strict=True)
        elif kind == "replace":
            pairs += _alike(a, b, range(a0, a1), range(b0, b1))
    return pairs


def _alike(a: Sequence[Statement], b: Sequence[Statement], left: range, right: range) -> list[tuple[int, int]]:
    """Of statements that differ those which are one another, edited, in their order: as many words in common as can be."""
    best: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}

    def score(i: int, k: int) -> float:
        common = _likeness(a[i], b[k])
        if a[i].is_head != b[k].is_head:
            return 0.0
        same = a[i].binds & b[k].binds
        return common + 0.5 * bool(same) if common >= _ALIKE or same else 0.0

    for i in reversed(left):
        for k in reversed(right):
            ways = [best.get((i + 1, k), (0.0, [])), best.get((i, k + 1), (0.0, []))]
            own = score(i, k)
            if own:
                rest = best.get((i + 1, k + 1), (0.0, []))
                ways.append((own + rest[0], [(i, k), *rest[1]]))
            best[i, k] = max(ways, key=lambda way: way[0])
    return best[left.start, right.start][1] if len(left) and len(right) else []


def _likeness(x: Statement, y: Statement) -> float:
    one, other = Counter(x.words), Counter(y.words)
    return sum((one & other).values()) / max(sum(one.values()), sum(other.values()), 1)


def _bound_to(statement: Statement, place: Statement) -> Statement:
    """A statement that assigns one variable, made to assign that of the statement in whose place it stands."""
    mine = re.fullmatch(r"(\w+)( = .*)", statement.text, re.S)
    target = re.match(r"(\w+)\s*[-+*/|&]?= ?", place.text)
    if mine is None or target is None or not place.is_plain:
        return statement
    return Statement(statement.line, statement.indent, target[1] + mine[2])


def _parts(x: Statement, y: Statement) -> list[str]:
    """The second statement with one part of it as the first has it."""
    pieces: list[list[str]] = [re.findall(r"\s+|\w+|[^\w\s]", one.text) for one in (x, y)]
    opcodes = difflib.SequenceMatcher(None, pieces[0], pieces[1], autojunk=False).get_opcodes()
    edits = [code for code in opcodes if code[0] != "equal"]
    if len(edits) < 2:
        return []
    return ["".join([*pieces[1][:b0], *pieces[0][a0:a1], *pieces[1][b1:]]) for _, a0, a1, b0, b1 in edits[:_MOST_PARTS]]


def _apart(x: Statement, y: Statement) -> int:
    """How many words of two statements are not the same."""
    opcodes = difflib.SequenceMatcher(None, x.words, y.words, autojunk=False).get_opcodes()
    return sum(max(a1 - a0, b1 - b0) for kind, a0, a1, b0, b1 in opcodes if kind != "equal")


def _changes(a: Sequence[Statement], b: Sequence[Statement]) -> list[Change]:
    """What is changed, in the order of B."""
    pairs = _aligned(a, b)
    in_a, in_b = {i for i, _ in pairs}, {k for _, k in pairs}
    edited = [Change(i, k) for i, k in pairs if a[i].text != b[k].text]
    places = {k: i for i, k in pairs}
    only_b = [Change(None, k) for k in range(len(b)) if k not in in_b]
    only_a = [Change(i, None) for i in range(len(a)) if i not in in_a]

    def order(change: Change) -> tuple[int, int]:
        if change.b is not None:
            return change.b, 1
        assert change.a is not None
        behind = [k for k, i in places.items() if i < change.a]
        return max(behind, default=-1), 2

    return sorted([*edited, *only_b, *only_a], key=order)


def _renames(a: Sequence[Statement], b: Sequence[Statement]) -> dict[str, str]:
    """The variables of B that are variables of A under other names, by statements that are the same but for names."""
    locals_a = {name for one in a for name in one.binds}
    locals_b = {name for one in b for name in one.binds}
    shape_a, shape_b = [_shape(one, locals_a) for one in a], [_shape(one, locals_b) for one in b]
    votes: Counter[tuple[str, str]] = Counter()
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(
        None, list(shape_a), list(shape_b), autojunk=False
    ).get_opcodes():
        for i, k in zip(range(a0, a1), range(b0, b1), strict=False):
            pairs = list(zip(a[i].words, b[k].words, strict=False)) if kind == "equal" else _targets(a[i], b[k])
            named = {(y, x) for x, y in pairs if x in locals_a and y in locals_b}
            if len(named) == len({x for _, x in named}):  # one name of A for two of B is no other name
                votes.update(named)
    for new in locals_b - locals_a:
        for old in locals_a - locals_b:
            votes[new, old] += 2 * (difflib.SequenceMatcher(None, new, old).ratio() >= _SAME_NAME)
    names: dict[str, str] = {}
    for (new, old), count in sorted(votes.items(), key=lambda item: (-item[1], item[0])):
        if count and new not in names and old not in names.values():
            names[new] = old
    return {new: old for new, old in names.items() if new != old and new not in locals_a and old not in locals_b}


def _targets(x: Statement, y: Statement) -> list[tuple[str, str]]:
    """The names that two statements assign, where they look alike."""
    return list(zip(sorted(x.binds), sorted(y.binds), strict=False)) if _likeness(x, y) >= _ALIKE else []


def _shape(one: Statement, names: set[str]) -> str:
    return f"{one.indent} " + " ".join("$" if word in names else word for word in one.words)


def _renamed(text: str, names: dict[str, str]) -> str:
    """A statement with other names for variables; attributes and keywords of calls stay."""
    if not names:
        return text
    out, depth, last, tokens = "", 0, 0, []
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string]
    except (tokenize.TokenError, IndentationError):
        return text
    for at, token in enumerate(tokens):
        if token.start[0] != 1:
            break
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        new = names.get(token.string)
        if token.type != tokenize.NAME or new is None or keyword.iskeyword(token.string):
            continue
        after = tokens[at + 1].string if at + 1 < len(tokens) else ""
        if (at and tokens[at - 1].string == ".") or (depth > 0 and after == "="):
            continue
        out += text[last : token.start[1]] + new
        last = token.end[1]
    return out + text[last:]
