"""``prlx.locate`` and ``prlx locate`` on the seeded bugs: the true line, no difference without one, searches resumed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import prlx

from .conftest import HERE, python, require

VERSION = "3.9.0"
EQUAL = os.environ.get("PRLX_LOCATE_EQUAL", "1")

SCRIPT = """
import sys, warnings
import numpy as np
import triton
import triton.language as tl

warnings.simplefilter("ignore")

@triton.jit
def scaled(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, v * 2, mask=at < n - BUG)

x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
for k in range(3):
    scaled[(2,)](x, out, 100, BUG=int(sys.argv[1]) if k == 1 else 0)
"""
BUG_LINE = next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if "n - BUG" in line)


@pytest.fixture(scope="module")
def found() -> list[dict]:
    ran = python(require(VERSION), HERE / "run_locate.py", "--equal", EQUAL)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def test_the_first_line_reported_is_the_true_one(found: list[dict]) -> None:
    located = [row for row in found if row["status"] == "located"]
    assert len(located) >= 12
    wrong = [row for row in located if row["place"] != f"bugs.py:{row['line']}"]
    assert len(wrong) <= len(located) // 5, wrong


def test_the_launch_is_named_and_each_side_runs_three_times(found: list[dict]) -> None:
    for row in found:
        if row["status"] == "located":
            assert row["kernel"] == row["bug"]
            assert row["launch"] == (0 if row["bug"] == "atomic_order" else 1)
            assert row["runs"] == 3


def test_equal_runs_are_the_same(found: list[dict]) -> None:
    same = [row for row in found if row["status"] != "located"]
    assert len(same) >= 5 * int(EQUAL)
    assert {row["status"] for row in same} == {"same"}, same
    assert {row["runs"] for row in same} == {1}


def command(folder: Path, *words: str) -> tuple[int, dict]:
    script = folder / "script.py"
    if not script.exists():
        script.write_text(SCRIPT)
    ran = python(require(VERSION), "-m", "prlx", "locate", "--json", *words, cwd=folder)
    assert ran.returncode in (0, 1), ran.stderr[-2000:]
    return ran.returncode, json.loads(ran.stdout)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A search whose recordings are kept, and what it said."""
    folder = tmp_path_factory.mktemp("kept")
    status, document = command(folder, *WORDS)
    assert status == 1
    return folder, document


WORDS = ("script.py", "--args-a", "0", "--args-b", "3", "-o", "kept")


def test_one_script_with_two_arguments(kept: tuple[Path, dict]) -> None:
    _, document = kept
    assert (document["status"], document["launch"], document["runs"]) == ("located", 1, 3)
    assert document["place"].endswith(f"script.py:{BUG_LINE}")
    assert [step["name"] for step in document["passes"]] == ["digest", "control flow", "values"]


def test_passes_record_the_warps_that_differ(kept: tuple[Path, dict]) -> None:
    folder, document = kept
    assert (document["warps"], document["warp_ranges"]) == (1, "5")
    assert document["first_warps"] == [{"warp": 5, "block": 1, "in_block": 1}]
    assert [step["recorded_warps"] for step in document["passes"]] == ["", "5", "5"]
    for step in ("2-control-flow", "3-values"):
        for side in "ab":
            (path,) = (folder / "kept" / f"{step}-{side}").glob("*.prlx")
            assert {
                int(warp)
                for warp, n in zip(*map(prlx.read_trace(path).warps.__getitem__, ("warp", "total")), strict=True)
                if n
            } == {5}


def test_a_search_goes_on_where_it_ended(kept: tuple[Path, dict], tmp_path: Path) -> None:
    folder, first = kept
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    passes = sorted(path.name for path in (tmp_path / "kept").iterdir() if path.is_dir())
    assert passes == [
        f"{k}-{name}-{side}" for k, name in enumerate(("digest", "control-flow", "values"), 1) for side in "ab"
    ]
    for path in (tmp_path / "kept" / "3-values-b").glob("*"):
        path.unlink() if path.is_file() else None
    _, second = command(tmp_path, *WORDS)
    assert second["runs"] == 1
    assert second["place"] == first["place"]
    assert [step["ran"] for step in second["passes"]] == [False, False, True]


def test_a_folder_of_another_search_is_refused(kept: tuple[Path, dict]) -> None:
    folder, _ = kept
    ran = python(require(VERSION), "-m", "prlx", "locate", *WORDS, "--capture", "instrumented", cwd=folder)
    assert ran.returncode == 2
    assert "holds another search" in ran.stderr


