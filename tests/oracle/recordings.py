"""Recordings of format v1, written from docs/formats/prlx-v1.md and not through prlx: a second opinion on the format.

Everything is seeded: the same number gives the same file.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow

MAGIC = 0x50524C5800000000
COMPACT, COMPRESS, HISTORY, SAMPLED, SNAPSHOT = 1, 2, 4, 8, 16
HEADER = struct.Struct("<QIIQ64s3I3IIIIIQIIIIII")
WARP = struct.Struct("<IIII")
EVENT = struct.Struct("<IBBHII")
ENTRY = struct.Struct("<IIII")
LANES = struct.Struct("<IIII32I32I4I")
BRANCH, SHARED_STORE, ATOMIC, ENTRY_OF_FUNCTION, EXIT_OF_FUNCTION, SWITCH, GLOBAL_STORE = range(7)

assert HEADER.size == 160
assert LANES.size == 288


@dataclass(frozen=True)
class Event:
    """One event of a warp."""

    site: int
    kind: int = BRANCH
    dir: int = 0
    mask: int = 0xFFFFFFFF
    value: int = 0
    aux: int = 0

    def pack(self) -> bytes:
        return EVENT.pack(self.site, self.kind, self.dir, self.aux, self.mask, self.value)


@dataclass(frozen=True)
class Lanes:
    """One snapshot: both operands of a compare, lane by lane."""

    site: int
    seq: int
    mask: int = 0xFFFFFFFF
    predicate: int = 40
    lhs: tuple[int, ...] = (0,) * 32
    rhs: tuple[int, ...] = (0,) * 32

    def pack(self) -> bytes:
        return LANES.pack(self.site, self.mask, self.seq, self.predicate, *self.lhs, *self.rhs, 0, 0, 0, 0)


@dataclass(frozen=True)
class Recording:
    """One file of format v1: what its header says, and what each warp left."""

    warps: tuple[tuple[Event, ...], ...]
    kernel: str = "kernel"
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    warps_per_block: int = 1
    slots: int | None = None
    capacity: int = 64
    flags: int = 0
    version: int = 1
    magic: int = MAGIC
    arch: int = 80
    timestamp: int = 1_750_000_000
    sample_rate: int = 1
    history_depth: int = 0
    snapshot_depth: int = 0
    history_offset: int = 0
    snapshot_offset: int = 0
    name_hash: int | None = None
    overflow: dict[int, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)  # num_events where it is not the truth
    history: dict[int, tuple[tuple[int, int, int], ...]] = field(default_factory=dict)  # warp: (site, value, seq)
    snapshots: dict[int, tuple[Lanes, ...]] = field(default_factory=dict)
    level: int = 3

    def header(self) -> bytes:
        name = self.kernel.encode()[:63]
        name_hash = fnv64(self.kernel.encode()) if self.name_hash is None else self.name_hash
        return HEADER.pack(
            self.magic,
            self.version,
            self.flags,
            name_hash,
            name,
            *self.grid,
            *self.block,
            self.warps_per_block,
            self.slot_count,
            self.capacity,
            0,
            self.timestamp,
            self.arch,
            self.history_depth,
            self.history_offset,
            self.sample_rate,
            self.snapshot_depth,
            self.snapshot_offset,
        )

    @property
    def slot_count(self) -> int:
        return len(self.warps) if self.slots is None else self.slots

    def payload(self) -> bytes:
        out = bytearray()
        for number in range(self.slot_count):
            events = self.warps[number] if number < len(self.warps) else ()
            kept = events[: self.capacity]
            count = self.counts.get(number, len(kept))
            lost = self.overflow.get(number, len(events) - len(kept))
            out += WARP.pack(len(events), lost, count, len(events) * max(self.sample_rate, 1))
            out += b"".join(event.pack() for event in kept)
            out += bytes(EVENT.size * (self.capacity - len(kept)))
        if self.flags & HISTORY and self.history_depth:
            for number in range(self.slot_count):
                out += self.ring(
                    [ENTRY.pack(*entry, 0) for entry in self.history.get(number, ())], self.history_depth, ENTRY.size
                )
        if self.flags & SNAPSHOT and self.snapshot_depth:
            for number in range(self.slot_count):
                out += self.ring(
                    [lanes.pack() for lanes in self.snapshots.get(number, ())], self.snapshot_depth, LANES.size
                )
        return bytes(out)

    @staticmethod
    def ring(entries: list[bytes], depth: int, size: int) -> bytes:
        slots = [bytes(size)] * depth
        for index, entry in enumerate(entries):
            slots[index % depth] = entry
        return ENTRY.pack(len(entries) % depth, depth, len(entries), 0) + b"".join(slots)

    def encode(self) -> bytes:
        payload = self.payload()
        if self.flags & COMPRESS:
            codec = pyarrow.Codec("zstd", compression_level=self.level)
            payload = codec.compress(payload, asbytes=True)
        return self.header() + payload

    def write(self, path: Path) -> Path:
        path.write_bytes(self.encode())
        return path


def fnv64(data: bytes) -> int:
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


SITES = [0x1000 + 0x11 * n for n in range(24)]
MASKS = [0xFFFFFFFF, 0xFFFF, 0xFFFF0000, 0x1, 0x80000000, 0x0, 0x0F0F0F0F]


def program(rng: random.Random, length: int) -> tuple[Event, ...]:
    """A stream of events with loops: bodies of sites that repeat, with early exits."""
    out: list[Event] = []
    while len(out) < length:
        body = [event(rng) for _ in range(rng.randint(1, 9))]
        for _ in range(rng.choice([1, 1, 2, 5, 20])):
            cut = len(body) if rng.random() < 0.9 else rng.randint(0, len(body))
            out.extend(replace(one, value=rng.getrandbits(5)) for one in body[:cut])
    return tuple(out[:length])


def event(rng: random.Random) -> Event:
    kind = rng.choice([BRANCH] * 6 + [SHARED_STORE, ATOMIC, ENTRY_OF_FUNCTION, EXIT_OF_FUNCTION, SWITCH, GLOBAL_STORE])
    return Event(
        site=rng.choice(SITES),
        kind=kind,
        dir=rng.randint(0, 1),
        mask=rng.choice(MASKS),
        value=rng.getrandbits(32),
        aux=rng.getrandbits(16) if kind == ATOMIC else 0,
    )


def edited(rng: random.Random, events: tuple[Event, ...], edits: int, longest: int) -> tuple[Event, ...]:
    """The same stream with so many edits: events changed, removed, inserted, replaced."""
    out = list(events)
    for _ in range(edits):
        at = rng.randint(0, len(out))
        run = rng.choice([1, 1, 1, 2, 3, rng.randint(1, longest)])
        what = rng.choice(["dir", "mask", "value", "kind", "delete", "insert", "replace", "site", "truncate", "repeat"])
        if what == "insert":
            out[at:at] = program(rng, run)
        elif what == "repeat":
            out[at:at] = out[max(0, at - run) : at]
        elif what == "delete":
            del out[at : at + run]
        elif what == "replace":
            out[at : at + run] = program(rng, run)
        elif what == "truncate":
            if rng.random() < 0.2:
                del out[at:]
        elif at < len(out):
            out[at] = changed(rng, out[at], what)
    return tuple(out)


def changed(rng: random.Random, one: Event, what: str) -> Event:
    if what == "dir":
        return replace(one, dir=rng.choice([0, 1, 1 - min(one.dir, 1), 2, 255]))
    if what == "mask":
        return replace(one, mask=rng.choice(MASKS))
    if what == "value":
        return replace(one, value=rng.getrandbits(32))
    if what == "kind":
        return replace(one, kind=rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 200]))
    return replace(one, site=rng.choice([*SITES, 0, 0xFFFFFFFF, rng.getrandbits(32)]))


def rings(rng: random.Random, recording: Recording) -> Recording:
    """The recording with history and snapshots as its flags and depths ask for."""
    history, snapshots = {}, {}
    for number, events in enumerate(recording.warps):
        history[number] = tuple((one.site, rng.getrandbits(32), seq) for seq, one in enumerate(events[::2]))
        compares = [one for one in events if one.kind == BRANCH]
        snapshots[number] = tuple(
            Lanes(
                site=one.site,
                seq=seq,
                mask=one.mask,
                predicate=rng.choice([*range(16), *range(32, 42), 77]),
                lhs=tuple(rng.getrandbits(32) for _ in range(32)),
                rhs=tuple(rng.getrandbits(8) for _ in range(32)),
            )
            for seq, one in enumerate(compares[-8:])
        )
    return replace(recording, history=history, snapshots=snapshots)


def pair(seed: int) -> tuple[Recording, Recording]:
    """Two recordings of one kernel that differ by random edits in some warps."""
    rng = random.Random(seed)
    slots = rng.choice([1, 2, 3, 8, 40])
    length = rng.choice([0, 1, 5, 60, 200])
    capacity = rng.choice([max(1, length // 2), length + 1, length + 40])
    streams = [program(rng, rng.randint(0, length)) for _ in range(slots)]
    edits = rng.choice([0, 1, 1, 3, 12])
    share = rng.choice([0.1, 0.5, 1.0])
    other = [edited(rng, one, edits, 80) if rng.random() < share else one for one in streams]
    flags = rng.choice(
        [0, 0, COMPRESS, HISTORY, SNAPSHOT, HISTORY | SNAPSHOT, COMPRESS | HISTORY | SNAPSHOT, SAMPLED, COMPACT]
    )
    first = Recording(
        warps=tuple(streams),
        kernel=rng.choice(["kernel", "_Z6matmulPfS_S_i", "softmax_0d1d2", "k" * 80, "ker,nel", 'quo"te', "größe"]),
        grid=(slots, 1, 1),
        capacity=capacity,
        flags=flags,
        sample_rate=4 if flags & SAMPLED else rng.choice([0, 1]),
        history_depth=rng.choice([0, 4, 64]) if flags & HISTORY else 0,
        snapshot_depth=rng.choice([0, 2, 32]) if flags & SNAPSHOT else 0,
    )
    second = replace(first, warps=tuple(other), timestamp=first.timestamp + 5)
    if rng.random() < 0.2:
        second = replace(second, flags=flags ^ COMPRESS)
    return rings(rng, first), rings(rng, second)
