"""Bugs of our own: one for each class of mistake that a comparison once called the same."""
# ruff: noqa: N803, ARG001

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros


@triton.jit
def own_swapped_axes(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    value = tl.load(x + row * COLS + col)
    target = out + col * ROWS + row  # BUG
    # FIX: target = out + row * COLS + col
    tl.store(target, value * 2)


@triton.jit
def own_store_mask(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value + 1.0)  # BUG
    # FIX: tl.store(out + at, value + 1.0, mask=at < n)


@triton.jit
def own_overflow(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offset = row * stride  # BUG
    # FIX: offset = row.to(tl.int64) * stride
    at = (offset % n + n) % n + tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + tl.arange(0, BLOCK), tl.load(x + at))


@triton.jit
def own_stride(x, out, columns, padded, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + col, mask=col < columns, other=0.0)  # BUG
    # FIX: value = tl.load(x + row * padded + col, mask=col < columns, other=0.0)
    tl.store(out + row * columns + col, value, mask=col < columns)


@triton.jit
def own_rescale(q, k, v, out, n, M: tl.constexpr, D: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    dim = tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + dim[None, :])
    top = tl.full([M], -1e30, tl.float32)
    total = tl.zeros([M], tl.float32)
    mixed = tl.zeros([M, D], tl.float32)
    for start in range(0, n, N):
        col = start + tl.arange(0, N)
        score = tl.dot(queries, tl.load(k + col[None, :] * D + dim[:, None]))
        higher = tl.maximum(top, tl.max(score, 1))
        shrink = tl.exp(top - higher)
        weight = tl.exp(score - higher[:, None])
        total = total * shrink + tl.sum(weight, 1)
        # FIX: mixed = mixed * shrink[:, None]
        mixed += tl.dot(weight.to(tl.float16), tl.load(v + col[:, None] * D + dim[None, :]))  # WRONG
        top = higher
    tl.store(out + row[:, None] * D + dim[None, :], mixed / total[:, None])


@triton.jit
def own_half_accumulator(a, b, out, k, T: tl.constexpr):
    i = tl.arange(0, T)
    total = tl.zeros([T, T], tl.float16)  # BUG
    # FIX: total = tl.zeros([T, T], tl.float32)
    for start in range(0, k, T):
        at = start + tl.arange(0, T)
        left = tl.load(a + i[:, None] * k + at[None, :])
        right = tl.load(b + at[:, None] * T + i[None, :])
        total += tl.dot(left, right).to(total.dtype)  # WRONG
    tl.store(out + i[:, None] * T + i[None, :], total.to(tl.float32))


@triton.jit
def own_other(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)  # BUG
    # FIX: value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))
    weight = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * n + col, weight / tl.sum(weight, 0), mask=col < n)


@triton.jit
def own_epsilon(x, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    spread = tl.sum(value * value, 0) / n
    scale = tl.rsqrt(spread)  # BUG
    # FIX: scale = tl.rsqrt(spread + eps)
    tl.store(out + row * n + col, value * scale, mask=col < n)


@triton.jit
def own_exchange(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + tl.program_id(0) * N + at)
    tl.atomic_xchg(out + at, value)  # BUG
    # FIX: tl.atomic_add(out + at, value)


@triton.jit
def own_lost_update(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + tl.program_id(0) * N + at)
    tl.store(out + at % 16, tl.load(out + at % 16) + value)  # BUG
    # FIX: tl.atomic_add(out + at % 16, value)


@triton.jit
def own_dirty_start(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, BLOCK * tl.num_programs(0)):
        total += tl.load(x + start + tl.arange(0, BLOCK))
    tl.atomic_add(out, tl.sum(total, 0))  # WRONG


@triton.jit
def own_swapped_in(x, out):
    value = tl.load(x + tl.program_id(0)) * 3.0  # BUG
    # FIX: value = tl.load(x + tl.program_id(0))
    done = 0
    while done == 0:
        old = tl.load(out)
        new = (old.to(tl.float32, bitcast=True) + value).to(tl.int32, bitcast=True)
        done = (tl.atomic_cas(out, old, new) == old).to(tl.int32)


@triton.jit
def own_inverted_branch(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    # FIX: if tl.sum(value, 0) >= 0:
    if tl.sum(value, 0) < 0:  # BUG
        value = value * 2
    tl.store(out + at, value)


CASES = [
    Case(own_swapped_axes, (1,), lambda rng: {"x": floats(rng, 16, 32), "out": zeros(16, 32), "ROWS": 16, "COLS": 32}),
    Case(own_store_mask, (3,), lambda rng: {"x": floats(rng, 384), "out": zeros(384), "n": 300, "BLOCK": 128}),
    Case(
        own_overflow,
        (4,),
        lambda rng: {"x": floats(rng, 1200), "out": zeros(4, 64), "stride": 1 << 30, "n": 1000, "BLOCK": 64},
    ),
    Case(
        own_stride,
        (4,),
        lambda rng: {"x": floats(rng, 4, 112), "out": zeros(4, 100), "columns": 100, "padded": 112, "BLOCK": 128},
    ),
    Case(
        own_rescale,
        (2,),
        lambda rng: {
            **{name: floats(rng, 64, 32, kind=np.float16) for name in "qkv"},
            "out": zeros(32, 32),
            "n": 64,
            "M": 16,
            "D": 32,
            "N": 32,
        },
    ),
    Case(
        own_half_accumulator,
        (1,),
        lambda rng: {
            "a": floats(rng, 32, 128, kind=np.float16),
            "b": floats(rng, 128, 32, kind=np.float16),
            "out": zeros(32, 32),
            "k": 128,
            "T": 32,
        },
    ),
    Case(own_other, (4,), lambda rng: {"x": floats(rng, 4, 100) - 3, "out": zeros(4, 100), "n": 100, "BLOCK": 128}),
    Case(
        own_epsilon,
        (4,),
        lambda rng: {"x": floats(rng, 4, 100) / 50, "out": zeros(4, 100), "n": 100, "eps": 1e-3, "BLOCK": 128},
    ),
    Case(own_exchange, (6,), lambda rng: {"x": floats(rng, 6, 64), "out": zeros(64), "N": 64}),
    Case(
        own_lost_update,
        (3,),
        lambda rng: {"x": rng.integers(1, 9, (3, 64)).astype(np.int32), "out": zeros(16, kind=np.int32), "N": 64},
    ),
    Case(
        own_dirty_start,
        (2,),
        lambda rng: {"x": rng.integers(0, 9, 512).astype(np.float32), "out": zeros(1), "n": 512, "BLOCK": 128},
        second={"out": np.full(1, 100, np.float32)},
    ),
    Case(own_swapped_in, (8,), lambda rng: {"x": floats(rng, 8), "out": zeros(1, kind=np.int32)}),
    Case(own_inverted_branch, (6,), lambda rng: {"x": floats(rng, 6, 64), "out": zeros(6, 64), "BLOCK": 64}),
]
