"""Kernels as real packages have them, each right, and wrong in one or more ways that a check finds.

A kernel takes ``BUG``: 0 is right; every other number is one mistake, in a line that ends in ``# BUG`` and it. ``PATTERNS``
says for each kernel how it is launched in several shapes, and which check finds which mistake.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl


@triton.jit
def scaled_rows(x, out, columns, stride, BLOCK: tl.constexpr, BUG: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns + (1 if BUG == 1 else 0)
    v = tl.load(x + row * (stride + (1 if BUG == 2 else 0)) + at, mask=inside, other=0.0)  # BUG 1, 2
    scale = tl.max(tl.abs(v), 0)
    if BUG == 3:
        row += 1
    tl.store(out + row * stride + at, v / tl.where(scale > 0, scale, 1.0), mask=at < columns)  # BUG 3


@triton.jit
def gathered(table, index, out, count, width, WIDTH: tl.constexpr, BUG: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    which = tl.load(index + row + (1 if BUG == 1 else 0))  # BUG 1
    if BUG != 2:
        which = tl.where(which < 0, which + count, which)  # negative ones count from the end
    v = tl.load(table + which * width + at, mask=at < width, other=0.0)  # BUG 2
    tl.store(out + row * width + at, v, mask=(at < width) | (BUG == 3))  # BUG 3


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BUG: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK) + (1 if BUG == 1 else 0)):
        left = K if BUG == 1 else K - k * BK
        if BUG == 2:
            left = BK
        at = a + rows[:, None] * K + k * BK + inner[None]
        x = tl.load(at, mask=(rows[:, None] < M) & (inner[None] < left), other=0)  # BUG 1, 2
        at = b + (k * BK + inner[:, None]) * N + columns[None]
        wide = columns[None] < (N + 1 if BUG == 3 else N)
        y = tl.load(at, mask=(inner[:, None] < left) & wide, other=0)  # BUG 1, 2
        total += tl.dot(x, y, input_precision="ieee")
    keep = (rows[:, None] < M) & (columns[None] < N)
    if BUG == 3:
        keep = rows[:, None] < M
    tl.store(c + rows[:, None] * N + columns[None], total, mask=keep)  # BUG 3


@triton.jit
def counted(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    bin = v % BINS
    if BUG == 1:
        tl.store(counts + bin, tl.load(counts + bin) + 1, mask=at < n)  # BUG 1
    elif BUG == 2:
        tl.atomic_add(counts + v, 1, mask=at < n)  # BUG 2
    else:
        tl.atomic_add(counts + bin, 1, mask=at < n)


@triton.jit
def smoothed(x, out, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at < n) | (BUG == 1), other=0.0)  # BUG 1
    right = tl.load(x + at + 1, mask=at + 1 < n + (1 if BUG == 2 else 0), other=0.0)  # BUG 2
    where = x if BUG == 3 else out
    tl.store(where + at, (left + right) / 2, mask=at < n)  # BUG 3


@triton.jit
def split_atomic(a, b, out, n, PARTS: tl.constexpr, BLOCK: tl.constexpr, BUG: tl.constexpr):
    part = tl.program_id(0)
    total = 0.0
    for k in range(0, tl.cdiv(n, BLOCK * PARTS)):
        at = (k * PARTS + part) * BLOCK + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(a + at, mask=at < n, other=0.0) * tl.load(b + at, mask=at < n, other=0.0))
    if BUG == 1:
        tl.store(out, tl.load(out) + total)  # BUG 1
    else:
        tl.atomic_add(out, total)


@triton.jit
def scattered(index, v, out, n, size, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + at, mask=at < n, other=0)
    worth = tl.load(v + at, mask=at < n, other=0.0)
    if BUG == 1:
        tl.store(out + place, worth, mask=at < n)  # BUG 1
    elif BUG == 2:
        tl.atomic_add(out + place + size, worth, mask=at < n)  # BUG 2
    else:
        tl.atomic_add(out + place, worth, mask=at < n)


@triton.jit
def turned(x, cos, sin, heads, half, HALF: tl.constexpr, BUG: tl.constexpr):
    token, head = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, HALF)
    inside = at < half
    c = tl.load(cos + token * half + at, mask=inside)
    s = tl.load(sin + token * half + at, mask=inside)
    base = x + (token * heads + (0 if BUG == 1 else head)) * 2 * half
    low = tl.load(base + at, mask=inside)
    high = tl.load(base + half + at, mask=inside)
    tl.store(base + at, low * c - high * s, mask=inside)  # BUG 1
    tl.store(base + half + at + (half if BUG == 2 else 0), high * c + low * s, mask=inside)  # BUG 2


@triton.jit
def paged(q, keys, pages, lengths, out, PAGE: tl.constexpr, WIDTH: tl.constexpr, MOST: tl.constexpr, BUG: tl.constexpr):
    row = tl.program_id(0)
    at, slot = tl.arange(0, WIDTH), tl.arange(0, PAGE)
    length = tl.load(lengths + row)
    one = tl.load(q + row * WIDTH + at)
    total = 0.0
    for page in range(0, tl.cdiv(length, PAGE) + (1 if BUG == 1 else 0)):
        which = tl.load(pages + row * MOST + page)  # BUG 1
        which = which + (1 if BUG == 2 else 0)
        inside = (page * PAGE + slot < length) | (BUG == 1)
        places = keys + (which * PAGE + slot[:, None]) * WIDTH + at[None]
        key = tl.load(places, mask=inside[:, None], other=0.0)  # BUG 2
        total += tl.sum(key * one[None])
    tl.store(out + row, total)


@triton.jit
def averaged(x, counts, out, BLOCK: tl.constexpr, BUG: tl.constexpr):
    row = tl.program_id(0)
    count = tl.load(counts + row)
    at = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * BLOCK + at, mask=at < count, other=0))
    if BUG != 1:
        count = tl.maximum(count, 1)
    if BUG == 2:
        tl.device_assert(count > 0)
        tl.device_assert(total < 100, "too much")  # BUG 2
    tl.store(out + row, total // count)  # BUG 1


@triton.jit
def rooted(x, out, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1.0)
    if BUG == 1:
        r = tl.sqrt(v - 50.0)  # BUG 1
    elif BUG == 2:
        r = tl.sqrt_rn(v - 50.0)  # BUG 2
    else:
        r = tl.sqrt(tl.maximum(v - 50.0, 0.0))
    if BUG == 3:
        r = (v - v) / (v - v)  # BUG 3
    tl.store(out + at, r, mask=at < n)


@triton.jit
def aligned(x, out, offset, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = offset + tl.arange(0, BLOCK)
    if BUG == 1:
        at = tl.max_contiguous(tl.multiple_of(at, BLOCK), BLOCK)
    v = tl.load(x + at)  # BUG 1
    to = tl.arange(0, BLOCK) + offset
    if BUG == 2:
        to = tl.max_contiguous(tl.multiple_of(to, BLOCK), BLOCK)
    tl.store(out + to, v)  # BUG 2


@triton.jit
def optional(x, bias, out, BLOCK: tl.constexpr, HAS: tl.constexpr, BUG: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    if HAS:
        v += tl.load(bias + at)
    if BUG == 1:
        tl.store(x + at, v)  # BUG 1
    tl.store(out + at, v)


@triton.jit
def swapped_tiles(x, out, rows, columns, TILE: tl.constexpr, BUG: tl.constexpr):
    down, across = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = (down[:, None] < rows) & (across[None] < columns)
    v = tl.load(x + down[:, None] * columns + across[None], mask=inside, other=0.0)
    if BUG == 1:
        tl.store(out + across[None] * columns + down[:, None], v, mask=inside)  # BUG 1
    elif BUG == 2:
        tl.store(out + tl.trans(across[None] * rows + down[:, None]), tl.trans(v))  # BUG 2
    else:
        tl.store(out + across[None] * rows + down[:, None], v, mask=inside)


@triton.jit
def ranked(x, out, n, most, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.sort(tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=float("inf")))
    tl.store(out + tl.program_id(0) * most + at, v, mask=at < (n if BUG == 1 else most))  # BUG 1


@triton.jit
def summed_up(x, out, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < n
    v = tl.load(x + at, mask=inside, other=0)
    if BUG == 1:
        inside = tl.arange(0, BLOCK) <= n
    tl.store(out + at, tl.cumsum(v, 0), mask=inside)  # BUG 1


@triton.jit
def normalised(x, out, partial, columns, rows, BLOCK: tl.constexpr, GROUP: tl.constexpr, BUG: tl.constexpr):
    """Layer norm's gradient of the weights in groups, each with a row of its own: no locks."""
    group = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(group, rows + (GROUP if BUG == 1 else 0), GROUP):
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0)  # BUG 1
    to = 0 if BUG == 2 else group
    tl.store(partial + to * columns + at, total, mask=at < columns)  # BUG 2
    tl.store(out + group * columns + at, total * 2, mask=at < columns)


