"""Kernels in Gluon: layouts, shared memory and warps are the author's."""

# mypy: ignore-errors
from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def gluon_copy(x, out, n, BLOCK: gl.constexpr, LANES: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [LANES], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + at, gl.load(x + at, mask=at < n), mask=at < n)


@gluon.jit
def gluon_turned(x, out, rows, columns, BLOCK: gl.constexpr, LANES: gl.constexpr):
    """Through shared memory, and reduced."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [LANES // 8, 8], [4, 1], [1, 0])
    other: gl.constexpr = gl.BlockedLayout([4, 1], [8, LANES // 8], [1, 4], [0, 1])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    r = gl.arange(0, BLOCK, layout=gl.SliceLayout(1, layout))
    c = gl.arange(0, BLOCK, layout=gl.SliceLayout(0, layout))
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    v = gl.load(x + r[:, None] * columns + c[None, :], mask=inside, other=0.0)
    kept = gl.allocate_shared_memory(gl.float32, [BLOCK, BLOCK], shared, v)
    v = kept.load(other)
    total = gl.sum(v, 1)
    at = gl.arange(0, BLOCK, layout=gl.SliceLayout(1, other))
    gl.store(out + at, total, mask=at < rows)


@gluon.jit
def store_part(kept, out, limit, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    at = gl.arange(0, BLOCK, layout=layout)
    v = kept.load(layout)
    gl.store(out + at, gl.where(v > 0, v, 0.0), mask=at < limit)


@gluon.jit
def store_rest(kept, out, limit, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    at = gl.arange(0, BLOCK, layout=layout)
    v = kept.load(layout)
    gl.store(out + BLOCK + at, gl.where(v > 1, -v, v), mask=at >= limit)


@gluon.jit
def gluon_parted(x, out, limit, BLOCK: gl.constexpr):
    """Kinds of warps, each with registers of its own."""
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[0])
    at = gl.arange(0, BLOCK, layout=layout)
    kept = gl.allocate_shared_memory(gl.float32, [BLOCK], shared, gl.load(x + at))
    gl.barrier()
    gl.warp_specialize([(store_part, (kept, out, limit, BLOCK)), (store_rest, (kept, out, limit, BLOCK))], [4], [48])
