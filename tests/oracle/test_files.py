"""500 files of format v1: what original prlx 0.5 reads we read alike, what it refuses we refuse."""

from __future__ import annotations

import gzip
import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from . import recordings
from .conftest import Oracle, Ours
from .recordings import COMPACT, COMPRESS, HISTORY, SAMPLED, SNAPSHOT, Event, Recording

FILES = 500
FLAGS = [
    compact | compress | history | sampled | snapshot
    for compact in (0, COMPACT)
    for compress in (0, COMPRESS)
    for history in (0, HISTORY)
    for sampled in (0, SAMPLED)
    for snapshot in (0, SNAPSHOT)
]


def whole(seed: int) -> Recording:
    """A recording whose flags are the seed's: all 32 combinations come up again and again."""
    rng = random.Random(seed)
    flags = FLAGS[seed % len(FLAGS)]
    slots = rng.choice([0, 1, 2, 5, 17])
    warps = tuple(recordings.program(rng, rng.choice([0, 1, 7, 40])) for _ in range(slots))
    return recordings.rings(
        rng,
        Recording(
            warps=warps,
            grid=(max(slots, 1), 1, 1),
            capacity=rng.choice([1, 16, 64]),
            flags=flags | rng.choice([0, 0, 0, 0x100]),
            sample_rate=rng.choice([2, 16]) if flags & SAMPLED else rng.choice([0, 1]),
            history_depth=rng.choice([0, 1, 8]) if flags & HISTORY else rng.choice([0, 5]),
            snapshot_depth=rng.choice([0, 1, 4]) if flags & SNAPSHOT else rng.choice([0, 5]),
            arch=rng.choice([0, 70, 90, 906, 0x1100]),
            timestamp=rng.choice([0, 1_750_000_000, 1_750_000_000_000_000, 2**64 - 1]),
            warps_per_block=rng.choice([0, 1, 2]),
            level=rng.choice([1, 3, 19]),
        ),
    )


def damaged(seed: int) -> bytes:
    """The file of a seed: whole in one case of three, else cut, longer, or with a header that lies."""
    rng = random.Random(seed + 77)
    data = bytearray(whole(seed).encode())
    match rng.choice(["whole", "whole", "cut", "cut", "tail", "header"]):
        case "cut":
            del data[rng.randint(0, len(data)) :]
        case "tail":
            data += rng.choice([b"\0", b"tail", bytes(300)])
        case "header":
            at, values = rng.choice(
                [
                    (0, [0, 1, 0x50524C58]),
                    (4, [0, 0x58524C50]),
                    (8, [0, 1, 2, 0xFFFFFFFF]),
                    (12, [0, 2, 31, 0xFFFFFFFF]),
                    (116, [0, 1, 100, 0xFFFFFFFF]),
                    (120, [0, 1, 100, 0xFFFFFFFF]),
                    (140, [0, 1, 1000]),
                    (144, [0xFFFFFFFF, 1000]),
                    (148, [0, 0xFFFFFFFF]),
                    (152, [0, 1, 1000]),
                    (156, [0xFFFFFFFF, 1000]),
                ]
            )
            struct.pack_into("<I", data, at, rng.choice(values))
    return bytes(data)


# Refused on purpose, see TestDeliberateDifferences.
EXCEPTION = "the compressed events inflate to more than"


@pytest.mark.parametrize("seed", range(FILES))
def test_files_are_read_or_refused_alike(seed: int, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    path = tmp_path / "file.prlx"
    path.write_bytes(damaged(seed))
    theirs, mine = oracle(path, path), ours(path, path)
    if EXCEPTION in mine.why:
        return
    assert mine.refused == theirs.refused, f"theirs: {theirs.why}\nours: {mine.why}"
    if mine.refused:
        assert mine.why.startswith(("TraceFormatError", "LimitError")), mine.why
        return
    assert mine.text == theirs.ordered


def test_the_files_are_worth_reading(oracle: Oracle, tmp_path: Path) -> None:
    """Between a tenth and a half of them are refused."""
    refused = 0
    for seed in range(0, FILES, 5):
        path = tmp_path / "file.prlx"
        path.write_bytes(damaged(seed))
        refused += oracle(path, path).refused
    assert FILES / 5 * 0.1 < refused < FILES / 5 * 0.5


SMALL = Recording(
    warps=((Event(1), Event(2, dir=1)), (Event(3),)),
    grid=(2, 1, 1),
    capacity=3,
    flags=HISTORY | SNAPSHOT,
    history_depth=2,
    snapshot_depth=1,
)


@pytest.mark.parametrize(
    "recording",
    [replace(SMALL, flags=0), SMALL, replace(SMALL, flags=COMPRESS | HISTORY)],
    ids=["plain", "rings", "zstd"],
)
def test_every_truncation_of_a_small_file(recording: Recording, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    data = recordings.rings(random.Random(1), recording).encode()
    path = tmp_path / "cut.prlx"
    seen = set()
    for end in range(len(data)):
        path.write_bytes(data[:end])
        mine = ours(path, path)
        seen.add(mine.refused)
        # The binary takes milliseconds a run: near the borders of sections every cut is asked, elsewhere every seventh.
        if end % 7 == 0 or end > len(data) - 3 or end in range(158, 163) or end in range(270, 290):
            theirs = oracle(path, path)
            assert mine.refused == theirs.refused, f"cut at {end}: theirs: {theirs.why}\nours: {mine.why}"
            assert mine.refused or mine.text == theirs.ordered
    assert True in seen
    assert (False in seen) == bool(recording.flags & (HISTORY | SNAPSHOT) and not recording.flags & COMPRESS)


class TestDeliberateDifferences:
    """Where we do not do as the binary does, and why."""

    def test_compressed_files_are_read_through(self, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
        """Every input of prlx may be gzip or zstd; the binary does not know either around a file."""
        path = tmp_path / "a.prlx.gz"
        path.write_bytes(gzip.compress(SMALL.encode()))
        assert oracle(path, path).refused
        assert not ours(path, path).refused

    def test_sections_inside_the_header_are_refused(self, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
        """Such a file is damaged; the binary reads parts of its header as history."""
        path = replace(SMALL, history_offset=5).write(tmp_path / "a.prlx")
        assert not oracle(path, path).refused
        assert ours(path, path).why.startswith("TraceFormatError")

    def test_frames_larger_than_the_header_says_are_refused(self, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
        """The header says how large the events are: a frame that goes on is a bomb or belongs to another header."""
        data = bytearray(replace(SMALL, flags=COMPRESS).encode())
        struct.pack_into("<I", data, 116, 1)
        path = tmp_path / "a.prlx"
        path.write_bytes(bytes(data))
        assert not oracle(path, path).refused
        assert EXCEPTION in ours(path, path).why

    def test_rings_are_bounded(self, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
        """A ring of more than 65,536 entries per warp is beyond any recorder, and a lie that costs memory."""
        data = bytearray(SMALL.encode())
        struct.pack_into("<I", data, 140, 1 << 20)
        path = tmp_path / "a.prlx"
        path.write_bytes(bytes(data))
        assert not oracle(path, path).refused
        assert ours(path, path).refused
