"""How exact each computes: XLA's `trace_combiner` (float64) and prlx on noise-free clocks, against exact fractions.

Every event of every node is compared with two truths: the piecewise-linear map through the given knots (snapshot pairs and
round offsets), evaluated in rational arithmetic, which is what an aligner is asked for; and the clocks that the generator
simulated, which knots in whole nanoseconds can only meet to a nanosecond or two.

  exactness.py --prlx "python -m prlx" --generator BINARY --scratch DIR [--nodes 64] [--megabytes 0.05]

Prints one JSON document. Needs google.protobuf, through described.py.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import described
import inputs

PPB = 1_000_000_000


class Node:
    """What the generator and the clock files say about one node."""

    def __init__(self, number: int, epoch: int, truth: dict, clocks: described.Clocks, raw: object) -> None:
        self.number = number
        self.truth = truth
        self.epoch = epoch
        self.raw = raw
        self.start_tracer = clocks.start_tracer[number]
        self.session = session_start(raw)
        self.to_wall = knots(snapshot_pairs(raw, self.session))
        self.to_reference = knots(clocks.to_reference[number])

    def mapped(self, tracer_ns: Fraction) -> Fraction:
        """Tracer time on the reference's wall clock by the knots."""
        return interpolate(self.to_reference, interpolate(self.to_wall, tracer_ns))

    def clock_truth(self, tracer_ns: Fraction) -> Fraction:
        """The same by the simulated clocks; node 0's wall clock is true time."""
        elapsed = (tracer_ns - self.truth["r0_ns"]) / (1 + Fraction(self.truth["gpu_drift_ppb"], PPB))
        return self.epoch + elapsed


def session_start(space: object) -> int:
    """profile_start_time of the Task Environment plane."""
    (plane,) = [plane for plane in space.planes if plane.name == "Task Environment"]
    (key,) = [entry.key for entry in plane.stat_metadata if entry.value.name == "profile_start_time"]
    (value,) = [stat.uint64_value for stat in plane.stats if stat.metadata_id == key]
    return value


def snapshot_pairs(space: object, session: int) -> list[tuple[int, int]]:
    """(tracer, wall) in whole ns, as the plane says them: line base and offset on the session's start."""
    pairs = []
    for plane in space.planes:
        if plane.name == described.SNAPSHOT_PLANE:
            for line in plane.lines:
                for event in line.events:
                    (stat,) = event.stats
                    wall = session + line.timestamp_ns + event.offset_ps // 1000
                    pairs.append((stat.uint64_value or stat.int64_value, wall))
    return pairs


def knots(pairs: list[tuple[Fraction, Fraction]]) -> tuple[list[Fraction], list[Fraction]]:
    ordered = sorted(set(pairs))
    return [x for x, _ in ordered], [y for _, y in ordered]


def interpolate(points: tuple[list[Fraction], list[Fraction]], x: Fraction) -> Fraction:
    xs, ys = points
    if len(xs) == 1:
        return x + ys[0] - xs[0]
    right = min(max(bisect_right(xs, x), 1), len(xs) - 1)
    x0, x1, y0, y1 = xs[right - 1], xs[right], ys[right - 1], ys[right]
    return y0 + (x - x0) * Fraction(y1 - y0) / (x1 - x0)


def device_lines(space: object) -> Iterator[object]:
    for plane in space.planes:
        if "/device:GPU:" in plane.name and "_misc_" not in plane.name:
            yield from plane.lines


def starts_ps(space: object) -> list[int]:
    """Start of every device event, in stored order, on the file's own zero."""
    return [line.timestamp_ns * 1000 + event.offset_ps for line in device_lines(space) for event in line.events]


