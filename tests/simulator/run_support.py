"""What recordings of one Triton hold, by what was asked for: one JSON document a capture.

PYTHONPATH=build/triton/3.9.0 python run_support.py
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

import prlx

warnings.simplefilter("ignore")

KINDS = ("branch", "predicate", "global-store", "atomic", "load", "shared-store", "barrier")
ASKED: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    # column: options of enable, variables
    "branches": ({}, {}),
    "masks": ({}, {}),
    "stores": ({"stores": True}, {}),
    "atomics": ({"atomics": True}, {}),
    "loads": ({"loads": True}, {}),
    "shared memory": ({"stores": True}, {}),
    "barriers": ({"barriers": True}, {}),
    "values of lanes": ({"mode": "values"}, {}),
    "hashes alone": ({"mode": "digest"}, {}),
    "last events": ({}, {"PRLX_HISTORY_DEPTH": "2"}),
    "samples": ({}, {"PRLX_SAMPLE_RATE": "2"}),
    "sums of stores": ({}, {}),
    "digests of arrays": ({}, {}),
}
EVENTS = {"branches": "branch", "masks": "predicate", "stores": "global-store", "atomics": "atomic", "loads": "load",
          "shared memory": "shared-store", "barriers": "barrier"}  # fmt: skip


@triton.jit
def everything(x, out, total, n, BLOCK: tl.constexpr):
    """A branch, masks, loads, a reduction through shared memory with barriers, a store and an atomic."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    k = 0
    while k < n // 50:
        value += tl.sum(value) * 0.5
        k += 1
    tl.store(out + at, value, mask=at < n)
    tl.atomic_add(total, tl.sum(value))


def recorded(path: Path, capture: str, options: dict[str, Any], variables: dict[str, str]) -> Any:
    """A recording with these options."""
    x, out, total = np.ones(200, np.float32), np.zeros(200, np.float32), np.zeros(1, np.float32)
    os.environ.update(variables)
    try:
        with prlx.enable(device="simulator", output=path, capture=capture, overwrite=True, progress=False, **options):
            everything[(2,)](x, out, total, 200, BLOCK=128)
    finally:
        for name in variables:
            del os.environ[name]
    return prlx.read_trace(path, progress=False)


def holds(column: str, trace: Any) -> bool:
    """Whether a recording has what was asked for."""
    document = trace.header.document
    if column in EVENTS:
        kinds = trace.events.column("kind")
        return EVENTS[column] in {kinds.dictionary()[code] for code in kinds.values.tolist()}
    if column == "values of lanes":
        return bool(document["mode"] == "values" and trace.total_events)
    if column == "hashes alone":
        return bool(document["mode"] == "digest" and all(trace.warps["hash"].tolist()))
    if column == "last events":
        return bool(document["keep"] == "last")
    if column == "samples":
        return bool(document["sample_rate"] == 2)
    compared = prlx.diff_traces(trace.path, trace.path, progress=False).document["coverage"]["outputs"]
    return bool(compared["stores" if column == "sums of stores" else "arrays"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for capture in ("observed", "instrumented"):
            found = {}
            for column, (options, variables) in ASKED.items():
                try:
                    found[column] = (
                        "yes"
                        if holds(column, recorded(Path(folder) / "one.prlx", capture, options, variables))
                        else "no"
                    )
                except prlx.UsageError:
                    found[column] = "refused"
            print(json.dumps({"triton": triton.__version__, "capture": capture, "found": found}), flush=True)


if __name__ == "__main__":
    main()
