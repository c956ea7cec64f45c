"""NVIDIA's samples on the simulator, where ``PRLX_CUDA_PROGRAMS`` names a checkout: what came of each is what came before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cudart import compilers, samples

EXPECTED = json.loads((Path(__file__).parent / "samples.json").read_text())
SAMPLE = ("simpleTemplates", "fp16ScalarProduct", "simpleVoteIntrinsics", "simpleTexture")  # without PRLX_FULL_SWEEP


def cases():
    """The samples that are tried: those that run or are refused; without PRLX_FULL_SWEEP a few."""
    for name, came in EXPECTED["came"].items():
        if came not in ("not compiled", "long", "cut: long") and (
            os.environ.get("PRLX_FULL_SWEEP") or Path(name).name in SAMPLE
        ):
            yield name


@pytest.mark.parametrize("name", cases())
def test_a_sample_does_what_it_did(name, tmp_path):
    roots = filter(None, os.environ.get("PRLX_CUDA_PROGRAMS", "").split(os.pathsep))
    root = next((one for one in roots if (Path(one) / "Samples").is_dir()), None)
    if root is None:
        pytest.skip(
            f"PRLX_CUDA_PROGRAMS names no checkout of cuda-samples: {len(EXPECTED['came'])} programs are not tried"
        )
    if not compilers.there("nvcc"):
        pytest.skip("no nvcc (make build/clang/.ready)")
    folder = Path(root) / "Samples" / name
    program = tmp_path / folder.name
    assert samples.compiled(folder, Path(root), program) == ""
    came = EXPECTED["came"][name]
    result = samples.ran(program, folder, *(("--launches", "1") if came.startswith("cut: ") else samples.REPEAT))
    assert result["came"] == came.removeprefix("cut: "), result


def test_the_documentation_has_what_came_of_the_samples():
    page = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    assert "\n".join(samples.table(EXPECTED["came"])) in page
    assert set(EXPECTED["came"].values()) <= {*samples.CAME, "cut: wrong"}
    assert f"got to {len(EXPECTED['came'])} of 151 folders" in page