@dataclass(frozen=True)
class Pattern:
    """A kernel, its shapes, and what finds its mistakes.

    Attributes
    ----------
    shapes
        For each shape: a grid and what makes the arguments from a generator, with the options of the launch.
    found_by
        The check that finds each mistake, by its number.
    right
        Says of the arguments after a right launch whether the results are right.
    machine
        Options of the simulator.
    """

    kernel: Any
    shapes: tuple[tuple[tuple[int, ...], Callable[[Any], dict[str, Any]]], ...]
    found_by: dict[int, str]
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's."""
        return str(self.kernel.fn.__name__)

    def lines(self, bug: int) -> list[int]:
        """The lines of a mistake: a race has two."""
        lines, first = inspect.getsourcelines(self.kernel.fn)
        marks = (text.rpartition("# BUG ")[2].split(",") if "# BUG " in text else () for text in lines)
        return [first + place for place, numbers in enumerate(marks) if str(bug) in map(str.strip, numbers)]


def floats(random: Any, *shape: int) -> Any:
    """Normal numbers."""
    return random.standard_normal(shape).astype(np.float32)


def whole(random: Any, most: int, *shape: int) -> Any:
    """Numbers from 0."""
    return random.integers(0, most, shape).astype(np.int32)


def _scaled(rows: int, columns: int, warps: int = 4) -> Any:
    return (rows,), lambda r: {
        "x": floats(r, rows, columns), "out": np.zeros((rows, columns), np.float32), "columns": columns,
        "stride": columns, "BLOCK": triton.next_power_of_2(columns + 1), "num_warps": warps,
    }  # fmt: skip


