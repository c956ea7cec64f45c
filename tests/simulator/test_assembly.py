"""Kernels that record are accepted by Triton's own last stages, for GPUs of both vendors, on a machine without one.

``PRLX_ASSEMBLY_ALL=1`` takes every kernel of the corpus and every target; it takes an hour.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import HERE, python, require

ALL = bool(os.environ.get("PRLX_ASSEMBLY_ALL"))
CASES = () if ALL else ("add", "early")
TARGETS = "sm_80,sm_90,sm_100,sm_120,gfx90a,gfx942,gfx950,gfx1100,gfx1201" if ALL else "sm_80,sm_90,gfx942,gfx1100"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assembly")


@pytest.fixture(scope="module")
def rows(kept: Path) -> list[dict[str, Any]]:
    ran = python(require("3.9.0"), HERE / "run_assembly.py", "--targets", TARGETS, "--keep", kept, *CASES, seconds=7200)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def test_every_stage_accepts_every_kernel(rows: list[dict[str, Any]]) -> None:
    assert [row for row in rows if "error" in row] == []
    assert len(rows) >= len(TARGETS.split(",")) * len(CASES)
    recording = [row for row in rows if row["sites"]]
    assert len(recording) >= len(rows) // 2
    assert {row["after"]["entries"] for row in recording} == {1}


def test_amd_kernels_are_told_their_block(rows: list[dict[str, Any]]) -> None:
    amd = [row for row in rows if row["target"].startswith("gfx") and row["sites"]]
    assert amd
    assert all(row["after"]["told"] for row in amd)


def test_small_kernels_hardly_spill(rows: list[dict[str, Any]]) -> None:
    """A call may cost a few bytes where a predicate lives across it."""
    small = [row for row in rows if row["sites"] and row["before"]["registers"] <= 64]
    assert small
    assert [row for row in small if row["after"]["spills"] > 32] == []


def test_llvm_parses_every_text_that_it_parses_clean(rows: list[dict[str, Any]], kept: Path) -> None:
    """Triton ends the process on a text that does not parse, so another LLVM reads it, where one is new enough.

    Triton 3.9 prints floats as LLVM 24 does, which older ones refuse; such a text says nothing.
    """
    tool = next((found for n in range(24, 20, -1) if (found := shutil.which(f"llvm-as-{n}"))), None)
    if tool is None:
        pytest.skip("no llvm-as of LLVM 21 or later")

    def parses(file: Path) -> bool:
        return subprocess.run([tool, "-o", os.devnull, file], capture_output=True, check=False).returncode == 0

    clean = [file for file in sorted(kept.glob("*.clean.ll")) if parses(file)]
    assert len(clean) >= len(rows) // 2
    assert [file.name for file in clean if not parses(file.with_name(file.name.replace(".clean.", ".made.")))] == []
