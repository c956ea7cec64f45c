"""Kernels that record what registers of a GPU leave room for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import prlx
from prlx import _capture

from .conftest import python, require

SCRIPT = """
import json, sys, warnings
import numpy as np
import triton
import triton.language as tl
import prlx

@triton.jit
def many(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    for k in range(n):
        v = tl.where(v > k, v * 2, v + 1)
    tl.store(x + at, v, mask=at < n)

rows = []
for registers, within in ((128, False), (128, True), (128, False), (64, True), (255, True)):
    x = np.arange(1024, dtype=np.float32)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asked = {"capture": "instrumented", "output": "kept.prlx", "overwrite": True, "within_registers": within}
        with prlx.enable(device="simulator", progress=False, **asked):
            many[(1,)](x, 20, BLOCK=1024, num_warps=1, maxnreg=registers)
    trace = prlx.read_trace("kept.prlx", progress=False)
    rows.append({
        "means": trace.header.means, "events": trace.total_events, "result": x.tobytes().hex(),
        "kinds": sorted(trace.sites.column("kind").dictionary()), "notes": [str(note) for note in trace.losses.notes],
        "said": [str(one.message) for one in said if "registers" in str(one.message)],
    })
print(json.dumps(rows))
"""


@pytest.mark.parametrize("version", ["3.9.0"])
def test_less_is_recorded_where_registers_are_short_and_only_there(version: str, tmp_path: Path) -> None:
    (tmp_path / "within.py").write_text(SCRIPT)
    ran = python(require(version), tmp_path / "within.py", cwd=tmp_path, TRITON_CACHE_DIR=str(tmp_path / "cache"))
    assert ran.returncode == 0, ran.stderr[-2000:]
    plain, fewer, again, none, whole = json.loads(ran.stdout.splitlines()[-1])
    assert len({row["result"] for row in (plain, fewer, again, none, whole)}) == 1
    # Registers do not matter where nobody asks, and what was compiled for who asks is not served to who does not.
    assert again == plain
    assert plain["kinds"] == ["branch", "global-store", "predicate"]
    assert plain["said"] == []
    # Branches alone fit, and the recording says what is left out.
    assert fewer["means"] == "instrumented"
    assert fewer["kinds"] == ["branch", "global-store"]
    assert 0 < fewer["events"] < plain["events"]
    assert fewer["notes"] == fewer["said"]
    assert "masks and what they compare" in fewer["notes"][0]
    # Nothing fits: the clean kernel is watched.
    assert none["means"] == "observed"
    assert "would not fit into registers" in none["said"][0]
    # All of it fits.
    assert (whole["means"], whole["events"], whole["said"]) == ("instrumented", plain["events"], [])


def test_a_kernel_that_is_watched_has_its_registers() -> None:
    with pytest.raises(prlx.UsageError, match="within_registers"):
        _capture.rewriter("observed", None, within_registers=True)
