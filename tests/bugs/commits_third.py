"""Twenty more commits that tidy and break, held out: written by somebody who had read none of the rules that test or rank statements.

Each kernel has the shape of one that people run, and its commit rewrites three to six statements of it without a change of one
bit (``# WAS``, ``# NOW``); then one of those is broken as in THIRD, in ways that one meets in bug reports. They were committed before
anything was measured of them, measured once, and neither they nor a rule is changed to fit what was said.
"""
# ruff: noqa: ARG005, E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
THIRD: dict[str, tuple[str, str]] = {
    "rope_by_position": ("place = position * HALF", "place = position * 2 * HALF"),
    "swiglu_gradient": ("d_gate = grad * b", "d_gate = grad * a"),
    "rms_gradient": ("cube = rstd * rstd * rstd", "cube = rstd * rstd"),
    "paged_rows": ("live = pos < length", "live = pos <= length"),
    "nucleus": ("ahead = tl.cumsum(share, 0) - share", "ahead = tl.cumsum(share, 0)"),
    "coded_product": ("code = codes.to(tl.int32) - zero[None, :]", "code = codes - zero[None, :]"),
    "aligned_experts": ("tiles = (count + SIZE - 1) // SIZE", "tiles = (count + SIZE) // SIZE"),
    "causal_taps": ("taps + channel * WIDTH + (WIDTH - 1 - back)", "taps + channel * WIDTH + back"),
    "chunked_states": ("rest = tl.sum(v * tl.exp(total - sums), 0)", "rest = tl.sum(v * tl.exp(sums), 0)"),
    "entropy_ignored": ("share = 1.0 / tl.load(valid)", "share = 1.0 / tl.num_programs(0)"),
    "norm_partials": ("last = tl.minimum(first + ROWS, rows)", "last = tl.minimum(first + ROWS, rows - 1)"),
    "capped_scores": ("tl.sum(key * query[None, :], 1) * scale", "tl.sum(key * query[None, :], 1)"),
    "summed_bags": ("tl.sum(piece * gain[:, None], 0)", "tl.sum(piece * gain[:, None], 1)"),
    "affine_groups": ("channel = group * PER + at // spatial", "channel = at // spatial"),
    "nearest_centre": ('tl.where(k < count, norms - 2.0 * cross, float("inf"))', "norms - 2.0 * cross"),
    "scaled_blocks": ("peak = tl.max(tl.abs(v), 0)", "peak = tl.max(v, 0)"),
    "log_sums": ("tl.sum(tl.exp(v - high), 0)", "tl.sum(tl.exp(v), 0)"),
    "window_with_sinks": (
        "seen = ((key < sinks) | near) & (key <= query)",
        "seen = (key < sinks) | near & (key <= query)",
    ),
    "segment_tops": (
        'v = tl.load(x + at, mask=at < stop, other=-float("inf"))',
        "v = tl.load(x + at, mask=at < stop, other=0.0)",
    ),
    "decoupled_step": ("p = p * (1.0 - rate * decay)", "p = p * (1.0 - decay)"),
}