def _gathered(rows: int, count: int, width: int) -> Any:
    return (rows,), lambda r: {
        "table": floats(r, count, width), "index": np.r_[whole(r, 2 * count, rows - 1) - count, -count].astype(np.int32),
        "out": np.zeros((rows, width), np.float32), "count": count, "width": width, "WIDTH": triton.next_power_of_2(width + 1),
    }  # fmt: skip


def _product(m: int, n: int, k: int, warps: int = 4) -> Any:
    return (triton.cdiv(m, 32), triton.cdiv(n, 32)), lambda r: {
        "a": floats(r, m, k), "b": floats(r, k, n), "c": np.zeros((m, n), np.float32), "M": m, "N": n, "K": k,
        "BM": 32, "BN": 32, "BK": 16, "num_warps": warps,
    }  # fmt: skip


def _counted(n: int, block: int = 128) -> Any:
    return (triton.cdiv(n, block),), lambda r: {
        "x": whole(r, 200, n), "counts": np.zeros(16, np.int32), "n": n, "BINS": 16, "BLOCK": block,
    }  # fmt: skip


def _smoothed(n: int, block: int = 128) -> Any:
    return (triton.cdiv(n, block),), lambda r: {
        "x": floats(r, n), "out": np.zeros(n, np.float32), "n": n, "BLOCK": block,
    }  # fmt: skip


def _split(n: int, parts: int) -> Any:
    return (parts,), lambda r: {
        "a": floats(r, n), "b": floats(r, n), "out": np.zeros(1, np.float32), "n": n, "PARTS": parts, "BLOCK": 64,
    }  # fmt: skip


def _scattered(n: int, size: int) -> Any:
    return (triton.cdiv(n, 64),), lambda r: {
        "index": whole(r, size, n), "v": floats(r, n), "out": np.zeros(size, np.float32), "n": n, "size": size, "BLOCK": 64,
    }  # fmt: skip


def _turned(tokens: int, heads: int, half: int) -> Any:
    return (tokens, heads), lambda r: {
        "x": floats(r, tokens, heads, 2 * half), "cos": floats(r, tokens, half), "sin": floats(r, tokens, half),
        "heads": heads, "half": half, "HALF": triton.next_power_of_2(half), "num_warps": 1,
    }  # fmt: skip


def _paged(rows: int, most: int) -> Any:
    return (rows,), lambda r: {
        "q": floats(r, rows, 32), "keys": floats(r, rows * most * 16, 32),
        "pages": r.permutation(rows * most).astype(np.int32).reshape(rows, most),
        "lengths": np.r_[16 * most, whole(r, 16 * most, rows - 1)].astype(np.int32), "out": np.zeros(rows, np.float32),
        "PAGE": 16, "WIDTH": 32, "MOST": most,
    }  # fmt: skip


def _averaged(rows: int) -> Any:
    return (rows,), lambda r: {
        "x": whole(r, 90, rows, 64), "counts": np.r_[0, whole(r, 64, rows - 2), 64].astype(np.int32),
        "out": np.zeros(rows, np.int32), "BLOCK": 64, "debug": True,
    }  # fmt: skip


def _rooted(n: int) -> Any:
    return (triton.cdiv(n, 128),), lambda r: {
        "x": r.uniform(1, 99, n).astype(np.float32), "out": np.zeros(n, np.float32), "n": n, "BLOCK": 128,
    }  # fmt: skip


