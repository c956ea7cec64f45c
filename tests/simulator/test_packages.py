"""Triton kernels of third-party packages, where ``PRLX_PACKAGES`` names the folder that ``packages/install.py`` filled.

Without it nothing is run. A case of each of some packages otherwise, all of them in ``make corpus``.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HERE, python, require, torch_environment
from .packages import run_packages

SAMPLE = ["--modules", "cases_conch", "cases_liger", "--cases", "silu_and_mul", "scaled_gemm_edge", "swiglu"]


def test_kernels_of_packages_run_and_are_right(tmp_path):
    folder = os.environ.get("PRLX_PACKAGES")
    if not folder:
        pytest.skip("PRLX_PACKAGES names no folder of packages")
    triton = require("3.9.0")
    torch_environment(triton)  # skips where there is no torch
    journal = Path(os.environ.get("PRLX_PACKAGES_JOURNAL", tmp_path)) / "packages.jsonl"
    words = [sys.executable, HERE / "packages/run_packages.py", folder, "--journal", journal, "--triton", triton]
    words += [] if os.environ.get("PRLX_TRITON_ALL") else SAMPLE
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)
    found = json.loads(done.stdout)
    assert found["kernels_run"], "no kernel ran"
    assert not found["wrong"], found["wrong"]
    assert not found["findings"], found["findings"]
    assert not found["defects_missed"], found["defects_missed"]
    assert found["kernels_run"] >= 0.98 * found["kernels_tried"], found["not_run"]


def test_a_page_of_a_kernel_of_a_package_is_drawn(tmp_path):
    """Of a kernel that nobody here wrote, with long names, arrays of four dimensions and narrow ones."""
    folder = os.environ.get("PRLX_PACKAGES")
    if not folder:
        pytest.skip("PRLX_PACKAGES names no folder of packages")
    triton = require("3.9.0")
    script = tmp_path / "draw.py"
    script.write_text(DRAWN.format(places=[str(HERE / "packages"), *map(str, sorted(Path(folder).iterdir()))]))
    words = ("-m", "prlx", "simulate", "--map-cuda", "--html", "page.html", script)
    done = python(triton, *words, cwd=tmp_path, **torch_environment(triton))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert 100_000 < len(page) < 200_000, "the source of two kernels and twelve arrays"
    assert "key_cache_ptr" in page and "def _paged_attention_compute_splits_kernel(" in page
    sizes = [(int(width), int(height)) for width, height in re.findall(r'<svg [^>]*width="(\d+)" height="(\d+)"', page)]
    assert len(sizes) > 6 and max(max(size) for size in sizes) <= 420 and min(min(size) for size in sizes) >= 24, sizes
    assert 'class="lines calm"' in page, "no conflict, no column of conflicts"


DRAWN = """
import importlib, sys, warnings
sys.path[:0] = {places}
warnings.simplefilter("ignore")
import torch, run_case
run_case.few_configs(1)
list(importlib.import_module("cases_conch").case_paged_attention(torch.Generator().manual_seed(0)))
"""


def row(case, outcome, kernels=(), not_run=(), cause="", package="cases_conch"):
    return {"package": package, "case": case, "outcome": outcome, "cause": cause, "kernels": list(kernels),
            "not_run": list(not_run), "launches": 1}  # fmt: skip


def test_kernels_are_counted_not_cases():
    found = run_packages.summary(
        [
            row("a", "ran", ["one", "two"]),
            row("b", "refused", ["one"], ["three"], "no such instruction"),
            row("c", "wrong", ["four"], cause="output 0: off"),
            row("d", "ran", ["one"], package="cases_liger"),
        ]
    )
    assert (found["kernels_tried"], found["kernels_run"]) == (5, 4)
    assert found["by_package"] == {"conch": 3, "liger": 1}
    assert found["not_run"] == ["conch: three"]
    assert found["causes"] == {"refused: no such instruction": 1}
    assert [one["case"] for one in found["wrong"]] == ["c"]


def test_a_defect_of_a_package_must_be_found():
    case = "scaled_gemm_edge"
    right = run_packages.summary([row(case, "finding", ["k"], cause="gemm.py:344: out-of-bounds in k")])
    assert not right["findings"] and not right["defects_missed"] and len(right["defects_of_packages"]) == 1
    assert run_packages.summary([row(case, "ran", ["k"])])["defects_missed"] == [f"cases_conch {case}"]
    other = run_packages.summary([row(case, "finding", ["k"], cause="gemm.py:1: shared-race in k")])
    assert len(other["findings"]) == 1 and other["defects_missed"]


def test_a_journal_that_was_cut_off_goes_on(tmp_path):
    journal = tmp_path / "j.jsonl"
    journal.write_text(json.dumps(row("a", "ran", ["k"])) + '\n{"package": "cut of')
    assert [one["case"] for one in run_packages.rows_of(journal)] == ["a"]


COMPARED = """
import torch
from case import Compared
one = torch.arange(6.0)
print([Compared("x", got, want).problem for got, want in (
    (one, one.clone()), (one + 1e-6, one), (one + 1, one), (one[:5], one), (one * torch.nan, one * torch.nan),
    (one * torch.nan, one), (one.int(), one.int() + torch.tensor([0, 0, 1, 0, 0, 0])), (torch.zeros(6), one),
)])
"""


@pytest.mark.skipif(not os.environ.get("PRLX_TRITON_ALL"), reason="make corpus runs it: torch is large")
def test_what_differs_is_a_problem():
    triton = require("3.9.0")
    done = python(triton, "-c", COMPARED, cwd=HERE / "packages", **torch_environment(triton))
    assert done.returncode == 0, done.stderr
    found = ast.literal_eval(done.stdout)
    assert [problem is None for problem in found] == [True, True, False, False, True, False, False, False]
    assert found[2].startswith("x: off by ") and "shape (5,)" in found[3] and "1 of 6 differ" in found[6]
