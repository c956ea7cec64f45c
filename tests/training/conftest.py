"""torch for the tests of tapes: in a process of its own, from the folder that ``make build/torch/.ready`` fills."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TORCH = ROOT / "build/torch"


@pytest.fixture(scope="session")
def torch_environment() -> dict[str, str]:
    """What makes torch importable; without it the test is skipped, in CI it fails."""
    if not (TORCH / "stubs").is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(f"torch is not under {TORCH}: make build/torch/.ready installs it")
        pytest.skip(f"no torch under {TORCH}: make build/torch/.ready installs it")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRLX_")}
    return {**kept, "PYTHONPATH": str(TORCH), "LD_LIBRARY_PATH": str(TORCH / "stubs"), "NO_COLOR": "1"}


@pytest.fixture(scope="session")
def train_in(torch_environment: dict[str, str]) -> Callable[..., Any]:
    """Runs a function of ``programs.py`` or of another module here with torch, in a folder; returns what it returned."""

    def run(folder: Path, name: str, *words: object, seconds: int = 300) -> Any:
        command = [sys.executable, "-W", "ignore", str(HERE / "programs.py"), name, *map(str, words)]
        done = subprocess.run(
            command, cwd=folder, env=torch_environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def train(train_in: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Runs a function of ``programs.py`` with torch, in the folder of the test; returns what it returned."""
    return functools.partial(train_in, tmp_path)


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``prlx``."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "prlx", *map(str, words)]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    return run
