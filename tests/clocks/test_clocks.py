"""Recording clocks: ``prlx.clocks``, its file, its counters, and what it does not disturb."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import prlx
from prlx import _clocks, _snapshots


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def pairs(path: Path) -> list[dict[str, object]]:
    return [line for line in lines(path) if "tracer_clock_ns" in line]


def test_a_recording_has_the_first_and_the_last_reading_and_those_asked_for(tmp_path: Path) -> None:
    with prlx.clocks(tmp_path / "new", rank=7, tracer="monotonic", period_ms=3_600_000) as clocks:
        assert clocks.running
        clocks.now()
        assert clocks.counters["missed_deadline"] == 0
    assert not clocks.running
    assert clocks.counters["snapshots_taken"] == 3
    assert clocks.snapshots == tmp_path / "new" / "rank7.pairs.jsonl"
    found = lines(clocks.snapshots)
    assert found[0]["tracer_clock_name"] == clocks.tracer == "CLOCK_MONOTONIC"
    assert found[0]["rank"] == 7
    assert found[0]["sampling_period_ns"] == 3_600_000_000_000
    assert len(pairs(clocks.snapshots)) == 3
    assert found[-1]["counters"] == clocks.counters
    assert prlx.open(clocks.snapshots) is not None
    assert clocks.stop() is clocks  # again: nothing
    assert "3 readings of CLOCK_MONOTONIC" in repr(clocks)


def test_a_second_recording_keeps_the_first(tmp_path: Path) -> None:
    names = [prlx.clocks(tmp_path, rank=0).stop().snapshots.name for _ in range(3)]
    assert names == ["rank0.pairs.jsonl", "rank0.1.pairs.jsonl", "rank0.2.pairs.jsonl"]


def test_a_clock_of_the_callers_is_read_and_its_errors_are_counted(tmp_path: Path) -> None:
    readings = iter([5, RuntimeError("no"), 7, 8, *range(100, 1000)])

    def clock() -> int:
        one = next(readings)
        if isinstance(one, Exception):
            raise one
        return one

    with prlx.clocks(tmp_path, clock=clock, tracer="mine", name="x", period_ms=3_600_000) as clocks:
        while sum(clocks.counters[name] for name in ("snapshots_taken", "failed_reads")) == 0:
            time.sleep(0.001)
    assert clocks.counters["failed_reads"] == 1
    assert clocks.counters["snapshots_taken"] == 1
    assert lines(clocks.snapshots)[0]["tracer_clock_name"] == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tracer": "sundial"}, "not a clock"),
        ({"tracer": "cupti"}, "cuptiGetTimestamp"),
        ({"period_ms": 9}, "expected 10 to 3600000"),
        ({"period_ms": "4"}, "expected 10 to 3600000"),
        ({"name": "a/b"}, "expected the begin of a file name"),
    ],
)
def test_what_cannot_be_recorded_is_refused(tmp_path: Path, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(prlx.UsageError, match=said):
        prlx.clocks(tmp_path, **arguments)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OSError, match="file"):
        prlx.clocks(file)


@pytest.mark.parametrize(
    ("variables", "period_ms"),
    [
        ({"PRLX_SNAPSHOT_PERIOD_MS": "30", "XLA_ROCM_SNAPSHOT_PERIOD_MS": "40"}, 30),
        ({"XLA_ROCM_SNAPSHOT_PERIOD_MS": "40"}, 40),
        ({}, 4000),
    ],
)
def test_without_an_argument_the_environment_decides_the_cadence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], period_ms: int
) -> None:
    for name in ("PRLX_SNAPSHOT_PERIOD_MS", "XLA_ROCM_SNAPSHOT_PERIOD_MS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert prlx.clocks(tmp_path).stop().period_ms == period_ms
    assert prlx.clocks(tmp_path, period_ms=20).stop().period_ms == 20


def test_the_launcher_says_the_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_clocks._RANKS, *_clocks._SIZES):
        monkeypatch.delenv(name, raising=False)
    assert not _clocks.is_distributed()
    assert prlx.clocks(tmp_path).stop().snapshots.name.endswith(f"_{os.getpid()}.pairs.jsonl")
    monkeypatch.setenv("SLURM_PROCID", "11")
    monkeypatch.setenv("SLURM_NTASKS", "64")
    assert _clocks.is_distributed()
    assert prlx.clocks(tmp_path).stop().snapshots.name == "rank11.pairs.jsonl"


def test_a_large_file_is_compressed_and_found_by_its_counters(tmp_path: Path) -> None:
    with prlx.clocks(tmp_path, rank=0, period_ms=3_600_000) as clocks:
        for _ in range(1000):
            clocks.now()
    assert clocks.snapshots.name == "rank0.pairs.jsonl.zst"
    assert clocks.counters["snapshots_taken"] == 1002
    assert _clocks.finished(clocks.snapshots)["pairs"] == 1002
    assert prlx.clocks(tmp_path, rank=0).stop().snapshots.name == "rank0.1.pairs.jsonl"


def _child(clocks: prlx.Clocks, answer: object) -> None:
    clocks.now()
    clocks.stop()
    answer.put([clocks.running, clocks.counters["snapshots_taken"] >= 0])  # type: ignore[attr-defined]


def test_a_forked_child_leaves_the_recording_alone(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with prlx.clocks(tmp_path, rank=0, period_ms=3_600_000) as clocks:
        answer = context.Queue()
        child = context.Process(target=_child, args=(clocks, answer))
        child.start()
        assert answer.get(timeout=60) == [False, True]
        child.join()
        assert child.exitcode == 0
        clocks.now()
    assert clocks.counters["snapshots_taken"] == 3
    assert len(pairs(clocks.snapshots)) == 3


def test_a_killed_process_leaves_the_readings_that_it_took(tmp_path: Path) -> None:
    record = f"c = prlx.clocks({str(tmp_path)!r}, rank=0, period_ms=10)"
    program = f"import prlx, time; {record}; print('on', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        path = tmp_path / "rank0.pairs.jsonl"
        while path.read_bytes().count(b"tracer_clock_ns") < 5:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    found = _clocks.finished(path)
    assert found["pairs"] >= 5
    assert found["complete"] is False


def test_the_structures_are_those_of_the_header() -> None:
    header = (_snapshots.LIBRARY.parent / "include" / "prlx_snapshot.h").read_text()
    block = header[header.index("size_t size;") : header.index("} prlx_snapshot_options;")]
    order = [name for name, _ in _snapshots._Options._fields_ if name != "machine"]
    places = [block.index(f"{name};") for name in order]
    assert places == sorted(places)
    assert list(_snapshots.COUNTERS)[:2] == ["snapshots_taken", "missed_deadline"]


def test_with_peers_the_other_clocks_are_measured_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRLX_JOB_KEY", "a key of at least sixteen bytes")
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second,
    ):
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        peers = [f"127.0.0.1:{one.getsockname()[1]}" for one in (first, second)]
    with prlx.clocks(tmp_path, rank=0, peers=peers, node=0) as clocks:
        assert clocks.running
    assert clocks.probes == tmp_path / "probes_node0.jsonl"
    assert clocks.counters["snapshots_taken"] == 2
    assert clocks.counters["probes_answered"] == 0  # nobody runs at the other
    assert prlx.open(clocks.probes) is not None
    assert clocks.stop() is clocks


def test_peers_without_a_key_are_refused_and_nothing_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRLX_JOB_KEY", raising=False)
    with pytest.raises(prlx.PrlxError, match="key"):
        prlx.clocks(tmp_path, rank=0, peers=["127.0.0.1:27011", "127.0.0.1:27012"], node=0)
    assert "counters" in lines(tmp_path / "rank0.pairs.jsonl")[-1]
