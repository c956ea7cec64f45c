"""What a launch costs with few and with many arrays registered, recorded and not: one line of JSON each, CPU time.

Started by bench/simulate.py with Triton and the corpus in PYTHONPATH.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from corpus import elementwise

import prlx


def best_of(launch: Callable[[], object]) -> float:
    """The least CPU seconds of a launch; the first one loads what the others find."""
    best = float("inf")
    for _ in range(21):
        started = time.process_time()
        for _ in range(10):
            launch()
        best = min(best, (time.process_time() - started) / 10)
    return best


def main() -> None:
    x, out = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    for many in (10, 10_000):
        with prlx.enable(device="simulator", progress=False) as recording, tempfile.TemporaryDirectory() as folder:
            recording.register(*[np.ones(16, np.float32) for _ in range(many)])

            def launch() -> None:
                elementwise.add[(4,)](x, x, out, 1024, BLOCK=256)

            seconds = best_of(launch)
            with prlx.record(Path(folder) / "runs"):
                recorded = best_of(launch)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        row = {"kernel": f"{many} arrays", "cpu_us": seconds * 1e6, "recorded_us": recorded * 1e6, "peak_mib": peak}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
