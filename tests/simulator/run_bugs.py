"""Runs the seeded bugs on the simulator and prints one JSON document a bug: the line of the mistake and what named it.

PYTHONPATH=build/triton/3.9.0 python run_bugs.py DIRECTORY
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from corpus import CASES

import bugs
import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


def place(finding) -> list[list[object]]:
    """File and line of the chain of a finding: the place itself, then the calls into which it was inlined."""
    chain = finding.document["where"]
    return [[Path(frame["file"]).name, frame["line"]] for frame in chain]


def checked(bug: bugs.Bug) -> dict[str, object]:
    """A bug that a check finds: what it says of the wrong kernel, and of the right one."""
    rows = {}
    for wrong in (0, 1):
        arguments = bug.arguments()
        machine = {"progress": False, **bug.options}
        simulation = prlx.simulate(bug.kernel, bug.grid, machine=machine, **arguments, BUG=wrong)
        rows[wrong] = [(finding.check, place(finding)) for finding in simulation.findings]
    return {"bug": bug.name, "line": bug.line, "by": bug.found_by, "right": rows[0], "wrong": rows[1]}


def diffed(bug: bugs.Bug, folder: Path) -> dict[str, object]:
    """A bug that the diff of a right and a wrong run shows."""
    paths = []
    for wrong in (0, 1):
        path = folder / f"{bug.name}_{wrong}.prlx"
        with prlx.record(path, mode="values", stores=True, atomics=True, overwrite=True):
            bug.kernel[bug.grid](**bug.arguments(), BUG=wrong)
        paths.append(path)
    return {"bug": bug.name, "line": bug.line, "by": bug.found_by, **compared(*paths)}


def ordered(bug: bugs.Bug, folder: Path) -> dict[str, object]:
    """A kernel whose result depends on the order of its blocks: two runs under two seeds differ."""
    paths = []
    for seed in (0, 7):
        path = folder / f"{bug.name}_{seed}.prlx"
        with (
            prlx.enable(device="simulator", seed=seed, progress=False),
            prlx.record(path, mode="values", atomics=True, overwrite=True),
        ):
            bug.kernel[bug.grid](**bug.arguments())
        paths.append(path)
    return {"bug": bug.name, "line": bug.line, "by": bug.found_by, **compared(*paths)}


def compared(a: Path, b: Path) -> dict[str, object]:
    diff = prlx.diff_traces(a, b, values=True, progress=False)
    tables = diff.divergences
    lines = {text.split(":")[-2] for name in ("location", "location_b") for text in tables[name] if text}
    first = None if diff.first is None else int(diff.first.location.split(":")[-2])
    return {"identical": diff.identical, "first": first, "lines": sorted(map(int, lines))}


def cut(one: bugs.Cut) -> dict[str, object]:
    """A mistake in the PTX of a kernel of the corpus: what is found in it under four seeds, and what in the right one."""
    case = CASES[one.case]
    found: dict[bool, list[object]] = {False: [], True: []}
    for wrong, rows in found.items():
        with bugs.edited_ptx(one.edit if wrong else str), prlx.enable(device="simulator", progress=False):
            for seed in range(4):
                arrays = case.arrays(np.random.default_rng(seed))
                machine = {"seed": seed, "progress": False}
                simulation = prlx.simulate(
                    case.kernel, case.grid, machine=machine, **arrays, **case.scalars, **case.constants, **case.options
                )
                rows += [(finding.check, place(finding)) for finding in simulation.findings]
    return {"bug": one.name, "by": one.found_by, "marks": one.marks, "right": found[False], "wrong": found[True]}


def main() -> None:
    folder = Path(sys.argv[1])
    with prlx.enable(device="simulator", progress=False):
        for bug in bugs.CHECKED:
            print(json.dumps(checked(bug)), flush=True)
        for bug in bugs.DIFFED:
            print(json.dumps(diffed(bug, folder)), flush=True)
    for one in bugs.CUT:
        print(json.dumps(cut(one)), flush=True)
    print(json.dumps(ordered(bugs.ORDERED, folder)), flush=True)


if __name__ == "__main__":
    main()
