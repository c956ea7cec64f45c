"""Damaged is not the same: recordings of which equal digests skip what is damaged."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import prlx as package

from .recordings import softmax, softmax_warp


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who runs these tests in CI reads recordings whole without asking."""
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def damaged(tmp_path: Path, prlx) -> Path:
    """``whole.prlx``, its copy ``copy.prlx``, and ``damaged.prlx``, of which most of the events are zeros."""
    softmax().write(tmp_path / "v1.prlx")
    assert prlx("convert", "v1.prlx", "-o", "whole.prlx").code == 0
    raw = (tmp_path / "whole.prlx").read_bytes()
    at = raw.index(b"P2BK\x0a")  # a block of paths: its head, its directory, its sections
    stored, directory = (int.from_bytes(raw[at + i : at + i + 4], "little") for i in (8, 20))
    start, end = at + 32 + directory, at + 32 + stored
    assert end - start > 20
    (tmp_path / "damaged.prlx").write_bytes(raw[:start] + bytes(end - start) + raw[end:])
    shutil.copy(tmp_path / "whole.prlx", tmp_path / "copy.prlx")
    return tmp_path


def block_of(path: Path) -> int:
    return path.read_bytes().index(b"P2BK\x0a")


@pytest.mark.usefixtures("damaged")
def test_without_reading_everything_the_verdict_says_so(prlx):
    ran = prlx("diff", "whole.prlx", "damaged.prlx", "--json")
    assert ran.code == 0
    assert ran.json()["blocks"] == {"total": 2, "unread": 2, "verified": False}
    assert "2 of 2 blocks equal by digest and not read" in ran.json()["verdict"]
    assert "not read" in prlx("diff", "whole.prlx", "damaged.prlx").out


@pytest.mark.parametrize(
    "words",
    [
        ("diff", "whole.prlx", "damaged.prlx", "--verify"),
        ("diff", "whole.prlx", "copy.prlx", "--verify", "--baseline", "damaged.prlx"),
        ("assert", "whole.prlx", "damaged.prlx"),
        ("assert", "--golden", "damaged.prlx", "whole.prlx"),
    ],
)
def test_reading_everything_finds_the_damage_and_its_place(prlx, damaged, words):
    ran = prlx(*words)
    assert ran.code == 3
    assert "damaged.prlx" in ran.err
    assert str(block_of(damaged / "damaged.prlx")) in ran.err.replace(",", "")


@pytest.mark.usefixtures("damaged")
def test_what_is_whole_passes_and_everything_was_read(prlx):
    ran = prlx("diff", "whole.prlx", "copy.prlx", "--verify", "--json")
    assert ran.code == 0
    assert ran.json()["blocks"] == {"total": 2, "unread": 0, "verified": True}
    assert "not read" not in ran.json()["verdict"]
    assert prlx("assert", "whole.prlx", "copy.prlx").code == 0
    assert prlx("assert", "whole.prlx", "damaged.prlx", "--no-verify").code == 0


@pytest.mark.usefixtures("damaged")
@pytest.mark.parametrize(("value", "code"), [("true", 3), ("1", 3), ("", 0), ("false", 0)])
def test_where_tests_run_by_themselves_everything_is_read(prlx, monkeypatch, value, code):
    monkeypatch.setenv("CI", value)
    assert prlx("diff", "whole.prlx", "damaged.prlx").code == code
    assert prlx("diff", "whole.prlx", "damaged.prlx", "--no-verify").code == 0


def test_from_python(damaged):
    assert package.diff_traces("whole.prlx", "damaged.prlx", progress=False).identical
    at = block_of(damaged / "damaged.prlx")
    for check in (
        lambda: package.diff_traces("whole.prlx", "damaged.prlx", verify=True, progress=False),
        lambda: package.assert_same("whole.prlx", "damaged.prlx"),
    ):
        with pytest.raises(package.TraceFormatError) as caught:
            check()
        assert caught.value.offset == at
        assert Path(caught.value.path).name == "damaged.prlx"
    package.assert_same("whole.prlx", "damaged.prlx", verify=False)


def test_a_damaged_golden_recording_is_replaced_on_request(prlx, damaged):
    assert prlx("assert", "--golden", "damaged.prlx", "whole.prlx").code == 3
    assert prlx("assert", "--golden", "damaged.prlx", "whole.prlx", "--update-golden").code == 0
    assert (damaged / "damaged.prlx").read_bytes() == (damaged / "whole.prlx").read_bytes()
    (damaged / "broken.prlx").write_bytes((damaged / "whole.prlx").read_bytes()[:-200] + bytes(200))
    assert prlx("assert", "--golden", "new.prlx", "broken.prlx", "--update-golden").code == 3
    assert not (damaged / "new.prlx").exists()


def test_sessions_are_read_launch_by_launch(prlx, damaged):
    for name, second in (("run_a", "copy.prlx"), ("run_b", "damaged.prlx")):
        (damaged / name).mkdir()
        shutil.copy("whole.prlx", damaged / name / "first.prlx")
        shutil.copy(second, damaged / name / "second.prlx")
    ran = prlx("diff", "run_a", "run_b", "--json")
    assert ran.code == 0
    assert ran.json()["blocks"] == {"total": 4, "unread": 4, "verified": False}
    assert "4 of 4 blocks equal by digest and not read" in ran.json()["verdict"]
    ran = prlx("assert", "run_a", "run_b", "--json")
    assert ran.code == 5
    row = ran.json()["kernel_results"][1]
    assert row["error_kind"] == "format"
    assert f"byte {block_of(damaged / 'damaged.prlx')} of second.prlx" in row["error"]
    assert prlx("session", "diff", "run_a", "run_b", "--verify").code == 5


@pytest.mark.usefixtures("damaged")
def test_recordings_of_v1_have_nothing_to_be_checked_by(prlx):
    document = prlx("diff", "v1.prlx", "v1.prlx", "--verify", "--json").json()
    assert "blocks" not in document


def test_a_file_that_becomes_shorter_while_it_is_compared(tmp_path: Path) -> None:
    """Files of v1 are mapped: whoever truncates one meanwhile gets the process an error, and never ends it."""
    events = softmax_warp(0, rounds=1600)
    one = replace(softmax(), warps=[events] * 24, capacity=len(events)).write(tmp_path / "one.prlx")
    other = tmp_path / "other.prlx"
    whole = one.read_bytes()

    def refused() -> str | None:
        try:
            assert package.diff_traces(one, other, progress=False).identical
        except package.TraceFormatError as error:
            return error.path
        return None

    for attempt in range(12):
        other.write_bytes(whole)
        cut = threading.Thread(target=os.truncate, args=(other, 200 + attempt * 1000))
        cut.start()
        assert refused() in (None, str(other))
        cut.join()
