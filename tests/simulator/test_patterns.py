"""Kernels as packages have them: mistakes are found at their lines, and right launches are left alone.

A few kernels, one order each, in ``make test``; all of them in ``make corpus``: over 300 right launches, 20 and more of them
with locks, semaphores or look-back scans, and over 60 mistakes.
"""

from __future__ import annotations

import functools
import json
import os

import pytest

from .conftest import HERE, python, require

WHOLE = bool(os.environ.get("PRLX_TRITON_ALL"))
SAMPLE = ["--seeds", "1", "--kernels", "scaled_rows", "counted", "locked_sum", "look_back"]


@functools.cache
def rows() -> tuple[dict, ...]:
    """What became of each launch."""
    ran = python(require("3.9.0"), HERE / "run_patterns.py", *([] if WHOLE else SAMPLE), seconds=3600)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return tuple(json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{"))


def test_right_launches_have_no_finding():
    right = [row for row in rows() if not row["bug"]]
    assert len(right) >= (300 if WHOLE else 12)
    assert [row for row in right if row["findings"]] == []


def test_launches_with_locks_are_among_them():
    names = {"locked_sum", "turns", "last_block", "look_back", "stream_k", "queued", "guarded"}
    locked = [row for row in rows() if not row["bug"] and row["kernel"] in names]
    assert len(locked) >= (20 if WHOLE else 6)


def test_every_mistake_is_found_at_its_line():
    wrong = [row for row in rows() if row["bug"]]
    assert len(wrong) >= (60 if WHOLE else 8)
    missed = [
        row
        for row in wrong
        if not any(
            check == row["by"] and (row["at"] is None or set(row["at"]) & set(lines))
            for check, _, lines in row["findings"]
        )
    ]
    assert missed == []


@pytest.mark.parametrize("what", ["bug", "findings"])
def test_no_launch_was_refused(what):
    assert all(what in row for row in rows())
    assert not [row for row in rows() if any(check == "refused" for check, _, _ in row["findings"])]
