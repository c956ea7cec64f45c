"""Measures prlx cycles: reading beside CPython's json on the same file, finding from 10^5 to 10^7 kernels, memory.

  python bench/cycles.py            four minutes and 1 GB of scratch space under build/bench
  python bench/cycles.py --quick    small files: shows that everything here still runs; its figures mean nothing

Traces are generated (bench/gencycles) with the arguments that profilers write. Each program runs in a process of its own; CPU
seconds are user and system time of all threads, memory is the peak of the process. "One core" is ``--workers 1`` and, for Go's
own background work, one processor. Finding alone is timed by Go's benchmarks of packages cycle and repeat.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

REPOSITORY = Path(__file__).resolve().parents[1]
SCRATCH = REPOSITORY / "build" / "bench" / "cycles"
MIB = 1 << 20

JSON = """
import gzip, json, sys
with gzip.open(sys.argv[1]) as file:
    events = json.load(file)["traceEvents"]
print(sum(event.get("cat") == "kernel" for event in events))
"""
PRLX = """
import sys, time, prlx, prlx._core
prlx._core.run("version", {})  # loads the core
began = time.process_time()
cycles = prlx.find_cycles(sys.argv[1], workers=1, progress=False)
print(cycles.document["input"]["kernels"], time.process_time() - began)
"""
INFLATE = """
import gzip, sys
with gzip.open(sys.argv[1]) as file:
    while file.read(1 << 20):
        pass
print(0)
"""


@dataclass(frozen=True)
class Sample:
    """One run of a program."""

    wall: float
    processor: float
    peak: int
    said: str


def run(program: str, path: Path) -> Sample:
    """Run a program of Python on a file, in a process of its own on one core."""
    started = perf_counter()
    read, write = os.pipe()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", program, str(path)],
        {**os.environ, "GOMAXPROCS": "1"},
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)],
    )
    os.close(write)
    with os.fdopen(read) as output:
        said = output.read().strip()
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"a program ended with status {status} on {path}")
    return Sample(perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, said)


def generate(kernels: int, family: str) -> tuple[Path, int]:
    """A compressed trace, and its bytes before compression."""
    path = SCRATCH / f"{family}_{kernels}.json.gz"
    command = ["go", "run", "./bench/gencycles", "-family", family, "-kernels", str(kernels), "-args", "-o", str(path)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    with gzip.open(path) as file:
        size = 0
        while block := file.read(1 << 22):
            size += len(block)
    return path, size


def reading(kernels: int, family: str, repeats: int) -> None:
    """Reading and finding, beside json and beside decompression alone."""
    path, raw = generate(kernels, family)
    programs = {"inflate (zlib)": INFLATE, "gzip + json (CPython)": JSON, "prlx cycles": PRLX}
    samples: dict[str, list[Sample]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            samples[name].append(run(program, path))
    counted = samples["prlx cycles"][0].said.split()[0]
    assert counted == samples["gzip + json (CPython)"][0].said, "the programs count different kernels"
    count = int(counted)
    print(
        f"{path.name}: {count:,} kernels, {raw / 1e6:,.0f} MB of JSON, {path.stat().st_size / 1e6:,.1f} MB compressed"
    )
    baseline = statistics.median(sample.processor for sample in samples["gzip + json (CPython)"])
    for name, runs in samples.items():
        seconds = statistics.median(sample.processor for sample in runs)
        wall = statistics.median(sample.wall for sample in runs)
        peak = max(sample.peak for sample in runs)
        line = f"  {name:<22} {seconds:7.2f} s CPU {wall:7.2f} s wall {raw / seconds / 1e6:8,.0f} MB/s {peak / MIB:8,.0f} MiB"
        print(line + f" {baseline / seconds:6.1f}x")
    memory(count, max(sample.peak for sample in samples["prlx cycles"]))
    seconds = statistics.median(float(sample.said.split()[1]) for sample in samples["prlx cycles"])
    rate = raw / seconds
    print(
        f"  the call alone, without starting Python: {rate / 1e6:,.0f} MB/s on one core, asked are 400: {verdict(rate >= 4e8)}"
    )


def memory(count: int, peak: int) -> None:
    """Say whether the peak of the process is within what so many kernels may take."""
    allowed = 96 * 1e6 + 48 * count
    line = f"  memory: {peak / 1e6:,.0f} MB, allowed are 96 MB + 48 B a kernel = {allowed / 1e6:,.0f} MB"
    print(f"{line}: {verdict(peak <= allowed)}")


def many(kernels: int, family: str) -> None:
    """A trace with so many kernels that CPython's json could not hold it."""
    path, raw = generate(kernels, family)
    sample = run(PRLX, path)
    count, seconds = sample.said.split()
    rate = raw / float(seconds) / 1e6
    print(f"\n{path.name}: {int(count):,} kernels, {raw / 1e6:,.0f} MB of JSON, {rate:,.0f} MB/s on one core")
    memory(int(count), sample.peak)


def verdict(passed: bool) -> str:
    """A word for a reader who looks for what fails."""
    return "met" if passed else "MISSED"


def go_benchmark(package: str, pattern: str, each: str, *, full: bool) -> list[str]:
    """The lines that Go's benchmarks print."""
    command = f"go test -run ^$ -bench {pattern} -benchtime {each} -timeout 20m ./core/{package}".split()
    environment = {**os.environ, "PRLX_BENCH_FULL": "1" if full else ""}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True)
    return [" ".join(line.split()) for line in done.stdout.splitlines() if line.startswith("Benchmark")]


def finding(*, quick: bool) -> None:
    """What repeats in symbols that are in memory: time for 10^7, memory, and how time grows."""
    print(f"  {'input':<22} {'CPU s for 10^7':>14} {'B a symbol':>11} {'exponent':>9}   asked: at most 2 s, 1.10")
    for line in go_benchmark("cycle/repeat", "Find/multi-prefill" if quick else "Find", "1x", full=not quick):
        name = line.split()[0].removeprefix("BenchmarkFind/").rpartition("-")[0]
        metrics = {unit: float(value) for value, unit in re.findall(r"([\d.]+) (cpu-s/10M|B/symbol|exponent)", line)}
        seconds, slope = metrics["cpu-s/10M"], metrics["exponent"]
        row = f"  {name:<22} {seconds:>14.2f} {metrics['B/symbol']:>11.1f} {slope:>9.2f}"
        print(f"{row}   {verdict(seconds <= 2 and slope <= 1.10)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small files, once")
    options = parser.parse_args()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    print(f"load at the start: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    reading(20_000 if options.quick else 1_000_000, "multi-prefill", 1 if options.quick else 3)
    many(40_000 if options.quick else 10_000_000, "multi-prefill")
    print("\nfinding, kernels in memory (Go benchmarks):")
    finding(quick=options.quick)
    print("\nfinding and comparing with times and statistics (Go benchmarks):")
    lines = go_benchmark(
        "cycle", "TwoThousand" if options.quick else ".", "1x" if options.quick else "3x", full=not options.quick
    )
    print("\n".join(f"  {line}" for line in lines))
    shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()
