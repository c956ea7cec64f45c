"""``prlx simulate --html``, ``--compare`` and ``--break``, and what they are made of."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import pytest

from .conftest import ROOT, VERSIONS, python, require

SOFTMAX = ROOT / "examples/laptop/softmax.py"


@pytest.fixture
def simulate(tmp_path: Path):
    """Runs ``prlx simulate`` beside a copy of the softmax, with the newest Triton."""
    shutil.copy(SOFTMAX, tmp_path / "softmax.py")

    def run(*words: str | Path):
        return python(require(VERSIONS[2]), "-m", "prlx", "simulate", *words, cwd=tmp_path)

    return run


def edited(folder: Path, *changes: tuple[str, str]) -> None:
    text = SOFTMAX.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "edited.py").write_text(text)


def test_the_page_shows_source_findings_and_arrays(simulate, tmp_path):
    done = simulate("--html", "page.html", "softmax.py", "--slip", "1")
    assert done.returncode == 1, done.stderr
    assert "wrote page.html" in done.stderr
    page = html.unescape((tmp_path / "page.html").read_text())
    shown = re.sub(r"<(?!tr|td|/tr)[^>]*>", "", page)
    for want in (
        "2 findings in 1 launch.", 'at softmax.py:21: A load of 4 bytes', "weight = tl.exp(value - tl.max(value, axis=0))",
        "x 6 \u00d7 200 fp32", "written: 300 of 300 cells, 5 of them by more than one block", "SLIP = 1",
    ):  # fmt: skip
        assert want in shown, want
    rows = [line for line in page.splitlines() if "<tr" in line and "tl.load(" in line]
    assert len(rows) == 1 and 'class="found"' in rows[0] and "264" in rows[0], rows
    again = simulate("--html", "page.html", "softmax.py")
    assert again.returncode not in (0, 1) and "already exists" in again.stderr and "softmax" not in again.stdout
    assert simulate("--html", "page.html", "--overwrite", "softmax.py").returncode == 0


def test_maps_say_which_block_touched_which_row(simulate):
    done = simulate("--json", "--touched", "--html", "page.html", "softmax.py")
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    arrays = {array["name"]: array for array in kernel["touched"]["arrays"]}
    assert arrays["x"]["write"] is None and arrays["out"]["read"] is None
    for cells in (arrays["x"]["read"], arrays["out"]["write"]):
        assert cells["first"] == cells["last"] == [row for row in range(6) for _ in range(50)]
        assert set(cells["blocks"]) == {1}
    assert kernel["texts"]["functions"][0]["function"] == "softmax"
    plain = json.loads(simulate("--json", "softmax.py").stdout)
    assert plain["kernels"][0]["texts"] is None and plain["kernels"][0]["touched"] is None and plain["stops"] == []


def test_versions_are_compared_line_by_line(simulate, tmp_path):
    edited(
        tmp_path,
        ("    inside = column < n + SLIP\n", "    # a comment\n    inside = column < n + SLIP\n"),
        ("tl.exp(value - tl.max(value, axis=0))", "tl.exp(value)"),
    )
    done = simulate("--compare", "softmax.py", "--json", "edited.py")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["conclusion"]["outcome"] == "differs"
    assert document["schema"] == "prlx.simulate-compare/1" and document["status"] == "differs"
    (kernel,) = document["kernels"]
    assert kernel["paired"] == "text" and kernel["b"]["instructions"] < kernel["a"]["instructions"]
    by_text = {row["text_a"].strip(): row for row in kernel["lines"] if row["text_a"]}
    load = next(row for text, row in by_text.items() if "tl.load" in text)
    assert (load["line_a"], load["line_b"], load["change"]) == (21, 22, "same") and load["a"] == load["b"]
    weight = by_text["weight = tl.exp(value - tl.max(value, axis=0))"]
    assert weight["text_b"].strip() in ("weight = tl.exp(value)", "") and weight["a"] != weight["b"]
    text = simulate("--compare", "softmax.py", "--html", "both.html", "edited.py")
    assert "1 of 1 kernels did something else" in text.stdout and "tl.exp(value)" in text.stdout
    assert "weight = tl.exp(value)" in html.unescape((tmp_path / "both.html").read_text())


def test_a_version_is_the_same_as_itself(simulate, tmp_path):
    edited(tmp_path, ("    inside = column < n + SLIP\n", "    inside = column < n + SLIP  # the same\n"))
    done = simulate("--compare", "softmax.py", "edited.py")
    assert done.returncode == 0 and "1 of 1 kernels did the same" in done.stdout
    gone = simulate("--compare", "nowhere.py", "softmax.py")
    assert gone.returncode == 3 and "nowhere.py" in gone.stderr
    (tmp_path / "fails.py").write_text("raise SystemExit(4)")
    assert "exit code 4" in simulate("--compare", "fails.py", "softmax.py").stderr


def test_a_break_shows_what_lanes_hold(simulate):
    done = simulate("--break", "softmax.py:21:3", "--break", "softmax.py:200", "softmax.py")
    assert done.returncode == 0, done.stderr
    assert "softmax.py:200: no kernel that was launched has an instruction of this line" in done.stderr
    lines = done.stdout.splitlines()
    at = lines.index("softmax.py:21 in softmax, block (0, 0, 0), warp 0, lane 3, pass 0, launch 0")
    shown = [line.strip() for line in lines[at + 1 :]]
    for want in (
        "< stride: s32, argument at softmax.py:18: 200",
        "< row: s32, program-id %ctaid.x at softmax.py:18: 0",
        "< column: u32, arith at softmax.py:19: 3",
    ):
        assert want in shown[:12]
    assert any(line.startswith("= value: f32, load x at softmax.py:21: ") for line in shown)
    assert "21 more stops at these lines" in done.stdout
    document = json.loads(simulate("--break", "softmax.py:24", "--max-stops", "5", "--json", "softmax.py").stdout)
    assert len(document["stops"]) == 5 and document["more_stops"] == 19
    assert {stop["line"] for stop in document["stops"]} == {24} and document["stops"][4]["block"] == [1, 0, 0]
    wrong = simulate("--break", "softmax.py", "softmax.py")
    assert wrong.returncode == 2 and "FILE:LINE" in wrong.stderr


CALLBACK = """
import numpy as np, prlx
from softmax import softmax

x, out, seen = np.arange(1200, dtype=np.float32).reshape(6, 200), np.zeros((6, 200), np.float32), []
with prlx.enable(device="simulator", breaks=["softmax.py:24"], on_stop=seen.append, output="run", workers=2) as recording:
    softmax[(6,)](out, x, 200, 200, SLIP=0, BLOCK=256)
(done,) = recording.simulations
assert list(done.stops) == seen and len(seen) == 24
for stop in seen:
    row = stop.block[0]
    shares = stop.named("share")
    assert shares and all(value.type == "f32" for value in shares), stop
    places = [value for value in stop.values if value.type == "ptr" and value.made and value.values[0].startswith("out+")]
    assert places and places[0].values[0] == f"out+{800 * row}", stop
    assert not stop.named("value"), stop  # an address of line 21 that is used again
assert prlx.open("run")
"""


def test_a_callback_gets_the_stops_of_a_launch_that_is_recorded(tmp_path):
    shutil.copy(SOFTMAX, tmp_path / "softmax.py")
    (tmp_path / "callback.py").write_text(CALLBACK)
    done = python(require(VERSIONS[2]), "callback.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
