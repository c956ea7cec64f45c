"""Forty refactorings: kernels before and after a change that leaves every bit of the results as it was."""
# ruff: noqa: N803, ARG001

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros


@triton.jit
def renamed_variables(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # WAS
    v = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    tl.store(out + at, v * v + v, mask=at < n)  # WAS
    # NOW: offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # NOW: value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    # NOW: tl.store(out + offsets, value * value + value, mask=offsets < n)


@triton.jit
def reordered_statements(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    b = tl.load(y + at, mask=at < n - 1, other=1.0)
    # NOW: a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, a - b, mask=at < n)


@triton.jit
def hoisted_expression(x, out, n, scale, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    # NOW: factor = scale * 0.5 + 1.0
    for start in range(0, n, BLOCK):
        at = start + col
        factor = scale * 0.5 + 1.0  # WAS
        tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * factor, mask=at < n)


@triton.jit
def split_loop(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for step in range(0, n):  # WAS
        total += tl.load(x + step * BLOCK + col)  # WAS
    # NOW: for step in range(0, n // 2):
    # NOW:     total += tl.load(x + step * BLOCK + col)
    # NOW: for step in range(n // 2, n):
    # NOW:     total += tl.load(x + step * BLOCK + col)
    tl.store(out + col, total)


@triton.jit
def turned_comparison(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n  # WAS
    # NOW: inside = n > at
    tl.store(out + at, tl.load(x + at, mask=inside, other=0.0) + 1, mask=inside)


@triton.jit
def negated_mask(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n  # WAS
    # NOW: inside = ~(at >= n)
    tl.store(out + at, tl.load(x + at, mask=inside, other=0.0) + 1, mask=inside)


@triton.jit
def _loaded(x, at, n):
    return tl.load(x + at, mask=at < n, other=0.0)


@triton.jit
def extracted_helper(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    # NOW: value = _loaded(x, at, n)
    tl.store(out + at, value * 2, mask=at < n)


@triton.jit
def inlined_variable(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)  # WAS
    first = row * BLOCK  # WAS
    at = first + tl.arange(0, BLOCK)  # WAS
    # NOW: at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.exp(tl.load(x + at, mask=at < n, other=0.0)), mask=at < n)


@triton.jit
def swapped_factors(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)
    b = tl.load(y + at, mask=at < n, other=0.0)
    tl.store(out + at, a * b, mask=at < n)  # WAS
    # NOW: tl.store(out + at, b * a, mask=at < n)


@triton.jit
def doubled_by_addition(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value * 2.0, mask=at < n)  # WAS
    # NOW: tl.store(out + at, value + value, mask=at < n)


@triton.jit
def relu_by_maximum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.where(value > 0, value, 0.0), mask=at < n)  # WAS
    # NOW: tl.store(out + at, tl.maximum(value, 0.0), mask=at < n)


@triton.jit
def unrolled_loop(x, out, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    # NOW: for step in tl.static_range(STEPS):
    for step in range(STEPS):  # WAS
        total += tl.load(x + step * BLOCK + col)
    tl.store(out + col, total)


@triton.jit
def maximum_backwards(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    top = tl.full([BLOCK], -1e30, tl.float32)
    for step in range(0, n):
        value = tl.load(x + step * BLOCK + col)  # WAS
        # NOW: value = tl.load(x + (n - 1 - step) * BLOCK + col)
        top = tl.maximum(top, value)
    tl.store(out + col, top)


@triton.jit
def advanced_pointer(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    # NOW: source = x + col
    for step in range(0, n):
        total += tl.load(x + step * BLOCK + col)  # WAS
        # NOW: total += tl.load(source)
        # NOW: source += BLOCK
    tl.store(out + col, total)


@triton.jit
def broadcast_late(x, bias, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    value = tl.load(x + row[:, None] * COLS + col[None, :])
    shift = tl.load(bias + col)[None, :]  # WAS
    # NOW: shift = tl.load(bias + tl.broadcast_to(col[None, :], [ROWS, COLS]))
    tl.store(out + row[:, None] * COLS + col[None, :], value + shift)


@triton.jit
def wide_offsets(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)  # WAS
    # NOW: row = tl.program_id(0).to(tl.int64)
    at = row * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)


@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    # NOW: if tl.program_id(0) * BLOCK >= n:
    # NOW:     return
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)


@triton.jit
def guarded_block(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)  # WAS
    # NOW: if (tl.program_id(0) + 1) * BLOCK <= n:
    # NOW:     tl.store(out + at, tl.load(x + at) * 3)
    # NOW: else:
    # NOW:     tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)


@triton.jit
def ceiling_by_hand(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    # NOW: for step in range(0, (n + BLOCK - 1) // BLOCK):
    for step in range(0, tl.cdiv(n, BLOCK)):  # WAS
        at = step * BLOCK + col
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + col, total)


@triton.jit
def filled_afterwards(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))  # WAS
    # NOW: value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    # NOW: value = tl.where(col < n, value, -float("inf"))
    weight = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * n + col, weight / tl.sum(weight, 0), mask=col < n)


@triton.jit
def zeroed_first(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # NOW: tl.store(out + at, tl.zeros([BLOCK], tl.float32), mask=at < n)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) - 1, mask=at < n)


@triton.jit
def stored_in_halves(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0) - 1
    tl.store(out + at, value, mask=at < n)  # WAS
    # NOW: tl.store(out + at, value, mask=(at < n) & (at % 2 == 0))
    # NOW: tl.store(out + at, value, mask=(at < n) & (at % 2 == 1))


@triton.jit
def swapped_nest(x, out, ROWS: tl.constexpr, COLS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    # NOW: for j in range(COLS):
    # NOW:     for i in range(ROWS):
    for i in range(ROWS):  # WAS
        for j in range(COLS):  # WAS
            total += tl.load(x + (i * COLS + j) * BLOCK + at)
    tl.store(out + at, total)


@triton.jit
def shifted_for_divided(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    group = at // 8  # WAS
    # NOW: group = at >> 3
    tl.store(out + at, tl.load(x + group, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def masked_for_modulo(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = at % 16  # WAS
    # NOW: place = at & 15
    tl.store(out + at, tl.load(x + place, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def flat_maximum(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    value = tl.load(x + at)
    top = tl.max(tl.max(value, 1), 0)  # WAS
    # NOW: top = tl.max(tl.max(value, 0), 0)
    tl.store(out, top)


@triton.jit
def transposed_load(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    value = tl.trans(tl.load(x + row[:, None] * COLS + col[None, :]))  # WAS
    # NOW: value = tl.load(x + row[None, :] * COLS + col[:, None])
    tl.store(out + col[:, None] * ROWS + row[None, :], value)


@triton.jit
def commented(x, out, n, BLOCK: tl.constexpr):
    # NOW: # One tile a program.
    # NOW:
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # NOW: # What follows is elementwise.
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value * 0.25, mask=at < n)


@triton.jit
def hinted_offsets(x, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    # NOW: first = tl.multiple_of(first, BLOCK)
    at = first + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 5, mask=at < n)


@triton.jit
def de_morgan(x, out, n, m, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < n) & (col < m)  # WAS
    # NOW: inside = ~((row >= n) | (col >= m))
    at = row * COLS + col
    tl.store(out + at, tl.load(x + at, mask=inside, other=0.0), mask=inside)


@triton.jit
def late_conversion(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    value = tl.where(value > 0, value, 0.0).to(tl.float32)  # WAS
    # NOW: value = value.to(tl.float32)
    # NOW: value = tl.where(value > 0, value, 0.0)
    tl.store(out + at, value * 2, mask=at < n)


@triton.jit
def split_program_id(x, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # WAS
    # NOW: i = tl.program_id(0) // WIDTH
    # NOW: j = tl.program_id(0) % WIDTH
    # NOW: at = (i * WIDTH + j) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 2)


@triton.jit
def while_for_range(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for step in range(0, n):  # WAS
        total += tl.load(x + step * BLOCK + col)  # WAS
    # NOW: step = 0
    # NOW: while step < n:
    # NOW:     total += tl.load(x + step * BLOCK + col)
    # NOW:     step += 1
    tl.store(out + col, total)


@triton.jit
def parted_loop(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    low = tl.full([BLOCK], 1e30, tl.float32)
    high = tl.full([BLOCK], -1e30, tl.float32)
    for step in range(0, n):
        value = tl.load(x + step * BLOCK + col)
        low = tl.minimum(low, value)
        high = tl.maximum(high, value)  # WAS
    # NOW: for step in range(0, n):
    # NOW:     high = tl.maximum(high, tl.load(x + step * BLOCK + col))
    tl.store(out + col, high - low)


@triton.jit
def loaded_again(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))
    top = tl.max(value, 0)
    # NOW: value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    tl.store(out + row * n + col, value - top, mask=col < n)


@triton.jit
def turned_branches(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if tl.program_id(0) < n:  # WAS
        tl.store(out + at, value * 2)  # WAS
    else:  # WAS
        tl.store(out + at, value)  # WAS
    # NOW: if tl.program_id(0) >= n:
    # NOW:     tl.store(out + at, value)
    # NOW: else:
    # NOW:     tl.store(out + at, value * 2)


@triton.jit
def selected_for_branch(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if tl.program_id(0) < n:  # WAS
        value = value * 2  # WAS
    # NOW: value = tl.where(tl.program_id(0) < n, value * 2, value)
    tl.store(out + at, value)


@triton.jit
def peeled_tail(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):  # WAS
        total += tl.load(x + start + col, mask=start + col < n, other=0.0)  # WAS
    # NOW: for start in range(0, n // BLOCK * BLOCK, BLOCK):
    # NOW:     total += tl.load(x + start + col)
    # NOW: last = n // BLOCK * BLOCK + col
    # NOW: total += tl.load(x + last, mask=last < n, other=0.0)
    tl.store(out + col, total)


@triton.jit
def counted_in_pairs(labels, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(labels + at, mask=at < n, other=0)
    tl.atomic_add(out + label, 2, mask=at < n)  # WAS
    # NOW: tl.atomic_add(out + label, 1, mask=at < n)
    # NOW: tl.atomic_add(out + label, 1, mask=at < n)


@triton.jit
def prefetched(x, out, n, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    # NOW: ahead = tl.load(x + col)
    for step in range(0, n):
        value = tl.load(x + step * BLOCK + col)  # WAS
        # NOW: value = ahead
        # NOW: ahead = tl.load(x + (step + 1) * BLOCK + col, mask=(step + 1 < n) & (col >= 0), other=0.0)
        total += value * value
    tl.store(out + col, total)


def _flat(count: int = 300, block: int = 128, **more: Any) -> Any:
    return lambda rng: {"x": floats(rng, 512), "out": zeros(512), "n": count, "BLOCK": block, **more}


def _steps(n: int = 6, **more: Any) -> Any:
    return lambda rng: {"x": floats(rng, n * 128), "out": zeros(128), "n": n, "BLOCK": 128, **more}


def _rows(rng: np.random.Generator) -> dict:
    return {"x": floats(rng, 4, 100), "out": zeros(4, 100), "n": 100, "BLOCK": 128}


def _two(rng: np.random.Generator) -> dict:
    return {"x": floats(rng, 384), "y": floats(rng, 384), "out": zeros(384), "n": 300, "BLOCK": 128}


def _square(**more: Any) -> Any:
    return lambda rng: {"x": floats(rng, 16, 32), "out": zeros(16, 32), "ROWS": 16, "COLS": 32, **more}


CASES = [
    Case(renamed_variables, (3,), _flat()),
    Case(reordered_statements, (3,), _two),
    Case(hoisted_expression, (1,), _flat(scale=0.3)),
    Case(split_loop, (1,), _steps()),
    Case(turned_comparison, (3,), _flat()),
    Case(negated_mask, (3,), _flat()),
    Case(extracted_helper, (3,), _flat()),
    Case(inlined_variable, (3,), _flat()),
    Case(swapped_factors, (3,), _two),
    Case(doubled_by_addition, (3,), _flat()),
    Case(relu_by_maximum, (3,), _flat()),
    Case(unrolled_loop, (1,), lambda rng: {"x": floats(rng, 4, 128), "out": zeros(128), "STEPS": 4, "BLOCK": 128}),
    Case(maximum_backwards, (1,), _steps()),
    Case(advanced_pointer, (1,), _steps()),
    Case(
        broadcast_late,
        (1,),
        lambda rng: {"x": floats(rng, 16, 32), "bias": floats(rng, 32), "out": zeros(16, 32), "ROWS": 16, "COLS": 32},
    ),
    Case(wide_offsets, (3,), _flat()),
    Case(early_return, (4,), _flat(200)),
    Case(guarded_block, (3,), _flat()),
    Case(ceiling_by_hand, (1,), _flat()),
    Case(filled_afterwards, (4,), _rows),
    Case(zeroed_first, (3,), _flat()),
    Case(stored_in_halves, (3,), _flat()),
    Case(
        swapped_nest,
        (1,),
        lambda rng: {
            "x": rng.integers(0, 99, (3, 4, 128)).astype(np.int32),
            "out": zeros(128, kind=np.int32),
            "ROWS": 3,
            "COLS": 4,
            "BLOCK": 128,
        },
    ),
    Case(shifted_for_divided, (3,), _flat()),
    Case(masked_for_modulo, (3,), _flat()),
    Case(flat_maximum, (1,), _square()),
    Case(transposed_load, (1,), _square()),
    Case(commented, (3,), _flat()),
    Case(hinted_offsets, (3,), _flat()),
    Case(de_morgan, (1,), _square(n=9, m=30)),
    Case(
        late_conversion,
        (3,),
        lambda rng: {"x": floats(rng, 384, kind=np.float16), "out": zeros(384), "n": 300, "BLOCK": 128},
    ),
    Case(split_program_id, (4,), lambda rng: {"x": floats(rng, 512), "out": zeros(512), "WIDTH": 2, "BLOCK": 128}),
    Case(while_for_range, (1,), _steps()),
    Case(parted_loop, (1,), _steps()),
    Case(loaded_again, (4,), _rows),
    Case(turned_branches, (4,), _flat(2)),
    Case(selected_for_branch, (4,), _flat(2)),
    Case(peeled_tail, (1,), _flat(480)),
    Case(
        counted_in_pairs,
        (3,),
        lambda rng: {
            "labels": rng.integers(0, 16, 384).astype(np.int32),
            "out": zeros(16, kind=np.int32),
            "n": 300,
            "BLOCK": 128,
        },
    ),
    Case(prefetched, (1,), _steps()),
]
