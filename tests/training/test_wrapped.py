"""Tapes of trainings that torch wraps: nothing changes in them, and what is written is what ran."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import prlx
from prlx._timeline import inspect_files

HERE = Path(__file__).resolve().parent


def described(path):
    """What ``prlx inspect`` knows of a tape."""
    return inspect_files([str(path)], progress=False)["files"][0]["tape"]


def modules(tape):
    """How many operators ran in each module."""
    return {each["module"]: each["operators"] for each in tape["modules"]}


def test_mixed_precision(train, tmp_path):
    done = train("wrapped.mixed", "a.tape", 1024)
    tape = described(tmp_path / "a.tape")
    assert done["equal"]
    assert (tape["steps"], tape["not_finite"], tape["whole"]) == (3, 0, True)
    assert modules(tape)["0.0"] > 3 * 2, "autocast converts what it multiplies, in the module"


def test_a_scale_that_overflows_is_named_and_its_steps_are_skipped(train, tmp_path):
    done = train("wrapped.mixed", "a.tape", 3e38)
    assert done["equal"]
    assert done["scales"][0] < 3e38, "the scaler saw it, with a tape and without"
    assert done["scales"][0] == done["scales"][1]
    tape = described(tmp_path / "a.tape")
    assert tape["steps"] == 3, "also those that the scaler left out"
    assert tape["not_finite"] > 0
    assert tape["first_maker"]["at"]["step"] == 0


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_a_checkpoint_computes_again_has_its_module_in_the_backward_pass(train, tmp_path, reentrant):
    assert train("wrapped.checkpointed", "a.tape", reentrant)["equal"]
    assert train("wrapped.checkpointed", "b.tape", reentrant)["equal"]
    tape = described(tmp_path / "a.tape")
    assert modules(tape)["blocks.1.0"] > modules(tape)["blocks.0.0"]
    assert prlx.diff_traces(tmp_path / "a.tape", tmp_path / "b.tape", progress=False).conclusion.outcome == "same"


def test_graphs_of_torch_compile_are_taken_operator_by_operator(train, tmp_path):
    done = train("wrapped.compiled", "a.tape")
    assert done["equal"]
    assert done["losses"][:3] == done["losses"][3:]
    tape = described(tmp_path / "a.tape")
    assert tape["operators"] > 3 * 10
    assert tape["whole"]


def test_a_killed_run_leaves_its_ring(torch_environment, tmp_path):
    words = [sys.executable, str(HERE / "programs.py"), "wrapped.ring_killed", "a.tape", "9"]
    done = subprocess.run(words, cwd=tmp_path, env=torch_environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    tape = described(tmp_path / "a.tape")
    assert tape["last_step"] == 9
    assert 2 <= tape["steps"] <= 4
    assert tape["first_step"] == 9 - tape["steps"] + 1
    assert not tape["whole"]
