"""Measures prlx diff beside original prlx 0.5 (prlx-diff 0.5.1), on the same recordings in the same minute.

  python bench/kernels.py            about a minute and 1 GB of scratch space under build/bench
  python bench/kernels.py --quick    a few warps: shows that everything here still runs; its figures mean nothing

The recordings are generated: 1,024 warps of 4,096 events, a pair for each share of edited events, as v1, as v1 compressed with
zstd and as v2; and one pair as v1 (scattered) with events inserted and deleted alone, in warps that have nothing in common.
Original prlx 0.5 runs as a command; of prlx both the ``diff_traces`` call in a running process and the whole command are
measured, in turn with original prlx 0.5. CPU seconds are user and system time of all threads; medians of several runs. Memory
of a command is its peak, of the call the growth of the peak over the idle process. The floor is what it costs to read both
files and compare their bytes, and nothing else: files of v1 have no digests.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

REPOSITORY = Path(__file__).resolve().parents[1]
SCRATCH = REPOSITORY / "build" / "bench" / "kernels"
ORACLE = REPOSITORY / "build" / "oracle" / "prlx" / "data" / "bin" / "prlx-diff"
MIB = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    warps: int
    events: int
    sparse_warps: int
    repeats: int


FULL = Sizes(1024, 4096, 100_000, 9)
QUICK = Sizes(8, 64, 100, 1)
SHARES = (0.0, 0.001, 0.05)
FASTER = {
    ("v1", 0.0): 1.0,
    ("v1", 0.001): 5.0,
    ("v1", 0.05): 3.0,
    ("scattered", 0.05): 3.0,
    ("zstd", 0.0): 1.5,
    ("zstd", 0.001): 1.5,
    ("zstd", 0.05): 1.5,
}


@dataclass(frozen=True)
class Sample:
    """One run: seconds, CPU seconds, bytes at the peak (commands) or above the idle process (calls)."""

    wall: float
    processor: float
    memory: int


@dataclass(frozen=True)
class Figure:
    """The runs of one program on one pair."""

    samples: tuple[Sample, ...]

    @property
    def wall(self) -> float:
        return statistics.median(sample.wall for sample in self.samples)

    @property
    def processor(self) -> float:
        return statistics.median(sample.processor for sample in self.samples)

    @property
    def memory(self) -> int:
        return max(sample.memory for sample in self.samples)

    def document(self) -> dict[str, list[float]]:
        return {
            "wall_s": [round(sample.wall, 4) for sample in self.samples],
            "processor_s": [round(sample.processor, 4) for sample in self.samples],
            "memory_mib": [round(sample.memory / MIB, 1) for sample in self.samples],
        }


def command(words: list[object], allowed: tuple[int, ...] = (0, 1)) -> Sample:
    """Runs it once; exit code 1 means that the recordings differ."""
    parts = [str(word) for word in words]
    begin = perf_counter()
    child = subprocess.Popen(parts, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in allowed:
        raise SystemExit(f"exit {child.returncode}: {shlex.join(parts)}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


# ---- the running process ----


def serve() -> None:
    """Answers calls from stdin, one JSON list of words a line: what the call took, in this process."""
    import resource

    import prlx

    def status(key: str) -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
        raise KeyError(key)

    def diff(a: str, b: str) -> None:
        prlx.diff_traces(a, b, progress=False)

    def read(path: str) -> None:
        prlx.read_trace(path)

    calls = {"diff": diff, "read": read, "floor": compare_bytes}
    for line in sys.stdin:
        verb, *words = json.loads(line)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        idle = status("VmRSS")
        before, begin = resource.getrusage(resource.RUSAGE_SELF), perf_counter()
        calls[verb](*words)
        wall, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(json.dumps([wall, processor, status("VmHWM") - idle]), flush=True)


def compare_bytes(a: str, b: str) -> None:
    """Reads two files in windows as large as prlx's, and compares them."""
    window = 128 << 10
    left, right = bytearray(window), bytearray(window)
    with Path(a).open("rb", buffering=0) as one, Path(b).open("rb", buffering=0) as other:
        while True:
            got, same = one.readinto(left), other.readinto(right)
            if got != same or left != right:
                raise SystemExit(f"{a} and {b} are not equal")
            if not got:
                return


