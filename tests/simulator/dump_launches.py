"""Runs the corpus recording by itself and writes each launch whole, for a test of Go that runs it again and traps the recorder.

PYTHONPATH=build/triton/3.9.0 python dump_launches.py DIRECTORY [NAME...]

DIRECTORY gets CASE.N.ptx and CASE.N.json: the request of the N-th launch with the bytes of its memory as they were before it,
in base64; of the arena its size alone.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import prlx
from prlx import _core

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


@contextlib.contextmanager
def noted(folder: Path, case: str) -> Iterator[list[str]]:
    """Writes what is launched in the block; yields the names of what was written."""
    run, texts, written = _core.run, {}, []

    def noting(operation: str, request: dict[str, Any], **rest: Any) -> Any:
        if operation == "simulate_launch":
            name = f"{case}.{len(written)}"
            (folder / f"{name}.ptx").write_text(texts[request["module"]])
            (folder / f"{name}.json").write_text(json.dumps(whole(request)))
            written.append(name)
        done = run(operation, request, **rest)
        if operation == "simulate_load":
            texts[done["module"]] = request["ptx"]
        return done

    _core.run = noting
    try:
        yield written
    finally:
        _core.run = run


def whole(request: dict[str, Any]) -> dict[str, Any]:
    """A launch with its memory."""
    made = request["record"]["instrumented"]
    kept = {name: request[name] for name in ("kernel", "grid", "block", "shared_bytes", "params")}
    kept["memory"] = [
        {
            "name": piece["name"],
            "address": piece["address"],
            "bytes": piece["bytes"],
            "read_only": piece["read_only"],
            "data": None
            if i == made["arena"]
            else base64.b64encode(ctypes.string_at(piece["address"], piece["bytes"])).decode(),
        }
        for i, piece in enumerate(request["allocations"])
    ]
    return {**kept, "arena": made["arena"], "sites": made["sites"]}


def main() -> None:
    from corpus import CASES

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or CASES:
        arrays = CASES[name].arrays(np.random.default_rng(0))
        with (
            noted(folder, name) as written,
            prlx.enable(
                device="simulator",
                capture="instrumented",
                output=folder / f"{name}.recordings",
                stores=True,
                atomics=True,
                barriers=True,
                overwrite=True,
                progress=False,
            ),
        ):
            CASES[name].launch(arrays)
        print(json.dumps({"case": name, "launches": len(written)}), flush=True)


if __name__ == "__main__":
    main()
