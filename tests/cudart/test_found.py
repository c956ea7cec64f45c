"""Bugs of public issues and bugs that were seeded: each is named by check, line, lane and memory (found/bugs.py)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.cudart import compilers
from tests.cudart.found.bugs import BESIDE, BY_RULE, MISSED, REAL, SEEDED, table

import prlx

FOLDER = Path(__file__).parent / "found"
BUGS = {("real", name): bug for name, bug in REAL.items()} | {("seeded", name): bug for name, bug in SEEDED.items()}


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    if not compilers.there("nvcc") or shutil.which("g++") is None:
        pytest.skip("no nvcc (make build/clang/.ready)")
    folder = tmp_path_factory.mktemp("found")
    return {one: compilers.compiled("nvcc", FOLDER / f"{one}.cu", folder / one, "-g") for one in ("real", "seeded")}


def lines_of(program, name):
    """The lines at which a bug may be named."""
    texts = (FOLDER / f"{program}.cu").read_text().splitlines()
    return {number for number, text in enumerate(texts, start=1) if text.endswith(f"// found: {name}")}


def memory_of(found):
    """What a finding says of memory."""
    access = found.document.get("access") or {}
    return f"{found.message} {access.get('nearest', '')}"


@pytest.mark.parametrize(("program", "name"), BUGS, ids=[name for _, name in BUGS])
def test_a_bug_is_named(program, name, programs):
    bug = BUGS[program, name]
    ran = prlx.simulate_program(
        [programs[program], name], warp_races=True, global_races=True, uninitialised=True, capture_output=True
    )
    said = "\n".join(f"{one.place} {one.check} {one.lane} {one.message}" for one in ran.findings)
    named = [one for one in ran.findings if one.check == bug.check and one.line in lines_of(program, name)]
    if bug.lane is None and not shutil.which("addr2line"):
        named = [one for one in ran.findings if one.check == bug.check]
    assert named, said
    assert any(bug.lane in (None, one.lane) and bug.memory in memory_of(one) for one in named), said


@pytest.mark.parametrize("name", [*BY_RULE, *MISSED])
def test_what_is_not_found(name, programs):
    assert prlx.simulate_program([programs["seeded"], name], capture_output=True).findings == ()


def test_every_bug_has_its_line():
    for program in ("real", "seeded"):
        marked = re.findall(r"// found: (\w+)$", (FOLDER / f"{program}.cu").read_text(), re.MULTILINE)
        others = {*BY_RULE, *MISSED} if program == "seeded" else set()
        assert set(marked) == {name for one, name in BUGS if one == program} | others
    assert (len(REAL), len(SEEDED)) == (16, 31)


def test_the_documentation_has_what_is_found_beside_compute_sanitizer():
    page = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    assert "\n".join(table()) in page
    assert {bug.check for bug in BUGS.values()} == set(BESIDE)
    assert f"{len(REAL)} bugs of public issues and {len(SEEDED)} that were seeded" in page
