"""Random programs as LLVM lays them out: rotated loops, joined returns, sunk stores; each lane against a generator of its own.

A program is a list of statements. It is compiled with Triton's LLVM at every level, and run on the simulator. Its twin runs
every lane as a Python generator, which stops where lanes exchange values. They do so at the outermost level only, where all
meet that have not returned. Run as ``llvm_programs.py COUNT [FIRST]`` with Triton 3.9 on the path; prints what differs.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
from triton._C.libtriton import ir, llvm, nvidia

from prlx import _core

LANES, VARIABLES, WORDS = 32, 4, 8
SEEDS = ((1, 0), (3, 1), (7, 2), (37, 3))  # variable v of lane t begins as t * SEEDS[v][0] + SEEDS[v][1]
LAYOUT = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

# ("set", name of the operation, variable, variable or number, is a number, result), ("store", variable, word),
# ("exchange", variable, result, distance), ("if", condition, statements, statements), ("for", variable, mask, statements),
# ("leave", condition, "break" | "continue" | "return", statements). A condition is (variable, mask, comparison, number).
Statement = tuple[Any, ...]


class Writer:
    """Writes random statements."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = self.random.randint(6, 22)

    def program(self) -> list[Statement]:
        statements: list[Statement] = []
        while self.left > 0:
            statements += self.block(0, 0)
        return statements

    def block(self, depth: int, loops: int) -> list[Statement]:
        statements = []
        for _ in range(self.random.randint(1, 3)):
            if self.left > 0:
                self.left -= 1
                statements.append(self.statement(depth, loops))
        return statements

    def variable(self) -> int:
        return self.random.randrange(VARIABLES)

    def condition(self) -> Statement:
        return (
            self.variable(),
            self.random.choice((1, 2, 4, 8, 3, 5, 6, 12, 24, 16)),
            self.random.choice(("eq", "ne", "ult")),
            self.random.randrange(3),
        )

    def statement(self, depth: int, loops: int) -> Statement:
        kind = self.random.randrange(13)
        if depth == 0 and kind < 3:
            return ("exchange", self.variable(), self.variable(), self.random.randrange(1, LANES))
        if depth < 4 and kind in (3, 4, 5):
            other = self.block(depth + 1, loops) if self.random.random() < 0.6 else []
            return ("if", self.condition(), self.block(depth + 1, loops), other)
        if depth < 4 and kind in (6, 7) and loops < 2:
            return ("for", self.variable(), self.random.choice((1, 3)), self.block(depth + 1, loops + 1))
        if loops and kind == 8:
            work = [self.simple()] if self.random.random() < 0.5 else []
            return ("leave", self.condition(), self.random.choice(("break", "continue")), work)
        if kind in (9, 10):
            return ("leave", self.condition(), "return", [self.store()] if self.random.random() < 0.8 else [])
        return self.simple()

    def store(self) -> Statement:
        return ("store", self.variable(), self.random.randrange(VARIABLES, WORDS))

    def simple(self) -> Statement:
        if self.random.random() < 0.3:
            return self.store()
        number = self.random.random() < 0.5
        operand = self.random.randrange(64) if number else self.variable()
        name = self.random.choice(("add", "xor", "mul", "sub"))
        return ("set", name, self.variable(), operand, number, self.variable())


