"""Five autotuned kernels in three configurations each, right and with a planted bug, compared across configurations.

PYTHONPATH=build/triton/3.9.0 python run_shapes.py DIRECTORY

Prints one JSON document a comparison: what prlx says, and what NumPy says of the same arrays.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl

import prlx

TOLERANCE = "f32:rel=1e-4+abs=1e-6"


@triton.jit
def scaled(x, out, n, BUG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    if BUG:
        value = tl.where(at == 700, value + 1, value)
    tl.store(out + at, value * 3, mask=inside)


@triton.jit
def row_sums(x, out, n, BUG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n - BUG * 100, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + at, mask=at < n - BUG * 100, other=0.0)
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def softmax(x, out, n, BUG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.max(tl.load(x + row * n + at, mask=at < n, other=-float("inf")), 0))
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        fill = 0.0 if BUG else -float("inf")
        total += tl.sum(tl.exp(tl.load(x + row * n + at, mask=at < n, other=fill) - top), 0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + at, mask=at < n, other=0.0)
        tl.store(out + row * n + at, tl.exp(value - top) / total, mask=at < n)


@triton.jit
def product(a, b, out, M, N, K, BUG: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = tl.load(
            a + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0
        )
        right = tl.load(
            b + inner[:, None] * N + cols[None, :], mask=(inner < K - BUG)[:, None] & (cols < N)[None, :], other=0.0
        )
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(out + rows[:, None] * N + cols[None, :], total, mask=(rows < M)[:, None] & (cols < N)[None, :])


@triton.jit
def counted(x, out, n, BUG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0)
    bin = tl.minimum((tl.abs(value) * 4).to(tl.int32) + BUG, 15)
    tl.atomic_add(out + bin, value, mask=inside)


class Tuned(NamedTuple):
    """A kernel, its inputs, and the grid of a configuration."""

    kernel: Any
    arguments: Callable[[np.random.Generator], dict[str, Any]]
    grid: Callable[[dict[str, Any]], tuple[int, ...]]
    blocks: tuple[tuple[int, int], ...]  # BLOCK and num_warps


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


WIDE = ((64, 2), (128, 4), (256, 8))
KERNELS = {
    "scaled": Tuned(
        scaled, lambda rng: {"x": normal(rng, 1000), "out": np.zeros(1000, np.float32), "n": 1000},
        lambda meta: (triton.cdiv(1000, meta["BLOCK"]),), WIDE,
    ),
    "row_sums": Tuned(
        row_sums, lambda rng: {"x": normal(rng, 6, 900), "out": np.zeros(6, np.float32), "n": 900}, lambda _: (6,), WIDE
    ),
    "softmax": Tuned(
        softmax, lambda rng: {"x": normal(rng, 5, 330), "out": np.zeros((5, 330), np.float32), "n": 330}, lambda _: (5,), WIDE
    ),
    "product": Tuned(
        product,
        lambda rng: {
            "a": normal(rng, 40, 50), "b": normal(rng, 50, 36), "out": np.zeros((40, 36), np.float32),
            "M": 40, "N": 36, "K": 50,
        },
        lambda meta: (triton.cdiv(40, meta["BLOCK"]), triton.cdiv(36, meta["BLOCK"])), ((16, 1), (32, 4), (64, 8)),
    ),
    "counted": Tuned(
        counted, lambda rng: {"x": normal(rng, 700), "out": np.zeros(16, np.float32), "n": 700},
        lambda meta: (triton.cdiv(700, meta["BLOCK"]),), WIDE,
    ),
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")
    with prlx.enable(device="simulator", progress=False):
        for name, tuned in KERNELS.items():
            written = {}
            for (block, num_warps), bug in itertools.product(tuned.blocks, (0, 1)):
                config = triton.Config({"BLOCK": block}, num_warps=num_warps)
                kernel = triton.autotune(configs=[config], key=[])(tuned.kernel)
                arguments = tuned.arguments(np.random.default_rng(7))
                path = folder / f"{name}_{block}_{bug}.prlx"
                with prlx.record(path, outputs="1MiB"):
                    kernel[tuned.grid](**arguments, BUG=bug)
                written[block, bug] = (path, arguments["out"].reshape(-1))
            blocks = [block for block, _ in tuned.blocks]
            for one, other in itertools.combinations(blocks, 2):
                for bug in (0, 1):
                    print(json.dumps(compared(name, written[one, 0], written[other, bug], bug)), flush=True)


def compared(name: str, a: tuple[Path, np.ndarray], b: tuple[Path, np.ndarray], bug: int) -> dict[str, Any]:
    diff = prlx.diff_traces(a[0], b[0], tolerance=TOLERANCE, explain=True, progress=False)
    document = json.loads(diff.to_json())
    first = (document.get("outputs") or {}).get("first") or {}
    far = np.abs(a[1] - b[1]) > np.maximum(1e-6, 1e-4 * np.maximum(np.abs(a[1]), np.abs(b[1])))
    return {
        "kernel": name,
        "bug": bug,
        "status": document["status"],
        "passed": document["passed"],
        "verdict": document["verdict"],
        "shape": document.get("other_shape"),
        "element": first.get("element"),
        "array": first.get("array"),
        "line": (first.get("store") or {}).get("source_location", ""),
        "constants": [row["name"] for row in document["edits"]["constants"]],
        "first_far": int(np.flatnonzero(far)[0]) if far.any() else None,
        "bits": bool((a[1].view(np.uint32) != b[1].view(np.uint32)).any()),
    }


if __name__ == "__main__":
    main()
