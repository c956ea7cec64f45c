"""Seeded bugs: kernels with a constant ``BUG`` that is 0 in the right kernel and 1 in the wrong one, in one line marked so.

``CHECKED`` are found while they run, ``DIFFED`` by comparing the recordings of a right and a wrong run. Bugs that
Triton cannot express (a missing barrier, a stage that is read too early) are made in the PTX that it printed: ``CUT``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl
from corpus import CASES


@triton.jit
def wrong_mask(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    inside = at < n - 3 * BUG  # BUG
    tl.store(out + at, tl.load(x + at, mask=inside) * 2, mask=inside)


@triton.jit
def off_by_one(x, out, n, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    for k in range(0, n + BUG):  # BUG
        total += tl.load(x + k * 128 + at, mask=k * 128 + at < n * 128, other=0.0)
    tl.store(out + at, total)


@triton.jit
def early_exit(x, out, n, BUG: tl.constexpr):
    if tl.program_id(0) * 128 >= n - 128 * BUG:  # BUG
        return
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def swapped_operand(x, y, out, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    a = tl.load(x + at)
    b = tl.load(y + at)
    tl.store(out + at, b - a if BUG else a - b)  # BUG


@triton.jit
def dtype_cast(x, out, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + at)
    tl.store(out + at, v.to(tl.float16).to(tl.float32) if BUG else v)  # BUG


@triton.jit
def atomic_order(counter, out):
    ticket = tl.atomic_add(counter, 1)  # BUG
    tl.store(out + tl.program_id(0), ticket)


@triton.jit
def load_beyond(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    inside = at < n
    v = tl.load(x + at + 5 * BUG, mask=inside)  # BUG
    tl.store(out + at, v, mask=inside)


@triton.jit
def store_beyond(x, out, n, BUG: tl.constexpr):
    at = tl.program_id(0) * 256 + tl.arange(0, 256)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, v, mask=at < n + 7 * BUG)  # BUG


@triton.jit
def wrong_stride(x, out, stride, BUG: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, 64)
    v = tl.load(x + row * (stride + BUG) + at)  # BUG
    tl.store(out + row * 64 + at, v)


@triton.jit
def misaligned(x, out, offset, BUG: tl.constexpr):
    at = tl.arange(0, 512)
    start = offset * 0
    if BUG:
        start = tl.multiple_of(offset, 16)
    tl.store(out + at, tl.load(x + start + at))  # BUG


@triton.jit
def nan_source(x, out, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + at)
    root = tl.sqrt(v - 2 * BUG)  # BUG
    tl.store(out + at, root + 1)


@triton.jit
def divergent_barrier(x, out, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + at)
    if BUG:
        v = tl.inline_asm_elementwise(  # BUG
            "{ .reg .pred few; setp.gt.s32 few, $1, 40; @few bar.sync 0; mov.u32 $0, $1; }",
            "=r,r",
            [v],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )
    tl.store(out + at, v)


@dataclass(frozen=True)
class Bug:
    """A kernel, its arguments, and what names the mistake: a check, or a diff with the kinds of sites that it needs."""

    kernel: Any
    found_by: str  # the check, or "diff"
    grid: tuple[int, ...]
    arguments: Callable[[], dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.kernel.fn.__name__)

    @property
    def line(self) -> int:
        """The line of the mistake, in this file."""
        lines, first = inspect.getsourcelines(self.kernel.fn)
        return first + next(i for i, text in enumerate(lines) if text.rstrip().endswith("# BUG"))


def _numbers(count: int, kind: Any = np.float32) -> Any:
    return (np.arange(count) % 97 + 1).astype(kind)


DIFFED = [
    Bug(wrong_mask, "diff", (3,), lambda: {"x": _numbers(768), "out": np.zeros(768, np.float32), "n": 700}),
    Bug(off_by_one, "diff", (1,), lambda: {"x": _numbers(640), "out": np.zeros(128, np.float32), "n": 5}),
    Bug(early_exit, "diff", (4,), lambda: {"x": _numbers(500), "out": np.zeros(512, np.float32), "n": 500}),
    Bug(
        swapped_operand,
        "diff",
        (1,),
        lambda: {"x": _numbers(128), "y": _numbers(128)[::-1].copy(), "out": np.zeros(128, np.float32)},
    ),
    Bug(dtype_cast, "diff", (1,), lambda: {"x": _numbers(128) / 7, "out": np.zeros(128, np.float32)}),
]
CHECKED = [
    Bug(load_beyond, "out-of-bounds", (3,), lambda: {"x": _numbers(700), "out": np.zeros(768, np.float32), "n": 700}),
    Bug(store_beyond, "out-of-bounds", (3,), lambda: {"x": _numbers(768), "out": np.zeros(700, np.float32), "n": 700}),
    Bug(
        wrong_stride,
        "out-of-bounds",
        (8,),
        lambda: {"x": _numbers(8 * 64), "out": np.zeros(512, np.float32), "stride": 64},
    ),
    Bug(misaligned, "misaligned", (1,), lambda: {"x": _numbers(520), "out": np.zeros(512, np.float32), "offset": 2}),
    Bug(nan_source, "nan", (1,), lambda: {"x": _numbers(128), "out": np.zeros(128, np.float32)}, {"nan": True}),
    Bug(
        divergent_barrier,
        "barrier-divergence",
        (1,),
        lambda: {"x": _numbers(128, np.int32), "out": np.zeros(128, np.int32)},
    ),
]
ORDERED = Bug(atomic_order, "diff", (16,), lambda: {"counter": np.zeros(1, np.int32), "out": np.zeros(16, np.int32)})


@dataclass(frozen=True)
class Cut:
    """A case of the corpus and an edit of its PTX that a person would make by mistake in CUDA."""

    name: str
    case: str
    edit: Callable[[str], str]
    found_by: str


def _without(instruction: str) -> Callable[[str], str]:
    def edit(ptx: str) -> str:
        lines = [line for line in ptx.splitlines(keepends=True) if not line.strip().startswith(instruction)]
        assert len(lines) < len(ptx.splitlines()), f"no {instruction} to cut"
        return "".join(lines)

    return edit


CUT = [
    Cut("missing_barrier", "softmax", _without("bar.sync"), "shared-race"),
    Cut("uninitialised_shared", "reduce", _without("@%p1 st.shared"), "uninitialised-shared"),
    Cut("stale_stage", "matmul", _without("cp.async.wait_group"), "stale-async-copy"),
]
assert all(cut.case in CASES for cut in CUT)
