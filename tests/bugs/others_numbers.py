"""Bugs of others: rounding on the way, casts, formulas, ties and NaN."""
# ruff: noqa: N803, ARG001

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros


@triton.jit
def pooled_pairs(table, indices, out, n, D: tl.constexpr):
    bag = tl.program_id(0)
    dim = tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    for step in range(0, n, 2):
        one = tl.load(indices + bag * n + step)
        two = tl.load(indices + bag * n + step + 1)
        a = tl.load(table + one * D + dim)
        b = tl.load(table + two * D + dim)
        total += (a + b).to(tl.float32)  # BUG
        # FIX: total += a.to(tl.float32) + b.to(tl.float32)
    tl.store(out + bag * D + dim, total)


@triton.jit
def half_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    # FIX: value = value.to(tl.float32)
    total = tl.sum(value, 0)  # WRONG
    tl.store(out + row, total.to(tl.float32))


@triton.jit
def cast_before_weight(x, weight, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32)
    scale = tl.load(weight + col, mask=col < n, other=0.0)
    square = tl.sum(value * value, 0) / n
    normal = value * tl.rsqrt(square + eps)
    result = normal.to(tl.float16) * (1.0 + scale)  # BUG
    # FIX: result = (normal * (1.0 + scale.to(tl.float32))).to(tl.float16)
    tl.store(out + row * n + col, result, mask=col < n)


