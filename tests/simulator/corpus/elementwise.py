"""Kernels in which every element goes its own way: masks, integers of all widths, casts, mathematics, random numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

from .case import Case, Tolerance, random, whole
from .philox import normal, philox, uniform


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = tl.load(x + at, mask=inside)
    right = tl.load(y + at, mask=inside)
    tl.store(out + at, left + right, mask=inside)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, value / (1 - p), 0.0), mask=inside)


@triton.jit
def idx64(x, out, n, rows, columns, width, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = at // width
    column = at % width
    source = row * rows + column * columns + (at >> 3) * 5 - (at ^ (row << 2))
    value = tl.load(x + source, mask=(at < n) & (source >= 0) & (source < n), other=0)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def casts(x, half, brain, quarter, byte, back, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    wide = tl.load(brain + at).to(tl.float32)
    narrow = tl.load(quarter + at).to(tl.float32)
    tl.store(brain + at, (value + wide).to(tl.bfloat16))
    tl.store(quarter + at, (value * narrow).to(tl.float8e5))
    tl.store(half + at, value.to(tl.float16))
    tl.store(byte + at, value.to(tl.int8))
    tl.store(back + at, tl.load(half + at).to(tl.float64) + wide.to(tl.float64))


@triton.jit
def mathfn(x, out, exact, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1.0)
    total = tl.exp(v) + tl.log(v) + tl.sin(v) + tl.cos(v) + tl.sqrt(v) + tl.rsqrt(v) + tl.sigmoid(v) + tl.erf(v)
    tl.store(out + at, total, mask=at < n)
    precise = tl.math.div_rn(v, v + 3.0) + tl.math.sqrt_rn(v)
    precise = precise + tl.floor(v) + tl.ceil(v) + tl.abs(-v) + tl.clamp(v, 0.25, 1.5)
    tl.store(exact + at, tl.fma(v, v, precise), mask=at < n)


@triton.jit
def libdevice_calls(x, out, whole_part, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    total = libdevice.tanh(v) + libdevice.pow(v, v) + libdevice.log1p(v) + libdevice.expm1(v)
    tl.store(out + at, total + libdevice.fmod(v, v + 1))
    tl.store(whole_part + at, libdevice.rint(v) + libdevice.trunc(v) + libdevice.isnan(v).to(tl.float32))


@triton.jit
def inline_asm(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    ninefold = tl.inline_asm_elementwise(
        "{ .reg .b32 eight; shl.b32 eight, $1, 3; add.u32 $0, eight, $1; }",
        "=r,r",
        [tl.load(x + at)],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, ninefold)


@triton.jit
def ints(x, y, out, short, both, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(y + at)
    mixed = a // b + a % b + (a >> 3) + (a << 2) + tl.abs(a) + tl.minimum(a, b) + (~a)
    tl.store(out + at, mixed + tl.where(a > b, a & b, a | b))
    s = tl.load(short + at)
    tl.store(short + at, s // 3 + s % 5 - (s >> 1))
    tl.store(both + at, tl.join(a, b).reshape([2 * BLOCK]).sum(0) + at)


@triton.jit
def bf16_f64(x, y, out, d, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(y + at)
    tl.store(out + at, a * b + a - b / a + tl.maximum(a, b))
    z = tl.load(d + at)
    tl.store(d + at, tl.sqrt(z) + tl.exp(z.to(tl.float32)) / z + z * z)


@triton.jit
def rnd(out, bits, seed, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(bits + at, (a ^ b ^ c ^ d) + tl.umulhi(a, b).to(tl.int32))
    tl.store(out + at, tl.randn(seed, at))


@triton.jit
def cachemod(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside, cache_modifier=".cg")
    total += tl.load(x + at + 1, mask=inside, eviction_policy="evict_last")
    total += tl.load(x + at + 2, mask=inside, volatile=True)
    total += tl.load(x + at + 4, mask=inside, eviction_policy="evict_first")
    total += tl.load(x + at + 8, mask=inside, cache_modifier=".ca")
    tl.store(out + at, total, mask=inside, cache_modifier=".wt")
    tl.store(out + at + n, total, mask=inside, eviction_policy="evict_first")
    tl.debug_barrier()
    tl.store(out + at + 2 * n, total, mask=inside, cache_modifier=".cs")


@triton.jit(noinline=True)
def powers(start, count):
    total = start
    for k in range(0, count):
        total += k * start
    return total


@triton.jit
def noinline(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + powers(tl.load(x), n))


@triton.jit
def device_dbg(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1)
    tl.device_assert(v > 0, "every value is positive")
    tl.device_print("v", v)
    tl.store(out + at, v, mask=at < n)


def _dropout(a, *, p=0.3, seed=1234):
    kept = uniform(philox(seed, np.arange(a["x"].size))[0]) > np.float32(p)
    return {"out": np.where(kept, a["x"] / np.float32(1 - p), np.float32(0))}


def _idx64(a, *, n=1500, rows=40, columns=3, width=37):
    at = np.arange(n)
    row, column = at // width, at % width
    source = row * rows + column * columns + (at >> 3) * 5 - (at ^ (row << 2))
    legal = (source >= 0) & (source < n)
    return {"out": np.where(legal, a["x"][np.where(legal, source, 0)], 0).astype(np.int32)}


def _casts(a):
    wide, half = a["brain"].astype(np.float32), a["x"].astype(np.float16)
    return {
        "half": half,
        "brain": (a["x"] + wide).astype(ml_dtypes.bfloat16),
        "quarter": (a["x"] * a["quarter"].astype(np.float32)).astype(ml_dtypes.float8_e5m2),
        "byte": np.trunc(a["x"]).astype(np.int8),
        "back": half.astype(np.float64) + wide.astype(np.float64),
    }


def _erf(v):
    import math

    return np.array([math.erf(x) for x in v])


def _mathfn(a):
    v = a["x"].astype(np.float64)
    total = np.exp(v) + np.log(v) + np.sin(v) + np.cos(v) + np.sqrt(v) + 1 / np.sqrt(v) + 1 / (1 + np.exp(-v)) + _erf(v)
    f = a["x"]
    precise = f / (f + np.float32(3)) + np.sqrt(f)
    precise = precise + np.floor(f) + np.ceil(f) + np.abs(-f) + np.clip(f, np.float32(0.25), np.float32(1.5))
    return {"out": total.astype(np.float32), "exact": (v * v + precise.astype(np.float64)).astype(np.float32)}


def _libdevice(a):
    v = a["x"].astype(np.float64)
    total = np.tanh(v) + v**v + np.log1p(v) + np.expm1(v) + np.fmod(v, v + 1)
    return {"out": total.astype(np.float32), "whole_part": (np.rint(v) + np.trunc(v)).astype(np.float32)}


def _toward_zero(a, b):
    return np.where((a < 0) == (b < 0), np.abs(a) // np.abs(b), -(np.abs(a) // np.abs(b)))


def _ints(arrays):
    a, b = arrays["x"].astype(np.int64), arrays["y"].astype(np.int64)
    quotient = _toward_zero(a, b)
    mixed = quotient + (a - quotient * b) + (a >> 3) + (a << 2) + np.abs(a) + np.minimum(a, b) + ~a
    s = arrays["short"].astype(np.int64)
    third = _toward_zero(s, np.int64(3))
    return {
        "out": (mixed + np.where(a > b, a & b, a | b)).astype(np.int32),
        "short": (third + (s - 5 * _toward_zero(s, np.int64(5))) - (s >> 1)).astype(np.int16),
        "both": (a.sum() + b.sum() + np.arange(a.size)).astype(np.int32),
    }


def _bf16_f64(arrays):
    a, b, z = arrays["x"].astype(np.float64), arrays["y"].astype(np.float64), arrays["d"]
    return {
        "out": (a * b + a - b / a + np.maximum(a, b)).astype(ml_dtypes.bfloat16),
        "d": np.sqrt(z) + np.exp(z.astype(np.float32)).astype(np.float64) / z + z * z,
    }


def _rnd(a, *, seed=77):
    words = philox(seed, np.arange(a["bits"].size))
    mixed = words[0] ^ words[1] ^ words[2] ^ words[3]
    high = ((words[0].astype(np.uint64) * words[1].astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)
    return {"bits": (mixed + high).astype(np.uint32).view(np.int32), "out": normal(words)}


def _cachemod(a, *, n=1904):
    x = a["x"]
    total = x[:n] + x[1 : n + 1] + x[2 : n + 2] + x[4 : n + 4] + x[8 : n + 8]
    return {"out": np.concatenate([total, total, total])}


def _noinline(a, *, n=7):
    total = a["x"][0]
    for k in range(n):
        total = np.float32(np.float64(k) * np.float64(a["x"][0]) + np.float64(total))
    return {"out": a["x"] + total}


APPROXIMATE = Tolerance(3e-6, 3e-6, "exp, log, sin, cos, rsqrt and sigmoid are approximations on a GPU, and so here")
FUSED = Tolerance(2e-7, 0, "the compiler contracts a multiplication and an addition into one rounding")
LIBRARY = Tolerance(1e-5, 1e-6, "libdevice promises a few units in the last place for each of five functions")
BRAIN = Tolerance(0.02, 0.02, "bf16 has 8 bits, and each of four operations rounds")

CASES = [
    Case(
        "add",
        add,
        (5,),
        lambda r: {"x": random(5000, r), "y": random(5000, r), "out": np.zeros(5000, np.float32)},
        lambda a: {"out": a["x"] + a["y"]},
        {"n": 5000},
        {"BLOCK": 1024},
    ),
    Case(
        "dropout",
        dropout,
        (3,),
        lambda r: {"x": random(2900, r), "out": np.zeros(2900, np.float32)},
        _dropout,
        {"n": 2900, "p": 0.3, "seed": 1234},
        {"BLOCK": 1024},
        tolerance={"out": Tolerance(4e-7, 0, "the division is the approximate one")},
    ),
    Case(
        "idx64",
        idx64,
        (3,),
        lambda r: {"x": whole(1500, r, -9, 99), "out": np.zeros(1500, np.int32)},
        _idx64,
        {"n": 1500, "rows": 40, "columns": 3, "width": 37},
        {"BLOCK": 512},
    ),
    Case(
        "casts",
        casts,
        (1,),
        lambda r: {
            "x": random(1024, r, scale=20),
            "half": np.zeros(1024, np.float16),
            "brain": random(1024, r, dtype=ml_dtypes.bfloat16),
            "quarter": random(1024, r, dtype=ml_dtypes.float8_e5m2),
            "byte": np.zeros(1024, np.int8),
            "back": np.zeros(1024, np.float64),
        },
        _casts,
        {},
        {"BLOCK": 1024},
    ),
    Case(
        "mathfn",
        mathfn,
        (2,),
        lambda r: {
            "x": np.abs(random(900, r)) + np.float32(0.01),
            "out": np.zeros(900, np.float32),
            "exact": np.zeros(900, np.float32),
        },
        _mathfn,
        {"n": 900},
        {"BLOCK": 512},
        tolerance={"out": APPROXIMATE, "exact": FUSED},
    ),
    Case(
        "libdevice",
        libdevice_calls,
        (1,),
        lambda r: {
            "x": np.abs(random(128, r)) + np.float32(0.05),
            "out": np.zeros(128, np.float32),
            "whole_part": np.zeros(128, np.float32),
        },
        _libdevice,
        {},
        {"BLOCK": 128},
        tolerance={"out": LIBRARY},
    ),
    Case(
        "inline_asm",
        inline_asm,
        (1,),
        lambda r: {"x": whole(128, r, -(2**31), 2**31), "out": np.zeros(128, np.int32)},
        lambda a: {"out": (a["x"].astype(np.int64) * 9).astype(np.int32)},
        {},
        {"BLOCK": 128},
    ),
    Case(
        "ints",
        ints,
        (1,),
        lambda r: {
            "x": whole(128, r, -(10**6), 10**6),
            "y": whole(128, r, 1, 500) * r.choice([-1, 1], 128).astype(np.int32),
            "out": np.zeros(128, np.int32),
            "short": whole(128, r, -30000, 30000, dtype=np.int16),
            "both": np.zeros(128, np.int32),
        },
        _ints,
        {},
        {"BLOCK": 128},
    ),
    Case(
        "bf16_f64",
        bf16_f64,
        (1,),
        lambda r: {
            "x": (random(256, r) + 3).astype(ml_dtypes.bfloat16),
            "y": random(256, r, dtype=ml_dtypes.bfloat16),
            "out": np.zeros(256, ml_dtypes.bfloat16),
            "d": np.abs(r.standard_normal(256)) + 0.1,
        },
        _bf16_f64,
        {},
        {"BLOCK": 256},
        tolerance={"out": BRAIN, "d": Tolerance(1e-6, 0, "exp is taken in fp32 and approximate")},
    ),
    Case(
        "rnd",
        rnd,
        (1,),
        lambda _: {"out": np.zeros(256, np.float32), "bits": np.zeros(256, np.int32)},
        _rnd,
        {"seed": 77},
        {"BLOCK": 256},
        tolerance={"out": Tolerance(2e-5, 2e-6, "log and cos are approximations")},
    ),
    Case(
        "cachemod",
        cachemod,
        (2,),
        lambda r: {"x": random(1912, r), "out": np.zeros(3 * 1904, np.float32)},
        _cachemod,
        {"n": 1904},
        {"BLOCK": 1024},
    ),
    Case(
        "noinline",
        noinline,
        (1,),
        lambda r: {"x": random(128, r), "out": np.zeros(128, np.float32)},
        _noinline,
        {"n": 7},
        {"BLOCK": 128},
        tolerance={"out": FUSED},
    ),
    Case(
        "device_dbg",
        device_dbg,
        (1,),
        lambda r: {"x": whole(100, r, 1, 50), "out": np.zeros(100, np.int32)},
        lambda a: {"out": a["x"].copy()},
        {"n": 100},
        {"BLOCK": 128},
        {"debug": True},
    ),
]
