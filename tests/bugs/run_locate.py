"""Locates bugs of this folder with ``prlx.locate`` and prints one JSON document a bug: where the mistake is and what was said.

PYTHONPATH=build/triton/3.9.0 python run_locate.py FOLDER EQUAL MODULE:ID...

Both forms of a kernel are modules of their own, first/kernel.py and second/kernel.py, as in two checkouts of a repository.
EQUAL times the wrong form is held against itself. The kernel is launched between two others, which are the same.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case
from pairs import FIRST, HERE, SECOND, form, marked_text

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


@triton.jit
def beside(x, n):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def kernel(folder: Path, case: Case, module: str, which: str) -> Any:
    """One form of a kernel, from a file of its own."""
    path = folder / case.id / which / "kernel.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(form(marked_text(HERE / f"{module}.py", case.id), which).text)
    spec = importlib.util.spec_from_file_location(f"{case.id}_{which}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, case.id)


def side(folder: Path, case: Case, module: str, which: str) -> Callable[[], None]:
    """A program that launches one form of a kernel."""
    function = kernel(folder, case, module, which)
    grid = case.second_grid or case.grid if which == SECOND else case.grid

    def run() -> None:
        arguments = case.arguments(np.random.default_rng(1))
        if which == SECOND:
            arguments |= {key: value.copy() if hasattr(value, "copy") else value for key, value in case.second.items()}
        other = np.zeros(100, np.float32)
        beside[(2,)](other, 100)
        function[grid](**arguments, **case.options)
        beside[(2,)](other, 90)

    return run


def row(case: Case, found: prlx.Located, seconds: float, **more: Any) -> dict[str, Any]:
    keys = ("status", "verdict", "kernel", "launch", "place", "runs")
    return {"id": case.id, **{key: found.document[key] for key in keys}, "seconds": round(seconds, 2), **more}


def main() -> None:
    folder, equal = Path(sys.argv[1]), int(sys.argv[2])
    for word in sys.argv[3:]:
        module, name = word.split(":")
        case = next(case for case in importlib.import_module(module).CASES if case.id == name)
        right, wrong = (side(folder, case, module, which) for which in (FIRST, SECOND))
        begun = time.perf_counter()
        print(json.dumps(row(case, prlx.locate(right, wrong), time.perf_counter() - begun)), flush=True)
        for _ in range(equal):
            begun = time.perf_counter()
            found = prlx.locate(wrong, wrong)
            print(json.dumps(row(case, found, time.perf_counter() - begun, equal=True)), flush=True)


if __name__ == "__main__":
    main()
