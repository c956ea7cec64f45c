"""Measures the simulator beside Triton's own interpreter, on the same kernels in the same minute.

  python bench/simulate.py            some minutes; needs a Triton under build/triton (make bench installs it)
  python bench/simulate.py --before DIR   a checkout of before, with its built extension: its kernels in turn with these
  python bench/simulate.py --quick    small launches: shows that everything here still runs; its figures mean nothing

Scalar kernels are measured in warp instructions a second with two workers, a product of matrices in seconds; the ratio
is one of CPU time, which other programs disturb least. Each figure is the best of several launches in a running process,
compiling left out; results are compared with NumPy. The interpreter (TRITON_INTERPRET=1) runs the kernel's Python on NumPy
arrays: it is given fewer blocks, and its time is scaled by their number.
The times of mma.sync, alone and in a whole product, are Go's benchmarks. A launch is measured with few and with many arrays
registered. Then the same kernels are recorded with and without what they write,
and their recordings are compared with format v1 in zstd.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
ASKED_INSTRUCTIONS = 20e6  # a second, on two cores
ASKED_PRODUCT_S = 3.0
ASKED_MMA_NS = {"m16n8k16.f32.f16": 230.0, "m16n8k32.s8": 540.0}  # a third of 700 and a tenth of 5400 before vectors
ASKED_WHOLE_NS = 650.0  # of a mma.sync in a whole product: a third of 1950
ASKED_WORKERS = 1.7  # cores that two workers keep busy
ASKED_ARRAYS = 1.2  # times the CPU of a launch, with 10,000 arrays in place of 10
ASKED_WRITTEN_CPU = 1.35  # times the CPU of a launch that is recorded without what it writes
ASKED_WRITTEN_BYTES, ASKED_WRITTEN_MORE = 1.6, 4000  # times the bytes of that recording, and as many more
# Bytes of these recordings without what launches write, before events were stored as paths: the goal was set then.
SECTIONS_BYTES = {"add": 1_212_323, "softmax": 297_158, "layernorm": 343_708, "sort": 1_990_821, "matmul": 56_259}


def triton_folder() -> Path:
    """The newest Triton that make has installed."""
    there = [path for path in (REPOSITORY / "build" / "triton").glob("3.*") if (path / "triton").is_dir()]
    if not there:
        raise SystemExit("no Triton under build/triton: make bench installs it")
    return max(there)


def child(
    how: str, *, quick: bool, script: str = "simulated.py", before: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Run the kernels in a process of their own: ``machine`` or ``interpreter``; on the prlx of another checkout."""
    folders = [triton_folder(), REPOSITORY / "tests" / "simulator"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, folders if before is None else [before / "python", *folders])),
        "TRITON_CACHE_DIR": str(REPOSITORY / "build" / "triton" / "cache" / "bench"),
        "TRITON_DEFAULT_FP_FUSION": "1",
    }
    if how == "interpreter":
        environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, str(REPOSITORY / "bench" / script), how, *(["--quick"] if quick else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode != 0:
        raise SystemExit(f"{how} failed:\n{done.stderr[-2000:]}")
    return {row["kernel"]: row for row in map(json.loads, done.stdout.splitlines())}


def measured(bench: str, room: str, unit: str, quick: bool) -> float:
    """The best of three figures of one of Go's benchmarks; the most where it is cores."""
    command = ["go", "test", "-run", "^$", "-bench", bench, "-count", "1" if quick else "3"]
    done = subprocess.run(
        [*command, "-benchtime", "10ms" if quick else "1s", f"./core/simulator/simt{room}"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    found = [float(number) for number in re.findall(rf"([\d.]+) {unit}\b", done.stdout)]
    if not found:
        raise SystemExit(f"no {unit} in:\n{done.stdout}")
    return max(found) if unit == "cores" else min(found)


def show_parts(quick: bool) -> None:
    """Print what products, workers and launches with many arrays cost."""
    print()
    for form, asked in ASKED_MMA_NS.items():
        ns = measured(f"MMA/{form}$", "/lane", "ns/op", quick)
        print(f"mma.sync {form}: {ns:.0f} ns, asked {asked:.0f} ns: {verdict(ns <= asked)}")
    whole = measured("Product$", "", "ns/mma", quick)
    print(
        f"mma.sync in a whole product: {whole:.0f} ns, asked {ASKED_WHOLE_NS:.0f} ns: {verdict(whole <= ASKED_WHOLE_NS)}"
    )
    cores = measured("Workers/2$", "", "cores", quick)
    print(f"two workers keep {cores:.2f} cores busy, asked {ASKED_WORKERS}: {verdict(cores >= ASKED_WORKERS)}")
    few, many = child("machine", quick=quick, script="launches.py").values()
    for name, row in (("a launch", "cpu_us"), ("a launch that is recorded", "recorded_us")):
        line = f"{name} with 10 arrays {few[row]:.0f} us of CPU, with 10,000 {many[row]:.0f} us"
        print(f"{line}, asked {ASKED_ARRAYS}x: {verdict(many[row] <= ASKED_ARRAYS * few[row])}")


def show_recorded(quick: bool) -> None:
    """Print what it costs that recordings say what launches write."""
    print(f"\n{'recorded':<10} {'without':>10} {'with':>10} {'CPU':>6} {'bytes':>10} {'with':>10} {'ratio':>6}")
    for name, row in child("machine", quick=quick, script="recorded.py").items():
        seconds, sizes = row["seconds"], row["bytes"]
        ratio, growth = seconds["with"] / seconds["without"], sizes["with"] / sizes["without"]
        bytes_asked = ASKED_WRITTEN_BYTES * SECTIONS_BYTES.get(name, 0) + ASKED_WRITTEN_MORE
        met = ratio <= ASKED_WRITTEN_CPU and (quick or sizes["with"] <= bytes_asked)
        line = f"{name:<10} {seconds['without']:>8.3f} s {seconds['with']:>8.3f} s {ratio:>5.2f}x"
        line += f" {sizes['without']:>10,} {sizes['with']:>10,} {growth:>5.2f}x"
        print(f"{line}  asked {ASKED_WRITTEN_CPU}x CPU, {bytes_asked:,.0f} bytes: {verdict(met)}")


def show_sizes(quick: bool) -> None:
    """Print how large the events of recordings are in format v2 and in v1 with zstd."""
    print(
        f"\n{'events of recordings':<24} {'events':>9} {'v1, zstd':>12} {'v2':>12} {'ratio':>6} {'v2, whole file':>15}"
    )
    for name, row in child("machine", quick=quick, script="sizes.py").items():
        sizes = f"{row['count']:>9,} {row['v1']:>12,} {row['events']:>12,} {row['v1'] / row['events']:>5.2f}x {row['v2']:>15,}"
        print(f"{name:<24} {sizes}")


def verdict(passed: bool) -> str:
    """A word for a reader who looks for what fails."""
    return "met" if passed else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small launches, once")
    parser.add_argument(
        "--before", type=Path, metavar="DIR", help="a checkout with its built extension to compare with"
    )
    asked_for = parser.parse_args()
    quick, before = asked_for.quick, asked_for.before
    print(
        f"Triton {triton_folder().name}; load at the start: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n",
        flush=True,
    )
    old = child("machine", quick=quick, before=before) if before is not None else {}
    machine, interpreter = child("machine", quick=quick), child("interpreter", quick=quick)
    head = f"{'kernel':<10} {'machine':>10} {'CPU':>9} {'instructions/s':>15} {'interpreter, CPU':>17} {'ratio':>7}"
    print(head)
    for name, row in machine.items():
        beside = interpreter[name]["cpu"]
        rate = row["instructions"] / row["seconds"]
        asked = ""
        if name == "matmul":
            asked = f"  asked {ASKED_PRODUCT_S:.0f} s: {verdict(row['seconds'] <= ASKED_PRODUCT_S)}"
        elif name != "add":
            asked = f"  asked {ASKED_INSTRUCTIONS / 1e6:.0f} M/s: {verdict(rate >= ASKED_INSTRUCTIONS)}"
        line = f"{name:<10} {row['seconds']:>8.3f} s {row['cpu']:>7.3f} s {rate / 1e6:>13.1f} M"
        line += f" {beside:>15.2f} s {beside / row['cpu']:>6.1f}x"
        if old:
            line += f"  before {old[name]['cpu']:.3f} s: {old[name]['cpu'] / row['cpu']:.2f}x"
        print(line + asked, flush=True)
    show_parts(quick)
    show_recorded(quick)
    show_sizes(quick)
    peak = max(row["peak_mib"] for row in machine.values())
    print(f"peak memory of the simulator's process, NumPy, Triton and all arrays included: {peak:.0f} MiB")


if __name__ == "__main__":
    main()
