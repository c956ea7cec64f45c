"""Writes recordings of format v1 from lists of events: a second, obvious implementation of docs/formats/prlx-v1.md.

Tests state the truth as Python lists and see whether prlx reads and compares exactly that.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

MAGIC = 0x50524C5800000000
ALL = 0xFFFFFFFF

BRANCH, SHARED_STORE, ATOMIC, GLOBAL_STORE = 0, 1, 2, 6


@dataclass(frozen=True)
class Event:
    """One event of one warp."""

    site: int
    kind: int = BRANCH
    dir: int = 1
    mask: int = ALL
    value: int = 0

    def pack(self) -> bytes:
        return struct.pack("<IBBHII", self.site, self.kind, self.dir, 0, self.mask, self.value)


@dataclass
class Shot:
    """A snapshot: both operands of every lane."""

    site: int
    seq: int
    lhs: list[int]
    rhs: list[int]
    predicate: int = 40  # icmp slt
    mask: int = ALL

    def pack(self) -> bytes:
        head = struct.pack("<IIII", self.site, self.mask, self.seq, self.predicate)
        return head + struct.pack("<32I32I4I", *self.lhs, *self.rhs, 0, 0, 0, 0)


@dataclass
class Recording:
    """One launch; ``warps[n]`` are the events of warp n."""

    warps: list[list[Event]]
    kernel: str = "softmax_kernel"
    grid: tuple[int, int, int] = (2, 1, 1)
    block: tuple[int, int, int] = (64, 1, 1)
    warps_per_block: int = 2
    capacity: int = 64
    arch: int = 80
    timestamp: int = 1_700_000_000
    sample_rate: int = 1
    dropped: dict[int, int] = field(default_factory=dict)  # warp -> events lost
    history: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)  # warp -> (site, value, seq)
    snapshots: dict[int, list[Shot]] = field(default_factory=dict)
    depth: int = 8

    def pack(self) -> bytes:
        flags = 0x4 * bool(self.history) | 0x8 * (self.sample_rate > 1) | 0x10 * bool(self.snapshots)
        name = self.kernel.encode()
        text = struct.pack("<QIIQ64s", MAGIC, 1, flags, fnv1a_64(name), name[:63])
        text += struct.pack("<3I3IIII4x", *self.grid, *self.block, self.warps_per_block, len(self.warps), self.capacity)
        history = self.depth if self.history else 0
        snapshots = self.depth if self.snapshots else 0
        text += struct.pack("<QIIIIII", self.timestamp, self.arch, history, 0, self.sample_rate, snapshots, 0)
        assert len(text) == 160
        for number, events in enumerate(self.warps):
            lost = self.dropped.get(number, 0)
            text += struct.pack("<IIII", len(events), lost, len(events), len(events) + lost)
            text += b"".join(event.pack() for event in events) + bytes(16 * (self.capacity - len(events)))
        for number in range(len(self.warps)) if self.history else ():
            entries = self.history.get(number, [])
            text += struct.pack("<IIII", len(entries), self.depth, len(entries), 0)
            text += b"".join(struct.pack("<IIII", *entry, 0) for entry in entries) + bytes(
                16 * (self.depth - len(entries))
            )
        for number in range(len(self.warps)) if self.snapshots else ():
            shots = self.snapshots.get(number, [])
            text += struct.pack("<IIII", len(shots), self.depth, len(shots), 0)
            text += b"".join(shot.pack() for shot in shots) + bytes(288 * (self.depth - len(shots)))
        return text

    def write(self, path: Path) -> Path:
        path.write_bytes(self.pack())
        return path

    def changed(self, warp: int, events: list[Event]) -> Recording:
        """The same with other events of one warp."""
        warps = list(self.warps)
        warps[warp] = events
        return replace(self, warps=warps)


def fnv1a_64(text: bytes) -> int:
    value = 14695981039346656037
    for byte in text:
        value = (value ^ byte) * 1099511628211 & (1 << 64) - 1
    return value


def site_map(path: Path, sites: dict[int, tuple[str, str, int, int, int]]) -> Path:
    """Write a ``prlx-sites.json``: id -> file, function, line, column, kind."""
    keys = ("filename", "function", "line", "column", "event_type")
    path.write_text(json.dumps([{"site_id": i, **dict(zip(keys, row, strict=True))} for i, row in sites.items()]))
    return path


LOOP, GUARD, STORE, ADD = 0x1001, 0x1002, 0x1003, 0x1004
SITES = {
    LOOP: ("softmax.py", "softmax_kernel", 9, 5, BRANCH),
    GUARD: ("softmax.py", "softmax_kernel", 11, 12, BRANCH),
    STORE: ("softmax.py", "softmax_kernel", 14, 5, GLOBAL_STORE),
    ADD: ("softmax.py", "softmax_kernel", 12, 9, ATOMIC),
}


def softmax_warp(warp: int, rounds: int = 4) -> list[Event]:
    """A loop with a guard, an atomic on every other round, and a store at the end."""
    events = []
    for k in range(rounds):
        events.append(Event(LOOP, value=k))
        events.append(Event(GUARD, dir=k % 2, value=100 * warp + k))
        if k % 2:
            events.append(Event(ADD, ATOMIC, 0, value=1000 + k))
    events.append(Event(LOOP, dir=0, value=rounds))
    events.append(Event(STORE, GLOBAL_STORE, 0, value=7 * warp))
    return events


def softmax(warps: int = 4) -> Recording:
    """A recording of a small kernel."""
    return Recording([softmax_warp(warp) for warp in range(warps)], grid=(warps // 2, 1, 1))
