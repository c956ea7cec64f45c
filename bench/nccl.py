"""Measures what the recorder of NCCL's events costs and bears, beside NVIDIA's example plug-in, and the reading of recordings.

  python bench/nccl.py            nine runs of each in turn; five minutes
  python bench/nccl.py --quick    one short run of each: shows that everything here still runs

The example is compiled from a checkout of NVIDIA/nccl that PRLX_NCCL_SOURCE names (2.29 or newer), with -O2 and with a header
of ours for the few functions of CUDA that it calls; without it the recorder is measured alone. Recordings go to TMPDIR.

*Cost* is processor time of the calling thread for each of the five callbacks of a proxy step (start, three states, stop), in
bursts that find room, less what the same loop costs with a plug-in that does nothing. *Tail* times single callbacks, each
beside a control that takes as long and touches nothing; *overload* is the same on four threads that never rest. *Paced*
offers a rate from several threads, once to nobody, which shows what the machine can offer, and once to the recorder: what it
lost then, and what processor time its own thread took. A lost call is counted in the recording; tests/nccl hold that the count
is exact.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CUDA = """
#pragma once
typedef void *cudaEvent_t;
typedef void *cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaEventDisableTiming = 2, cudaErrorNotReady = 600 };
static inline cudaError_t cudaEventCreate(cudaEvent_t *e, unsigned = 0) { *e = nullptr; return 0; }
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { *e = nullptr; return 0; }
static inline cudaError_t cudaEventDestroy(cudaEvent_t) { return 0; }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { *ms = 0; return 0; }
static inline cudaError_t cudaEventQuery(cudaEvent_t) { return 0; }
static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return 0; }
"""


def compile_all(folder: Path) -> dict[str, Path]:
    """The recorder, the harness and, where its source is, the example."""
    nccl, replay = REPOSITORY / "runtime/nccl", REPOSITORY / "tests/nccl/replay"
    built = {"prlx": folder / "libnccl-profiler-prlx.so", "replay": folder / "replay"}
    shared = ["-O2", "-fPIC", "-shared"]
    flags = ["-fvisibility=hidden", "-Wl,-z,nodelete,-z,now", f"-Wl,--version-script={nccl / 'exports.map'}"]
    libraries = ["-lpthread", "-ldl"]
    run(["cc", "-std=c11", *shared, *flags, "-o", built["prlx"], *sorted(nccl.glob("*.c")), *libraries])
    run(["cc", "-std=c11", "-O2", "-rdynamic", "-o", built["replay"], *sorted(replay.glob("*.c")), *libraries])
    if source := os.environ.get("PRLX_NCCL_SOURCE"):
        example = Path(source) / "plugins/profiler/example"
        (folder / "cuda_runtime.h").write_text(CUDA)
        built["example"] = folder / "libnccl-profiler-example.so"
        include = [f"-I{folder}", f"-I{example}", f"-I{example / 'nccl'}"]
        run(["c++", "-w", *shared, *include, "-o", built["example"], *sorted(example.glob("*.cc"))])
    return built


def run(command: list[object], **environment: str) -> str:
    """What a command prints."""
    words = [str(word) for word in command]
    setting = {**os.environ, **environment}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=setting, cwd=REPOSITORY)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr}")
    return done.stdout


def lost_in(folder: str) -> int:
    """What the recordings of a folder say was lost: the counters of their heads and of their threads."""
    lost = 0
    for path in Path(folder).glob("*.prlx-nccl"):
        with path.open("rb") as f:
            head = f.read(4096)
            offset, entry, entries = struct.unpack_from("<QII", head, 48)
            lost += sum(struct.unpack_from("<32Q", head, 1280))
            f.seek(offset)
            table = f.read(entry * entries)
        used = min(struct.unpack_from("<I", head, 208)[0], entries)
        lost += sum(sum(struct.unpack_from("<32Q", table, entry * k + 64)) for k in range(used))
    return lost


def measure(built: dict[str, Path], name: str, *mode: object, **environment: str) -> tuple[str, int]:
    """What one run of the harness prints, with files of its own, and how many calls its recording says were lost."""
    with tempfile.TemporaryDirectory() as folder:
        said = run(
            [built["replay"], built[name], *mode],
            PRLX_NCCL_DIR=folder,
            PRLX_NCCL_LEVEL="3",
            PRLX_NCCL_MAX_BYTES="4G",
            NCCL_PROFILE_EVENT_MASK="4095",
            NCCL_PROFILE_DUMP_FILE=f"{folder}/example",
            **environment,
        )
        return said.strip(), lost_in(folder)


def figures(text: str) -> dict[str, float]:
    """``ns a callback 14.6, counter 10.0`` as numbers by name."""
    return {name.strip(", "): float(value) for name, value in re.findall(r"([a-z_ ]+) ([\d.]+)", text)}


def show_cost(built: dict[str, Path], runs: int, events: int) -> None:
    """Medians, and the ratio pair by pair."""
    ours: list[dict[str, float]] = []
    example: list[float] = []
    lost = 0
    for _ in range(runs):
        said, n = measure(built, "prlx", "steps", events)
        ours.append(figures(said))
        lost += n
        if "example" in built:
            theirs = figures(measure(built, "example", "steps", events)[0])
            example.append(theirs["ns a callback"] - theirs["loop"])
    cost = [row["ns a callback"] - row["loop"] for row in ours]
    over = [own - row["counter"] for own, row in zip(cost, ours, strict=True)]
    print(f"cost, medians of {runs} runs of {events:,} callbacks, ns ({lost:,} of all were lost):")
    print(f"  a callback          {statistics.median(cost):6.2f}")
    for name, column in {
        "reading the counter": "counter",
        "clock_gettime": "clock_gettime",
        "the loop alone": "loop",
    }.items():
        print(f"  {name:<19} {statistics.median(row[column] for row in ours):6.2f}")
    print(f"  over the counter    {statistics.median(over):6.2f}")
    print(f"  a masked type       {statistics.median(row['masked'] - row['loop'] for row in ours):6.2f}")
    if example:
        ratios = [own / other for own, other in zip(cost, example, strict=True)]
        print(
            f"  the example         {statistics.median(example):6.2f}, prlx / example {statistics.median(ratios):.2f}"
        )


def show_tail(built: dict[str, Path], runs: int, events: int) -> None:
    """The median of runs, and of what callbacks take beyond the control of their run."""
    rows = []
    for _ in range(runs):
        said, _ = measure(built, "prlx", "tail", events)
        here, control = (int(word) for word in re.findall(r"p99\.99 (\d+)", said))
        involuntary = int(re.findall(r"involuntary (\d+)", said)[0])
        rows.append((here, control, here - control, involuntary))
    here, control, beyond, involuntary = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"tail, medians of {runs} runs of {events:,}: p99.99 {here:.0f} ns, control {control:.0f}, beyond it {beyond:.0f};"
        f" {involuntary:.0f} involuntary switches a run"
    )


def show_load(built: dict[str, Path], quick: bool) -> None:
    """Four threads that never rest, and rates that are offered to nobody and to the recorder."""
    said, lost = measure(built, "prlx", "overload", 4, 10_000 if quick else 4_000_000)
    print(f"overload, 4 threads: {said}; {lost:,} lost")
    seconds = 0.2 if quick else 10
    for threads, rate in ((1, 2_000_000), (2, 2_000_000), (4, 1_000_000), (4, 2_000_000)):
        idle, _ = measure(built, "prlx", "paced", threads, rate, seconds, REPLAY_IDLE="1")
        said, lost = measure(built, "prlx", "paced", threads, rate, seconds)
        print(f"paced, {threads} threads x {rate / 1e6:g} M/s for {seconds} s:")
        print(f"  to nobody    {idle}")
        print(f"  to the recorder {said}; {lost:,} lost")


def show_reading(quick: bool) -> None:
    """The benchmarks of the analyses, in Go: 64 ranks with 20,000 collectives each at level 1, and a file at level 3."""
    size = {} if quick else {"PRLX_NCCL_RANKS": "64", "PRLX_NCCL_TIMES": "20000"}
    for name, times, environment in (("Analysis", 1, size), ("ReadingSteps", 1 if quick else 20, {})):
        room = "./core/nccl/diagnosing"
        said = run(
            ["go", "test", "-run", "^$", "-bench", f"^Benchmark{name}$", "-benchtime", f"{times}x", room], **environment
        )
        for line in said.splitlines():
            if line.startswith("Benchmark"):
                print("reading,", " ".join(line.split()))


def main() -> None:
    """Print everything, and what else the machine was doing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    runs, events = (1, 50_000) if quick else (9, 10_000_000)
    with tempfile.TemporaryDirectory() as folder:
        built = compile_all(Path(folder))
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        show_cost(built, runs, events)
        show_tail(built, runs, events // 10)
        show_load(built, quick)
    show_reading(quick)
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
