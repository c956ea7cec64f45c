"""How far the answers of a program can be trusted, as text, documents, pages and sessions say it."""

from __future__ import annotations

import json

import pytest

import prlx
from prlx._simulated import Run

from .conftest import VERSIONS, python, require

SCRIPT = """
import sys
import numpy as np, triton, triton.language as tl

@triton.jit
def plain(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.jit
def routed(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    weight = tl.exp(tl.load(x + i))
    tl.store(o + (weight.to(tl.int32) & (BLOCK - 1)), i)
    if tl.sum(weight) > 3:
        tl.store(o, 7)

@triton.jit
def refused(x, BLOCK: tl.constexpr):
    text: tl.constexpr = "wgmma.fence.sync.aligned; mov.b32 $0, $1;"
    tl.inline_asm_elementwise(text, "=r,r", [tl.arange(0, BLOCK)], dtype=tl.int32, is_pure=False, pack=1)

x, o = np.linspace(0, 1, 64, dtype=np.float32), np.zeros(64, np.int32)
for word in sys.argv[1:]:
    if word == "plain":
        plain[(2,)](x, np.zeros(64, np.float32), 64, BLOCK=32)
    if word == "routed":
        routed[(1,)](x, o, BLOCK=64, num_warps=1)
    if word == "refused":
        try:
            refused[(1,)](x, BLOCK=32, num_warps=1)
        except Exception as error:
            print("caught", type(error).__name__)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(*words: str, options: tuple[str, ...] = (), command=("simulate",)):
        triton = require(VERSIONS[2])
        return python(triton, "-m", "prlx", *command, *options, "script.py", *words, cwd=tmp_path)

    return run


def test_an_exact_program_is_said_to_be_exact(run):
    done = run("plain")
    assert done.returncode == 0, done.stderr
    assert "\nfidelity  exact: nothing was approximated\n" in done.stdout


def test_what_approximated_values_reached_is_said_with_the_line(run):
    done = run("plain", "routed")
    assert "fidelity  approximated in 1 of 2 kernels: ex2.approx" in done.stdout, done.stdout + done.stderr
    line = next(text for text in done.stdout.splitlines() if "values that may come from it reached" in text)
    assert "an address" in line and ("a branch" in line or "a predicate" in line)
    assert "address at script.py:14 in routed" in done.stdout
    assert "ulp" in done.stdout


def test_launches_are_added_up_and_sessions_say_it(run, tmp_path):
    once = json.loads(run("routed", options=("--json",)).stdout)["kernels"][0]["fidelity"]
    done = run("plain", "routed", "routed", options=("--json", "--record", "runs", "--html", "page.html"))
    document = json.loads(done.stdout)
    exact, twice = (kernel["fidelity"] for kernel in document["kernels"])
    assert exact == {"exact": True, "approximated": [], "decides": [], "more": 0}
    assert [row["count"] for row in twice["approximated"]] == [2 * row["count"] for row in once["approximated"]]
    assert [row["count"] for row in twice["decides"]] == [2 * row["count"] for row in once["decides"]]
    page = (tmp_path / "page.html").read_text()
    assert "Exact: nothing was approximated." in page and "Values that may come from approximations decided" in page
    rows = [row["fidelity"] for row in json.loads((tmp_path / "runs/session.json").read_text())["launches"]]
    assert rows[0] == {"exact": True, "approximated": [], "decides": []}
    assert rows[1] == rows[2] and "address" in rows[1]["decides"] and rows[1]["approximated"][0].startswith("ex2")
    assert prlx.open(tmp_path / "runs").document["launches"][1]["fidelity"] == rows[1]
    told = python(require(VERSIONS[2]), "-m", "prlx", "session", "inspect", "runs", cwd=tmp_path).stdout
    assert "fidelity  approximated in 2 launches: ex2" in told and "may come from it reached: address" in told


def test_a_launch_that_was_refused_and_caught_is_listed(run):
    done = run("plain", "refused", "refused")
    assert done.returncode == 5, done.stderr  # inconclusive: nobody knows what the refused launches would have done
    assert done.stdout.count("caught") == 2
    assert "refused  refused, 2 launches:" in done.stdout and "wgmma" in done.stdout
    assert "not looked at: launches of refused, wgmma" in done.stdout
    done = run("refused")
    assert done.returncode == 5, done.stderr
    assert "nothing was checked" in done.stdout and "refused  refused, 1 launch:" in done.stdout


def test_lists_are_bounded_and_what_is_left_out_is_counted():
    def launch(first: int) -> dict:
        rows = [{"instruction": f"ex2.{n}", "how": "", "count": 1} for n in range(first, first + 80)]
        return {"exact": False, "approximated": rows, "decides": [], "more": 1}

    from prlx._simulated import Fidelity

    added = Fidelity()
    added.add(launch(0))
    added.add(launch(40))
    document = added.document()
    assert len(document["approximated"]) == 100 and document["more"] == 2 + 20
    assert sum(row["count"] for row in document["approximated"]) == 140
    assert Run("").document(recording=None, status=0)["refused"] == []
