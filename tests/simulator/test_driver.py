"""Unmodified kernels reach a launch complete, on every Triton, and what was replaced is put back."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from .conftest import HERE, VERSIONS, python, require

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "driver_checks.py").read_text(), re.MULTILINE)


@cache
def results(version: str) -> dict[str, str | None]:
    """What became of every check on one Triton: they share a process, as importing Triton takes most of the time."""
    done = python(require(version), HERE / "driver_checks.py")
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("check", CHECKS)
def test_driver(version, check):
    problem = results(version)[check]
    assert problem is None, problem