@triton.jit
def quantised(x, scales, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    scaled = value / tl.load(scales + row)
    code = scaled.to(tl.int32).to(tl.int8)  # BUG
    # FIX: code = tl.minimum(tl.maximum(tl.floor(scaled + 0.5), -127.0), 127.0).to(tl.int32).to(tl.int8)
    tl.store(out + row * n + col, code, mask=col < n)


@triton.jit
def weight_from_zero(x, weight, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    scale = tl.load(weight + col, mask=col < n, other=0.0)
    normal = value * tl.rsqrt(tl.sum(value * value, 0) / n + eps)
    tl.store(out + row * n + col, normal * scale, mask=col < n)  # BUG
    # FIX: tl.store(out + row * n + col, normal * (scale + 1.0), mask=col < n)


@triton.jit
def scaled_once(x, out, n, logit_scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        logit = tl.load(x + row * n + col, mask=col < n, other=-float("inf")) * logit_scale
        higher = tl.maximum(top, tl.max(logit, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(logit - higher), 0)
        top = higher
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        logit = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))  # BUG
        # FIX: logit = tl.load(x + row * n + col, mask=col < n, other=-float("inf")) * logit_scale
        tl.store(out + row * n + col, tl.exp(logit - top) / total, mask=col < n)


@triton.jit
def biased_base_two(scores, bias, out, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    score = tl.load(scores + row * n + col, mask=col < n, other=-float("inf"))
    shift = tl.load(bias + row * n + col, mask=col < n, other=0.0)
    score = score * (scale * 1.44269504) + shift  # BUG
    # FIX: score = score * (scale * 1.44269504) + shift * 1.44269504
    weight = tl.exp2(score - tl.max(score, 0))
    tl.store(out + row * n + col, weight / tl.sum(weight, 0), mask=col < n)


@triton.jit
def second_input_scale(dy, weight, row_scales, dx, dx1, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    grad = tl.load(dy + row * n + col, mask=col < n, other=0.0)
    grad = grad * tl.load(weight + col, mask=col < n, other=0.0)
    tl.store(dx + row * n + col, grad * tl.load(row_scales + row), mask=col < n)
    tl.store(dx1 + row * n + col, grad, mask=col < n)  # BUG
    # FIX: tl.store(dx1 + row * n + col, grad * tl.load(row_scales + rows + row), mask=col < n)


@triton.jit
def softened_step(steps, gradients, out, n, limit, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = tl.load(steps + at, mask=at < n, other=0.0)
    gradient = tl.load(gradients + at, mask=at < n, other=0.0)
    soft = tl.log(1.0 + tl.exp(step))
    step = tl.where(step <= 20.0, soft, gradient)  # BUG
    # FIX: step = tl.where(step <= 20.0, soft, step)
    gradient = tl.where(step > limit, 0.0, gradient)
    tl.store(out + at, gradient * step, mask=at < n)


@triton.jit
def unit_rows(x, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    inverse = 1.0 / (tl.sqrt(tl.sum(value * value, 0)) + eps)  # BUG
    # FIX: inverse = 1.0 / tl.sqrt(tl.sum(value * value, 0) + eps)
    tl.store(out + row * n + col, value * inverse, mask=col < n)


@triton.jit
def least_index(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=1 << 30)
    least = tl.min(value, 0)
    index = tl.sum(tl.where(value == least, col, 0), 0)  # BUG
    # FIX: index = tl.min(tl.where(value == least, col, BLOCK), 0)
    tl.store(out + row, index)


@triton.jit
def largest_or_nan(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))
    top = tl.max(value, 0)  # BUG
    # FIX: nans = tl.sum((value != value).to(tl.int32), 0)
    # FIX: top = tl.where(nans > 0, float("nan"), tl.max(value, 0))
    tl.store(out + row, top)


@triton.jit
def kept_ranks(indices, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    index = tl.load(indices + at)
    kept = index >= 0
    rank = tl.cumsum(kept, 0).to(tl.int32)  # BUG
    # FIX: rank = tl.cumsum(kept.to(tl.int32), 0)
    tl.store(out + at, rank)


@triton.jit
def delta_rule(k, v, beta, out, T, K: tl.constexpr, V: tl.constexpr):
    i = tl.arange(0, K)
    j = tl.arange(0, V)
    state = tl.zeros([K, V], tl.float32)
    for step in range(0, T):
        key = tl.load(k + step * K + i)
        value = tl.load(v + step * V + j)
        rate = tl.load(beta + step)
        key = rate * (key - tl.sum(state * value[None, :], 1))  # BUG
        # FIX: value = rate * (value - tl.sum(state * key[:, None], 0))
        state += key[:, None] * value[None, :]
    tl.store(out + i[:, None] * V + j[None, :], state)


@triton.jit
def split_in_half(a, b, out, k, SPLIT: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, T)
    total = tl.zeros([T, T], tl.float32)
    for start in range(tl.program_id(0) * T, k, T * SPLIT):
        at = start + tl.arange(0, T)
        total += tl.dot(tl.load(a + i[:, None] * k + at[None, :]), tl.load(b + at[:, None] * T + i[None, :]))
    total = total.to(tl.float16).to(tl.float32)  # BUG
    tl.atomic_add(out + i[:, None] * T + i[None, :], total)  # WRONG


@triton.jit
def seeded_by_address(x, seeds, out, rate, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    seed = (seeds + block).to(tl.int64).to(tl.int32)  # BUG
    # FIX: seed = tl.load(seeds + block)
    draw = tl.rand(seed, tl.arange(0, BLOCK))
    value = tl.load(x + at)
    tl.store(out + at, tl.where(draw > rate, value / (1 - rate), 0.0))


@triton.jit
def recovered_token(probabilities, noise, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    p = tl.load(probabilities + row * n + col, mask=col < n, other=0.0)
    q = tl.load(noise + row * n + col, mask=col < n, other=1.0)
    score = p / q  # BUG
    # FIX: score = tl.where(q > 0.0, p / q, -1.0)
    tl.store(out + row, tl.argmax(score, 0))


def _with_nan(rng: np.random.Generator) -> dict:
    x = floats(rng, 4, 100)
    x[1, 17] = x[3, 99] = np.nan
    return {"x": x, "out": zeros(4), "n": 100, "BLOCK": 128}


def _noise(rng: np.random.Generator) -> dict:
    noise = rng.exponential(1.0, (4, 100)).astype(np.float32)
    noise[0, 40] = noise[2, 7] = 0
    return {
        "probabilities": rng.random((4, 100)).astype(np.float32), "noise": noise, "out": zeros(4, kind=np.int32),
        "n": 100, "BLOCK": 128,
    }  # fmt: skip


def _norm(rng: np.random.Generator) -> dict:
    return {
        "x": floats(rng, 4, 100), "weight": floats(rng, 100), "out": zeros(4, 100), "n": 100, "eps": 1e-5, "BLOCK": 128
    }  # fmt: skip


CASES = [
    Case(
        pooled_pairs,
        (3,),
        lambda rng: {
            "table": floats(rng, 50, 64, kind=np.float16),
            "indices": rng.integers(0, 50, (3, 8)).astype(np.int32),
            "out": zeros(3, 64),
            "n": 8,
            "D": 64,
        },
    ),
    Case(
        half_sum,
        (4,),
        lambda rng: {"x": floats(rng, 4, 200, kind=np.float16) * 9, "out": zeros(4), "n": 200, "BLOCK": 256},
    ),
    Case(
        cast_before_weight,
        (4,),
        lambda rng: {
            **_norm(rng),
            "x": floats(rng, 4, 100, kind=np.float16),
            "weight": floats(rng, 100, kind=np.float16),
            "out": zeros(4, 100, kind=np.float16),
        },
    ),
    Case(
        quantised,
        (4,),
        lambda rng: {
            "x": floats(rng, 4, 100) * 3,
            "scales": np.full(4, 1 / 16, np.float32),
            "out": zeros(4, 100, kind=np.int8),
            "n": 100,
            "BLOCK": 128,
        },
    ),
    Case(weight_from_zero, (4,), _norm),
    Case(
        scaled_once,
        (3,),
        lambda rng: {"x": floats(rng, 3, 200), "out": zeros(3, 200), "n": 200, "logit_scale": 0.25, "BLOCK": 128},
    ),
    Case(
        biased_base_two,
        (4,),
        lambda rng: {
            "scores": floats(rng, 4, 100),
            "bias": floats(rng, 4, 100) * 3,
            "out": zeros(4, 100),
            "n": 100,
            "scale": 0.125,
            "BLOCK": 128,
        },
    ),
    Case(
        second_input_scale,
        (4,),
        lambda rng: {
            "dy": floats(rng, 4, 100),
            "weight": floats(rng, 100),
            "row_scales": floats(rng, 8),
            "dx": zeros(4, 100),
            "dx1": zeros(4, 100),
            "rows": 4,
            "n": 100,
            "BLOCK": 128,
        },
    ),
    Case(
        softened_step,
        (3,),
        lambda rng: {
            "steps": floats(rng, 300) * 15,
            "gradients": floats(rng, 300),
            "out": zeros(300),
            "n": 300,
            "limit": 30.0,
            "BLOCK": 128,
        },
    ),
    Case(
        unit_rows,
        (4,),
        lambda rng: {"x": floats(rng, 4, 100) * 1e-4, "out": zeros(4, 100), "n": 100, "eps": 1e-6, "BLOCK": 128},
    ),
    Case(
        least_index,
        (4,),
        lambda rng: {
            "x": rng.integers(0, 8, (4, 100)).astype(np.int32),
            "out": zeros(4, kind=np.int32),
            "n": 100,
            "BLOCK": 128,
        },
    ),
    Case(largest_or_nan, (4,), _with_nan),
    Case(
        kept_ranks,
        (1,),
        lambda rng: {
            "indices": rng.integers(-9, 20, 64).astype(np.int32),
            "out": zeros(64, kind=np.int32),
            "BLOCK": 64,
        },
    ),
    Case(
        delta_rule,
        (1,),
        lambda rng: {
            "k": floats(rng, 6, 16) / 4,
            "v": floats(rng, 6, 16),
            "beta": rng.random(6).astype(np.float32),
            "out": zeros(16, 16),
            "T": 6,
            "K": 16,
            "V": 16,
        },
    ),
    Case(
        split_in_half,
        (2,),
        lambda rng: {
            "a": floats(rng, 16, 64, kind=np.float16),
            "b": floats(rng, 64, 16, kind=np.float16),
            "out": zeros(16, 16),
            "k": 64,
            "SPLIT": 2,
            "T": 16,
        },
    ),
    Case(
        seeded_by_address,
        (3,),
        lambda rng: {
            "x": floats(rng, 3, 128),
            "seeds": rng.integers(0, 1 << 30, 3).astype(np.int32),
            "out": zeros(3, 128),
            "rate": 0.4,
            "BLOCK": 128,
        },
    ),
    Case(recovered_token, (4,), _noise),
]
