"""The kernels of bench/races.py that the corpus does not have."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    row = tl.load(x + at)
    row = tl.exp(row - tl.max(row, 0))
    tl.store(out + at, row / tl.sum(row, 0))


@triton.jit
def column_sums(x, out, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(ROWS):
        total += tl.load(x + (tl.program_id(0) * ROWS + row) * columns + at)
    tl.atomic_add(out + at, total)


@triton.jit
def count_up(parts, counter, out):
    row = tl.program_id(0)
    tl.store(parts + row, row)
    if tl.atomic_add(counter, 1) == tl.num_programs(0) - 1:
        total = 0
        for other in range(tl.num_programs(0)):
            total += tl.load(parts + other)
        tl.store(out, total)


@triton.jit
def gather(x, index, out, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + tl.load(index + at)))


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):  # noqa: N803 - as everywhere in Triton
    down = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    along = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + along * rows + down, tl.load(x + down * columns + along))
