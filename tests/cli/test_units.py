"""Numbers as people write and read them."""

from __future__ import annotations

import pytest

from prlx import _units


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("512MiB", 512 << 20), ("2GB", 2 * 10**9), ("2g", 2 << 30), ("1.5 KiB", 1536), ("1_000", 1000)],
)
def test_sizes(text, count):
    assert _units.parse_size(text) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "MiB", "1.0001B", "5 apples", "1e9"])
def test_text_that_is_not_a_size_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        _units.parse_size(text)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("1.5s:2s", (1_500_000_000, 2_000_000_000)),
        (":300ms", (None, 300_000_000)),
        ("10us:", (10_000, None)),
        ("1795226075452181578:1795226075452181579", (1795226075452181578, 1795226075452181579)),
        ("0:1min", (0, 60 * 10**9)),
    ],
)
def test_time_ranges_are_exact(text, ends):
    assert _units.parse_time_range(text) == ends


@pytest.mark.parametrize("text", ["", ":", "5", "1s:2s:3s", "2s:1s", "1s:1s", "0.5ns:2ns", "300h:", "x:y"])
def test_text_that_is_not_a_time_range_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        _units.parse_time_range(text)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.000 us"),
        (16411, "16.41 us"),
        (999_949, "999.9 us"),
        (999_999, "1.000 ms"),
        (-37_930_112, "-37.93 ms"),
        (3_403_000_000, "3.403 s"),
        (599 * 10**9, "599.0 s"),
        (600 * 10**9, "10.00 min"),
        (3 * 3600 * 10**9, "3.000 h"),
        (1e15, "277.8 h"),
    ],
)
def test_durations_have_four_digits(ns, text):
    assert _units.format_ns(ns) == text


def test_differences_have_a_sign():
    assert _units.format_ns(37_570_000, sign=True) == "+37.57 ms"
    assert _units.format_ns(-5, sign=True) == "-5 ns"


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "-"), (999, "999 B"), (126_000, "126 kB"), (5_570_000, "5.57 MB"), (76_100_000_000, "76.1 GB")],
)
def test_sizes_as_text(count, text):
    assert _units.format_bytes(count) == text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(1, "node", "1 node"), (4, "node", "4 nodes"), (0, "boundary", "0 boundaries"), (2, "day", "2 days")],
)
def test_plurals(count, noun, text):
    assert _units.plural(count, noun) == text


def test_instants_are_utc_and_small_ones_are_durations():
    assert _units.format_instant(1795226085724595123) == "2026-11-21 01:54:45.724595 UTC"
    assert _units.format_instant(1500) == "1.500 us"
