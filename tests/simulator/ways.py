"""Kernels that compute one result in two ways (``WAY``): what ``pairs`` must not call different."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def unrolled(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    if WAY:
        for k in tl.static_range(4):
            total += tl.load(x + k * 128 + at, mask=k * 128 + at < n, other=0.0)
    else:
        for k in range(0, tl.cdiv(n, 128)):
            total += tl.load(x + k * 128 + at, mask=k * 128 + at < n, other=0.0)
    tl.store(out + at, total)


@triton.jit
def mask_computed_another_way(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    inside = (at // 4 < n // 4) | ((at // 4 == n // 4) & (at % 4 < n % 4)) if WAY else at < n
    tl.store(out + at, tl.load(x + at, mask=inside, other=0.0) * 2, mask=inside)


@triton.jit
def reordered_loads(x, y, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    if WAY:
        b = tl.load(y + at, mask=at < n - 1, other=1.0)
        a = tl.load(x + at, mask=at < n, other=0.0)
    else:
        a = tl.load(x + at, mask=at < n, other=0.0)
        b = tl.load(y + at, mask=at < n - 1, other=1.0)
    tl.store(out + at, a - b, mask=at < n)


@triton.jit
def early_return(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    if WAY:  # noqa: SIM102  # one is known when the kernel is compiled, the other is not
        if tl.program_id(0) * 128 >= n:
            return
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def select_for_branch(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at)
    if WAY:
        w = tl.where(tl.program_id(0) < n, v * 2, v)
        tl.store(out + at, w)
    else:
        if tl.program_id(0) < n:
            tl.store(out + at, v * 2)
        else:
            tl.store(out + at, v)


@triton.jit
def loop_split(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    if WAY:
        for k in range(0, n - 1):
            total += tl.load(x + k * 128 + at)
        total += tl.load(x + (n - 1) * 128 + at)
    else:
        for k in range(0, n):
            total += tl.load(x + k * 128 + at)
    tl.store(out + at, total)


@triton.jit
def while_for_loop(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    if WAY:
        left = n
        while left != 0 and left < 1000:
            total += tl.load(x + (n - left) * 128 + at)
            left -= 1
    else:
        for k in range(0, n):
            total += tl.load(x + k * 128 + at)
    tl.store(out + at, total)


@triton.jit
def steps_of_two(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    if WAY:
        for k in range(0, n, 2):
            total += tl.load(x + k * 128 + at)
            total += tl.load(x + k * 128 + 128 + at)
    else:
        for k in range(0, n):
            total += tl.load(x + k * 128 + at)
    tl.store(out + at, total)


@triton.jit
def peeled_mask(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    if WAY:
        for k in range(0, n // 128):
            total += tl.load(x + k * 128 + at)
        rest = n // 128 * 128 + at
        total += tl.load(x + rest, mask=rest < n, other=0.0)
    else:
        for k in range(0, tl.cdiv(n, 128)):
            total += tl.load(x + k * 128 + at, mask=k * 128 + at < n, other=0.0)
    tl.store(out + at, total)


@triton.jit
def clamp_by_where(x, out, low, high, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at)
    if WAY:
        w = tl.where(v > high, high, v)
        w = tl.where(w < low, low, w)
    else:
        w = tl.minimum(tl.maximum(v, low), high)
    tl.store(out + at, w)


@triton.jit
def two_masks_in_one(x, out, n, m, WAY: tl.constexpr):
    row = tl.arange(0, 16)
    col = tl.arange(0, 32)
    inside = (row[:, None] < n) & (col[None, :] < m)
    if WAY:
        inside = tl.where(row[:, None] < n, col[None, :], 1 << 30) < m
    at = row[:, None] * 32 + col[None, :]
    tl.store(out + at, tl.load(x + at, mask=inside, other=0.0), mask=inside)


@triton.jit
def nested_for_flat(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    if WAY:
        for i in range(0, n):
            for j in range(0, 2):
                total += tl.load(x + (i * 2 + j) * 128 + at)
    else:
        for k in range(0, 2 * n):
            total += tl.load(x + k * 128 + at)
    tl.store(out + at, total)


@triton.jit
def helper(x, at, n):
    return tl.load(x + at, mask=at < n, other=0.0)


@triton.jit
def through_a_helper(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = helper(x, at, n) if WAY else tl.load(x + at, mask=at <= n - 1, other=0.0)
    tl.store(out + at, v, mask=at < n)


@triton.jit
def stored_in_two_steps(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    v = tl.load(x + at, mask=at < n, other=0.0)
    if WAY:
        tl.store(out + at, v, mask=(at < n) & (at % 2 == 0))
        tl.store(out + at, v, mask=(at < n) & (at % 2 == 1))
    else:
        tl.store(out + at, v, mask=at < n)


@triton.jit
def zeroed_before(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    if WAY:
        tl.store(out + at, tl.zeros([128], tl.float32), mask=at < n)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def backwards(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    top = tl.full([128], -1e30, tl.float32)
    for k in range(0, n):
        step = n - 1 - k if WAY else k
        v = tl.load(x + step * 128 + at)
        if tl.sum(v, 0) > 0:
            top = tl.maximum(top, v)
    tl.store(out + at, top)


@triton.jit
def guarded_block(x, out, n, WAY: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    if WAY:
        if tl.program_id(0) * 128 + 128 <= n:
            tl.store(out + at, tl.load(x + at) * 3)
        else:
            tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)
    else:
        tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) * 3, mask=at < n)


@triton.jit
def count_down(x, out, n, WAY: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.int32)
    if WAY:
        for k in range(n - 1, -1, -1):
            v = tl.load(x + k * 128 + at)
            if tl.sum((v > 0).to(tl.int32), 0) > 60:
                total += v.to(tl.int32)
    else:
        for k in range(0, n):
            v = tl.load(x + k * 128 + at)
            if tl.sum((v > 0).to(tl.int32), 0) > 60:
                total += v.to(tl.int32)
    tl.store(out + at, total.to(tl.float32))
