"""What Triton prints for many kernels, GPUs and versions is rewritten, parses as LLVM IR and is assembled.

A few kernels of Triton 3.9 in ``make test``. With ``PRLX_TRITON_ALL`` all of them, kept under build/llir; that takes an hour.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from llir import table
from prlx import _core
from simulator.conftest import ROOT, VERSIONS, python, require

HERE = Path(__file__).resolve().parent
ALL = bool(os.environ.get("PRLX_TRITON_ALL"))
FEW = (
    "--only",
    "masked_add,branches,counts,depends,gluon_parted",
    "--targets",
    "sm_80,sm_90,gfx942,gfx1100",
    "--every",
)
# What a version of Triton itself does not compile.
REFUSED = {("specialized", "sm_100"), ("gluon_parted", "sm_90"), ("gluon_parted", "sm_100")}


@pytest.fixture(scope="module", params=VERSIONS if ALL else ("3.9.0",))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the modules of one Triton are."""
    triton = require(request.param)
    made = ROOT / "build/llir" / request.param if ALL else tmp_path_factory.mktemp("llir") / request.param
    words = () if ALL and request.param != "3.9.0" else ("--every",) if ALL else FEW
    ran = python(
        triton, HERE / "compile.py", *words, made, seconds=7200, TRITON_CACHE_DIR=str(ROOT / "build/llir/cache")
    )
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert [row for row in rows if "error" in row and (row["case"], row["target"]) not in REFUSED] == [], ran.stderr[
        -2000:
    ]
    assert len(list(made.glob("*.ll"))) >= (40 if ALL else 11)
    return made


@pytest.fixture(scope="module")
def rewritten(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same modules after the rewrite; those of which nothing can be recorded are not there."""
    made = tmp_path_factory.mktemp(f"rewritten-{folder.name}")
    for file in folder.glob("*.ll"):
        answer = _core.call("instrument", {"text": file.read_text()})
        assert "line " not in answer["warning"], f"{file}: {answer['warning']}"
        if answer["sites"]:
            (made / file.name).write_text(answer["text"])
    assert len(list(made.glob("*.ll"))) >= len(list(folder.glob("*.ll"))) * 9 // 10
    return made


def tool(name: str) -> str:
    """A tool of LLVM 21 or later; without one the test is skipped."""
    found = next((found for n in range(24, 20, -1) if (found := shutil.which(f"{name}-{n}"))), None)
    if found is None:
        pytest.skip(f"no {name} of LLVM 21 or later")
    return found


def passes(*words: str | Path) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_llvm_parses_what_it_parses_clean(folder: Path, rewritten: Path) -> None:
    """Triton 3.9 prints some things as LLVM 24 does, which older ones refuse: such a text says nothing."""
    parser = tool("llvm-as")
    clean = [f for f in sorted(rewritten.glob("*.ll")) if passes(parser, "-o", os.devnull, folder / f.name)]
    print(f"llvm-as: {len(clean)} of {len(list(rewritten.glob('*.ll')))} modules of Triton {folder.name}")
    assert len(clean) >= len(list(rewritten.glob("*.ll"))) // 2
    assert [f.name for f in clean if not passes(parser, "-o", os.devnull, f)] == []


def test_llvm_verifies_modules_whose_triple_it_knows(folder: Path, rewritten: Path) -> None:
    verifier = tool("opt")
    words = (verifier, "-passes=verify", "-disable-output")
    clean = [f for f in sorted(rewritten.glob("*.ll")) if passes(*words, folder / f.name)]
    print(f"opt: {len(clean)} of {len(list(rewritten.glob('*.ll')))} modules of Triton {folder.name}")
    assert len(clean) >= len(list(rewritten.glob("*.ll"))) // 4
    assert [f.name for f in clean if not passes(*words, f)] == []


@pytest.fixture(scope="module")
def assembled(folder: Path) -> list[dict[str, Any]]:
    """Registers and bytes of each module."""
    words = () if ALL else ("--only", "masked_add,branches,gluon_parted")
    ran = python(require(folder.name), HERE / "assemble.py", *words, folder, seconds=14400)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def test_every_module_is_assembled(folder: Path, assembled: list[dict[str, Any]]) -> None:
    assert [row for row in assembled if "error" in row] == []
    assert len(assembled) >= (len(list(folder.glob("*.ll"))) if ALL else 6)
    assert sum(row["way"] == 0 for row in assembled) >= len(assembled) // 2
    if ALL:
        (ROOT / "build/llir" / f"assembled_{folder.name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in assembled)
        )


def test_nothing_more_is_spilled(assembled: list[dict[str, Any]]) -> None:
    """And where less is recorded for it, the recording says so."""
    assert [row for row in assembled if row["after"]["spilled"] > row["before"]["spilled"]] == []
    assert [row for row in assembled if row["way"] and "not fit into registers" not in row["warning"]] == []


def alike(told: str, found: str) -> bool:
    """Whether two cells are: paths are part of binaries, so that kilobytes may be one off."""
    numbers = [re.findall(r"(\d+)(?= →|\s*kB)", cell.rpartition(", ")[2]) for cell in (told, found)]
    rest = [cell.rpartition(", ")[0] for cell in (told, found)]
    near = (
        all(abs(int(a) - int(b)) <= 1 for a, b in zip(*numbers, strict=True))
        if numbers[0] and numbers[1]
        else told == found
    )
    return rest[0] == rest[1] and near


def test_the_page_has_the_registers(folder: Path, assembled: list[dict[str, Any]]) -> None:
    """Of the newest Triton each kernel that is assembled here; with all of them also the line of every version."""
    versions, kernels = table.tables()
    short = folder.name.rpartition(".")[0]
    if ALL:
        assert table.version(short, assembled) in versions
    if short == table.NEWEST:
        told = {(line[0], gpu): text for line in kernels[1:] for gpu, text in zip(kernels[0], line, strict=True)}
        wrong = {
            at: (told.get(at), table.cell(row))
            for row in assembled
            if not alike(told.get(at := (f"`{row['case']}`", row["target"]), ""), table.cell(row))
        }
        assert not wrong, f"{table.PAGE.name} says, and what is found (tests/llir/table.py writes it): {wrong}"


def test_cells_are_compared_by_what_they_say() -> None:
    cell = "26 → 40, spilled 0 → 8, 7 → 33 kB"
    assert alike(cell, cell)
    assert alike(cell, "26 → 40, spilled 0 → 8, 8 → 32 kB")
    for other in (
        "26 → 41, spilled 0 → 8, 7 → 33 kB",
        "26 → 40, 7 → 33 kB",
        "26 → 40, spilled 0 → 8, 7 → 35 kB",
        "refused",
        "",
    ):
        assert not alike(cell, other)


def test_warps_with_few_registers_keep_to_them(assembled: list[dict[str, Any]]) -> None:
    """Where warps gave registers away, no instruction names one that they do not have, those of the recorder included."""
    parted = [row for row in assembled if "partitions" in row]
    assert parted
    assert any(row["partitions"]["calls"] for row in parted), "no warp of a kernel with partitions records"
    assert [row for row in parted if row["partitions"]["over"] or row["partitions"]["not_looked_at"]] == []
