"""XLA's `trace_combiner` in plain Python: the baseline that prlx is measured against, not a tool to use.

It does what the trace_alignment document and the script it describes do, in the way they do it: whole files in memory as
protobuf messages, a Python loop over events, absolute nanoseconds in float64, the "+1 ns" guard, the naming of that
script. It was written from the facts about them, not from their code. Known faults of theirs that have nothing to do with
arithmetic or speed (unreachable rounds used as real ones, host planes mistaken for tracer time) are left out, so that
the comparison is about what is being compared.

  described.py -o OUT.xplane.pb --offsets round_offsets.jsonl NODE0.xplane.pb NODE1.xplane.pb ...

Needs google.protobuf. The messages are made here from field numbers; there is no generated code.
"""

from __future__ import annotations

import argparse
import json
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path

SNAPSHOT_PLANE, SNAPSHOT_STAT = "/host:snapshots", "rocm_ns"
HOST_PLANE, DEVICE_PREFIX = "/host:CPU", "/device:GPU:"

# message: field: (number, type, repeated). Types: a scalar of protobuf, another message, or int64 -> message for a map.
SCHEMA = {
    "XSpace": {
        "planes": (1, "XPlane", True),
        "errors": (2, "string", True),
        "warnings": (3, "string", True),
        "hostnames": (4, "string", True),
    },
    "XPlane": {
        "id": (1, "int64", False),
        "name": (2, "string", False),
        "lines": (3, "XLine", True),
        "event_metadata": (4, "EventMetadataEntry", True),
        "stat_metadata": (5, "StatMetadataEntry", True),
        "stats": (6, "XStat", True),
    },
    "XLine": {
        "id": (1, "int64", False),
        "name": (2, "string", False),
        "timestamp_ns": (3, "int64", False),
        "events": (4, "XEvent", True),
        "duration_ps": (9, "int64", False),
        "display_id": (10, "int64", False),
        "display_name": (11, "string", False),
    },
    "XEvent": {
        "metadata_id": (1, "int64", False),
        "offset_ps": (2, "int64", False),
        "duration_ps": (3, "int64", False),
        "stats": (4, "XStat", True),
        "num_occurrences": (5, "int64", False),
    },
    "XStat": {
        "metadata_id": (1, "int64", False),
        "double_value": (2, "double", False),
        "uint64_value": (3, "uint64", False),
        "int64_value": (4, "int64", False),
        "str_value": (5, "string", False),
        "bytes_value": (6, "bytes", False),
        "ref_value": (7, "uint64", False),
    },
    "EventMetadataEntry": {"key": (1, "int64", False), "value": (2, "Metadata", False)},
    "StatMetadataEntry": {"key": (1, "int64", False), "value": (2, "Metadata", False)},
    "Metadata": {"id": (1, "int64", False), "name": (2, "string", False)},  # the rest stays in unknown fields
}