class Printer:
    """Prints a program in MLIR's LLVM dialect."""

    def __init__(self, program: list[Statement]) -> None:
        self.names = 0
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.block(program, "", "")
        for v in range(VARIABLES):
            self.keep(self.load(v), v)
        self.lines.append("llvm.return")

    def text(self) -> str:
        head = [
            f'module attributes {{llvm.target_triple = "nvptx64-nvidia-cuda", llvm.data_layout = "{LAYOUT}"}} {{',
            "llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel = 1 : ui1} {",
            "%one = llvm.mlir.constant(1 : i32) : i32",
            '%tid = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32',
            "%words = llvm.mlir.constant(8 : i32) : i32",
            "%at = llvm.mul %tid, %words : i32",
            "%own = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
        ]
        for name in [f"%v{v}" for v in range(VARIABLES)] + self.counters:
            head.append(f"{name} = llvm.alloca %one x i32 : (i32) -> !llvm.ptr")
        for v, (factor, addend) in enumerate(SEEDS):
            head += [
                f"%f{v} = llvm.mlir.constant({factor} : i32) : i32",
                f"%a{v} = llvm.mlir.constant({addend} : i32) : i32",
                f"%m{v} = llvm.mul %tid, %f{v} : i32",
                f"%s{v} = llvm.add %m{v}, %a{v} : i32",
                f"llvm.store %s{v}, %v{v} : i32, !llvm.ptr",
            ]
        return "\n".join([*head, *self.lines, "}", "}", ""])

    def fresh(self) -> str:
        self.names += 1
        return f"t{self.names}"

    def put(self, text: str) -> str:
        name = "%" + self.fresh()
        self.lines.append(f"{name} = llvm.{text}")
        return name

    def number(self, value: int, kind: str = "i32") -> str:
        return self.put(f"mlir.constant({value} : {kind}) : {kind}")

    def load(self, variable: int) -> str:
        return self.put(f"load %v{variable} : !llvm.ptr -> i32")

    def save(self, value: str, variable: int) -> None:
        self.lines.append(f"llvm.store {value}, %v{variable} : i32, !llvm.ptr")

    def keep(self, value: str, word: int) -> None:
        at = self.put(f"getelementptr %own[{self.number(word)}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32")
        self.lines.append(f"llvm.store {value}, {at} : i32, !llvm.ptr<1>")

    def go(self, label: str) -> None:
        self.lines.append(f"llvm.br ^{label}")

    def decide(self, condition: str, yes: str, no: str) -> None:
        self.lines.append(f"llvm.cond_br {condition}, ^{yes}, ^{no}")

    def here(self, label: str) -> None:
        self.lines.append(f"^{label}:")

    def condition(self, condition: Statement) -> str:
        variable, mask, name, than = condition
        masked = self.put(f"and {self.load(variable)}, {self.number(mask)} : i32")
        return self.put(f'icmp "{name}" {masked}, {self.number(than)} : i32')

    def block(self, statements: list[Statement], out: str, again: str) -> None:
        for statement in statements:
            getattr(self, "print_" + statement[0])(*statement[1:], out, again)

    def print_set(self, name: str, a: int, b: int, number: bool, result: int, *_: str) -> None:
        operand = self.number(b) if number else self.load(b)
        self.save(self.put(f"{name} {self.load(a)}, {operand} : i32"), result)

    def print_store(self, variable: int, word: int, *_: str) -> None:
        self.keep(self.load(variable), word)

    def print_exchange(self, variable: int, result: int, distance: int, *_: str) -> None:
        def call(name: str, *arguments: str) -> str:
            kinds = ", ".join("i1" if a == true else "i32" for a in arguments)
            return self.put(f'call_intrinsic "llvm.nvvm.{name}"({", ".join(arguments)}) : ({kinds}) -> i32')

        true, everybody = self.put("mlir.constant(true) : i1"), self.number(-1)
        there = call("vote.ballot.sync", everybody, true)
        by, clamp = self.number(distance), self.number(31)
        value = call("shfl.sync.bfly.i32", everybody, self.load(variable), by, clamp)
        bit = self.put(f"lshr {there}, {self.put(f'xor %tid, {by} : i32')} : i32")
        seen = self.put(f"mul {value}, {self.put(f'and {bit}, %one : i32')} : i32")
        self.save(self.put(f"add {seen}, {there} : i32"), result)

    def print_if(self, condition: Statement, yes: list[Statement], no: list[Statement], out: str, again: str) -> None:
        first, second, after = self.fresh(), self.fresh(), self.fresh()
        self.decide(self.condition(condition), first, second)
        for label, statements in ((first, yes), (second, no)):
            self.here(label)
            self.block(statements, out, again)
            self.go(after)
        self.here(after)

    def print_for(self, variable: int, mask: int, body: list[Statement], *_: str) -> None:
        counter = "%" + self.fresh()
        self.counters.append(counter)
        self.lines.append(f"llvm.store {self.number(0)}, {counter} : i32, !llvm.ptr")
        bound = self.put(f"and {self.load(variable)}, {self.number(mask)} : i32")
        test, inside, again, out = self.fresh(), self.fresh(), self.fresh(), self.fresh()
        self.go(test)
        self.here(test)
        count = self.put(f"load {counter} : !llvm.ptr -> i32")
        self.decide(self.put(f'icmp "ult" {count}, {bound} : i32'), inside, out)
        self.here(inside)
        self.block(body, out, again)
        self.go(again)
        self.here(again)
        count = self.put(f"load {counter} : !llvm.ptr -> i32")
        self.lines.append(f"llvm.store {self.put(f'add {count}, %one : i32')}, {counter} : i32, !llvm.ptr")
        self.go(test)
        self.here(out)

    def print_leave(self, condition: Statement, how: str, work: list[Statement], out: str, again: str) -> None:
        leaves, stays = self.fresh(), self.fresh()
        self.decide(self.condition(condition), leaves, stays)
        self.here(leaves)
        self.block(work, out, again)
        if how == "return":
            self.lines.append("llvm.return")
        else:
            self.go(out if how == "break" else again)
        self.here(stays)


class Left(Exception):  # noqa: N818 - no error
    """A lane leaves what it is in."""


