"""Noise of kernels that record by themselves is judged by what they stored, as it is of kernels that are watched.

Two kernels here, with ``PRLX_TRITON_ALL`` (``make corpus``) all of ``noisy.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .conftest import HERE, python, require

FEW = () if os.environ.get("PRLX_TRITON_ALL") else ("rows of half precision", "sum under a lock")


def judged(capture: str, folder: Path) -> dict[tuple[str, str | None], tuple[str, bool]]:
    """Outcome and whether it passes, by kernel and bug."""
    folder.mkdir()
    ran = python(require("3.9.0"), HERE / "run_noisy.py", "--capture", capture, folder, "1", *FEW)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {(row["kernel"], row["bug"]): (row["outcome"], row["passed"]) for row in rows}


def told(folder: Path, b: str, *equal: str) -> tuple[int, str]:
    """What ``prlx diff --baseline`` says of the first run and another."""
    files = [str(folder / f"{name}.prlx") for name in ("a", b)]
    words = ["diff", *files, "--baseline", *(str(folder / f"{name}.prlx") for name in equal)]
    ran = subprocess.run([sys.executable, "-m", "prlx", *words], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_noise_is_judged_by_what_was_stored_however_it_was_recorded(tmp_path: Path) -> None:
    watched = judged("observed", tmp_path / "watched")
    recorded = judged("instrumented", tmp_path / "recorded")
    assert recorded == watched
    outcomes = [outcome for outcome, _ in recorded.values()]
    assert outcomes.count("same") >= len(outcomes) // 6
    assert outcomes.count("differs") >= len(outcomes) * 2 // 3

    code, said = told(tmp_path / "recorded", "e3", "e0", "e1", "e2")  # one more equal run
    assert code == 0, said
    assert "same but for noise" in said
    code, said = told(tmp_path / "recorded", "b", "e0", "e1", "e2", "e3")  # the last bug
    assert code == 1, said
    assert "output out differs" in said
