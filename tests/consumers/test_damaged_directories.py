"""Perfetto's trace_processor opens what prlx makes of damaged directories, the same ones that tests/damage makes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.damage.directories import make, recordings

NUMBERS = range(60 if os.environ.get("PRLX_DAMAGES") else 12)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def jobs(data: Path) -> dict[str, Callable[[], list[bytes]]]:
    return recordings(data, EXAMPLES)


@pytest.mark.parametrize("number", NUMBERS)
def test_trace_processor_opens_the_output(
    prlx: Callable, ask_perfetto: Callable, jobs: dict[str, Callable[[], list[bytes]]], number: int, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    make(number, tmp_path / "in", jobs)
    command = [*prlx.command, "combine", str(tmp_path / "in"), "-o", str(tmp_path / "out.json"), "--skip-unreadable"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=prlx.environment, timeout=300)
    if ran.returncode == 3:
        assert not (tmp_path / "out.json").exists()
        pytest.skip("none of its traces can be read")
    answer = ask_perfetto(
        tmp_path / "out.json",
        slices="SELECT COUNT(*) FROM slice",
        errors="SELECT name, value FROM stats WHERE severity = 'error' AND value > 0 AND name LIKE '%json%'",
    )
    assert "error" not in answer, answer
    assert answer["slices"][0][0] > 0
    assert not answer["errors"], answer
