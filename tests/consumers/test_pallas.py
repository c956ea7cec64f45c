"""Kernels of JAX's Pallas on the simulator (pallas_cases.py runs them, in the Python that has JAX)."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import environments
import pytest

ROOT = Path(__file__).resolve().parents[2]
TRITON = ROOT / "build" / "triton" / "3.9.0"
AGREE = (
    "softmax", "layer_norm", "layer_norm, backward", "rms_norm", "rms_norm, backward", "mha", "mha, causal", "mha, segments",
    "mha, backward", "mha, causal, backward", "gqa", "mqa", "paged_attention", "paged_attention, splits",
)  # fmt: skip
FAULTS = (
    "a block beyond the end", "a load beyond the end", "a store beyond the end", "a place beyond the end",
    "all programs write one block", "a sum that nobody began", "a sum without an atomic", "a division of 0 by 0",
    "an input is written",
)  # fmt: skip
AROUND = ("scan", "scan, reversed", "while_loop", "cond", "jit", "vmap", "checkpoint")


def with_jax(program: Path, *given: object) -> str:
    """What a program prints in the Python that has JAX."""
    if not environments.JOBS.ready:
        pytest.skip("JAX for this Python is not installed")
    if not TRITON.is_dir():
        pytest.skip("Triton 3.9.0 is not installed")
    search = os.pathsep.join([str(ROOT / "python"), str(TRITON)])
    variables = {**os.environ, "PYTHONPATH": search, "TRITON_DEFAULT_FP_FUSION": "1", "JAX_PLATFORMS": "cpu"}
    command = [environments.JOBS.python, "-W", "ignore", program, *map(str, given)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory):
    """The rows of a kind of cases, by name."""

    @cache
    def run(kind: str) -> dict[str, dict]:
        printed = with_jax(Path(__file__).with_name("pallas_cases.py"), kind, tmp_path_factory.mktemp(kind))
        return {row["name"]: row for row in json.loads(printed)}

    return run


@pytest.mark.parametrize("name", AGREE)
def test_a_kernel_of_jax_agrees_with_its_interpreter(cases, name: str) -> None:
    row = cases("agree")[name]
    assert row["passed"]
    assert row["findings"] == []
    assert row["launches"] >= 1
    assert len(row["kernels"]) == row["launches"]
    # Gradients in halves are sums of 128 numbers about 1, rounded in another order.
    assert row["apart"] <= (1e-2 if row["half"] else 1e-4), row
    # The lines are those of JAX's own file.
    function = name.split(",")[0]
    assert row["files"] == [FILES.get(function, function) + ".py"]


FILES = {"mha": "attention", "gqa": "decode_attention", "mqa": "decode_attention"}


def test_every_case_is_looked_at(cases) -> None:
    assert set(cases("agree")) == set(AGREE)
    assert set(cases("faults")) == set(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(cases, name: str) -> None:
    row = cases("faults")[name]
    assert row["found"][:1] == [row["wanted"]], row["texts"]


@pytest.mark.parametrize("name", AROUND)
def test_what_stands_around_a_kernel_runs_as_jax_runs_it(cases, name: str) -> None:
    row = cases("programs")[name]
    assert row["same"]
    assert row["launches"] == {"scan": 6, "scan, reversed": 3, "while_loop": 3, "jit": 2}.get(name, 1)


def test_what_cannot_run_is_refused_by_name(cases) -> None:
    rows = cases("programs")
    assert rows["Mosaic GPU"]["error"] == "UsageError"
    assert "copied is a kernel for Mosaic GPU" in rows["Mosaic GPU"]["message"]
    assert rows["no function"]["error"] == "UsageError"
    assert rows["stop"]["error"] == "FindingError"
    assert "uninitialised-global in summed" in rows["stop"]["message"]


def test_a_function_without_a_kernel_is_inconclusive(cases) -> None:
    row = cases("programs")["no kernel"]
    assert row["outcome"] == "inconclusive"
    assert "it calls no kernel of Pallas" in row["why"]


def test_a_kernel_that_jax_interprets_is_said_to_be_unchecked(cases) -> None:
    row = cases("programs")["interpreted beside"]
    assert row["launches"] == 1
    assert row["outcome"] == "inconclusive"
    assert "doubled: it has interpret=True" in row["why"]


def test_without_triton_it_says_what_to_install() -> None:
    if not environments.JOBS.ready:
        pytest.skip("JAX for this Python is not installed")
    program = "import prlx.jax\ntry: prlx.jax.simulate(abs, 1)\nexcept prlx.UsageError as error: print(error)"
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "JAX_PLATFORMS": "cpu"}
    command = [environments.JOBS.python, "-c", program]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=300)
    assert "Triton cannot be imported" in done.stdout
    assert "pip install triton" in done.stdout


def test_launches_are_recorded(cases) -> None:
    row = cases("programs")["recorded"]
    assert row["launches"] == row["recordings"] == 6


def test_what_the_page_shows_is_what_the_example_prints() -> None:
    program = ROOT / "examples" / "pallas" / "scaled.py"
    printed = (with_jax(program) + with_jax(program, 1)).splitlines()
    page = (ROOT / "docs" / "pallas.md").read_text(encoding="utf-8")
    shown = [line.removeprefix("# ") for line in page.splitlines() if line.startswith(("# <", "# scaled.py"))]
    assert len(shown) == 3
    assert set(shown) <= set(printed)
    text = program.read_text(encoding="utf-8")
    assert page.split("```py\n")[1].partition("```")[0] in text
