"""Fifty commits that tidy and break: a refactoring that leaves every bit as it was, and with it one statement that is wrong.

Forty are the refactorings of this folder with one piece of text of the form after the change exchanged; of every second one
all variables have other names, too. Ten are kernels of this file, with several statements rewritten. They were written before
anything that tests statements was, and are not changed to fit what it says.
"""
# ruff: noqa: N803, F821, F841

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By refactoring: what stands in the form after it, and what the commit makes of that.
BREAKS: dict[str, tuple[str, str]] = {
    "renamed_variables": ("value * value + value", "value * value - value"),
    "reordered_statements": ("other=1.0", "other=0.0"),
    "hoisted_expression": ("range(0, n, BLOCK)", "range(0, n - BLOCK, BLOCK)"),
    "split_loop": ("range(n // 2, n)", "range(n // 2 + 1, n)"),
    "turned_comparison": ("other=0.0) + 1", "other=0.0) + 2"),
    "negated_mask": ("~(at >= n)", "~(at > n)"),
    "extracted_helper": ("value * 2", "value * 2.5"),
    "inlined_variable": ("tl.exp(", "tl.exp2("),
    "swapped_factors": ("b = tl.load(y + at", "b = tl.load(x + at"),
    "doubled_by_addition": ("value + value", "value + 1.0"),
    "relu_by_maximum": ("tl.load(x + at, mask=at < n,", "tl.load(x + at, mask=at < n - 40,"),
    "unrolled_loop": ("step * BLOCK + col", "step * (BLOCK // 2) + col"),
    "maximum_backwards": ("-1e30", "1.5"),
    "advanced_pointer": ("source += BLOCK", "source += BLOCK - 1"),
    "broadcast_late": ("value + shift", "value - shift"),
    "wide_offsets": ("other=0.0) * 3", "other=0.0) * 3.5"),
    "early_return": ("other=0.0) * 3", "other=0.0) * 3 + 1"),
    "guarded_block": ("* BLOCK <= n:", "* BLOCK <= n + 100:"),
    "ceiling_by_hand": ("at = step * BLOCK + col", "at = step * BLOCK + col + 1"),
    "filled_afterwards": ("weight / tl.sum(weight, 0)", "weight / tl.max(weight, 0)"),
    "zeroed_first": ("other=0.0) - 1", "other=0.0) - 1.5"),
    "stored_in_halves": ("at % 2 == 1", "at % 4 == 1"),
    "swapped_nest": ("(i * COLS + j)", "(i * ROWS + j)"),
    "shifted_for_divided": ("tl.load(x + group, mask=at < n,", "tl.load(x + group, mask=at < n - 8,"),
    "masked_for_modulo": ("at & 15", "at & 7"),
    "flat_maximum": ("tl.store(out, top)", "tl.store(out, top + 1)"),
    "transposed_load": ("row[None, :], value)", "row[None, :], value * 2)"),
    "commented": ("value * 0.25", "value * 0.2"),
    "hinted_offsets": ("first + tl.arange(0, BLOCK)", "first + tl.arange(0, BLOCK) // 2"),
    "de_morgan": ("(col >= m)", "(col > m)"),
    "late_conversion": ("value * 2", "value * value"),
    "split_program_id": ("tl.load(x + at) + 2", "tl.load(x + at) + 2.5"),
    "while_for_range": ("while step < n:", "while step < n - 1:"),
    "parted_loop": ("tl.maximum(high, tl.load(x + step * BLOCK + col))", "tl.maximum(high, tl.load(x + step * BLOCK))"),
    "loaded_again": ("value - top", "top - value"),
    "turned_branches": ("tl.program_id(0) >= n", "tl.program_id(0) > n"),
    "selected_for_branch": ("value * 2, value)", "value, value * 2)"),
    "peeled_tail": ("mask=last < n,", "mask=last < n - 1,"),
    "counted_in_pairs": ("mask=at < n, other=0)", "mask=at < n - 30, other=0)"),
    "prefetched": ("value * value", "value * ahead"),
}


@triton.jit
def softmax_rows(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)  # WAS
    col = tl.arange(0, BLOCK)  # WAS
    value = tl.load(x + row * stride + col, mask=col < n, other=-float("inf"))  # WAS
    value = value - tl.max(value, 0)  # WAS
    weight = tl.exp(value)  # WAS
    tl.store(out + row * stride + col, weight / tl.sum(weight, 0), mask=col < n)  # WAS
    # NOW: first = tl.program_id(0).to(tl.int64) * stride
    # NOW: cols = tl.arange(0, BLOCK)
    # NOW: keep = cols < n
    # NOW: value = tl.load(x + first + cols, mask=keep, other=-float("inf"))
    # NOW: top = tl.max(value, 0)
    weight = tl.exp(value * 1.125 - top)  # BUG
    # NOW: total = tl.sum(weight, 0)
    # NOW: tl.store(out + first + cols, weight / total, mask=keep)


