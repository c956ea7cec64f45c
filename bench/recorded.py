"""What it costs to record what launches write: the kernels of bench/simulate.py, recorded with and without it, in turn.

Started by bench/simulate.py with Triton and the corpus in PYTHONPATH: one line of JSON a kernel. Times are of CPU, all threads
together, and the least of several launches, because other processes cannot make a launch cheaper.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import simulated

import prlx

VARIANTS = ("without", "with")


def measured(case: tuple[Any, ...], *, written: bool) -> tuple[float, int]:
    """Seconds of CPU of one recorded launch, and the bytes of its recording."""
    kernel, grid, arguments, constants, _ = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.prlx"
        with prlx.record(path) as recording:
            recording._target.request["no_written"] = not written  # the private switch
            started = time.process_time()
            kernel[grid](*arguments, **constants)
            return time.process_time() - started, path.stat().st_size


def main() -> None:
    with prlx.enable(device="simulator", progress=False):
        for name, case in simulated.cases().items():
            seconds, sizes = dict.fromkeys(VARIANTS, float("inf")), dict.fromkeys(VARIANTS, 0)
            for _ in range(1 if simulated.QUICK else 8):
                for variant in VARIANTS:
                    spent, sizes[variant] = measured(case, written=variant == "with")
                    seconds[variant] = min(seconds[variant], spent)
            print(json.dumps({"kernel": name, "seconds": seconds, "bytes": sizes}), flush=True)


if __name__ == "__main__":
    main()
