"""Thirty more commits that tidy and break, held out: written by somebody who had read none of the rules that test or rank statements.

Each kernel has the shape of one that people run, and its commit rewrites three to six statements of it without a change of one
bit (``# WAS``, ``# NOW``); then one of those is broken as in FOURTH, in ways that one meets in bug reports. They were committed before
anything was measured of them, and neither they nor a rule is changed to fit what was said.
"""
# ruff: noqa: E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
FOURTH: dict[str, tuple[str, str]] = {
    "nibble_product": ("shift = k % 8 * 4", "shift = k % 4 * 8"),
    "codebook_rows": ("peaks + at // SIZE", "peaks + half // SIZE"),
    "shannon_rows": ("right = (1.0 - beta) * tl.exp(q)", "right = 1.0 - beta * tl.exp(q)"),
    "interleaved_turn": ("even = lane % 2 == 0", "even = lane < D // 2"),
    "stored_cache": ("d // X * SIZE * X + d % X", "d // X * X + d % X"),
    "padded_rows": ("inside = source < end", "inside = row < longest"),
    "reduced_splits": ("norm = norm * keep + weight", "norm = norm + weight"),
    "delta_rule": ("seen = tl.sum(decayed * k[:, None], 0)", "seen = tl.sum(state * k[:, None], 0)"),
    "gated_state": ("state * gate[:, None]", "state * gate[None, :]"),
    "selective_step": ("into[None, :] * step[:, None]", "into[None, :] * raw[:, None]"),
    "routed_groups": ("tl.where(e == chosen, score, 0.0)", "tl.where(e == chosen, choice, 0.0)"),
    "sortable_digits": ("key = flipped.to(tl.uint32, bitcast=True)", "key = flipped.to(tl.int32)"),
    "compacted_values": ("before = block - 1", "before = block"),
    "gumbel_pick": ("noise + logit / heat", "(noise + logit) / heat"),
    "accepted_drafts": ("cell = at * vocab + token", "cell = i * vocab + token"),
    "byte_product": (
        "scaled = total.to(tl.float32) * left_scale[:, None]",
        "scaled = total.to(tl.float16) * left_scale[:, None]",
    ),
    "sparse_block_rows": ("col = tl.load(cols + block)", "col = tl.load(cols + step)"),
    "unfolded_patches": ("w = ow * stride + kw * dilation - pad", "w = ow * stride + kw - pad"),
    "newton_step": ('square = tl.dot(gram, gram, input_precision="ieee")', "square = gram * gram"),
    "byte_momentum": ("share = m / high * 127.0", "share = m / peak * 127.0"),
    "policy_loss": ("loss = -tl.minimum(plain, capped)", "loss = -tl.maximum(plain, capped)"),
    "sectioned_turn": ("third = lane >= S0 + S1", "third = lane >= S1"),
    "weighted_keys": ("fresh = tl.exp(k - high)", "fresh = tl.exp(k - top)"),
    "key_gradient": (
        'tl.dot(tl.trans(slope), query, input_precision="ieee")',
        'tl.dot(slope, query, input_precision="ieee")',
    ),
    "placed_values": ("(value >= edge) & going", "(value > edge) & going"),
    "merged_moments": ("extra = delta * delta * n1 * part", "extra = delta * delta * part"),
    "rounded_bits": ("noise = word & 0xFFFF", "noise = word & 0xFFF"),
    "shifted_tokens": ("held = row % length != 0", "held = row != 0"),
    "pooled_windows": (
        'best = tl.full([BLOCK], -float("inf"), tl.float32)',
        "best = tl.full([BLOCK], 0.0, tl.float32)",
    ),
    "solved_triangle": ("steps = n - 2", "steps = n - 3"),
}


