"""Launches of other shapes: five autotuned kernels in three configurations, compared by what they wrote, by element."""

from __future__ import annotations

import functools
import json
import tempfile

from .conftest import HERE, python, require

VERSION = "3.9.0"


@functools.cache
def compared() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        ran = python(require(VERSION), HERE / "run_shapes.py", folder)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


def test_every_kernel_is_compared_in_every_pair_of_configurations():
    assert len(compared()) == 5 * 3 * 2
    assert all("BLOCK" in row["constants"] for row in compared())
    assert all(row["shape"] and "warps do not correspond" in row["verdict"] for row in compared())


def test_right_kernels_are_the_same_within_the_tolerance():
    right = [row for row in compared() if not row["bug"]]
    assert [row for row in right if row["status"] != "same-results" or not row["passed"]] == []
    assert any(row["bits"] for row in right)  # sums come in another order
    assert all(row["first_far"] is None for row in right)


def test_bugs_are_found_by_element():
    wrong = [row for row in compared() if row["bug"]]
    assert [row for row in wrong if row["status"] != "diverged" or row["passed"]] == []
    assert [row for row in wrong if row["element"] != row["first_far"] or row["array"] != "out"] == []
    assert all("run_shapes.py" in row["line"] for row in wrong)


REFUSED = """
import sys
import numpy as np
import prlx
import triton
import triton.language as tl

prlx.enable(device="simulator", progress=False)


@triton.jit
def add(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


x, out = np.ones(300, np.float32), np.zeros(300, np.float32)
for name, n, block in (("a", 300, 64), ("b", 200, 128), ("c", 300, 128)):
    with prlx.record(f"{name}.prlx"):
        add[(triton.cdiv(n, block),)](x, out, n, BLOCK=block)
"""


def test_other_numbers_are_another_launch(tmp_path):
    (tmp_path / "add.py").write_text(REFUSED)
    ran = python(require(VERSION), tmp_path / "add.py", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    other = python(require(VERSION), "-m", "prlx", "diff", "a.prlx", "b.prlx", cwd=tmp_path)
    assert other.returncode == 4
    assert "not of the same launch" in other.stderr
    same = python(require(VERSION), "-m", "prlx", "diff", "a.prlx", "c.prlx", cwd=tmp_path)
    assert same.returncode == 0
    assert "SAME RESULTS" in same.stdout
    assert "1 array by digest" in same.stdout
    strict = ("--strict", "--require", "control-flow,outputs")
    assert python(require(VERSION), "-m", "prlx", "diff", "a.prlx", "c.prlx", *strict, cwd=tmp_path).returncode == 5
    chosen = python(require(VERSION), "-m", "prlx", "diff", "a.prlx", "c.prlx", "--warps", "0", cwd=tmp_path)
    assert chosen.returncode == 4
    assert "warps of launches of other shapes do not correspond" in chosen.stderr
