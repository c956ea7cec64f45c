"""Operands of every lane that kernels leave that record by themselves, against those that the simulator watches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .conftest import HERE, python, require

SIMPLE = ("add", "whileloop", "cumsum", "dropout")


def rows(folder: Path, *names: str, **variables: str) -> dict[str, dict[str, Any]]:
    ran = python(require("3.9.0"), HERE / "run_values.py", folder, *names, **variables)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {row["case"]: row for row in found}


def test_operands_are_those_that_are_watched(tmp_path: Path) -> None:
    for name, row in rows(tmp_path, *SIMPLE).items():
        assert row["same"], name
        assert row["findings"] == row["other"] == row["notes"] == [], row
        assert 3000 < row["recorded"] == row["equal"], row
        assert row["recorded"] >= 0.99 * row["watched"], "stores to shared memory are not recorded"
        assert row["roles"] == ["compare", "store"]


def test_a_depth_keeps_the_first_visits_and_counts_the_others(tmp_path: Path) -> None:
    whole = rows(tmp_path / "whole", "whileloop")["whileloop"]
    row = rows(tmp_path / "few", "whileloop", PRLX_SNAPSHOT_DEPTH="3")["whileloop"]
    assert row["same"]
    assert row["visits"] == 3 < whole["visits"]
    assert 0 < row["recorded"] < whole["recorded"] / 4
    assert "first 3 visits" in row["notes"][0]


def test_an_arena_that_is_full_loses_operands_and_says_so(tmp_path: Path) -> None:
    row = rows(tmp_path, "whileloop", PRLX_ARENA="256KB")["whileloop"]
    assert row["same"]
    assert row["findings"] == []
    assert row["recorded"] < row["watched"]
    assert any("operands" in note and "lost" in note for note in row["notes"]), row["notes"]