def _aligned(offset: int, block: int = 512) -> Any:
    return (1,), lambda r: {
        "x": floats(r, block + 8), "out": np.zeros(block + 8, np.float32), "offset": offset, "BLOCK": block,
    }  # fmt: skip


def _optional(n: int, has: bool) -> Any:
    def arguments(r: Any) -> dict[str, Any]:
        x = floats(r, n)
        x.flags.writeable = False
        return {"x": x, "bias": floats(r, n) if has else None, "out": np.zeros(n, np.float32), "BLOCK": 64, "HAS": has}

    return (n // 64,), arguments


def _swapped(rows: int, columns: int) -> Any:
    return (triton.cdiv(rows, 16), triton.cdiv(columns, 16)), lambda r: {
        "x": floats(r, rows, columns), "out": np.zeros((columns, rows), np.float32), "rows": rows, "columns": columns,
        "TILE": 16,
    }  # fmt: skip


def _ranked(rows: int, n: int, most: int) -> Any:
    return (rows,), lambda r: {
        "x": floats(r, rows, n), "out": np.zeros((rows, most), np.float32), "n": n, "most": most,
        "BLOCK": triton.next_power_of_2(n),
    }  # fmt: skip


def _summed(rows: int, n: int) -> Any:
    return (rows,), lambda r: {
        "x": whole(r, 9, rows, n), "out": np.zeros((rows, n), np.int32), "n": n, "BLOCK": triton.next_power_of_2(n + 1),
    }  # fmt: skip


def _normalised(rows: int, columns: int, group: int) -> Any:
    return (group,), lambda r: {
        "x": floats(r, rows, columns), "out": np.zeros((group, columns), np.float32),
        "partial": np.zeros((group, columns), np.float32), "columns": columns, "rows": rows,
        "BLOCK": triton.next_power_of_2(columns), "GROUP": group,
    }  # fmt: skip


OUT, RACE = "out-of-bounds", "global-race"
PATTERNS = (
    Pattern(scaled_rows, (_scaled(5, 100), _scaled(3, 257, 8), _scaled(7, 31, 1)), {1: OUT, 2: OUT, 3: OUT}),
    Pattern(gathered, (_gathered(9, 12, 50), _gathered(4, 5, 33), _gathered(17, 3, 7)), {1: OUT, 2: OUT, 3: OUT}),
    Pattern(product, (_product(40, 50, 37), _product(33, 17, 16), _product(64, 31, 70, 8)), {1: OUT, 2: OUT, 3: OUT}),
    Pattern(counted, (_counted(500), _counted(256, 64), _counted(1000, 256)), {1: RACE, 2: OUT}),
    Pattern(smoothed, (_smoothed(500), _smoothed(257), _smoothed(130, 64)), {1: OUT, 2: OUT, 3: RACE}),
    Pattern(split_atomic, (_split(1000, 4), _split(640, 3), _split(65, 2)), {1: RACE}),
    Pattern(scattered, (_scattered(300, 20), _scattered(200, 7), _scattered(130, 64)), {1: RACE, 2: OUT}),
    Pattern(turned, (_turned(5, 3, 16), _turned(2, 4, 24), _turned(7, 2, 5)), {1: RACE, 2: OUT}),
    Pattern(paged, (_paged(4, 3), _paged(2, 5), _paged(6, 1)), {1: OUT, 2: OUT}),
    Pattern(averaged, (_averaged(5), _averaged(9), _averaged(3)), {1: "division-by-zero", 2: "assert"}),
    Pattern(rooted, (_rooted(500), _rooted(129), _rooted(1000)), {1: "nan", 2: "nan", 3: "nan"}, {"nan": True}),
    Pattern(aligned, (_aligned(1), _aligned(2), _aligned(3, 1024)), {1: "misaligned", 2: "misaligned"}),
    Pattern(optional, (_optional(256, True), _optional(256, False), _optional(640, True)), {1: "read-only-write"}),
    Pattern(swapped_tiles, (_swapped(40, 25), _swapped(17, 33), _swapped(50, 20)), {1: RACE, 2: OUT}),
    Pattern(ranked, (_ranked(3, 50, 8), _ranked(5, 33, 4), _ranked(2, 128, 16)), {1: OUT}),
    Pattern(summed_up, (_summed(4, 100), _summed(3, 31), _summed(6, 17)), {1: OUT}),
    Pattern(normalised, (_normalised(20, 50, 4), _normalised(9, 33, 3), _normalised(16, 64, 8)), {1: OUT, 2: RACE}),
)
