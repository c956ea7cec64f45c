"""Launches the kernels of ``patterns`` and ``locked``, right and wrong, and prints one JSON document for each launch.

PYTHONPATH=build/triton/3.9.0 python run_patterns.py [--seeds N] [--kernels NAME...], with N orders of blocks and warps for
each shape. Without names, kernels of the corpus follow that lack a kind of instruction.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from corpus import CASES
from locked import LOCKED
from patterns import PATTERNS, Pattern

import bugs
import prlx

_WITHOUT = {
    ("bar.sync", "shared-race"): (
        "softmax", "layernorm", "cumsum", "sort", "topk", "copy2d", "reduce", "gather", "histogram", "scans", "pipe", "early",
    ),
    ("cp.async.wait_group", "stale-async-copy"): ("pipe", "flash"),
    ("st.shared", "uninitialised-shared"): ("layernorm", "sort", "topk", "gather"),
}  # fmt: skip
CUTS = [(case, *what) for what, cases in _WITHOUT.items() for case in cases]
"""Cases of the corpus, an instruction to cut out, and the check that finds it."""

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


def launched(pattern: Pattern, shape: int, seed: int, bug: int) -> dict[str, object]:
    """What the checks find in one launch, with the lines of each chain."""
    grid, make = pattern.shapes[shape]
    arguments = make(np.random.default_rng(shape))
    machine = {"progress": False, "seed": seed, "global_races": True, **pattern.machine}
    row: dict[str, object] = {"kernel": pattern.name, "shape": shape, "seed": seed, "bug": bug}
    try:
        done = prlx.simulate(pattern.kernel, grid, machine=machine, **arguments, BUG=bug)
    except prlx.SimulationError as error:
        return {**row, "findings": [["refused", str(error), []]]}
    found = []
    for finding in done.findings:
        lines = [frame["line"] for frame in finding.document["where"] if Path(frame["file"]).parent.name == "simulator"]
        found.append([finding.check, str(finding)[:200], lines])
    row["findings"] = found
    if bug:
        row.update(by=pattern.found_by[bug], at=pattern.lines(bug))
    return row


def cut(name: str, instruction: str, check: str) -> dict[str, object]:
    """What is found in a case of the corpus without one kind of instruction, under four orders."""
    case = CASES[name]
    found = []
    with bugs.edited_ptx(bugs._without(instruction)), prlx.enable(device="simulator", progress=False):
        for seed in range(4):
            arrays = case.arrays(np.random.default_rng(0))
            done = prlx.simulate(
                case.kernel, case.grid, machine={"seed": seed, "progress": False}, **arrays, **case.scalars,
                **case.constants, **case.options,
            )  # fmt: skip
            found += [[finding.check, str(finding)[:200], []] for finding in done.findings]
    return {"kernel": f"{name} without {instruction}", "bug": 1, "by": check, "at": None, "findings": found}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kernels", nargs="*")
    options = parser.parse_args()
    with prlx.enable(device="simulator", progress=False):
        for pattern in (*PATTERNS, *LOCKED):
            if options.kernels and pattern.name not in options.kernels:
                continue
            for shape in range(len(pattern.shapes)):
                for seed in range(options.seeds):
                    sys.stdout.write(json.dumps(launched(pattern, shape, seed, 0)) + "\n")
            for bug in pattern.found_by:
                sys.stdout.write(json.dumps(launched(pattern, 0, 1, bug)) + "\n")
            sys.stdout.flush()
    for one in CUTS:
        if not options.kernels:
            sys.stdout.write(json.dumps(cut(*one)) + "\n")


if __name__ == "__main__":
    main()
