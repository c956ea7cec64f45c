"""Measures prlx beside XLA's `trace_combiner` and other combiners, on the same inputs in the same minute.

  python bench/run.py            about three minutes and 10 GB of scratch space under build/bench
  python bench/run.py --quick    a few MB: shows that everything here still runs; its figures mean nothing

A child's wall time, processor time and peak memory come from wait4. A rate is input bytes (uncompressed) by wall time, the
median of some runs, start-up of Python and Go included; "per core" divides by processor time, so that it holds on a busy
machine too, where wall times say little (a note says when that is so). What a peer needs (protobuf, viztracer) is taken from
the consumers' environment and built there if it is missing.
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

import inputs

REPOSITORY = inputs.REPOSITORY
SCRATCH = REPOSITORY / "build" / "bench"
VIEWERS = REPOSITORY / "build" / "consumers" / "viewers" / "bin"
MB = 1_000_000
MIB = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    xspace_mb: int
    baseline_mb: int
    kineto_mb: int
    memory_mb: int
    memory_nodes: tuple[int, ...]
    exact_nodes: int
    repeats: int


FULL = Sizes(256, 16, 128, 512, (2, 4, 8), 64, 3)
QUICK = Sizes(2, 1, 1, 2, (2,), 3, 1)


@dataclass(frozen=True)
class Target:
    """A figure that was promised."""

    text: str
    value: float
    bound: float
    below: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.below else self.value >= self.bound


@dataclass(frozen=True)
class Sample:
    """One run of a command."""

    wall: float
    processor: float
    rss: int


@dataclass(frozen=True)
class Figure:
    """The runs of one command on one input."""

    label: str
    size: int
    samples: tuple[Sample, ...]

    @property
    def wall(self) -> float:
        return statistics.median(sample.wall for sample in self.samples)

    @property
    def processor(self) -> float:
        return statistics.median(sample.processor for sample in self.samples)

    @property
    def rss(self) -> int:
        return max(sample.rss for sample in self.samples)

    @property
    def rate(self) -> float:
        return self.size / MB / self.wall

    @property
    def rate_per_core(self) -> float:
        return self.size / MB / self.processor

    def document(self) -> dict:
        return {
            "label": self.label,
            "input_mb": round(self.size / MB, 1),
            "wall_s": [round(sample.wall, 3) for sample in self.samples],
            "processor_s": [round(sample.processor, 3) for sample in self.samples],
            "mb_per_s": round(self.rate, 1),
            "mb_per_s_per_core": round(self.rate_per_core, 1),
            "peak_rss_mib": round(self.rss / MIB, 1),
        }


def run(command: list[object], log: Path) -> Sample:
    """Runs it once; its output goes to a log, shown if it fails."""
    parts = [str(part) for part in command]
    with log.open("wb") as out:
        begin = perf_counter()
        child = subprocess.Popen(parts, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        wall = perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 5):  # 5: prlx is done, and concludes that a clock is not wholly known
        raise SystemExit(f"exit {child.returncode}: {shlex.join(parts)}\n{log.read_text(errors='replace')[-4000:]}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


class Bench:
    """One session: what was measured, and what it is compared with."""

    def __init__(self, sizes: Sizes, prlx: list[str], binary: Path) -> None:
        self.sizes = sizes
        self.prlx = prlx
        self.binary = binary
        self.figures: list[Figure] = []
        self.targets: list[Target] = []
        self.notes: list[str] = []

    def measure(self, label: str, size: int, command: Callable[[Path], list[object]], repeats: int = 0) -> Figure:
        """Some runs of a command that is given a fresh output path each time."""
        out = SCRATCH / "out"
        samples = []
        for _ in range(repeats or self.sizes.repeats):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            samples.append(run(command(out), SCRATCH / "log"))
        shutil.rmtree(out)
        figure = Figure(label, size, tuple(samples))
        self.figures.append(figure)
        show(figure)
        return figure

    def combine(
        self, traces: list[Path], *options: object, output: str, workers: int
    ) -> Callable[[Path], list[object]]:
        return lambda out: [
            *self.prlx, "combine", *traces, *options, "--workers", workers, "--quiet", "-o", out / output,
        ]  # fmt: skip

    # ---- what is measured ----

    def start_up(self) -> None:
        self.measure("prlx version (start-up)", 0, lambda _: [*self.prlx, "version"])

    def speed_of_xspace(self) -> None:
        """Align and combine two nodes; the baseline first, on a size that it can finish."""
        baseline = self.described()
        job = SCRATCH / "xspace"
        traces = inputs.xspace(self.binary, job, nodes=2, megabytes=self.sizes.xspace_mb)
        size = total(traces)
        offsets = ("--offsets", job / "round_offsets.jsonl")
        one = self.measure(
            "prlx, XSpace -> run dir, 1 worker", size,
            self.combine(traces, *offsets, "--format", "run", output="aligned", workers=1),
        )  # fmt: skip
        two = self.measure(
            "prlx, XSpace -> run dir, 2 workers", size,
            self.combine(traces, *offsets, "--format", "run", output="aligned", workers=2),
        )  # fmt: skip
        self.measure(
            "prlx, XSpace -> one file, 2 workers", size,
            self.combine(traces, *offsets, output="combined.xplane.pb", workers=2),
        )  # fmt: skip
        shutil.rmtree(job)
        self.targets += [
            Target("XSpace align + combine, MB/s per core", one.rate_per_core, 300),
            Target("XSpace, two workers over one", one.wall / two.wall, 1.7),
        ]
        if baseline:
            self.notes.append(
                f"XSpace, one core: {one.rate_per_core / baseline.rate_per_core:.0f} x XLA's `trace_combiner`"
            )
            self.notes.append(
                f"memory by input: {one.rss / size:.2f} x (trace_combiner: {baseline.rss / baseline.size:.1f} x)"
            )

    def described(self) -> Figure | None:
        python = peer_python()
        if python is None:
            self.notes.append("XLA's `trace_combiner`: skipped, google.protobuf is not installed")
            return None
        job = SCRATCH / "described"
        traces = inputs.xspace(self.binary, job, nodes=2, megabytes=self.sizes.baseline_mb)
        script = REPOSITORY / "bench" / "described.py"
        figure = self.measure(
            "XLA's `trace_combiner`, XSpace", total(traces),
            lambda out: [python, script, *traces, "--offsets", job / "round_offsets.jsonl", "-o", out / "out.xplane.pb"],
        )  # fmt: skip
        shutil.rmtree(job)
        return figure

    def speed_of_kineto(self) -> None:
        """Two ranks with declared clocks; viztracer merges the same files without aligning them."""
        job = SCRATCH / "kineto"
        traces = inputs.kineto(job, ranks=2, megabytes=self.sizes.kineto_mb)
        size = total(traces)
        declared = ("--declared", inputs.declared(job / "declared.toml", 2))
        peer = self.viztracer(traces)
        one = self.measure(
            "prlx, Kineto JSON, 1 worker", size, self.combine(traces, *declared, output="merged.json", workers=1)
        )
        two = self.measure(
            "prlx, Kineto JSON, 2 workers", size, self.combine(traces, *declared, output="merged.json", workers=2)
        )
        shutil.rmtree(job)
        self.targets += [
            Target("Kineto JSON align + combine, MB/s per core", one.rate_per_core, 250),
            Target("Kineto JSON, two workers over one", one.wall / two.wall, 1.7),
        ]
        if peer:
            self.notes.append(
                f"Kineto JSON, one core: {one.rate_per_core / peer.rate_per_core:.1f} x viztracer --combine"
            )

    def viztracer(self, traces: list[Path]) -> Figure | None:
        tool = VIEWERS / "viztracer"
        if not tool.exists():
            self.notes.append("viztracer --combine: skipped, not installed")
            return None
        small = traces[:1] if total(traces) > 300 * MB else traces
        return self.measure(
            "viztracer --combine (no alignment)", total(small),
            lambda out: [tool, "--combine", *small, "-o", out / "merged.json"], repeats=1,
        )  # fmt: skip

    def memory(self) -> None:
        """More and more nodes of the same size: the peak must not follow."""
        job = SCRATCH / "memory"
        traces = inputs.xspace(self.binary, job, nodes=max(self.sizes.memory_nodes), megabytes=self.sizes.memory_mb)
        options = ("--offsets", job / "round_offsets.jsonl", "--format", "run")
        peaks = {}
        for count in self.sizes.memory_nodes:
            figure = self.measure(
                f"prlx, {count} nodes x {self.sizes.memory_mb} MB -> run dir", total(traces[:count]),
                self.combine(traces[:count], *options, output="aligned", workers=2), repeats=1,
            )  # fmt: skip
            peaks[count] = figure.rss / MIB
        shutil.rmtree(job)
        least, most = min(self.sizes.memory_nodes), max(self.sizes.memory_nodes)
        label = f"peak memory, {most} x {self.sizes.memory_mb} MB, MiB"
        self.targets.append(Target(label, peaks[most], 256, below=True))
        if most > least:
            self.targets.append(
                Target(f"peak memory, {most} nodes over {least}", peaks[most] / peaks[least], 1.2, below=True)
            )

    def exactness(self) -> None:
        """Arithmetic error on noise-free clocks: see exactness.py."""
        python = peer_python()
        if python is None:
            self.notes.append("exactness: skipped, google.protobuf is not installed")
            return
        script = REPOSITORY / "bench" / "exactness.py"
        command = [python, script, "--prlx", shlex.join(self.prlx), "--generator", self.binary, "--scratch", SCRATCH]
        command += ["--nodes", self.sizes.exact_nodes]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"exactness.py: exit {done.returncode}\n{done.stderr[-4000:]}")
        result = json.loads(done.stdout)
        ours, theirs = result["prlx"], result["described"]
        label = f"exactness, {result['nodes']} nodes, {ours['events']} events, largest error in ns"
        self.targets.append(Target(label, ours["against_knots"]["max_ns"], 1, below=True))
        self.notes += [
            f"largest error against the knots: {ours['against_knots']['max_ns']:.3f} ns "
            f"(trace_combiner: {theirs['against_knots']['max_ns']:.1f} ns, mean {theirs['against_knots']['mean_ns']:.1f} ns)",
            f"largest error against the simulated clocks: {ours['against_clocks']['max_ns']:.3f} ns "
            f"(trace_combiner: {theirs['against_clocks']['max_ns']:.1f} ns)",
            f"device events that start with their predecessor: {ours['ties']} (trace_combiner: {theirs['ties']})",
        ]


def total(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def peer_python() -> Path | None:
    """An interpreter with google.protobuf: this one, or the consumers'."""
    for python in (Path(sys.executable), VIEWERS / "python"):
        if python.exists():
            done = subprocess.run([python, "-c", "import google.protobuf"], capture_output=True, check=False)
            if done.returncode == 0:
                return python
    return None


