"""Whoever reads the pages one after the other, in one clone and without pandas, gets to the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simulator.conftest import require

from .reading import OPTIONAL, ROOT, File, Program, Step, hide, sequence
from .test_commands import copy, environment

__all__ = ["copy"]  # a fixture

READ_IN_ORDER = [
    "README.md",
    "docs/tutorial.md",
    "docs/two-runs.md",
    "docs/ranks.md",
    "docs/stragglers.md",
    "docs/serving.md",
    "docs/laptop.md",
    "docs/pytest.md",
]


def run(page: str, what: Step | Program, folder: Path) -> None:
    """Run a command or a program as its page shows it, where NumPy is installed and no other package."""
    there = environment(folder)
    if isinstance(what, Program):
        shown, command = what.text, [sys.executable, "-c", what.text]
        there["PYTHONPATH"] = f"{hide(folder.parent / 'hidden')}:{there['PYTHONPATH']}"
    else:
        shown, command = what.command, ["bash", "-c", what.command]
    done = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{page}: {shown}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"


@pytest.mark.nightly  # test_commands.py runs every page alone
def test_all_pages_one_after_the_other_in_one_clone(copy):
    require("3.9.0")
    for page in READ_IN_ORDER:
        found = sequence(ROOT / page)
        assert found, f"{page} has nothing to run"
        for what in found:
            if isinstance(what, File):
                assert not (copy / what.name).exists(), f"{page}: another page has made {what.name}"
                (copy / what.name).write_text(what.text)
            else:
                run(page, what, copy)


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_package_that_is_hidden_cannot_be_imported(name, tmp_path):
    folder = hide(tmp_path / "hidden")
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], env={"PYTHONPATH": str(folder)}, capture_output=True, text=True
    )
    assert f"No module named '{name}'" in done.stderr
