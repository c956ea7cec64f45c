"""What a recording would take and lose, against one that is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import prlx
from prlx import _capture

from .conftest import python, require

SCRIPT = """
import json, warnings
import numpy as np
import triton
import triton.language as tl
import prlx

warnings.simplefilter("ignore")

@triton.jit
def many(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for k in range(n):
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

def run(**options):
    x = np.zeros(256, np.float32)
    with prlx.enable(device="simulator", overwrite=True, progress=False, capture="instrumented", OPTIONS, **options) as seen:
        many[(2,)](x, 20, BLOCK=128)
        many[(1,)](x, 3, BLOCK=128)
    return x, seen

planned, seen = run(output="never", plan=True)
from pathlib import Path
nothing = not Path("never").exists()
recorded, _ = run(output="b")
traces = [prlx.read_trace(path, progress=False) for path in sorted(Path("b").glob("*.prlx"))]
print(json.dumps({
    "same": planned.tobytes() == recorded.tobytes(), "nothing": nothing, "loses": seen.plans[0].loses,
    "plans": [vars(plan) for plan in seen.plans], "kept": [one.total_events for one in traces],
    "dropped": [one.losses.dropped for one in traces], "notes": [str(note) for one in traces for note in one.losses.notes],
}))
"""


def ran(folder: Path, options: str = "", **variables: str) -> tuple[dict[str, Any], str]:
    (folder / "plan.py").write_text(SCRIPT.replace("OPTIONS, ", f"{options}, " if options else ""))
    done = python(require("3.9.0"), folder / "plan.py", cwd=folder, **variables)
    assert done.returncode == 0, done.stderr[-2000:]
    *said, last = done.stdout.splitlines()
    return json.loads(last), "\n".join(said)


def test_a_plan_counts_what_a_recording_has(tmp_path: Path) -> None:
    row, said = ran(tmp_path)
    assert row["same"]
    assert row["nothing"], "nothing is written"
    assert [plan["events"] for plan in row["plans"]] == row["kept"]
    assert [plan["warps"] for plan in row["plans"]] == [8, 4]
    assert all(plan["lost_events"] == plan["lost_warps"] == 0 < plan["bytes"] < 1 << 20 for plan in row["plans"])
    assert said.startswith("many: ")
    assert "lost: nothing" in said
    assert "the largest of 2 launches" in said


@pytest.mark.parametrize(
    ("options", "variables"),
    [("", {"PRLX_ARENA": "8KB"}), ('mode="values"', {"PRLX_ARENA": "64KB"}), ("", {"PRLX_HISTORY_DEPTH": "5"})],
)
def test_a_plan_says_what_is_lost(tmp_path: Path, options: str, variables: dict[str, str]) -> None:
    row, said = ran(tmp_path, options, **variables)
    assert row["same"]
    first, kept, dropped = row["plans"][0], row["kept"][0], row["dropped"][0]
    assert first["events"] == kept + dropped
    if "PRLX_HISTORY_DEPTH" in variables:
        assert not row["loses"]
        assert first["not_asked_for"] == dropped == first["events"] - 8 * 5
        assert "left out as asked" in said
        return
    assert row["loses"]
    assert row["notes"]
    if options:
        assert first["lost_operands"] > 0
        assert any("operands" in note for note in row["notes"])
    else:
        assert dropped <= first["lost_events"] <= dropped + 31 * 8


def test_a_window_keeps_what_is_around_an_event(tmp_path: Path) -> None:
    begin, _, _ = SCRIPT.replace("OPTIONS, ", "").partition("planned, seen")
    begin = begin.replace("        many[(1,)](x, 3, BLOCK=128)\n", "")
    (tmp_path / "window.py").write_text(
        begin
        + """
def events(path):
    trace = prlx.read_trace(path, progress=False)
    columns = [trace.events.column(name) for name in ("warp", "site", "active", "taken")]
    words = columns[1].dictionary()
    rows = list(zip(*(column.values.tolist() for column in columns)))
    return trace, [(w, words[s], a, t) for w, s, a, t in rows]

run(output="a.prlx")
_, whole = events("a.prlx")
site = [row[1] for row in whole if row[0] == 3][4]
run(output="b.prlx", window=f"{site}:2:3", events_per_warp=8)
trace, kept = events("b.prlx")
mine = [row for row in whole if row[0] == 3]
at = [i for i, row in enumerate(mine) if row[1] == site][2]
print(json.dumps({"same": [row for row in kept if row[0] == 3] == mine[at + 3 - 8 + 1 : at + 3 + 1],
                  "keep": trace.header.document["keep"], "kept": len(kept)}))
"""
    )
    done = python(require("3.9.0"), tmp_path / "window.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"same": True, "keep": "window", "kept": 64}


@pytest.mark.parametrize(
    "text", ["", "0x12", "0x256fc8ef66887e2a:x", "0x256fc8ef66887e2a:1:2:3", "0x256fc8ef66887e2a:4294967296"]
)
def test_a_window_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(prlx.UsageError, match="window: "):
        _capture.window(text, "instrumented")
    with pytest.raises(prlx.UsageError, match="watched"):
        _capture.window("0x256fc8ef66887e2a", "observed")


def test_a_plan_is_of_kernels_that_record(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text('import prlx\nprlx.enable(device="simulator", plan=True)\n')
    done = python(require("3.9.0"), tmp_path / "plan.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "plan: " in done.stderr
