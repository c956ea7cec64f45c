"""Programs of other people, where ``PRLX_CUDA_PROGRAMS`` names checkouts: each does what it did before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cudart import compilers, others, test_samples

EXPECTED = json.loads((Path(__file__).parent / "others.json").read_text())
PROGRAMS = {f"{source}/{name}": one for source, rows in EXPECTED["programs"].items() for name, one in rows.items()}
FIRST = (
    "PolyBench-GPU/GEMM", "PolyBench-GPU/MVT", "Rodinia/lud", "Rodinia/bfs", "Rodinia/srad/srad_v2",
    "Professional CUDA C/examples/chapter05/checkSmemSquare",
)  # fmt: skip
ROOTS = {"PolyBench-GPU": "polybench", "Rodinia": "rodinia", "Professional CUDA C": "textbook"}
TRIED = [name for name, one in PROGRAMS.items() if one["came"] not in ("not compiled", "long", "large")]


def found():
    """The programs of all checkouts that are named, each with its folder."""
    marks = ("CUDA/GEMM", "cuda/lud", "examples/chapter02")
    return {
        name: one
        for root in filter(None, os.environ.get("PRLX_CUDA_PROGRAMS", "").split(os.pathsep))
        if any((Path(root) / mark).is_dir() for mark in marks)
        for name, one in others.programs(Path(root)).items()
    }


@pytest.mark.parametrize("name", TRIED if os.environ.get("PRLX_FULL_SWEEP") else FIRST)
def test_a_program_does_what_it_did(name, tmp_path):
    source, _, rest = name.partition("/")
    programs = found()
    if f"{ROOTS[source]}/{rest}" not in programs:
        count = len(EXPECTED["programs"][source])
        pytest.skip(f"PRLX_CUDA_PROGRAMS names no checkout of {source}: {count} programs are not tried")
    if not compilers.there("nvcc"):
        pytest.skip("no nvcc (make build/clang/.ready)")
    result = others.tried(*programs[f"{ROOTS[source]}/{rest}"], tmp_path)
    assert (result["came"], result["findings"]) == (PROGRAMS[name]["came"], PROGRAMS[name]["findings"]), result


def test_nearly_all_run_and_none_is_wrong():
    """Of those that compile, have their input and end: at least 40 of two sources or more, 90 % run, none is wrong."""
    tried = [PROGRAMS[name]["came"] for name in TRIED if PROGRAMS[name]["came"] != "no input"]
    assert sum(came in others.RUN for came in tried) >= max(40, 0.9 * len(tried))
    assert "wrong" not in tried
    assert len(EXPECTED["programs"]) >= 2


def test_sixty_correct_programs_have_no_finding():
    """Programs that nobody here wrote, which pass their own check or end with 0: findings in others are explained."""
    every = {**PROGRAMS, **test_samples.PROGRAMS}
    right = {name: one["findings"] for name, one in every.items() if one["came"] in ("passed", "ended")}
    explained = {*EXPECTED["found"], *test_samples.EXPECTED["found"]}
    assert sum(findings == [] for findings in right.values()) >= 60
    assert {name for name, findings in right.items() if findings} <= explained


def test_the_documentation_has_what_came_of_them():
    page = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    assert "\n".join(others.table(EXPECTED["programs"])) in page
    assert {one["came"] for one in PROGRAMS.values()} <= set(others.CAME)
    assert {name for name in PROGRAMS if not name.startswith("Prof")} == {
        *(f"PolyBench-GPU/{one}" for one in others.POLYBENCH),
        *(f"Rodinia/{one}" for one in others.RODINIA),
    }