def host_zero_ns(node: Node, space: object) -> int:
    """The output's zero on the reference's wall clock, from the reference's own host events, which nothing moves."""
    (before,) = [line for plane in node.raw.planes if plane.name == described.HOST_PLANE for line in plane.lines]
    (after,) = [line for plane in space.planes if plane.name == described.HOST_PLANE for line in plane.lines]
    zeros = {
        node.session * 1000 + before.timestamp_ns * 1000 + a.offset_ps - (after.timestamp_ns * 1000 + b.offset_ps)
        for a, b in zip(before.events, after.events, strict=True)
    }
    (zero,) = zeros  # more than one: the reference's own events were moved
    return zero // 1000


class Errors:
    """Largest and mean distance from a truth, in ns."""

    def __init__(self) -> None:
        self.largest = Fraction(0)
        self.total = 0.0
        self.count = 0

    def add(self, value: Fraction) -> None:
        self.largest = max(self.largest, abs(value))
        self.total += float(abs(value))
        self.count += 1

    def document(self) -> dict:
        return {"max_ns": round(float(self.largest), 4), "mean_ns": round(self.total / max(self.count, 1), 4)}


def compare(nodes: list[Node], outputs: list[object], zero_ns: int) -> dict:
    """Errors of one algorithm, and how many starts it put on the same instant as their predecessor's."""
    by_knots, by_clocks, pileups = Errors(), Errors(), 0
    for node, space in zip(nodes, outputs, strict=True):
        raw = [event.offset_ps for line in device_lines(node.raw) for event in line.events]
        got = starts_ps(space)
        assert len(raw) == len(got), f"node {node.number}: {len(got)} events of {len(raw)}"
        previous = None
        for offset_ps, start_ps in zip(raw, got, strict=True):
            tracer = node.start_tracer + Fraction(offset_ps, 1000)
            shown = zero_ns + Fraction(start_ps, 1000)
            by_knots.add(shown - node.mapped(tracer))
            by_clocks.add(shown - node.clock_truth(tracer))
            pileups += start_ps == previous
            previous = start_ps
    return {
        "events": by_knots.count,
        "against_knots": by_knots.document(),
        "against_clocks": by_clocks.document(),
        "ties": pileups,
    }


def split(combined: object, count: int) -> list[object]:
    """The planes of an output of XLA's `trace_combiner`, a node each again."""
    spaces = [described.messages()["XSpace"]() for _ in range(count)]
    for plane in combined.planes:
        if plane.name.startswith("/device:GPU:") and "_misc_" not in plane.name and plane.id < 10_000:
            spaces[(plane.id - 100) // 64].planes.add().CopyFrom(plane)
    return spaces


def main() -> None:
    parser = argparse.ArgumentParser(description="arithmetic error of XLA's `trace_combiner` and of prlx")
    parser.add_argument("--prlx", required=True)
    parser.add_argument("--generator", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--megabytes", type=float, default=0.05)
    arguments = parser.parse_args()

    job = arguments.scratch / "exactness"
    traces = inputs.xspace(arguments.generator, job, nodes=arguments.nodes, megabytes=arguments.megabytes, gpus=1)
    truth = json.loads((job / "truth.json").read_text())
    offsets = job / "round_offsets.jsonl"
    clocks = described.Clocks(offsets)
    nodes = [
        Node(number, truth["epoch_ns"], node, clocks, described.read(path))
        for number, (node, path) in enumerate(zip(truth["nodes"], traces, strict=True))
    ]

    theirs = split(described.combine(traces, offsets), len(nodes))
    out = arguments.scratch / "exactness_aligned"
    command = [
        *shlex.split(arguments.prlx),
        "combine",
        *traces,
        "--offsets",
        offsets,
        "--format",
        "run",
        "-o",
        out,
        "-q",
    ]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    files = {path.name: path for path in out.rglob("*.xplane.pb")}
    ours = [described.read(files[f"node{number}.xplane.pb"]) for number in range(len(nodes))]

    document = {
        "nodes": len(nodes),
        "described": compare(nodes, theirs, clocks.start_wall[0]),
        "prlx": compare(nodes, ours, host_zero_ns(nodes[0], ours[0])),
    }
    print(json.dumps(document))


if __name__ == "__main__":
    main()
