"""Records the pairs of pairs.py as the documentation says and prints one JSON document a comparison.

PYTHONPATH=build/triton/3.9.0 python run_pairs.py DIRECTORY [SEEDS]
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pairs

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
warnings.filterwarnings("ignore", category=prlx.FindingWarning)


def recorded(
    pair: pairs.Pair,
    path: Path,
    data: int,
    schedule: int = 0,
    outputs: str | None = None,
    garbage: bool = False,
    **constants: int,
) -> Path:
    """Record one launch with the numbers of a seed, the blocks in the order of another."""
    kept = {} if outputs is None else {"outputs": outputs}
    with (
        prlx.enable(device="simulator", seed=schedule, progress=False),
        prlx.record(path, overwrite=True, **kept),
    ):
        arguments = pair.arguments(np.random.default_rng(data))
        if garbage:
            arguments |= {name: value.copy() for name, value in pair.garbage.items()}
        pair.kernel[pair.grid](**arguments, **pair.options, **constants)
    return path


def said(kind: str, pair: pairs.Pair, diff: prlx.Diff, **more: object) -> None:
    """Print what a comparison says."""
    row = {
        "kind": kind, "name": pair.name, "status": diff.status, "passed": diff.passed, "verdict": diff.verdict,
        "total": diff.total_divergences, "cause": str(diff.explain() or ""), "coverage": diff.coverage, **more,
    }  # fmt: skip
    print(json.dumps(row), flush=True)


def compared(a: Path, b: Path, **options: object) -> prlx.Diff:
    """Compare two recordings."""
    return prlx.diff_traces(a, b, progress=False, **options)


def main() -> None:
    folder, seeds = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if seeds == 1:
        for pair in pairs.BUGS:
            right, wrong = (recorded(pair, folder / f"{pair.name}_{bug}.prlx", 1, BUG=bug) for bug in (0, 1))
            diff = compared(right, wrong)
            kept = compared(
                *(recorded(pair, folder / f"kept_{bug}.prlx", 1, outputs="1MiB", BUG=bug) for bug in (0, 1))
            )
            first, element = (one.document["outputs"]["first"] for one in (diff, kept))
            said("bug", pair, diff, first=first, kept=element)
        for pair in pairs.FOUND:
            clean, found = (recorded(pair, folder / f"{pair.name}_{bug}.prlx", 1, BUG=bug) for bug in (0, 1))
            diff = compared(clean, found)
            said(
                "found",
                pair,
                diff,
                findings=diff.document.get("findings"),
                outputs=compared(clean, found, require="outputs").passed,
            )
        for pair in pairs.NOISY:
            runs = [recorded(pair, folder / f"{pair.name}_{run}.prlx", 1, run, BUG=0) for run in range(8)]
            wrong = recorded(pair, folder / f"{pair.name}_wrong.prlx", 1, 50, BUG=1)
            dirty = recorded(pair, folder / f"{pair.name}_dirty.prlx", 1, 51, garbage=True, BUG=0)
            said(
                "noisy",
                pair,
                compared(runs[0], wrong, baseline=runs[1:]),
                alone=compared(runs[0], wrong).verdict,
                equal=compared(runs[0], runs[1], baseline=runs[2:]).status,
                order=compared(runs[0], runs[1]).verdict,
                dirty=compared(runs[0], dirty, baseline=runs[1:]).verdict,
            )
        pair = pairs.UNTOLD
        runs = [recorded(pair, folder / f"{pair.name}_{run}.prlx", 1, run, BUG=0) for run in range(8)]
        wrong = recorded(pair, folder / f"{pair.name}_wrong.prlx", 1, 50, BUG=1)
        said("untold", pair, compared(runs[0], wrong, baseline=runs[1:]))
        for pair in pairs.WAYS:
            one, other = (recorded(pair, folder / f"{pair.name}_{way}.prlx", 1, WAY=way) for way in (0, 1))
            said("way", pair, compared(one, other), outputs=compared(one, other, require="outputs").passed)
    for pair in pairs.EQUAL:
        for data in range(seeds):
            runs = [
                recorded(pair, folder / f"{pair.name}_{run}.prlx", data, run) for run in range(5 if pair.noise else 2)
            ]
            diff = compared(runs[0], runs[1], baseline=runs[2:])
            said("equal", pair, diff, noise=pair.noise, data=data)


if __name__ == "__main__":
    main()
