"""What a recording would take and lose, against one that is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def test_a_plan_is_of_kernels_that_record(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text('import prlx\nprlx.enable(device="simulator", plan=True)\n')
    done = python(require("3.9.0"), tmp_path / "plan.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "plan: " in done.stderr
