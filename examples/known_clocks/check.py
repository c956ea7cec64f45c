"""Aligns a recorded set by its collectives alone and compares every event with the truth.

    python check.py recorded

It prints the error of the events of each node, the bound that they state, and how many lie outside of it: none should.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import prlx

BOUND = "timestamp_bound_ns"


def events(path: Path) -> Iterator[tuple[str, int, int, int]]:
    """The events of a combined JSON: node, start, end, and the bound that it states, in ns; -1 where it states none."""
    document = json.loads(path.read_text(), parse_float=Decimal)
    base = document.get("baseTimeNanoseconds", 0)
    nodes = {pid: node["id"] for node in document["prlxAlignment"]["nodes"] for pid in node["processes"]}
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and event["pid"] in nodes:
            start = base + int(Decimal(event["ts"]) * 1000)
            bound = (event.get("args") or {}).get(BOUND, -1)
            yield nodes[event["pid"]], start, start + int(Decimal(event["dur"]) * 1000), bound


def number(node: str) -> int:
    """The number in the name of a node."""
    return int(re.sub(r"\D", "", node))


class Clock:
    """A clock whose error is known: truth.json says how it was set."""

    def __init__(self, known: dict[str, int]) -> None:
        self.known = known

    def shown(self, true: int) -> int:
        """What it shows at a true instant."""
        known = self.known
        late = (true - known["anchor_ns"]) * known["drift_ppb"] // 10**9
        step = known["step_ns"] if true >= known["step_at_ns"] else 0
        return true + known["offset_ns"] + late + step

    def true(self, shown: int) -> int:
        """The true instant at which it shows this."""
        true = shown
        for _ in range(8):
            true += shown - self.shown(true)
        return true


def main(folder: Path) -> int:
    """Align, compare, print; 1 where an event is further off than it says."""
    clocks = [Clock(known) for known in json.loads((folder / "truth.json").read_text())["nodes"]]
    errors: dict[str, list[int]] = {}
    bounds: dict[str, list[int]] = {}
    outside = 0
    with tempfile.TemporaryDirectory() as out:
        raw, aligned = Path(out) / "raw.json", Path(out) / "aligned.json"
        prlx.combine_traces(folder, output=raw, format="chrome", apply_alignment=False, progress=False)
        result = prlx.combine_traces(
            folder, output=aligned, format="chrome", method="collectives", bound_stat=True, progress=False
        )
        print(result.verdict)
        reference = clocks[number(result.reference)]
        for (node, *shown), (same, *placed, bound) in zip(
            (one[:3] for one in events(raw)), events(aligned), strict=True
        ):
            assert node == same
            clock = clocks[number(node)]
            for at, put in zip(shown, placed, strict=True):
                error = abs(put - reference.shown(clock.true(at)))
                errors.setdefault(node, []).append(error)
                bounds.setdefault(node, []).append(bound)
                outside += error > bound + 2
    for node in sorted(errors):
        error, bound = sorted(errors[node]), sorted(bounds[node])
        print(
            f"{node}: {len(error) // 2} events, error p50 {error[len(error) // 2] / 1e3:.1f} us, max {error[-1] / 1e3:.1f} us; "
            f"bound p50 {bound[len(bound) // 2] / 1e3:.1f} us, max {bound[-1] / 1e3:.1f} us"
        )
    print(f"{outside} of {sum(map(len, errors.values()))} instants lie outside the bound that their event states")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
