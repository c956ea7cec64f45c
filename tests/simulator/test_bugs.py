"""Fifteen seeded bugs: each is named by a check or by the diff of two runs, at its line; the right kernel is never blamed."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import pytest

from .conftest import HERE, VERSIONS, python, require

CHECKED = ["load_beyond", "store_beyond", "wrong_stride", "misaligned", "nan_source", "divergent_barrier"]
DIFFED = ["wrong_mask", "off_by_one", "early_exit", "swapped_operand", "dtype_cast", "atomic_order"]
CUT = ["missing_barrier", "uninitialised_shared", "stale_stage"]


@functools.cache
def seen(version: str) -> dict[str, dict]:
    """What was found of every bug with one Triton."""
    with tempfile.TemporaryDirectory() as folder:
        ran = python(require(version), HERE / "run_bugs.py", folder)
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {row["bug"]: row for row in rows}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("bug", CHECKED)
def test_a_check_names_the_line(version, bug):
    row = seen(version)[bug]
    assert row["right"] == []
    assert row["by"] in {check for check, _ in row["wrong"]}
    assert {tuple(chain[-1]) for _, chain in row["wrong"]} == {("bugs.py", row["line"])}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("bug", DIFFED)
def test_the_diff_of_two_runs_begins_at_the_line(version, bug):
    row = seen(version)[bug]
    assert not row["identical"]
    assert row["first"] == row["line"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("bug", CUT)
def test_what_was_cut_from_the_ptx_is_named_where_it_hurts(version, bug):
    row = seen(version)[bug]
    assert row["right"] == []
    chains = [chain for check, chain in row["wrong"] if check == row["by"]]
    assert chains
    for chain in chains:
        file, line = chain[-1]
        text = (HERE / "corpus" / Path(file).name).read_text().splitlines()[line - 1]
        assert any(mark in text for mark in row["marks"]), f"{file}:{line}: {text}"


def test_no_bug_is_left_out():
    assert sorted(seen("3.9.0")) == sorted(CHECKED + DIFFED + CUT)
