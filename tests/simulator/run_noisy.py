"""Records the kernels of noisy.py several times and prints what comparisons with baselines say, one JSON document a pair.

PYTHONPATH=build/triton/3.9.0 python run_noisy.py [--capture instrumented] DIRECTORY INPUTS [KERNEL...]

INPUTS is how many inputs a kernel gets; each is a clean pair, and the bugs are tried with the first ones in turn.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import warnings
from pathlib import Path
from typing import Any

import noisy
import numpy as np

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
warnings.filterwarnings("ignore", category=prlx.FindingWarning)

SEED = 20261127
BASELINES = 4


def kernel(case: noisy.Noisy, bug: str | None, folder: Path) -> Any:
    """The kernel, from a file of its own."""
    path = folder / f"{case.name} {bug or 'right'}".replace(" ", "_") / "k.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(case.text(bug))
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module.kernel


def recorded(case: noisy.Noisy, what: Any, path: Path, data: int, schedule: int, capture: Any) -> Path:
    """Record one launch with the numbers of a seed, the blocks in the order of another."""
    with (
        prlx.enable(device="simulator", seed=schedule, capture=capture, progress=False),
        prlx.record(path, overwrite=True),
    ):
        what[(case.blocks,)](**case.arguments(np.random.default_rng(data)), **case.options)
    return path


def say(case: noisy.Noisy, bug: str | None, a: Path, b: Path, equal: list[Path]) -> None:
    """Compare two recordings beside those that should equal the first."""
    diff = prlx.diff_traces(a, b, baseline=equal, progress=False)
    row = {
        "kernel": case.name,
        "bug": bug,
        "outcome": diff.conclusion.outcome,
        "passed": diff.passed,
        "verdict": diff.verdict,
    }
    print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--capture", default="observed")
    parser.add_argument("folder", type=Path)
    parser.add_argument("inputs", type=int)
    parser.add_argument("kernels", nargs="*")
    asked = parser.parse_args()
    folder, inputs = asked.folder, asked.inputs
    draw = random.Random(SEED)
    for case in noisy.KERNELS:
        seeds = [(draw.randrange(1 << 30), draw.sample(range(1, 1 << 20), BASELINES + 3)) for _ in range(inputs)]
        if asked.kernels and case.name not in asked.kernels:
            continue
        right = kernel(case, None, folder)

        def record(name: str, what: Any, data: int, schedule: int, case: noisy.Noisy = case) -> Path:
            return recorded(case, what, folder / f"{name}.prlx", data, schedule, asked.capture)

        for k, (data, (first, other, third, *equal)) in enumerate(seeds):
            a = record("a", right, data, first)
            runs = [record(f"e{n}", right, data, s) for n, s in enumerate(equal)]
            say(case, None, a, record("b", right, data, other), runs)
            for bug in list(case.bugs)[k::inputs]:
                say(case, bug, a, record("b", kernel(case, bug, folder), data, third), runs)


if __name__ == "__main__":
    main()
