"""Measures what a CUDA program costs on the simulator: its kernels, its start, its launches.

  python bench/cuda.py           about a minute; needs nvcc of build/nvcc (make build/clang/.ready) and a C compiler
  python bench/cuda.py --quick   small problems: shows that everything here still runs; its figures mean nothing

bench/cuda.cu is the program: a sum of two vectors, a reduction in shared memory, a product of matrices in tiles of shared
memory. Thread instructions are counted by the simulator (a warp instruction of 32 lanes is 32). The processor time is that
of all processes of the run, less that of a run of one small launch, whose excess over the program alone is what a start
costs. A launch is timed in the program, in bursts of 100 that end by waiting, the median of bursts: on a device that answers
launches at once, and of a kernel that does nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from prlx._program import DRIVER, environment

REPOSITORY = Path(__file__).resolve().parents[1]
NVCC = REPOSITORY / "build" / "nvcc" / "nvidia" / "cu13" / "bin" / "nvcc"
ASKED_PER_CPU_S, ASKED_PER_S, ASKED_START_MS, ASKED_LAUNCH_US = 300e6, 500e6, 150.0, 20.0
SIZES = {"vectorAdd": 16_000_000, "reduction": 64_000_000, "matrixMul": 512}
QUICK = {"vectorAdd": 1000, "reduction": 1000, "matrixMul": 32}

# Stands between a program and its device, and answers launches by itself. Words of the command of the device come first.
_NULL = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

static int all(int fd, char *at, size_t n, int out) {
  for (; n;) {
    ssize_t done = out ? write(fd, at, n) : read(fd, at, n);
    if (done <= 0) return 0;
    at += done, n -= done;
  }
  return 1;
}

int main(int argc, char **argv) {
  static char body[1 << 26], answer[] = "....\0{\"findings\":[],\"instructions\":0,\"output\":\"\"}";
  uint32_t n = sizeof answer - 5, head[3];
  int ends[2], program = atoi(argv[argc - 4]);
  char number[16];
  memcpy(answer, &n, 4);
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  if (!fork()) {
    close(ends[0]), close(program);
    snprintf(number, sizeof number, "%d", ends[1]);
    argv[argc - 4] = number;
    execv(argv[1], argv + 1);
    _exit(127);
  }
  close(ends[1]);
  while (all(program, (char *)head, 12, 0) && all(program, body, head[1] + head[2], 0)) {
    if (head[1] == 15 && !memcmp(body, "simulate_launch", 15)) {
      all(program, answer, 4 + n, 1);
      continue;
    }
    all(ends[0], (char *)head, 12, 1), all(ends[0], body, head[1] + head[2], 1);
    uint32_t length;
    if (!all(ends[0], (char *)&length, 4, 0) || !all(ends[0], body, length, 0)) return 1;
    all(program, (char *)&length, 4, 1), all(program, body, length, 1);
  }
  return 0;
}
"""


def spent(command: Sequence[object], environ: dict[str, str], cores: set[int]) -> tuple[float, float, str]:
    """Run a command: its wall seconds, the processor time of all its processes, and what it printed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [*map(str, command)], env=environ, capture_output=True, text=True, check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    wall = time.monotonic() - begin
    while True:  # devices outlive their programs a little
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def simulate(program: Path, cores: set[int], *words: object) -> tuple[float, float, int]:
    """Run the program on the simulator: wall seconds, processor time, thread instructions."""
    command = [sys.executable, "-m", "prlx", "simulate", "--json", "--workers", len(cores), "--", program, *words]
    wall, cpu, text = spent(command, dict(os.environ), cores)
    report = json.loads(text)
    assert (report["findings"], report["exit_status"]) == ([], 0), report
    return wall, cpu, sum(kernel["lane_instructions"] for kernel in report["kernels"])


def build(folder: Path) -> tuple[Path, Path]:
    """The program, and the device that answers launches by itself."""
    program, null = folder / "program", folder / "null"
    words = [NVCC, "-arch=compute_80", "-O2", "-std=c++17", "-lineinfo", "-cudart", "shared", "-o", program]
    subprocess.run([*map(str, words), str(Path(__file__).with_name("cuda.cu"))], check=True)
    (folder / "null.c").write_text(_NULL)
    subprocess.run(["cc", "-O2", "-w", "-o", str(null), str(folder / "null.c")], check=True)
    return program, null


def launches(program: Path, null: Path | None, count: int, folder: Path, cores: set[int]) -> float:
    """Microseconds of a launch, on the simulator or where launches are answered at once."""
    environ = environment(folder, dict(os.environ))
    if null is not None:
        environ["PRLX_CUDA_DEVICE"] = f"{null}\n{environ['PRLX_CUDA_DEVICE']}"
    return float(spent([program, "launches", count], environ, cores)[2].split()[0])


def say(what: str, figure: float, unit: str, asked: float, *, most: bool) -> None:
    """Print a figure, and whether it is what was asked."""
    met = figure <= asked if most else figure >= asked
    print(f"{what:56} {figure:9.1f} {unit:5} asked {'<=' if most else '>='} {asked:g}: {'met' if met else 'MISSED'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small problems: shows that everything here still runs")
    parser.add_argument("--times", type=int, default=3, help="runs of which the median counts")
    options = parser.parse_args()
    if not NVCC.is_file():
        sys.exit("no nvcc (make build/clang/.ready)")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each start compiles what was changed since
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: devices that programs leave behind are ours to wait for
    sizes, times = (QUICK, 1) if options.quick else (SIZES, options.times)
    every = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as made:
        program, null = build(folder := Path(made))
        own = {**os.environ, "LD_LIBRARY_PATH": str(DRIVER), "PRLX_CUDA_DEVICE": "/bin/false"}
        alone = statistics.median(spent([program, "alone"], own, {every[0]})[1] for _ in range(2 * times + 1))
        print(f"the program alone: {1e3 * alone:.0f} ms of processor time")
        for cores in ({every[0]}, set(every[:2])):
            runs = [simulate(program, cores, "start") for _ in range(2 * times + 1)]
            idle_wall, idle_cpu = (statistics.median(run[i] for run in runs) for i in (0, 1))
            rates = []
            for name, size in sizes.items():
                pairs = []
                for _ in range(times):
                    wall, cpu, count = simulate(program, cores, name, size)
                    pairs.append(count / max((cpu - idle_cpu) if len(cores) == 1 else (wall - idle_wall), 1e-3))
                rates.append(statistics.median(pairs))
                print(f"  {name} {size}, {len(cores)} cores: {rates[-1] / 1e6:.0f} M thread instructions a second")
            if len(cores) == 1:
                say(
                    "thread instructions, one core, processor time",
                    statistics.mean(rates) / 1e6,
                    "M/s",
                    ASKED_PER_CPU_S / 1e6,
                    most=False,
                )
                say(
                    "a start beyond the program's own, processor time",
                    1e3 * (idle_cpu - alone),
                    "ms",
                    ASKED_START_MS,
                    most=True,
                )
            elif len(every) > 1:
                say(
                    "thread instructions, two cores, wall time",
                    statistics.mean(rates) / 1e6,
                    "M/s",
                    ASKED_PER_S / 1e6,
                    most=False,
                )
        count = 100 if options.quick else 5000
        figure = statistics.median(launches(program, null, count, folder, set(every)) for _ in range(times))
        say("a launch, answered at once", figure, "us", ASKED_LAUNCH_US, most=True)
        figure = statistics.median(launches(program, None, count, folder, set(every)) for _ in range(times))
        print(f"a launch of a kernel that does nothing, run and reported: {figure:.1f} us")


if __name__ == "__main__":
    main()
