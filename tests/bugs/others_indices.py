"""Bugs of others: strides, offsets, 32-bit overflow, rows of the wrong head, the wrong axis."""
# ruff: noqa: F841, N803, ARG001, ARG005

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, rising, zeros


@triton.jit
def second_pass_stride(x, out, n, x_row, x_col, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * x_row + col * x_col, mask=col < n, other=0.0)
        squares += value * value
    scale = tl.rsqrt(tl.sum(squares, 0) / n + eps)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * x_row + col, mask=col < n, other=0.0)  # BUG
        # FIX: value = tl.load(x + row * x_row + col * x_col, mask=col < n, other=0.0)
        tl.store(out + row * n + col, value * scale, mask=col < n)


@triton.jit
def scaled_rows(x, gradient, out, n, gradient_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(gradient + row * gradient_stride)  # WRONG
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + col, mask=col < n, other=0.0)
        tl.store(out + row * n + col, value * scale, mask=col < n)


@triton.jit
def gradient_of_split(gradient, weight, out, n, x_stride, gradient_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    first = tl.load(gradient + row * x_stride + col, mask=col < n, other=0.0)  # BUG
    # FIX: first = tl.load(gradient + row * gradient_stride + col, mask=col < n, other=0.0)
    second = tl.load(gradient + row * gradient_stride + n + col, mask=col < n, other=0.0)
    scale = tl.load(weight + col, mask=col < n, other=0.0)
    tl.store(out + row * x_stride + col, first * scale + second, mask=col < n)


@triton.jit
def expert_weights(weights, experts, out, expert_stride, BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    expert = tl.load(experts + tile)
    # FIX: expert = expert.to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(weights + expert * expert_stride + at)  # WRONG
    tl.store(out + tile * BLOCK + at, value)


@triton.jit
def summed_rows(x, out, first, row_stride, TOP: tl.constexpr, ROWS: tl.constexpr, D: tl.constexpr):
    row = first + tl.arange(0, ROWS)  # BUG
    # FIX: row = first + tl.arange(0, ROWS).to(tl.int64)
    dim = tl.arange(0, D)
    total = tl.zeros([ROWS, D], tl.int32)
    for choice in range(TOP):
        value = tl.load(x + row[:, None] * row_stride + choice * D + dim[None, :])  # WRONG
        total += value.to(tl.int32)
    tl.store(out + tl.arange(0, ROWS)[:, None] * D + dim[None, :], total)


@triton.jit
def gate_of_head(keys, gates, out, T, C: tl.constexpr, K: tl.constexpr):
    head = tl.program_id(0)
    dim = tl.arange(0, K)
    state = tl.zeros([K], tl.float32)
    for start in range(0, T, C):
        token = start + tl.arange(0, C)
        key = tl.load(keys + (head * T + token)[:, None] * K + dim[None, :])
        last = start + C - 1
        gate = tl.load(gates + last * K + dim)  # BUG
        # FIX: gate = tl.load(gates + (head * T + last) * K + dim)
        state = state * tl.exp(gate) + tl.sum(key, 0)
    tl.store(out + head * K + dim, state)


@triton.jit
def draft_positions(starts, out, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    first = tl.load(starts + request)
    count = tl.load(starts + request + 1) - first
    for start in range(0, count, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        position = first + tl.arange(0, BLOCK)  # BUG
        # FIX: position = first + offset
        tl.store(out + first + offset, position, mask=offset < count)


@triton.jit
def state_gradient(final_gradient, gradient, T, W: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.arange(0, BLOCK)
    slot = token - tl.maximum(T - W, 0)  # BUG
    # FIX: slot = token - (T - W)
    kept = (slot >= 0) & (slot < W) & (token < T)
    value = tl.load(final_gradient + slot, mask=kept, other=0.0)
    tl.store(gradient + token, value, mask=token < T)


@triton.jit
def grouped_heads(q, k, out, n, heads_q: tl.constexpr, heads_k: tl.constexpr, T: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    head_k = head % heads_k  # BUG
    # FIX: head_k = head // (heads_q // heads_k)
    dim = tl.arange(0, D)
    token = tl.arange(0, T)
    query = tl.load(q + head * D + dim)
    keys = tl.load(k + (head_k * T + token)[:, None] * D + dim[None, :])
    score = tl.sum(keys * query[None, :], 1)
    tl.store(out + head * T + token, score, mask=token < n)


@triton.jit
def zeroed_tail(x, out, total, M: tl.constexpr, N: tl.constexpr):
    block = tl.program_id(0)
    end = (block + 1) * M
    target = out + block * total + tl.arange(0, N)
    for start in range(0, end, N):
        at = start + tl.arange(0, N)
        tl.store(target, tl.load(x + at, mask=at < end, other=0.0), mask=at < end)
        target += N
    # FIX: target = out + block * total + end + tl.arange(0, N)
    for start in range(end, total, N):
        tl.store(target, tl.zeros([N], tl.float32), mask=start + tl.arange(0, N) < total)  # WRONG
        target += N


@triton.jit
def dropped_scores(x, out, seed, columns, rate, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # FIX: row = row.to(tl.int64)
    col = tl.arange(0, BLOCK)
    draw = tl.rand(seed, row * columns + col)  # WRONG
    at = tl.program_id(0) * BLOCK + col
    value = tl.load(x + at)
    tl.store(out + at, tl.where(draw > rate, value / (1 - rate), 0.0))


@triton.jit
def gradient_of_rows(dy, x, out, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, BLOCK)[None, :]
    grad = tl.load(dy + row * n + col, mask=col < n, other=0.0)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    product = grad * value
    shared = tl.sum(product)  # BUG
    # FIX: shared = tl.sum(product, 1)[:, None]
    tl.store(out + row * n + col, grad - value * shared / n, mask=col < n)


@triton.jit
def packed_weights(x, dy, starts, out, chunks, C: tl.constexpr, D: tl.constexpr):
    chunk = tl.program_id(0)
    batch = tl.program_id(1)
    # FIX: if batch > 0:
    # FIX:     return
    dim = tl.arange(0, D)
    first = tl.load(starts + chunk)
    total = tl.zeros([D], tl.float32)
    for step in range(C):
        at = (first + step) * D + dim
        total += tl.load(x + at) * tl.load(dy + at)
    tl.atomic_add(out + dim, total)  # WRONG


def _experts(rng: np.random.Generator) -> dict:
    weights = np.zeros((1 << 31) + 64, np.int8)  # gigabytes of which a few pages exist
    for expert in range(3):
        weights[expert << 30 : (expert << 30) + 64] = rng.integers(1, 99, 64)
    return {
        "weights": weights,
        "experts": np.array([0, 2, 1], np.int32),
        "out": zeros(192, kind=np.int8),
        "expert_stride": 1 << 30,
        "BLOCK": 64,
    }


def _rows_of_experts(rng: np.random.Generator) -> dict:
    stride = 1 << 27
    x = np.zeros(15 * stride + (1 << 27) + 4 * 32 + stride, np.int8)
    for row in range(12, 17):
        x[row * stride : row * stride + 128] = rng.integers(1, 99, 128)
    return {
        "x": x, "out": zeros(4, 32, kind=np.int32), "first": 13, "row_stride": stride, "TOP": 3, "ROWS": 4, "D": 32
    }  # fmt: skip


CASES = [
    Case(
        second_pass_stride,
        (4,),
        lambda rng: {
            "x": floats(rng, 100, 4),
            "out": zeros(4, 100),
            "n": 100,
            "x_row": 1,
            "x_col": 4,
            "eps": 1e-5,
            "BLOCK": 64,
        },
    ),
    Case(
        scaled_rows,
        (4,),
        lambda rng: {
            "x": floats(rng, 4, 100),
            "gradient": np.concatenate([np.ones(1, np.float32), floats(rng, 63) * 1e6]),
            "out": zeros(4, 100),
            "n": 100,
            "gradient_stride": 0,
            "BLOCK": 64,
        },
        second={"gradient_stride": 1},
    ),
    Case(
        gradient_of_split,
        (4,),
        lambda rng: {
            "gradient": floats(rng, 4, 200),
            "weight": floats(rng, 100),
            "out": zeros(4, 100),
            "n": 100,
            "x_stride": 100,
            "gradient_stride": 200,
            "BLOCK": 128,
        },
    ),
    Case(expert_weights, (3,), _experts),
    Case(summed_rows, (1,), _rows_of_experts),
    Case(
        gate_of_head,
        (3,),
        lambda rng: {
            "keys": floats(rng, 3, 32, 16),
            "gates": -np.abs(floats(rng, 3, 32, 16)),
            "out": zeros(3, 16),
            "T": 32,
            "C": 8,
            "K": 16,
        },
    ),
    Case(
        draft_positions,
        (3,),
        lambda rng: {"starts": np.array([0, 5, 6, 13], np.int32), "out": zeros(13, kind=np.int32), "BLOCK": 2},
    ),
    Case(
        state_gradient,
        (1,),
        lambda rng: {"final_gradient": floats(rng, 4), "gradient": zeros(2), "T": 2, "W": 4, "BLOCK": 16},
    ),
    Case(
        grouped_heads,
        (8,),
        lambda rng: {
            "q": floats(rng, 8, 32),
            "k": floats(rng, 2, 16, 32),
            "out": zeros(8, 16),
            "n": 14,
            "heads_q": 8,
            "heads_k": 2,
            "T": 16,
            "D": 32,
        },
    ),
    Case(
        zeroed_tail,
        (3,),
        lambda rng: {
            "x": floats(rng, 96),
            "out": np.full((4, 96), 7, np.float32),
            "total": 96,
            "M": 16,
            "N": 64,
        },
    ),
    Case(
        dropped_scores,
        (12,),
        lambda rng: {
            "x": floats(rng, 12, 64),
            "out": zeros(12, 64),
            "seed": 5,
            "columns": 1 << 29,
            "rate": 0.4,
            "BLOCK": 64,
        },
    ),
    Case(
        gradient_of_rows,
        (2,),
        lambda rng: {
            "dy": floats(rng, 8, 60),
            "x": floats(rng, 8, 60),
            "out": zeros(8, 60),
            "n": 60,
            "ROWS": 4,
            "BLOCK": 64,
        },
    ),
    Case(
        packed_weights,
        (4, 2),
        lambda rng: {
            "x": floats(rng, 32, 32),
            "dy": floats(rng, 32, 32),
            "starts": rising(4) * 8,
            "out": zeros(32),
            "chunks": 4,
            "C": 8,
            "D": 32,
        },
    ),
]
