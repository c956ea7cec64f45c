"""Locates the seeded bugs and prints one JSON document a bug: the line of the mistake and what was said.

PYTHONPATH=build/triton/3.9.0 python run_locate.py [--equal N] [--all]

With --equal each bug that a comparison shows is held against itself N times, with --all every bug.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable

import numpy as np
import triton
import triton.language as tl

import bugs
import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
warnings.filterwarnings("ignore", category=prlx.FindingWarning)


@triton.jit
def before(x, n):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def runs(bug: bugs.Bug, wrong: int) -> Callable[[], object]:
    """A program in which the kernel is neither the first nor the last that is launched."""

    def run() -> None:
        other = np.zeros(100, np.float32)
        before[(2,)](other, 100)
        bug.kernel[bug.grid](**bug.arguments(), BUG=wrong)
        before[(2,)](other, 90)

    return run


def row(bug: bugs.Bug, found: prlx.Located) -> dict[str, object]:
    return {
        "bug": bug.name, "line": bug.line, "status": found.status, "launch": found.launch, "kernel": found.kernel,
        "place": found.place.rpartition("/")[2], "runs": found.runs, "verdict": found.document["verdict"],
    }  # fmt: skip


def main() -> None:
    for bug in (*bugs.DIFFED, *bugs.CHECKED):
        print(json.dumps(row(bug, prlx.locate(runs(bug, 0), runs(bug, 1)))), flush=True)
    ordered = bugs.ORDERED

    def order() -> None:
        ordered.kernel[ordered.grid](**ordered.arguments())

    print(json.dumps(row(ordered, prlx.locate(order, order, machine_b={"seed": 7}))), flush=True)
    equal = int(sys.argv[2]) if sys.argv[1:2] == ["--equal"] else 0
    chosen = (*bugs.DIFFED, *bugs.CHECKED) if "--all" in sys.argv else bugs.DIFFED
    for _ in range(equal):
        for bug in chosen:
            print(json.dumps({**row(bug, prlx.locate(runs(bug, 1), runs(bug, 1))), "equal": True}), flush=True)
        if "--all" in sys.argv:
            print(json.dumps({**row(ordered, prlx.locate(order, order)), "equal": True}), flush=True)


if __name__ == "__main__":
    main()
