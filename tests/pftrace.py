"""Writes Perfetto's traces with nothing but Python, as Perfetto's library and recorders of GPUs lay packets out.

Field numbers are those of perfetto_trace.proto. Slow and small on purpose; nothing here is shared with the code under test.
"""

from __future__ import annotations

import struct
import zlib

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6


def varint(value: int) -> bytes:
    """An integer, negative ones as 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | str | bytes | float) -> bytes:
    """One field: a varint, a double, a text or a message."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    body = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(body)) + body


def fixed(number: int, value: int) -> bytes:
    """A field of eight bytes, as flows are."""
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def packet(*fields: bytes) -> bytes:
    """A packet of a trace."""
    return field(1, b"".join(fields))


def process(uuid: int, pid: int, name: str) -> bytes:
    """The track of a process."""
    return packet(field(60, field(1, uuid) + field(3, field(1, pid) + field(6, name))))


def thread(uuid: int, parent: int, pid: int, tid: int, name: str) -> bytes:
    """The track of a thread."""
    return packet(
        field(60, field(1, uuid) + field(5, parent) + field(4, field(1, pid) + field(2, tid) + field(5, name)))
    )


def track(uuid: int, name: str, parent: int = 0) -> bytes:
    """A track of its own."""
    return packet(field(60, field(1, uuid) + field(2, name) + (field(5, parent) if parent else b"")))


def snapshot(sequence: int, *clocks: tuple[int, ...]) -> bytes:
    """Readings of clocks: number, time, whether packets say differences, and the unit in ns."""
    body = b""
    for number, at, *more in clocks:
        one = field(1, number) + field(2, at)
        if more:
            one += field(3, more[0]) + field(4, more[1])
        body += field(1, one)
    return packet(field(6, body), field(10, sequence))


def interned(iid: int, name: str) -> bytes:
    """An entry of interned data."""
    return field(1, iid) + field(2, name)


def event(at: int, kind: int, uuid: int, *fields: bytes, sequence: int = 1, clock: int = 0) -> bytes:
    """An event of a track."""
    return packet(
        field(8, at),
        field(10, sequence),
        field(58, clock) if clock else b"",
        field(11, field(9, kind) + (field(11, uuid) if uuid else b"") + b"".join(fields)),
    )


def named(name: str, category: str = "") -> bytes:
    """Name and category of an event as texts."""
    return field(23, name) + (field(22, category) if category else b"")


def annotation(name: str, value: int | str | float) -> bytes:
    """An annotation of an event."""
    number = 6 if isinstance(value, str) else 5 if isinstance(value, float) else 4
    return field(4, field(10, name) + field(number, value))


def compressed(packets: bytes) -> bytes:
    """Packets within a packet, deflated."""
    return packet(field(50, zlib.compress(packets)))


def stage(at: int, duration: int, queue: int, kind: int, *fields: bytes, gpu: int = 0) -> bytes:
    """A stage of a GPU."""
    return packet(
        field(8, at),
        field(10, 1),
        field(
            53,
            field(2, duration) + field(5, 1) + field(11, gpu) + field(13, queue) + field(14, kind) + b"".join(fields),
        ),
    )
