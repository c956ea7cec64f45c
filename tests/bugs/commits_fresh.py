"""Twenty more commits that tidy and break, held out: written before anything that tests or ranks statements was read by their writer.

Each kernel has the shape of one that people run, and its commit rewrites three to six statements of it without a change of one
bit (``# WAS``, ``# NOW``); then one of those is broken as in FRESH, most of them as public reports tell: flagos-ai/FlagGems#4984
(`group_rows`), ROCm/aiter#4288 (`coded_rows`), hpcaitech/ColossalAI#6428 (`rotary_pair`), ByteDance-Seed/Triton-distributed#133
(`combined_experts`), sgl-project/sglang#38622 (`conv_update`), fla-org/flash-linear-attention#1150 (`reversed_sums`),
linkedin/Liger-Kernel#1268 (`smoothed_gradient`). They are not changed to fit what is said of them.
"""
# ruff: noqa: ARG001, E501, N803, RUF059

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
FRESH: dict[str, tuple[str, str]] = {
    "online_softmax": ("steps = tl.cdiv(n, BLOCK)", "steps = n // BLOCK"),
    "layer_gradient": ("shift = tl.sum(wg, 0) / n", "shift = tl.sum(g, 0) / n"),
    "grouped_product": ("out_dtype=tl.float32", "out_dtype=tl.float16"),
    "windowed_rows": ("distance < WINDOW", "distance <= WINDOW"),
    "linear_recurrence": ("state = b1 * a2 + b2", "state = b1 + a2 * b2"),
    "filled_bins": ("tl.minimum(place, BINS - 1)", "tl.minimum(place, BINS)"),
    "dropped_out": ("tl.rand(seed, at)", "tl.rand(seed, lane)"),
    "rotary_pair": ("q1 * c + q0 * s", "k1 * c + k0 * s"),
    "coded_rows": ("step = tl.maximum(peak, 1e-10) / 127.0", "step = peak / 127.0"),
    "combined_experts": ("gates + token * TOPK + choice", "gates + token + choice"),
    "conv_update": ("tail = length - WIDTH + 1", "tail = length - WIDTH"),
    "smoothed_gradient": ("share - (1.0 - smoothing)", "share - 1.0"),
    "largest_few": ("tl.where(col == best,", "tl.where(value == top,"),
    "group_rows": ("inside = lane < size", "inside = first + lane < channels"),
    "hashed_rows": (".to(tl.int64)", ".to(tl.int32)"),
    "reversed_sums": ("tl.cumsum(part, 0, reverse=True)", "tl.sum(part, 0) - tl.cumsum(part, 0) + part"),
    "jagged_means": ("/ count", "/ (steps * BLOCK)"),
    "adam_step": ("(1 - b2) * (g * g)", "(1 - b1) * (g * g)"),
    "added_rms": ("h = left.to(tl.float32) + right.to(tl.float32)", "h = (left + right).to(tl.float32)"),
    "turned_tiles": ("(col[:, None] < cols) & (row[None, :] < rows)", "(col[:, None] < rows) & (row[None, :] < cols)"),
}


# fmt: off
@triton.jit
def online_softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    # NOW: source = x + row * stride
    # NOW: steps = tl.cdiv(n, BLOCK)
    top = -float("inf")
    norm = 0.0
    for start in range(0, n, BLOCK):  # WAS
        col = start + lane  # WAS
        value = tl.load(x + row * stride + col, mask=col < n, other=-float("inf"))  # WAS
    # NOW: for step in range(0, steps):
    # NOW:     col = step * BLOCK + lane
    # NOW:     value = tl.load(source + col, mask=col < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(value, 0))
        norm = norm * tl.exp(top - new) + tl.sum(tl.exp(value - new), 0)
        top = new
    for start in range(0, n, BLOCK):
        col = start + lane
        value = tl.load(x + row * stride + col, mask=col < n, other=-float("inf"))  # WAS
        # NOW: value = tl.load(source + col, mask=col < n, other=-float("inf"))
        tl.store(out + row * stride + col, tl.exp(value - top) / norm, mask=col < n)
# fmt: on


