"""Kernels on the tensor cores: matrix products of every type that sm_80 has, and attention."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from .case import Case, Tolerance, random, whole


@triton.jit
def matmul(a, b, c, M, N, K, a_stride, b_stride, c_stride, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + row[:, None] * a_stride + inner[None, :]
    right = b + inner[:, None] * b_stride + column[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        rest = K - k * BK
        x = tl.load(left, mask=(row[:, None] < M) & (inner[None, :] < rest), other=0.0)
        y = tl.load(right, mask=(inner[:, None] < rest) & (column[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * b_stride
    inside = (row[:, None] < M) & (column[None, :] < N)
    tl.store(c + row[:, None] * c_stride + column[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def flash(q, k, v, out, scale, length, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    tile = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * length * D
    row = tile * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    query = tl.load(q + head + row[:, None] * D + depth[None, :], mask=row[:, None] < length, other=0.0)
    highest = tl.full([BM], -float("inf"), tl.float32)
    weight = tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, D], tl.float32)
    for start in range(0, (tile + 1) * BM, BN):
        column = start + tl.arange(0, BN)
        key = tl.load(k + head + column[None, :] * D + depth[:, None], mask=column[None, :] < length, other=0.0)
        score = tl.dot(query, key) * scale
        score = tl.where((row[:, None] >= column[None, :]) & (column[None, :] < length), score, -1.0e6)
        higher = tl.maximum(highest, tl.max(score, 1))
        share = tl.math.exp2(score - higher[:, None])
        fade = tl.math.exp2(highest - higher)
        weight = weight * fade + tl.sum(share, 1)
        value = tl.load(v + head + column[:, None] * D + depth[None, :], mask=column[:, None] < length, other=0.0)
        total = tl.dot(share.to(value.dtype), value, total * fade[:, None])
        highest = higher
    total = total / weight[:, None]
    tl.store(out + head + row[:, None] * D + depth[None, :], total.to(out.dtype.element_ty), mask=row[:, None] < length)


@triton.jit
def dot_tf32(a, b, c, byte_a, byte_b, int_c, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))
    tl.store(int_c + at, tl.dot(tl.load(byte_a + at), tl.load(byte_b + at)))


@triton.jit
def dots_bf16(a, b, c, d, e, f, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))
    tl.store(f + at, tl.dot(tl.load(d + at), tl.load(e + at), out_dtype=tl.float16))


@triton.jit
def dot(a, b, c, B: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION))


def _product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def _flash(a, *, scale=0.18):
    q, k, v = (a[name].astype(np.float64) for name in "qkv")
    score = np.einsum("hid,hjd->hij", q, k) * scale
    length = q.shape[1]
    score = np.where(np.tri(length, dtype=bool), score, -np.inf)
    share = np.exp2(score - score.max(-1, keepdims=True))
    return {"out": (np.einsum("hij,hjd->hid", share, v) / share.sum(-1)[..., None]).astype(np.float16)}


def _square(size, rng, kind):
    return random((size, size), rng, dtype=kind)


def _pair(size, kind, result):
    return lambda r: {"a": _square(size, r, kind), "b": _square(size, r, kind), "c": np.zeros((size, size), result)}


def _simple(name, size, kind, result, precision, limit):
    return Case(
        name,
        dot,
        (1,),
        _pair(size, kind, result),
        lambda a: {"c": _product(a["a"], a["b"]).astype(result)},
        {},
        {"B": size, "PRECISION": precision},
        tolerance={"c": limit},
    )


HALF = Tolerance(2e-3, 2e-3, "stored as fp16")
TF32 = Tolerance(4e-3, 2e-2, "tf32 keeps 10 bits of both factors")
F32 = Tolerance(1e-5, 1e-5, "sums of fp32 in another order")

CASES = [
    Case(
        "matmul",
        matmul,
        (2, 2),
        lambda r: {
            "a": random((128, 80), r, dtype=np.float16),
            "b": random((80, 120), r, dtype=np.float16),
            "c": np.zeros((128, 120), np.float16),
        },
        lambda a: {"c": _product(a["a"], a["b"]).astype(np.float16)},
        {"M": 128, "N": 120, "K": 80, "a_stride": 80, "b_stride": 120, "c_stride": 120},
        {"BM": 64, "BN": 64, "BK": 32},
        tolerance={"c": HALF},
    ),
    Case(
        "flash",
        flash,
        (3, 2),
        lambda r: {
            **{name: random((2, 150, 64), r, dtype=np.float16) for name in "qkv"},
            "out": np.zeros((2, 150, 64), np.float16),
        },
        _flash,
        {"scale": 0.18, "length": 150},
        {"D": 64, "BM": 64, "BN": 64},
        tolerance={"out": Tolerance(5e-3, 5e-3, "the weights are rounded to fp16 before the second product")},
    ),
    Case(
        "dot_tf32",
        dot_tf32,
        (1,),
        lambda r: {
            **_pair(64, np.float32, np.float32)(r),
            "byte_a": whole((64, 64), r, -128, 128, dtype=np.int8),
            "byte_b": whole((64, 64), r, -128, 128, dtype=np.int8),
            "int_c": np.zeros((64, 64), np.int32),
        },
        lambda a: {
            "c": _product(a["a"], a["b"]).astype(np.float32),
            "int_c": a["byte_a"].astype(np.int32) @ a["byte_b"].astype(np.int32),
        },
        {},
        {"B": 64},
        tolerance={"c": TF32},
    ),
    Case(
        "dots_bf16",
        dots_bf16,
        (1,),
        lambda r: {
            "a": _square(32, r, ml_dtypes.bfloat16),
            "b": _square(32, r, ml_dtypes.bfloat16),
            "c": np.zeros((32, 32), np.float32),
            "d": _square(32, r, np.float16),
            "e": _square(32, r, np.float16),
            "f": np.zeros((32, 32), np.float16),
        },
        lambda a: {"c": _product(a["a"], a["b"]).astype(np.float32), "f": _product(a["d"], a["e"]).astype(np.float16)},
        {},
        {"B": 32},
        tolerance={"c": F32, "f": Tolerance(1e-2, 3e-2, "fp16 accumulators")},
    ),
    _simple("dot_ieee", 32, np.float32, np.float32, "ieee", F32),
    _simple("dot_3x", 32, np.float32, np.float32, "tf32x3", Tolerance(1e-5, 2e-5, "three products of tf32 parts")),
    _simple("dot_f64", 16, np.float64, np.float64, "ieee", Tolerance(1e-13, 1e-13, "sums of fp64 in another order")),
    _simple("dot_fp8", 64, ml_dtypes.float8_e5m2, np.float32, "tf32", F32),
]
