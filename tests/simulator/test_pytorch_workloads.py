"""Parts of models that torch.compile compiles, right and with bugs, on the simulator: some always, all in ``make corpus``."""

from __future__ import annotations

import json
import os
import re
from functools import cache

import pytest

from .conftest import HERE, python, require, torch_environment

ALL = bool(os.environ.get("PRLX_TRITON_ALL"))


def listed(file: str, pattern: str) -> list[str]:
    """The functions of a file that match, in their order."""
    return re.findall(rf"^def ({pattern})\(\):", (HERE / file).read_text(), re.MULTILINE)


WORKLOADS = listed("pytorch_workloads.py", r"(?!main)\w+")
BUGS = listed("pytorch_bugs.py", r"(?:operator|decomposition|mask)_\w+")
CHOSEN = WORKLOADS if ALL else ["layer_norm", "rotary", "cross_entropy"]
CHOSEN_BUGS = BUGS if ALL else ["operator_loads_behind_the_end", "mask_leaves_padding_in"]


@cache
def results(file: str, names: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """What became of each, by name."""
    folder = require("3.9.0")
    done = python(folder, HERE / file, *names, seconds=3600, **torch_environment(folder))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row.get("workload") or row["bug"]: row for row in rows}


def test_there_are_enough():
    assert len(WORKLOADS) >= 30
    assert len(BUGS) >= 12


@pytest.mark.parametrize("name", CHOSEN)
def test_a_workload_equals_eager_code_without_a_finding(name):
    row = results("pytorch_workloads.py", tuple(CHOSEN))[name]
    assert row["problem"] is None, row["problem"]
    assert row["findings"] == []
    assert row["launches"]


@pytest.mark.parametrize("name", CHOSEN_BUGS)
def test_a_bug_is_found_with_graph_and_line(name):
    problem = results("pytorch_bugs.py", tuple(CHOSEN_BUGS))[name]["problem"]
    assert problem is None, problem
