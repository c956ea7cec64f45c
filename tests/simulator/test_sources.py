"""Kernels that are edited in place: every report shows A's lines for A and B's for B, whatever the file holds by then.

A sample runs here; ``PRLX_SOURCE_EDITS=4`` makes so many edits of each of 10 kernels.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile

import pytest

from .conftest import HERE, python, require

EDITS = int(os.environ.get("PRLX_SOURCE_EDITS", "0"))
SAMPLE = ("early", "softmax")
VERSION = "3.9.0"


@functools.cache
def edited() -> list[dict]:
    words = ["--edits", str(EDITS or 2)]
    with tempfile.TemporaryDirectory() as folder:
        names = () if EDITS else SAMPLE
        ran = python(require(VERSION), HERE / "run_sources.py", *words, folder, *names, seconds=7200)
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert rows.pop()["triton"] == VERSION
    return rows


def test_there_are_edits_to_look_at():
    assert len(edited()) == (10 * EDITS if EDITS else 4)
    for row in edited():
        for kind in ("text", "html", "sarif"):
            assert {side for sides, _, _ in row["shown"][kind] for side in sides} == {"A", "B"}, (row["kernel"], kind)


def test_every_line_that_is_shown_is_the_one_of_its_side():
    assert [(row["kernel"], row["seed"], row["wrong"]) for row in edited() if row["wrong"]] == []


def test_what_was_edited_is_named_and_nothing_else():
    assert [(row["kernel"], row["seed"], row["said"]) for row in edited() if not row["edited_right"]] == []


def test_whether_the_line_that_differs_was_edited_is_known():
    assert {row["first"] for row in edited()} <= {"edited", "same"}


HELPED = """
import sys
import numpy as np
import prlx
import triton
import triton.language as tl
import helpers

prlx.enable(device="simulator", progress=False)


@triton.jit
def outer(o, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(o + i, helpers.bent(v), mask=i < n)


def launch():
    outer[(1,)](np.zeros(64, np.float32), np.arange(64, dtype=np.float32), 60, BLOCK=64)


with prlx.session(sys.argv[1], sources=None if len(sys.argv) < 3 else sys.argv[2] == "yes"):
    launch()
    launch()
"""
HELPER = """import triton
import triton.language as tl


@triton.jit
def bent(v):
    if tl.max(v, 0) > 10:
        v = v {sign} 1
    return tl.sum(v, 0) + v
"""


def test_a_session_holds_each_text_once_with_the_helpers(tmp_path):
    (tmp_path / "outer.py").write_text(HELPED)
    for name, sign in (("a", "+"), ("b", "-")):
        (tmp_path / "helpers.py").write_text(HELPER.format(sign=sign))
        ran = python(require(VERSION), tmp_path / "outer.py", name, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert len(list((tmp_path / name).glob("sources/*.zst"))) == 3  # two functions and the PTX
    (tmp_path / "helpers.py").unlink()
    compared = python(require(VERSION), "-m", "prlx", "diff", "a", "b", "--json", cwd=tmp_path)
    first = json.loads(compared.stdout)["first"]["diff"]
    assert [function["function"] for function in first["edits"]["functions"]] == ["bent"]
    assert first["edits"]["functions"][0]["hunks"][0]["a"] == ["        v = v + 1"]
    text = python(require(VERSION), "-m", "prlx", "diff", "a", "b", cwd=tmp_path).stdout
    assert "-     8 |         v = v + 1\n" in text
    assert "+     8 |         v = v - 1\n" in text


@pytest.mark.parametrize(("words", "variables"), [(["no"], {}), ([], {"PRLX_SIMULATE_SOURCES": "0"})])
def test_texts_can_be_left_out(tmp_path, words, variables):
    (tmp_path / "outer.py").write_text(HELPED)
    (tmp_path / "helpers.py").write_text(HELPER.format(sign="+"))
    ran = python(require(VERSION), tmp_path / "outer.py", "a", *words, cwd=tmp_path, **variables)
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "a/sources").exists()
    compared = python(
        require(VERSION), "-m", "prlx", "diff", "a/0000_outer.prlx", "a/0001_outer.prlx", "--json", cwd=tmp_path
    )
    document = json.loads(compared.stdout)
    assert document["status"] == "identical"
    assert "edits" not in document
    assert b"tl.store" not in (tmp_path / "a/0000_outer.prlx").read_bytes()


def test_recording_again_replaces_the_texts(tmp_path):
    (tmp_path / "outer.py").write_text(HELPED.replace("sources=", "overwrite=True, sources="))
    for sign in "+-":
        (tmp_path / "helpers.py").write_text(HELPER.format(sign=sign))
        ran = python(require(VERSION), tmp_path / "outer.py", "a", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
    assert len(list((tmp_path / "a/sources").iterdir())) == 3


def test_libraries_of_the_user_come_after_the_line_that_calls_them(tmp_path):
    (tmp_path / "outer.py").write_text(HELPED)
    for name, limit in (("a", 10), ("b", 100)):
        (tmp_path / "helpers.py").write_text(HELPER.format(sign="+").replace("> 10", f"> {limit}"))
        assert python(require(VERSION), tmp_path / "outer.py", name, cwd=tmp_path).returncode == 0

    def first(*words: str) -> dict:
        ran = python(
            require(VERSION),
            "-m",
            "prlx",
            "diff",
            "a/0000_outer.prlx",
            "b/0000_outer.prlx",
            "--json",
            *words,
            cwd=tmp_path,
        )
        return json.loads(ran.stdout)["first"]

    def line(location: str) -> str:
        file, _, number, _ = location.rsplit(":", 3)
        return f"{file.rsplit('/', 1)[-1]}:{number}"

    assert line(first()["source_location"]) == "helpers.py:7"
    called = first("--libraries", "helpers.py")
    assert line(called["source_location"]) == "outer.py:16"
    assert "helpers.py:7" in map(line, called["inside"])
    assert line(first("--libraries", "none")["source_location"]) == "helpers.py:7"
    paths = "'a/0000_outer.prlx', 'b/0000_outer.prlx'"
    code = f"import prlx; d = prlx.diff_traces({paths}, libraries=['helpers.py'], progress=False)"
    asked = python(require(VERSION), "-c", f"{code}; print(d.first.location)", cwd=tmp_path)
    assert line(asked.stdout.strip()) == "outer.py:16"


def test_a_filter_that_leaves_nothing_is_told(tmp_path):
    (tmp_path / "helpers.py").write_text(HELPER.format(sign="+"))
    (tmp_path / "outer.py").write_text(HELPED.replace("sources=None", "filter='other*', sources=None"))
    ran = python(require(VERSION), tmp_path / "outer.py", "a", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "nothing was recorded: no kernel is or has 'other*', launched were outer" in ran.stderr
