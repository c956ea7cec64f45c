"""Kernels with atomics: every operation and width, scopes and orders, and a lock. The inputs are such that the order of
additions does not change the result, except where only the sum of all that happened is checked."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from .case import Case, whole


@triton.jit
def atomics(x, sums, halves, lock, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + 16 + at, mask=at < n)
    tl.atomic_add(sums + at % 7, v.to(tl.float32), mask=at < n)
    tl.atomic_max(x + at % 5, v, mask=at < n)
    tl.atomic_max(sums + 8, tl.max(v, 0).to(tl.float32))
    tl.atomic_add(halves + at % 4, (v % 2).to(tl.float16), mask=at < n)
    tl.atomic_or(x + 9, 5)
    tl.atomic_xchg(x + 10, 3)
    ticket = tl.atomic_add(x + 11, 1, sem="acq_rel", scope="gpu")
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(sums + 12, tl.load(sums + 12, volatile=True) + ticket)
    tl.atomic_xchg(lock, 0)


@triton.jit
def atom64(x, d, halves, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(x + at, at.to(tl.int64), sem="relaxed")
    tl.atomic_xor(x + 128, 3, scope="cta")
    tl.atomic_and(x + 129, 7, sem="release")
    tl.atomic_min(x + 130, 1, sem="acquire")
    tl.atomic_add(d + at, 1.0)
    old = tl.load(x + 64 + at)
    tl.atomic_cas(x + 64 + at, old, old + 1)
    tl.atomic_add(halves + at, 1.0)
    tl.atomic_add(x + at + 192, at.to(tl.int64), sem="relaxed", scope="sys")
    tl.atomic_max(d + BLOCK, 1.0)


def _atomics(a, *, n=704, block=256):
    values = a["x"][16 : 16 + n]
    at = np.arange(n)
    sums, x, halves = a["sums"].copy(), a["x"].copy(), a["halves"].copy()
    np.add.at(sums, at % 7, values.astype(np.float32))
    np.maximum.at(x, at % 5, values)
    sums[8] = max(sums[8], values.max())
    np.add.at(halves, at % 4, (values % 2).astype(np.float16))
    blocks = -(-n // block)
    x[9] |= 5
    x[10] = 3
    sums[12] += sum(range(x[11], x[11] + blocks))
    x[11] += blocks
    return {"sums": sums, "x": x, "halves": halves, "lock": np.zeros(1, np.int32)}


def _atom64(a):
    at = np.arange(64)
    x, d = a["x"].copy(), a["d"].copy()
    x[:64] += at
    x[64:128] += 1
    x[128] ^= 3
    x[129] &= 7
    x[130] = min(x[130], 1)
    x[192:256] += at
    d[:64] += 1
    d[64] = max(d[64], 1.0)
    return {"x": x, "d": d, "halves": (a["halves"].astype(np.float32) + 1).astype(ml_dtypes.bfloat16)}


CASES = [
    Case(
        "atomics",
        atomics,
        (3,),
        lambda r: {
            "x": whole(16 + 768, r, 0, 50),
            "sums": np.zeros(16, np.float32),
            "halves": np.zeros(4, np.float16),
            "lock": np.zeros(1, np.int32),
        },
        _atomics,
        {"n": 704},
        {"BLOCK": 256},
    ),
    Case(
        "atom64",
        atom64,
        (1,),
        lambda r: {
            "x": whole(256, r, 0, 2**40, dtype=np.int64),
            "d": r.standard_normal(65),
            "halves": whole(64, r, 0, 9, dtype=ml_dtypes.bfloat16),
        },
        _atom64,
        {},
        {"BLOCK": 64},
    ),
]
