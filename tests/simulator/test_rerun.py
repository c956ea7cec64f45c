"""``prlx diff --rerun`` and ``on_inconclusive``: both sides are recorded again with what is missing, and in other orders."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from .conftest import python, require

# One kernel in two forms; the second is edited in place. "scale" halves a factor, "barrier" lacks a barrier.
SCRIPT = """
import sys
from pathlib import Path

import numpy as np

import prlx

KERNELS = {
    "scale": (
        "    v = tl.load(x + i, mask=i < n, other=0.0)",
        "    w = v * 0.5",
        "    tl.store(out + i, w + 1.0, mask=i < n)",
    ),
    "barrier": (
        "    v = tl.load(x + i)",
        "    tl.store(spare + i, v)",
        "    tl.debug_barrier()",
        "    w = tl.load(spare + (i + 64) % 128)",
        "    tl.store(out + i, w)",
    ),
}
EDITS = {"scale": ("v * 0.5", "v * 0.25"), "barrier": ("    tl.debug_barrier()", "")}


def main():
    name, side, recording = sys.argv[1:4]
    lines = KERNELS[name]
    if side == "b":
        lines = [line.replace(*EDITS[name]) for line in lines]
    head = ["import triton", "import triton.language as tl", "", "@triton.jit", "def k(x, spare, out, n, B: tl.constexpr):",
            "    i = tl.arange(0, B)"]
    Path("kernel.py").write_text("\\n".join([*head, *filter(None, lines)]) + "\\n")
    sys.path.insert(0, ".")
    sys.dont_write_bytecode = True
    from kernel import k

    x = np.arange(128, dtype=np.float32) + (1 if len(sys.argv) > 4 else 0)
    spare, out = np.full(128, -1, np.float32), np.zeros(128, np.float32)
    with prlx.enable(device="simulator", progress=False), prlx.record(recording, overwrite=True):
        k[(1,)](x, spare, out, 100, B=128)


main()
"""


@pytest.fixture
def triton() -> Path:
    return require("3.9.0")


@pytest.fixture
def recorded(triton, tmp_path):
    """Records both sides of a kernel by default, and says with which words a side is recorded."""

    def record(name: str) -> list[str]:
        script = tmp_path / "run.py"
        script.write_text(SCRIPT)
        for side in "ab":
            done = python(triton, script, name, side, f"{side}.prlx", cwd=tmp_path)
            assert done.returncode == 0, done.stderr[-2000:]
        return [sys.executable, str(script), name]

    return record


def diff(triton: Path, folder: Path, *words: str):
    return python(triton, "-m", "prlx", "diff", "a.prlx", "b.prlx", *words, cwd=folder)


def test_what_is_missing_is_recorded_again(triton, recorded, tmp_path):
    command = shlex.join([*recorded("scale"), "{side}", "{out}"])
    before = json.loads(diff(triton, tmp_path, "--explain", "--json").stdout)
    assert before["outputs"]["first"].get("element") is None, "only digests were recorded"
    done = diff(triton, tmp_path, "--rerun", command, "--json")
    assert done.returncode == 1, done.stderr[-2000:]
    after = json.loads(done.stdout)
    assert after["outputs"]["first"]["value_a"] == "1.5"
    assert after["outputs"]["first"]["value_b"] == "1.25"
    assert after["explanation"]["class"] == "formula"
    assert after["explanation"]["statement"]["text"] == ["    w = v * 0.25"]
    assert after.get("reruns") is None, "no order can be the cause"


def test_other_orders_settle_that_an_order_decides(triton, recorded, tmp_path):
    command = shlex.join([*recorded("barrier"), "{side}", "{out}"])
    after = json.loads(diff(triton, tmp_path, "--rerun", command, "--json").stdout)
    a, b = after["reruns"]["sides"]
    assert (a["orders"], a["differ"], b["orders"]) == (2, 0, 2)
    assert b["differ"] > 0
    assert (after["explanation"]["class"], after["explanation"]["confidence"]) == ("race", "strong")
    assert after["explanation"]["statement"]["text"] == ["    tl.debug_barrier()"]
    assert after["explanation"]["statement"]["side"] == "A"


def test_a_run_on_other_arguments_is_refused(triton, recorded, tmp_path):
    command = shlex.join([*recorded("scale"), "{side}", "{out}", "other"])
    done = diff(triton, tmp_path, "--rerun", command)
    assert done.returncode == 2
    assert "side A was run again with other arguments" in done.stderr


def test_text_names_the_statement_first(triton, recorded, tmp_path):
    recorded("scale")
    text = diff(triton, tmp_path, "--explain").stdout
    place = text.index("look at ")
    assert "w = v * 0.25" in text[place : text.index("  A  ")]
    assert "kernel.py:8 in B" in text[place:].splitlines()[0]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("true", "names no {side}"),
        ("false {side} {out}", "ended with 1"),
        ("true {side} {out}", "was not recorded"),
    ],
)
def test_commands_that_record_nothing_are_refused(triton, recorded, tmp_path, command, says):
    recorded("scale")
    done = diff(triton, tmp_path, "--rerun", command)
    assert done.returncode in (2, 3)
    assert says in done.stderr


def test_what_is_settled_is_not_run_again(triton, recorded, tmp_path):
    recorded("scale")
    (tmp_path / "b.prlx").write_bytes((tmp_path / "a.prlx").read_bytes())
    assert diff(triton, tmp_path, "--rerun", "false {side} {out}").returncode == 0
