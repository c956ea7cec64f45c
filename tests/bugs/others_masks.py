"""Bugs of others: masks that are missing, dropped or wrong. Our own kernels of the same shape with the same mistake."""
# ruff: noqa: F841, N803

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros


@triton.jit
def tile_store(a, b, out, M, N, K: tl.constexpr, T: tl.constexpr):
    rows = tl.program_id(0) * T + tl.arange(0, T)
    cols = tl.program_id(1) * T + tl.arange(0, T)
    inner = tl.arange(0, K)
    left = tl.load(a + (rows % M)[:, None] * K + inner[None, :])
    right = tl.load(b + inner[:, None] * N + (cols % N)[None, :])
    product = tl.dot(left, right)
    target = out + rows[:, None] * N + cols[None, :]
    inside = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(target, product)  # BUG
    # FIX: tl.store(target, product, mask=inside)


@triton.jit
def row_variance(x, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    inside = col < n
    value = tl.load(x + row * n + col, mask=inside, other=0.0)
    mean = tl.sum(value, 0) / n
    centred = value - mean  # BUG
    # FIX: centred = tl.where(inside, value - mean, 0.0)
    spread = tl.sum(centred * centred, 0) / n
    result = centred * tl.rsqrt(spread + eps)
    tl.store(out + row * n + col, result, mask=inside)


@triton.jit
def capped_logsumexp(x, out, n, cap, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    inside = col < n
    logit = tl.load(x + row * n + col, mask=inside, other=-float("inf"))
    logit = cap * (2 * tl.sigmoid(2 * logit / cap) - 1)  # WRONG
    # FIX: logit = tl.where(inside, logit, -float("inf"))
    top = tl.max(logit, 0)
    total = tl.sum(tl.exp(logit - top), 0)
    tl.store(out + row, top + tl.log(total))


@triton.jit
def column_sums(x, out, rows, COLS: tl.constexpr, STEP: tl.constexpr):
    col = tl.arange(0, COLS)
    total = tl.zeros([COLS], tl.float32)
    for start in range(0, rows, STEP):
        row = start + tl.arange(0, STEP)
        inside = row < rows
        value = tl.load(x + row[:, None] * COLS + col[None, :], mask=inside[:, None], other=0.0)
        bent = tl.exp(value)
        # FIX: bent = tl.where(inside[:, None], bent, 0.0)
        total += tl.sum(bent, 0)  # WRONG
    tl.store(out + col, total)


@triton.jit
def combined_scalar(x, out, rows, n, X: tl.constexpr, R: tl.constexpr):
    lane = tl.arange(0, X)
    inside = lane < rows
    col = tl.arange(0, R)
    value = tl.load(x + lane[:, None] * n + col[None, :], mask=inside[:, None] & (col < n)[None, :], other=0.0)
    total = tl.sum(value, 1)
    tl.store(out + lane * 0, total)  # BUG
    # FIX: tl.store(out + lane * 0, total, mask=inside)


@triton.jit
def windowed_values(scores, v, out, n, window, T: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    token = tl.arange(0, T)
    dim = tl.arange(0, D)
    kept = (token < n) & (n - 1 - token < window)
    score = tl.load(scores + head * T + token)
    score = tl.where(kept, score, -float("inf"))
    weight = tl.exp(score - tl.max(score, 0))
    values = tl.load(v + token[:, None] * D + dim[None, :], mask=(token < n)[:, None], other=0.0)  # BUG
    # FIX: values = tl.load(v + token[:, None] * D + dim[None, :], mask=kept[:, None], other=0.0)
    mixed = tl.sum(weight[:, None] * values, 0) / tl.sum(weight, 0)
    tl.store(out + head * D + dim, mixed)


@triton.jit
def filled_with_zero(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n)  # BUG
    # FIX: value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))
    top = tl.max(value, 0)
    total = tl.sum(tl.exp(value - top), 0)
    tl.store(out + row * n + col, value - top - tl.log(total), mask=col < n)


@triton.jit
def last_of_chunk(grads, lasts, out, T, C: tl.constexpr):
    chunk = tl.program_id(0)
    row = tl.arange(0, C)
    token = chunk * C + row
    live = token < T
    last = tl.minimum((chunk + 1) * C, T) - 1
    grad = tl.load(grads + token, mask=live, other=0.0)
    extra = tl.load(lasts + chunk)
    grad += tl.where(row == C - 1, extra, 0.0)  # BUG
    # FIX: grad += tl.where(token == last, extra, 0.0)
    tl.store(out + token, grad, mask=live)


@triton.jit
def aligned_causal(scores, v, out, n_q, n_k, Q: tl.constexpr, K: tl.constexpr, D: tl.constexpr):
    q = tl.arange(0, Q)
    k = tl.arange(0, K)
    dim = tl.arange(0, D)
    score = tl.load(scores + q[:, None] * K + k[None, :])
    kept = q[:, None] >= k[None, :]  # BUG
    # FIX: kept = q[:, None] + n_k - n_q >= k[None, :]
    score = tl.where(kept & (k < n_k)[None, :], score, -float("inf"))
    weight = tl.exp(score - tl.max(score, 1)[:, None])
    values = tl.load(v + k[:, None] * D + dim[None, :])
    mixed = tl.dot(weight.to(tl.float16), values) / tl.sum(weight, 1)[:, None]
    tl.store(out + q[:, None] * D + dim[None, :], mixed, mask=(q < n_q)[:, None])


def _window(rng: np.random.Generator) -> dict:
    values = floats(rng, 64, 32)
    values[:20] = np.nan  # blocks of a cache that nobody uses any more
    return {"scores": floats(rng, 2, 64), "v": values, "out": zeros(2, 32), "n": 60, "window": 16, "T": 64, "D": 32}


CASES = [
    Case(
        tile_store,
        (2, 2),
        lambda rng: {
            "a": floats(rng, 20, 16, kind=np.float16),
            "b": floats(rng, 16, 24, kind=np.float16),
            "out": zeros(20, 24),
            "M": 20,
            "N": 24,
            "K": 16,
            "T": 16,
        },
    ),
    Case(
        row_variance,
        (4,),
        lambda rng: {"x": floats(rng, 4, 100) + 2, "out": zeros(4, 100), "n": 100, "eps": 1e-5, "BLOCK": 128},
    ),
    Case(
        capped_logsumexp,
        (3,),
        lambda rng: {"x": floats(rng, 3, 100) * 5 - 25, "out": zeros(3), "n": 100, "cap": 30.0, "BLOCK": 128},
    ),
    Case(
        column_sums, (1,), lambda rng: {"x": floats(rng, 21, 64), "out": zeros(64), "rows": 21, "COLS": 64, "STEP": 8}
    ),
    Case(
        combined_scalar,
        (1,),
        lambda rng: {"x": floats(rng, 1, 60), "out": zeros(1), "rows": 1, "n": 60, "X": 8, "R": 64},
    ),
    Case(windowed_values, (2,), _window),
    Case(
        filled_with_zero, (4,), lambda rng: {"x": floats(rng, 4, 100) - 5, "out": zeros(4, 100), "n": 100, "BLOCK": 128}
    ),
    Case(
        last_of_chunk,
        (3,),
        lambda rng: {"grads": floats(rng, 80), "lasts": floats(rng, 3), "out": zeros(80), "T": 80, "C": 32},
    ),
    Case(
        aligned_causal,
        (1,),
        lambda rng: {
            "scores": floats(rng, 16, 32),
            "v": floats(rng, 32, 16, kind=np.float16),
            "out": zeros(16, 16),
            "n_q": 12,
            "n_k": 28,
            "Q": 16,
            "K": 32,
            "D": 16,
        },
    ),
]
