"""Kernels of Liger and fla by Triton's own driver, where ``PRLX_PACKAGES`` names the folder that ``install.py`` filled.

``make corpus`` runs all cases of ``packages.py``, otherwise one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.driver.test_program import HERE, TRITON


def test_kernels_of_packages_come_out_the_same_by_either_driver(tmp_path):
    folder = os.environ.get("PRLX_PACKAGES")
    if not folder:
        pytest.skip("PRLX_PACKAGES names no folder of packages")
    if not (TRITON / "3.9.0/triton").is_dir() or not (TRITON.parent / "torch/stubs").is_dir():
        pytest.skip("no Triton 3.9.0 or no torch")
    journals = Path(os.environ.get("PRLX_PACKAGES_JOURNAL", tmp_path))
    words = [sys.executable, HERE / "packages.py", folder, "--journals", journals]
    words += [] if os.environ.get("PRLX_FULL_SWEEP") else ["--modules", "cases_liger", "--cases", "swiglu"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    found = json.loads(done.stdout)
    assert found["kernels"] >= (30 if os.environ.get("PRLX_FULL_SWEEP") else 4)
    assert not found["different"]
    assert not found["not_run"]
    assert not found["losses"]
    assert found["launches"] == found["launches_recorded"]
