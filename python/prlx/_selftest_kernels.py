"""Twelve Triton kernels that a GPU runs clean and while they record. Importing this module imports Triton."""
# ruff: noqa: N803, SIM108 - constants of kernels are written in capitals, and kernels are to have branches
# mypy: disable-error-code="no-untyped-def,misc"

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl

Arrays = dict[str, Any]


@dataclass(frozen=True)
class SelftestKernel:
    """One kernel and what it is launched with.

    Attributes
    ----------
    arrays
        Makes its arrays, the same ones each time.
    exact
        Whether a GPU must write the bits that the simulator writes; not so with approximate functions and tensor cores.
    """

    name: str
    kernel: Any
    grid: tuple[int, ...]
    arrays: Callable[[], Arrays]
    constants: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = True

    def launch(self, arrays: Arrays) -> None:
        """Launch it as a user would."""
        self.kernel[self.grid](**arrays, **self.constants)


@triton.jit
def masked(x, out, n, BLOCK: tl.constexpr):
    """Add, where a mask ends in the middle of a warp."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value + 1.5, mask=at < n)


@triton.jit
def strided(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Transpose a part of a matrix."""
    row, column = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    inside = (row < rows) & (column < columns)
    value = tl.load(x + row * columns + column, mask=inside, other=0)
    tl.store(out + column * rows + row, value, mask=inside)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    """Exponentials are approximate."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * n + at, weight / tl.sum(weight, axis=0), mask=at < n)


@triton.jit
def row_sums(x, out, n, BLOCK: tl.constexpr):
    """Reductions of whole numbers over several warps, and over a loop."""
    row, total = tl.program_id(0), tl.zeros([BLOCK], dtype=tl.int32)
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + at, mask=at < n, other=0)
    tl.store(out + row, tl.sum(total, axis=0))


@triton.jit
def running(x, out, BLOCK: tl.constexpr):
    """Sums of all that is before an element."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def sorted_rows(x, out, BLOCK: tl.constexpr):
    """Sort through shuffles and shared memory."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def collatz(x, out):
    """A loop whose length each block finds in its data."""
    at = tl.program_id(0)
    value, steps = tl.load(x + at), 0
    while value > 1:
        value = tl.where(value % 2 == 0, value // 2, 3 * value + 1)
        steps += 1
    tl.store(out + at, steps)


@triton.jit
def branches(x, out):
    """Branches inside of branches, and one that ends a block early."""
    at = tl.program_id(0)
    value = tl.load(x + at)
    if value == 0:
        return
    if value > 50:
        if value % 3 == 0:
            value = value * 7
        else:
            value = value - 11
    else:
        value = -value
    tl.store(out + at, value)


@triton.jit
def counted(x, bins, n, BLOCK: tl.constexpr):
    """Atomic additions of whole numbers: their order leaves no trace."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + value % 16, 1, mask=at < n)


@triton.jit
def largest(x, out, n, BLOCK: tl.constexpr):
    """Atomic maxima, one of each block."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=-(2**31) + 1)
    tl.atomic_max(out, tl.max(value, axis=0))


@triton.jit
def product(a, b, out, BLOCK: tl.constexpr):
    """Tensor cores: sums of products in an order that is theirs."""
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    left, right = tl.load(a + row * BLOCK + column), tl.load(b + row * BLOCK + column)
    tl.store(out + row * BLOCK + column, tl.dot(left, right))


@triton.jit
def gathered(x, index, out, n, BLOCK: tl.constexpr):
    """Loads from where the data says, and no element where it says nothing."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + at, mask=at < n, other=-1)
    value = tl.load(x + place, mask=place >= 0, other=-1)
    tl.store(out + at, tl.where(value > 100, value, place), mask=at < n)


def _whole(size: int, most: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, most, size, dtype=np.int32)


def _floats(size: int, seed: int, kind: Any = np.float32) -> Any:
    return np.random.default_rng(seed).standard_normal(size).astype(kind)


def _zeros(size: int, kind: Any = np.int32) -> Any:
    return np.zeros(size, kind)


def selftest_kernels() -> list[SelftestKernel]:
    """All of them."""
    block = {"BLOCK": 256}
    return [
        SelftestKernel("masked", masked, (4,), lambda: {"x": _floats(1000, 1), "out": _floats(1000, 2)},
                       {"n": 1000} | block),
        SelftestKernel("strided", strided, (1,), lambda: {"x": _whole(30 * 50, 99, 3), "out": _zeros(30 * 50)},
                       {"rows": 30, "columns": 50, "BM": 32, "BN": 64}),
        SelftestKernel("softmax", softmax, (6,), lambda: {"x": _floats(6 * 200, 4), "out": _zeros(6 * 200, np.float32)},
                       {"n": 200} | block, exact=False),
        SelftestKernel("row_sums", row_sums, (8,), lambda: {"x": _whole(8 * 700, 1000, 5), "out": _zeros(8)},
                       {"n": 700} | block),
        SelftestKernel("running", running, (1,), lambda: {"x": _whole(256, 100, 6), "out": _zeros(256)}, block),
        SelftestKernel("sorted_rows", sorted_rows, (1,), lambda: {"x": _whole(256, 1 << 30, 7), "out": _zeros(256)}, block),
        SelftestKernel("collatz", collatz, (40,), lambda: {"x": np.arange(1, 41, dtype=np.int32), "out": _zeros(40)}),
        SelftestKernel("branches", branches, (100,), lambda: {"x": np.arange(100, dtype=np.int32), "out": _zeros(100)}),
        SelftestKernel("counted", counted, (8,), lambda: {"x": _whole(2000, 1000, 8), "bins": _zeros(16)}, {"n": 2000} | block),
        SelftestKernel("largest", largest, (8,), lambda: {"x": _whole(2000, 1 << 20, 9), "out": _zeros(1)},
                       {"n": 2000} | block),
        SelftestKernel("product", product, (1,), lambda: {"a": _floats(1024, 10, np.float16),
                       "b": _floats(1024, 11, np.float16), "out": _zeros(1024, np.float32)}, {"BLOCK": 32}, exact=False),
        SelftestKernel("gathered", gathered, (2,), lambda: {"x": _whole(300, 200, 12), "index": _whole(400, 301, 13) - 1,
                       "out": _zeros(400)}, {"n": 400} | block),
    ]  # fmt: skip
