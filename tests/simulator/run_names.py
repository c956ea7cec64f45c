"""Compares the names that stops give to values with those that Triton's compiler gave the operations of its IR.

PYTHONPATH=build/triton/3.9.0 python run_names.py [NAME...]

Triton notes in its IR, at every operation, the variable that the statement assigns, with the line. prlx does not read that: it
finds names from the source and the instructions. A name is wrong where the IR has no operation of that name at that line, or
where the last of them, which is the variable's value, has a type that the register cannot have.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
OPERATION = re.compile(r"^\s*(?:%[\w:]+ = )\"?([\w.]+)\"?.*loc\((#loc\d*)\)$")
TYPES = {
    "i1": ("pred", "s16", "u16", "b16", "s32", "u32", "b32"),
    "i8": ("s8", "u8", "b8", "s16", "u16", "b16", "s32", "u32", "b32"),
    "i16": ("s16", "u16", "b16", "s32", "u32", "b32"),
    "i32": ("s32", "u32", "b32", "s64", "u64", "b64"),
    "i64": ("s64", "u64", "b64", "s32", "u32", "b32"),  # narrowed where that is enough
    "f16": ("f16", "f16x2", "b16", "b32", "s16", "u16", "f32"),  # or what was made wider of it
    "bf16": ("bf16", "bf16x2", "b16", "b32", "s16", "u16", "f32"),
    "f32": ("f32", "b32", "f64"),
    "f64": ("f64", "b64"),
    "ptr": ("ptr", "s64", "u64", "b64"),
}


def places(text):
    """Of each location of an IR: the variables and lines that it stands for."""
    defined = dict(DEFINED.findall(text))

    def resolve(body, depth=0):
        if depth > 30:
            return []
        if found := re.fullmatch(r'"(.*)":(\d+):\d+', body):
            return [("", int(found[2]))]
        if found := re.fullmatch(r'"(.*)"\((#loc\d*)\)', body):
            return [(found[1], line) for _, line in resolve(defined.get(found[2], ""), depth + 1)]
        parts = re.findall(r"#loc\d*", body)
        return [one for part in parts for one in resolve(defined.get(part, ""), depth + 1)]

    return {name: resolve(body) for name, body in defined.items()}


def element(operation, line):
    """The type of the elements of what an operation makes."""
    if operation.startswith("arith.cmp"):
        return "i1"
    types = re.sub(r" loc\(#loc\d*\)$", "", line).rpartition("-> " if "->" in line else " : ")[2].rpartition(" to ")[2]
    if operation == "tt.load":
        types = types.replace("!tt.ptr<", "", 1)
    if operation == "arith.select":
        types = types.rpartition(", ")[2]
    if "!tt.ptr" in types:
        return "ptr"
    found = re.search(r"\b(i1|i8|i16|i32|i64|bf16|f16|f32|f64)\b", types.replace("x", " "))
    return found[1] if found else ""


def variables(text):
    """By variable and line: the type of the last operation that has both."""
    where, found = places(text), {}
    for line in text.splitlines():
        if match := OPERATION.match(line):
            kind = element(match[1], line)
            for name, at in where.get(match[2], []):
                if name and kind:
                    found[name, at] = kind
    return found


def run(case):
    lines, first = inspect.getsourcelines(case.kernel.fn)
    file = f"corpus/{Path(inspect.getsourcefile(case.kernel.fn)).name}"  # a kernel of Triton's cache stood in another folder
    breaks = [f"{file}:{at}:5" for at in range(first, first + len(lines))][-60:]
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(device="simulator", breaks=breaks, max_stops=400, progress=False) as seen:
        compiled = case.kernel[case.grid](**arrays, **case.scalars, **case.constants, **case.options)
    known = variables(compiled.asm["ttir"])
    named, values, wrong = 0, 0, set()
    for stop in seen.simulations[0].stops:
        for value in stop.values:
            values += value.origin != "argument"
            if value.name and value.origin != "argument":
                named += 1
                lines = [int(one["line"]) for rows in found_results(stop, value) for one in rows]
                kinds = {known[value.name, line] for line in lines if (value.name, line) in known}
                bits = "triton/language" in value.file  # where sorting takes floats for integers
                if not kinds or not (bits or any(value.type in TYPES[kind] for kind in kinds)):
                    wrong.add(
                        f"{value.name} at {Path(value.file).name}:{value.line} is {value.type}, the IR has {sorted(kinds)}"
                    )
    return {"case": case.name, "values": values, "named": named, "variables": len(known), "wrong": sorted(wrong)}


def found_results(stop, value):
    """The lines whose outcome the core says a value is."""
    for row in stop.document["values"]:
        if row["register"] == value.register and row["made"] == value.made and row["variable"] == value.name:
            return row["results"] or []
    return []


def main() -> None:
    from corpus import CASES

    for name in sys.argv[1:] or CASES:
        try:
            row = run(CASES[name])
        except prlx.PrlxError as error:
            row = {"case": name, "refused": str(error)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
