"""With torch: CPU tensors as arguments, and code that says device="cuda" (``make corpus`` installs torch)."""

from __future__ import annotations

import json
import os
import re
from functools import cache

import pytest

from .conftest import HERE, python, require, torch_environment

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "torch_checks.py").read_text(), re.MULTILINE)


pytestmark = pytest.mark.skipif(not os.environ.get("PRLX_TRITON_ALL"), reason="make corpus runs it: torch is large")


@cache
def results(version: str) -> dict[str, str | None]:
    """What became of every check on one Triton."""
    folder = require(version)
    done = python(folder, HERE / "torch_checks.py", **torch_environment(folder))
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("version", ["3.5.1", "3.9.0"])
@pytest.mark.parametrize("check", CHECKS)
def test_torch(version, check):
    problem = results(version)[check]
    assert problem is None, problem
