"""What a filter lets through, names, lines and functions: of kernels that are watched and that record by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prlx import UsageError
from prlx._wanted import named, wanted

from .conftest import python, require

SCRIPT = """
import json, sys, warnings
import numpy as np
import triton
import triton.language as tl
import prlx

warnings.simplefilter("ignore")

@triton.jit
def read(x, at, n):
    return tl.load(x + at, mask=at < n)

@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = read(x, at, n)
    if n > 100:
        v += tl.load(x + at, mask=at > 3, other=1.0)
    tl.store(x + at, v + 1, mask=at < n)

@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

def launched(capture, *filter):
    x = np.arange(256, dtype=np.float32)
    options = {"filter": filter} if filter else {}
    with prlx.enable(device="simulator", output="runs", overwrite=True, progress=False, capture=capture, **options) as seen:
        for kernel in (add_one, twice):
            kernel[(1,)](x, 200, BLOCK=256)
    rows = {}
    for path in sorted(seen.path.glob("*.prlx")):
        trace = prlx.read_trace(path, progress=False)
        lines = [place.split(":")[-2] for place, n in zip(trace.sites["location"], trace.sites["events"]) if n and place]
        rows[trace.header.kernel] = sorted(set(map(int, lines)))
    cost = {one.kernel: one.instructions for one in seen.simulations}
    return {"rows": rows, "cost": cost, "sum": float(x.sum())}

for words in json.loads(sys.argv[1]):
    print(json.dumps(launched(*words)), flush=True)
"""
LINES = {text: number for number, text in enumerate(SCRIPT.splitlines(), 1)}
READ = next(n for text, n in LINES.items() if "return tl.load" in text)
CALLED = next(n for text, n in LINES.items() if "v = read" in text)
OTHER = next(n for text, n in LINES.items() if "v += tl.load" in text)
TWICE = next(n for text, n in LINES.items() if "* 2" in text)


def run(folder: Path, *words: list[str], **more: str) -> list[dict[str, Any]]:
    """What is recorded, one after the other in one process: each of the words is a capture and filters."""
    script = folder / "kernels.py"
    script.write_text(SCRIPT)
    ran = python(require("3.9.0"), script, json.dumps(words), cwd=folder, **more)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("capture", ["observed", "instrumented"])
def test_names_lines_and_functions(tmp_path: Path, capture: str) -> None:
    filters = ([], [f"kernels.py:{OTHER}"], ["func:read"], ["add_one", f"kernels.py:{TWICE}"], ["add"])
    all_of, line, function, both, inside = run(tmp_path, *([capture, *filter] for filter in filters))
    assert sorted(all_of["rows"]) == ["add_one", "twice"]
    assert {OTHER} < set(all_of["rows"]["add_one"])
    assert line["rows"] == {"add_one": [OTHER]}
    assert set(function["rows"]) == {"add_one"}
    assert set(function["rows"]["add_one"]) in ({READ}, {CALLED})
    assert both["rows"] == {}, "name and line are both asked for"
    assert inside["rows"] == {"add_one": all_of["rows"]["add_one"]}, "found inside of the name"
    assert len({one["sum"] for one in (all_of, line, function, both, inside)}) == 1
    if capture == "instrumented":
        (clean,) = run(tmp_path, ["observed"])
        assert all_of["cost"]["twice"] > clean["cost"]["twice"]
        for one in (line, function, inside):
            assert one["cost"]["twice"] == clean["cost"]["twice"], "what is left out is the clean kernel"
            assert one["cost"]["add_one"] > clean["cost"]["add_one"]
        assert both["cost"] == clean["cost"]
        assert clean["cost"]["add_one"] < line["cost"]["add_one"] < all_of["cost"]["add_one"]


def test_the_environment_says_what_the_program_does_not(tmp_path: Path) -> None:
    inside, other = run(tmp_path, ["observed"], ["observed", "add*"], PRLX_FILTER="tw")
    assert set(inside["rows"]) == {"twice"}
    assert set(other["rows"]) == {"add_one"}


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("add", "add", True),
        ("add", "masked_add_kernel", True),
        ("*add", "add_one", False),
        ("a?d*", "add_one", True),
        ("?", "ab", False),
        ("*a*b*", "xxaxxbxx", True),
        ("[a]", "a", False),
        ("[a]", "x[a]", True),
    ],
)
def test_patterns_are_those_of_the_core(pattern: str, name: str, fits: bool) -> None:
    assert named(pattern, name) is fits


@pytest.mark.parametrize("text", ["k.py:0", "k.py:9-3", "k.py:x", "func:", "k.py:99999999999"])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="filter"):
        wanted(text)


def test_a_filter_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRLX_FILTER", raising=False)
    found = wanted("soft*, k.py:7-9,func:helper")
    assert str(found) == "soft*,k.py:7-9,func:helper"
    assert wanted(None).everything
    assert found.key
    assert found.key != wanted("k.py:7").key
    assert not wanted("soft*").key
