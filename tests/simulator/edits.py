"""Edits the source of a Triton kernel as people do, seeded: what should change nothing, what reorders, and bugs.

An edit works on the text of one function. It is made twice with one seed, on the right kernel and on one with a bug, and
does the same to both: a bug replaces a few characters of one line.
"""

from __future__ import annotations

import ast
import itertools
import random
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

GLOBALS = {"tl", "triton", "libdevice", "range", "min", "max", "float", "int", "print"}
EFFECTS = {
    "store",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_cas",
    "atomic_xchg",
    "device_print",
    "debug_barrier",
}
WORDS = ("what follows was measured", "see the notes on the wiki", "rounds towards zero", "one tile a program", "TBD")


@dataclass
class Kernel:
    """A kernel that is being edited: its own text, and that of the helpers that edits made."""

    text: str
    helpers: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    known: frozenset[str] = frozenset()  # names of the module that the kernel was taken from

    @property
    def module(self) -> str:
        """The text of the module, without imports."""
        parts = [*self.helpers, *self.above, "@triton.jit\n" + self.text]
        return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"

    @property
    def tree(self) -> ast.FunctionDef:
        function = ast.parse(self.text).body[0]
        assert isinstance(function, ast.FunctionDef)
        return function

    @property
    def constants(self) -> set[str]:
        """The arguments that are constants of the compiler."""
        return {
            a.arg for a in self.tree.args.args if a.annotation is not None and "constexpr" in ast.unparse(a.annotation)
        }

    @property
    def arguments(self) -> set[str]:
        return {a.arg for a in self.tree.args.args}

    def bodies(self) -> Iterator[list[ast.stmt]]:
        """Every list of statements."""
        for node in ast.walk(self.tree):
            for name in ("body", "orelse"):
                found = getattr(node, name, None)
                if isinstance(found, list) and found:
                    yield found

    def statements(self) -> list[ast.stmt]:
        """Every statement that has a line of its own to begin with: an ``elif`` has not."""
        lines = self.text.splitlines()
        found = [statement for body in self.bodies() for statement in body]
        return [s for s in found if not lines[s.lineno - 1].lstrip().startswith("elif ")]

    def insert(self, before: int, lines: list[str]) -> None:
        """Insert lines before a line, counted from 1, with its indentation."""
        own = self.text.splitlines()
        indent = own[before - 1][: len(own[before - 1]) - len(own[before - 1].lstrip())]
        own[before - 1 : before - 1] = [indent + line if line else "" for line in lines]
        self.text = "\n".join(own) + "\n"

    def replace(self, statement: ast.stmt, lines: list[str]) -> None:
        """Put lines in the place of a statement, with its indentation."""
        own = self.text.splitlines()
        indent = " " * statement.col_offset
        assert statement.end_lineno is not None
        own[statement.lineno - 1 : statement.end_lineno] = [indent + line if line else "" for line in lines]
        self.text = "\n".join(own) + "\n"

    def segment(self, node: ast.AST) -> str:
        found = ast.get_source_segment(self.text, node)
        assert found is not None
        return found


def comment(kernel: Kernel, rng: random.Random) -> bool:
    """Comment lines, above the kernel or inside."""
    lines = ["# " + rng.choice(WORDS) for _ in range(rng.randint(1, 6))]
    if rng.random() < 0.4:
        kernel.above.append("\n".join(lines))
    else:
        kernel.insert(rng.choice(kernel.statements()).lineno, lines)
    return True


def blank(kernel: Kernel, rng: random.Random) -> bool:
    """Empty lines between statements."""
    kernel.insert(rng.choice(kernel.statements()).lineno, [""] * rng.randint(1, 3))
    return True


def describe(kernel: Kernel, rng: random.Random) -> bool:
    """A docstring."""
    first = kernel.tree.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return False
    kernel.insert(first.lineno, ['"""Does what it says.', "", *rng.sample(WORDS, rng.randint(1, 3)), '"""'])
    return True


