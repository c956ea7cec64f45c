"""Two runs of a program that differ by a line, a flag of the compiler or the order of warps: diff names the line first."""

from __future__ import annotations

import re
import shutil
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


def test_recordings_hold_the_text_and_the_code(compiled, tmp_path):
    prlx.simulate_program([compiled(), "8"], output=tmp_path / "r", **RECORDED)
    prlx.simulate_program([compiled(), "8"], output=tmp_path / "s", sources=False, **RECORDED)
    assert [len(list((tmp_path / name / "sources").glob("*.zst"))) for name in "rs"] == [2, 0]
