"""How long the analysis of NCCL recordings takes.

64 ranks with 20,000 collectives at level 1, and a file at level 3 on one core, by the Go benchmarks of
core/nccl/diagnosing. Both count processor time: wall time on a busy machine says nothing.
PRLX_NCCL_RANKS and PRLX_NCCL_TIMES make it smaller.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = {
    "BenchmarkAnalysis": ("cpu-s/op", "<= 10 s of processor time"),
    "BenchmarkReadingSteps": ("MB/cpu-s", ">= 200 MB a second of processor time"),
}


def main() -> None:
    """Run both benchmarks once and print a row of each."""
    environment = {"PRLX_NCCL_RANKS": "64", "PRLX_NCCL_TIMES": "20000", "PRLX_NCCL_REPORT": "1", **os.environ}
    for name, (unit, wanted) in WANTED.items():
        times = environment if name == "BenchmarkAnalysis" else {**os.environ, "GOMAXPROCS": "1"}
        done = subprocess.run(
            ["go", "test", "./core/nccl/diagnosing", "-run", "^$", "-bench", f"^{name}$", "-benchtime", "3x"],
            cwd=ROOT,
            env=times,
            capture_output=True,
            text=True,
            check=True,
        )
        found = re.search(rf"([0-9.]+) {re.escape(unit)}", done.stdout)
        print(f"{name:24} {found.group(1) if found else '?':>10} {unit:10} wanted: {wanted}")


if __name__ == "__main__":
    main()
