"""NVIDIA's samples on the simulator, where ``PRLX_CUDA_PROGRAMS`` names a checkout: what came of each is what came before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cudart import compilers, samples

EXPECTED = json.loads((Path(__file__).parent / "samples.json").read_text())
PROGRAMS = EXPECTED["programs"]
SAMPLE = ("simpleTemplates", "fp16ScalarProduct", "simpleVoteIntrinsics", "simpleTexture")  # without PRLX_FULL_SWEEP


def cases():
    """The samples that are tried: those that run or are refused; without PRLX_FULL_SWEEP a few."""
    for name, one in PROGRAMS.items():
        if one["came"] not in ("not compiled", "long", "untried") and (
            os.environ.get("PRLX_FULL_SWEEP") or Path(name).name in SAMPLE
        ):
            yield name


@pytest.mark.parametrize("name", cases())
def test_a_sample_does_what_it_did(name, tmp_path):
    roots = filter(None, os.environ.get("PRLX_CUDA_PROGRAMS", "").split(os.pathsep))
    root = next((one for one in roots if (Path(one) / "Samples").is_dir()), None)
    if root is None:
        pytest.skip(
            f"PRLX_CUDA_PROGRAMS names no checkout of cuda-samples: {len(PROGRAMS)} programs of 40 MB are not tried"
        )
    if not compilers.there("nvcc"):
        pytest.skip("no nvcc (make build/clang/.ready)")
    folder = samples.copied(Path(root), name, tmp_path)
    program = folder / Path(name).parts[1]
    assert samples.compiled(folder, Path(root), program) == ""
    result = samples.ran(program, folder, *samples.OPTIONS)
    assert (result["came"], result["findings"]) == (PROGRAMS[name]["came"], PROGRAMS[name]["findings"]), result


def test_of_samples_that_end_nearly_all_pass():
    """At least 60 end within 600 s of processor time, and 95 % of them as they should."""
    ended = [one["came"] for one in PROGRAMS.values() if one["came"] in samples.ENDED]
    right = [came for came in ended if came in ("passed", "ended")]
    assert len(ended) >= 60
    assert len(right) >= 0.95 * len(ended)


def test_findings_in_samples_that_pass_are_explained():
    found = {
        name for name, one in PROGRAMS.items() if one["came"] in ("passed", "ended") and one.get("findings", ()) != []
    }
    assert set(EXPECTED["found"]) == found


def test_the_documentation_has_what_came_of_the_samples():
    page = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text()
    assert "\n".join(samples.table(PROGRAMS)) in page
    assert {one["came"] for one in PROGRAMS.values()} <= set(samples.CAME)
    assert f"all {len(PROGRAMS)} folders" in page
    for name, why in EXPECTED["found"].items():
        assert f"| {Path(name).name} | {why} |" in page