def rename(kernel: Kernel, rng: random.Random) -> bool:
    """Another name for a local variable."""
    stored = {n.id for n in ast.walk(kernel.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names = sorted(stored - kernel.arguments - GLOBALS)
    if not names:
        return False
    old = rng.choice(names)
    new = f"{old}_{rng.choice(['new', 'tile', 'value_of_the_block'])}"
    if new in stored:
        return False
    places = [(n.lineno, n.col_offset) for n in ast.walk(kernel.tree) if isinstance(n, ast.Name) and n.id == old]
    lines = kernel.text.splitlines()
    for line, column in sorted(places, reverse=True):
        row = lines[line - 1]
        lines[line - 1] = row[:column] + new + row[column + len(old) :]
    kernel.text = "\n".join(lines) + "\n"
    return True


def dead(kernel: Kernel, rng: random.Random) -> bool:
    """A statement whose result nobody uses."""
    value = rng.choice(["tl.arange(0, 32) * 3", "tl.program_id(0) + 7", "1 + 2", "tl.zeros([64], tl.float32) + 1.0"])
    kernel.insert(rng.choice(kernel.statements()).lineno, [f"unused_{rng.randint(0, 999)} = {value}"])
    return True


def wrap(kernel: Kernel, rng: random.Random) -> bool:
    """One statement over several lines."""
    found = [s for s in kernel.statements() if isinstance(s, ast.Assign) and s.lineno == s.end_lineno]
    if not found:
        return False
    statement = rng.choice(found)
    value = kernel.segment(statement.value)
    target = kernel.text.splitlines()[statement.lineno - 1][statement.col_offset : statement.value.col_offset].rstrip()
    if not target.endswith("="):
        return False
    kernel.replace(statement, [f"{target} (", f"    {value}", ")"])
    return True


def read_and_written(nodes: list[ast.stmt]) -> tuple[set[str], set[str]]:
    names = [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]
    written = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    read |= {
        n.target.id
        for node in nodes
        for n in ast.walk(node)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return read, written


def parameters(kernel: Kernel, read: set[str]) -> tuple[list[str], str]:
    names = sorted(read - GLOBALS - kernel.known)
    declared = ", ".join(f"{name}: tl.constexpr" if name in kernel.constants else name for name in names)
    return names, declared


def helper(kernel: Kernel, rng: random.Random) -> bool:
    """One expression becomes a function."""
    found = [
        s
        for s in kernel.statements()
        if isinstance(s, ast.Assign)
        and isinstance(s.targets[0], ast.Name)
        and isinstance(s.value, ast.Call | ast.BinOp)
    ]
    if not found:
        return False
    statement = rng.choice(found)
    read, _ = read_and_written([ast.Assign(targets=[], value=statement.value)])  # type: ignore[list-item]
    names, declared = parameters(kernel, read)
    if not names or any(name.startswith("helper_") for name in names):
        return False
    name = f"helper_{len(kernel.helpers)}"
    value = textwrap.dedent(kernel.segment(statement.value))
    kernel.helpers.append(f"@triton.jit\ndef {name}({declared}):\n    return ({value})\n")
    kernel.replace(statement, [f"{ast.unparse(statement.targets[0])} = {name}({', '.join(names)})"])
    kernel.known |= {name}
    return True


def extract(kernel: Kernel, rng: random.Random) -> bool:
    """Consecutive statements become a function that returns what they made."""
    runs = []
    for body in kernel.bodies():
        for at in range(len(body) - 1):
            for n in (2, 3):
                run = body[at : at + n]
                if len(run) == n and all(
                    isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and not effects(s) for s in run
                ):
                    runs.append(run)
    if not runs:
        return False
    run = rng.choice(runs)
    read: set[str] = set()
    made: list[str] = []
    for s in run:
        read |= read_and_written([s])[0] - set(made)
        made += [n for n in sorted(read_and_written([s])[1]) if n not in made]
    names, declared = parameters(kernel, read)
    if not names:
        return False
    name = f"helper_{len(kernel.helpers)}"
    body_text = "\n".join("    " + ast.unparse(s) for s in run)
    kernel.helpers.append(f"@triton.jit\ndef {name}({declared}):\n{body_text}\n    return {', '.join(made)}\n")
    call = f"{', '.join(made)} = {name}({', '.join(names)})"
    own = kernel.text.splitlines()
    assert run[-1].end_lineno is not None
    own[run[0].lineno - 1 : run[-1].end_lineno] = [" " * run[0].col_offset + call]
    kernel.text = "\n".join(own) + "\n"
    kernel.known |= {name}
    return True


def effects(statement: ast.stmt) -> set[str]:
    """What a statement does to the world: "store" with the pointer, "load"."""
    out = set()
    for n in ast.walk(statement):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
            if n.func.attr in EFFECTS:
                out.add("effect")
            elif n.func.attr == "load":
                out.add("load")
    return out


def reorder(kernel: Kernel, rng: random.Random) -> bool:
    """Two neighbours that have nothing to do with each other change places."""
    pairs = []
    for body in kernel.bodies():
        for x, y in itertools.pairwise(body):
            if not all(isinstance(s, ast.Assign | ast.AugAssign | ast.Expr) for s in (x, y)):
                continue
            (read_x, written_x), (read_y, written_y) = read_and_written([x]), read_and_written([y])
            apart = not (written_x & (read_y | written_y) or written_y & read_x)
            if apart and not (("effect" in effects(x) and effects(y)) or ("effect" in effects(y) and effects(x))):
                pairs.append((x, y))
    if not pairs:
        return False
    x, y = rng.choice(pairs)
    own = kernel.text.splitlines()
    assert x.end_lineno is not None and y.end_lineno is not None
    first, between, last = (
        own[x.lineno - 1 : x.end_lineno],
        own[x.end_lineno : y.lineno - 1],
        own[y.lineno - 1 : y.end_lineno],
    )
    own[x.lineno - 1 : y.end_lineno] = [*last, *between, *first]
    kernel.text = "\n".join(own) + "\n"
    return True


HARMLESS: list[Callable[[Kernel, random.Random], bool]] = [
    comment,
    comment,
    blank,
    describe,
    rename,
    dead,
    wrap,
    helper,
    helper,
    extract,
]


def edited(kernel: Kernel, seed: int) -> tuple[Kernel, list[str]]:
    """A copy with one to four edits, and their names. Every fourth one reorders statements, too."""
    rng = random.Random(seed)
    out = Kernel(kernel.text, list(kernel.helpers), list(kernel.above), kernel.known)
    done: list[str] = []
    steps = [rng.choice(HARMLESS) for _ in range(rng.randint(1, 4))]
    if seed % 4 == 3:
        steps.append(reorder)
    for step in steps:
        if step(out, rng):
            done.append(step.__name__)
    if not done:
        comment(out, rng)
        done.append("comment")
    return out, done


FLIPS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
OTHER = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}


def bugs(kernel: Kernel) -> list[str]:
    """The text of the kernel with one mistake each: a compare, a bound, an operator."""
    out = []
    lines = kernel.text.splitlines()

    def put(line: int, start: int, end: int, text: str) -> None:
        row = lines[line - 1]
        out.append("\n".join([*lines[: line - 1], row[:start] + text + row[end:], *lines[line:]]) + "\n")

    for node in ast.walk(kernel.tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and node.left.end_lineno == node.comparators[0].lineno:
            right = node.comparators[0]
            assert node.left.end_col_offset is not None and right.end_col_offset is not None
            row = lines[node.left.end_lineno - 1]
            gap = row[node.left.end_col_offset : right.col_offset]
            if type(node.ops[0]) in FLIPS:
                operator = gap.strip(" ()")
                put(
                    node.left.end_lineno,
                    node.left.end_col_offset,
                    right.col_offset,
                    gap.replace(operator, FLIPS[type(node.ops[0])]),
                )
            if right.lineno == right.end_lineno:
                put(right.lineno, right.col_offset, right.end_col_offset, f"({kernel.segment(right)} - 1)")
        if isinstance(node, ast.BinOp) and type(node.op) in OTHER and node.left.end_lineno == node.right.lineno:
            assert node.left.end_col_offset is not None
            gap = lines[node.right.lineno - 1][node.left.end_col_offset : node.right.col_offset]
            operator = gap.strip(" ()")
            if operator in {"+", "-", "*"}:
                put(
                    node.right.lineno,
                    node.left.end_col_offset,
                    node.right.col_offset,
                    gap.replace(operator, OTHER[type(node.op)]),
                )
    return out
