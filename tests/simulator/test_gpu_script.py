"""The script of the GPU checks runs, up to the driver."""

from __future__ import annotations

from .conftest import ROOT, python, require


def test_the_machines_half_of_the_gpu_checks():
    done = python(require("3.9.0"), ROOT / "tests/gpu/run.py", "--without-gpu")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| as NumPy |") == 37


def test_without_a_gpu_nothing_is_claimed(tmp_path):
    done = python(
        require("3.9.0"), ROOT / "tests/gpu/run.py", "-o", tmp_path / "results.md", LD_LIBRARY_PATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no GPU checks: ") or "| GPU beside NumPy |" in done.stdout
