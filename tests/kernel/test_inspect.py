"""``prlx inspect`` and ``prlx convert`` of recordings: what they say is what was written."""

# ruff: noqa: ARG001 - fixtures make the folder that a test runs in
from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

import prlx as package

from .recordings import softmax


@contextlib.contextmanager
def piped(path):
    """The path of an open pipe that a file is written to."""
    reading, writing = os.pipe()

    def feed():
        with open(writing, "wb") as pipe:  # noqa: PTH123 - a descriptor has no path
            pipe.write(Path(path).read_bytes())

    feeder = threading.Thread(target=feed)
    feeder.start()
    yield f"/proc/self/fd/{reading}"
    os.close(reading)
    feeder.join()


def test_a_recording_is_described(prlx, folder):
    ran = prlx("inspect", "a.prlx")
    assert ran.code == 0
    for said in ("kernel recording, format v1", "softmax_kernel", "2x1x1 blocks of 64x1x1", "sm_80", "4", "48"):
        assert said in ran.out
    file = prlx("inspect", "a.prlx", "--json").json()["files"][0]
    assert file["format"] == "prlx-v1"
    assert file["recording"]["header"]["kernel"] == "softmax_kernel"
    assert file["recording"]["events"] == 48
    assert file["recording"]["site_map"].endswith("prlx-sites.json")


def test_a_recording_is_read_through_a_pipe(prlx, folder):
    """As a shell's ``<(command)`` gives it: what is read once is not read for its head first."""
    with piped("a.prlx") as a:
        file = prlx("inspect", a, "--json").json()["files"][0]
    assert (file["format"], file["recording"]["events"]) == ("prlx-v1", 48)
    with piped("a.prlx") as a, piped("b.prlx") as b:
        ran = prlx("diff", a, b)
    assert ran.code == 1
    assert "DIVERGED" in ran.out


def test_losses_and_rings_are_said(prlx, folder):
    replace(softmax(), dropped={1: 12}, history={0: [(1, 2, 0)]}, sample_rate=3).write(folder / "lossy.prlx")
    text = prlx("inspect", "lossy.prlx", "-v").out
    assert "12 (20 %), in 1 warp" in text
    assert "one event in 3" in text
    assert "8 values per warp" in text


def test_names_from_files_cannot_drive_the_terminal(prlx, folder):
    replace(softmax(), kernel="evil\x1b[31m").write(folder / "evil.prlx")
    for words in (["inspect", "evil.prlx"], ["diff", "evil.prlx", "evil.prlx"], ["session", "inspect", "."]):
        ran = prlx(*words)
        assert ran.code == 0
        assert "\x1b" not in ran.out + ran.err


def test_several_files_and_sessions_at_once(prlx, folder, data):
    (folder / "run").mkdir()
    softmax().write(folder / "run" / "softmax_0.prlx")
    trace = data / "jax_skew/p2/node0.trace.json.gz"
    document = prlx("inspect", "run", "a.prlx", trace, "--json").json()
    assert [file["format"] for file in document["files"]] == ["session", "prlx-v1", "chrome"]
    assert "softmax_kernel" in prlx("inspect", "run").out


def test_there_and_back_is_the_same_file(prlx, folder):
    assert prlx("convert", "a.prlx", "-o", "two.prlx").code == 0
    ran = prlx("convert", "two.prlx", "-o", "one.prlx", "--to", "v1", "--map-output", "sites.json")
    assert ran.code == 0
    assert (folder / "one.prlx").read_bytes() == (folder / "a.prlx").read_bytes()
    named = package.read_trace("one.prlx", site_map="sites.json")
    assert sorted(named.sites["line"].tolist()) == [9, 11, 12, 14]
    assert (folder / "two.prlx").stat().st_size < (folder / "a.prlx").stat().st_size
    assert prlx("convert", "a.prlx", "-o", "packed.prlx", "--to", "v1", "--compress").code == 0
    assert package.diff_traces("a.prlx", "packed.prlx", values=True, progress=False).identical
    for words in (["--to", "v2", "--map-output", "m.json"], ["--to", "v1", "--map-output", "x.prlx"]):
        assert prlx("convert", "a.prlx", "-o", "x.prlx", *words).code == 2
        assert not (folder / "x.prlx").exists()


def test_python_converts_as_the_command_does(prlx, folder):
    reply = prlx("convert", "a.prlx", "-o", "command.prlx", "--json").json()
    done = package.convert_trace("a.prlx", output="function.prlx", progress=False)
    assert done.path.read_bytes() == (folder / "command.prlx").read_bytes()
    assert {**done.document, "output": ""} == {**reply, "output": ""}
    back = package.convert_trace(done.path, output="back.prlx", to="v1", map_output="sites.json", progress=False)
    assert back.path.read_bytes() == (folder / "a.prlx").read_bytes()
    assert back.site_map == folder / "sites.json"
    with pytest.raises(package.UsageError, match="site map"):
        package.convert_trace("a.prlx", output="x.prlx", map_output="m.json", progress=False)
    with pytest.raises(package.PrlxError):
        package.convert_trace("a.prlx", output="back.prlx", progress=False)
    assert repr(back).startswith("<Converted: 4 warps, ")


def test_swapped_sides_differ_at_the_same_place(folder):
    there = package.diff_traces("a.prlx", "b.prlx", progress=False)
    back = package.diff_traces("b.prlx", "a.prlx", progress=False)
    assert (there.first.kind, there.first.warp, there.first.event) == (
        back.first.kind,
        back.first.warp,
        back.first.event,
    )
    assert there.total_divergences == back.total_divergences
    assert [row["in_trace"] for row in back.document["divergences"][1:]] == ["A"]
