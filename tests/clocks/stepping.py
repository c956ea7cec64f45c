"""Recordings whose clocks are known, with one of them made to step: what ``prlx combine`` makes of them, against the truth."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import prlx
from consumers import xspace_wire as wire

from .known import CLOCKS, KnownClock

EXAMPLES = Path(__file__).parents[2] / "examples"
Move = Callable[[int], int]  # by how much an event moves that its clock showed at an instant, both ns
ROUNDING_NS = 3  # of the raw times, the truth and the result


@dataclass
class Recording:
    """The traces of a job, one of each rank, and their clocks."""

    name: str
    paths: list[Path]
    clocks: list[KnownClock]
    raw: list[tuple[int, int]] = field(default_factory=list)  # of all events: rank, and what its clock showed

    def read(self, scratch: Path) -> None:
        """Note where the events are as recorded."""
        out = scratch / f"{self.name}.raw.json"
        paths = {str(rank): path for rank, path in enumerate(self.paths)}
        prlx.combine_traces(paths, output=out, apply_alignment=False, overwrite=True, progress=False)
        self.raw = [(rank, at) for rank, at, _ in placed(out)]

    def span(self, rank: int) -> tuple[int, int]:
        """The first and the last event of a rank."""
        shown = [at for one, at in self.raw if one == rank]
        return min(shown), max(shown)


@dataclass(frozen=True)
class Judged:
    """How the events of a result compare with the truth."""

    status: str
    beyond: (
        int  # events of ranks other than the reference, within the clock readings, that are farther off than they say
    )
    events: int  # of those
    median_bound_ns: int
    impossible: int  # collectives in an impossible order
    outside: int  # events outside of the readings, whose bound is assumed, and no limit
    outside_beyond: int  # of them


def kept(scratch: Path, data: Path | None) -> list[Recording]:
    """The recordings that a checkout has, and those in ``data``: PyTorch and JAX, two to six ranks."""
    truth = json.loads((EXAMPLES / "torch_ranks" / "truth.json").read_text())["nodes"]
    found = [
        Recording(
            "torch4", sorted((EXAMPLES / "torch_ranks").glob("rank*")), [known(one, one["anchor_ns"]) for one in truth]
        )
    ]
    sets = [EXAMPLES / "jax_p4"] + ([data / "jax_skew" / "p2", data / "jax_skew" / "p5_step"] if data else [])
    for folder in sets:
        truth = json.loads((folder / "truth.json").read_text())
        clocks = [known(one, truth["anchor_true_ns"]) for one in truth["nodes"]]
        paths = [next(iter(sorted(folder.rglob(f"node{rank}.xplane.pb")))) for rank in range(len(clocks))]
        for rank, one in enumerate(truth["nodes"]):
            if one["step_ns"]:  # the recording has a step of its own: it goes back
                middle = clocks[rank].shown(one["step_at_true_ns"]) + one["step_ns"] // 2
                paths[rank] = moved(
                    paths[rank], scratch / folder.name, lambda at, m=middle, s=one["step_ns"]: -s if at >= m else 0
                )
        found.append(Recording(folder.name, paths, clocks))
    found.append(shared_host(scratch))
    for recording in found:
        recording.read(scratch)
    return found


def shared_host(scratch: Path) -> Recording:
    """A job of six processes on one host, each given a clock of its own."""
    folder = EXAMPLES / "straggler_job" / "recorded"
    paths = sorted(folder.glob("rank*.xplane.pb"))
    anchor = json.loads((folder / "truth.json").read_text())["called_ns"][0][0]
    clocks = [KnownClock(us * 1000, ppm * 1000, anchor) for us, ppm in CLOCKS[: len(paths)]]
    made = [
        moved(path, scratch / "job6", lambda at, c=clock: c.shown(at) - at)
        for path, clock in zip(paths, clocks, strict=True)
    ]
    return Recording("job6", made, clocks)


def known(one: dict[str, int], anchor_ns: int) -> KnownClock:
    """The clock of a node of a truth.json, without its step."""
    return KnownClock(one["offset_ns"], one["drift_ppb"], anchor_ns)


def moved(path: Path, folder: Path, move: Move) -> Path:
    """A copy of a trace with every event moved."""
    folder.mkdir(parents=True, exist_ok=True)
    if path.name.endswith(".pb"):
        copy = folder / path.name
        copy.write_bytes(moved_xspace(path.read_bytes(), move))
        return copy
    copy = folder / path.name.removesuffix(".gz")
    copy.write_text(moved_json(gzip.decompress(path.read_bytes()).decode(), move))
    return copy


def moved_json(text: str, move: Move) -> str:
    base = re.search(r'"baseTimeNanoseconds": (\d+)', text)
    base_ns = int(base[1]) if base else 0

    def one(found: re.Match[str]) -> str:
        whole, _, part = found[2].partition(".")
        at = int(whole) * 1000 + int((part + "000")[:3])
        at += move(base_ns + at)
        return f"{found[1]}{at // 1000}.{at % 1000:03d}"

    return re.sub(r'("ts": )(-?[0-9.]+)', one, text)


def moved_xspace(data: bytes, move: Move) -> bytes:
    start = started(data)

    def line(content: bytes) -> bytes:
        base = next((int(value) for number, value in wire.fields(content) if number == wire.LINE_TIMESTAMP), 0)
        out = b""
        for number, value in wire.fields(content):
            if number == wire.LINE_EVENTS:
                value = event(bytes(value), start + base)  # type: ignore[arg-type]
            out += encoded(number, value)
        return out

    def event(content: bytes, base: int) -> bytes:
        offset_ps, rest = 0, b""
        for number, value in wire.fields(content):
            if number == wire.EVENT_OFFSET:
                offset_ps = wire.signed(int(value))
            else:
                rest += encoded(number, value)
        return rest + encoded(wire.EVENT_OFFSET, offset_ps + move(base + offset_ps // 1000) * 1000)

    out = b""
    for number, value in wire.fields(data):
        if number == wire.SPACE_PLANES:
            plane = b""
            for inner, content in wire.fields(bytes(value)):  # type: ignore[arg-type]
                plane += encoded(inner, line(bytes(content)) if inner == wire.PLANE_LINES else content)  # type: ignore[arg-type]
            value = plane
        out += encoded(number, value)
    return out


def started(data: bytes) -> int:
    """When the session of an XSpace began, as its plane of the task environment says."""
    for number, value in wire.fields(data):
        if number != wire.SPACE_PLANES:
            continue
        names: dict[int, bytes] = {}
        for inner, content in wire.fields(bytes(value)):  # type: ignore[arg-type]
            if inner == wire.PLANE_STAT_METADATA:
                entry = dict(wire.fields(bytes(content)))  # type: ignore[arg-type]
                name = dict(wire.fields(bytes(entry[wire.ENTRY_VALUE]))).get(wire.METADATA_NAME, b"")  # type: ignore[arg-type]
                names[int(entry[wire.ENTRY_KEY])] = bytes(name)  # type: ignore[arg-type]
        for inner, content in wire.fields(bytes(value)):  # type: ignore[arg-type]
            if inner == wire.PLANE_STATS:
                stat = dict(wire.fields(bytes(content)))  # type: ignore[arg-type]
                if names.get(int(stat[wire.STAT_METADATA_ID])) == b"profile_start_time":
                    return int(next(stat[kind] for kind in (wire.STAT_UINT64, wire.STAT_INT64) if kind in stat))
    raise ValueError("no plane says when the session began")


def encoded(number: int, value: int | bytes) -> bytes:
    """A field with what ``fields`` gave. The messages that are taken apart here have no fields of a fixed size."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def judged(
    recording: Recording, moves: dict[int, Move], scratch: Path, skip: tuple[int, ...] = (), **asked: Any
) -> Judged:
    """Combine a recording with the events of some ranks moved, and compare every event with the truth."""
    paths = {
        str(rank): moved(path, scratch / "moved", moves[rank]) if rank in moves else path
        for rank, path in enumerate(recording.paths)
    }
    out = scratch / "out.json"
    result = prlx.combine_traces(paths, output=out, bound_stat=True, overwrite=True, progress=False, **asked)
    reference, still = recording.clocks[0], moves.get(0, lambda _: 0)
    reach = readings(out)
    bounds = []
    count = {(near, off): 0 for near in (True, False) for off in (True, False)}
    for (rank, at, bound), (same, shown) in zip(placed(out), recording.raw, strict=True):
        assert rank == same
        if rank == 0 or rank in skip or bound is None:
            continue
        moved_to = shown + moves.get(rank, lambda _: 0)(shown)
        right = reference.shown(recording.clocks[rank].true(shown))
        right += still(right)
        near = reach[rank][0] <= moved_to <= reach[rank][1]
        if near:
            bounds.append(bound)
        count[near, abs(at - right) > bound + ROUNDING_NS] += 1
    return Judged(
        result.status, count[True, True], len(bounds), sorted(bounds)[len(bounds) // 2] if bounds else 0,
        result.document["collectives"]["after"]["violated"], count[False, True] + count[False, False], count[False, True],
    )  # fmt: skip


def readings(path: Path) -> list[tuple[int, int]]:
    """Between which instants of its clock each node's is known, as the mark in a combined JSON says."""
    found = []
    for node in json.loads(path.read_text())["prlxAlignment"]["nodes"]:
        knots = (node.get("wall") or {}).get("knots") or [[0], [1 << 62]]
        found.append((knots[0][0], knots[-1][0]))
    return found


def placed(path: Path) -> list[tuple[int, int, int | None]]:
    """The events of a combined JSON in order: which input they are of, their start in ns, and their bound."""
    document = json.loads(path.read_text())
    base, place = document.get("baseTimeNanoseconds", 0), {}
    for rank, node in enumerate(document["prlxAlignment"]["nodes"]):
        place |= dict.fromkeys(node["processes"], rank)
    return [
        (place[event["pid"]], base + round(event["ts"] * 1000), (event.get("args") or {}).get("timestamp_bound_ns"))
        for event in document["traceEvents"]
        if event.get("ph") == "X" and event["pid"] in place
    ]


def drawn_step(recording: Recording, lot: random.Random) -> tuple[str, dict[int, Move]]:
    """A step of 20 us to 10 ms at any time: of one rank, of two, of the reference, there and back, or over some time."""
    ranks = len(recording.paths)
    shape = lot.choice(["one", "one", "one", "two ranks", "reference", "there and back", "gradual"])
    rank = 0 if shape == "reference" else lot.randrange(1, ranks)

    def size() -> int:
        return int(lot.choice([-1, 1]) * 1000 * 10 ** lot.uniform(1.3, 4.0))

    def step(of: int, lasts: float = 0, back: float = 0) -> Move:
        first, last = recording.span(of)
        at, by = lot.uniform(0.03, 0.97), size()
        begin, long = first + int((last - first) * at), max(1, int((last - first) * lasts))
        end = first + int((last - first) * min(0.99, at + back)) if back else last + 1
        return lambda ns: 0 if ns < begin or ns >= end else by * min(long, ns - begin) // long if lasts else by

    lasts = lot.uniform(0.01, 0.1) if shape == "gradual" else 0
    back = lot.uniform(0.02, 0.4) if shape == "there and back" else 0
    moves = {rank: step(rank, lasts, back)}
    if shape == "two ranks" and ranks > 2:
        other = lot.choice([one for one in range(1, ranks) if one != rank])
        moves[other] = step(other)
    return shape, moves
