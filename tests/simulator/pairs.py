"""Kernels in pairs: a mistake beside what is right (``BUG``), one result in two ways (``WAY``), and kernels whose equal
runs must not differ. Everything is recorded as the documentation says, with no option.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl
from ways import (
    backwards,
    clamp_by_where,
    count_down,
    early_return,
    guarded_block,
    loop_split,
    mask_computed_another_way,
    nested_for_flat,
    peeled_mask,
    reordered_loads,
    select_for_branch,
    steps_of_two,
    stored_in_two_steps,
    through_a_helper,
    two_masks_in_one,
    unrolled,
    while_for_loop,
    zeroed_before,
)

# One mistake each, in the line marked so.


@triton.jit
def swapped_axes(x, out, ROWS: tl.constexpr, COLS: tl.constexpr, BUG: tl.constexpr):
    row = tl.arange(0, ROWS)
    col = tl.arange(0, COLS)
    v = tl.load(x + row[:, None] * COLS + col[None, :])
    tl.store(out + (col[None, :] * ROWS + row[:, None] if BUG else row[:, None] * COLS + col[None, :]), v)  # BUG


@triton.jit
def missing_store_mask(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, v + 1, mask=(at < n) | (BUG == 1))  # BUG


@triton.jit
def offset_overflow(x, out, stride, n, BUG: tl.constexpr):
    row = tl.program_id(0)
    offset = (row * stride) if BUG else row.to(tl.int64) * stride  # BUG
    at = tl.arange(0, 64)
    v = tl.load(x + (offset % n + n) % n + at)
    tl.store(out + row * 64 + at, v)


@triton.jit
def wrong_row_stride(x, out, stride, BUG: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, 64)
    v = tl.load(x + row * (stride - BUG) + at)  # BUG
    tl.store(out + row * 64 + at, v)


@triton.jit
def missing_rescale(q, k, v, out, n, D: tl.constexpr, BLOCK: tl.constexpr, BUG: tl.constexpr):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    dim = tl.arange(0, D)
    queries = tl.load(q + rows[:, None] * D + dim[None, :])
    top = tl.full([16], -1e30, tl.float32)
    total = tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        keys = tl.load(k + cols[None, :] * D + dim[:, None])
        scores = tl.dot(queries, keys)
        new_top = tl.maximum(top, tl.max(scores, 1))
        alpha = tl.exp(top - new_top)
        p = tl.exp(scores - new_top[:, None])
        total = total * alpha + tl.sum(p, 1)
        if BUG == 0:  # BUG
            acc = acc * alpha[:, None]
        acc += tl.dot(p.to(tl.float16), tl.load(v + cols[:, None] * D + dim[None, :]))
        top = new_top
    tl.store(out + rows[:, None] * D + dim[None, :], acc / total[:, None])


@triton.jit
def half_accumulator(a, b, out, k, BUG: tl.constexpr):
    i = tl.arange(0, 32)
    j = tl.arange(0, 32)
    acc = tl.zeros([32, 32], tl.float16 if BUG else tl.float32)  # BUG
    for start in range(0, k, 32):
        at = start + tl.arange(0, 32)
        x = tl.load(a + i[:, None] * k + at[None, :])
        y = tl.load(b + at[:, None] * 32 + j[None, :])
        acc += tl.dot(x, y).to(acc.dtype)
    tl.store(out + i[:, None] * 32 + j[None, :], acc.to(tl.float32))


@triton.jit
def missing_other(x, out, n, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0 if BUG else -float("inf"))  # BUG
    p = tl.exp(v - tl.max(v, 0))
    tl.store(out + tl.program_id(0) * n + at, p / tl.sum(p, 0), mask=at < n)


@triton.jit
def lost_epsilon(x, out, n, eps, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    mean = tl.sum(v, 0) / n
    centred = tl.where(at < n, v - mean, 0.0)
    variance = tl.sum(centred * centred, 0) / n
    root = tl.sqrt(variance if BUG else variance + eps)  # BUG
    tl.store(out + tl.program_id(0) * n + at, centred / root, mask=at < n)


@triton.jit
def causal_off_by_one(x, out, N: tl.constexpr, BUG: tl.constexpr):
    row = tl.arange(0, N)
    col = tl.arange(0, N)
    v = tl.load(x + row[:, None] * N + col[None, :])
    kept = col[None, :] < row[:, None] + 1 - BUG  # BUG
    tl.store(out + row[:, None] * N + col[None, :], tl.where(kept, v, 0.0))


@triton.jit
def wrong_identity(x, out, n, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    top = tl.full([128], 0.0 if BUG else -float("inf"), tl.float32)  # BUG
    for start in range(0, n, 128):
        top = tl.maximum(top, tl.load(x + start + at))
    tl.store(out, tl.max(top, 0))


@triton.jit
def mean_of_block(x, out, n, BUG: tl.constexpr):
    at = tl.arange(0, 256)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out, tl.sum(v, 0) / (256 if BUG else n))  # BUG


@triton.jit
def bias_of_rows(x, bias, out, N: tl.constexpr, BUG: tl.constexpr):
    row = tl.arange(0, N)
    col = tl.arange(0, N)
    v = tl.load(x + row[:, None] * N + col[None, :])
    b = tl.load(bias + (row[:, None] if BUG else col[None, :]))  # BUG
    tl.store(out + row[:, None] * N + col[None, :], v + b)


@triton.jit
def truncated_not_rounded(x, out, scale, BUG: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at) * scale
    rounded = v if BUG else tl.floor(v + 0.5)  # BUG
    tl.store(out + at, rounded.to(tl.int8))


@triton.jit
def counted_twice(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at, mask=at < n, other=0).to(tl.int32)
    tl.atomic_add(out + v % 16, 1 + BUG, mask=at < n)  # BUG


@triton.jit
def same_random_numbers(x, out, seed, BUG: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    keep = tl.rand(seed, tl.arange(0, 128) if BUG else at) > 0.5  # BUG
    tl.store(out + at, tl.where(keep, tl.load(x + at), 0.0))


# A mistake that changes nothing but what the simulator finds.


@triton.jit
def reads_beyond(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at, mask=at < n + 8 * BUG, other=0.0)  # BUG
    tl.store(out + at, v, mask=at < n)


# Bugs in what is done with the same operands, in arrays that noise leaves other bytes in.


@triton.jit
def lost_updates(x, out, N: tl.constexpr, BUG: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + at)
    if BUG:
        tl.store(out + at, v)
    else:
        tl.atomic_add(out + at, v)


@triton.jit
def exchanged(x, out, N: tl.constexpr, BUG: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + at)
    if BUG:
        tl.atomic_xchg(out + at, v)
    else:
        tl.atomic_add(out + at, v)


@triton.jit
def swapped_in(x, out, BUG: tl.constexpr):
    v = tl.load(x + tl.program_id(0)) * (1 + 2 * BUG)
    done = 0
    while done == 0:
        old = tl.load(out)
        new = (old.to(tl.float32, bitcast=True) + v).to(tl.int32, bitcast=True)
        done = (tl.atomic_cas(out, old, new) == old).to(tl.int32)


# Kernels whose equal runs are the same, whatever stands in memory and wherever it lies.


@triton.jit
def partly_written(x, out, n):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + 2 * at, v, mask=(at < n) & (v > 0))


@triton.jit
def split_k(a, b, out, k, SPLIT: tl.constexpr):
    i = tl.arange(0, 16)
    j = tl.arange(0, 16)
    acc = tl.zeros([16, 16], tl.float32)
    for start in range(tl.program_id(0) * 16, k, 16 * SPLIT):
        at = start + tl.arange(0, 16)
        acc += tl.dot(tl.load(a + i[:, None] * k + at[None, :]), tl.load(b + at[:, None] * 16 + j[None, :]))
    tl.atomic_add(out + i[:, None] * 16 + j[None, :], acc)


@triton.jit
def pointers(x, y, out, n):
    at = tl.arange(0, 64)
    table = tl.where(at % 2 == 0, (x + at).to(tl.int64), (y + n - at).to(tl.int64))
    tl.store(out + at, table, mask=at < n)


@triton.jit
def histogram(x, out, n):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0).to(tl.int32) % 32, 1, mask=at < n)


@triton.jit
def softmax_rows(x, out, n):
    at = tl.arange(0, 128)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
    p = tl.exp(v - tl.max(v, 0))
    tl.store(out + tl.program_id(0) * n + at, p / tl.sum(p, 0), mask=at < n)


@dataclass(frozen=True)
class Pair:
    """A kernel, its grid, and what makes its arguments of random numbers."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: Callable[[np.random.Generator], dict[str, Any]]
    noise: bool = False  # equal runs differ: they need a baseline
    garbage: dict[str, Any] = field(default_factory=dict)  # arguments of a run whose author forgot to initialise
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.kernel.fn.__name__)


