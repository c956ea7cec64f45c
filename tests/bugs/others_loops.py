"""Bugs of others: loops that begin or end at the wrong place, and guards that are missing."""
# ruff: noqa: N803, ARG001

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros


@triton.jit
def cached_keys(q, k, out, offset, n, T: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    begin = tl.load(offset)
    dim = tl.arange(0, D)
    query = tl.load(q + head * D + dim)
    lowest = begin  # BUG
    # FIX: lowest = 0
    best = -float("inf")
    for start in range(lowest, begin + n, T):
        token = start + tl.arange(0, T)
        keys = tl.load(k + token[:, None] * D + dim[None, :], mask=(token < begin + n)[:, None], other=0.0)
        score = tl.where(token < begin + n, tl.sum(keys * query[None, :], 1), -float("inf"))
        best = tl.maximum(best, tl.max(score, 0))
    tl.store(out + head, best)


@triton.jit
def masked_tiles(scores, mask, v, out, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    row = block * M + tl.arange(0, M)
    dim = tl.arange(0, D)
    total = tl.zeros([M], tl.float32)
    mixed = tl.zeros([M, D], tl.float32)
    end = tl.minimum(n, (block + 1) * M)  # BUG
    # FIX: end = n
    for start in range(0, end, N):
        col = start + tl.arange(0, N)
        at = row[:, None] * n + col[None, :]
        allowed = tl.load(mask + at, mask=(col < n)[None, :], other=0)
        weight = tl.load(scores + at, mask=(col < n)[None, :], other=0.0) * allowed
        values = tl.load(v + col[:, None] * D + dim[None, :], mask=(col < n)[:, None], other=0.0)
        mixed += tl.dot(weight.to(tl.float16), values)
        total += tl.sum(weight, 1)
    tl.store(out + row[:, None] * D + dim[None, :], mixed / (total[:, None] + 1e-6))


@triton.jit
def one_block_of_columns(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    col = tl.arange(0, BLOCK)
    total += tl.load(x + row * n + col, mask=col < n, other=0.0)  # BUG
    # FIX: for start in range(0, n, BLOCK):
    # FIX:     at = start + col
    # FIX:     total += tl.load(x + row * n + at, mask=at < n, other=0.0)
    tl.store(out + row, tl.sum(total, 0) / n)


@triton.jit
def merged_splits(parts, maxima, sums, out, lengths, window, SPLITS: tl.constexpr, D: tl.constexpr):
    request = tl.program_id(0)
    length = tl.load(lengths + request)  # BUG
    # FIX: length = tl.minimum(tl.load(lengths + request), window)
    share = tl.cdiv(length, SPLITS)
    dim = tl.arange(0, D)
    top = -float("inf")
    total = 0.0
    mixed = tl.zeros([D], tl.float32)
    for split in range(SPLITS):
        at = request * SPLITS + split
        if split * share < length:
            other = tl.load(maxima + at)
            higher = tl.maximum(top, other)
            old = tl.exp(top - higher)
            new = tl.exp(other - higher)
            mixed = mixed * old + tl.load(parts + at * D + dim) * new
            total = total * old + tl.load(sums + at) * new
            top = higher
    tl.store(out + request * D + dim, mixed / total)


@triton.jit
def empty_split(scores, v, out, maxima, lengths, SPLITS: tl.constexpr, T: tl.constexpr, D: tl.constexpr):
    request = tl.program_id(0)
    split = tl.program_id(1)
    length = tl.load(lengths + request)
    share = tl.cdiv(tl.cdiv(length, SPLITS), T) * T
    first = split * share
    end = tl.minimum(first + share, length)
    dim = tl.arange(0, D)
    top = -float("inf")
    total = 0.0
    mixed = tl.zeros([D], tl.float32)
    for start in range(first, end, T):
        token = start + tl.arange(0, T)
        score = tl.load(scores + token, mask=token < end, other=-float("inf"))
        higher = tl.maximum(top, tl.max(score, 0))
        weight = tl.exp(score - higher)
        old = tl.exp(top - higher)
        values = tl.load(v + token[:, None] * D + dim[None, :], mask=(token < end)[:, None], other=0.0)
        mixed = mixed * old + tl.sum(weight[:, None] * values, 0)
        total = total * old + tl.sum(weight, 0)
        top = higher
    at = request * SPLITS + split
    tl.store(out + at * D + dim, mixed / total)  # BUG
    tl.store(maxima + at, top + tl.log(total))  # BUG
    # FIX: if end > first:
    # FIX:     tl.store(out + at * D + dim, mixed / total)
    # FIX:     tl.store(maxima + at, top + tl.log(total))


def _splits(rng: np.random.Generator) -> dict:
    parts, maxima, sums = floats(rng, 3, 4, 32), floats(rng, 3, 4), np.abs(floats(rng, 3, 4)) + 1
    parts[:, 3:], maxima[:, 3:], sums[:, 3:] = 9e3, 12, 5  # of a request that was here before
    return {
        "parts": parts,
        "maxima": maxima,
        "sums": sums,
        "out": zeros(3, 32),
        "lengths": np.array([40, 16, 29], np.int32),
        "window": 6,
        "SPLITS": 4,
        "D": 32,
    }


CASES = [
    Case(
        cached_keys,
        (4,),
        lambda rng: {
            "q": floats(rng, 4, 32),
            "k": floats(rng, 64, 32),
            "out": zeros(4),
            "offset": np.array([32], np.int32),
            "n": 20,
            "T": 16,
            "D": 32,
        },
    ),
    Case(
        masked_tiles,
        (2,),
        lambda rng: {
            "scores": np.abs(floats(rng, 32, 32)),
            "mask": rng.integers(0, 2, (32, 32)).astype(np.int32),
            "v": floats(rng, 32, 16, kind=np.float16),
            "out": zeros(32, 16),
            "n": 32,
            "M": 16,
            "N": 16,
            "D": 16,
        },
    ),
    Case(
        one_block_of_columns,
        (4,),
        lambda rng: {"x": floats(rng, 4, 300), "out": zeros(4), "n": 300, "BLOCK": 128},
    ),
    Case(merged_splits, (3,), _splits),
    Case(
        empty_split,
        (2, 4),
        lambda rng: {
            "scores": floats(rng, 64),
            "v": floats(rng, 64, 32),
            "out": zeros(2, 4, 32),
            "maxima": zeros(2, 4),
            "lengths": np.array([60, 5], np.int32),
            "SPLITS": 4,
            "T": 8,
            "D": 32,
        },
    ),
]
