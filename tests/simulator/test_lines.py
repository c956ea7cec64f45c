"""Source lines that the reader of PTX finds, against those in the LLVM IR that the PTX was printed from, kernel by kernel."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from .conftest import HERE, ROOT, python


def test_lines_of_ptx_agree_with_llvm(triton, tmp_path):
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go")
    compiled = python(triton, HERE / "run_lines.py", tmp_path)
    assert compiled.returncode == 0, compiled.stderr[-2000:]
    assert len(list(tmp_path.glob("*.ptx"))) >= 37
    compared = subprocess.run(
        [go, "test", "-count=1", "-v", "-run", "TestLinesAgreeWithLLVM", "./core/simulator/ptx"],
        cwd=ROOT, env={**os.environ, "PRLX_PTX_LINES": str(tmp_path)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert compared.returncode == 0, compared.stdout[-2000:] + compared.stderr[-2000:]
    assert "locations agree" in compared.stdout