@triton.jit
def layer_gradient(dy, x, w, mean, rstd, dx, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
    g = tl.load(dy + row * n + col, mask=col < n, other=0.0)  # WAS
    # NOW: live = col < n
    # NOW: at = row * n + col
    # NOW: a = tl.load(x + at, mask=live, other=0.0)
    # NOW: g = tl.load(dy + at, mask=live, other=0.0)
    weight = tl.load(w + col, mask=col < n, other=0.0)
    m = tl.load(mean + row)
    r = tl.load(rstd + row)
    hat = tl.where(col < n, (a - m) * r, 0.0)
    wg = weight * g
    slope = tl.sum(hat * wg, 0) / n
    tl.store(dx + row * n + col, (wg - (hat * slope + tl.sum(wg, 0) / n)) * r, mask=col < n)  # WAS
    # NOW: shift = tl.sum(wg, 0) / n
    # NOW: tl.store(dx + at, (wg - (hat * slope + shift)) * r, mask=live)


@triton.jit
def grouped_product(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows = tl.cdiv(M, BM)
    cols = tl.cdiv(N, BN)
    group = pid // (GROUP * cols)  # WAS
    height = tl.minimum(rows - group * GROUP, GROUP)  # WAS
    m = (group * GROUP + pid % height) * BM + tl.arange(0, BM)  # WAS
    n = (pid % (GROUP * cols)) // height * BN + tl.arange(0, BN)  # WAS
    # NOW: wide = GROUP * cols
    # NOW: first = pid // wide * GROUP
    # NOW: height = tl.minimum(rows - first, GROUP)
    # NOW: m = (first + pid % height) * BM + tl.arange(0, BM)
    # NOW: n = (pid % wide) // height * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total += tl.dot(left, right)  # WAS
        # NOW: part = tl.dot(left, right, out_dtype=tl.float32)
        # NOW: total = total + part
    tl.store(out + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def windowed_rows(q, keys, values, out, n, scale, D: tl.constexpr, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    at = tl.arange(0, BLOCK)
    query = tl.load(q + row * D + d)
    k = tl.load(keys + at[:, None] * D + d[None, :], mask=at[:, None] < n, other=0.0)  # WAS
    v = tl.load(values + at[:, None] * D + d[None, :], mask=at[:, None] < n, other=0.0)  # WAS
    score = tl.sum(k * query[None, :], 1) * scale  # WAS
    seen = (at < n) & (at <= row) & (row - at < WINDOW)  # WAS
    score = tl.where(seen, score, -float("inf"))  # WAS
    # NOW: place = at[:, None] * D + d[None, :]
    # NOW: known = at < n
    # NOW: k = tl.load(keys + place, mask=known[:, None], other=0.0)
    # NOW: v = tl.load(values + place, mask=known[:, None], other=0.0)
    # NOW: score = tl.sum(k * query[None, :], 1) * scale
    # NOW: distance = row - at
    # NOW: score = tl.where(known & (distance >= 0) & (distance < WINDOW), score, -float("inf"))
    weight = tl.exp(score - tl.max(score, 0))
    weight = weight / tl.sum(weight, 0)
    tl.store(out + row * D + d, tl.sum(weight[:, None] * v, 0))


@triton.jit
def _compose(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2  # WAS
    # NOW: gain = a1 * a2
    # NOW: state = b1 * a2 + b2
    # NOW: return gain, state


@triton.jit
def linear_recurrence(gates, x, out, n, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    gate = tl.load(gates + channel * n + t, mask=t < n, other=1.0)  # WAS
    value = tl.load(x + channel * n + t, mask=t < n, other=0.0)  # WAS
    # NOW: live = t < n
    # NOW: at = channel * n + t
    # NOW: gate = tl.load(gates + at, mask=live, other=1.0)
    # NOW: value = tl.load(x + at, mask=live, other=0.0)
    decay, state = tl.associative_scan((gate, value), 0, _compose)
    tl.store(out + channel * n + t, state, mask=t < n)


@triton.jit
def filled_bins(x, counts, n, low, scale, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    place = tl.minimum(tl.maximum(((value - low) * scale).to(tl.int32), 0), BINS - 1)  # WAS
    tl.atomic_add(counts + place, 1, mask=at < n)  # WAS
    # NOW: live = at < n
    # NOW: value = tl.load(x + at, mask=live, other=0.0)
    # NOW: place = ((value - low) * scale).to(tl.int32)
    # NOW: place = tl.maximum(place, 0)
    # NOW: place = tl.minimum(place, BINS - 1)
    # NOW: tl.atomic_add(counts + place, 1, mask=live)


@triton.jit
def dropped_out(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # WAS
    value = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    tl.store(out + at, tl.where(tl.rand(seed, at) > p, value / (1 - p), 0.0), mask=at < n)  # WAS
    # NOW: lane = tl.arange(0, BLOCK)
    # NOW: at = tl.program_id(0) * BLOCK + lane
    # NOW: live = at < n
    # NOW: value = tl.load(x + at, mask=live, other=0.0)
    # NOW: keep = tl.rand(seed, at) > p
    # NOW: tl.store(out + at, tl.where(keep, value / (1 - p), 0.0), mask=live)


@triton.jit
def rotary_pair(q, k, cosines, sines, q_out, k_out, HALF: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    c = tl.load(cosines + row * HALF + at)
    s = tl.load(sines + row * HALF + at)
    q0 = tl.load(q + row * 2 * HALF + at)  # WAS
    q1 = tl.load(q + row * 2 * HALF + HALF + at)  # WAS
    # NOW: low = row * 2 * HALF + at
    # NOW: high = low + HALF
    # NOW: q0 = tl.load(q + low)
    # NOW: q1 = tl.load(q + high)
    k0 = tl.load(k + row * 2 * HALF + at)
    k1 = tl.load(k + row * 2 * HALF + HALF + at)
    tl.store(q_out + row * 2 * HALF + at, q0 * c - q1 * s)
    tl.store(q_out + row * 2 * HALF + HALF + at, q1 * c + q0 * s)  # WAS
    tl.store(k_out + row * 2 * HALF + at, k0 * c - k1 * s)
    tl.store(k_out + row * 2 * HALF + HALF + at, k1 * c + k0 * s)  # WAS
    # NOW: turned = q1 * c + q0 * s
    # NOW: tl.store(q_out + high, turned)
    # NOW: tl.store(k_out + high, k1 * c + k0 * s)


@triton.jit
def coded_rows(x, codes, steps, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
    step = tl.maximum(tl.max(tl.abs(value), 0), 1e-10) / 127.0  # WAS
    tl.store(steps + row, step)  # WAS
    tl.store(codes + row * n + col, tl.floor(value / step + 0.5).to(tl.int8), mask=col < n)  # WAS
    # NOW: live = col < n
    # NOW: value = tl.load(x + row * n + col, mask=live, other=0.0)
    # NOW: peak = tl.max(tl.abs(value), 0)
    # NOW: step = tl.maximum(peak, 1e-10) / 127.0
    # NOW: tl.store(steps + row, step)
    # NOW: code = tl.floor(value / step + 0.5)
    # NOW: tl.store(codes + row * n + col, code.to(tl.int8), mask=live)


@triton.jit
def combined_experts(parts, gates, out, n, TOPK: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for choice in range(0, TOPK):
        slot = token * TOPK + choice  # WAS
        gate = tl.load(gates + slot)  # WAS
        total += gate * tl.load(parts + slot * n + col, mask=col < n, other=0.0)  # WAS
        # NOW: gate = tl.load(gates + token * TOPK + choice)
        # NOW: source = parts + (token * TOPK + choice) * n
        # NOW: part = tl.load(source + col, mask=col < n, other=0.0)
        # NOW: total += gate * part
    tl.store(out + token * n + col, total, mask=col < n)


@triton.jit
def conv_update(x, state, weights, out, channels, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = channel < channels
    total = tl.zeros([BLOCK], tl.float32)
    for tap in range(0, WIDTH - 1):
        past = tl.load(state + channel * length + length - WIDTH + 1 + tap, mask=live, other=0.0)  # WAS
        total += past * tl.load(weights + channel * WIDTH + tap, mask=live, other=0.0)  # WAS
        # NOW: tail = length - WIDTH + 1
        # NOW: past = tl.load(state + channel * length + (tail + tap), mask=live, other=0.0)
        # NOW: weight = tl.load(weights + channel * WIDTH + tap, mask=live, other=0.0)
        # NOW: total += past * weight
    new = tl.load(x + channel, mask=live, other=0.0)
    total += new * tl.load(weights + channel * WIDTH + WIDTH - 1, mask=live, other=0.0)
    tl.store(out + channel, total * tl.sigmoid(total), mask=live)  # WAS
    # NOW: gate = tl.sigmoid(total)
    # NOW: tl.store(out + channel, total * gate, mask=live)


@triton.jit
def smoothed_gradient(x, labels, dx, n, smoothing, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))  # WAS
    weight = tl.exp(value - tl.max(value, 0))  # WAS
    share = weight / tl.sum(weight, 0) - smoothing / n  # WAS
    share = tl.where(col == label, share - (1.0 - smoothing), share)  # WAS
    # NOW: logits = x + row * n
    # NOW: value = tl.load(logits + col, mask=col < n, other=-float("inf"))
    # NOW: top = tl.max(value, 0)
    # NOW: weight = tl.exp(value - top)
    # NOW: eps = smoothing / n
    # NOW: share = weight / tl.sum(weight, 0) - eps
    # NOW: chosen = share - (1.0 - smoothing)
    # NOW: share = tl.where(col == label, chosen, share)
    share = tl.where(label == ignored, 0.0, share)
    tl.store(dx + row * n + col, share, mask=col < n)


@triton.jit
def largest_few(x, tops, places, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=-float("inf"))
    for choice in range(0, COUNT):
        best = tl.argmax(value, 0)  # WAS
        tl.store(tops + row * COUNT + choice, tl.max(value, 0))  # WAS
        tl.store(places + row * COUNT + choice, best)  # WAS
        value = tl.where(col == best, -float("inf"), value)  # WAS
        # NOW: at = row * COUNT + choice
        # NOW: top = tl.max(value, 0)
        # NOW: best = tl.argmax(value, 0)
        # NOW: tl.store(tops + at, top)
        # NOW: tl.store(places + at, best)
        # NOW: value = tl.where(col == best, float("-inf"), value)


@triton.jit
def group_rows(x, out, channels, size, eps, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + group * size + lane, mask=lane < size, other=0.0)  # WAS
    mean = tl.sum(value, 0) / size  # WAS
    centred = tl.where(lane < size, value - mean, 0.0)  # WAS
    variance = tl.sum(centred * centred, 0) / size  # WAS
    tl.store(out + group * size + lane, centred * tl.rsqrt(variance + eps), mask=lane < size)  # WAS
    # NOW: first = group * size
    # NOW: inside = lane < size
    # NOW: value = tl.load(x + first + lane, mask=inside, other=0.0)
    # NOW: mean = tl.sum(value, 0) / size
    # NOW: centred = tl.where(inside, value - mean, 0.0)
    # NOW: variance = tl.sum(centred * centred, 0) / size
    # NOW: tl.store(out + first + lane, centred * tl.rsqrt(variance + eps), mask=inside)


@triton.jit
def hashed_rows(ids, table, out, rows, D: tl.constexpr):
    token = tl.program_id(0)
    d = tl.arange(0, D)
    slot = tl.load(ids + token).to(tl.int64) * 73856093 % rows  # WAS
    value = tl.load(table + slot * D + d)  # WAS
    tl.store(out + token * D + d, value)  # WAS
    # NOW: key = tl.load(ids + token).to(tl.int64)
    # NOW: slot = key * 73856093 % rows
    # NOW: source = table + slot * D
    # NOW: value = tl.load(source + d)
    # NOW: tl.store(out + token * D + d, value)


@triton.jit
def reversed_sums(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    carried = 0.0
    steps = tl.cdiv(n, BLOCK)
    for step in range(0, steps):
        at = (steps - 1 - step) * BLOCK + lane  # WAS
        part = tl.load(x + row * n + at, mask=at < n, other=0.0)  # WAS
        tl.store(out + row * n + at, tl.cumsum(part, 0, reverse=True) + carried, mask=at < n)  # WAS
        # NOW: block = steps - 1 - step
        # NOW: at = block * BLOCK + lane
        # NOW: live = at < n
        # NOW: part = tl.load(x + row * n + at, mask=live, other=0.0)
        # NOW: suffix = tl.cumsum(part, 0, reverse=True)
        # NOW: tl.store(out + row * n + at, suffix + carried, mask=live)
        carried += tl.sum(part, 0)


@triton.jit
def jagged_means(x, offsets, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    end = tl.load(offsets + row + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(begin, end, BLOCK):  # WAS
        at = start + tl.arange(0, BLOCK)  # WAS
        total += tl.load(x + at, mask=at < end, other=0.0)  # WAS
    tl.store(out + row, tl.sum(total, 0) / tl.maximum(end - begin, 1))  # WAS
    # NOW: count = tl.maximum(end - begin, 1)
    # NOW: steps = tl.cdiv(end - begin, BLOCK)
    # NOW: for step in range(0, steps):
    # NOW:     at = begin + step * BLOCK + tl.arange(0, BLOCK)
    # NOW:     total += tl.load(x + at, mask=at < end, other=0.0)
    # NOW: tl.store(out + row, tl.sum(total, 0) / count)


@triton.jit
def adam_step(param, grad, first, second, n, rate, b1, b2, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    g = tl.load(grad + at, mask=live, other=0.0)
    m = b1 * tl.load(first + at, mask=live, other=0.0) + (1 - b1) * g  # WAS
    v = b2 * tl.load(second + at, mask=live, other=0.0) + (1 - b2) * (g * g)  # WAS
    p = tl.load(param + at, mask=live, other=0.0)  # WAS
    tl.store(param + at, p - rate * m / (tl.sqrt(v) + eps), mask=live)  # WAS
    # NOW: m_old = tl.load(first + at, mask=live, other=0.0)
    # NOW: v_old = tl.load(second + at, mask=live, other=0.0)
    # NOW: m = b1 * m_old + (1 - b1) * g
    # NOW: v = b2 * v_old + (1 - b2) * (g * g)
    # NOW: p = tl.load(param + at, mask=live, other=0.0)
    # NOW: root = tl.sqrt(v) + eps
    # NOW: tl.store(param + at, p - rate * m / root, mask=live)
    tl.store(first + at, m, mask=live)
    tl.store(second + at, v, mask=live)


@triton.jit
def added_rms(x, residual, w, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    left = tl.load(x + row * n + col, mask=col < n, other=0.0)
    right = tl.load(residual + row * n + col, mask=col < n, other=0.0)
    weight = tl.load(w + col, mask=col < n, other=0.0)
    total = left.to(tl.float32) + right.to(tl.float32)  # WAS
    scale = tl.rsqrt(tl.sum(total * total, 0) / n + eps)  # WAS
    tl.store(out + row * n + col, total * scale * weight, mask=col < n)  # WAS
    # NOW: h = left.to(tl.float32) + right.to(tl.float32)
    # NOW: square = tl.sum(h * h, 0) / n
    # NOW: scale = tl.rsqrt(square + eps)
    # NOW: tl.store(out + row * n + col, h * scale * weight, mask=col < n)


@triton.jit
def turned_tiles(x, out, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (row[:, None] < rows) & (col[None, :] < cols)
    tile = tl.load(x + row[:, None] * cols + col[None, :], mask=inside, other=0.0)  # WAS
    at = row[None, :] + col[:, None] * rows  # WAS
    tl.store(out + at, tl.trans(tile), mask=(row[None, :] < rows) & (col[:, None] < cols))  # WAS
    # NOW: source = x + row[:, None] * cols + col[None, :]
    # NOW: tile = tl.load(source, mask=inside, other=0.0)
    # NOW: at = col[:, None] * rows + row[None, :]
    # NOW: keep = (col[:, None] < cols) & (row[None, :] < rows)
    # NOW: tl.store(out + at, tl.trans(tile), mask=keep)


def _halves(rng: np.random.Generator, *shape: int) -> Any:
    return floats(rng, *shape, kind=np.float16)


def _ties(rng: np.random.Generator, *shape: int) -> Any:
    """Numbers of which many are equal."""
    return rng.integers(0, 12, shape).astype(np.float32)


def _with_empty_row(rng: np.random.Generator, *shape: int) -> Any:
    value = floats(rng, *shape)
    value[1] = 0
    return value


CASES = [
    Case(online_softmax, (3,), lambda rng: {"x": floats(rng, 3, 150), "out": zeros(3, 150), "stride": 150, "n": 150, "BLOCK": 64}),
    Case(
        layer_gradient, (4,),
        lambda rng: {
            "dy": floats(rng, 4, 100), "x": floats(rng, 4, 100), "w": floats(rng, 100), "mean": floats(rng, 4),
            "rstd": abs(floats(rng, 4)), "dx": zeros(4, 100), "n": 100, "BLOCK": 128,
        },
    ),
    Case(
        grouped_product, (6,),
        lambda rng: {
            "a": _halves(rng, 40, 64), "b": _halves(rng, 64, 32), "out": zeros(40, 32), "M": 40, "N": 32, "K": 64, "BM": 16,
            "BN": 16, "BK": 32, "GROUP": 2,
        },
    ),
    Case(
        windowed_rows, (12,),
        lambda rng: {
            "q": floats(rng, 12, 16), "keys": floats(rng, 12, 16), "values": floats(rng, 12, 16), "out": zeros(12, 16), "n": 12,
            "scale": 0.25, "D": 16, "WINDOW": 4, "BLOCK": 16,
        },
    ),
    Case(
        linear_recurrence, (3,),
        lambda rng: {"gates": rng.random((3, 100), np.float32), "x": floats(rng, 3, 100), "out": zeros(3, 100), "n": 100, "BLOCK": 128},
    ),
    Case(
        filled_bins, (3,),
        lambda rng: {
            "x": rng.random(384, np.float32) * 1.2, "counts": zeros(16, kind=np.int32), "n": 300, "low": 0.0, "scale": 16.0, "BINS": 16,
            "BLOCK": 128,
        },
    ),
    Case(dropped_out, (3,), lambda rng: {"x": floats(rng, 384), "out": zeros(384), "n": 300, "p": 0.3, "seed": 11, "BLOCK": 128}),
    Case(
        rotary_pair, (4,),
        lambda rng: {
            "q": floats(rng, 4, 64), "k": floats(rng, 4, 64), "cosines": floats(rng, 4, 32), "sines": floats(rng, 4, 32),
            "q_out": zeros(4, 64), "k_out": zeros(4, 64), "HALF": 32,
        },
    ),
    Case(
        coded_rows, (3,),
        lambda rng: {"x": _with_empty_row(rng, 3, 100), "codes": zeros(3, 100, kind=np.int8), "steps": zeros(3), "n": 100, "BLOCK": 128},
    ),
    Case(
        combined_experts, (5,),
        lambda rng: {"parts": floats(rng, 10, 60), "gates": floats(rng, 10), "out": zeros(5, 60), "n": 60, "TOPK": 2, "BLOCK": 64},
    ),
    Case(
        conv_update, (2,),
        lambda rng: {
            "x": floats(rng, 100), "state": floats(rng, 100, 6), "weights": floats(rng, 100, 4), "out": zeros(100), "channels": 100,
            "length": 6, "WIDTH": 4, "BLOCK": 64,
        },
    ),
    Case(
        smoothed_gradient, (4,),
        lambda rng: {
            "x": floats(rng, 4, 100), "labels": np.array([3, -100, 70, 99], np.int32), "dx": zeros(4, 100), "n": 100, "smoothing": 0.1,
            "ignored": -100, "BLOCK": 128,
        },
    ),
    Case(
        largest_few, (3,),
        lambda rng: {
            "x": _ties(rng, 3, 100), "tops": zeros(3, 4), "places": zeros(3, 4, kind=np.int32), "n": 100, "COUNT": 4, "BLOCK": 128,
        },
    ),
    Case(
        group_rows, (4,),
        lambda rng: {"x": floats(rng, 4, 12), "out": zeros(4, 12), "channels": 48, "size": 12, "eps": 1e-5, "BLOCK": 16},
    ),
    Case(
        hashed_rows, (6,),
        lambda rng: {
            "ids": rng.integers(100, 50000, 6).astype(np.int32), "table": floats(rng, 50, 32), "out": zeros(6, 32), "rows": 50, "D": 32,
        },
    ),
    Case(reversed_sums, (2,), lambda rng: {"x": floats(rng, 2, 150), "out": zeros(2, 150), "n": 150, "BLOCK": 64}),
    Case(
        jagged_means, (4,),
        lambda rng: {"x": floats(rng, 250), "offsets": np.array([0, 70, 70, 101, 250], np.int32), "out": zeros(4), "BLOCK": 64},
    ),
    Case(
        adam_step, (2,),
        lambda rng: {
            "param": floats(rng, 256), "grad": floats(rng, 256), "first": floats(rng, 256), "second": abs(floats(rng, 256)), "n": 200,
            "rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "BLOCK": 128,
        },
    ),
    Case(
        added_rms, (3,),
        lambda rng: {
            "x": _halves(rng, 3, 100), "residual": _halves(rng, 3, 100), "w": floats(rng, 100), "out": zeros(3, 100), "n": 100,
            "eps": 1e-5, "BLOCK": 128,
        },
    ),
    Case(turned_tiles, (2, 2), lambda rng: {"x": floats(rng, 20, 28), "out": zeros(28, 20), "rows": 20, "cols": 28, "BM": 16, "BN": 16}),
]  # fmt: skip