@triton.jit
def rope_by_position(x, positions, cosines, sines, out, heads, D: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    lane = tl.arange(0, HALF)
    position = tl.load(positions + token)
    cos = tl.load(cosines + position * HALF + lane)  # WAS
    sin = tl.load(sines + position * HALF + lane)  # WAS
    left = tl.load(x + (token * heads + head) * D + lane)  # WAS
    right = tl.load(x + (token * heads + head) * D + HALF + lane)  # WAS
    tl.store(out + (token * heads + head) * D + lane, left * cos - right * sin)  # WAS
    tl.store(out + (token * heads + head) * D + HALF + lane, right * cos + left * sin)  # WAS
    # NOW: place = position * HALF
    # NOW: cos = tl.load(cosines + place + lane)
    # NOW: sin = tl.load(sines + place + lane)
    # NOW: row = (token * heads + head) * D
    # NOW: left = tl.load(x + row + lane)
    # NOW: right = tl.load(x + row + HALF + lane)
    # NOW: tl.store(out + row + lane, cos * left - sin * right)
    # NOW: tl.store(out + row + HALF + lane, cos * right + sin * left)


@triton.jit
def _sigmoid(v):
    return 1.0 / (1.0 + tl.exp(-v))


@triton.jit
def swiglu_gradient(dy, gates, ups, d_gates, d_ups, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    grad = tl.load(dy + at, mask=keep, other=0.0)
    gate = tl.load(gates + at, mask=keep, other=0.0)  # WAS
    up = tl.load(ups + at, mask=keep, other=0.0)  # WAS
    s = _sigmoid(gate)  # WAS
    silu = gate * s  # WAS
    d_up = grad * silu  # WAS
    d_gate = grad * up * (s + silu * (1.0 - s))  # WAS
    # NOW: a = tl.load(gates + at, mask=keep, other=0.0)
    # NOW: b = tl.load(ups + at, mask=keep, other=0.0)
    # NOW: s = 1.0 / (1.0 + tl.exp(-a))
    # NOW: silu = s * a
    # NOW: d_up = silu * grad
    # NOW: d_gate = grad * b
    # NOW: d_gate = d_gate * (s + silu * (1.0 - s))
    tl.store(d_gates + at, d_gate, mask=keep)
    tl.store(d_ups + at, d_up, mask=keep)


@triton.jit
def rms_gradient(dy, x, w, rstds, dx, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + col, mask=col < n, other=0.0)  # WAS
    g = tl.load(dy + row * stride + col, mask=col < n, other=0.0)  # WAS
    weight = tl.load(w + col, mask=col < n, other=0.0)  # WAS
    # NOW: keep = col < n
    # NOW: at = row * stride + col
    # NOW: v = tl.load(x + at, mask=keep, other=0.0)
    # NOW: g = tl.load(dy + at, mask=keep, other=0.0)
    # NOW: weight = tl.load(w + col, mask=keep, other=0.0)
    rstd = tl.load(rstds + row)
    wg = g * weight
    inner = tl.sum(wg * v, 0) / n
    tl.store(dx + row * stride + col, wg * rstd - rstd * rstd * rstd * inner * v, mask=col < n)  # WAS
    # NOW: cube = rstd * rstd * rstd
    # NOW: slope = cube * inner
    # NOW: tl.store(dx + at, rstd * wg - slope * v, mask=keep)


@triton.jit
def paged_rows(
    q, keys, values, table, lengths, out, width, scale, PAGE: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr
):
    seq = tl.program_id(0)
    lane = tl.arange(0, D)
    pos = tl.arange(0, BLOCK)
    length = tl.load(lengths + seq)
    query = tl.load(q + seq * D + lane)
    page = tl.load(table + seq * width + pos // PAGE, mask=pos < length, other=0)  # WAS
    at = (page * PAGE + pos % PAGE)[:, None] * D + lane[None, :]  # WAS
    key = tl.load(keys + at, mask=(pos < length)[:, None], other=0.0)  # WAS
    score = tl.where(pos < length, tl.sum(key * query[None, :], 1) * scale, -float("inf"))  # WAS
    # NOW: live = pos < length
    # NOW: pages = table + seq * width
    # NOW: page = tl.load(pages + pos // PAGE, mask=live, other=0)
    # NOW: slot = page * PAGE + pos % PAGE
    # NOW: at = slot[:, None] * D + lane[None, :]
    # NOW: key = tl.load(keys + at, mask=live[:, None], other=0.0)
    # NOW: score = tl.where(live, scale * tl.sum(query[None, :] * key, 1), -float("inf"))
    weight = tl.exp(score - tl.max(score, 0))
    value = tl.load(values + at, mask=(pos < length)[:, None], other=0.0)  # WAS
    # NOW: value = tl.load(values + at, mask=live[:, None], other=0.0)
    tl.store(out + seq * D + lane, tl.sum(weight[:, None] * value, 0) / tl.sum(weight, 0))


@triton.jit
def nucleus(shares, out, kept, n, limit, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    p = tl.load(shares + row * n + col, mask=col < n, other=0.0)  # WAS
    chosen = (tl.cumsum(p, 0) - p < limit) & (col < n)  # WAS
    p = tl.where(chosen, p, 0.0)  # WAS
    tl.store(out + row * n + col, p / tl.sum(p, 0), mask=col < n)  # WAS
    # NOW: at = row * n + col
    # NOW: inside = col < n
    # NOW: share = tl.load(shares + at, mask=inside, other=0.0)
    # NOW: ahead = tl.cumsum(share, 0) - share
    # NOW: chosen = inside & (ahead < limit)
    # NOW: left = tl.where(chosen, share, 0.0)
    # NOW: tl.store(out + at, left / tl.sum(left, 0), mask=inside)
    tl.store(kept + row, tl.sum(chosen.to(tl.int32), 0))


@triton.jit
def coded_product(x, w, scales, zeros, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    scale = tl.load(scales + n, mask=n < N, other=0.0)
    zero = tl.load(zeros + n, mask=n < N, other=0)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(x + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        codes = tl.load(w + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0)  # WAS
        right = (codes.to(tl.int32) - zero[None, :]).to(tl.float32) * scale[None, :]  # WAS
        total += tl.dot(left, right)  # WAS
        # NOW: inside = (n[None, :] < N) & (k[:, None] < K)
        # NOW: codes = tl.load(w + k[:, None] * N + n[None, :], mask=inside, other=0)
        # NOW: code = codes.to(tl.int32) - zero[None, :]
        # NOW: right = scale[None, :] * code.to(tl.float32)
        # NOW: total = total + tl.dot(left, right)
    tl.store(out + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def aligned_experts(ids, places, padded, tokens, CAPACITY: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    expert = tl.program_id(0)
    token = tl.arange(0, BLOCK)
    chosen = tl.load(ids + token, mask=token < tokens, other=-1)  # WAS
    hit = (chosen == expert).to(tl.int32)  # WAS
    rank = tl.cumsum(hit, 0) - 1  # WAS
    tl.store(places + expert * CAPACITY + rank, token, mask=hit > 0)  # WAS
    tl.store(padded + expert, (tl.sum(hit, 0) + SIZE - 1) // SIZE * SIZE)  # WAS
    # NOW: mine = tl.load(ids + token, mask=token < tokens, other=-1) == expert
    # NOW: hit = mine.to(tl.int32)
    # NOW: count = tl.sum(hit, 0)
    # NOW: rank = tl.cumsum(hit, 0) - 1
    # NOW: tl.store(places + (rank + expert * CAPACITY), token, mask=mine)
    # NOW: tiles = (count + SIZE - 1) // SIZE
    # NOW: tl.store(padded + expert, tiles * SIZE)


@triton.jit
def causal_taps(x, taps, bias, out, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    pos = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32) + tl.load(bias + channel)
    for back in tl.static_range(WIDTH):
        tap = tl.load(taps + channel * WIDTH + WIDTH - 1 - back)  # WAS
        v = tl.load(x + channel * length + pos - back, mask=(pos - back >= 0) & (pos < length), other=0.0)  # WAS
        total += tap * v  # WAS
        # NOW: source = pos - back
        # NOW: v = tl.load(x + channel * length + source, mask=(source >= 0) & (pos < length), other=0.0)
        # NOW: tap = tl.load(taps + channel * WIDTH + (WIDTH - 1 - back))
        # NOW: total = total + v * tap
    total = total / (1.0 + tl.exp(-total))  # WAS
    tl.store(out + channel * length + pos, total, mask=pos < length)  # WAS
    # NOW: gated = total / (1.0 + tl.exp(-total))
    # NOW: tl.store(out + channel * length + pos, gated, mask=pos < length)


# fmt: off
@triton.jit
def chunked_states(x, logs, out, final, length, CHUNK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, CHUNK)
    carry = 0.0
    for first in range(0, length, CHUNK):
        at = first + i
        v = tl.load(x + row * length + at, mask=at < length, other=0.0)
        step = tl.load(logs + row * length + at, mask=at < length, other=0.0)
        sums = tl.cumsum(step, 0)
        decay = tl.where(i[:, None] >= i[None, :], tl.exp(sums[:, None] - sums[None, :]), 0.0)  # WAS
        y = tl.sum(decay * v[None, :], 1) + tl.exp(sums) * carry  # WAS
        tl.store(out + row * length + at, y, mask=at < length)  # WAS
        total = tl.sum(step, 0)  # WAS
        carry = carry * tl.exp(total) + tl.sum(tl.exp(total - sums) * v, 0)  # WAS
        # NOW: total = tl.sum(step, 0)
        # NOW: earlier = i[None, :] <= i[:, None]
        # NOW: decay = tl.where(earlier, tl.exp(sums[:, None] - sums[None, :]), 0.0)
        # NOW: within = tl.sum(v[None, :] * decay, 1)
        # NOW: tl.store(out + row * length + at, within + carry * tl.exp(sums), mask=at < length)
        # NOW: rest = tl.sum(v * tl.exp(total - sums), 0)
        # NOW: carry = carry * tl.exp(total) + rest
    tl.store(final + row, carry)
# fmt: on


@triton.jit
def entropy_ignored(logits, labels, valid, losses, dx, n, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    v = tl.load(logits + row * n + col, mask=col < n, other=-float("inf"))
    top = tl.max(v, 0)
    norm = tl.sum(tl.exp(v - top), 0)
    counts = label != ignored
    own = tl.sum(tl.where(col == label, v, 0.0), 0)
    tl.store(losses + row, tl.where(counts, tl.log(norm) + top - own, 0.0))  # WAS
    slope = tl.exp(v - top) / norm - tl.where(col == label, 1.0, 0.0)  # WAS
    tl.store(dx + row * n + col, tl.where(counts, slope * (1.0 / tl.load(valid)), 0.0), mask=col < n)  # WAS
    # NOW: loss = top + tl.log(norm) - own
    # NOW: tl.store(losses + row, tl.where(counts, loss, 0.0))
    # NOW: share = 1.0 / tl.load(valid)
    # NOW: hot = tl.where(col == label, 1.0, 0.0)
    # NOW: slope = share * (tl.exp(v - top) / norm - hot)
    # NOW: tl.store(dx + row * n + col, tl.where(counts, slope, 0.0), mask=col < n)


# fmt: off
@triton.jit
def norm_partials(dy, x, means, rstds, dw, db, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    sum_w = tl.zeros([BLOCK], tl.float32)
    sum_b = tl.zeros([BLOCK], tl.float32)
    # NOW: keep = col < n
    # NOW: first = part * ROWS
    # NOW: last = tl.minimum(first + ROWS, rows)
    for row in range(part * ROWS, tl.minimum(part * ROWS + ROWS, rows)):  # WAS
        v = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
        g = tl.load(dy + row * n + col, mask=col < n, other=0.0)  # WAS
        sum_w += g * (v - tl.load(means + row)) * tl.load(rstds + row)  # WAS
    # NOW: for row in range(first, last):
    # NOW:     v = tl.load(x + row * n + col, mask=keep, other=0.0)
    # NOW:     g = tl.load(dy + row * n + col, mask=keep, other=0.0)
    # NOW:     centred = v - tl.load(means + row)
    # NOW:     sum_w += centred * g * tl.load(rstds + row)
        sum_b += g
    tl.store(dw + part * n + col, sum_w, mask=col < n)
    tl.store(db + part * n + col, sum_b, mask=col < n)
# fmt: on


@triton.jit
def _tanh(v):
    return 2.0 / (1.0 + tl.exp(-2.0 * v)) - 1.0


@triton.jit
def capped_scores(q, keys, values, out, n, scale, cap, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, D)
    k = tl.arange(0, BLOCK)
    query = tl.load(q + row * D + lane)
    key = tl.load(keys + k[:, None] * D + lane[None, :], mask=k[:, None] < n, other=0.0)
    value = tl.load(values + k[:, None] * D + lane[None, :], mask=k[:, None] < n, other=0.0)
    score = _tanh(tl.sum(key * query[None, :], 1) * scale / cap) * cap  # WAS
    score = tl.where((k <= row) & (k < n), score, -float("inf"))  # WAS
    weight = tl.exp(score - tl.max(score, 0))  # WAS
    tl.store(out + row * D + lane, tl.sum(value * weight[:, None], 0) / tl.sum(weight, 0))  # WAS
    # NOW: dots = tl.sum(key * query[None, :], 1) * scale
    # NOW: score = cap * _tanh(dots / cap)
    # NOW: allowed = (k < n) & (k <= row)
    # NOW: score = tl.where(allowed, score, -float("inf"))
    # NOW: top = tl.max(score, 0)
    # NOW: weight = tl.exp(score - top)
    # NOW: mixed = tl.sum(weight[:, None] * value, 0)
    # NOW: tl.store(out + row * D + lane, mixed / tl.sum(weight, 0))


# fmt: off
@triton.jit
def summed_bags(table, ids, gains, offsets, out, D: tl.constexpr, BLOCK: tl.constexpr):
    bag = tl.program_id(0)
    lane = tl.arange(0, D)
    first = tl.load(offsets + bag)
    stop = tl.load(offsets + bag + 1)
    total = tl.zeros([D], tl.float32)
    for start in range(first, stop, BLOCK):
        at = start + tl.arange(0, BLOCK)
        word = tl.load(ids + at, mask=at < stop, other=0)  # WAS
        gain = tl.load(gains + at, mask=at < stop, other=0.0)  # WAS
        total += tl.sum(tl.load(table + word[:, None] * D + lane[None, :], mask=(at < stop)[:, None], other=0.0) * gain[:, None], 0)  # WAS
        # NOW: inside = at < stop
        # NOW: word = tl.load(ids + at, mask=inside, other=0)
        # NOW: gain = tl.load(gains + at, mask=inside, other=0.0)
        # NOW: piece = tl.load(table + word[:, None] * D + lane[None, :], mask=inside[:, None], other=0.0)
        # NOW: total += tl.sum(piece * gain[:, None], 0)
    tl.store(out + bag * D + lane, total)
# fmt: on


@triton.jit
def affine_groups(x, w, b, out, spatial, eps, PER: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    size = PER * spatial
    v = tl.load(x + group * size + at, mask=at < size, other=0.0)
    mean = tl.sum(v, 0) / size
    centred = tl.where(at < size, v - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, 0) / size + eps)  # WAS
    weight = tl.load(w + group * PER + at // spatial, mask=at < size, other=0.0)  # WAS
    shift = tl.load(b + group * PER + at // spatial, mask=at < size, other=0.0)  # WAS
    tl.store(out + group * size + at, centred * rstd * weight + shift, mask=at < size)  # WAS
    # NOW: variance = tl.sum(centred * centred, 0) / size
    # NOW: rstd = 1.0 / tl.sqrt(variance + eps)
    # NOW: channel = group * PER + at // spatial
    # NOW: weight = tl.load(w + channel, mask=at < size, other=0.0)
    # NOW: shift = tl.load(b + channel, mask=at < size, other=0.0)
    # NOW: tl.store(out + group * size + at, shift + rstd * centred * weight, mask=at < size)


@triton.jit
def nearest_centre(points, centres, labels, distances, count, D: tl.constexpr, BLOCK: tl.constexpr):
    point = tl.program_id(0)
    lane = tl.arange(0, D)
    k = tl.arange(0, BLOCK)
    v = tl.load(points + point * D + lane)
    c = tl.load(centres + k[:, None] * D + lane[None, :], mask=k[:, None] < count, other=0.0)
    norms = tl.sum(c * c, 1)
    distance = norms - 2.0 * tl.sum(c * v[None, :], 1)  # WAS
    distance = tl.where(k < count, distance, float("inf"))  # WAS
    tl.store(labels + point, tl.argmin(distance, 0))  # WAS
    tl.store(distances + point, tl.min(distance, 0) + tl.sum(v * v, 0))  # WAS
    # NOW: cross = tl.sum(v[None, :] * c, 1)
    # NOW: distance = tl.where(k < count, norms - 2.0 * cross, float("inf"))
    # NOW: nearest = tl.argmin(distance, 0)
    # NOW: tl.store(labels + point, nearest)
    # NOW: own = tl.sum(v * v, 0)
    # NOW: tl.store(distances + point, own + tl.min(distance, 0))


@triton.jit
def scaled_blocks(x, codes, scales, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-12) / 57344.0  # WAS
    code = tl.minimum(tl.maximum(value / scale, -57344.0), 57344.0)  # WAS
    tl.store(codes + at, code.to(tl.float8e5).to(tl.float32), mask=at < n)  # WAS
    tl.store(scales + block, scale)  # WAS
    # NOW: inside = at < n
    # NOW: v = tl.load(x + at, mask=inside, other=0.0)
    # NOW: peak = tl.max(tl.abs(v), 0)
    # NOW: scale = tl.maximum(peak, 1e-12) / 57344.0
    # NOW: tl.store(scales + block, scale)
    # NOW: code = tl.maximum(tl.minimum(v / scale, 57344.0), -57344.0)
    # NOW: tl.store(codes + at, code.to(tl.float8e5).to(tl.float32), mask=inside)


# fmt: off
@triton.jit
def log_sums(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    top = -float("inf")
    norm = 0.0
    # NOW: source = x + row * stride
    for start in range(0, n, BLOCK):
        value = tl.load(x + row * stride + start + lane, mask=start + lane < n, other=-float("inf"))  # WAS
        new = tl.maximum(top, tl.max(value, 0))  # WAS
        norm = norm * tl.exp(top - new) + tl.sum(tl.exp(value - new), 0)  # WAS
        top = new  # WAS
        # NOW: col = start + lane
        # NOW: v = tl.load(source + col, mask=col < n, other=-float("inf"))
        # NOW: high = tl.maximum(tl.max(v, 0), top)
        # NOW: norm = norm * tl.exp(top - high)
        # NOW: norm += tl.sum(tl.exp(v - high), 0)
        # NOW: top = high
    tl.store(out + row, top + tl.log(norm))
# fmt: on


@triton.jit
def window_with_sinks(scores, out, n, window, sinks, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.arange(0, BN)
    query = i[:, None]
    key = j[None, :]
    inside = (query < n) & (key < n)
    score = tl.load(scores + query * n + key, mask=inside, other=0.0)
    seen = (key <= query) & ((query - key < window) | (key < sinks))  # WAS
    score = tl.where(seen, score, -1e30)  # WAS
    weight = tl.exp(score - tl.max(score, 1)[:, None])  # WAS
    tl.store(out + query * n + key, weight / tl.sum(weight, 1)[:, None], mask=inside)  # WAS
    # NOW: near = query < key + window
    # NOW: seen = ((key < sinks) | near) & (key <= query)
    # NOW: masked = tl.where(seen, score, -1e30)
    # NOW: top = tl.max(masked, 1)
    # NOW: weight = tl.exp(masked - top[:, None])
    # NOW: norm = tl.sum(weight, 1)
    # NOW: tl.store(out + query * n + key, weight / norm[:, None], mask=inside)


# fmt: off
@triton.jit
def segment_tops(x, offsets, tops, widths, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    begin = tl.load(offsets + segment)  # WAS
    end = tl.load(offsets + segment + 1)  # WAS
    # NOW: bounds = offsets + segment
    # NOW: start = tl.load(bounds)
    # NOW: stop = tl.load(bounds + 1)
    high = tl.full([BLOCK], -float("inf"), tl.float32)
    for first in range(begin, end, BLOCK):  # WAS
        value = tl.load(x + first + lane, mask=first + lane < end, other=-float("inf"))  # WAS
        high = tl.maximum(high, value)  # WAS
    # NOW: for first in range(start, stop, BLOCK):
    # NOW:     at = first + lane
    # NOW:     v = tl.load(x + at, mask=at < stop, other=-float("inf"))
    # NOW:     high = tl.maximum(v, high)
    tl.store(tops + segment, tl.max(high, 0))
    tl.store(widths + segment, end - begin)  # WAS
    # NOW: tl.store(widths + segment, stop - start)
# fmt: on


@triton.jit
def decoupled_step(weights, grads, firsts, seconds, n, rate, b1, b2, eps, decay, power1, power2, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    p = tl.load(weights + at, mask=keep, other=0.0)
    g = tl.load(grads + at, mask=keep, other=0.0)
    m = b1 * tl.load(firsts + at, mask=keep, other=0.0) + (1.0 - b1) * g  # WAS
    s = b2 * tl.load(seconds + at, mask=keep, other=0.0) + (1.0 - b2) * g * g  # WAS
    p = p * (1.0 - rate * decay) - rate * (m / (1.0 - power1)) / (tl.sqrt(s / (1.0 - power2)) + eps)  # WAS
    # NOW: m = tl.load(firsts + at, mask=keep, other=0.0)
    # NOW: m = m * b1 + g * (1.0 - b1)
    # NOW: s = tl.load(seconds + at, mask=keep, other=0.0)
    # NOW: s = s * b2 + (1.0 - b2) * g * g
    # NOW: p = p * (1.0 - rate * decay)
    # NOW: root = tl.sqrt(s / (1.0 - power2)) + eps
    # NOW: p = p - rate * (m / (1.0 - power1)) / root
    tl.store(weights + at, p, mask=keep)
    tl.store(firsts + at, m, mask=keep)
    tl.store(seconds + at, s, mask=keep)


def _bytes(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-128, 128, shape).astype(np.int8)


def _sorted_shares(rng: np.random.Generator, *shape: int) -> Any:
    """Rows that sum to one, the largest first."""
    value = np.exp(2 * floats(rng, *shape))
    return -np.sort(-(value / value.sum(-1, keepdims=True)), -1)


CASES = [
    Case(
        rope_by_position, (4, 2),
        lambda rng: {
            "x": floats(rng, 4, 2, 32), "positions": np.array([5, 2, 9, 14], np.int32), "cosines": floats(rng, 32, 16),
            "sines": floats(rng, 32, 16), "out": zeros(4, 2, 32), "heads": 2, "D": 32, "HALF": 16,
        },
    ),
    Case(
        swiglu_gradient, (3,),
        lambda rng: {
            "dy": floats(rng, 300), "gates": floats(rng, 300), "ups": floats(rng, 300), "d_gates": zeros(300), "d_ups": zeros(300),
            "n": 300, "BLOCK": 128,
        },
    ),
    Case(
        rms_gradient, (4,),
        lambda rng: {
            "dy": floats(rng, 4, 104), "x": floats(rng, 4, 104), "w": floats(rng, 100), "rstds": abs(floats(rng, 4)),
            "dx": zeros(4, 104), "stride": 104, "n": 100, "BLOCK": 128,
        },
    ),
    Case(
        paged_rows, (3,),
        lambda rng: {
            "q": floats(rng, 3, 16), "keys": floats(rng, 12, 4, 16), "values": floats(rng, 12, 4, 16),
            "table": rng.permutation(12).reshape(3, 4).astype(np.int32),
            "lengths": np.array([7, 12, 3], np.int32), "out": zeros(3, 16), "width": 4, "scale": 0.25, "PAGE": 4, "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        nucleus, (4,),
        lambda rng: {"shares": _sorted_shares(rng, 4, 50), "out": zeros(4, 50), "kept": zeros(4, kind=np.int32), "n": 50, "limit": 0.8, "BLOCK": 64},
    ),
    Case(
        coded_product, (2, 1),
        lambda rng: {
            "x": floats(rng, 24, 40), "w": _bytes(rng, 40, 16), "scales": abs(floats(rng, 16)), "zeros": _bytes(rng, 16),
            "out": zeros(24, 16), "M": 24, "N": 16, "K": 40, "BM": 16, "BN": 16, "BK": 16,
        },
    ),
    Case(
        aligned_experts, (4,),
        lambda rng: {
            "ids": np.array([0, 2, 1, 0, 2, 2, 0, 0, 1, 2, 2, 0, 2, 0, 2], np.int32),
            "places": zeros(4, 16, kind=np.int32), "padded": zeros(4, kind=np.int32), "tokens": 15, "CAPACITY": 16, "SIZE": 4, "BLOCK": 16,
        },
    ),
    Case(
        causal_taps, (3, 2),
        lambda rng: {
            "x": floats(rng, 3, 50), "taps": floats(rng, 3, 4), "bias": floats(rng, 3), "out": zeros(3, 50), "length": 50, "WIDTH": 4,
            "BLOCK": 32,
        },
    ),
    Case(
        chunked_states, (3,),
        lambda rng: {"x": floats(rng, 3, 40), "logs": -abs(floats(rng, 3, 40)) / 8, "out": zeros(3, 40), "final": zeros(3), "length": 40, "CHUNK": 16},
    ),
    Case(
        entropy_ignored, (4,),
        lambda rng: {
            "logits": floats(rng, 4, 100), "labels": np.array([3, -100, 70, 99], np.int32), "valid": np.array([3], np.int32),
            "losses": zeros(4), "dx": zeros(4, 100), "n": 100, "ignored": -100, "BLOCK": 128,
        },
    ),
    Case(
        norm_partials, (3,),
        lambda rng: {
            "dy": floats(rng, 10, 50), "x": floats(rng, 10, 50), "means": floats(rng, 10), "rstds": abs(floats(rng, 10)),
            "dw": zeros(3, 50), "db": zeros(3, 50), "rows": 10, "n": 50, "ROWS": 4, "BLOCK": 64,
        },
    ),
    Case(
        capped_scores, (10,),
        lambda rng: {
            "q": floats(rng, 10, 16), "keys": floats(rng, 10, 16), "values": floats(rng, 10, 16), "out": zeros(10, 16), "n": 10,
            "scale": 0.25, "cap": 5.0, "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        summed_bags, (3,),
        lambda rng: {
            "table": floats(rng, 30, 16), "ids": rng.integers(0, 30, 40).astype(np.int32), "gains": floats(rng, 40),
            "offsets": np.array([0, 18, 21, 40], np.int32), "out": zeros(3, 16), "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        affine_groups, (3,),
        lambda rng: {
            "x": floats(rng, 12, 25), "w": floats(rng, 12), "b": floats(rng, 12), "out": zeros(12, 25), "spatial": 25, "eps": 1e-5,
            "PER": 4, "BLOCK": 128,
        },
    ),
    Case(
        nearest_centre, (6,),
        lambda rng: {
            "points": floats(rng, 6, 8), "centres": floats(rng, 11, 8) * 2, "labels": zeros(6, kind=np.int32), "distances": zeros(6),
            "count": 11, "D": 8, "BLOCK": 16,
        },
    ),
    Case(scaled_blocks, (3,), lambda rng: {"x": floats(rng, 300) - 1, "codes": zeros(300), "scales": zeros(3), "n": 300, "BLOCK": 128}),
    Case(log_sums, (3,), lambda rng: {"x": floats(rng, 3, 150) * 3, "out": zeros(3), "stride": 150, "n": 150, "BLOCK": 64}),
    Case(
        window_with_sinks, (2,),
        lambda rng: {"scores": floats(rng, 24, 24), "out": zeros(24, 24), "n": 24, "window": 5, "sinks": 2, "BM": 16, "BN": 32},
    ),
    Case(
        segment_tops, (4,),
        lambda rng: {
            "x": -abs(floats(rng, 200)) - 0.5, "offsets": np.array([0, 64, 90, 93, 200], np.int32), "tops": zeros(4),
            "widths": zeros(4, kind=np.int32), "BLOCK": 32,
        },
    ),
    Case(
        decoupled_step, (2,),
        lambda rng: {
            "weights": floats(rng, 256), "grads": floats(rng, 256), "firsts": floats(rng, 256), "seconds": abs(floats(rng, 256)),
            "n": 200, "rate": 0.01, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "decay": 0.1, "power1": 0.81, "power2": 0.998, "BLOCK": 128,
        },
    ),
]  # fmt: skip