@triton.jit
def nibble_product(x, packed, scales, offsets, out, K, N, GROUP: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    live = n < N
    total = tl.zeros([BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        value = tl.load(x + k)
        word = tl.load(packed + k[:, None] // 8 * N + n[None, :], mask=live[None, :], other=0)  # WAS
        code = (word >> (k[:, None] % 8 * 4)) & 15  # WAS
        scale = tl.load(scales + k[:, None] // GROUP * N + n[None, :], mask=live[None, :], other=0.0)  # WAS
        offset = tl.load(offsets + k[:, None] // GROUP * N + n[None, :], mask=live[None, :], other=0)  # WAS
        total += tl.sum(value[:, None] * ((code - offset).to(tl.float32) * scale), 0)  # WAS
        # NOW: word = tl.load(packed + (k // 8 * N)[:, None] + n[None, :], mask=live[None, :], other=0)
        # NOW: shift = k % 8 * 4
        # NOW: code = (word >> shift[:, None]) & 15
        # NOW: group = (k // GROUP * N)[:, None] + n[None, :]
        # NOW: scale = tl.load(scales + group, mask=live[None, :], other=0.0)
        # NOW: offset = tl.load(offsets + group, mask=live[None, :], other=0)
        # NOW: weight = scale * (code - offset).to(tl.float32)
        # NOW: total += tl.sum(weight * value[:, None], 0)
    tl.store(out + n, total, mask=live)


@triton.jit
def codebook_rows(packed, levels, peaks, out, n, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    pair = tl.load(packed + at // 2, mask=live, other=0).to(tl.int32)  # WAS
    code = tl.where(at % 2 == 0, pair >> 4, pair & 15)  # WAS
    level = tl.load(levels + code)  # WAS
    tl.store(out + at, level * tl.load(peaks + at // SIZE, mask=live, other=0.0), mask=live)  # WAS
    # NOW: half = at // 2
    # NOW: pair = tl.load(packed + half, mask=live, other=0).to(tl.int32)
    # NOW: code = (pair >> (4 - at % 2 * 4)) & 15
    # NOW: peak = tl.load(peaks + at // SIZE, mask=live, other=0.0)
    # NOW: level = tl.load(levels + code)
    # NOW: tl.store(out + at, peak * level, mask=live)


@triton.jit
def shannon_rows(ours, theirs, losses, slopes, n, beta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    at = row * n + col
    p = tl.load(ours + at, mask=col < n, other=0.0)
    q = tl.load(theirs + at, mask=col < n, other=0.0)
    middle = tl.log(beta * tl.exp(p) + (1.0 - beta) * tl.exp(q))  # WAS
    each = beta * tl.exp(p) * (p - middle) + (1.0 - beta) * tl.exp(q) * (q - middle)  # WAS
    tl.store(losses + row, tl.sum(each, 0))  # WAS
    tl.store(slopes + at, (1.0 - beta) * tl.exp(q) * (q - middle), mask=col < n)  # WAS
    # NOW: left = beta * tl.exp(p)
    # NOW: right = (1.0 - beta) * tl.exp(q)
    # NOW: middle = tl.log(left + right)
    # NOW: slope = right * (q - middle)
    # NOW: tl.store(slopes + at, slope, mask=col < n)
    # NOW: loss = tl.sum(left * (p - middle) + right * (q - middle), 0)
    # NOW: tl.store(losses + row, loss)


@triton.jit
def interleaved_turn(x, cosines, sines, out, heads, D: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    lane = tl.arange(0, D)
    row = (token * heads + head) * D
    own = tl.load(x + row + lane)
    other = tl.load(x + row + (lane ^ 1))  # WAS
    cos = tl.load(cosines + token * (D // 2) + lane // 2)  # WAS
    sin = tl.load(sines + token * (D // 2) + lane // 2)  # WAS
    sign = tl.where(lane % 2 == 0, -1.0, 1.0)  # WAS
    tl.store(out + row + lane, own * cos + other * sign * sin)  # WAS
    # NOW: angle = token * (D // 2) + lane // 2
    # NOW: cos = tl.load(cosines + angle)
    # NOW: sin = tl.load(sines + angle)
    # NOW: partner = tl.load(x + (row + (lane ^ 1)))
    # NOW: even = lane % 2 == 0
    # NOW: turned = tl.where(even, -partner, partner)
    # NOW: tl.store(out + (row + lane), own * cos + turned * sin)


@triton.jit
def stored_cache(keys, slots, cache, heads, D: tl.constexpr, SIZE: tl.constexpr, X: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    slot = tl.load(slots + token)
    key = tl.load(keys + (token * heads + head) * D + d)
    block = slot // SIZE  # WAS
    place = slot % SIZE  # WAS
    cell = ((block * heads + head) * (D // X) + d // X) * SIZE * X + place * X + d % X  # WAS
    tl.store(cache + cell, key, mask=slot >= 0)  # WAS
    # NOW: page = slot // SIZE
    # NOW: within = slot - page * SIZE
    # NOW: target = cache + (page * heads + head) * D * SIZE
    # NOW: inner = d // X * SIZE * X + d % X
    # NOW: tl.store(target + within * X + inner, key, mask=slot > -1)


@triton.jit
def padded_rows(x, offsets, out, longest, D: tl.constexpr, BM: tl.constexpr):
    batch = tl.program_id(0)
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    lane = tl.arange(0, D)
    begin = tl.load(offsets + batch)
    end = tl.load(offsets + batch + 1)
    value = tl.load(x + (begin + row)[:, None] * D + lane[None, :], mask=(row < end - begin)[:, None], other=0.0)  # WAS
    target = out + batch * longest * D  # WAS
    tl.store(target + row[:, None] * D + lane[None, :], value, mask=(row < longest)[:, None])  # WAS
    # NOW: source = begin + row
    # NOW: inside = source < end
    # NOW: value = tl.load(x + source[:, None] * D + lane[None, :], mask=inside[:, None], other=0.0)
    # NOW: target = batch * longest + row
    # NOW: tl.store(out + target[:, None] * D + lane[None, :], value, mask=row[:, None] < longest)


@triton.jit
def reduced_splits(parts, lses, out, lse_out, splits, D: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, D)
    top = -float("inf")
    norm = 0.0
    acc = tl.zeros([D], tl.float32)
    for split in range(0, splits):
        value = tl.load(parts + (row * splits + split) * D + lane)  # WAS
        lse = tl.load(lses + row * splits + split)  # WAS
        new = tl.maximum(top, lse)  # WAS
        acc = acc * tl.exp(top - new) + value * tl.exp(lse - new)  # WAS
        norm = norm * tl.exp(top - new) + tl.exp(lse - new)  # WAS
        # NOW: at = row * splits + split
        # NOW: lse = tl.load(lses + at)
        # NOW: value = tl.load(parts + at * D + lane)
        # NOW: new = tl.maximum(lse, top)
        # NOW: keep = tl.exp(top - new)
        # NOW: weight = tl.exp(lse - new)
        # NOW: norm = norm * keep + weight
        # NOW: acc = acc * keep + value * weight
        top = new
    tl.store(out + row * D + lane, acc / norm)
    tl.store(lse_out + row, top + tl.log(norm))


@triton.jit
def delta_rule(queries, keys, values, betas, gates, out, length, DK: tl.constexpr, DV: tl.constexpr):
    head = tl.program_id(0)
    i = tl.arange(0, DK)
    j = tl.arange(0, DV)
    state = tl.zeros([DK, DV], tl.float32)
    for t in range(0, length):
        query = tl.load(queries + (head * length + t) * DK + i)
        key = tl.load(keys + (head * length + t) * DK + i)  # WAS
        value = tl.load(values + (head * length + t) * DV + j)  # WAS
        state = state * tl.exp(tl.load(gates + head * length + t))  # WAS
        value = (value - tl.sum(state * key[:, None], 0)) * tl.load(betas + head * length + t)  # WAS
        state += key[:, None] * value[None, :]  # WAS
        # NOW: at = head * length + t
        # NOW: decayed = state * tl.exp(tl.load(gates + at))
        # NOW: k = tl.load(keys + at * DK + i)
        # NOW: seen = tl.sum(decayed * k[:, None], 0)
        # NOW: fresh = (tl.load(values + at * DV + j) - seen) * tl.load(betas + at)
        # NOW: state = decayed + k[:, None] * fresh[None, :]
        tl.store(out + (head * length + t) * DV + j, tl.sum(state * query[:, None], 0))


# fmt: off
@triton.jit
def gated_state(q, k, v, gates, out, final, length, scale, D: tl.constexpr):
    head = tl.program_id(0)
    i = tl.arange(0, D)
    state = tl.zeros([D, D], tl.float32)
    for step in range(0, length):
        at = (head * length + length - 1 - step) * D + i  # WAS
        query = tl.load(q + at) * scale  # WAS
        state = state * tl.exp(tl.load(gates + at))[:, None] + tl.load(k + at)[:, None] * tl.load(v + at)[None, :]  # WAS
        tl.store(out + at, tl.sum(state * query[:, None], 0))  # WAS
    # NOW:     t = length - 1 - step
    # NOW:     at = (head * length + t) * D + i
    # NOW:     gate = tl.exp(tl.load(gates + at))
    # NOW:     key = tl.load(k + at)
    # NOW:     value = tl.load(v + at)
    # NOW:     state = state * gate[:, None] + key[:, None] * value[None, :]
    # NOW:     query = scale * tl.load(q + at)
    # NOW:     tl.store(out + at, tl.sum(query[:, None] * state, 0))
    tl.store(final + head * D * D + i[:, None] * D + i[None, :], state)
# fmt: on


@triton.jit
def selective_step(state, x, steps, bias, a, b, c, skip, z, out, channels, N: tl.constexpr, BLOCK: tl.constexpr):
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.arange(0, N)
    live = channel < channels
    cell = channel[:, None] * N + n[None, :]
    old = tl.load(state + cell, mask=live[:, None], other=0.0)
    rate = tl.load(a + cell, mask=live[:, None], other=0.0)
    value = tl.load(x + channel, mask=live, other=0.0)
    gate = tl.load(z + channel, mask=live, other=0.0)
    into = tl.load(b + n)
    dt = tl.load(steps + channel, mask=live, other=0.0) + tl.load(bias + channel, mask=live, other=0.0)  # WAS
    dt = tl.where(dt <= 20.0, tl.log(1.0 + tl.exp(dt)), dt)  # WAS
    new = old * tl.exp(rate * dt[:, None]) + into[None, :] * dt[:, None] * value[:, None]  # WAS
    total = tl.sum(new * tl.load(c + n)[None, :], 1) + value * tl.load(skip + channel, mask=live, other=0.0)  # WAS
    # NOW: raw = tl.load(bias + channel, mask=live, other=0.0) + tl.load(steps + channel, mask=live, other=0.0)
    # NOW: step = tl.where(raw > 20.0, raw, tl.log(1.0 + tl.exp(raw)))
    # NOW: drive = into[None, :] * step[:, None]
    # NOW: new = old * tl.exp(step[:, None] * rate) + drive * value[:, None]
    # NOW: through = tl.load(skip + channel, mask=live, other=0.0)
    # NOW: total = tl.sum(tl.load(c + n)[None, :] * new, 1) + through * value
    tl.store(state + cell, new, mask=live[:, None])
    tl.store(out + channel, total * gate / (1.0 + tl.exp(-gate)), mask=live)


@triton.jit
def _logistic(v):
    return 1.0 / (1.0 + tl.exp(-v))


@triton.jit
def routed_groups(logits, bias, ids, weights, factor, GROUPS: tl.constexpr, PER: tl.constexpr):
    token = tl.program_id(0)
    e = tl.arange(0, GROUPS * PER)
    score = _logistic(tl.load(logits + token * GROUPS * PER + e))  # WAS
    choice = score + tl.load(bias + e)  # WAS
    group = tl.argmax(tl.max(tl.reshape(choice, [GROUPS, PER]), 1), 0)  # WAS
    chosen = tl.argmax(tl.where(e // PER == group, choice, -float("inf")), 0)  # WAS
    # NOW: logit = tl.load(logits + token * (GROUPS * PER) + e)
    # NOW: score = 1.0 / (1.0 + tl.exp(-logit))
    # NOW: choice = tl.load(bias + e) + score
    # NOW: tops = tl.max(tl.reshape(choice, [GROUPS, PER]), 1)
    # NOW: group = tl.argmax(tops, 0)
    # NOW: outside = e // PER != group
    # NOW: chosen = tl.argmax(tl.where(outside, -float("inf"), choice), 0)
    tl.store(ids + token, chosen)
    tl.store(weights + token, tl.sum(tl.where(e == chosen, score, 0.0), 0) * factor)  # WAS
    # NOW: weight = tl.sum(tl.where(e == chosen, score, 0.0), 0)
    # NOW: tl.store(weights + token, factor * weight)


@triton.jit
def sortable_digits(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    place = tl.arange(0, BINS)
    bits = tl.load(x + at, mask=live, other=0.0).to(tl.int32, bitcast=True)
    flipped = tl.where(bits < 0, ~bits, bits ^ -2147483648)  # WAS
    digit = (flipped.to(tl.uint32, bitcast=True) >> 28).to(tl.int32)  # WAS
    hit = (digit[None, :] == place[:, None]) & live[None, :]  # WAS
    tl.store(counts + block * BINS + place, tl.sum(hit.to(tl.int32), 1))  # WAS
    # NOW: flip = (bits >> 31) | -2147483648
    # NOW: flipped = bits ^ flip
    # NOW: key = flipped.to(tl.uint32, bitcast=True)
    # NOW: digit = (key >> 28).to(tl.int32)
    # NOW: hit = live[None, :] & (place[:, None] == digit[None, :])
    # NOW: count = tl.sum(hit.to(tl.int32), 1)
    # NOW: tl.store(counts + block * BINS + place, count)


@triton.jit
def compacted_values(x, ends, out, places, n, limit, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    base = tl.load(ends + block - 1, mask=block > 0, other=0)  # WAS
    chosen = (at < n) & (value > limit)  # WAS
    rank = tl.cumsum(chosen.to(tl.int32), 0) - 1  # WAS
    tl.store(out + base + rank, value, mask=chosen)  # WAS
    tl.store(places + base + rank, at, mask=chosen)  # WAS
    # NOW: chosen = (value > limit) & (at < n)
    # NOW: rank = tl.cumsum(chosen.to(tl.int32), 0)
    # NOW: before = block - 1
    # NOW: base = tl.load(ends + before, mask=before >= 0, other=0)
    # NOW: slot = base + rank - 1
    # NOW: tl.store(places + slot, at, mask=chosen)
    # NOW: tl.store(out + slot, value, mask=chosen)


@triton.jit
def gumbel_pick(logits, heats, picks, own, n, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    logit = tl.load(logits + row * n + col, mask=col < n, other=-float("inf"))  # WAS
    uniform = tl.maximum(tl.rand(seed, row * n + col), 1e-10)  # WAS
    score = logit / tl.load(heats + row) - tl.log(-tl.log(uniform))  # WAS
    pick = tl.argmax(score, 0)  # WAS
    # NOW: at = row * n + col
    # NOW: noise = -tl.log(-tl.log(tl.maximum(tl.rand(seed, at), 1e-10)))
    # NOW: heat = tl.load(heats + row)
    # NOW: logit = tl.load(logits + at, mask=col < n, other=-float("inf"))
    # NOW: pick = tl.argmax(noise + logit / heat, 0)
    tl.store(picks + row, pick)
    tl.store(own + row, tl.max(tl.where(col == pick, logit, -float("inf")), 0))


# fmt: off
@triton.jit
def accepted_drafts(drafts, target, proposal, uniform, recovered, bonus, starts, out, width, vocab):
    request = tl.program_id(0)
    begin = tl.load(starts + request)
    end = tl.load(starts + request + 1)
    going = 1
    for i in range(0, end - begin):
        token = tl.load(drafts + begin + i)  # WAS
        p = tl.load(target + (begin + i) * vocab + token)  # WAS
        q = tl.load(proposal + (begin + i) * vocab + token)  # WAS
        taken = (tl.load(uniform + begin + i) * q <= p).to(tl.int32) * going  # WAS
        word = tl.where(taken > 0, token, tl.load(recovered + begin + i))  # WAS
    # NOW:     at = begin + i
    # NOW:     token = tl.load(drafts + at)
    # NOW:     cell = at * vocab + token
    # NOW:     q = tl.load(proposal + cell)
    # NOW:     p = tl.load(target + cell)
    # NOW:     fits = p >= tl.load(uniform + at) * q
    # NOW:     taken = going * fits.to(tl.int32)
    # NOW:     word = tl.where(taken == 0, tl.load(recovered + at), token)
        tl.store(out + request * width + i, word, mask=going > 0)
        going = taken
    tl.store(out + request * width + (end - begin), tl.load(bonus + request), mask=going > 0)
# fmt: on


@triton.jit
def byte_product(
    a, b, left_scales, right_scales, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0)
        right = tl.load(b + n[None, :] * K + k[:, None], mask=(n < N)[None, :] & (k < K)[:, None], other=0)
        total += tl.dot(left, right, out_dtype=tl.int32)
    rows = tl.load(left_scales + m, mask=m < M, other=0.0)  # WAS
    cols = tl.load(right_scales + n, mask=n < N, other=0.0)  # WAS
    value = total.to(tl.float32) * rows[:, None] * cols[None, :]  # WAS
    value += tl.load(bias + n, mask=n < N, other=0.0)[None, :]  # WAS
    tl.store(out + m[:, None] * N + n[None, :], value, mask=(m < M)[:, None] & (n < N)[None, :])  # WAS
    # NOW: left_scale = tl.load(left_scales + m, mask=m < M, other=0.0)
    # NOW: scaled = total.to(tl.float32) * left_scale[:, None]
    # NOW: right_scale = tl.load(right_scales + n, mask=n < N, other=0.0)
    # NOW: shift = tl.load(bias + n, mask=n < N, other=0.0)
    # NOW: value = scaled * right_scale[None, :] + shift[None, :]
    # NOW: tl.store(out + m[:, None] * N + n[None, :], value, mask=(m[:, None] < M) & (n[None, :] < N))


# fmt: off
@triton.jit
def sparse_block_rows(values, cols, bounds, dense, out, N: tl.constexpr, SIZE: tl.constexpr):
    line = tl.program_id(0)
    i = tl.arange(0, SIZE)
    n = tl.arange(0, N)
    total = tl.zeros([SIZE, N], tl.float32)
    begin = tl.load(bounds + line)
    end = tl.load(bounds + line + 1)
    for block in range(begin, end):  # WAS
        tile = tl.load(values + block * SIZE * SIZE + i[:, None] * SIZE + i[None, :])  # WAS
        k = tl.load(cols + block) * SIZE + i  # WAS
        total += tl.dot(tile, tl.load(dense + k[:, None] * N + n[None, :]), input_precision="ieee")  # WAS
    # NOW: for step in range(0, end - begin):
    # NOW:     block = begin + step
    # NOW:     cell = (block * SIZE + i[:, None]) * SIZE + i[None, :]
    # NOW:     tile = tl.load(values + cell)
    # NOW:     col = tl.load(cols + block)
    # NOW:     k = col * SIZE + i
    # NOW:     piece = tl.load(dense + k[:, None] * N + n[None, :])
    # NOW:     total += tl.dot(tile, piece, input_precision="ieee")
    tl.store(out + (line * SIZE + i)[:, None] * N + n[None, :], total)
# fmt: on


@triton.jit
def unfolded_patches(
    x, out, H, W, OH, OW, stride, pad, dilation, KH: tl.constexpr, KW: tl.constexpr, BLOCK: tl.constexpr
):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    channel = pid // (KH * KW)  # WAS
    h = at // OW * stride - pad + pid % (KH * KW) // KW * dilation  # WAS
    w = at % OW * stride - pad + pid % KW * dilation  # WAS
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (at < OH * OW)  # WAS
    value = tl.load(x + channel * H * W + h * W + w, mask=inside, other=0.0)  # WAS
    # NOW: channel = pid // (KH * KW)
    # NOW: tap = pid - channel * (KH * KW)
    # NOW: kh = tap // KW
    # NOW: kw = tap % KW
    # NOW: oh = at // OW
    # NOW: ow = at - oh * OW
    # NOW: h = oh * stride + kh * dilation - pad
    # NOW: w = ow * stride + kw * dilation - pad
    # NOW: inside = (at < OH * OW) & (w >= 0) & (w < W) & (h >= 0) & (h < H)
    # NOW: value = tl.load(x + (channel * H + h) * W + w, mask=inside, other=0.0)
    tl.store(out + pid * OH * OW + at, value, mask=at < OH * OW)


@triton.jit
def newton_step(x, out, a, b, c, eps, D: tl.constexpr):
    matrix = tl.program_id(0)
    i = tl.arange(0, D)
    cell = matrix * D * D + i[:, None] * D + i[None, :]
    value = tl.load(x + cell)
    value = value / (tl.sqrt(tl.sum(tl.sum(value * value, 1), 0)) + eps)  # WAS
    gram = tl.dot(value, tl.trans(value), input_precision="ieee")  # WAS
    poly = b * gram + c * tl.dot(gram, gram, input_precision="ieee")  # WAS
    tl.store(out + cell, a * value + tl.dot(poly, value, input_precision="ieee"))  # WAS
    # NOW: size = tl.sqrt(tl.sum(tl.sum(value * value, 1), 0))
    # NOW: unit = value / (size + eps)
    # NOW: gram = tl.dot(unit, tl.trans(unit), input_precision="ieee")
    # NOW: square = tl.dot(gram, gram, input_precision="ieee")
    # NOW: poly = b * gram + c * square
    # NOW: step = tl.dot(poly, unit, input_precision="ieee")
    # NOW: tl.store(out + cell, unit * a + step)


@triton.jit
def byte_momentum(weights, grads, codes, peaks, n, rate, b1, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    grad = tl.load(grads + at, mask=live, other=0.0)
    old = tl.load(codes + at, mask=live, other=0).to(tl.float32) * (tl.load(peaks + block) / 127.0)  # WAS
    m = b1 * old + grad  # WAS
    # NOW: peak = tl.load(peaks + block)
    # NOW: old = tl.load(codes + at, mask=live, other=0).to(tl.float32) * (peak / 127.0)
    # NOW: m = grad + old * b1
    value = tl.load(weights + at, mask=live, other=0.0)
    tl.store(weights + at, value - rate * m, mask=live)
    high = tl.maximum(tl.max(tl.abs(m), 0), 1e-12)
    code = tl.minimum(tl.maximum(tl.floor(m / high * 127.0 + 0.5), -127.0), 127.0)  # WAS
    tl.store(codes + at, code.to(tl.int8), mask=live)  # WAS
    # NOW: share = m / high * 127.0
    # NOW: code = tl.maximum(tl.minimum(tl.floor(share + 0.5), 127.0), -127.0)
    # NOW: tl.store(codes + at, code.to(tl.int8), mask=at < n)
    tl.store(peaks + block, high)


@triton.jit
def policy_loss(ours, old, reference, gains, kept, losses, n, low, high, beta, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    p = tl.load(ours + row * n + col, mask=live, other=0.0)
    gain = tl.load(gains + row)
    ratio = tl.exp(p - tl.load(old + row * n + col, mask=live, other=0.0))  # WAS
    bounded = tl.minimum(tl.maximum(ratio, 1.0 - low), 1.0 + high)  # WAS
    loss = -tl.minimum(ratio * gain, bounded * gain)  # WAS
    away = tl.load(reference + row * n + col, mask=live, other=0.0) - p  # WAS
    loss += beta * (tl.exp(away) - away - 1.0)  # WAS
    # NOW: at = row * n + col
    # NOW: away = tl.load(reference + at, mask=live, other=0.0) - p
    # NOW: drift = tl.exp(away) - away - 1.0
    # NOW: ratio = tl.exp(p - tl.load(old + at, mask=live, other=0.0))
    # NOW: plain = gain * ratio
    # NOW: capped = gain * tl.minimum(tl.maximum(ratio, 1.0 - low), 1.0 + high)
    # NOW: loss = -tl.minimum(plain, capped)
    # NOW: loss = loss + beta * drift
    keep = tl.load(kept + row * n + col, mask=live, other=0)
    tl.store(losses + row * n + col, tl.where(keep != 0, loss, 0.0), mask=live)


@triton.jit
def sectioned_turn(x, cosines, sines, out, tokens, S0: tl.constexpr, S1: tl.constexpr, HALF: tl.constexpr):
    token = tl.program_id(0)
    lane = tl.arange(0, HALF)
    axis = tl.where(lane < S0, 0, tl.where(lane < S0 + S1, 1, 2))  # WAS
    cos = tl.load(cosines + (axis * tokens + token) * HALF + lane)  # WAS
    sin = tl.load(sines + (axis * tokens + token) * HALF + lane)  # WAS
    # NOW: second = lane >= S0
    # NOW: third = lane >= S0 + S1
    # NOW: axis = second.to(tl.int32) + third.to(tl.int32)
    # NOW: angle = (axis * tokens + token) * HALF + lane
    # NOW: cos = tl.load(cosines + angle)
    # NOW: sin = tl.load(sines + angle)
    left = tl.load(x + token * 2 * HALF + lane)
    right = tl.load(x + token * 2 * HALF + HALF + lane)
    tl.store(out + token * 2 * HALF + lane, left * cos - right * sin)
    tl.store(out + token * 2 * HALF + HALF + lane, right * cos + left * sin)


@triton.jit
def weighted_keys(keys, values, decays, firsts, out, length, channels, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = c < channels
    decay = tl.load(decays + c, mask=live, other=0.0)
    first = tl.load(firsts + c, mask=live, other=0.0)
    above = tl.zeros([BLOCK], tl.float32)
    below = tl.zeros([BLOCK], tl.float32)
    peak = tl.full([BLOCK], -1e30, tl.float32)
    for t in range(0, length):
        k = tl.load(keys + t * channels + c, mask=live, other=0.0)
        v = tl.load(values + t * channels + c, mask=live, other=0.0)
        top = tl.maximum(peak, first + k)
        old = tl.exp(peak - top)
        new = tl.exp(first + k - top)
        tl.store(out + t * channels + c, (old * above + new * v) / (old * below + new), mask=live)
        high = tl.maximum(peak + decay, k)  # WAS
        old = tl.exp(peak + decay - high)  # WAS
        new = tl.exp(k - high)  # WAS
        above = old * above + new * v  # WAS
        below = old * below + new  # WAS
        # NOW: faded = decay + peak
        # NOW: high = tl.maximum(k, faded)
        # NOW: left = tl.exp(faded - high)
        # NOW: fresh = tl.exp(k - high)
        # NOW: above = left * above + fresh * v
        # NOW: below = left * below + fresh
        peak = high


# fmt: off
@triton.jit
def key_gradient(q, k, v, dy, lses, deltas, dk, dv, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    key = tl.load(k + col[:, None] * D + d[None, :], mask=(col < n)[:, None], other=0.0)
    value = tl.load(v + col[:, None] * D + d[None, :], mask=(col < n)[:, None], other=0.0)
    sum_k = tl.zeros([BLOCK, D], tl.float32)
    sum_v = tl.zeros([BLOCK, D], tl.float32)
    for start in range(0, n, BLOCK):
        row = start + tl.arange(0, BLOCK)
        query = tl.load(q + row[:, None] * D + d[None, :], mask=(row < n)[:, None], other=0.0)
        grad = tl.load(dy + row[:, None] * D + d[None, :], mask=(row < n)[:, None], other=0.0)
        lse = tl.load(lses + row, mask=row < n, other=0.0)
        delta = tl.load(deltas + row, mask=row < n, other=0.0)
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        weight = tl.where((row[:, None] >= col[None, :]) & (row < n)[:, None], tl.exp(score - lse[:, None]), 0.0)  # WAS
        sum_v += tl.dot(tl.trans(weight), grad, input_precision="ieee")  # WAS
        slope = weight * (tl.dot(grad, tl.trans(value), input_precision="ieee") - delta[:, None])  # WAS
        sum_k += tl.dot(tl.trans(slope), query, input_precision="ieee") * scale  # WAS
    # NOW:     seen = (col[None, :] <= row[:, None]) & (row[:, None] < n)
    # NOW:     weight = tl.where(seen, tl.exp(score - lse[:, None]), 0.0)
    # NOW:     back = tl.dot(grad, tl.trans(value), input_precision="ieee")
    # NOW:     slope = (back - delta[:, None]) * weight
    # NOW:     part = tl.dot(tl.trans(slope), query, input_precision="ieee")
    # NOW:     sum_k = sum_k + part * scale
    # NOW:     sum_v += tl.dot(tl.trans(weight), grad, input_precision="ieee")
    tl.store(dk + col[:, None] * D + d[None, :], sum_k, mask=(col < n)[:, None])
    tl.store(dv + col[:, None] * D + d[None, :], sum_v, mask=(col < n)[:, None])
# fmt: on


@triton.jit
def placed_values(x, edges, out, n, count, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.zeros([BLOCK], tl.int32) + count
    for _ in range(STEPS):
        middle = (low + high) // 2  # WAS
        edge = tl.load(edges + middle, mask=low < high, other=float("inf"))  # WAS
        right = (edge <= value) & (low < high)  # WAS
        low = tl.where(right, middle + 1, low)  # WAS
        high = tl.where(right, high, middle)  # WAS
        # NOW: going = low < high
        # NOW: middle = low + (high - low) // 2
        # NOW: edge = tl.load(edges + middle, mask=going, other=float("inf"))
        # NOW: right = (value >= edge) & going
        # NOW: high = tl.where(right, high, middle)
        # NOW: low = tl.where(right, middle + 1, low)
    tl.store(out + at, low, mask=at < n)


@triton.jit
def _merge(m1, s1, n1, m2, s2, n2):
    delta = m2 - m1
    n = n1 + n2  # WAS
    part = tl.where(n == 0.0, 0.0, n2 / n)  # WAS
    return m1 + delta * part, s1 + s2 + delta * delta * n1 * part, n  # WAS
    # NOW: count = n1 + n2
    # NOW: part = tl.where(count > 0.0, n2 / count, 0.0)
    # NOW: extra = delta * delta * n1 * part
    # NOW: return m1 + delta * part, s1 + s2 + extra, count


@triton.jit
def merged_moments(x, means, variances, running, rows, channels, rate, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    row = tl.arange(0, BLOCK)
    value = tl.load(x + row * channels + channel, mask=row < rows, other=0.0)
    ones = (row < rows).to(tl.float32)
    mean, spread, count = tl.reduce((value, tl.zeros([BLOCK], tl.float32), ones), 0, _merge)
    tl.store(means + channel, mean)
    tl.store(variances + channel, spread / count)
    old = tl.load(running + channel)
    tl.store(running + channel, old + rate * (mean - old))  # WAS
    # NOW: moved = (mean - old) * rate
    # NOW: tl.store(running + channel, old + moved)


@triton.jit
def rounded_bits(x, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    bits = value.to(tl.int32, bitcast=True)  # WAS
    bits = (bits + (tl.randint(seed, at).to(tl.int32) & 0xFFFF)) & -65536  # WAS
    tl.store(out + at, bits.to(tl.float32, bitcast=True), mask=at < n)  # WAS
    # NOW: live = at < n
    # NOW: word = tl.randint(seed, at).to(tl.int32)
    # NOW: noise = word & 0xFFFF
    # NOW: bits = tl.load(x + at, mask=live, other=0.0).to(tl.int32, bitcast=True)
    # NOW: cut = (noise + bits) >> 16 << 16
    # NOW: tl.store(out + at, cut.to(tl.float32, bitcast=True), mask=live)


@triton.jit
def shifted_tokens(x, mixes, out, length, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    here = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
    last = tl.load(x + (row - 1) * n + col, mask=(col < n) & (row % length > 0), other=0.0)  # WAS
    mix = tl.load(mixes + col, mask=col < n, other=0.0)  # WAS
    tl.store(out + row * n + col, here + (last - here) * mix, mask=col < n)  # WAS
    # NOW: live = col < n
    # NOW: at = row * n + col
    # NOW: held = row % length != 0
    # NOW: last = tl.load(x + at - n, mask=live & held, other=0.0)
    # NOW: here = tl.load(x + at, mask=live, other=0.0)
    # NOW: change = tl.load(mixes + col, mask=live, other=0.0) * (last - here)
    # NOW: tl.store(out + at, here + change, mask=live)


# fmt: off
@triton.jit
def pooled_windows(x, out, H, W, OH, OW, stride, pad, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    live = at < OH * OW
    top = at // OW * stride - pad
    left = at % OW * stride - pad
    best = tl.zeros([BLOCK], tl.float32) - float("inf")  # WAS
    for i in tl.static_range(SIDE):  # WAS
        for j in tl.static_range(SIDE):  # WAS
            inside = (top + i >= 0) & (top + i < H) & (left + j >= 0) & (left + j < W) & live  # WAS
            best = tl.maximum(best, tl.load(x + plane * H * W + (top + i) * W + left + j, mask=inside, other=-float("inf")))  # WAS
    # NOW: best = tl.full([BLOCK], -float("inf"), tl.float32)
    # NOW: for tap in tl.static_range(SIDE * SIDE):
    # NOW:     h = top + tap // SIDE
    # NOW:     w = left + tap % SIDE
    # NOW:     inside = live & (h >= 0) & (h < H) & (w >= 0) & (w < W)
    # NOW:     value = tl.load(x + (plane * H + h) * W + w, mask=inside, other=-float("inf"))
    # NOW:     best = tl.maximum(value, best)
    tl.store(out + plane * OH * OW + at, best, mask=live)
# fmt: on


# fmt: off
@triton.jit
def solved_triangle(a, out, n, N: tl.constexpr):
    chunk = tl.program_id(0)
    i = tl.arange(0, N)
    inside = (i[:, None] < n) & (i[None, :] < n)
    below = i[:, None] > i[None, :]
    known = -tl.where(below, tl.load(a + chunk * n * n + i[:, None] * n + i[None, :], mask=inside, other=0.0), 0.0)  # WAS
    for row in range(2, n):  # WAS
        line = tl.load(a + chunk * n * n + row * n + i, mask=i < row, other=0.0)  # WAS
        line = tl.sum(line[:, None] * known, 0) + line  # WAS
        known = tl.where(i[:, None] == row, -line[None, :], known)  # WAS
    # NOW: base = a + chunk * n * n
    # NOW: known = tl.where(below, -tl.load(base + i[:, None] * n + i[None, :], mask=inside, other=0.0), 0.0)
    # NOW: steps = n - 2
    # NOW: for step in range(0, steps):
    # NOW:     row = step + 2
    # NOW:     line = tl.load(base + row * n + i, mask=i < row, other=0.0)
    # NOW:     line = line + tl.sum(known * line[:, None], 0)
    # NOW:     known = tl.where(i[:, None] != row, known, -line[None, :])
    known += tl.where(i[:, None] == i[None, :], 1.0, 0.0)
    tl.store(out + chunk * n * n + i[:, None] * n + i[None, :], known, mask=inside)
# fmt: on


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int, kind: Any = np.int32) -> Any:
    return rng.integers(low, high, shape).astype(kind)


def _log_shares(rng: np.random.Generator, *shape: int) -> Any:
    """Rows whose exponentials sum to one."""
    value = floats(rng, *shape)
    return (value - np.log(np.exp(value).sum(-1, keepdims=True))).astype(np.float32)


def _shares(rng: np.random.Generator, *shape: int) -> Any:
    return np.exp(_log_shares(rng, *shape))


def _climbing(rng: np.random.Generator, count: int) -> Any:
    """Numbers of which later ones are larger more often."""
    return (floats(rng, count) + np.linspace(-2, 2, count)).astype(np.float32)


def _compaction(rng: np.random.Generator) -> dict[str, Any]:
    x = _climbing(rng, 256)
    chosen = (x[:250] > 0.5).astype(np.int32)
    ends = np.cumsum([chosen[at : at + 64].sum() for at in range(0, 256, 64)]).astype(np.int32)
    return {
        "x": x,
        "ends": ends,
        "out": zeros(256),
        "places": zeros(256, kind=np.int32),
        "n": 250,
        "limit": 0.5,
        "BLOCK": 64,
    }


CASES = [
    Case(
        nibble_product, (2,),
        lambda rng: {
            "x": floats(rng, 64), "packed": _ints(rng, -(2**31), 2**31, 8, 24), "scales": abs(floats(rng, 2, 24)),
            "offsets": _ints(rng, 0, 16, 2, 24), "out": zeros(24), "K": 64, "N": 24, "GROUP": 32, "BK": 16, "BN": 16,
        },
    ),
    Case(
        codebook_rows, (3,),
        lambda rng: {
            "packed": _ints(rng, 0, 256, 150, kind=np.uint8), "levels": np.sort(floats(rng, 16)), "peaks": abs(floats(rng, 10)),
            "out": zeros(300), "n": 300, "SIZE": 32, "BLOCK": 128,
        },
    ),
    Case(
        shannon_rows, (3,),
        lambda rng: {
            "ours": _log_shares(rng, 3, 50), "theirs": _log_shares(rng, 3, 50), "losses": zeros(3), "slopes": zeros(3, 50), "n": 50,
            "beta": 0.3, "BLOCK": 64,
        },
    ),
    Case(
        interleaved_turn, (4, 2),
        lambda rng: {
            "x": floats(rng, 4, 2, 32), "cosines": floats(rng, 4, 16), "sines": floats(rng, 4, 16), "out": zeros(4, 2, 32), "heads": 2,
            "D": 32,
        },
    ),
    Case(
        stored_cache, (5, 2),
        lambda rng: {
            "keys": floats(rng, 5, 2, 32), "slots": np.array([5, 12, -1, 18, 31], np.int32), "cache": zeros(4, 2, 8, 8, 4), "heads": 2,
            "D": 32, "SIZE": 8, "X": 4,
        },
    ),
    Case(
        padded_rows, (3, 2),
        lambda rng: {
            "x": floats(rng, 64, 16), "offsets": np.array([0, 7, 27, 38], np.int32), "out": zeros(3, 20, 16), "longest": 20, "D": 16,
            "BM": 16,
        },
    ),
    Case(
        reduced_splits, (4,),
        lambda rng: {
            "parts": floats(rng, 4, 5, 32), "lses": floats(rng, 4, 5) * 2, "out": zeros(4, 32), "lse_out": zeros(4), "splits": 5, "D": 32,
        },
    ),
    Case(
        delta_rule, (2,),
        lambda rng: {
            "queries": floats(rng, 2, 6, 16), "keys": floats(rng, 2, 6, 16) / 4, "values": floats(rng, 2, 6, 16), "betas": _shares(rng, 2, 6),
            "gates": -abs(floats(rng, 2, 6)) / 2, "out": zeros(2, 6, 16), "length": 6, "DK": 16, "DV": 16,
        },
    ),
    Case(
        gated_state, (2,),
        lambda rng: {
            "q": floats(rng, 2, 6, 16), "k": floats(rng, 2, 6, 16), "v": floats(rng, 2, 6, 16), "gates": -abs(floats(rng, 2, 6, 16)) / 2,
            "out": zeros(2, 6, 16), "final": zeros(2, 16, 16), "length": 6, "scale": 0.3, "D": 16,
        },
    ),
    Case(
        selective_step, (2,),
        lambda rng: {
            "state": floats(rng, 50, 16), "x": floats(rng, 50), "steps": floats(rng, 50), "bias": floats(rng, 50),
            "a": -abs(floats(rng, 50, 16)), "b": floats(rng, 16), "c": floats(rng, 16), "skip": floats(rng, 50), "z": floats(rng, 50),
            "out": zeros(50), "channels": 50, "N": 16, "BLOCK": 32,
        },
    ),
    Case(
        routed_groups, (6,),
        lambda rng: {
            "logits": floats(rng, 6, 16), "bias": floats(rng, 16) / 8, "ids": zeros(6, kind=np.int32), "weights": zeros(6), "factor": 2.5,
            "GROUPS": 4, "PER": 4,
        },
    ),
    Case(
        sortable_digits, (3,),
        lambda rng: {"x": floats(rng, 300) * 3, "counts": zeros(3, 16, kind=np.int32), "n": 300, "BINS": 16, "BLOCK": 128},
    ),
    Case(compacted_values, (4,), _compaction),
    Case(
        gumbel_pick, (8,),
        lambda rng: {
            "logits": floats(rng, 8, 50), "heats": np.array([0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0], np.float32),
            "picks": zeros(8, kind=np.int32), "own": zeros(8), "n": 50, "seed": 29, "BLOCK": 64,
        },
    ),
    Case(
        accepted_drafts, (4,),
        lambda rng: {
            "drafts": _ints(rng, 0, 20, 14), "target": _shares(rng, 14, 20), "proposal": _shares(rng, 14, 20),
            "uniform": rng.random(14, np.float32), "recovered": _ints(rng, 100, 120, 14), "bonus": _ints(rng, 200, 220, 4),
            "starts": np.array([0, 4, 7, 11, 14], np.int32), "out": np.full((4, 6), -1, np.int32), "width": 6, "vocab": 20,
        },
    ),
    Case(
        byte_product, (2, 1),
        lambda rng: {
            "a": _ints(rng, -127, 128, 24, 64, kind=np.int8), "b": _ints(rng, -127, 128, 16, 64, kind=np.int8),
            "left_scales": abs(floats(rng, 24)) / 64, "right_scales": abs(floats(rng, 16)) / 64, "bias": floats(rng, 16),
            "out": zeros(24, 16), "M": 24, "N": 16, "K": 64, "BM": 16, "BN": 16, "BK": 32,
        },
    ),
    Case(
        sparse_block_rows, (3,),
        lambda rng: {
            "values": floats(rng, 6, 16, 16), "cols": np.array([0, 2, 1, 0, 1, 3], np.int32), "bounds": np.array([0, 2, 3, 6], np.int32),
            "dense": floats(rng, 64, 16), "out": zeros(48, 16), "N": 16, "SIZE": 16,
        },
    ),
    Case(
        unfolded_patches, (18,),
        lambda rng: {
            "x": floats(rng, 2, 9, 11), "out": zeros(18, 4 * 5), "H": 9, "W": 11, "OH": 4, "OW": 5, "stride": 2, "pad": 1, "dilation": 2,
            "KH": 3, "KW": 3, "BLOCK": 32,
        },
    ),
    Case(
        newton_step, (2,),
        lambda rng: {"x": floats(rng, 2, 16, 16), "out": zeros(2, 16, 16), "a": 3.4445, "b": -4.775, "c": 2.0315, "eps": 1e-7, "D": 16},
    ),
    Case(
        byte_momentum, (3,),
        lambda rng: {
            "weights": floats(rng, 384), "grads": floats(rng, 384), "codes": _ints(rng, -127, 128, 384, kind=np.int8),
            "peaks": abs(floats(rng, 3)) + 1, "n": 300, "rate": 0.01, "b1": 0.9, "BLOCK": 128,
        },
    ),
    Case(
        policy_loss, (4,),
        lambda rng: {
            "ours": -abs(floats(rng, 4, 50)), "old": -abs(floats(rng, 4, 50)), "reference": -abs(floats(rng, 4, 50)),
            "gains": np.array([1.2, -0.7, 0.4, -1.1], np.float32), "kept": _ints(rng, 0, 4, 4, 50), "losses": zeros(4, 50), "n": 50,
            "low": 0.2, "high": 0.28, "beta": 0.04, "BLOCK": 64,
        },
    ),
    Case(
        sectioned_turn, (5,),
        lambda rng: {
            "x": floats(rng, 5, 32), "cosines": floats(rng, 3, 5, 16), "sines": floats(rng, 3, 5, 16), "out": zeros(5, 32), "tokens": 5,
            "S0": 4, "S1": 6, "HALF": 16,
        },
    ),
    Case(
        weighted_keys, (2,),
        lambda rng: {
            "keys": floats(rng, 7, 50), "values": floats(rng, 7, 50), "decays": -abs(floats(rng, 50)), "firsts": floats(rng, 50),
            "out": zeros(7, 50), "length": 7, "channels": 50, "BLOCK": 32,
        },
    ),
    Case(
        key_gradient, (2,),
        lambda rng: {
            "q": floats(rng, 24, 16), "k": floats(rng, 24, 16), "v": floats(rng, 24, 16), "dy": floats(rng, 24, 16),
            "lses": abs(floats(rng, 24)) + 2, "deltas": floats(rng, 24), "dk": zeros(24, 16), "dv": zeros(24, 16), "n": 24, "scale": 0.25,
            "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        placed_values, (3,),
        lambda rng: {
            "x": _ints(rng, 0, 40, 300, kind=np.float32), "edges": np.sort(_ints(rng, 0, 40, 21, kind=np.float32)),
            "out": zeros(300, kind=np.int32), "n": 300, "count": 21, "STEPS": 6, "BLOCK": 128,
        },
    ),
    Case(
        merged_moments, (5,),
        lambda rng: {
            "x": floats(rng, 50, 5) + 1, "means": zeros(5), "variances": zeros(5), "running": floats(rng, 5), "rows": 50, "channels": 5,
            "rate": 0.1, "BLOCK": 64,
        },
    ),
    Case(rounded_bits, (3,), lambda rng: {"x": floats(rng, 300), "out": zeros(300), "n": 300, "seed": 7, "BLOCK": 128}),
    Case(
        shifted_tokens, (12,),
        lambda rng: {"x": floats(rng, 12, 50), "mixes": rng.random(50, np.float32), "out": zeros(12, 50), "length": 4, "n": 50, "BLOCK": 64},
    ),
    Case(
        pooled_windows, (3,),
        lambda rng: {
            "x": floats(rng, 3, 9, 11) - 1, "out": zeros(3, 5, 6), "H": 9, "W": 11, "OH": 5, "OW": 6, "stride": 2, "pad": 1, "SIDE": 3,
            "BLOCK": 32,
        },
    ),
    Case(solved_triangle, (2,), lambda rng: {"a": floats(rng, 2, 13, 13) / 4, "out": zeros(2, 13, 13), "n": 13, "N": 16}),
]  # fmt: skip