class Server:
    """A process that has prlx loaded."""

    def __init__(self, python: str, *, environment: dict[str, str] | None = None) -> None:
        self._child = subprocess.Popen(
            [python, str(Path(__file__).resolve()), "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
        )  # fmt: skip

    def call(self, *words: object) -> Sample:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            raise SystemExit(f"the running process died at {words}")
        return Sample(*json.loads(answer))

    def close(self) -> None:
        self._child.communicate()


class Bench:
    """One session."""

    def __init__(self, sizes: Sizes, prlx: list[str], generator: Path) -> None:
        self.sizes = sizes
        self.prlx = prlx
        self.generator = generator
        self.rows: list[dict[str, object]] = []
        self.targets: list[tuple[str, float, float, bool]] = []

    def generate(self, *words: object) -> None:
        subprocess.run([str(self.generator), *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    def pair(self, share: float, kind: str) -> tuple[Path, Path]:
        """Two recordings of which a share of the events is edited; the same share gives the same events in every format."""
        a, b = (SCRATCH / f"{kind}_{share}_{side}.prlx" for side in "ab")
        form = ["-format", "v2"] if kind == "v2" else ["-format", "v1", *(["-compress"] if kind == "zstd" else [])]
        edits = ["-shape", "full", "-kinds", "insert,delete"] if kind == "scattered" else ["-shape", "bench"]
        self.generate(
            "pair", *edits, "-warps", self.sizes.warps, "-events", self.sizes.events, "-share", share, "-seed", 7,
            *form, "-out-a", a, "-out-b", b,
        )  # fmt: skip
        return a, b

    def in_turn(self, runs: dict[str, Callable[[], Sample]]) -> dict[str, Figure]:
        """Each program once, then again: whatever slows the machine slows all of them."""
        for run in runs.values():  # the page cache is warm, and so is the running process
            run()
        samples: dict[str, list[Sample]] = {name: [] for name in runs}
        for _ in range(self.sizes.repeats):
            for name, run in runs.items():
                samples[name].append(run())
        return {name: Figure(tuple(found)) for name, found in samples.items()}

    def compare(self, kind: str, share: float) -> dict[str, Figure]:
        a, b = self.pair(share, kind)
        server = Server(sys.executable)
        runs: dict[str, Callable[[], Sample]] = {
            "call": lambda: server.call("diff", a, b),
            "command": lambda: command([*self.prlx, "diff", a, b, "--quiet"]),
        }
        if kind != "v2":
            runs = {"original": lambda: command([ORACLE, a, b]), **runs}
        if (kind, share) == ("v1", 0.0):
            runs["floor"] = lambda: server.call("floor", a, b)
        figures = self.in_turn(runs)
        server.close()
        sizes = [path.stat().st_size for path in (a, b)]
        for name, figure in figures.items():
            show(f"{kind} {100 * share:g} %", name, figure)
            self.rows.append({"pair": kind, "share": share, "program": name, "bytes": sizes, **figure.document()})
        if kind != "v2":
            self.judge(kind, share, figures)
        for path in (a, b):
            path.unlink()
        return {**figures, "bytes": sizes}  # type: ignore[dict-item]

    def judge(self, kind: str, share: float, figures: dict[str, Figure]) -> None:
        ratio = figures["original"].processor / max(figures["call"].processor, 1e-9)
        self.targets.append((f"{kind} {100 * share:g} %: original CPU over ours", ratio, FASTER[kind, share], False))
        if kind == "scattered":
            self.targets.append(("v1 scattered: our memory, MiB", figures["call"].memory / MIB, 150, True))
        if kind == "v1":
            memory = figures["call"].memory / figures["original"].memory
            self.targets.append((f"v1 {100 * share:g} %: our memory over original", memory, 0.5, True))

    def all(self) -> None:
        found = {}
        for kind in ("v1", "zstd", "v2"):
            for share in SHARES:
                found[kind, share] = self.compare(kind, share)
        self.compare("scattered", SHARES[-1])
        for share in SHARES:
            self.targets.append((f"v2 {100 * share:g} %: our CPU over ours on v1", self.formats(share), 2, True))
        floor = found["v1", 0.0]["floor"].processor
        over = found["v1", 0.0]["call"].processor / max(floor, 1e-9)
        self.targets.append(("v1 0 %: our CPU over reading and comparing bytes", over, 1.4, True))
        small, large = found["v2", 0.0]["bytes"][0], found["v1", 0.0]["bytes"][0]  # type: ignore[index]
        self.targets.append(("bytes of v1 over v2, structured values", large / small, 8, False))
        equal = found["v1", 0.0]["original"].wall / found["v2", 0.0]["call"].wall
        self.targets.append(("equal: original on v1 over ours on v2, wall", equal, 5, False))
        self.sparse()

    def formats(self, share: float) -> float:
        """How many times the CPU that the same events take as v1 they take as v2, both in turn."""
        pairs = {kind: self.pair(share, kind) for kind in ("v1", "v2")}
        server = Server(sys.executable)
        figures = self.in_turn({kind: lambda pair=pair: server.call("diff", *pair) for kind, pair in pairs.items()})
        server.close()
        for pair in pairs.values():
            for path in pair:
                path.unlink()
        return figures["v2"].processor / max(figures["v1"].processor, 1e-9)

    def sparse(self) -> None:
        """A launch of very many warps that record little."""
        a, b = SCRATCH / "sparse_a.prlx", SCRATCH / "sparse_b.prlx"
        self.generate(
            "sparse", "-warps", self.sizes.sparse_warps, "-seed", 7, "-format", "v2", "-out-a", a, "-out-b", b
        )
        server = Server(sys.executable, environment={"PRLX_MEMORY_LIMIT": "512MiB"})
        figures = self.in_turn({"read": lambda: server.call("read", a), "diff": lambda: server.call("diff", a, b)})
        server.close()
        for name, figure in figures.items():
            show(f"{self.sizes.sparse_warps:,} warps", name, figure)
            self.rows.append({"pair": "sparse", "program": name, **figure.document()})
        self.targets += [
            (f"{self.sizes.sparse_warps:,} sparse warps: open, ms", 1000 * figures["read"].wall, 50, True),
            (f"{self.sizes.sparse_warps:,} sparse warps: diff, MiB", figures["diff"].memory / MIB, 512, True),
        ]


def show(pair: str, program: str, figure: Figure) -> None:
    print(
        f"{pair:<14} {program:<10} {figure.wall * 1000:9.1f} ms {figure.processor * 1000:9.1f} cpu-ms "
        f"{figure.memory / MIB:8.1f} MiB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="speed and memory of prlx diff beside original prlx 0.5")
    parser.add_argument("--quick", action="store_true", help="a few warps, only to show that it runs")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--prlx", default=f"{shlex.quote(sys.executable)} -m prlx", help="the command to measure")
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    if not ORACLE.exists():
        raise SystemExit(f"{ORACLE} is missing: run make build/oracle/.ready")
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    generator = SCRATCH / "gentrace"
    subprocess.run(["go", "build", "-o", generator, "./bench/gentrace"], cwd=REPOSITORY, check=True)
    bench = Bench(QUICK if arguments.quick else FULL, shlex.split(arguments.prlx), generator)
    if os.getloadavg()[0] > 1:
        print(f"load average {os.getloadavg()[0]:.1f} at the start: wall times are high")
    bench.all()
    print()
    for text, value, bound, below in bench.targets if not arguments.quick else ():
        met = value <= bound if below else value >= bound
        print(f"{'reached' if met else 'MISSED':<8} {text}: {value:.3g} (target {'<=' if below else '>='} {bound:g})")
    if arguments.quick:
        print("quick: everything ran; the figures mean nothing")
    report = {
        "schema": "prlx.bench-kernels/1",
        "figures": bench.rows,
        "targets": [
            {"text": t, "value": round(v, 4), "bound": b, "met": v <= b if below else v >= b}
            for t, v, b, below in bench.targets
        ],
    }
    (SCRATCH / "report.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
