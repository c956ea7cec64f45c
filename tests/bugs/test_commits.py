"""Commits that tidy and break: a test finds the statement that breaks, and nothing is sure without one. A sample.

``measure_commits.py commits`` takes all.
"""

from __future__ import annotations

import pytest


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
