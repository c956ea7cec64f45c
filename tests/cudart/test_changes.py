"""Two runs of a program that differ by a line, a flag of the compiler or the order of warps: diff names the line first."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cudart import compilers

import prlx

SOURCE = Path(__file__).parent / "programs" / "changes.cu"
FAST, ORDER = 5, 4  # a flag of the compiler, the order of blocks and warps
RECORDED = {"mode": "values", "stores": True, "atomics": True, "loads": True, "outputs": "1MB", "capture_output": True}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if not compilers.there("nvcc") or shutil.which("g++") is None:
        pytest.skip("no nvcc (make build/clang/.ready)")
    folder, made = tmp_path_factory.mktemp("changes"), {}

    def program(*words):
        if words not in made:
            made[words] = compilers.compiled("nvcc", SOURCE, folder / str(len(made)), *words)
        return made[words]

    return program


def named(difference):
    """The line that is named first: what the builds compute differently where that is known, else the first event."""
    why = difference.document.get("explanation") or {}
    place = re.search(r"begin to compute something else at changes\.cu:(\d+)", str(why))
    return int(place[1]) if place else int(difference.document["first"]["source_location"].rsplit(":", 2)[1])


@pytest.mark.parametrize("change", range(1, 11))
def test_the_line_is_named_first(change, compiled, tmp_path):
    other = {FAST: ("--use_fast_math",), ORDER: ()}.get(change, (f"-DCHANGE={change}",))
    runs = [
        prlx.simulate_program([program, str(change)], output=tmp_path / name, seed=seed, **RECORDED)
        for name, program, seed in (("a", compiled(), 0), ("b", compiled(*other), 3 if change == ORDER else 0))
    ]
    difference = prlx.diff_traces(*(ran.recordings[0] for ran in runs), values=True, explain=True)
    lines = SOURCE.read_text().splitlines()
    assert difference.status == "diverged"
    assert lines[named(difference) - 1].endswith(f"// change: {change}"), difference.verdict


LOCATED = (1, 2, FAST, 8)
"""Changes that are located in every run: others are compared by the same code, each takes eight runs of a program."""


@pytest.mark.parametrize("change", range(1, 11) if os.environ.get("PRLX_FULL_SWEEP") else LOCATED)
def test_the_line_is_located_by_running_both(change, compiled, tmp_path):
    other = {FAST: ("--use_fast_math",), ORDER: ()}.get(change, (f"-DCHANGE={change}",))
    words = [sys.executable, "-m", "prlx", "locate", "--json", "--device", "simulator", compiled(), compiled(*other)]
    words += [f"--args-a={change}", f"--args-b={change}", *(["--seed-b", "3"] if change == ORDER else [])]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"]) == (1, "located"), done.stderr + found["verdict"]
    line = int(found["place"].rpartition(":")[2])
    assert SOURCE.read_text().splitlines()[line - 1].endswith(f"// change: {change}"), found["verdict"]


def test_where_the_source_was_is_no_difference(compiled, tmp_path):
    """One text, compiled in two folders: the same code, and the same runs."""
    moved = tmp_path / "elsewhere" / "deep" / SOURCE.name
    moved.parent.mkdir(parents=True)
    shutil.copy(SOURCE, moved)
    programs = [compiled(), compilers.compiled("nvcc", moved, tmp_path / "moved")]
    for name, program in zip("ab", programs, strict=True):
        prlx.simulate_program([program, "8"], output=tmp_path / name, **RECORDED)
    difference = prlx.diff_traces(tmp_path / "a", tmp_path / "b", values=True)
    assert difference.status == "identical", difference.verdict
    builds = {one.launches["module_hash"][0] if "module_hash" in one.launches else None
              for one in (prlx.open(tmp_path / name) for name in "ab")}  # fmt: skip
    assert len(builds) == 1
    words = [sys.executable, "-m", "prlx", "locate", "--device", "simulator", *programs, "--args-a=8", "--args-b=8"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("SAME")


def test_recordings_hold_the_text_and_the_code(compiled, tmp_path):
    prlx.simulate_program([compiled(), "8"], output=tmp_path / "r", **RECORDED)
    prlx.simulate_program([compiled(), "8"], output=tmp_path / "s", sources=False, **RECORDED)
    assert [len(list((tmp_path / name / "sources").glob("*.zst"))) for name in "rs"] == [2, 0]