def _floats(rng: np.random.Generator, *shape: int, kind: Any = np.float32) -> Any:
    return rng.standard_normal(shape).astype(kind)


def _garbage(rng: np.random.Generator, count: int, kind: Any = np.float32) -> Any:
    """Memory that nobody initialised: other bytes in every run, though the numbers of a run are given."""
    del rng
    return np.frombuffer(np.random.default_rng().bytes(count * np.dtype(kind).itemsize), kind).copy()


def _rows(columns: int, rows: int = 4, **more: Any) -> Callable[[np.random.Generator], dict[str, Any]]:
    return lambda rng: {
        "x": _floats(rng, rows * columns), "out": np.zeros(rows * columns, np.float32), "n": columns, **more
    }  # fmt: skip


def _flat(count: int, **more: Any) -> Callable[[np.random.Generator], dict[str, Any]]:
    return lambda rng: {"x": _floats(rng, count), "out": np.zeros(count, np.float32), **more}


BUGS = [
    Pair(swapped_axes, (1,), _flat(16 * 32, ROWS=16, COLS=32)),
    Pair(missing_store_mask, (3,), _flat(384, n=300)),
    Pair(
        offset_overflow,
        (4,),
        lambda rng: {"x": _floats(rng, 1200), "out": np.zeros(256, np.float32), "stride": 1 << 30, "n": 1000},
    ),
    Pair(wrong_row_stride, (4,), lambda rng: {"x": _floats(rng, 400), "out": np.zeros(256, np.float32), "stride": 96}),
    Pair(
        missing_rescale,
        (2,),
        lambda rng: {
            **{name: _floats(rng, 64, 32, kind=np.float16) for name in "qkv"},
            "out": np.zeros((32, 32), np.float32),
            "n": 64,
            "D": 32,
            "BLOCK": 32,
        },
    ),
    Pair(
        half_accumulator,
        (1,),
        lambda rng: {
            "a": _floats(rng, 32, 128, kind=np.float16),
            "b": _floats(rng, 128, 32, kind=np.float16),
            "out": np.zeros((32, 32), np.float32),
            "k": 128,
        },
    ),
    Pair(missing_other, (4,), lambda rng: {"x": _floats(rng, 4 * 100) - 3, "out": np.zeros(400, np.float32), "n": 100}),
    Pair(lost_epsilon, (4,), _rows(100, eps=1e-3)),
    Pair(causal_off_by_one, (1,), _flat(16 * 16, N=16)),
    Pair(
        wrong_identity,
        (1,),
        lambda rng: {"x": -np.abs(_floats(rng, 512)) - 1, "out": np.zeros(1, np.float32), "n": 512},
    ),
    Pair(mean_of_block, (1,), _flat(256, n=200)),
    Pair(
        bias_of_rows,
        (1,),
        lambda rng: {
            "x": _floats(rng, 16, 16),
            "bias": _floats(rng, 16),
            "out": np.zeros((16, 16), np.float32),
            "N": 16,
        },
    ),
    Pair(
        truncated_not_rounded, (2,), lambda rng: {"x": _floats(rng, 256), "out": np.zeros(256, np.int8), "scale": 20.0}
    ),
    Pair(
        counted_twice,
        (2,),
        lambda rng: {"x": rng.integers(0, 99, 256).astype(np.int32), "out": np.zeros(16, np.int32), "n": 200},
    ),
    Pair(same_random_numbers, (2,), _flat(256, seed=7)),
]
FOUND = [Pair(reads_beyond, (3,), lambda rng: {"x": _floats(rng, 300), "out": np.zeros(384, np.float32), "n": 300})]
WAYS = [
    Pair(unrolled, (1,), lambda rng: {"x": _floats(rng, 512), "out": np.zeros(128, np.float32), "n": 500}),
    Pair(mask_computed_another_way, (3,), _flat(384, n=300)),
    Pair(
        reordered_loads,
        (3,),
        lambda rng: {"x": _floats(rng, 384), "y": _floats(rng, 384), "out": np.zeros(384, np.float32), "n": 300},
    ),
    Pair(early_return, (4,), _flat(512, n=200)),
    Pair(select_for_branch, (4,), _flat(512, n=2)),
    Pair(loop_split, (1,), _flat(640, n=5)),
    Pair(while_for_loop, (1,), _flat(640, n=5)),
    Pair(steps_of_two, (1,), _flat(768, n=6)),
    Pair(peeled_mask, (1,), _flat(640, n=580)),
    Pair(clamp_by_where, (2,), _flat(256, low=-0.5, high=0.5)),
    Pair(two_masks_in_one, (1,), _flat(512, n=9, m=30)),
    Pair(nested_for_flat, (1,), _flat(768, n=3)),
    Pair(through_a_helper, (3,), _flat(384, n=300)),
    Pair(stored_in_two_steps, (3,), _flat(384, n=300)),
    Pair(zeroed_before, (3,), _flat(384, n=300)),
    Pair(backwards, (1,), _flat(768, n=6)),
    Pair(guarded_block, (3,), _flat(384, n=300)),
    Pair(count_down, (1,), lambda rng: {"x": _floats(rng, 768) * 9, "out": np.zeros(128, np.float32), "n": 6}),
]
EQUAL = [
    Pair(partly_written, (3,), lambda rng: {"x": _floats(rng, 384), "out": _garbage(rng, 800), "n": 300}),
    Pair(
        split_k,
        (8,),
        lambda rng: {
            "a": _floats(rng, 16, 256, kind=np.float16),
            "b": _floats(rng, 256, 16, kind=np.float16),
            "out": np.zeros((16, 16), np.float32),
            "k": 256,
            "SPLIT": 8,
        },
        noise=True,
    ),
    Pair(
        pointers,
        (1,),
        lambda rng: {"x": _floats(rng, 64), "y": _floats(rng, 64), "out": _garbage(rng, 64, np.int64), "n": 60},
    ),
    Pair(
        histogram,
        (3,),
        lambda rng: {"x": rng.integers(0, 99, 384).astype(np.int32), "out": np.zeros(32, np.int32), "n": 300},
    ),
    Pair(softmax_rows, (4,), lambda rng: {"x": _floats(rng, 400), "out": _garbage(rng, 500), "n": 100}),
]
NOISY = [
    Pair(
        kernel,
        (12,),
        lambda rng: {"x": _floats(rng, 12 * 64), "out": np.zeros(64, np.float32), "N": 64},
        garbage={"out": np.linspace(1, 2, 64, dtype=np.float32)},
    )
    for kernel in (lost_updates, exchanged)
]
UNTOLD = Pair(swapped_in, (40,), lambda rng: {"x": _floats(rng, 40), "out": np.zeros(1, np.int32)})
