"""Kernels whose LLVM IR is the corpus of the instrumenter: each shows the compiler something that others do not."""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def masked_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n, other=1.0)
    tl.store(out + at, a + b, mask=at < n)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    v = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + at, (v / tl.sum(v, 0)).to(tl.bfloat16), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + at, mask=at < columns, other=0.0).to(tl.float32)
        v = tl.where(at < columns, v - mean, 0.0)
        squares += v * v
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        v = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + at, mask=inside)
        b = tl.load(bias + at, mask=inside)
        tl.store(out + row * stride + at, (v - mean) * scale * w + b, mask=inside)


@triton.jit
def matmul(a, b, c, m, n, k, sa, sb, sc, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    rm, rn, rk = pm * M + tl.arange(0, M), pn * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros([M, N], ACC)
    for first in range(0, tl.cdiv(k, K)):
        left = k - first * K
        x = tl.load(
            a + rm[:, None] * sa + (first * K + rk)[None, :], mask=(rm[:, None] < m) & (rk[None, :] < left), other=0
        )
        y = tl.load(
            b + (first * K + rk)[:, None] * sb + rn[None, :], mask=(rk[:, None] < left) & (rn[None, :] < n), other=0
        )
        total = tl.dot(x, y, total, out_dtype=ACC)
    tl.store(
        c + rm[:, None] * sc + rn[None, :], total.to(c.dtype.element_ty), mask=(rm[:, None] < m) & (rn[None, :] < n)
    )


@triton.jit
def attention(
    q, k, v, out, scale, length, stride, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr
):
    first, head = tl.program_id(0) * M, tl.program_id(1)
    base = head * length * stride
    rm, rn, rd = first + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(q + base + rm[:, None] * stride + rd[None, :], mask=rm[:, None] < length, other=0.0)
    most = tl.full([M], -float("inf"), tl.float32)
    norm = tl.zeros([M], tl.float32)
    total = tl.zeros([M, D], tl.float32)
    end = tl.minimum(first + M, length) if CAUSAL else length
    for at in range(0, end, N):
        keys = tl.load(
            k + base + (at + rn)[None, :] * stride + rd[:, None], mask=(at + rn)[None, :] < length, other=0.0
        )
        score = tl.dot(queries, keys) * scale
        keep = (at + rn)[None, :] < length
        if CAUSAL:
            keep = keep & (rm[:, None] >= (at + rn)[None, :])
        score = tl.where(keep, score, -float("inf"))
        larger = tl.maximum(most, tl.max(score, 1))
        p = tl.exp2(score - larger[:, None])
        shrink = tl.exp2(most - larger)
        norm = norm * shrink + tl.sum(p, 1)
        values = tl.load(
            v + base + (at + rn)[:, None] * stride + rd[None, :], mask=(at + rn)[:, None] < length, other=0.0
        )
        total = tl.dot(p.to(values.dtype), values, total * shrink[:, None])
        most = larger
    tl.store(
        out + base + rm[:, None] * stride + rd[None, :],
        (total / norm[:, None]).to(tl.float16),
        mask=rm[:, None] < length,
    )


@triton.jit
def counts(x, bins, seen, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + v % BINS, 1, mask=at < n)
    tl.atomic_max(bins + BINS + v % BINS, v, mask=v > 0)
    if tl.atomic_add(seen, 1) == tl.num_programs(0) - 1:
        tl.store(seen, 0)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def scans(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    v = tl.associative_scan(v, 0, plus)
    tl.store(out + at, v + tl.cumsum(v, 0), mask=at < n)


@triton.jit
def sorted_rows(x, out, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    v = tl.load(x + rows[:, None] * stride + at[None, :])
    tl.store(out + rows[:, None] * stride + at[None, :], tl.sort(v, 1))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, v / (1 - p), 0.0), mask=at < n)


@triton.jit
def branches(x, bounds, out, n):
    row = tl.program_id(0)
    if row >= n:
        return
    total = 0.0
    at = tl.load(bounds + row)
    end = tl.load(bounds + row + 1)
    while at < end:
        v = tl.load(x + at)
        if v > 10.0:
            total += 1.0
        elif v < -10.0:
            total -= v
        else:
            total += tl.where(v == 0, 0.5, v * v)
        at += 1
    if total != total:
        tl.atomic_add(out + n, 1.0)
    tl.store(out + row, total)


@triton.jit
def split_locked(x, out, lock, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * BLOCK + at, mask=at < n, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + at, tl.load(out + at, mask=at < n, other=0.0) + v, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit(noinline=True)
def apart(v, limit):
    if v > limit:
        v = v - limit
    return v


@triton.jit
def calls(x, out, limit, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    v = apart(tl.load(x + at), limit)
    tl.store(out + at, tl.where(v < 0, 0, v))


@triton.jit
def two_d(x, out, rows, columns, sr, sc, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < columns) & ((r[:, None] + c[None, :]) % 3 != 1)
    v = tl.load(x + r[:, None] * sr + c[None, :] * sc, mask=inside, other=0)
    tl.store(out + c[None, :] * sr + r[:, None] * sc, v, mask=inside)


@triton.jit
def depends(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    v = tl.load(x + at, mask=at < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + at, v * 2, mask=at < n)


@triton.jit
def described(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tensor descriptors that the kernel makes."""
    da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    rm, rn = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros([M, N], tl.float32)
    for first in range(0, k, K):
        total = tl.dot(da.load([rm, first]), db.load([rn, first]).T, total)
    dc.store([rm, rn], total.to(tl.float16))


@triton.jit
def given(da, db, dc, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Tensor descriptors that the host makes."""
    rm, rn = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros([M, N], tl.float32)
    for first in range(0, k, K):
        total = tl.dot(da.load([rm, first]), db.load([rn, first]).T, total)
    dc.store([rm, rn], total.to(tl.float16))


@triton.jit
def specialized(da, db, dc, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Persistent: warps of one kind load, those of another multiply."""
    tiles = tl.cdiv(m, M) * tl.cdiv(n, N)
    across = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=True):
        rm, rn = tile // across * M, tile % across * N
        total = tl.zeros([M, N], tl.float32)
        for first in range(0, k, K):
            total = tl.dot(da.load([rm, first]), db.load([rn, first]).T, total)
        dc.store([rm, rn], total.to(tl.float16))


@triton.jit
def inner_specialized(da, db, dc, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """As `given`, whose loop over k is divided between kinds of warps."""
    rm, rn = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros([M, N], tl.float32)
    for first in tl.range(0, k, K, warp_specialize=True):
        total = tl.dot(da.load([rm, first]), db.load([rn, first]).T, total)
    dc.store([rm, rn], total.to(tl.float16))
