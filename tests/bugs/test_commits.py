"""Commits that tidy and break: a test finds the statement that breaks, and nothing is sure without one. A sample.

``measure_commits.py commits`` and ``fresh`` take all.
"""

from __future__ import annotations

import json
import os

import pytest

LAUNCH = """
import numpy as np
x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
{}[(3,)](x, out, 300, BLOCK=128)
"""
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2 + 1, mask=at < n)
"""
TIDIED = ("    tl.store(out + at, tl.load(x + at, mask=at < n) * 2 + 1, mask=at < n)",
          "    v = tl.load(x + at, mask=at < n)\n    w = v * 2\n    tl.store(out + at, w + 1, mask=at < n)")  # fmt: skip


def test_the_statement_that_breaks_is_found_by_running_mixed_texts(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("commits", tmp_path, "24")
    guessed = measure_commits.compared(tmp_path, row["number"])["explanation"]
    assert guessed["confidence"] != "strong"
    assert not any(one["tried"] for one in guessed["candidates"])
    why = measure_commits.compared(tmp_path, row["number"], "--try")["explanation"]
    assert measure_commits.true(row, why["statement"])
    (repairs,) = [one for one in why["candidates"] if one["repairs"]]
    assert repairs["breaks"]
    assert repairs["source_location"] == why["statement"]["source_location"]
    assert "B writes what A writes" in why["statement"]["why"]


def test_without_inputs_it_is_said_what_would_tell(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("commits", tmp_path, "8")
    (tmp_path / "8/a.inputs").unlink()
    why = measure_commits.compared(tmp_path, row["number"], "--try")["explanation"]
    assert why["confidence"] != "strong"
    assert any("--inputs SIZE" in text for text in why["missing"])


def test_damaged_inputs_are_refused(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("commits", tmp_path, "8")
    kept = tmp_path / "8/a.inputs"
    kept.write_bytes(kept.read_bytes()[:-40])
    with pytest.raises(RuntimeError, match="is not a file of inputs"):
        measure_commits.compared(tmp_path, row["number"], "--try")


def test_a_mixed_text_that_ends_its_process_does_not_end_the_comparison(measure_commits, tmp_path, monkeypatch):
    (row,) = measure_commits.recorded("commits", tmp_path, "24")
    start = tmp_path / "start"  # as a compiler that aborts: in the process that compiles mixed texts
    start.mkdir()
    (start / "triton.py").write_text("import os\n\nos.abort()\n")
    monkeypatch.setattr(measure_commits, "TRITON", start)
    why = measure_commits.compared(tmp_path, row["number"], "--try")["explanation"]
    assert why["confidence"] != "strong"
    assert any("ended the process that compiled it: SIGABRT" in text for text in why["missing"])


def test_of_a_statement_that_was_split_the_part_that_is_wrong_is_named(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("fresh", tmp_path, "17")
    why = measure_commits.compared(tmp_path, row["number"], "--try")["explanation"]
    assert measure_commits.true(row, why["statement"])
    assert why["confidence"] == "strong"  # what it uses was seen to be right, what it assigns was not


def test_an_operation_that_was_lost_between_two_statements_is_not_sure(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("third", tmp_path, "4")
    why = measure_commits.compared(tmp_path, row["number"], "--try")["explanation"]
    assert measure_commits.true(row, why["statement"])
    assert why["confidence"] == "likely"
    assert sum(one["repairs"] for one in why["candidates"]) == 2


def test_a_helper_that_was_written_out_holds_the_same(measure_commits, tmp_path):
    (row,) = measure_commits.recorded("third", tmp_path, "1")
    why = measure_commits.compared(tmp_path, row["number"], "--try")["explanation"]
    assert measure_commits.true(row, why["statement"])
    assert [one["text"].strip() for one in why["candidates"] if one["repairs"]] == ["d_gate = grad * a"]


@pytest.mark.parametrize(
    ("what", "differs"), [("tidied", False), ("fifth", True), ("tidied-sixth", False), ("sixth", True)]
)
def test_a_set_of_fifty_changes_no_bit_by_tidying_and_breaks_by_one_line(measure_commits, tmp_path, what, differs):
    sample = "" if os.environ.get("PRLX_FULL_SWEEP") else "3,11,19,27,35,43"
    rows = list(measure_commits.recorded(what, tmp_path, sample))
    assert len({row["name"] for row in rows}) == (6 if sample else 50)
    assert [row["name"] for row in rows if row["differs"] != differs] == []
    assert {len(row["true_b"]) for row in rows} == {int(differs)}


@pytest.mark.parametrize(("factor", "outcome"), [("w = v * 3", "differs"), ("w = v * 2", "same")])
def test_two_versions_are_compared_by_what_they_write(measure_commits, tmp_path, factor, outcome):
    (tmp_path / "a.py").write_text(KERNEL + LAUNCH.format("doubled"))
    text = KERNEL.replace(*TIDIED).replace("w = v * 2", factor)
    (tmp_path / "b.py").write_text(text + LAUNCH.format("doubled"))
    words = ("-m", "prlx", "simulate", "--json", "--compare", tmp_path / "a.py", tmp_path / "b.py")
    document = json.loads(measure_commits.run(*words, cache=tmp_path / "cache"))
    written = document["written"]
    assert (written["outcome"], written["launches"]) == (outcome, 1)
    assert ("both write the same" in document["verdict"]) == (outcome == "same")
    if outcome == "same":
        assert written["explanation"] is None
        return
    assert (written["kernel"], written["launch"], document["status"]) == ("doubled", 0, "differs")
    why = written["explanation"]
    assert why["statement"]["text"] == ["    w = v * 3"]
    assert [one["text"].strip() for one in why["candidates"] if one["repairs"]] in (
        ["w = v * 3"],
        ["w = v * 3", "tl.store(out + at, w + 1, mask=at < n)"],
    )
