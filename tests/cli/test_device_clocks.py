"""``--device-clocks``: what the command prints, and what the document holds."""

from __future__ import annotations

import json

import pytest

import prlx as package

BASE = 1_760_000_000_000_000_000


def trace(behind_us: float, waits: bool = True) -> dict:
    """One device whose clock is behind that of its host: sixty launches, of which each is waited for."""
    events = [{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}}]
    for number in range(1, 61):
        at = 1000.0 * number
        call = {"ph": "X", "pid": 9, "tid": 9, "cat": "cuda_runtime"}
        kernel = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "k"}
        linked = {"correlation": number}
        events.append({**call, "name": "cudaLaunchKernel", "ts": at, "dur": 4.0, "args": linked})
        events.append({**kernel, "ts": at + 6 - behind_us, "dur": 20.0, "args": linked})
        if waits:
            events.append({**call, "name": "cudaDeviceSynchronize", "ts": at + 7, "dur": 23.0, "args": {}})
    return {"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": BASE, "traceEvents": events}


@pytest.fixture
def recorded(tmp_path):
    def write(*args) -> str:
        path = tmp_path / "rank0.json"
        path.write_text(json.dumps(trace(*args)))
        return str(path)

    return write


def test_the_table_says_what_was_found(prlx, recorded, tmp_path):
    ran = prlx("combine", recorded(100.0), "-o", str(tmp_path / "out.json"), "--device-clocks", "correct")
    assert ran.code == 0
    rows = [line.split() for line in ran.out.splitlines() if "GPU 0" in line]
    assert rows[0][:11] == ["rank0", "GPU", "0", "60", "60", "60", "->", "0", "0", "->", "0"]
    assert "corrected" in rows[0][-1]
    assert "-99" in rows[0][11] or "-100" in rows[0][11]


def test_the_document_holds_it_and_events_move(recorded, tmp_path):
    combined = package.combine_traces(
        recorded(100.0), output=tmp_path / "out.json", device_clocks="correct", progress=False
    )
    (device,) = combined.nodes[0].document["device_clocks"]
    assert device["corrected"]
    assert device["before"] == {"before_launch": 60, "after_wait": 0, "worst_ns": 94_000}
    assert device["after"] == {"before_launch": 0, "after_wait": 0, "worst_ns": 0}
    assert abs(device["offset_ns"] + 100_000) <= device["bound_ns"]["max"]
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    starts = [event["ts"] for event in events if event.get("name") == "k"]
    bound = device["bound_ns"]["max"] / 1000
    assert all(abs(ts - (1000.0 * number + 6)) <= bound for number, ts in enumerate(starts, 1))


def test_checking_moves_nothing(recorded, tmp_path):
    path = recorded(100.0)
    aligned = package.align_trace(path, output=tmp_path / "out.json", device_clocks="check", progress=False)
    assert (tmp_path / "out.json").read_bytes() == (tmp_path / "rank0.json").read_bytes()
    (device,) = aligned.nodes[0].document["device_clocks"]
    assert not device["corrected"]
    assert device["before"]["before_launch"] == device["after"]["before_launch"] == 60


def test_without_waits_there_is_no_bound(recorded, tmp_path):
    combined = package.combine_traces(
        recorded(0.0, False), output=tmp_path / "out.json", device_clocks="check", progress=False
    )
    (device,) = combined.nodes[0].document["device_clocks"]
    assert device["bound_ns"] is None
    assert "no call that waits" in device["said"]


def test_a_trace_without_launches_has_nothing_to_see(data, tmp_path):
    trace = next((data / "kineto").glob("*distributed_info_not_found*"))
    combined = package.combine_traces(trace, output=tmp_path / "out.json", device_clocks="check", progress=False)
    assert any("nothing can be said" in text for text in combined.nodes[0].warnings)


def test_what_cannot_be_is_refused(prlx, recorded, tmp_path):
    ran = prlx("combine", recorded(0.0), "-o", str(tmp_path / "o.json"), "--device-clocks", "correct", "--no-align")
    assert ran.code == 2
    assert "device clocks cannot be corrected" in ran.err
    assert prlx("combine", recorded(0.0), "--device-clocks", "guess").code == 2
