"""Triton kernels whose blocks wait for each other, end to end."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from .conftest import HERE, VERSIONS, python, require

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "waiting_checks.py").read_text(), re.MULTILINE)


@cache
def results() -> dict[str, str | None]:
    """What became of the checks."""
    done = python(require(VERSIONS[2]), HERE / "waiting_checks.py")
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("check", CHECKS)
def test_waiting(check):
    problem = results()[check]
    assert problem is None, problem
