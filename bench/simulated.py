"""The kernels of bench/simulate.py, on the simulator or in Triton's interpreter: one line of JSON a kernel.

Started by bench/simulate.py with Triton and the corpus in PYTHONPATH.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl
from corpus import blocks, elementwise, products

warnings.filterwarnings("ignore")
MACHINE, QUICK = sys.argv[1] == "machine", "--quick" in sys.argv
REPEATS = 1 if QUICK else 4 if MACHINE else 2
SHRINK = 1 if MACHINE else 16  # the interpreter gets so many blocks less
SHRINK_SORT = 1 if MACHINE or QUICK else 1024  # of the sort, of which a block takes it most of a second


@triton.jit
def sort_rows(x, out, stride, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + at, tl.sort(tl.load(x + row * stride + at)))


def cases() -> dict[str, tuple[Any, tuple[int, ...], list[Any], dict[str, Any], Callable[[list[Any]], bool]]]:
    """Kernel, grid, arguments, constants, and whether the result is NumPy's."""
    random = np.random.default_rng(0)
    rows = 8 if QUICK else 2048
    few, sorted_rows = max(rows // SHRINK, 1), max(rows // SHRINK_SORT, 1)
    x = random.standard_normal((rows, 1000)).astype(np.float32)
    half, weight = x.astype(np.float16), random.standard_normal(1000).astype(np.float16)
    size = 128 if QUICK else 1024
    a, b = (random.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    tiles = size // 64

    def right_softmax(arrays: list[Any]) -> bool:
        e = np.exp(x[:few] - x[:few].max(1, keepdims=True))
        return bool(np.allclose(arrays[0][:few], e / e.sum(1, keepdims=True), atol=1e-6))

    def right_mean(arrays: list[Any]) -> bool:
        return bool(np.allclose(arrays[4][:few], half[:few].astype(np.float32).mean(1), atol=1e-4))

    def right_product(arrays: list[Any]) -> bool:
        lines = slice(0, 64)
        want = a[lines].astype(np.float32) @ b.astype(np.float32)
        columns = slice(0, 64 if SHRINK > 1 else size)
        return bool(np.allclose(arrays[2][lines, columns].astype(np.float32), want[:, columns], atol=0.05, rtol=0.01))

    product_grid = (tiles, tiles) if MACHINE else (max(tiles // 4, 1), max(tiles // 4, 1))
    return {
        "add": (
            elementwise.add, (few * 4,), [x.ravel(), x.ravel(), np.zeros_like(x.ravel()), few * 4 * 256], {"BLOCK": 256},
            lambda arrays: bool((arrays[2][: few * 1000] == 2 * x.ravel()[: few * 1000]).all()),
        ),
        "softmax": (
            blocks.softmax, (few,), [np.zeros_like(x), x, 1000, 1000, 1000], {"BLOCK": 1024}, right_softmax,
        ),
        "layernorm": (
            blocks.layernorm, (few,),
            [half, np.zeros_like(half), weight, weight, *np.zeros((2, rows), np.float32), 1000, 1000, 1e-5],
            {"BLOCK": 1024}, right_mean,
        ),
        "sort": (
            sort_rows, (sorted_rows,), [x, np.zeros((rows, 256), np.float32), 1000], {"BLOCK": 256},
            lambda arrays: bool((arrays[1][:sorted_rows] == np.sort(x[:sorted_rows, :256], 1)).all()),
        ),
        "matmul": (
            products.matmul, product_grid, [a, b, np.zeros((size, size), np.float16), size, size, size, size, size, size],
            {"BM": 64, "BN": 64, "BK": 32}, right_product,
        ),
    }  # fmt: skip


def interpreted(argument: Any) -> Any:
    """An array as the interpreter takes it, which asks for a few methods of tensors."""
    return Tensor(argument) if isinstance(argument, np.ndarray) else argument


class Tensor:
    """What Triton's interpreter asks of a tensor, around an ndarray."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype, self.device = array, str(array.dtype), "cpu"

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def untyped_storage(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def copy_(self, *_: Any) -> Tensor:
        return self

    def new_empty(self, *_: Any, **__: Any) -> Tensor:
        return self

    def set_(self, *_: Any, **__: Any) -> Tensor:
        return self

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)


def main() -> None:
    for name, (kernel, grid, arguments, constants, right) in cases().items():
        best, least, instructions = float("inf"), float("inf"), 0
        for _ in range(REPEATS + MACHINE):  # the first launch on the simulator compiles
            started, spent = time.perf_counter(), time.process_time()
            if MACHINE:
                import prlx

                instructions = prlx.simulate(
                    kernel, grid, *arguments, machine={"progress": False}, **constants
                ).instructions
            else:
                kernel[grid](*map(interpreted, arguments), **constants)
            best, least = min(best, time.perf_counter() - started), min(least, time.process_time() - spent)
        if not right(arguments):
            raise SystemExit(f"{name} is wrong")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = 1 if MACHINE or QUICK else SHRINK_SORT if name == "sort" else SHRINK
        row = {"kernel": name, "seconds": best * times, "cpu": least * times, "instructions": instructions}
        print(json.dumps({**row, "peak_mib": peak}), flush=True)


if __name__ == "__main__":
    main()
