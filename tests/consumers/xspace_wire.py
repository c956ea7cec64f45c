"""Reads and writes XSpace on the wire format with nothing but Python: an independent count, and small inputs.

Field numbers are those of xplane.proto. Slow and small on purpose; nothing here is shared with the code under test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

SPACE_PLANES, SPACE_HOSTNAMES = 1, 4
PLANE_ID, PLANE_NAME, PLANE_LINES, PLANE_EVENT_METADATA, PLANE_STAT_METADATA, PLANE_STATS = 1, 2, 3, 4, 5, 6
LINE_ID, LINE_NAME, LINE_TIMESTAMP, LINE_EVENTS = 1, 2, 3, 4
EVENT_METADATA_ID, EVENT_OFFSET, EVENT_DURATION, EVENT_STATS, EVENT_OCCURRENCES = 1, 2, 3, 4, 5
ENTRY_KEY, ENTRY_VALUE, METADATA_ID, METADATA_NAME = 1, 2, 1, 2
STAT_METADATA_ID, STAT_UINT64, STAT_INT64 = 1, 3, 4


# ---- reading ----


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned varint at a position, and the position behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value: int) -> int:
    """A varint as int64."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values (int for varint and fixed, bytes for length-delimited) in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        if key & 7 == 2:
            length, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}[key & 7]
        if at + length > len(data):
            raise ValueError(f"field {key >> 3} ends behind its message")
        chunk = data[at : at + length]
        yield key >> 3, chunk if key & 7 == 2 else int.from_bytes(chunk, "little")
        at += length


def planes(data: bytes) -> list[dict]:
    """Identity of every plane: id, name, ids and names of its lines."""
    found = []
    for number, plane in fields(data):
        if number != SPACE_PLANES:
            continue
        entry: dict = {"id": 0, "name": "", "lines": []}
        for field, value in fields(plane):
            if field == PLANE_ID:
                entry["id"] = signed(value)
            elif field == PLANE_NAME:
                entry["name"] = value.decode()
            elif field == PLANE_LINES:
                entry["lines"].append(_line(value))
        found.append(entry)
    return found


def _line(data: bytes) -> dict:
    line: dict = {"id": 0, "name": "", "timestamp_ns": 0, "events": 0}
    for field, value in fields(data):
        if field == LINE_ID:
            line["id"] = signed(value)
        elif field == LINE_NAME:
            line["name"] = value.decode()
        elif field == LINE_TIMESTAMP:
            line["timestamp_ns"] = signed(value)
        elif field == LINE_EVENTS:
            line["events"] += 1
    return line


def census(data: bytes) -> Counter:
    """How many of each kind of thing: what a lossless rewrite keeps, whatever ids and names it gives."""
    count: Counter = Counter()
    for number, plane in fields(data):
        if number == SPACE_HOSTNAMES:
            count["hostnames"] += 1
        elif number == SPACE_PLANES:
            count["planes"] += 1
            _plane_census(plane, count)
    return count


def _plane_census(plane: bytes, count: Counter) -> None:
    tables = {PLANE_EVENT_METADATA: "event metadata", PLANE_STAT_METADATA: "stat metadata", PLANE_STATS: "plane stats"}
    for field, value in fields(plane):
        if field in tables:
            count[tables[field]] += 1
            if field != PLANE_STATS:
                count[f"{tables[field]} bytes"] += len(value)
        elif field == PLANE_LINES:
            count["lines"] += 1
            for line_field, event in fields(value):
                if line_field == LINE_EVENTS:
                    count["events"] += 1
                    for event_field, _ in fields(event):
                        count["event stats"] += event_field == EVENT_STATS
                        count["aggregated events"] += event_field == EVENT_OCCURRENCES


# ---- writing ----


def encode_varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    return encode_varint(field << 3) + encode_varint(value)


def chunk(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return encode_varint(field << 3 | 2) + encode_varint(len(data)) + data


def event(metadata_id: int, offset_ps: int, duration_ps: int) -> bytes:
    return (
        integer(EVENT_METADATA_ID, metadata_id)
        + integer(EVENT_OFFSET, offset_ps)
        + integer(EVENT_DURATION, duration_ps)
    )


def line(line_id: int, name: str, timestamp_ns: int, events: Iterable[bytes]) -> bytes:
    head = integer(LINE_ID, line_id) + chunk(LINE_NAME, name) + integer(LINE_TIMESTAMP, timestamp_ns)
    return head + b"".join(chunk(LINE_EVENTS, data) for data in events)


def plane(plane_id: int, name: str, lines: Iterable[bytes], event_names: Iterable[str] = ()) -> bytes:
    data = integer(PLANE_ID, plane_id) + chunk(PLANE_NAME, name)
    data += b"".join(chunk(PLANE_LINES, content) for content in lines)
    return data + b"".join(_named(PLANE_EVENT_METADATA, number, text) for number, text in enumerate(event_names, 1))


def environment(start_ns: int, stop_ns: int) -> bytes:
    """The Task Environment plane: when the session started and stopped on the node's wall clock."""
    data = chunk(PLANE_NAME, "Task Environment")
    for number, (name, value) in enumerate((("profile_start_time", start_ns), ("profile_stop_time", stop_ns)), 1):
        data += _named(PLANE_STAT_METADATA, number, name)
        data += chunk(PLANE_STATS, integer(STAT_METADATA_ID, number) + integer(STAT_UINT64, value))
    return data


def space(contents: Iterable[bytes], hostname: str) -> bytes:
    return b"".join(chunk(SPACE_PLANES, data) for data in contents) + chunk(SPACE_HOSTNAMES, hostname)


def _named(table: int, number: int, name: str) -> bytes:
    value = integer(METADATA_ID, number) + chunk(METADATA_NAME, name)
    return chunk(table, integer(ENTRY_KEY, number) + chunk(ENTRY_VALUE, value))