@cache
def messages() -> dict[str, type]:
    """Classes for the messages of SCHEMA."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="described.proto", package="described", syntax="proto2")
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated) in fields.items():
            entry = message.field.add(name=field, number=number)
            entry.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind in SCHEMA:
                entry.type, entry.type_name = kinds.TYPE_MESSAGE, f".described.{kind}"
            else:
                entry.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"described.{name}")) for name in SCHEMA}


def read(path: Path) -> object:
    """A whole file as one message."""
    space = messages()["XSpace"]()
    space.ParseFromString(path.read_bytes())
    return space


# ---- clocks: float64, absolute ----


def piecewise(points: list[tuple[float, float]]) -> Callable[[float], float]:
    """Linear between neighbours, the outer segments extended without limit."""
    points = sorted((float(x), float(y)) for x, y in points)
    if not points:
        return lambda t: t
    if len(points) == 1:
        shift = points[0][1] - points[0][0]
        return lambda t: t + shift
    xs = [x for x, _ in points]

    def at(t: float) -> float:
        right = min(max(bisect_right(xs, t), 1), len(points) - 1)
        (x0, y0), (x1, y1) = points[right - 1], points[right]
        if x1 == x0:
            return y0
        return y0 + (t - x0) * (y1 - y0) / (x1 - x0)

    return at


class Clocks:
    """What round_offsets.jsonl says about every node."""

    def __init__(self, path: Path) -> None:
        self.start_wall: dict[int, int] = {}
        self.start_tracer: dict[int, int] = {}
        self.to_reference: dict[int, list[tuple[Fraction, Fraction]]] = {}
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if row.get("meta"):
                for node in row["nodes"]:
                    self.start_wall[node["node_id"]] = node["start_walltime_ns"]
                    self.start_tracer[node["node_id"]] = node["start_gpu_ns"]
                continue
            reference = row.get("midpoint_sys_ns")
            if reference is None:
                reference = Fraction(row["window_start_ns"] + row["window_end_ns"], 2)  # float64 where it is used
            middle = reference + row["offset_ns"]
            self.to_reference.setdefault(row["node_id"], []).append((middle, reference))


def snapshots(space: object, start_wall: int) -> list[tuple[float, float]]:
    """(tracer ns, wall ns) pairs of the snapshot plane."""
    pairs = []
    for plane in space.planes:
        if plane.name == SNAPSHOT_PLANE:
            (stat,) = [entry.key for entry in plane.stat_metadata if entry.value.name == SNAPSHOT_STAT]
            for line in plane.lines:
                for event in line.events:
                    tracer = next(s.uint64_value or s.int64_value for s in event.stats if s.metadata_id == stat)
                    pairs.append((tracer, start_wall + event.offset_ps / 1000))
    return pairs


# ---- combining ----


def combine(traces: list[Path], offsets: Path) -> object:
    """All nodes in one message, on node 0's wall clock."""
    clocks = Clocks(offsets)
    combined = messages()["XSpace"]()
    misc = 0
    for node, path in enumerate(traces):
        space = read(path)
        pairs = snapshots(space, clocks.start_wall[node])
        to_wall = piecewise(pairs)
        to_reference = piecewise(clocks.to_reference.get(node, []))
        correct = len(pairs) >= 2 and bool(clocks.to_reference.get(node))
        for hostname in space.hostnames:
            if hostname not in combined.hostnames:
                combined.hostnames.append(hostname)
        for plane in space.planes:
            copy = combined.planes.add()
            copy.CopyFrom(plane)
            device = plane.name.startswith(DEVICE_PREFIX)
            misc += rename(copy, node, misc)
            for line in copy.lines:
                rename_line(line, node)
                base = clocks.start_tracer[node] if device else clocks.start_wall[node]
                if not correct:
                    base = clocks.start_wall[node]
                rewrite(line, float(base), clocks.start_wall[0], to_wall if device and correct else None, to_reference)
    return combined


def rewrite(
    line: object,
    base: float,
    zero: int,
    to_wall: Callable[[float], float] | None,
    to_reference: Callable[[float], float],
) -> None:
    """Every event's start, in stored order, guarded against going back."""
    previous = None
    for event in line.events:
        t = base + event.offset_ps / 1000
        if to_wall is not None:
            t = to_wall(t)
        t = to_reference(t)
        if previous is not None and t <= previous:
            t = previous + 1.0
        previous = t
        event.offset_ps = int((t - zero) * 1000)
    line.timestamp_ns = 0


def rename(plane: object, node: int, misc: int) -> int:
    """The script's names; 1 when the plane was of neither kind that it knows."""
    if plane.name.startswith(DEVICE_PREFIX):
        plane.id = 100 + 64 * node + int(plane.name.split(":")[2])
        plane.name = f"{DEVICE_PREFIX}{plane.id}"
    elif plane.name == HOST_PLANE:
        if node:
            plane.id = 10_000 * node
            plane.name = f"{DEVICE_PREFIX}{plane.id}"
    else:
        plane.id = 50_000 + 100 * node + misc
        plane.name = f"{DEVICE_PREFIX}{plane.id}_misc_{plane.name.lstrip('/')}"
        return 1
    return 0


def rename_line(line: object, node: int) -> None:
    original = line.id
    if node:
        line.id += node * 1_000_000
    line.display_id = line.id
    line.display_name = f"Node {node}: {line.display_name or f'line_{original}'}"
    line.name = f"/node:{node}/{line.name or f'line_{original}'}"


def main() -> None:
    parser = argparse.ArgumentParser(description="XLA's `trace_combiner`, as a baseline")
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--offsets", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    combined = combine(arguments.traces, arguments.offsets)
    arguments.output.write_bytes(combined.SerializeToString())


if __name__ == "__main__":
    main()
