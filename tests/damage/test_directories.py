"""Damaged directories of real recordings: every file is accounted for, every output is strict JSON, no lost rank passes.

Six are made, and 60 by ``make corpus`` (``PRLX_DAMAGES``).
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .directories import Directory, make, recordings, strict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NUMBERS = range(60 if os.environ.get("PRLX_DAMAGES") else 6)


@pytest.fixture(scope="session")
def jobs(data):
    return recordings(data, EXAMPLES)


def combine(made: Directory, output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "prlx",
        "combine",
        str(made.path),
        "-o",
        str(output),
        "--json",
        "--overwrite",
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def account(made: Directory, document: dict) -> None:
    """Every file is used, or named with a reason, or lies in a directory that is."""
    files = document["files"]
    over = {entry["path"]: entry for entry in files["passed_over"]}
    assert files["seen"] == len(files["used"]) + len(over)
    assert all(entry["why"] for entry in over.values())
    for name in made.files():
        inside = [name, *map(str, Path(name).parents)]
        assert name in files["used"] or any(part in over for part in inside), f"nothing is said of {name}"
        assert not (name in files["used"] and name in over)


def outputs(output: Path) -> list[Path]:
    return [path for path in output.parent.iterdir() if path.name.startswith(output.name)]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_damaged_directory_is_accounted_for(number, jobs, tmp_path):
    (tmp_path / "in").mkdir()
    made = make(number, tmp_path / "in", jobs)
    output = tmp_path / "out.json"
    ran = combine(made, output)
    if ran.returncode in (3, 4):  # refused: it names a file, and reads the others when it is told to
        assert any(Path(name).name in ran.stderr for name in made.files()), f"{made.said}\n{ran.stderr}"
        assert not outputs(output)
        ran = combine(made, output, "--skip-unreadable")
    said = f"{made.said}\nexit code {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}"
    if ran.returncode == 3:  # none can be read
        assert len(made.lost) >= 1, said
        return
    assert ran.returncode in (0, 1, 5), said
    document = strict(ran.stdout.encode())
    account(made, document)
    assert not made.lost or ran.returncode != 0, said
    assert not made.lost or document["status"] != "aligned", said
    written = outputs(output)
    assert len(written) >= 2
    for path in written:
        strict(path.read_bytes() if path.suffix != ".gz" else gzip.decompress(path.read_bytes()))
    assert json.loads(ran.stdout)["conclusion"]["outcome"] != "passed" or ran.returncode == 0
