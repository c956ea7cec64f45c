"""What a launch costs with few and with many arrays registered: one line of JSON each, CPU time.

Started by bench/simulate.py with Triton and the corpus in PYTHONPATH.
"""

from __future__ import annotations

import json
import resource
import time

import numpy as np
from corpus import elementwise

import prlx


def main() -> None:
    x, out = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    for many in (10, 10_000):
        with prlx.enable(device="simulator", progress=False) as recording:
            recording.register(*[np.ones(16, np.float32) for _ in range(many)])
            elementwise.add[(4,)](x, x, out, 1024, BLOCK=256)
            best = float("inf")
            for _ in range(20):
                started = time.process_time()
                for _ in range(10):
                    elementwise.add[(4,)](x, x, out, 1024, BLOCK=256)
                best = min(best, (time.process_time() - started) / 10)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"kernel": f"{many} arrays", "cpu_us": best * 1e6, "peak_mib": peak}), flush=True)


if __name__ == "__main__":
    main()