Meeting = Generator[tuple[int, int], tuple[int, dict[int, int]], None]

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "xor": lambda a, b: a ^ b, "mul": lambda a, b: a * b, "sub": lambda a, b: a - b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ult": lambda a, b: a < b,
}  # fmt: skip


class Lane:
    """One lane of the twin."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.variables = [(number * factor + addend) & 0xFFFFFFFF for factor, addend in SEEDS]
        self.words = [0] * WORDS

    def run(self, program: list[Statement]) -> Meeting:
        try:
            yield from self.block(program)
        except Left:
            return
        self.words[:VARIABLES] = self.variables

    def holds(self, condition: Statement) -> bool:
        variable, mask, name, than = condition
        return bool(OPERATIONS[name](self.variables[variable] & mask, than))

    def block(self, statements: list[Statement]) -> Meeting:
        for kind, *rest in statements:
            if kind == "set":
                name, a, b, number, result = rest
                value = OPERATIONS[name](self.variables[a], b if number else self.variables[b])
                self.variables[result] = value & 0xFFFFFFFF
            elif kind == "store":
                self.words[rest[1]] = self.variables[rest[0]]
            elif kind == "exchange":
                variable, result, distance = rest
                there, values = yield distance, self.variables[variable]
                self.variables[result] = (values.get(self.number ^ distance, 0) + there) & 0xFFFFFFFF
            elif kind == "if":
                yield from self.block(rest[1] if self.holds(rest[0]) else rest[2])
            elif kind == "for":
                yield from self.loop(self.variables[rest[0]] & rest[1], rest[2])
            elif self.holds(rest[0]):
                yield from self.block(rest[2])
                raise Left(rest[1])

    def loop(self, passes: int, body: list[Statement]) -> Meeting:
        for _ in range(passes):
            try:
                yield from self.block(body)
            except Left as left:
                if left.args[0] == "return":
                    raise
                if left.args[0] == "break":
                    return


def twin(program: list[Statement]) -> np.ndarray:
    """What every lane leaves when each runs by itself."""
    lanes = [Lane(number) for number in range(LANES)]
    running = {lane.number: lane.run(program) for lane in lanes}
    answers: dict[int, Any] = dict.fromkeys(running)
    while running:
        values = {}
        for number, lane in list(running.items()):
            try:
                values[number] = lane.send(answers[number])[1]
            except StopIteration:
                del running[number]
        answers = dict.fromkeys(running, (sum(1 << number for number in values), values))
    return np.array([lane.words for lane in lanes], np.uint32)


def compiled(program: list[Statement], level: Any) -> str:
    """The PTX of a program."""
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(Printer(program).text())
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    kept = llvm.context()
    made = llvm.to_module(module, kept)
    llvm.attach_datalayout(made, "nvptx64-nvidia-cuda", "sm_80", "+ptx80")
    llvm.optimize_module(made, level)
    return str(llvm.translate_to_asm(str(made), "nvptx64-nvidia-cuda", "sm_80", "+ptx80", [], False, False, False))


def simulated(ptx: str) -> np.ndarray:
    """What every lane leaves on the simulator."""
    out = np.zeros((LANES, WORDS), np.uint32)
    module = _core.run("simulate_load", {"name": "k.ptx", "ptx": ptx})["module"]
    try:
        address = out.__array_interface__["data"][0]
        request = {
            "module": module, "kernel": "k", "grid": (1, 1, 1), "block": (LANES, 1, 1),
            "params": [{"name": "out", "type": "*i32", "bits": address, "allocation": 0}],
            "allocations": [{"name": "out", "address": address, "bytes": out.nbytes}],
            "max_instructions": 1_000_000,
        }  # fmt: skip
        _core.run("simulate_launch", request)
    finally:
        _core.call("simulate_unload", {"module": module})
    return out


def differences(count: int, first: int = 0) -> Iterator[str]:
    """Say of each program that differs from its twin how."""
    llvm.init_targets()
    levels = (llvm.OPTIMIZE_O0, llvm.OPTIMIZE_O1, llvm.OPTIMIZE_O2, llvm.OPTIMIZE_O3)
    for seed in range(first, first + count):
        program = Writer(seed).program()
        ptx = compiled(program, levels[seed % len(levels)])
        got, want = simulated(ptx), twin(program)
        if (got != want).any():
            lane, word = np.argwhere(got != want)[0]
            yield f"seed {seed}, lane {lane}, word {word}: {got[lane, word]:#x}, want {want[lane, word]:#x}\n{ptx}"


def main() -> None:
    """Run as many programs as the first word says, from the seed on that the second says."""
    count, first = (int(word) for word in (*sys.argv[1:], "0")[:2])
    wrong = list(differences(count, first))
    print(f"{count} programs, {len(wrong)} differ")
    print("\n".join(wrong[:3]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
