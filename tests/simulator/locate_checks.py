"""Searches with ``prlx.locate`` in one process, for test_locate.py: one JSON document a search.

PYTHONPATH=build/triton/3.9.0 python locate_checks.py
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable

import numpy as np
import triton
import triton.language as tl

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


@triton.jit
def scaled(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, v * 2, mask=at < n - BUG)  # the line of the mistake


def run(slip: int, launches: int = 3) -> None:
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    for k in range(launches):
        scaled[(2,)](x, out, 100, BUG=slip if k == 1 else 0)


def once() -> Callable[[], None]:
    """A run whose mistake happens the first time only."""
    slips = iter([3])
    return lambda: run(next(slips, 0))


def main() -> None:
    searches = {
        "same": (lambda: run(3), lambda: run(3), {}),
        "instrumented": (lambda: run(0), lambda: run(3), {"capture": "instrumented"}),
        "not again": (lambda: run(0), once(), {}),
        "other launches": (lambda: run(0), lambda: run(0, 2), {}),
    }
    for name, (a, b, options) in searches.items():
        print(json.dumps({"search": name, **prlx.locate(a, b, **options).document}), flush=True)


if __name__ == "__main__":
    main()
