"""Launches on the simulator, end to end: results, findings, recordings, limits; on every Triton."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from .conftest import HERE, VERSIONS, python, require

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "machine_checks.py").read_text(), re.MULTILINE)


@cache
def results(version: str) -> dict[str, str | None]:
    """What became of every check on one Triton."""
    done = python(require(version), HERE / "machine_checks.py")
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("check", CHECKS)
def test_machine(version, check):
    problem = results(version)[check]
    assert problem is None, problem
