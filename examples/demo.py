"""Four real JAX processes whose clocks disagree by up to 43 ms, put on one clock, and the result checked against the truth.

Run by ``make demo``; see ``examples/README.md`` for how the recording was made. Exits with 1 when the result is not as
promised.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import prlx

if TYPE_CHECKING:
    from prlx import CombinedTrace

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "examples" / "jax_p4"
NODES = 4
PROMISED_P50_NS = 1_500
PROMISED_MAX_NS = 4_000


@dataclass(frozen=True)
class Round:
    """One row of a node in the file of round offsets: instants of both clocks, and how far off that can be."""

    node_ns: int
    reference_ns: int
    bound_ns: int


def main() -> int:
    """Solve, combine three ways, print what was found, check it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "demo", help="default: build/demo")
    out: Path = arguments.parse_args().output
    out.mkdir(parents=True, exist_ok=True)

    began = time.monotonic()
    probes = sorted(RECORDING.glob("probes_node*.jsonl"))
    traces = [RECORDING / f"node{k}" / f"node{k}.xplane.pb" for k in range(NODES)]
    offsets = out / "offsets.jsonl"
    prlx.solve_offsets(probes, output=offsets, reference=0, overwrite=True, progress=False)
    written = {
        "run": prlx.combine_traces(
            traces, offsets=offsets, output=out / "run", report=out / "report.html", overwrite=True, progress=False
        ),
        "xplane": prlx.combine_traces(
            traces, offsets=offsets, output=out / "all.xplane.pb", overwrite=True, progress=False
        ),
        "chrome": prlx.combine_traces(
            traces, offsets=offsets, output=out / "all.json.gz", format="chrome", overwrite=True, progress=False
        ),
    }
    seconds = time.monotonic() - began

    run = written["run"]
    print(
        f"{NODES} JAX processes on 4 clocks, aligned by {sum(map(_lines, probes)):,} network probes in {seconds:.1f} s"
    )
    print()
    rounds = {k: read_rounds(offsets, k) for k in range(1, NODES)}
    errors = {k: errors_of(k, rounds.get(k)) for k in range(NODES)}
    show_nodes(run, errors)
    print()
    failures = [*check_collectives(run), *check_errors(errors), *check_status(written)]
    print()
    show_outputs(out)
    for failure in failures:
        print(f"demo: not as promised: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def read_rounds(path: Path, node: int) -> list[Round]:
    """The rows of a node in a file of round offsets. Everything is an integer: at 1.8e18 ns a float is off by 256."""
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if not row.get("meta") and row["node_id"] == node:
            at = row["midpoint_sys_ns"]
            found.append(Round(at + row["offset_ns"], at, row["bound_ns"]))
    return found


def to_reference(rounds: list[Round] | None, node_ns: int) -> tuple[int, int]:
    """An instant of a node's clock on the reference's clock, and the bound on its error, both ns."""
    if rounds is None:  # the reference itself
        return node_ns, 0
    i = bisect_right([r.node_ns for r in rounds], node_ns)
    if not 0 < i < len(rounds):
        raise SystemExit(f"demo: the probes do not cover {node_ns} ns")
    a, b = rounds[i - 1], rounds[i]
    at = a.reference_ns + (b.reference_ns - a.reference_ns) * (node_ns - a.node_ns) // (b.node_ns - a.node_ns)
    return at, max(a.bound_ns, b.bound_ns)


def errors_of(node: int, rounds: list[Round] | None) -> list[tuple[int, int]]:
    """How far corrected instants are from the true time, and their bounds. Node 0's clock was left true in the recording."""
    found = []
    for line in (RECORDING / f"node{node}.pairs.jsonl").read_text().splitlines():
        reading = json.loads(line)  # the clock that the node showed, between two readings of the true one
        true_ns = (reading["true_before_ns"] + reading["true_after_ns"]) // 2
        at, bound = to_reference(rounds, reading["shown_ns"])
        found.append((at - true_ns, bound))
    return found


def show_nodes(run: CombinedTrace, errors: dict[int, list[tuple[int, int]]]) -> None:
    """One line a node."""
    row = "{:<6} {:>12} {:>13} {:>12} {:>25}   {:>10} {:>9}"
    print(row.format("node", "offset", "drift", "bound", "times moved by", "error p50", "max"))
    for k, node in enumerate(run.nodes):
        size = [abs(error) for error, _ in errors[k]]
        measured = (us(statistics.median(size)), us(max(size)))
        if node.id == run.reference:
            print(row.format(node.id, "reference", "", "", "0", *measured))
            continue
        said = node.document
        moved = f"{said['min_correction_ns'] / 1e6:+.3f} .. {said['max_correction_ns'] / 1e6:+.3f} ms"
        found = (f"{said['offset_ns'] / 1e6:+.3f} ms", f"{said['drift_ppm']:+.2f} ppm", us(said["bound_ns"]["max"]))
        print(row.format(node.id, *found, moved, *measured))


def us(ns: float) -> str:
    """Nanoseconds as microseconds."""
    return f"{ns / 1000:.2f} us"


def check_collectives(run: CombinedTrace) -> list[str]:
    """Collectives that were impossible: some node had finished before another began."""
    found = run.collectives
    before, after = found["before"]["violated"], found["after"]["violated"]
    print(f"collectives in impossible order: {before} of {found['groups']} before, {after} after")
    if (found["groups"], before, after) != (240, 238, 0):
        return [f"{before} of {found['groups']} collectives impossible, then {after}; expected 238 of 240, then 0"]
    return []


def check_errors(errors: dict[int, list[tuple[int, int]]]) -> list[str]:
    """The error against the truth, which the solver never saw."""
    moved = [pair for k, pairs in errors.items() if k for pair in pairs]
    sizes = [abs(error) for error, _ in moved]
    p50, largest = statistics.median(sizes), max(sizes)
    outside = sum(abs(error) > bound for error, bound in moved)
    print(f"error against the truth: p50 {us(p50)}, max {us(largest)}, outside its bound {outside} of {len(moved)}")
    failures = []
    if p50 > PROMISED_P50_NS or largest > PROMISED_MAX_NS:
        failures.append(f"error p50 {us(p50)} (<= {us(PROMISED_P50_NS)}), max {us(largest)} (<= {us(PROMISED_MAX_NS)})")
    if outside:
        failures.append(f"{outside} errors are larger than their bound")
    return failures


def check_status(written: dict[str, CombinedTrace]) -> list[str]:
    """Every output is aligned and holds every event."""
    failures = [f"{name} is {made.status}" for name, made in written.items() if made.status != "aligned"]
    if len({tuple(node.events for node in made.nodes) for made in written.values()}) > 1:
        failures.append("the outputs differ in their number of events")
    return failures


def show_outputs(out: Path) -> None:
    """What was written, with the command that opens it."""
    here = Path.cwd()
    shown = out.relative_to(here) if out.is_relative_to(here) else out
    print(f"HTML summary    {shown / 'report.html'}")
    print("                open it in a browser")
    print(f"run directory   {shown / 'run'} (one aligned .xplane.pb a node)")
    view = shown / "view" / "plugins" / "profile"
    print(f"                mkdir -p {view} && cp -r {shown / 'run'} {view}")
    print(f"                xprof --logdir {shown / 'view'}")
    print(f"one XSpace      {shown / 'all.xplane.pb'}")
    print(f"                python -c \"import jax; jax.profiler.ProfileData.from_file('{shown / 'all.xplane.pb'}')\"")
    print(f"one JSON        {shown / 'all.json.gz'}")
    print("                drop it on https://ui.perfetto.dev (it stays in the browser)")


if __name__ == "__main__":
    sys.exit(main())
