"""What prlx made of a skewed recording, beside what is true about it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import recordings

COLLECTIVES = ("psum_invariant.7", "all_gather.7", "reduce_scatter.7", "ppermute.3")
NODE = re.compile(r"node(\d+)")


@dataclass(frozen=True)
class Aligned:
    """One output of prlx combine."""

    recording: recordings.Skewed
    document: dict
    path: Path

    @property
    def files(self) -> list[Path]:
        """Its XSpace files in the order in which xprof lists them."""
        return sorted(self.path.rglob("*.xplane.pb")) if self.path.is_dir() else [self.path]

    def bounds_ns(self) -> dict[int, float]:
        """The largest error that the document admits, by node."""
        return {node_number(node["id"]): node["bound_ns"]["max"] for node in self.document["nodes"]}


def node_number(text: object) -> int:
    """The node that a file name, a process name or a node id speaks of."""
    found = NODE.search(str(text))
    return int(found.group(1)) if found else int(str(text))


def raw_true_ns(recording: recordings.Skewed, profiles: list[dict]) -> dict[int, dict[str, list[int]]]:
    """{node: {collective: true start of its k-th occurrence}} from the untouched files."""
    out = {}
    for node, profile in zip(recording.nodes, profiles, strict=True):
        task = next(plane for plane in profile["planes"] if plane["name"] == "Task Environment")
        base = task["stats"]["profile_start_time"]
        starts = starts_by_name(event for plane in profile["planes"] for event in plane_events(plane))
        out[node] = {
            name: [recording.true_ns(node, base + round(start)) for start in starts[name]] for name in COLLECTIVES
        }
    return out


def plane_events(plane: dict) -> list[tuple[str, float]]:
    """(name, start in ns) of every event of a plane."""
    return [(name, start) for line in plane["lines"] for name, start, _ in line["events"]]


def view_events(view: dict, node_of_process: dict[str, int]) -> dict[int, list[tuple[str, float]]]:
    """{node: (name, start in ns)} of a trace viewer document."""
    out = defaultdict(list)
    for process, _, start_ps, _, name in view["events"]:
        out[node_of_process[str(process)]].append((name, start_ps / 1000))
    return out


def starts_by_name(events: object) -> dict[str, list[float]]:
    """{collective: sorted starts}."""
    out: dict[str, list[float]] = defaultdict(list)
    for name, start in events:
        if name in COLLECTIVES:
            out[name].append(start)
    return {name: sorted(starts) for name, starts in out.items()}


def errors_ns(
    true: dict[int, dict[str, list[int]]], shown: dict[int, list[tuple[str, float]]]
) -> dict[int, list[float]]:
    """{node: error of each collective's start}, with the zero of the output taken from node 0, whose clock is true."""
    shift = {}
    for node, events in shown.items():
        starts = starts_by_name(events)
        shift[node] = []
        for name in COLLECTIVES:
            assert len(starts[name]) == len(true[node][name]), f"node {node}: {name}"
            pairs = zip(starts[name], true[node][name], strict=True)
            shift[node] += [instant - (start - true[0][COLLECTIVES[0]][0]) for instant, start in pairs]
    assert sorted(shift) == sorted(true), f"nodes shown: {sorted(shift)}, recorded: {sorted(true)}"
    zero = sorted(shift[0])[len(shift[0]) // 2]
    return {node: [value - zero for value in values] for node, values in shift.items()}
