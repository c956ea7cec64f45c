"""``prlx.locate`` and ``prlx locate`` on the seeded bugs: the true line, no difference without one, searches resumed."""

from __future__ import annotations

import json
import os
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


def test_one_script_with_two_arguments(tmp_path: Path) -> None:
    status, document = command(tmp_path, "script.py", "--args-a", "0", "--args-b", "3")
    assert (status, document["status"], document["launch"]) == (1, "located", 1)
    assert document["place"].endswith(f"script.py:{BUG_LINE}")
    assert [step["name"] for step in document["passes"]] == ["digest", "control flow", "values"]


def test_the_same_command_twice_is_the_same(tmp_path: Path) -> None:
    status, document = command(tmp_path, "script.py", "--args-a", "3", "--args-b", "3")
    assert (status, document["status"], document["runs"]) == (0, "same", 1)
    assert document["kernel"] is None


def test_passes_record_the_warps_that_differ(tmp_path: Path) -> None:
    _, document = command(tmp_path, "script.py", "--args-a", "0", "--args-b", "3", "-o", "kept")
    assert (document["warps"], document["warp_ranges"]) == (1, "5")
    assert document["first_warps"] == [{"warp": 5, "block": 1, "in_block": 1}]
    assert [step["recorded_warps"] for step in document["passes"]] == ["", "5", "5"]
    for step in ("2-control-flow", "3-values"):
        for side in "ab":
            (path,) = (tmp_path / "kept" / f"{step}-{side}").glob("*.prlx")
            assert {
                int(warp)
                for warp, n in zip(*map(prlx.read_trace(path).warps.__getitem__, ("warp", "total")), strict=True)
                if n
            } == {5}


WAYS = {
    "seeds": ("--seed-a", "0", "--seed-b", "7"),
    "environments": ("--env-a", "SLIP=0", "--env-b", "SLIP=3"),
}
TICKETS = """
@triton.jit
def tickets(counter, out):
    ticket = tl.atomic_add(counter, 1)
    tl.store(out + tl.program_id(0), ticket)

tickets[(16,)](np.zeros(1, np.int32), np.zeros(16, np.int32))
"""


@pytest.mark.parametrize("way", WAYS)
def test_one_script_in_two_ways(tmp_path: Path, way: str) -> None:
    text = SCRIPT.replace("int(sys.argv[1])", "0") + TICKETS
    if way == "environments":
        text = SCRIPT.replace("int(sys.argv[1])", 'int(os.environ["SLIP"])').replace("import sys", "import os, sys")
    (tmp_path / "script.py").write_text(text)
    status, document = command(tmp_path, "script.py", *WAYS[way])
    assert (status, document["status"]) == (1, "located")
    line = next(
        n for n, one in enumerate(text.splitlines(), 1) if ("atomic_add" if way == "seeds" else "n - BUG") in one
    )
    assert document["place"].endswith(f"script.py:{line}")


def test_two_scripts(tmp_path: Path) -> None:
    for name, slip in (("before.py", "0"), ("after.py", "3")):
        (tmp_path / name).write_text(SCRIPT.replace("int(sys.argv[1])", slip))
    status, document = command(tmp_path, "before.py", "after.py")
    assert (status, document["status"]) == (1, "located")
    assert document["place"].endswith(f":{BUG_LINE}")


def test_kernels_that_record_by_themselves(tmp_path: Path) -> None:
    status, document = command(tmp_path, "script.py", "--args-a", "0", "--args-b", "3", "--capture", "instrumented")
    assert (status, document["status"], document["launch"]) == (1, "located", 1)
    assert document["place"].endswith(f"script.py:{BUG_LINE}")
    assert [step["name"] for step in document["passes"]] == ["digest", "control flow"]


def test_a_search_goes_on_where_it_ended(tmp_path: Path) -> None:
    words = ("script.py", "--args-a", "0", "--args-b", "3", "-o", "kept")
    _, first = command(tmp_path, *words)
    passes = sorted(path.name for path in (tmp_path / "kept").iterdir() if path.is_dir())
    assert passes == [
        f"{k}-{name}-{side}" for k, name in enumerate(("digest", "control-flow", "values"), 1) for side in "ab"
    ]
    for path in (tmp_path / "kept" / "3-values-b").glob("*"):
        path.unlink() if path.is_file() else None
    _, second = command(tmp_path, *words)
    assert (first["runs"], second["runs"]) == (3, 1)
    assert second["place"] == first["place"]
    assert [step["ran"] for step in second["passes"]] == [False, False, True]


def test_a_folder_of_another_search_is_refused(tmp_path: Path) -> None:
    words = ("-m", "prlx", "locate", "script.py", "-o", "kept", "--args-b")
    command(tmp_path, *words[3:], "'1 2'", "--args-a", "1")
    ran = python(require(VERSION), *words, "4", cwd=tmp_path)
    assert ran.returncode == 2
    assert "holds another search" in ran.stderr


def test_a_bug_that_does_not_happen_again_is_said_so(tmp_path: Path) -> None:
    """The mistake happens in the first run only: a file says that it has happened."""
    once = 'import os\nif sys.argv[1] == "3" and os.path.exists("happened"): sys.argv[1] = "0"\n'
    once += 'if sys.argv[1] == "3": open("happened", "w").close()\n'
    (tmp_path / "script.py").write_text(SCRIPT.replace("\n@triton.jit", f"\n{once}\n@triton.jit", 1))
    status, document = command(tmp_path, "script.py", "--args-a", "0", "--args-b", "3")
    assert (status, document["status"]) == (1, "not-again")
    assert document["verdict"].startswith("NOT AGAIN: launch 1 of scaled")
    assert document["runs"] == 3, "tried once more"


def test_other_launches_are_said_so(tmp_path: Path) -> None:
    fewer = SCRIPT.replace("range(3)", "range(int(sys.argv[1]))").replace("int(sys.argv[1]) if k == 1 else 0", "0")
    (tmp_path / "script.py").write_text(fewer)
    status, document = command(tmp_path, "script.py", "--args-a", "3", "--args-b", "2")
    assert (status, document["status"]) == (1, "launches")


def test_a_script_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("raise SystemExit(7)\n")
    ran = python(require(VERSION), "-m", "prlx", "locate", "script.py", cwd=tmp_path)
    assert ran.returncode == 2
    assert "ended with 7" in ran.stderr


def test_a_run_that_launches_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print('nothing')\n")
    ran = python(require(VERSION), "-m", "prlx", "locate", "script.py", cwd=tmp_path)
    assert ran.returncode == 2
    assert "launched nothing" in ran.stderr
