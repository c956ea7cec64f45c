"""Scripts that change Triton's driver do not leave the simulator without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import NEEDED, python, require

SCRIPT = Path(__file__).with_name("other_driver.py")


def simulated(triton: Path, how: str) -> tuple[int, dict]:
    """Exit code and document of the script."""
    done = python(triton, "-m", "prlx", "simulate", "--json", SCRIPT, how)
    assert "{" in done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout[done.stdout.index("{") :])


@pytest.mark.parametrize(
    ("how", "version"), [*(("reset", one) for one in NEEDED), ("none", "3.9.0"), ("reload", "3.9.0")]
)
def test_a_script_that_goes_back_to_the_default_stays_on_the_simulator(how: str, version: str) -> None:
    code, document = simulated(require(version), how)
    assert code == 0
    assert document["launches"] == 2
    assert document["conclusion"]["outcome"] == "passed"


def test_a_script_that_sets_another_driver_is_inconclusive_and_says_so(triton: Path) -> None:
    code, document = simulated(triton, "other")
    assert code == 5
    assert document["launches"] == 1
    (row,) = document["refused"]
    assert row["kernel"] == "second"
    assert "another driver of Triton active (Other)" in row["message"]
