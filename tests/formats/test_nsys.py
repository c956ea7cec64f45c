"""Databases of Nsight Systems against SQL over the same files: counts, names and times are those that sqlite3 gives.

``PRLX_NSYS`` names a folder with more of them: those that were tried stand in docs/formats/nsys.md.
"""

from __future__ import annotations

import collections
import json
import os
import sqlite3
from pathlib import Path

import pytest

import prlx

DEVICE = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "(SELECT value FROM StringIds WHERE id = demangledName)",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "'Memcpy'",
    "CUPTI_ACTIVITY_KIND_MEMSET": "'Memset'",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "'CUDA graph ' || graphId",
}
HOST = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": "(SELECT value FROM StringIds WHERE id = nameId)",
    "NVTX_EVENTS": "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))",
}


def databases(data: Path) -> list[Path]:
    """The one that is always there, and those of PRLX_NSYS."""
    more = os.environ.get("PRLX_NSYS")
    return sorted(data.glob("other/*.sqlite")) + (sorted(Path(more).glob("*.sqlite")) if more else [])


def asked(path: Path) -> tuple[collections.Counter[tuple[str, str, int, int]], int]:
    """Every event by SQL: plane, name, start and duration in ns; and how many run backwards."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    began = 0
    if "TARGET_INFO_SESSION_START_TIME" in tables:
        began = db.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    out: collections.Counter[tuple[str, str, int, int]] = collections.Counter()
    odd = 0
    for sources, plane in (
        (DEVICE, "'/device:GPU:' || deviceId"),
        (HOST, "'/host:CPU ' || (globalTid >> 24 & 0xffffff)"),
    ):
        for table, name in sources.items():
            if table not in tables:
                continue
            for at, text, start, end in db.execute(
                f'SELECT {plane}, {name}, start, coalesce("end", start) FROM {table}'
            ):
                if end < start:
                    odd += 1
                else:
                    out[at, text, began + start, end - start] += 1
    db.close()
    return out, odd


def spelled(plane: str, name: str) -> tuple[str, str]:
    """Plane and name as the SQL above spells them: without names of processes, versions of calls, kinds of memory."""
    words = plane.split()
    place = f"{words[0]} {words[-1]}" if words[0] == "/host:CPU" else words[0]
    return place, name.split(" (")[0] if name.startswith(("Memcpy ", "Memset ")) else name


def read(path: Path) -> collections.Counter[tuple[str, str, int, int]]:
    """Every event as prlx reads it."""
    events = prlx.open(path).events
    columns = [
        events.column(name).to_numpy().tolist() for name in ("plane", "name", "start_ns", "start_ps", "duration_ps")
    ]
    out: collections.Counter[tuple[str, str, int, int]] = collections.Counter()
    for plane, name, start_ns, start_ps, duration_ps in zip(*columns, strict=True):
        assert start_ps == 0
        assert duration_ps % 1000 == 0
        at, text = spelled(plane, name)
        out[at, text, int(start_ns), int(duration_ps) // 1000] += 1
    return out


def cut(events: collections.Counter[tuple[str, str, int, int]]) -> collections.Counter[tuple[str, str, int, int]]:
    """Names without what nsys adds to those of calls, and copies without their kinds."""
    out: collections.Counter[tuple[str, str, int, int]] = collections.Counter()
    for (plane, name, start, duration), n in events.items():
        text = name or ""
        call, _, version = text.rpartition("_v")
        if plane.startswith("/host") and call and version.isdigit() and len(version) >= 4:
            text = call
        if text.startswith(("Memcpy", "Memset")):
            text = text[:6]
        out[plane, text, start, duration] += n
    return out


def test_events_are_what_sql_says(data: Path) -> None:
    found = databases(data)
    assert found
    for path in found:
        want, odd = asked(path)
        got = read(path)
        assert cut(got) == cut(want), path
        assert sum(got.values()) == sum(want.values())
        # what has no time is said
        assert bool(odd) == any("times are missing" in loss for loss in prlx.open(path).warnings)


def test_cycles_see_every_kernel(data: Path) -> None:
    for path in databases(data):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        want = 0
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"):
            if table in tables:
                want += db.execute(f'SELECT count(*) FROM {table} WHERE "end" >= start').fetchone()[0]
        db.close()
        assert prlx.find_cycles(path, progress=False).document["input"]["kernels"] == want, path


def made(path: Path, columns: str, *rows: tuple[int, ...]) -> Path:
    """A database with a table of kernels."""
    db = sqlite3.connect(path)
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
    for row in rows:
        db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * len(row))})", row)
    db.commit()
    db.close()
    return path


def test_a_table_that_does_not_say_when_and_where_is_refused(tmp_path: Path) -> None:
    places = ("start", "end", "deviceId", "streamId")
    for lacking in places:
        columns = ", ".join(f'"{name}" INTEGER' for name in places if name != lacking)
        path = made(tmp_path / f"{lacking}.sqlite", columns, (1, 2, 3))
        with pytest.raises(prlx.TraceFormatError, match="when and where an event was"):
            prlx.find_cycles(path, progress=False)


def test_times_that_cannot_be_are_said_and_a_trace_without_a_date_is_undated(tmp_path: Path) -> None:
    columns = ", ".join(f'"{name}" INTEGER' for name in ("start", "end", "deviceId", "streamId"))
    most = 100 * 24 * 3600 * 10**9
    rows = [
        (5, 9, 0, 7),
        (most, most, 0, 7),
        (-most, 0, 0, 7),
        (most + 1, most + 1, 0, 7),
        (-most - 1, 0, 0, 7),
        (0, most + 1, 0, 7),
        (9, 5, 0, 7),
    ]
    opened = prlx.open(made(tmp_path / "odd.sqlite", columns, *rows))
    assert opened.events.column("start_ns").to_numpy().tolist() == [-most, 5, most]
    assert any(said.endswith("from the start: 4") for said in opened.warnings)
    assert any("TARGET_INFO_SESSION_START_TIME" in said for said in opened.warnings)


def test_two_nodes_become_one_chrome_json(data: Path, tmp_path: Path) -> None:
    """What a viewer gets: every event with its times, threads under their names, args under Kineto's."""
    path = databases(data)[0]
    out = tmp_path / "both.json"
    prlx.combine_traces({"a": path, "b": path}, output=out, progress=False)
    document = json.loads(out.read_text())
    events = [e for e in document["traceEvents"] if e["ph"] == "X"]
    want, _ = asked(path)
    assert len(events) == 2 * sum(want.values())
    kernels = [e for e in events if "grid" in e.get("args", {})]
    assert len(kernels) == 2 * 3442
    first = min(kernels, key=lambda e: e["ts"])
    assert first["args"]["grid"] == [50, 4, 1]
    assert first["args"]["block"] == [256, 1, 1]
    assert first["args"]["stream"] == 7
