"""Faults that a seed draws while launches are recorded: each is a typed error or a counted loss, and all else is there."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.driver.test_program import HERE
from tests.driver.test_recording import paths

import prlx
from prlx import _program

SEED = 20261128
COUNT, CONTEXTS, KILLS = (170, 14, 16) if os.environ.get("PRLX_FULL_SWEEP") else (24, 2, 2)
HARMLESS = (
    "copy is late",
    "digest",
)  # what nobody loses a launch by; a note in a recording says that it has no digests


@pytest.fixture(scope="module")
def environ(tmp_path_factory):
    """Where programs find a driver that fails on demand."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "layer").mkdir()
    spec = importlib.util.spec_from_file_location("recording", HERE.parents[1] / "bench" / "recording.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    bench.layered_driver(_program.DRIVER, folder / "layer", (HERE / "faulty.c").read_text())
    found = _program.environment(folder, {**os.environ, **paths("3.9.0")})
    libraries = os.pathsep.join([str(folder / "layer"), found["LD_LIBRARY_PATH"]])
    return {**found, "LD_LIBRARY_PATH": libraries, "PRLX_ARENA": "256KB", "TRITON_CACHE_DIR": str(folder / "cache")}


def run(environ, way, folder, **told):
    words = [sys.executable, "-W", "ignore", HERE / "faults.py", way, folder]
    done = subprocess.run(words, env={**environ, **told}, capture_output=True, text=True, timeout=570)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def whole(folder):
    """The recordings of a session, each of which is read to its end."""
    files = sorted(Path(folder).glob("*.prlx"))
    for path in files:
        trace = prlx.read_trace(path)
        assert (trace.num_warps, trace.losses.truncated) == (4, False), path
    return files


def test_each_fault_is_an_error_or_a_loss_that_is_counted(environ, tmp_path):
    *faults, said = run(environ, "drawn", tmp_path / "r", SEED=str(SEED), COUNT=str(COUNT))
    assert len(faults) == COUNT
    for fault in faults:
        assert fault["fired"], fault
        assert fault["kind"] in HARMLESS or fault["lost"] or fault["errors"], fault
        assert not (fault["kind"] in HARMLESS and (fault["lost"] or fault["errors"])), fault
    assert said["right"] == said["made"]
    assert said["recorded"] + sum(said["losses"].values()) == said["launches"] == said["made"] + said["errors"]
    files = whole(tmp_path / "r")
    assert len(files) == said["recorded"]
    notes = sum(any("is not known" in note for note in prlx.read_trace(path).losses.notes) for path in files)
    assert notes == sum(said["without"].values()) >= sum(fault["kind"] == "digest" for fault in faults)
    assert json.loads((tmp_path / "r" / "session.json").read_text())["status"] == "partial"


def test_a_lost_context_ends_recording_and_costs_nothing_from_before(environ, tmp_path):
    draw = random.Random(SEED + 1)
    for i in range(CONTEXTS):
        after = draw.randrange(1, 6)
        (said,) = run(environ, "context", tmp_path / str(i), AFTER=str(after))
        assert said["launches"] == 6
        assert said["recorded"] + sum(said["losses"].values()) == 6
        assert said["errors"] == 6 - after
        assert len(whole(tmp_path / str(i))) == said["recorded"] <= after


def test_what_was_complete_before_a_kill_is_there(environ, tmp_path):
    draw = random.Random(SEED + 2)
    found = []
    for i in range(KILLS):
        words = [sys.executable, "-W", "ignore", HERE / "faults.py", "killed", tmp_path / str(i)]
        with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE) as program:
            assert program.stdout.readline() == b"{}\n"
            time.sleep(draw.uniform(0.05, 1.0))
            program.kill()
        found.append(len(whole(tmp_path / str(i))))
    assert min(found) > 0
