"""Programs of PolyBench-GPU and Rodinia, where ``PRLX_CUDA_PROGRAMS`` names checkouts: each does what it did before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cudart import compilers, others

EXPECTED = json.loads((Path(__file__).parent / "others.json").read_text())
CAME = {f"{source}/{name}": came for source, rows in EXPECTED["came"].items() for name, came in rows.items()}
FIRST = ("PolyBench-GPU/GEMM", "PolyBench-GPU/MVT", "Rodinia/lud", "Rodinia/bfs", "Rodinia/srad/srad_v2")
ROOTS = {"PolyBench-GPU": "polybench", "Rodinia": "rodinia"}


def found():
    """The programs of all checkouts that are named, each with its folder."""
    return {
        name: one
        for root in filter(None, os.environ.get("PRLX_CUDA_PROGRAMS", "").split(os.pathsep))
        if (Path(root) / "CUDA" / "GEMM").is_dir() or (Path(root) / "cuda" / "lud").is_dir()
        for name, one in others.programs(Path(root)).items()
    }


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, came in CAME.items()
        if came != "not compiled" and (os.environ.get("PRLX_FULL_SWEEP") or name in FIRST)
    ],
)
def test_a_program_does_what_it_did(name, tmp_path):
    source, _, rest = name.partition("/")
    programs = found()
    if f"{ROOTS[source]}/{rest}" not in programs:
        pytest.skip(
            f"PRLX_CUDA_PROGRAMS names no checkout of {source}: {len(EXPECTED['came'][source])} programs are not tried"
        )
    if not compilers.there("nvcc"):
        pytest.skip("no nvcc (make build/clang/.ready)")
    result = others.tried(*programs[f"{ROOTS[source]}/{rest}"], tmp_path)
    assert result["came"] == CAME[name], result


def test_the_documentation_has_what_came_of_them():
    page = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    assert "\n".join(others.table(EXPECTED["came"])) in page
    assert set(CAME.values()) <= set(others.CAME)
    assert set(CAME) == {f"PolyBench-GPU/{one}" for one in others.POLYBENCH} | {
        f"Rodinia/{one}" for one in others.RODINIA
    }
