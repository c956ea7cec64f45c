"""Kernels whose equal runs differ: by tickets, locks, compaction, atomics; and four gross bugs of each.

Written on 2026-11-27 before the rules that judge them were measured with it. ``run_noisy.py`` records them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


@dataclass(frozen=True)
class Noisy:
    """A kernel whose equal runs differ.

    Attributes
    ----------
    name
        What makes them differ.
    source
        The kernel, of the name ``kernel``.
    arguments
        Makes its arguments of random numbers.
    blocks
        How many blocks it runs.
    bugs
        What is replaced by what in each of its bugs, by name.
    options
        Constants and options of the launch.
    """

    name: str
    source: str
    arguments: Callable[[np.random.Generator], dict[str, Any]]
    blocks: int
    bugs: dict[str, tuple[str, str]]
    options: dict[str, int]

    def text(self, bug: str | None) -> str:
        """The module with a bug, or without."""
        source = HEAD + self.source
        if bug is None:
            return source
        old, new = self.bugs[bug]
        if source.count(old) != 1:
            raise ValueError(f"{self.name}: {old!r} stands {source.count(old)} times")
        return source.replace(old, new)


def floats(r: np.random.Generator, *shape: int) -> np.ndarray:
    """Floats of several magnitudes."""
    return (r.standard_normal(shape) * 10.0 ** r.integers(-1, 3, shape)).astype(np.float32)


KERNELS = [
    Noisy(
        "ticket",
        '''def kernel(x, out, counter, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * BLOCK + at
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    value = value * 0.5 + 1.0
    ticket = tl.atomic_add(counter, 1)
    tl.store(out + ticket * BLOCK + at, value)
''',
        lambda r: {"x": floats(r, 1000), "out": np.zeros(1024, np.float32), "counter": np.zeros(1, np.int32), "n": 1000},
        8,
        {
            "nan": ("at, value)", 'at, value * float("nan"))'),
            "twice": ("value * 0.5 + 1.0", "value + 2.0"),
            "mask": ("mask=offsets < n, other=0.0", "mask=offsets < n - 200, other=0.0"),
            "sign": ("value * 0.5 + 1.0", "1.0 - value * 0.5"),
        },
        {"BLOCK": 128},
    ),
    Noisy(
        "rows of half precision",
        '''def kernel(x, out, counter, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    value = tl.load(x + row * BLOCK + at).to(tl.float32)
    scale = tl.max(tl.abs(value), axis=0)
    ticket = tl.atomic_add(counter, 1)
    tl.store(out + ticket * BLOCK + at, (value / scale).to(tl.float16))
''',
        lambda r: {
            "x": floats(r, 12, 64).astype(np.float16), "out": np.zeros((12, 64), np.float16), "counter": np.zeros(1, np.int32),
        },
        12,
        {
            "twice": ("value / scale", "value / scale * 2"),
            "no scale": ("value / scale", "value"),
            "sum for max": ("tl.max(tl.abs(value), axis=0)", "tl.sum(tl.abs(value), axis=0)"),
            "same row": ("x + row * BLOCK", "x + 0 * BLOCK"),
        },
        {"BLOCK": 64},
    ),
    Noisy(
        "sum under a lock",
        '''def kernel(x, out, lock, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    total = tl.load(out + at, mask=at < n, other=0.0)
    tl.store(out + at, total + value, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
''',
        lambda r: {"x": floats(r, 8, 60), "out": np.zeros(60, np.float32), "lock": np.zeros(1, np.int32), "n": 60},
        8,
        {
            "nan": ("total + value", 'total + value * float("nan")'),
            "half more": ("total + value", "total + value * 1.5"),
            "difference": ("total + value", "total - value"),
            "one row": ("x + tl.program_id(0) * n", "x + 0 * n"),
        },
        {"BLOCK": 64},
    ),
    Noisy(
        "dot products under a lock",
        '''def kernel(x, w, out, lock, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    part = tl.program_id(0) * BLOCK + at
    a = tl.load(x + part, mask=part < n, other=0.0)
    b = tl.load(w + part, mask=part < n, other=0.0)
    dot = tl.sum(a * b, axis=0)
    norm = tl.sum(b * b, axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + dot)
    tl.store(out + 1, tl.load(out + 1) + norm)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
''',
        lambda r: {
            "x": floats(r, 900), "w": floats(r, 900), "out": np.zeros(2, np.float32), "lock": np.zeros(1, np.int32), "n": 900,
        },
        8,
        {
            "nan": ("+ norm)", '+ norm * float("nan"))'),
            "twice": ("a * b, axis=0", "2.0 * a * b, axis=0"),
            "mask": ("a = tl.load(x + part, mask=part < n,", "a = tl.load(x + part, mask=part < n // 2,"),
            "other norm": ("b * b, axis=0", "a * a, axis=0"),
        },
        {"BLOCK": 128},
    ),
    Noisy(
        "compaction",
        '''def kernel(x, values, indices, counter, n, threshold, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    keep = (value > threshold) & (offsets < n)
    rank = tl.cumsum(keep.to(tl.int32), axis=0) - 1
    base = tl.atomic_add(counter, tl.sum(keep.to(tl.int32), axis=0))
    tl.store(values + base + rank, value, mask=keep)
    tl.store(indices + base + rank, offsets, mask=keep)
''',
        lambda r: {
            "x": floats(r, 1000), "values": np.zeros(1024, np.float32), "indices": np.zeros(1024, np.int32),
            "counter": np.zeros(1, np.int32), "n": 1000, "threshold": 0.25,
        },
        8,
        {
            "nan": ("base + rank, value,", 'base + rank, value / (value - value),'),
            "local indices": ("base + rank, offsets,", "base + rank, tl.arange(0, BLOCK),"),
            "squares": ("base + rank, value,", "base + rank, value * value,"),
            "all": ("value > threshold", "value > threshold - 1000.0"),
        },
        {"BLOCK": 128},
    ),
    Noisy(
        "scatter of floats",
        '''def kernel(x, index, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    to = tl.load(index + offsets, mask=offsets < n, other=0)
    tl.atomic_add(out + to, value, mask=offsets < n)
''',
        lambda r: {
            "x": floats(r, 1000), "index": r.integers(0, 40, 1000).astype(np.int32), "out": np.zeros(40, np.float32), "n": 1000,
        },
        8,
        {
            "nan": ("out + to, value,", 'out + to, value * float("inf") * 0.0,'),
            "twice": ("out + to, value,", "out + to, value + value,"),
            "wrong place": ("out + to, value,", "out + (to + 1) % 40, value,"),
            "mask": ("value, mask=offsets < n)", "value, mask=offsets < n - 300)"),
        },
        {"BLOCK": 128},
    ),
    Noisy(
        "permutation to experts",
        '''def kernel(x, expert, counts, out, slots, CAPACITY: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    e = tl.load(expert + token)
    slot = e * CAPACITY + tl.atomic_add(counts + e, 1)
    value = tl.load(x + token * BLOCK + at)
    tl.store(out + slot * BLOCK + at, value * 2.0)
    tl.store(slots + token, slot)
''',
        lambda r: {
            "x": floats(r, 24, 32), "expert": r.integers(0, 3, 24).astype(np.int32), "counts": np.zeros(3, np.int32),
            "out": np.zeros((72, 32), np.float32), "slots": np.zeros(24, np.int32),
        },
        24,
        {
            "nan": ("value * 2.0", 'value * float("nan")'),
            "one token": ("x + token * BLOCK", "x + 0 * token * BLOCK"),
            "no scale": ("value * 2.0", "value"),
            "shifted": ("x + token * BLOCK + at)", "x + token * BLOCK + at // 2)"),
        },
        {"CAPACITY": 24, "BLOCK": 32},
    ),
    Noisy(
        "queue of tasks with atomics",
        '''def kernel(x, out, queue, total, tasks, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    task = tl.atomic_add(queue, 1)
    while task < tasks:
        value = tl.load(x + task * BLOCK + at)
        value = value * 3.0
        tl.store(out + task * BLOCK + at, value)
        tl.atomic_add(total, tl.sum(value, axis=0))
        task = tl.atomic_add(queue, 1)
''',
        lambda r: {
            "x": floats(r, 20, 32), "out": np.zeros((20, 32), np.float32), "queue": np.zeros(1, np.int32),
            "total": np.zeros(1, np.float32), "tasks": 20,
        },
        6,
        {
            "nan": ("value = value * 3.0", 'value = value * float("nan")'),
            "twice": ("value = value * 3.0", "value = value * 6.0"),
            "last task": ("while task < tasks:", "while task < tasks - 2:"),
            "total alone": ("tl.sum(value, axis=0)", "tl.sum(value * 1.25, axis=0)"),
        },
        {"BLOCK": 32},
    ),
    Noisy(
        "old values of an atomic",
        '''def kernel(x, total, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * BLOCK + at
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    mine = tl.sum(value, axis=0)
    before = tl.atomic_add(total, mine)
    tl.store(out + offsets, value + before * 1e-3, mask=offsets < n)
''',
        lambda r: {"x": floats(r, 1000), "total": np.zeros(1, np.float32), "out": np.zeros(1024, np.float32), "n": 1000},
        8,
        {
            "nan": ("value + before * 1e-3", 'value + before * float("nan")'),
            "twice": ("value + before * 1e-3", "value * 2.0 + before * 1e-3"),
            "operand": ("total, mine)", "total, mine * 2.0)"),
            "zero": ("value + before * 1e-3", "value * 0.0 + before * 1e-3"),
        },
        {"BLOCK": 128},
    ),
    Noisy(
        "histogram and ranks",
        '''def kernel(x, bins, counts, ranks, seen, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    which = tl.load(bins + offsets, mask=offsets < n, other=0)
    rank = tl.atomic_add(counts + which, 1, mask=offsets < n)
    tl.store(ranks + offsets, rank, mask=offsets < n)
    tl.store(seen + which * 64 + rank, tl.exp(-value * value), mask=offsets < n)
''',
        lambda r: {
            "x": r.standard_normal(200).astype(np.float32), "bins": r.integers(0, 8, 200).astype(np.int32),
            "counts": np.zeros(8, np.int32), "ranks": np.zeros(256, np.int32), "seen": np.zeros(8 * 64, np.float32), "n": 200,
        },
        4,
        {
            "nan": ("tl.exp(-value * value)", "tl.log(-value * value - 1.0)"),
            "twice": ("tl.exp(-value * value)", "tl.exp(-value * value) * 2.0"),
            "other function": ("tl.exp(-value * value)", "tl.exp(value)"),
            "mask": ("tl.exp(-value * value), mask=offsets < n)", "tl.exp(-value * value), mask=offsets < n - 60)"),
        },
        {"BLOCK": 64},
    ),
]  # fmt: skip
