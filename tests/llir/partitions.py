"""What warps that gave registers away still use: a walk through machine code with the registers that a warp has.

A kernel with partitions sets the registers of its warps with USETMAXREG. The walk begins where the kernel begins, takes
both sides of every branch, goes into every function that is called and carries the number last set; it reads what
``nvdisasm -c`` prints.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
LABEL = re.compile(r"\s*([.$\w]+):\s*$")
TARGET = re.compile(r"`\(([^)]+)\)")
# How many registers stand behind one that an instruction names, by the width of what it moves. Where some of its operands are
# narrower, they count as if they were not: a warp needs that many at most.
WIDE = {".64": 1, ".F64": 1, ".U64": 1, ".S64": 1, ".WIDE": 1, ".96": 2, ".128": 3, ".256": 7}
ENDS = ("EXIT", "RET", "BRA", "BRX", "JMP", "JMX", "KILL")  # a trap (BPT) is no end: a debugger may go on behind it


@dataclass
class Instruction:
    address: int
    text: str
    predicated: bool
    words: str
    targets: list[str]
    registers: int


@dataclass
class Walk:
    """What was found: addresses are bytes from the begin of a kernel's section."""

    calls: set[int] = field(default_factory=set)
    """The registers that warps have where they call a function of the recorder."""
    over: list[tuple[int, int, int]] = field(default_factory=list)
    """Address, registers that the warp has, registers that the instruction names."""
    unreached: list[int] = field(default_factory=list)
    """Instructions to which no way was found."""
    unknown: list[int] = field(default_factory=list)
    """Jumps and calls of which the listing does not say where they go, and registers set of which it does not say how many."""


def width(operation: str) -> int:
    """How many registers may stand behind one that an instruction names."""
    kind, *parts = operation.split(".")
    more = max((n for part, n in WIDE.items() if re.search(rf"\{part}(\.|$)", operation)), default=0)
    if tile := re.match(
        r"[A-Z]GMMA\.64x(\d+)x", operation
    ):  # a quarter of 64 rows by 128 lanes: one of two, of 32 bits
        more = int(tile[1]) // 2 - 1
    elif re.fullmatch(r"[A-Z]MMA", kind):
        more = max(more, 3)
    elif kind in ("LDTM", "STTM", "LDSM", "STSM"):
        counts = [int(n) for part in parts for n in re.findall(r"^x?(\d+)$", part)]
        more = max([more, *(n - 1 for n in counts if n != 16)])
    elif re.fullmatch(r"D(ADD|MUL|FMA|SETP|MNMX)", kind):
        more = max(more, 1)
    return more


def named(words: str) -> int:
    """The registers a warp needs for an instruction: one beyond the last that it names."""
    more = width(words.split()[0])
    found = re.findall(r"\bR(\d+)\b(\.64)?", words)
    return max((int(n) + 1 + max(more, 1 if pair else 0) for n, pair in found), default=0)


def listing(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions of one section and the index that each label stands before."""
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(found)
        elif at := LINE.match(line):
            whole = at[2]
            predicate, words = re.match(r"(@!?U?P\w+\s+)?(.*)", whole).groups()  # type: ignore[union-attr]
            targets = TARGET.findall(words)
            if listed := re.search(r'BRANCH_TARGETS ([^"]+)"', words):
                targets += [name.strip() for name in listed[1].split(",")]
            words = words.split("(*")[0]
            always = predicate is None or predicate.split()[0] == "@PT"
            found.append(Instruction(int(at[1], 16), whole, not always, words, targets, named(words)))
    return found, labels


def after(one: Instruction, has: int) -> int | None:
    """The registers of a warp behind an instruction; None where the listing does not say how many."""
    if not one.words.startswith("USETMAXREG"):
        return has
    number = re.search(r"\b0x([0-9a-f]+)\s*$", one.words)
    return int(number[1], 16) if number else None


def tried_again(code: list[Instruction], labels: dict[str, int], index: int) -> bool:
    """Whether a warp that asks for registers and gets none asks again, so that what follows has them."""
    for one in code[index + 1 : index + 4]:
        if one.targets and not goes_on(one):
            return False
        if one.targets:
            return all(index - 3 <= labels.get(name, len(code)) <= index for name in one.targets)
    return False


def goes_on(one: Instruction) -> bool:
    """Whether some lanes may reach the next instruction."""
    operation = one.words.split()[0].split(".")[0]
    condition = "BRA.DIV" in one.words or (
        operation == "BRA" and re.search(r"\bBRA\S*\s+!?U?P\d", one.words) is not None
    )
    return one.predicated or condition or operation not in ENDS


def walk(text: str, registers: int) -> Walk:
    """Of the section of one kernel, which its warps enter with so many registers."""
    code, labels = listing(text)
    found = Walk()
    open_, seen = [(0, registers)], set()
    while open_:
        index, has = open_.pop()
        if (index, has) in seen or index >= len(code):
            continue
        seen.add((index, has))
        one = code[index]
        operation = one.words.split()[0].split(".")[0]
        if one.registers > has:
            found.over.append((one.address, has, one.registers))
        if operation in ("CALL", "BRA", "BRX", "JMP", "JMX") and not any(name in labels for name in one.targets):
            found.unknown.append(one.address)
        if operation == "CALL" and any("prlx_record" in name for name in one.targets):
            found.calls.add(has)
        if operation == "USETMAXREG" and (
            after(one, has) is None or ("TRY" in one.words and not tried_again(code, labels, index))
        ):
            found.unknown.append(one.address)
        if operation != "RET":  # what a RET names is the function of the caller, not a place in it
            open_ += [(labels[name], has) for name in one.targets if name in labels]
        if goes_on(one):
            behind = after(one, has)
            open_.append((index + 1, has if behind is None else behind))
    found.over.sort()
    found.unknown = sorted(set(found.unknown))
    reached = {index for index, _ in seen}
    # An endless jump to itself and what fills up a section are behind the last instruction of a function.
    found.unreached = [
        one.address
        for index, one in enumerate(code)
        if index not in reached
        and one.words != "NOP"
        and not (one.words.startswith("BRA") and labels.get(one.targets[0]) == index)
    ]
    return found


def disassembled(binary: bytes, tool: Path) -> dict[str, str]:
    """The listing of each kernel of a binary."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        text = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^\s*\.section\s+\.text\.([^,\s]+).*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
