"""Runs cases of the corpus on the simulator and prints one JSON document a case: differences, findings, counts.

PYTHONPATH=build/triton/3.9.0 python run_corpus.py [--seeds N] [--workers N] [NAME...]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings

import numpy as np

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


def run(case, seed: int, workers: int | None) -> dict[str, object]:
    arrays = case.arrays(np.random.default_rng(seed))
    before = {name: array.copy() for name, array in arrays.items()}
    started = time.perf_counter()
    simulation = prlx.simulate(
        case.kernel,
        case.grid,
        machine={"seed": seed, "workers": workers, "progress": False},
        **arrays,
        **case.scalars,
        **case.constants,
        **case.options,
    )
    return {
        "case": case.name,
        "seed": seed,
        "differences": case.differences(before, arrays),
        "findings": [str(finding) for finding in simulation.findings],
        "instructions": simulation.instructions,
        "seconds": round(time.perf_counter() - started, 4),
        "output": simulation.output[:200],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    from corpus import CASES

    with prlx.enable(device="simulator", progress=False):
        for name in options.names or CASES:
            for seed in range(options.seeds):
                try:
                    row = run(CASES[name], seed, options.workers)
                except prlx.PrlxError as error:
                    row = {"case": name, "seed": seed, "refused": str(error)}
                print(json.dumps(row), flush=True)
    print(json.dumps({"triton": sys.modules["triton"].__version__}))


if __name__ == "__main__":
    main()