def show(figure: Figure) -> None:
    rate = f"{figure.rate:8.1f} MB/s {figure.rate_per_core:8.1f} per core" if figure.size else " " * 31
    print(
        f"{figure.label:<40} {figure.size / MB:8.1f} MB {figure.wall:8.2f} s {figure.processor:8.2f} cpu-s "
        f"{rate} {figure.rss / MIB:8.1f} MiB",
        flush=True,
    )


def report(bench: Bench, path: Path) -> None:
    print()
    if bench.sizes is QUICK:
        print("quick: everything ran; the figures mean nothing")
    for target in bench.targets if bench.sizes is not QUICK else ():
        sign = "<=" if target.below else ">="
        verdict = "reached" if target.met else "MISSED"
        print(f"{verdict:<8} {target.text}: {target.value:.3g} (target {sign} {target.bound:g})")
    for note in bench.notes:
        print(f"         {note}")
    document = {
        "schema": "prlx.bench/1",
        "figures": [figure.document() for figure in bench.figures],
        "targets": [
            {"text": target.text, "value": round(target.value, 3), "bound": target.bound, "met": target.met}
            for target in bench.targets
        ],
        "notes": bench.notes,
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


PARTS = ("exactness", "xspace", "kineto", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description="speed, memory and exactness beside XLA's `trace_combiner`")
    parser.add_argument("--quick", action="store_true", help="a few MB, only to show that it runs")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part instead of all (repeatable)")
    parser.add_argument("--prlx", default=f"{shlex.quote(sys.executable)} -m prlx", help="the command to measure")
    parser.add_argument("--generator", type=Path, help="a built bench/genxspace (default: build it)")
    arguments = parser.parse_args()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    if not arguments.quick and peer_python() is None:
        setup = REPOSITORY / "tests" / "consumers" / "environments.py"
        subprocess.run([sys.executable, setup, "viewers"], check=False)
    bench = Bench(
        QUICK if arguments.quick else FULL,
        shlex.split(arguments.prlx),
        arguments.generator or inputs.generator(SCRATCH),
    )
    parts = arguments.only or PARTS
    if os.getloadavg()[0] > 1:
        bench.notes.append(
            f"load average {os.getloadavg()[0]:.1f} at the start: wall times and the gain of a second worker are low"
        )
    bench.start_up()
    if "exactness" in parts:
        bench.exactness()
    if "xspace" in parts:
        bench.speed_of_xspace()
    if "kineto" in parts:
        bench.speed_of_kineto()
    if "memory" in parts:
        bench.memory()
    report(bench, SCRATCH / "report.json")


if __name__ == "__main__":
    main()
