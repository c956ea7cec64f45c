"""The table of thresholds is that of the source, and the sweep notices a threshold that moved."""

from __future__ import annotations

import shutil

import pytest

from .sweep import PAGE, fails, load, moved, page
from .table import ROOMS, decides, value_of, with_value

NAMES = [(room, name) for room in ROOMS for name in room.names]


@pytest.mark.parametrize(("room", "name"), NAMES, ids=[f"{room.file}-{name}" for room, name in NAMES])
def test_a_threshold_stands_where_the_table_says_and_is_explained(room, name):
    value = value_of(room.file, name)
    assert decides(room.file, name)
    assert with_value(room.file, name, "123456").count("123456") == 1
    assert moved(value, "1.1") != value != moved(value, "0.9")


def test_results_are_those_of_the_values_in_the_source():
    known = {f"{room.file} {name}": value_of(room.file, name) for room, name in NAMES}
    stale = [key for key, one in load().items() if known.get(key) != one["value"]]
    assert stale == [], "run python -m tests.thresholds.sweep"


def test_the_page_is_made_of_the_results():
    assert PAGE.read_text(encoding="utf-8") == page(load()), "run python -m tests.thresholds.sweep --table"


@pytest.mark.parametrize(
    ("value", "factor", "expected"),
    [("3", "1.1", "4"), ("3", "0.9", "2"), ("0.02", "0.5", "0.01"), ("5_000", "2", "10000"), ("20.0", "0.5", "10.0"),
     ("1e-6", "10", "0.00001"), ("5_000_000_000", "0.1", "500000000")],
)  # fmt: skip
def test_a_value_is_moved_as_go_writes_it(value, factor, expected):
    assert moved(value, factor) == expected


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go")
def test_a_threshold_that_moved_is_noticed():
    room = next(room for room in ROOMS if room.file == "core/nccl/dividing/tally.go")
    assert fails(room, "timesUsual", value_of(room.file, "timesUsual")) == ""
    assert fails(room, "timesUsual", "0") != ""
