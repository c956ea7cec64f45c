"""Measures what the recorder of NCCL's events costs a callback, beside NVIDIA's example plug-in.

  python bench/nccl.py            nine runs of each in turn; a minute
  python bench/nccl.py --quick    one short run of each: shows that everything here still runs

The example is compiled from a checkout of NVIDIA/nccl that PRLX_NCCL_SOURCE names (2.29 or newer), with -O2 and with a header
of ours for the few functions of CUDA that it calls; without it the recorder is measured alone. Times are processor time of the
calling thread: the five callbacks of a proxy step (start, three states, stop). What the loop costs without a plug-in is in the
cost of a masked type, and is taken off in the line below. Single callbacks are timed beside the same loop without them,
on one thread and in a flood of four; then four threads offer two million calls a second each, and losses are counted.
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
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
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


def measure(built: dict[str, Path], name: str, *mode: object) -> str:
    """One run of the harness, with files of its own."""
    with tempfile.TemporaryDirectory() as folder:
        said = run(
            [built["replay"], built[name], *mode],
            PRLX_NCCL_DIR=folder,
            PRLX_NCCL_LEVEL="3",
            PRLX_NCCL_MAX_BYTES="4G",
            NCCL_PROFILE_EVENT_MASK="4095",
            NCCL_PROFILE_DUMP_FILE=f"{folder}/example",
        )
        return said if mode[0] in ("steps", "tail") else f"{said.strip()}; {lost_in(folder)} lost\n"


def figures(text: str) -> dict[str, float]:
    """``ns a callback 14.6, counter 10.0`` as numbers by name."""
    return {name.strip(", "): float(value) for name, value in re.findall(r"([a-z_ ]+) ([\d.]+)", text)}


def main() -> None:
    """Print medians, and the ratio pair by pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    runs, events = (1, 50_000) if quick else (9, 10_000_000)
    with tempfile.TemporaryDirectory() as folder:
        built = compile_all(Path(folder))
        ours: list[dict[str, float]] = []
        example: list[float] = []
        for _ in range(runs):
            ours.append(figures(measure(built, "prlx", "steps", events)))
            if "example" in built:
                example.append(figures(measure(built, "example", "steps", events))["ns a callback"])
        print(f"load {os.getloadavg()[0]:.1f}, medians of {runs} runs of {events:,} callbacks, ns:")
        for name in ours[0]:
            print(f"  {name:<16} {statistics.median(row[name] for row in ours):6.2f}")
        if example:
            ratios = [row["ns a callback"] / other for row, other in zip(ours, example, strict=True)]
            print(
                f"  example          {statistics.median(example):6.2f}   prlx / example {statistics.median(ratios):.2f}"
            )
        masked = statistics.median(row["masked"] - row["loop"] for row in ours)
        print(f"  masked, less the loop {masked:.2f}")
        print(measure(built, "prlx", "tail", events // 10), end="")
        print("flood:", measure(built, "prlx", "overload", 4, events // 5), end="")
        print("paced:", measure(built, "prlx", "paced", 4, 2_000_000, 0.2 if quick else 10), end="")


if __name__ == "__main__":
    main()
