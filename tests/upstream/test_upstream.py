"""Triton's own unit tests on the simulator, where ``PRLX_TRITON_TESTS`` names a folder with its source as 3.6.0 and 3.9.0.

Without it nothing is run. A few tests of ``test_standard`` otherwise; ten parameter sets of every function in ``make corpus``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.conftest import ROOT, require

HERE = Path(__file__).resolve().parent
VERSIONS = ("3.6.0", "3.9.0")
FEW = ["--per-function", "1", "--files", "language/test_standard.py"]


def checkout(version: str) -> Path:
    """Triton's source in a version; without it the test is skipped."""
    named = os.environ.get("PRLX_TRITON_TESTS")
    if not named:
        pytest.skip("PRLX_TRITON_TESTS names no checkout of Triton")
    folder = Path(named) / version
    if not folder.is_dir():
        pytest.skip(f"no {version} under {named}")
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_what_applies_passes_or_is_refused_by_name(version, tmp_path):
    tests, triton, torch = checkout(version), require(version), ROOT / "build/torch"
    if not (torch / "stubs").is_dir():
        pytest.skip(f"no torch under {torch}: make corpus installs it")
    journal = Path(os.environ.get("PRLX_UPSTREAM_JOURNAL", tmp_path)) / f"upstream-{version}.jsonl"
    words = [sys.executable, HERE / "run.py", tests, "--triton", triton, "--torch", torch, "--journal", journal]
    words += [] if os.environ.get("PRLX_TRITON_ALL") else FEW
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    sys.stdout.write(done.stdout)
    assert found["apply"], "nothing applied"
    assert not found["not_passed"], found["not_passed"]
    assert sum(found["refused_by_cause"].values()) <= found["apply"] / 100, found["refused_by_cause"]


def test_what_passes_passes_over_tritons_own_driver(tmp_path):
    tests, triton, torch = checkout("3.9.0"), require("3.9.0"), ROOT / "build/torch"
    if not (torch / "stubs").is_dir():
        pytest.skip(f"no torch under {torch}: make corpus installs it")
    folder = Path(os.environ.get("PRLX_UPSTREAM_JOURNAL", tmp_path))
    own, driver = folder / "upstream-drawn.jsonl", folder / "upstream-driver.jsonl"
    words = [sys.executable, HERE / "run.py", tests, "--triton", triton, "--torch", torch, "--seconds", "60"]
    drawn = ["--per-function", "3", "--share", "0.7"] if os.environ.get("PRLX_TRITON_ALL") else FEW
    over = ["--over", "driver", "--passed-in", own, *drawn]
    subprocess.run([*map(str, (*words, "--journal", own, *drawn))], capture_output=True, check=False)
    done = subprocess.run(
        [*map(str, (*words, "--journal", driver, *over))], capture_output=True, text=True, check=False
    )
    found = json.loads(done.stdout)
    sys.stdout.write(done.stdout)
    assert found["passed"] == found["tests"] > 0, found["not_passed"]


def test_a_journal_is_summed_up(tmp_path):
    rows = [
        ("a", "passed", ""),
        ("b", "refused", "x"),
        ("c", "refused", "k.ptx:32: x"),
        ("d", "not for an sm_80", ""),
        ("e", "wrong", "?"),
        ("f", "given up", "not done after 60 s"),
        ("language/test_annotations.py::test_int_annotation[False-8]", "finding", "out-of-bounds in _kernel"),
        ("language/test_annotations.py::test_int_annotation[False-8]", "finding", "shared-race in _kernel"),
        ("language/test_core.py::test_pointer_arguments[cpu]", "wrong", "Failed: DID NOT RAISE"),
        ("language/test_core.py::test_cat[True-float32-4]", "wrong", "AssertionError: Tensor-likes are not equal!"),
    ]
    journal = tmp_path / "j.jsonl"
    lines = [json.dumps({"test": test, "outcome": outcome, "cause": cause}) for test, outcome, cause in rows]
    journal.write_text("\n".join(lines) + '\n{"test": "cut of')
    from .run import summary

    found = summary(journal)
    assert (found["tests"], found["apply"], found["refused"]) == (10, 7, 2)
    assert found["refused_by_cause"] == {"x": 2, "not done after 60 s": 1}
    assert found["excused_by_reason"] == {
        "it stores beyond an array of one element": 1,
        "tensors of the CPU are the simulator's": 1,
        "can_reorder=True lets this Triton's compiler reorder, and it does": 1,
    }
    assert [row["test"][:1] for row in found["not_passed"]] == ["e", "l"]
