"""Every public function, class and method of prlx has an example in its docstring, and it prints what it shows."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cudart import compilers

from simulator.conftest import environment, require

from .reading import ROOT
from .run_examples import examples, public

HERE = Path(__file__).resolve().parent
PUBLIC = dict(public())
# Errors are what other calls raise: the base class shows how they are caught.
ERRORS = {name for name, thing in PUBLIC.items() if inspect.isclass(thing) and issubclass(thing, BaseException)}
NAMES = sorted(PUBLIC.keys() - ERRORS | {"PrlxError"})


def simulates(name: str) -> bool:
    """Whether the examples of a name need Triton."""
    return any("softmax import" in example.source for example in examples(PUBLIC[name], name).examples)


SIMULATED = [name for name in NAMES if simulates(name)]
OTHERS = [name for name in NAMES if not simulates(name)]


def run(folder: Path, names: list[str], variables: dict[str, str]) -> dict[str, str]:
    """Run the examples of several names in one process; what went wrong, by name."""
    ran = subprocess.run(
        [sys.executable, HERE / "run_examples.py", folder, *names],
        env=variables, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRLX_")}
    names = [name for name in OTHERS if name != "simulate_cuda" or compilers.nvrtc()]
    path = os.pathsep.join(map(str, compilers.NVRTC))
    return run(tmp_path_factory.mktemp("examples"), names, {**kept, "NO_COLOR": "1", "PYTHONPATH": path})


@pytest.fixture(scope="module")
def wrong_simulated(tmp_path_factory):
    triton = require("3.9.0")
    path = os.pathsep.join([str(triton), str(ROOT / "examples/laptop")])
    return run(tmp_path_factory.mktemp("simulated"), SIMULATED, environment(triton, PYTHONPATH=path))


@pytest.mark.parametrize("name", NAMES)
def test_everything_public_has_an_example(name):
    assert examples(PUBLIC[name], name).examples, f"{name} has no example in its docstring"


@pytest.mark.parametrize("name", OTHERS)
def test_examples_print_what_they_show(name, wrong):
    if name not in wrong:
        pytest.skip("no NVRTC (make build/nvrtc/.ready)")
    assert wrong[name] == ""


@pytest.mark.parametrize("name", SIMULATED)
def test_examples_of_the_simulator_print_what_they_show(name, wrong_simulated):
    assert wrong_simulated[name] == ""
