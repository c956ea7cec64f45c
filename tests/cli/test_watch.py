"""``prlx solve --watch``: the offsets of clocks while they are measured."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import prlx

ROOT = Path(__file__).resolve().parents[2]
PROBES = sorted((ROOT / "examples" / "jax_p4").glob("probes_node*.jsonl"))


@pytest.fixture
def folder(tmp_path):
    """What four probers have written by now; the last line of one is being written."""
    for path in PROBES:
        shutil.copy(path, tmp_path)
    with (tmp_path / PROBES[0].name).open("a") as file:
        file.write('{"src": 0, "dst": 1, "se')
    return tmp_path


def watch(*words):
    return subprocess.run(
        [sys.executable, "-m", "prlx", "solve", "--watch", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_each_round_is_the_table_of_solve(folder):
    done = watch(folder, "--rounds", 2, "--interval", 0)
    assert done.returncode == 0, done.stderr
    first, second = re.split(r"\n\n(?=\d\d:\d\d:\d\d)", done.stdout)  # a table begins with the time of day
    for table in (first, second):
        assert "4 nodes relative to node 0" in table
    once = subprocess.run([sys.executable, "-m", "prlx", "solve", *PROBES], capture_output=True, text=True, timeout=300)
    assert first.splitlines()[2:] == once.stdout.splitlines()[2:]
    assert done.stderr == ""


def test_each_round_is_one_line_of_json(folder):
    done = watch(folder, "--rounds", 2, "--interval", 0, "--json")
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(documents) == 2
    expected = prlx.solve_offsets(PROBES, progress=False)
    for document in documents:
        assert document["schema"] == "prlx.solve/1"
        assert [node.get("offset_ns") for node in document["nodes"]] == [node.offset_ns for node in expected.nodes]


def test_peers_that_start_late_are_taken_up(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "prlx", "solve", "--watch", tmp_path, "--interval", "0", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as watching:  # fmt: skip
        try:
            assert "no probes in" in watching.stderr.readline()
            for path in PROBES:
                shutil.copy(path, tmp_path)
            for line in watching.stdout:
                if len(json.loads(line)["nodes"]) == 4:
                    break
            watching.send_signal(signal.SIGINT)
            watching.stdout.read()
            watching.stderr.read()
            assert watching.wait(timeout=300) == 0
        finally:
            watching.kill()


def test_what_cannot_be_solved_yet_is_tried_again(tmp_path):
    (tmp_path / "probes_node0.jsonl").write_text("not a line of probes\n")
    done = watch(tmp_path, "--rounds", 2, "--interval", 0)
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.count("warning: ") == 2
    assert "probes_node0.jsonl" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--watch", "missing"], "no such file or directory"),
        (["--watch", ".", "-o", "x.jsonl"], "--watch writes no file"),
        (["x.jsonl", "--rounds", "2"], "--rounds needs --watch"),
        (["x.jsonl", "--interval", "2"], "--interval needs --watch"),
    ],
)
def test_what_makes_no_sense_is_refused(words, said):
    done = subprocess.run([sys.executable, "-m", "prlx", "solve", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert said in done.stderr
