"""What memory held before and after a launch that a driver made: whose digests these are, and what comparisons make of them."""

from __future__ import annotations

import json
import sys

import pytest
from tests.driver.test_program import HERE, simulate
from tests.driver.test_recording import VERSIONS, paths

import prlx


def run(way, folder, version="3.9.0", **environment):
    """Run one way of ``contents.py``; returns what it prints, and its recordings in order."""
    words = (sys.executable, "-W", "ignore", HERE / "contents.py", way, folder)
    done = simulate("--", *words, cwd=folder.parent, **paths(version), PRLX_ARENA="1MB", **environment)
    return json.loads(done.stdout), sorted(folder.glob("*.prlx"))


def memory(path):
    """What a recording says of memory, by argument: digests before and after."""
    return {one["name"]: one for one in prlx.read_trace(path).document["outputs"]["memory"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_digests_are_those_of_the_bytes_of_each_storage(version, tmp_path):
    said, (path, small) = run("plain", tmp_path / "a", version)
    found = memory(path)
    assert {name: [one["before"], one["after"]] for name, one in found.items()} == said
    assert said["x"][0] == said["x"][1]
    assert said["out"][0] != said["out"][1]
    assert {name: one["bytes"] for name, one in found.items()} == {
        "x": 1204,
        "out": 1332,
    }  # of the whole, not of the view
    assert set(memory(small)) == {"x"}  # whose size is not known there are none of


def test_equal_launches_are_the_same_by_what_memory_held(tmp_path):
    (_, a), (_, b), (_, old), (_, other) = (
        run("plain", tmp_path / name, **told)
        for name, told in (("a", {}), ("b", {}), ("old", {"OLD": "5"}), ("other", {"VALUE": "5"}))
    )
    same = prlx.diff_traces(a[0], b[0])
    assert same.status == "identical"
    assert "1 array by contents after the launch" in same.verdict
    unwritten = prlx.diff_traces(a[0], old[0])  # what no launch wrote differs, and what was stored does not
    assert unwritten.status == "identical"
    assert "arrays not compared" in unwritten.verdict
    differs = prlx.diff_traces(a[0], other[0])
    assert differs.status == "diverged"
    assert "contents.py" in differs.verdict
    assert {one["name"]: one["what"] for one in differs.document["given"]} == {"x": "contents"}
    assert prlx.diff_traces(a[1], b[1]).status == "identical"


def test_memory_behind_a_table_of_pointers_is_in_no_sum_and_no_digest(tmp_path):
    """What a kernel stored there was not compared, and nobody says that it is the same."""
    (one, [a]), (five, [b]) = (run("pointers", tmp_path / value, VALUE=value) for value in ("1", "5"))
    assert (one, five) == ([2, 6], [10, 6])
    difference = prlx.diff_traces(a, b)
    assert difference.conclusion.outcome == "inconclusive"
    assert (
        "16 stores of A and 16 of B are in no sum, and may have gone to memory that no argument has"
        in difference.verdict
    )
    assert set(memory(a)) == {"table"}


def test_atomics_on_memory_that_began_otherwise_say_nothing(tmp_path):
    (_, a), (_, b), (_, old) = (
        run("added", tmp_path / name, **told) for name, told in (("a", {}), ("b", {}), ("old", {"OLD": "5"}))
    )
    same = prlx.diff_traces(a[0], b[0])
    assert (same.status, "1 array by contents after the launch" in same.verdict) == ("identical", True)
    assert prlx.diff_traces(a[0], old[0]).status == "inconclusive"
    index = memory(a[1])["index"]
    assert (index["addresses"], "before" in index) == (1, False)
    assert "addresses" not in memory(a[0])["index"]


def test_who_does_not_want_it_has_no_digests(tmp_path):
    _, (path,) = run("off", tmp_path / "off")
    assert memory(path) == {}
    _, paths_of_plain = run("plain", tmp_path / "told", PRLX_RECORD="contents_after=false")
    assert [memory(path) for path in paths_of_plain] == [{}, {}]


def test_a_driver_without_digests_costs_no_recording(tmp_path):
    said, (path,) = run("refused", tmp_path / "refused")
    assert said["losses"] == {}
    assert list(said["without"].values()) == [1]
    assert memory(path) == {}
    assert any(note.startswith("what memory holds is not known") for note in prlx.read_trace(path).losses.notes)


@pytest.mark.parametrize("way", ["before", "behind"])
def test_a_launch_of_digests_that_fails_costs_the_digests_of_its_launch(way, tmp_path):
    said, (path, later) = run(way, tmp_path / way)
    side = {"before": "before", "behind": "after"}[way]
    (why,) = said["without"]
    assert why.startswith(f"what memory held {side} the launch is not known: cuLaunchKernel")
    assert (said["losses"], said["without"]) == ({}, {why: 1})
    assert said["said"] == [f"1 launch was recorded without digests of memory: {why}"]
    assert why in prlx.read_trace(path).losses.notes
    assert (memory(path), sorted(memory(later))) == ({}, ["out", "x"])
    assert json.loads((tmp_path / way / "session.json").read_text())["status"] == "complete"
