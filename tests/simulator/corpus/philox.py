"""Philox 4x32-10 (Salmon et al., SC 2011) on NumPy arrays: what ``tl.rand`` and its relatives compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_LOW = np.uint64(0xFFFFFFFF)


def philox(seed: int, offsets: NDArray[Any], rounds: int = 10) -> list[NDArray[np.uint32]]:
    """Four words a counter; the counter is the offset, the key the 64-bit seed."""
    counter = [offsets.astype(np.uint64) & _LOW] + [np.zeros(offsets.shape, np.uint64)] * 3
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(rounds):
        left, right = counter[0] * _MULTIPLIERS[0], counter[2] * _MULTIPLIERS[1]
        counter = [
            (right >> np.uint64(32)) ^ counter[1] ^ key[0],
            right & _LOW,
            (left >> np.uint64(32)) ^ counter[3] ^ key[1],
            left & _LOW,
        ]
        key = [(k + w) & _LOW for k, w in zip(key, _WEYL, strict=True)]
    return [c.astype(np.uint32) for c in counter]


def uniform(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Numbers in [0, 1) as Triton makes them: the word as a signed number, its mirror image if negative, times 2^-31."""
    signed = words.view(np.int32)
    positive = np.where(signed < 0, -signed - 1, signed)
    return positive.astype(np.float32) * np.float32(4.6566127342e-10)


def normal(words: list[NDArray[np.uint32]]) -> NDArray[np.float32]:
    """Normal numbers of the first two words by Box and Muller's transform."""
    first = np.maximum(uniform(words[0]).astype(np.float64), 1e-7)
    angle = 2 * np.pi * uniform(words[1]).astype(np.float64)
    return (np.sqrt(-2 * np.log(first)) * np.cos(angle)).astype(np.float32)
