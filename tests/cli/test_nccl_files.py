"""``prlx nccl selftest`` and ``prlx nccl collect``: whether the recorder works here, and its files in one place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import prlx as package
from prlx.cli import nccl


@pytest.fixture
def recordings(tmp_path):
    """Two folders with a recording each, as two hosts would have them."""
    library = Path(nccl.__file__).resolve().parents[1] / "libnccl-profiler-prlx.so"
    folders = [tmp_path / "node0", tmp_path / "node1"]
    for folder in folders:
        folder.mkdir()
        environment = {**os.environ, "PRLX_NCCL_DIR": str(folder), "PRLX_NCCL_LEVEL": "3"}
        subprocess.run(
            [sys.executable, "-m", "prlx._nccl_player", str(library)], env=environment, check=True, capture_output=True
        )
    return folders


def test_recordings_of_two_folders_come_into_one(prlx, recordings, tmp_path):
    out = tmp_path / "job"
    ran = prlx("nccl", "collect", *map(str, recordings), "-o", str(out))
    assert ran.code == 5, "both are of rank 1 of two, which the player plays"
    assert "recording of rank 0 of selftest: no file of it" in ran.err
    assert "2 recordings of 1 host: 2 copied" in ran.out
    assert len(list(out.glob("*.prlx-nccl"))) == 2
    for folder in recordings:
        (file,) = folder.iterdir()
        assert (out / file.name).read_bytes() == file.read_bytes()
    again = json.loads(prlx("nccl", "collect", *map(str, recordings), "-o", str(out), "--json").out)
    assert again["complete"]
    assert {row["outcome"] for row in again["files"]} == {"already-there"}


def test_nothing_is_replaced_and_the_exit_code_says_so(prlx, recordings, tmp_path):
    out = tmp_path / "job"
    out.mkdir()
    (file,) = recordings[0].iterdir()
    (out / file.name).write_text("mine")
    ran = prlx("nccl", "collect", str(recordings[0]), "-o", str(out))
    assert ran.code == 1
    assert "differs: another file of that name" in ran.out
    assert (out / file.name).read_text() == "mine"


def test_an_archive_is_made_once(prlx, recordings, tmp_path):
    out = tmp_path / "job.tar.zst"
    assert prlx("nccl", "collect", str(recordings[0]), "-o", str(out)).code == 5, "rank 0 is missing"
    before = out.read_bytes()
    ran = prlx("nccl", "collect", str(recordings[1]), "-o", str(out))
    assert ran.code != 0
    assert out.read_bytes() == before


def test_a_damaged_recording_is_named(prlx, recordings, tmp_path):
    (file,) = recordings[0].iterdir()
    file.write_bytes(file.read_bytes()[:100_000])
    ran = prlx("nccl", "collect", *map(str, recordings), "-o", str(tmp_path / "job"))
    assert ran.code == 1
    assert "1 copied, 1 unreadable" in ran.out or "1 unreadable, 1 copied" in ran.out


def test_what_is_to_be_collected_must_be_said(prlx, recordings):
    assert prlx("nccl", "collect").code == 2
    assert prlx("nccl", "collect", str(recordings[0])).code == 2
    assert prlx("nccl", "plugin", str(recordings[0])).code == 2
    assert prlx("nccl", "selftest", str(recordings[0])).code == 2


def test_the_selftest_plays_every_version_and_reads_it_back(prlx, tmp_path):
    out = tmp_path / "selftest.json"
    ran = prlx("nccl", "selftest", "-o", str(out))
    assert ran.code == 0
    assert ran.out.startswith("passed: 628 of 628 calls in 7 versions of the interface are recorded")
    document = json.loads(out.read_text())
    assert document["played"] == document["recorded"]
    assert [row["version"] for row in document["versions"]] == [7, 6, 5, 4, 3, 2, 1]
    assert all(row["asked_for"] for row in document["versions"])
    assert document["recording"]["state"] == "ended"
    assert prlx("nccl", "selftest", "-o", str(out)).code != 0, "it would have replaced the file"
    assert prlx("nccl", "selftest", "-o", str(out), "--overwrite").code == 0


def test_a_selftest_that_fails_says_why(prlx, tmp_path, monkeypatch):
    from prlx import _nccl_files

    other = tmp_path / "libnccl-profiler-prlx.so"
    other.write_text("no library")
    monkeypatch.setattr(_nccl_files, "library", lambda: other)
    ran = prlx("nccl", "selftest", "-o", str(tmp_path / "out.json"))
    assert ran.code == 1
    assert ran.out.startswith("failed: 0 of 0 calls")
    assert "the process that plays ended with exit code 1" in ran.out


def test_a_selftest_misses_a_call_that_is_not_recorded(monkeypatch):
    from prlx import _nccl_files

    real = _nccl_files._process

    def one_more(*args, **more):
        played = real(*args, **more)
        played["calls"]["start"] += 1
        return played

    monkeypatch.setattr(_nccl_files, "_process", one_more)
    tested = package.selftest_nccl()
    assert not tested.passed
    assert "'start': 160" in tested.problems[0]
