"""Whose memory a launch may touch, end to end. Every Triton compiles atomics on half a word; the rest is the same for all."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from .conftest import HERE, VERSIONS, python, require

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "memory_checks.py").read_text(), re.MULTILINE)
NEWEST = VERSIONS[2]
COMPILED = [name for name in CHECKS if "half_a_word" in name]


@cache
def results(version: str) -> dict[str, str | None]:
    """What became of the checks on one Triton."""
    done = python(require(version), HERE / "memory_checks.py", *([] if version == NEWEST else COMPILED))
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("check", CHECKS)
def test_memory(check):
    problem = results(NEWEST)[check]
    assert problem is None, problem


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != NEWEST])
@pytest.mark.parametrize("check", COMPILED)
def test_compiled_memory(version, check):
    problem = results(version)[check]
    assert problem is None, problem
