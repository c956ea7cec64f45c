"""Runs the corpus with barriers, watched and recording by itself, and prints those that warps passed: a JSON document a case.

PYTHONPATH=build/triton/3.9.0 python run_barriers.py DIRECTORY [NAME...]
"""

from __future__ import annotations

import collections
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from partners import columns

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


def passed(case: Any, capture: Any, path: Path) -> dict[str, list[int]]:
    """The lanes of each barrier that a warp passed, in its order."""
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(
        device="simulator", capture=capture, output=path, barriers=True, overwrite=True, progress=False
    ) as seen:
        case.launch(arrays)
    assert not [finding for one in seen.simulations for finding in one.findings]
    trace = prlx.read_trace(path, progress=False)
    assert trace.header.means == capture, trace.header.means
    warps: dict[str, list[int]] = collections.defaultdict(list)
    for warp, kind, active in zip(*columns(trace, "warp", "kind", "active"), strict=True):
        if kind == "barrier":
            warps[str(warp)].append(active)
    return warps


def main() -> None:
    from corpus import CASES

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or CASES:
        both = [
            passed(CASES[name], capture, folder / f"{name}.{capture}.prlx") for capture in ("observed", "instrumented")
        ]
        print(json.dumps({"case": name, "watched": both[0], "recorded": both[1]}), flush=True)


if __name__ == "__main__":
    main()
