"""Seeded bugs: kernels with a constant ``BUG`` that is 0 in the right kernel and 1 in the wrong one, in one line marked so.

``CHECKED`` are found while they run, ``DIFFED`` by comparing the recordings of a right and a wrong run. Bugs that
Triton cannot express (a missing barrier, a stage that is read too early) are made in the PTX that it printed: ``CUT``.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
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
    source = offset + at
    if BUG:
        source = tl.max_contiguous(tl.multiple_of(source, 512), 512)  # it is not
    tl.store(out + at, tl.load(x + source))  # BUG


@triton.jit
def nan_source(x, out, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + at)
    root = tl.sqrt(v - 2 * BUG)  # BUG
    tl.store(out + at, root + 1)


SOME_MEET = tl.constexpr("{ .reg .pred few; setp.gt.s32 few, $1, 40; @few bar.sync 0; mov.u32 $0, $1; }")


@triton.jit
def divergent_barrier(x, out, BUG: tl.constexpr):
    at = tl.arange(0, 128)
    v = tl.load(x + at)
    if BUG:
        v = tl.inline_asm_elementwise(SOME_MEET, "=r,r", [v], dtype=tl.int32, is_pure=False, pack=1)  # BUG
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
    marks: tuple[str, ...]
    """What the source lines say between which the mistake is: where the data was written, and where it is read."""


@contextlib.contextmanager
def edited_ptx(edit: Callable[[str], str]) -> Iterator[None]:
    """Let kernels that are loaded in the block be edited first."""
    from prlx.hooks import simulator

    before = simulator._Utils.load_binary

    def load_binary(self, name, kernel, shared, device):
        return before(self, name, edit(kernel.decode()).encode(), shared, device)

    simulator._Utils.load_binary = load_binary
    try:
        yield
    finally:
        simulator._Utils.load_binary = before


def _without(instruction: str, *, first: bool = False) -> Callable[[str], str]:
    """Cut an instruction out everywhere, or where it stands first."""

    def edit(ptx: str) -> str:
        kept, cut = [], 0
        for line in ptx.splitlines(keepends=True):
            if line.strip().startswith(instruction) and not (first and cut):
                cut += 1
            else:
                kept.append(line)
        assert cut, f"no {instruction} to cut"
        return "".join(kept)

    return edit


CUT = [
    Cut("missing_barrier", "softmax", _without("bar.sync"), "shared-race", ("tl.max", "tl.sum")),
    Cut("uninitialised_shared", "reduce", _without("st.shared", first=True), "uninitialised-shared", ("tl.",)),
    Cut(
        "stale_stage", "matmul", _without("cp.async.wait_group"), "stale-async-copy", ("tl.load", "tl.dot", "tl.store")
    ),
]
assert all(cut.case in CASES for cut in CUT)
