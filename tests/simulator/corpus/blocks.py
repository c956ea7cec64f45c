"""Kernels in which the elements of a block work together: reductions, scans, sorts, transposes, loops."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import Case, Tolerance, random, whole


@triton.jit
def softmax(out, x, out_stride, x_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * x_stride + column, mask=inside, other=-float("inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * out_stride + column, weight / tl.sum(weight, axis=0), mask=inside)


@triton.jit
def layernorm(x, y, weight, bias, mean, scale, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    y += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    centre = tl.sum(total, 0) / n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        away = tl.where(at < n, tl.load(x + at, mask=at < n, other=0.0).to(tl.float32) - centre, 0.0)
        total += away * away
    factor = 1 / tl.sqrt(tl.sum(total, 0) / n + eps)
    tl.store(mean + row, centre)
    tl.store(scale + row, factor)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        value = (tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - centre) * factor
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(y + at, value, mask=inside)


@triton.jit
def cumsum(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at, mask=at < n, other=0), 0), mask=at < n)


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def topk(x, out, BLOCK: tl.constexpr, K: tl.constexpr):
    tl.store(out + tl.arange(0, K), tl.topk(tl.load(x + tl.arange(0, BLOCK)), K))


@triton.jit
def copy2d(x, out, rows, columns, x_stride, out_stride, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tile = tl.load(x + row[:, None] * x_stride + column[None, :], mask=inside)
    tl.store(out + column[:, None] * out_stride + row[None, :], tl.trans(tile), mask=tl.trans(inside))


@triton.jit
def reduce(x, sums, places, least, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.arange(0, BM)
    column = tl.arange(0, BN)
    v = tl.load(x + row[:, None] * BN + column[None, :])
    tl.store(sums + row, tl.sum(v, 1))
    tl.store(places + row, tl.argmax(v, 1))
    tl.store(least + column, tl.min(v, 0))
    tl.store(places + BM, tl.sum(tl.sum(v.to(tl.int32), 1), 0))
    tl.store(places + BM + 1, tl.xor_sum(v.to(tl.int32), 1).sum(0))


@triton.jit
def whileloop(x, out, n):
    at = tl.program_id(0)
    total = 0
    while at < n:
        v = tl.load(x + at)
        if v > 100:
            total += v
            at += 2
        elif v == 7:
            k = 0
            while k < v:
                total ^= k
                k += 3
            at += 1
        else:
            at = at + 1
    tl.store(out + tl.program_id(0), total)


@triton.jit
def gather(x, index, out, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def _chain(a, b):
    return a * b + a


@triton.jit
def scans(x, out, best, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.arange(0, BM)
    at = row[:, None] * BN + tl.arange(0, BN)[None, :]
    v = tl.load(x + at)
    down = tl.associative_scan(v, 0, _chain)
    back = tl.cumprod(v, 1, True)
    tl.store(out + at, down * 0 + back + tl.flip(v, 1))
    value, place = tl.max(v, 1, return_indices=True)
    tl.store(best + row, value + place)


@triton.jit
def sort64(x, out, B: tl.constexpr):
    at = tl.arange(0, 8)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), dim=1, descending=True))


@triton.jit
def pipe(a, b, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for k in tl.range(0, n, num_stages=3):
        total += tl.load(a + k * B + at) * tl.load(b + k)
    tl.store(out + at, total)


@triton.jit
def early(x, out, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    if block * BLOCK >= n:
        return
    at = block * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    if tl.max(v, 0) > 5:
        if tl.sum(v, 0) > 100:
            return
        v = v * 2
    for k in range(0, 12):
        if tl.load(x + k) == 3:
            v += 1
        elif k % 3 == 0:
            v -= tl.max(v, 0)
    tl.store(out + at, v, mask=at < n)


def _softmax(a, *, n=781):
    x = a["x"].astype(np.float64)[:, :n]
    weight = np.exp(x - x.max(1, keepdims=True))
    out = a["out"].copy()
    out[:, :n] = weight / weight.sum(1, keepdims=True)
    return {"out": out}


def _layernorm(a):
    x = a["x"].astype(np.float64)
    mean = x.mean(1)
    scale = 1 / np.sqrt(x.var(1) + 1e-5)
    y = (x - mean[:, None]) * scale[:, None] * a["weight"].astype(np.float64) + a["bias"].astype(np.float64)
    return {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32), "y": y.astype(np.float16)}


def _reduce(a):
    x = a["x"]
    integers = x.astype(np.int32)
    ends = [integers.sum(), np.bitwise_xor.reduce(integers, axis=1).sum()]
    return {
        "sums": x.sum(1),
        "places": np.concatenate([x.argmax(1), ends]).astype(np.int32),
        "least": x.min(0),
    }


def _whileloop(a, *, n=60):
    out = a["out"].copy()
    for start in range(out.size):
        at, total = start, 0
        while at < n:
            v = int(a["x"][at])
            if v > 100:
                total, at = total + v, at + 2
                continue
            if v == 7:
                for k in range(0, v, 3):
                    total ^= k
            at += 1
        out[start] = total
    return {"out": out}


def _early(a, *, n=900, block=256):
    out = a["out"].copy()
    for start in range(0, n, block):
        v = np.zeros(block, np.float32)
        inside = min(block, n - start)
        v[:inside] = a["x"][start : start + inside]
        if v.max() > 5:
            if v.sum() > 100:
                continue
            v = v * 2
        for k in range(12):
            if a["x"][k] == 3:
                v = v + 1
            elif k % 3 == 0:
                v = v - v.max()
        out[start : start + inside] = v[:inside]
    return {"out": out}


def _early_input(rng):
    x = whole(900, rng, -4, 5, dtype=np.float32)
    x[256:512] = 1
    x[300] = 9  # the second block returns early: a value above 5, a sum above 100
    x[700] = 6  # the third doubles
    x[512:700] -= 3
    x[4] = 3
    return {"x": x, "out": np.full(900, -99, np.float32)}


def _scans(a):
    x = a["x"].astype(np.float64)
    back = np.cumprod(x[:, ::-1], 1)[:, ::-1]
    return {"out": (back + x[:, ::-1]).astype(np.float32), "best": a["x"].max(1) + a["x"].argmax(1).astype(np.float32)}


SUMS = Tolerance(1e-5, 1e-5, "sums of many fp32 numbers in another order, exp and division approximate")

CASES = [
    Case(
        "softmax",
        softmax,
        (6,),
        lambda r: {"out": np.zeros((6, 800), np.float32), "x": random((6, 781), r)},
        _softmax,
        {"out_stride": 800, "x_stride": 781, "n": 781},
        {"BLOCK": 1024},
        tolerance={"out": SUMS},
    ),
    Case(
        "layernorm",
        layernorm,
        (3,),
        lambda r: {
            "x": random((3, 1500), r, dtype=np.float16),
            "y": np.zeros((3, 1500), np.float16),
            "weight": random(1500, r, dtype=np.float16),
            "bias": random(1500, r, dtype=np.float16),
            "mean": np.zeros(3, np.float32),
            "scale": np.zeros(3, np.float32),
        },
        _layernorm,
        {"stride": 1500, "n": 1500, "eps": 1e-5},
        {"BLOCK": 1024},
        tolerance={"mean": SUMS, "scale": SUMS, "y": Tolerance(2e-3, 2e-3, "stored as fp16")},
    ),
    Case(
        "cumsum",
        cumsum,
        (1,),
        lambda r: {"x": whole(1000, r, -50, 50), "out": np.zeros(1000, np.int32)},
        lambda a: {"out": np.cumsum(a["x"]).astype(np.int32)},
        {"n": 1000},
        {"BLOCK": 1024},
    ),
    Case(
        "sort",
        sort,
        (1,),
        lambda r: {"x": random(256, r), "out": np.zeros(256, np.float32)},
        lambda a: {"out": np.sort(a["x"])},
        {},
        {"BLOCK": 256},
    ),
    Case(
        "topk",
        topk,
        (1,),
        lambda r: {"x": random(256, r), "out": np.zeros(8, np.float32)},
        lambda a: {"out": np.sort(a["x"])[::-1][:8].copy()},
        {},
        {"BLOCK": 256, "K": 8},
    ),
    Case(
        "copy2d",
        copy2d,
        (3, 2),
        lambda r: {"x": random((90, 100), r, dtype=np.float16), "out": np.zeros((100, 96), np.float16)},
        lambda a: {"out": np.concatenate([a["x"].T, np.zeros((100, 6), np.float16)], 1)},
        {"rows": 90, "columns": 100, "x_stride": 100, "out_stride": 96},
        {"BM": 32, "BN": 64},
    ),
    Case(
        "reduce",
        reduce,
        (1,),
        lambda r: {
            "x": whole((32, 64), r, -99, 99, dtype=np.float32),
            "sums": np.zeros(32, np.float32),
            "places": np.zeros(34, np.int32),
            "least": np.zeros(64, np.float32),
        },
        _reduce,
        {},
        {"BM": 32, "BN": 64},
    ),
    Case(
        "whileloop",
        whileloop,
        (9,),
        lambda r: {"x": r.choice([7, 7, 5, 120, 101, 3], 60).astype(np.int32), "out": np.zeros(9, np.int32)},
        _whileloop,
        {"n": 60},
    ),
    Case(
        "gather",
        gather,
        (1,),
        lambda r: {"x": random((64, 32), r), "index": whole((64, 32), r, 0, 64), "out": np.zeros((64, 32), np.float32)},
        lambda a: {"out": np.take_along_axis(a["x"], a["index"], 0)},
        {},
        {"BM": 64, "BN": 32},
    ),
    Case(
        "histogram",
        histogram,
        (1,),
        lambda r: {"x": whole(1000, r, 1, 64), "out": whole(64, r, 0, 9)},
        lambda a: {
            "out": (a["out"] + np.bincount(np.concatenate([a["x"], np.zeros(24, np.int32)]), minlength=64)).astype(
                np.int32
            )
        },
        {"n": 1000},
        {"BLOCK": 1024, "BINS": 64},
    ),
    Case(
        "scans",
        scans,
        (1,),
        lambda r: {
            "x": (1 + random((32, 64), r, scale=0.1)).astype(np.float32),
            "out": np.zeros((32, 64), np.float32),
            "best": np.zeros(32, np.float32),
        },
        _scans,
        {},
        {"BM": 32, "BN": 64},
        tolerance={"out": SUMS},
    ),
    Case(
        "sort64",
        sort64,
        (1,),
        lambda r: {"x": whole((8, 64), r, -(2**62), 2**62, dtype=np.int64), "out": np.zeros((8, 64), np.int64)},
        lambda a: {"out": np.sort(a["x"], 1)[:, ::-1].copy()},
        {},
        {"B": 64},
    ),
    Case(
        "pipe",
        pipe,
        (1,),
        lambda r: {"a": random((9, 512), r), "b": random(9, r), "out": np.zeros(512, np.float32)},
        lambda a: {"out": (a["a"].astype(np.float64) * a["b"].astype(np.float64)[:, None]).sum(0).astype(np.float32)},
        {"n": 9},
        {"B": 512},
        tolerance={"out": Tolerance(1e-5, 2e-6, "nine products, summed in fp32")},
    ),
    Case("early", early, (5,), _early_input, _early, {"n": 900}, {"BLOCK": 256}),
]