@pytest.fixture(scope="module")
def searches() -> dict[str, dict]:
    ran = python(require(VERSION), HERE / "locate_checks.py")
    assert ran.returncode == 0, ran.stderr[-2000:]
    return {row["search"]: row for row in map(json.loads, ran.stdout.splitlines())}


def test_a_run_against_itself_is_the_same(searches: dict[str, dict]) -> None:
    document = searches["same"]
    assert (document["status"], document["runs"], document["kernel"]) == ("same", 1, None)


def test_kernels_that_record_by_themselves(searches: dict[str, dict]) -> None:
    document = searches["instrumented"]
    assert (document["status"], document["launch"]) == ("located", 1)
    text = (HERE / "locate_checks.py").read_text().splitlines()
    line = next(number for number, line in enumerate(text, 1) if "the line of the mistake" in line)
    assert document["place"].endswith(f"locate_checks.py:{line}")
    assert [step["name"] for step in document["passes"]] == ["digest", "control flow"]


def test_a_bug_that_does_not_happen_again_is_said_so(searches: dict[str, dict]) -> None:
    document = searches["not again"]
    assert document["status"] == "not-again"
    assert document["verdict"].startswith("NOT AGAIN: launch 1 of scaled")
    assert document["runs"] == 3, "tried once more"


def test_other_launches_are_said_so(searches: dict[str, dict]) -> None:
    assert searches["other launches"]["status"] == "launches"


TICKETS = """
@triton.jit
def tickets(counter, out):
    ticket = tl.atomic_add(counter, 1)
    tl.store(out + tl.program_id(0), ticket)

tickets[(16,)](np.zeros(1, np.int32), np.zeros(16, np.int32))
"""


def test_two_scripts_with_two_seeds(tmp_path: Path) -> None:
    """Which side is which script and has which seed: without seeds the scripts, which a comment sets apart, are the same."""
    for name, comment in (("before.py", ""), ("after.py", "# a line more\n")):
        (tmp_path / name).write_text(comment + SCRIPT.replace("int(sys.argv[1])", "0") + TICKETS)
    status, document = command(tmp_path, "before.py", "after.py", "--seed-a", "0", "--seed-b", "7")
    assert (status, document["status"], document["kernel"]) == (1, "located", "tickets")
    text = (tmp_path / "before.py").read_text().splitlines()
    line = next(n for n, one in enumerate(text, 1) if "atomic_add" in one)
    # Triton's cache may name the file in which it first saw the kernel.
    assert document["place"].rpartition(":")[2] in (str(line), str(line + 1))


@pytest.mark.parametrize("wrong", ["", "3.9"])
def test_two_versions_of_triton(tmp_path: Path, wrong: str) -> None:
    """Other compilers name the columns of the same line otherwise: hashes of every launch differ, and say nothing."""
    slip = f"3 if triton.__version__.startswith({wrong or 'none'!r}) else 0"
    (tmp_path / "script.py").write_text(SCRIPT.replace("int(sys.argv[1])", f"({slip})"))
    folders = [require(version) for version in ("3.5.1", VERSION)]
    ways = [
        word for side, folder in zip("ab", folders, strict=True) for word in (f"--env-{side}", f"PYTHONPATH={folder}")
    ]
    status, document = command(tmp_path, "script.py", *ways)
    if wrong:
        assert (status, document["status"], document["kernel"], document["launch"]) == (1, "located", "scaled", 1)
        assert document["place"].endswith(f"script.py:{BUG_LINE}")
        assert "1 launch before it of other builds with the same results" in document["passes"][0]["verdict"]
    else:
        assert (status, document["status"]) == (0, "same")
        assert [step["name"] for step in document["passes"]] == ["digest", "control flow"]


def test_a_script_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("raise SystemExit(7)\n")
    ran = python(require(VERSION), "-m", "prlx", "locate", "script.py", cwd=tmp_path)
    assert ran.returncode == 2
    assert "ended with 7" in ran.stderr


def test_a_run_that_launches_nothing_is_inconclusive(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('nothing')\n")
    ran = python(require(VERSION), "-m", "prlx", "locate", "script.py", cwd=tmp_path)
    assert ran.returncode == 5
    assert "side A and side B launched nothing" in ran.stdout
