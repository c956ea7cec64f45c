"""How large recordings are in both formats: the kernels of bench/simulate.py, recorded as v2 and converted to v1 in zstd.

Started by bench/simulate.py with Triton and the corpus in PYTHONPATH: one line of JSON a kernel and mode. The events of a v2
file are its blocks of warps, paths, operands and index: v1 has neither sites, which lie in a file of their own, nor what a
launch wrote.
"""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import simulated

import prlx
from prlx import _core

MODES: dict[str, dict[str, Any]] = {
    "control-flow": {},
    "values": {"mode": "values"},
    "everything": {"mode": "values", "stores": True, "loads": True, "atomics": True},
}
PREAMBLE, HEAD = 16, 32  # bytes, as in docs/formats/prlx-v2.md
WARPS, INDEX, PATHS, OPERANDS = 3, 4, 10, 11


def bytes_of_events(recording: bytes) -> int:
    """The bytes of the blocks that hold events."""
    at, total = PREAMBLE, 0
    while recording[at : at + 4] == b"P2BK":
        kind, _, _, stored = struct.unpack_from("<BBHI", recording, at + 4)
        total += HEAD + stored if kind in (WARPS, INDEX, PATHS, OPERANDS) else 0
        at += HEAD + stored
    return total


def measured(case: tuple[Any, ...], mode: dict[str, Any]) -> dict[str, Any]:
    """The sizes of one recorded launch."""
    kernel, grid, arguments, constants, _ = case
    with tempfile.TemporaryDirectory() as folder:
        path, older = Path(folder) / "a.prlx", Path(folder) / "v1.prlx"
        with prlx.record(path, **mode):
            kernel[grid](*arguments, **constants)
        reply = _core.run("convert", {"path": str(path), "output": str(older), "to": "v1", "compress": True})
        recording = path.read_bytes()
        return {
            "count": reply["events"],
            "v1": older.stat().st_size,
            "events": bytes_of_events(recording),
            "v2": len(recording),
        }


def main() -> None:
    with prlx.enable(device="simulator", progress=False):
        for name, case in simulated.cases().items():
            kernel, grid, *rest = case
            fewer = tuple(min(size, 4 if len(grid) > 1 else 512) for size in grid)
            for mode, options in MODES.items():
                row = measured((kernel, fewer, *rest), options)
                print(json.dumps({"kernel": f"{name}, {mode}", **row}), flush=True)


if __name__ == "__main__":
    main()
