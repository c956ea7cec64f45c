"""The sampler of clocks: how long the brackets of its pairs take, and what it costs, alone or beside others.

python bench/clocks.py [--seconds 20] [--load 0]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import prlx


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Other processes that compute."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def quantile(values: list[int], share: float) -> int:
    """The smallest value that as many are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def record(tracer: str, period_ms: float, seconds: float) -> str:
    """Record for a while, and say what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_SELF)
        begin = time.monotonic()
        with prlx.clocks(folder, tracer=tracer, period_ms=period_ms, name="bench") as clocks:
            time.sleep(seconds)
            after = resource.getrusage(resource.RUSAGE_SELF)
            took = time.monotonic() - begin
            lines = [json.loads(line) for line in clocks.snapshots.read_text().splitlines()]
        widths = [line["bracket_ns"] for line in lines if "bracket_ns" in line]
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        counters = clocks.counters
    return (
        f"C, {clocks.tracer}, {period_ms:g} ms: {len(widths)} pairs, bracket p50 {quantile(widths, 0.5)} ns, "
        f"p99 {quantile(widths, 0.99)} ns, max {max(widths)} ns; missed {counters['missed_deadline']}, "
        f"wide {counters['wide_brackets']}; {100 * cpu / took:.3f} % of a core"
    )


def main() -> None:
    """Measure and print, a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--load", type=int, default=0, help="processes that compute beside the sampler")
    args = parser.parse_args()
    with busy(args.load):
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {args.load} busy processes of ours")
        for tracer, period in (("monotonic_raw", 10), ("tsc", 10), ("monotonic_raw", 4000)):
            print(record(tracer, period, args.seconds))


if __name__ == "__main__":
    main()