@triton.jit
def rms_rows(x, w, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
    weight = tl.load(w + col, mask=col < n, other=0.0)  # WAS
    mean = tl.sum(value * value, 0) / n  # WAS
    tl.store(out + row * n + col, value * tl.rsqrt(mean + eps) * weight, mask=col < n)  # WAS
    # NOW: keep = col < n
    # NOW: source = x + row * n
    # NOW: value = tl.load(source + col, mask=keep, other=0.0)
    # NOW: weight = tl.load(w + col, mask=keep, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value, 0) / BLOCK + eps)  # BUG
    # NOW: tl.store(out + row * n + col, value * scale * weight, mask=keep)


@triton.jit
def layer_rows(x, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)  # WAS
    # NOW: begin = tl.program_id(0) * n
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
    # NOW: live = col < n
    # NOW: value = tl.load(x + begin + col, mask=live, other=0.0)
    mean = tl.sum(value, 0) / n
    centred = tl.where(col < n, value - mean, 0.0)  # WAS
    variance = tl.sum(centred * centred, 0) / n  # WAS
    tl.store(out + row * n + col, centred / tl.sqrt(variance + eps), mask=col < n)  # WAS
    centred = value - mean  # BUG
    # NOW: variance = tl.sum(centred * centred, 0) / n
    # NOW: spread = tl.sqrt(variance + eps)
    # NOW: tl.store(out + begin + col, centred / spread, mask=live)


# fmt: off
@triton.jit
def tile_product(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for step in range(0, K, BK):  # WAS
        k = step + tl.arange(0, BK)  # WAS
        left = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)  # WAS
        right = tl.load(b + k[:, None] * BN + n[None, :], mask=k[:, None] < K, other=0.0)  # WAS
        total += tl.dot(left, right)  # WAS
    # NOW: steps = tl.cdiv(K, BK)
    # NOW: for step in range(0, steps):
    # NOW:     k = step * BK + tl.arange(0, BK)
    # NOW:     live = k < K
    # NOW:     left = tl.load(a + m[:, None] * K + k[None, :], mask=live[None, :], other=0.0)
        right = tl.load(b + k[:, None] * BN + n[None, :], mask=(k < K - 1)[:, None], other=0.0)  # BUG
    # NOW:     total = tl.dot(left, right, total)
    tl.store(out + m[:, None] * BN + n[None, :], total)
# fmt: on


@triton.jit
def gelu_flat(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # WAS
    v = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    inner = 0.79788456 * (v + 0.044715 * v * v * v)  # WAS
    tl.store(out + at, 0.5 * v * (1 + (1 - 2 / (tl.exp(2 * inner) + 1))), mask=at < n)  # WAS
    # NOW: begin = tl.program_id(0) * BLOCK
    # NOW: offset = begin + tl.arange(0, BLOCK)
    # NOW: live = offset < n
    # NOW: v = tl.load(x + offset, mask=live, other=0.0)
    inner = 0.79788456 * (v + 0.044715 * v * v)  # BUG
    # NOW: tangent = 1 - 2 / (tl.exp(2 * inner) + 1)
    # NOW: tl.store(out + offset, 0.5 * v * (1 + tangent), mask=live)


@triton.jit
def entropy_rows(x, labels, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))  # WAS
    top = tl.max(value, 0)  # WAS
    total = tl.log(tl.sum(tl.exp(value - top), 0)) + top  # WAS
    label = tl.load(labels + row)
    tl.store(out + row, total - tl.load(x + row * n + label))  # WAS
    # NOW: logits = x + row * n
    # NOW: value = tl.load(logits + col, mask=col < n, other=-float("inf"))
    # NOW: top = tl.max(value, 0)
    # NOW: spread = tl.exp(value - top)
    # NOW: total = top + tl.log(tl.sum(spread, 0))
    chosen = tl.load(logits + label + 1)  # BUG
    # NOW: tl.store(out + row, total - chosen)


@triton.jit
def rotary_rows(x, cosines, sines, out, HALF: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    c = tl.load(cosines + row * HALF + at)
    s = tl.load(sines + row * HALF + at)
    low = tl.load(x + row * 2 * HALF + at)  # WAS
    high = tl.load(x + row * 2 * HALF + HALF + at)  # WAS
    tl.store(out + row * 2 * HALF + at, low * c - high * s)  # WAS
    tl.store(out + row * 2 * HALF + HALF + at, high * c + low * s)  # WAS
    # NOW: source = x + row * 2 * HALF
    # NOW: target = out + row * 2 * HALF
    # NOW: low = tl.load(source + at)
    # NOW: high = tl.load(source + HALF + at)
    # NOW: tl.store(target + at, low * c - high * s)
    tl.store(target + HALF + at, high * c - low * s)  # BUG


@triton.jit
def counted_labels(labels, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK  # WAS
    at = first + tl.arange(0, BLOCK)  # WAS
    label = tl.load(labels + at, mask=at < n, other=0)  # WAS
    tl.atomic_add(out + label, 1, mask=(at < n) & (label < BINS))  # WAS
    # NOW: at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # NOW: live = at < n
    # NOW: label = tl.load(labels + at, mask=live, other=0)
    # NOW: inside = label < BINS
    keep = inside | live  # BUG
    # NOW: tl.atomic_add(out + label, 1, mask=keep)


@triton.jit
def attention_row(q, keys, values, out, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    d = tl.arange(0, D)
    at = tl.arange(0, BLOCK)
    query = tl.load(q + d)
    top = -float("inf")
    norm = 0.0
    total = tl.zeros([D], tl.float32)
    for start in range(0, n, BLOCK):
        row = start + at
        k = tl.load(keys + row[:, None] * D + d[None, :], mask=row[:, None] < n, other=0.0)  # WAS
        score = tl.sum(k * query[None, :], 1) * scale  # WAS
        score = tl.where(row < n, score, -float("inf"))  # WAS
        # NOW: live = row < n
        # NOW: place = row[:, None] * D + d[None, :]
        # NOW: k = tl.load(keys + place, mask=live[:, None], other=0.0)
        # NOW: score = tl.where(live, tl.sum(k * query[None, :], 1) * scale, -float("inf"))
        new = tl.maximum(top, tl.max(score, 0))
        weight = tl.exp(score - new)
        decay = tl.exp(top - new)
        norm = norm * decay + tl.sum(weight, 0)  # WAS
        norm = norm + tl.sum(weight, 0)  # BUG
        v = tl.load(values + row[:, None] * D + d[None, :], mask=row[:, None] < n, other=0.0)  # WAS
        # NOW: v = tl.load(values + place, mask=live[:, None], other=0.0)
        total = total * decay + tl.sum(v * weight[:, None], 0)
        top = new
    tl.store(out + d, total / norm)


@triton.jit
def unpacked(packed, scales, out, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    byte = tl.load(packed + at // 2, mask=at < n, other=0)  # WAS
    code = (byte >> ((at % 2) * 4)) & 15  # WAS
    scale = tl.load(scales + at // GROUP, mask=at < n, other=0.0)  # WAS
    tl.store(out + at, (code - 8) * scale, mask=at < n)  # WAS
    # NOW: live = at < n
    # NOW: word = tl.load(packed + (at >> 1), mask=live, other=0)
    # NOW: shift = (at & 1) << 2
    # NOW: code = (word >> shift) & 15
    # NOW: scale = tl.load(scales + at // GROUP, mask=live, other=0.0)
    centred = code - 7  # BUG
    # NOW: tl.store(out + at, centred * scale, mask=live)


def _row(count: int = 100, rows: int = 4, **more: Any) -> Any:
    return lambda rng: {"x": floats(rng, rows, count), "out": zeros(rows, count), "n": count, "BLOCK": 128, **more}


CASES = [
    Case(softmax_rows, (4,), _row(stride=100)),
    Case(
        rms_rows,
        (4,),
        lambda rng: {
            "x": floats(rng, 4, 100), "w": floats(rng, 100), "out": zeros(4, 100), "n": 100, "eps": 1e-5, "BLOCK": 128,
        },
    ),
    Case(layer_rows, (4,), _row(eps=1e-5)),
    Case(
        tile_product,
        (1,),
        lambda rng: {
            "a": floats(rng, 16, 72, kind=np.float16), "b": floats(rng, 72, 16, kind=np.float16), "out": zeros(16, 16),
            "K": 72, "BM": 16, "BN": 16, "BK": 32,
        },
    ),
    Case(gelu_flat, (3,), lambda rng: {"x": floats(rng, 384), "out": zeros(384), "n": 300, "BLOCK": 128}),
    Case(
        entropy_rows,
        (4,),
        lambda rng: {
            "x": floats(rng, 4, 100), "labels": rng.integers(0, 90, 4).astype(np.int32), "out": zeros(4), "n": 100,
            "BLOCK": 128,
        },
    ),
    Case(
        rotary_rows,
        (4,),
        lambda rng: {
            "x": floats(rng, 4, 64), "cosines": floats(rng, 4, 32), "sines": floats(rng, 4, 32), "out": zeros(4, 64),
            "HALF": 32,
        },
    ),
    Case(
        counted_labels,
        (3,),
        lambda rng: {
            "labels": rng.integers(0, 24, 384).astype(np.int32), "out": zeros(32, kind=np.int32), "n": 300, "BINS": 16,
            "BLOCK": 128,
        },
    ),
    Case(
        attention_row,
        (1,),
        lambda rng: {
            "q": floats(rng, 32), "keys": floats(rng, 70, 32), "values": floats(rng, 70, 32), "out": zeros(32), "n": 70,
            "scale": 0.17, "D": 32, "BLOCK": 32,
        },
    ),
    Case(
        unpacked,
        (3,),
        lambda rng: {
            "packed": rng.integers(0, 256, 192).astype(np.int32), "scales": floats(rng, 12), "out": zeros(384), "n": 300,
            "GROUP": 32, "BLOCK": 128,
        },
    ),
]  # fmt: skip
