"""Bugs of others: races, lost updates, memory that nobody initialised, kernels that are tuned in place, the wrong grid."""
# ruff: noqa: N803, ARG001

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros


@triton.jit
def scattered_sums(indices, x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(indices + at, mask=at < n, other=0)
    value = tl.load(x + at, mask=at < n, other=0)
    old = tl.load(out + index, mask=at < n, other=0)  # BUG
    tl.store(out + index, old + value, mask=at < n)  # BUG
    # FIX: tl.atomic_add(out + index, value, mask=at < n)


@triton.jit
def sum_of_tiles(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_add(out, tl.sum(total, 0))  # WRONG


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})],
    key=["n"],
    # FIX: restore_value=["parameters", "momenta"],
)
@triton.jit
def tuned_in_place(parameters, gradients, momenta, rate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    parameter = tl.load(parameters + at, mask=at < n, other=0.0)  # WRONG
    gradient = tl.load(gradients + at, mask=at < n, other=0.0)
    momentum = tl.load(momenta + at, mask=at < n, other=0.0)  # WRONG
    step = 0.9 * momentum + 0.1 * gradient
    parameter -= rate * tl.where(step > 0, 1.0, tl.where(step < 0, -1.0, 0.0))
    tl.store(parameters + at, parameter, mask=at < n)
    tl.store(momenta + at, 0.99 * momentum + 0.01 * gradient, mask=at < n)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["n"],
    # FIX: reset_to_zero=["counts"],
)
@triton.jit
def tuned_counts(labels, counts, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, BLOCK * tl.num_programs(0)):
        at = start + tl.arange(0, BLOCK)
        label = tl.load(labels + at, mask=at < n, other=0)
        tl.atomic_add(counts + label, 1, mask=at < n)  # WRONG


@triton.jit
def shifted_state(state, x, weight, out, B: tl.constexpr, W: tl.constexpr):
    feature = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for tap in tl.static_range(W):
        total += tl.load(state + (feature + tap * 32) % B) * tl.load(weight + tap)  # WRONG
    tl.store(out + feature, total)
    fresh = tl.load(x + feature)
    # FIX: tl.debug_barrier()
    tl.store(state + feature, fresh)  # WRONG


@triton.jit
def released_lock(x, partial, lock, count, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    seen = tl.load(count)
    if seen == 0:
        tl.atomic_xchg(count, 1)
    else:
        value += tl.load(partial + col, mask=col < n, other=0.0)
    tl.store(partial + col, value, mask=col < n)
    # FIX: tl.debug_barrier()
    tl.atomic_xchg(lock, 0)  # WRONG


@triton.jit
def reread_tile(x, scratch, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    value = tl.load(x + row[:, None] * COLS + col[None, :])
    tl.store(scratch + row[:, None] * COLS + col[None, :], tl.maximum(value, 0.0))
    # FIX: tl.debug_barrier()
    below = tl.load(scratch + ((row + 2) % ROWS)[:, None] * COLS + col[None, :])  # WRONG
    tl.store(out + row[:, None] * COLS + col[None, :], tl.sigmoid(below))


@triton.jit
def key_blocks(keys, out, n, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    first = tl.program_id(0) * BLOCK_K
    key = first + tl.arange(0, BLOCK_K)
    value = tl.load(keys + key, mask=key < n, other=0.0)
    tl.store(out + key, value * 2, mask=key < n)  # WRONG


CASES = [
    Case(
        scattered_sums,
        (2,),
        lambda rng: {
            "indices": rng.integers(0, 20, 200).astype(np.int32),
            "x": rng.integers(1, 9, 200).astype(np.int32),
            "out": zeros(20, kind=np.int32),
            "n": 200,
            "BLOCK": 128,
        },
    ),
    Case(
        sum_of_tiles,
        (2,),
        lambda rng: {"x": rng.integers(0, 9, 500).astype(np.float32), "out": zeros(1), "n": 500, "BLOCK": 128},
        second={"out": np.full(1, 1000, np.float32)},
    ),
    Case(
        tuned_in_place,
        (3,),
        lambda rng: {
            "parameters": floats(rng, 300),
            "gradients": floats(rng, 300),
            "momenta": floats(rng, 300) / 10,
            "rate": 0.01,
            "n": 300,
        },
    ),
    Case(
        tuned_counts,
        (2,),
        lambda rng: {"labels": rng.integers(0, 16, 300).astype(np.int32), "counts": zeros(16, kind=np.int32), "n": 300},
    ),
    Case(
        shifted_state,
        (1,),
        lambda rng: {
            "state": floats(rng, 128),
            "x": floats(rng, 128),
            "weight": floats(rng, 4),
            "out": zeros(128),
            "B": 128,
            "W": 4,
        },
    ),
    Case(
        released_lock,
        (6,),
        lambda rng: {
            "x": rng.integers(0, 9, (6, 500)).astype(np.float32),
            "partial": zeros(500),
            "lock": zeros(1, kind=np.int32),
            "count": zeros(1, kind=np.int32),
            "n": 500,
            "BLOCK": 512,
        },
    ),
    Case(
        reread_tile,
        (1,),
        lambda rng: {
            "x": floats(rng, 32, 64),
            "scratch": np.full((32, 64), np.nan, np.float32),
            "out": zeros(32, 64),
            "ROWS": 32,
            "COLS": 64,
        },
    ),
    Case(
        key_blocks,
        (4,),
        lambda rng: {"keys": floats(rng, 128), "out": zeros(128), "n": 128, "BLOCK_Q": 64, "BLOCK_K": 32},
        second_grid=(2,),
    ),
]
