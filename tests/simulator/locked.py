"""Kernels whose blocks wait for each other: locks, semaphores of split-K, counters of the last block, look-back scans.

As in ``patterns``: ``BUG`` 0 is right, every other number is a mistake in the line that says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from patterns import RACE, Pattern, floats, whole

# Warps enough that each element is one thread's: Triton lets further warps load the same elements, whose values nobody uses.


@triton.jit
def locked_sum(x, out, lock, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    """The gradient of a layer norm's weights: blocks add to one row under a lock, as Triton's tutorial does."""
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    if BUG != 1:
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
    if BUG == 2:
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)
    total = tl.load(out + at, mask=at < n, other=0.0)  # BUG 2
    tl.store(out + at, total + v, mask=at < n)  # BUG 1
    tl.debug_barrier()
    if BUG == 0:
        tl.atomic_xchg(lock, 0)


@triton.jit
def turns(x, out, turn, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    """Split-K with a semaphore: the parts of a product add to it one after the other, in a fixed order."""
    part = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + part * n + at, mask=at < n, other=0.0)
    if BUG != 1:
        while tl.atomic_add(turn, 0) != part:
            pass
    before = tl.load(out + at, mask=(at < n) & (part > 0), other=0.0)
    tl.store(out + at, before + v, mask=at < n)  # BUG 1
    tl.debug_barrier()
    tl.atomic_xchg(turn, part + 1)


@triton.jit
def last_block(x, partial, count, out, n, PARTS: tl.constexpr, BLOCK: tl.constexpr, BUG: tl.constexpr):
    """Each block leaves a sum; whoever is the last to count adds them up."""
    part = tl.program_id(0)
    at = part * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + part, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))  # BUG 1
    tl.debug_barrier()
    ticket = tl.atomic_add(count, 1)
    if ticket == (0 if BUG == 1 else PARTS - 1):
        all = tl.load(partial + tl.arange(0, PARTS))  # BUG 1
        tl.store(out, tl.sum(all))


@triton.jit
def look_back(x, sums, flags, out, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    """A scan in one pass: each block waits for the sum up to the block before it, and hands on its own."""
    part = tl.program_id(0)
    at = part * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    before = 0
    if part > 0:
        if BUG != 1:
            while tl.atomic_add(flags + part - 1, 0) == 0:
                pass
        before = tl.load(sums + part - 1)  # BUG 1, 2
    if BUG == 2:
        tl.atomic_xchg(flags + part, 1)
    tl.store(sums + part, before + tl.sum(v))  # BUG 1, 2
    tl.debug_barrier()
    if BUG != 2:
        tl.atomic_xchg(flags + part, 1)
    tl.store(out + at, before + tl.cumsum(v, 0), mask=at < n)


@triton.jit
def stream_k(x, partial, flags, out, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    """Two blocks share a tile: the second leaves its part, the first waits for it and adds it."""
    tile, half = tl.program_id(0) // 2, tl.program_id(0) % 2
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    if half == 0:
        tl.store(partial + tile * n + at, v, mask=at < n)
        tl.debug_barrier()
        tl.atomic_xchg(flags + tile, 1)
    else:
        if BUG != 1:
            while tl.atomic_cas(flags + tile, 1, 2) == 0:
                pass
        other = tl.load(partial + (tile + (1 if BUG == 2 else 0)) * n + at, mask=at < n, other=0.0)  # BUG 1, 2
        tl.store(out + tile * n + at, v + other, mask=at < n)


@triton.jit
def queued(x, out, ticket, tiles, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    """Persistent blocks begin with a tile of their own and draw others from a counter."""
    at = tl.arange(0, BLOCK)
    tile = tl.program_id(0)
    while tile < tiles + (1 if BUG == 1 else 0):
        v = tl.load(x + tile * n + at, mask=at < n, other=0.0)  # BUG 1
        to = 0 if BUG == 2 else tile
        tl.store(out + to * n + at, v * 2, mask=at < n)  # BUG 2
        tile = tl.num_programs(0) + tl.atomic_add(ticket, 1)


@triton.jit
def guarded(x, count, out, lock, MOST: tl.constexpr, BUG: tl.constexpr):
    """A list that blocks append to under a lock; its length is an ordinary variable."""
    v = tl.load(x + tl.program_id(0))
    if v > 0:
        if BUG != 1:
            while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
                pass
        place = tl.load(count)
        if place < MOST or BUG == 2:
            tl.store(out + place, v)  # BUG 2
            tl.store(count, place + 1)  # BUG 1
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0, sem="release")


def _locked(blocks: int, n: int) -> Any:
    return (blocks,), lambda r: {
        "x": floats(r, blocks, n), "out": np.zeros(n, np.float32), "lock": np.zeros(1, np.int32), "n": n,
        "BLOCK": triton.next_power_of_2(n), "num_warps": max(1, triton.next_power_of_2(n) // 32),
    }  # fmt: skip


def _turns(blocks: int, n: int) -> Any:
    return (blocks,), lambda r: {
        "x": floats(r, blocks, n), "out": np.zeros(n, np.float32), "turn": np.zeros(1, np.int32), "n": n,
        "BLOCK": triton.next_power_of_2(n), "num_warps": max(1, triton.next_power_of_2(n) // 32),
    }  # fmt: skip


def _last(parts: int, block: int) -> Any:
    return (parts,), lambda r: {
        "x": floats(r, parts * block), "partial": np.zeros(parts, np.float32), "count": np.zeros(1, np.int32),
        "out": np.zeros(1, np.float32), "n": parts * block - 3, "PARTS": parts, "BLOCK": block,
    }  # fmt: skip


def _look_back(blocks: int, block: int) -> Any:
    return (blocks,), lambda r: {
        "x": whole(r, 9, blocks * block), "sums": np.zeros(blocks, np.int32), "flags": np.zeros(blocks, np.int32),
        "out": np.zeros(blocks * block, np.int32), "n": blocks * block - 5, "BLOCK": block,
    }  # fmt: skip


def _stream(tiles: int, n: int) -> Any:
    return (2 * tiles,), lambda r: {
        "x": floats(r, 2 * tiles, n), "partial": np.zeros((tiles, n), np.float32), "flags": np.zeros(tiles, np.int32),
        "out": np.zeros((tiles, n), np.float32), "n": n, "BLOCK": triton.next_power_of_2(n),
        "num_warps": max(1, triton.next_power_of_2(n) // 32),
    }  # fmt: skip


def _queued(blocks: int, tiles: int, n: int) -> Any:
    return (blocks,), lambda r: {
        "x": floats(r, tiles, n), "out": np.zeros((tiles, n), np.float32), "ticket": np.zeros(1, np.int32), "tiles": tiles,
        "n": n, "BLOCK": triton.next_power_of_2(n), "num_warps": max(1, triton.next_power_of_2(n) // 32),
    }  # fmt: skip


def _guarded(blocks: int, most: int) -> Any:
    return (blocks,), lambda r: {
        "x": np.r_[np.ones(most + 1), floats(r, blocks - most - 1)].astype(np.float32), "count": np.zeros(1, np.int32),
        "out": np.zeros(most, np.float32), "lock": np.zeros(1, np.int32), "MOST": most, "num_warps": 1,
    }  # fmt: skip


OUT = "out-of-bounds"
LOCKED = (
    Pattern(locked_sum, (_locked(6, 100), _locked(3, 33), _locked(9, 64)), {1: RACE, 2: RACE}),
    Pattern(turns, (_turns(5, 100), _turns(3, 40), _turns(8, 16)), {1: RACE}),
    Pattern(last_block, (_last(8, 64), _last(4, 128), _last(16, 32)), {1: RACE}),
    Pattern(look_back, (_look_back(6, 64), _look_back(3, 128), _look_back(9, 32)), {1: RACE, 2: RACE}),
    Pattern(stream_k, (_stream(4, 50), _stream(2, 64), _stream(3, 17)), {1: RACE, 2: OUT}),
    Pattern(queued, (_queued(4, 11, 50), _queued(2, 7, 64), _queued(8, 5, 33)), {1: OUT, 2: RACE}),
    Pattern(guarded, (_guarded(12, 4), _guarded(9, 2), _guarded(20, 7)), {1: RACE, 2: OUT}),
)
