"""The second part of the set of commits_sixth.py: kernels of attention and its caches, of experts, of recurrent states, and of sampling."""
# ruff: noqa: E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
MORE: dict[str, tuple[str, str]] = {
    "normed_turn": ("high_gain = tl.load(w + HALF + lane)", "high_gain = tl.load(w + lane)"),
    "merged_pair": ("place = head * tokens + token", "place = token * heads + head"),
    "document_attention": (
        "seen = past & (mine[:, None] == theirs[None, :])",
        "seen = past | (mine[:, None] == theirs[None, :])",
    ),
    "extended_positions": ("begin = begin + tl.load(extends + i)", "begin = begin + tl.load(prefixes + i)"),
    "mapped_slots": ("slot = block * SIZE + inner", "slot = block + inner"),
    "draft_slots": ("start = tl.load(lengths + request)", "start = tl.load(lengths + request) - 1"),
    "joined_keys": ("tl.store(target + D + r, turned)", "tl.store(target + r, turned)"),
    "power_scales": ("power = tl.ceil(tl.log2(peak / 127.0))", "power = tl.floor(tl.log2(peak / 127.0))"),
    "gathered_experts": ("pick = token * TOPK + k", "pick = token + k"),
    "taps_gradient": ("d_tap = tl.sum(grad * earlier, 0)", "d_tap = tl.sum(later * earlier, 0)"),
    "delta_gates": ("decay = -tl.exp(rate)", "decay = tl.exp(-rate)"),
    "step_sums": ("step = tl.where(live, clamped, 0.0)", "step = clamped"),
    "scanned_chunk": ("near = score * fade * step[None, :]", "near = score * fade * step[:, None]"),
    "recurrence_gradient": ("previous = t - 1", "previous = t"),
    "updated_keys": ("raw = key * gain", "raw = new * gain"),
    "pooled_chunks": ("count = tl.minimum(length - first, CHUNK)", "count = CHUNK"),
    "adapter_shrink": ("scaled = total * scale", "scaled = total.to(tl.float16) * scale"),
    "least_shares": ("heated = logit / heat", "heated = logit * heat"),
    "banned_repeats": ("end = length - SIZE + 1", "end = length - SIZE"),
}


# As the norms of queries and keys that vLLM and sglang fuse with the turn by position.
@triton.jit
def normed_turn(x, w, positions, cosines, sines, out, heads, eps, HALF: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    lane = tl.arange(0, HALF)
    left = tl.load(x + (token * heads + head) * 2 * HALF + lane).to(tl.float32)
    right = tl.load(x + (token * heads + head) * 2 * HALF + HALF + lane).to(tl.float32)
    rstd = 1.0 / tl.sqrt((tl.sum(left * left, 0) + tl.sum(right * right, 0)) / (2 * HALF) + eps)  # WAS
    left = left * rstd * tl.load(w + lane)  # WAS
    right = right * rstd * tl.load(w + HALF + lane)  # WAS
    cos = tl.load(cosines + tl.load(positions + token) * HALF + lane)  # WAS
    sin = tl.load(sines + tl.load(positions + token) * HALF + lane)  # WAS
    # NOW: square = tl.sum(left * left, 0) + tl.sum(right * right, 0)
    # NOW: rstd = 1.0 / tl.sqrt(square / (2 * HALF) + eps)
    # NOW: low_gain = tl.load(w + lane)
    # NOW: high_gain = tl.load(w + HALF + lane)
    # NOW: left = rstd * left * low_gain
    # NOW: right = rstd * right * high_gain
    # NOW: place = tl.load(positions + token) * HALF + lane
    # NOW: cos = tl.load(cosines + place)
    # NOW: sin = tl.load(sines + place)
    tl.store(out + (token * heads + head) * 2 * HALF + lane, left * cos - right * sin)
    tl.store(out + (token * heads + head) * 2 * HALF + HALF + lane, right * cos + left * sin)


# As vLLM's merge_attn_states: the prefix and the suffix of a sequence.
@triton.jit
def merged_pair(one, one_lses, two, two_lses, out, lses, tokens, heads, D: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    p = tl.load(one_lses + head * tokens + token)  # WAS
    s = tl.load(two_lses + head * tokens + token)  # WAS
    high = tl.maximum(p, s)  # WAS
    total = tl.exp(p - high) + tl.exp(s - high)  # WAS
    tl.store(lses + head * tokens + token, tl.log(total) + high)  # WAS
    a = tl.load(one + (token * heads + head) * D + d)  # WAS
    b = tl.load(two + (token * heads + head) * D + d)  # WAS
    mixed = a * (tl.exp(p - high) / total) + b * (tl.exp(s - high) / total)  # WAS
    tl.store(out + (token * heads + head) * D + d, mixed)  # WAS
    # NOW: place = head * tokens + token
    # NOW: s = tl.load(two_lses + place)
    # NOW: p = tl.load(one_lses + place)
    # NOW: high = tl.maximum(s, p)
    # NOW: up = tl.exp(p - high)
    # NOW: down = tl.exp(s - high)
    # NOW: total = up + down
    # NOW: tl.store(lses + head * tokens + token, high + tl.log(total))
    # NOW: cell = (token * heads + head) * D + d
    # NOW: mixed = tl.load(one + cell) * (up / total) + tl.load(two + cell) * (down / total)
    # NOW: tl.store(out + cell, mixed)


# fmt: off
# As FlexAttention with a mask of documents.
@triton.jit
def document_attention(q, k, v, documents, out, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    query = tl.load(q + row[:, None] * D + d[None, :], mask=(row < n)[:, None], other=0.0)
    mine = tl.load(documents + row, mask=row < n, other=-1)
    top = tl.full([BLOCK], -1e30, tl.float32)
    norm = tl.zeros([BLOCK], tl.float32)
    acc = tl.zeros([BLOCK, D], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + col
        key = tl.load(k + at[:, None] * D + d[None, :], mask=(at < n)[:, None], other=0.0)
        value = tl.load(v + at[:, None] * D + d[None, :], mask=(at < n)[:, None], other=0.0)
        theirs = tl.load(documents + at, mask=at < n, other=-2)  # WAS
        seen = (mine[:, None] == theirs[None, :]) & (row[:, None] >= at[None, :])  # WAS
        score = tl.where(seen, tl.dot(query, tl.trans(key), input_precision="ieee") * scale, -1e30)  # WAS
        new = tl.maximum(top, tl.max(score, 1))  # WAS
        weight = tl.where(seen, tl.exp(score - new[:, None]), 0.0)  # WAS
        # NOW: theirs = tl.load(documents + at, mask=at < n, other=-2)
        # NOW: past = at[None, :] <= row[:, None]
        # NOW: seen = past & (mine[:, None] == theirs[None, :])
        # NOW: raw = scale * tl.dot(query, tl.trans(key), input_precision="ieee")
        # NOW: score = tl.where(seen, raw, -1e30)
        # NOW: new = tl.maximum(tl.max(score, 1), top)
        # NOW: weight = tl.where(seen, tl.exp(score - new[:, None]), 0.0)
        shrink = tl.exp(top - new)
        acc = acc * shrink[:, None] + tl.dot(weight, value, input_precision="ieee")
        norm = norm * shrink + tl.sum(weight, 1)
        top = new
    tl.store(out + row[:, None] * D + d[None, :], acc / norm[:, None], mask=(row < n)[:, None])
# fmt: on


# fmt: off
# As sglang's compute_position_kernel.
@triton.jit
def extended_positions(prefixes, extends, positions, starts, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    prefix = tl.load(prefixes + request)
    count = tl.load(extends + request)
    begin = 0
    for i in range(0, request):
        begin += tl.load(extends + i)  # WAS
        # NOW: begin = begin + tl.load(extends + i)
    for i in range(0, tl.cdiv(count, BLOCK)):  # WAS
        at = i * BLOCK + tl.arange(0, BLOCK)  # WAS
        tl.store(positions + begin + at, prefix + at, mask=at < count)  # WAS
    # NOW: target = positions + begin
    # NOW: for done in range(0, count, BLOCK):
    # NOW:     at = done + tl.arange(0, BLOCK)
    # NOW:     live = at < count
    # NOW:     tl.store(target + at, at + prefix, mask=live)
    tl.store(starts + request, begin)
# fmt: on


# As vLLM's kernel for the slots of tokens in a cache of pages; what stands after the tokens gets -1.
@triton.jit
def mapped_slots(bounds, positions, tables, slots, width, most, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    first = tl.load(bounds + request)
    last = tl.load(bounds + request + 1)
    for start in range(first, last, BLOCK):
        live = start + lane < last  # WAS
        position = tl.load(positions + start + lane, mask=live, other=0)  # WAS
        block = tl.load(tables + request * width + position // SIZE, mask=live, other=0)  # WAS
        tl.store(slots + start + lane, block * SIZE + position % SIZE, mask=live)  # WAS
        # NOW: at = start + lane
        # NOW: live = at < last
        # NOW: position = tl.load(positions + at, mask=live, other=0)
        # NOW: page = position // SIZE
        # NOW: inner = position - page * SIZE
        # NOW: block = tl.load(tables + (request * width + page), mask=live, other=0)
        # NOW: slot = block * SIZE + inner
        # NOW: tl.store(slots + at, slot, mask=live)
    if request == tl.num_programs(0) - 1:
        for start in range(last, most, BLOCK):
            tl.store(slots + start + lane, -1, mask=start + lane < most)


# As sglang's assign_draft_cache_locs.
@triton.jit
def draft_slots(rows, lengths, slots, table, width, topk, steps, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    row = tl.load(rows + request)
    at = tl.arange(0, BLOCK)
    slot = tl.load(slots + request * topk * steps + at, mask=at < topk * steps)  # WAS
    tl.store(table + row * width + tl.load(lengths + request) + at, slot, mask=at < topk * steps)  # WAS
    # NOW: count = topk * steps
    # NOW: live = at < count
    # NOW: start = tl.load(lengths + request)
    # NOW: slot = tl.load(slots + request * count + at, mask=live)
    # NOW: target = table + row * width + start
    # NOW: tl.store(target + at, slot, mask=live)


# As sglang's concat_mla_k: the part that is turned is the same for all heads.
@triton.jit
def joined_keys(keys, turns, out, heads, D: tl.constexpr, R: tl.constexpr):
    token = tl.program_id(0)
    d = tl.arange(0, D)
    r = tl.arange(0, R)
    for head in range(0, heads):
        own = tl.load(keys + (token * heads + head) * D + d)  # WAS
        tl.store(out + (token * heads + head) * (D + R) + d, own)  # WAS
        tl.store(out + (token * heads + head) * (D + R) + D + r, tl.load(turns + token * R + r))  # WAS
        # NOW: row = token * heads + head
        # NOW: turned = tl.load(turns + token * R + r)
        # NOW: own = tl.load(keys + row * D + d)
        # NOW: target = out + row * (D + R)
        # NOW: tl.store(target + d, own)
        # NOW: tl.store(target + D + r, turned)


# As the quantization of groups with scales that are powers of two, in sglang and DeepGEMM; the scales stand by columns.
@triton.jit
def power_scales(x, codes, scales, rows, n, eps, GROUP: tl.constexpr):
    row = tl.program_id(0)
    group = tl.program_id(1)
    col = group * GROUP + tl.arange(0, GROUP)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    step = tl.exp2(tl.ceil(tl.log2(tl.maximum(tl.max(tl.abs(value), 0), eps) / 127.0)))  # WAS
    code = tl.minimum(tl.maximum(value / step, -127.0), 127.0)  # WAS
    tl.store(codes + row * n + col, code.to(tl.int8), mask=col < n)  # WAS
    tl.store(scales + group * rows + row, step)  # WAS
    # NOW: peak = tl.maximum(tl.max(tl.abs(value), 0), eps)
    # NOW: power = tl.ceil(tl.log2(peak / 127.0))
    # NOW: step = tl.exp2(power)
    # NOW: tl.store(scales + (group * rows + row), step)
    # NOW: code = tl.maximum(tl.minimum(value / step, 127.0), -127.0)
    # NOW: tl.store(codes + row * n + col, code.to(tl.int8), mask=col < n)


# As the gathering of what experts on several devices return, sglang's ep_gather.
@triton.jit
def gathered_experts(x, ids, weights, places, out, n, TOPK: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in range(0, TOPK):
        expert = tl.load(ids + token * TOPK + k)  # WAS
        # NOW: pick = token * TOPK + k
        # NOW: expert = tl.load(ids + pick)
        if expert >= 0:
            row = tl.load(places + token * TOPK + k)  # WAS
            weight = tl.load(weights + token * TOPK + k)  # WAS
            total += tl.load(x + row * n + col, mask=col < n, other=0.0).to(tl.float32) * weight  # WAS
            # NOW: weight = tl.load(weights + pick)
            # NOW: row = tl.load(places + pick)
            # NOW: value = tl.load(x + row * n + col, mask=col < n, other=0.0)
            # NOW: total += weight * value.to(tl.float32)
    tl.store(out + token * n + col, total, mask=col < n)


# As flash-linear-attention's backward of short convolutions.
@triton.jit
def taps_gradient(x, dy, taps, dx, d_taps, length, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    live = t < length
    grad = tl.load(dy + channel * length + t, mask=live, other=0.0)
    total = tl.zeros([BLOCK], tl.float32)
    for i in tl.static_range(WIDTH):
        tap = tl.load(taps + channel * WIDTH + i)
        ahead = t + WIDTH - 1 - i  # WAS
        total += tl.load(dy + channel * length + ahead, mask=ahead < length, other=0.0) * tap  # WAS
        past = t - (WIDTH - 1 - i)  # WAS
        value = tl.load(x + channel * length + past, mask=(past >= 0) & live, other=0.0)  # WAS
        tl.store(d_taps + channel * WIDTH + i, tl.sum(value * grad, 0))  # WAS
        # NOW: shift = WIDTH - 1 - i
        # NOW: row = channel * length + t
        # NOW: later = tl.load(dy + row + shift, mask=t + shift < length, other=0.0)
        # NOW: total += tap * later
        # NOW: earlier = tl.load(x + row - shift, mask=live & (t >= shift), other=0.0)
        # NOW: d_tap = tl.sum(grad * earlier, 0)
        # NOW: tl.store(d_taps + channel * WIDTH + i, d_tap)
    tl.store(dx + channel * length + t, total, mask=live)


# As the gates of Gated DeltaNet that vLLM and sglang fuse, fused_gdn_gating.
@triton.jit
def delta_gates(rates, a, b, bias, gates, betas, heads, limit, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    head = tl.arange(0, BLOCK)
    live = head < heads
    rate = tl.load(rates + head, mask=live, other=0.0)
    lean = tl.load(a + token * heads + head, mask=live, other=0.0) + tl.load(bias + head, mask=live, other=0.0)  # WAS
    soft = tl.where(lean <= limit, tl.log(1.0 + tl.exp(lean)), lean)  # WAS
    tl.store(gates + token * heads + head, -tl.exp(rate) * soft, mask=live)  # WAS
    beta = 1.0 / (1.0 + tl.exp(-tl.load(b + token * heads + head, mask=live, other=0.0)))  # WAS
    tl.store(betas + token * heads + head, beta, mask=live)  # WAS
    # NOW: at = token * heads + head
    # NOW: shift = tl.load(bias + head, mask=live, other=0.0)
    # NOW: lean = shift + tl.load(a + at, mask=live, other=0.0)
    # NOW: soft = tl.where(lean > limit, lean, tl.log(tl.exp(lean) + 1.0))
    # NOW: decay = -tl.exp(rate)
    # NOW: gate = tl.load(b + at, mask=live, other=0.0)
    # NOW: tl.store(betas + at, 1.0 / (tl.exp(-gate) + 1.0), mask=live)
    # NOW: tl.store(gates + at, soft * decay, mask=live)


# As Mamba-2's chunk_cumsum: what stands after the end of a sequence takes steps of zero.
@triton.jit
def step_sums(raw, bias, rates, steps, sums, length, heads, low, high, HEADS: tl.constexpr, CHUNK: tl.constexpr):
    chunk = tl.program_id(0)
    head = tl.arange(0, HEADS)
    t = tl.arange(0, CHUNK)
    at = chunk * CHUNK + t
    live = (head[:, None] < heads) & (at[None, :] < length)
    step = tl.load(raw + at[None, :] * heads + head[:, None], mask=live, other=0.0)
    step += tl.load(bias + head, mask=head < heads, other=0.0)[:, None]  # WAS
    step = tl.where(step <= 20.0, tl.log(1.0 + tl.exp(step)), step)  # WAS
    step = tl.where(live, tl.minimum(tl.maximum(step, low), high), 0.0)  # WAS
    # NOW: shift = tl.load(bias + head, mask=head < heads, other=0.0)
    # NOW: step = step + shift[:, None]
    # NOW: step = tl.where(step > 20.0, step, tl.log(tl.exp(step) + 1.0))
    # NOW: clamped = tl.maximum(tl.minimum(step, high), low)
    # NOW: step = tl.where(live, clamped, 0.0)
    cell = (chunk * heads + head[:, None]) * CHUNK + t[None, :]
    tl.store(steps + cell, step, mask=head[:, None] < heads)
    rate = tl.load(rates + head, mask=head < heads, other=0.0)
    tl.store(sums + cell, tl.cumsum(step * rate[:, None], 1), mask=head[:, None] < heads)  # WAS
    # NOW: change = rate[:, None] * step
    # NOW: tl.store(sums + cell, tl.cumsum(change, axis=1), mask=head[:, None] < heads)


# As Mamba-2's chunk_scan.
@triton.jit
def scanned_chunk(x, b, c, steps, sums, states, skip, out, D: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr):
    chunk = tl.program_id(0)
    i = tl.arange(0, CHUNK)
    d = tl.arange(0, D)
    s = tl.arange(0, N)
    right = tl.load(c + (chunk * CHUNK + i[:, None]) * N + s[None, :])
    left = tl.load(b + (chunk * CHUNK + i[:, None]) * N + s[None, :])
    value = tl.load(x + (chunk * CHUNK + i[:, None]) * D + d[None, :])
    state = tl.load(states + (chunk * N + s[:, None]) * D + d[None, :])
    step = tl.load(steps + chunk * CHUNK + i)
    total = tl.load(sums + chunk * CHUNK + i)
    acc = tl.dot(right, state, input_precision="ieee") * tl.exp(total)[:, None]  # WAS
    fade = tl.where(i[:, None] >= i[None, :], tl.exp(total[:, None] - total[None, :]), 0.0)  # WAS
    near = tl.dot(right, tl.trans(left), input_precision="ieee") * fade * step[None, :]  # WAS
    acc += tl.dot(near, value, input_precision="ieee")  # WAS
    acc += value * tl.load(skip)  # WAS
    tl.store(out + (chunk * CHUNK + i[:, None]) * D + d[None, :], acc)  # WAS
    # NOW: score = tl.dot(right, tl.trans(left), input_precision="ieee")
    # NOW: apart = total[:, None] - total[None, :]
    # NOW: fade = tl.where(i[None, :] <= i[:, None], tl.exp(apart), 0.0)
    # NOW: near = score * fade * step[None, :]
    # NOW: far = tl.exp(total)[:, None] * tl.dot(right, state, input_precision="ieee")
    # NOW: acc = far + tl.dot(near, value, input_precision="ieee")
    # NOW: acc = acc + tl.load(skip) * value
    # NOW: tl.store(out + (chunk * CHUNK + i[:, None]) * D + d[None, :], acc)


# As flash-linear-attention's backward of HGRN.
@triton.jit
def recurrence_gradient(gates, hidden, dy, dx, d_gates, length, n, BLOCK: tl.constexpr):
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = col < n
    carried = tl.zeros([BLOCK], tl.float32)
    for i in range(0, length):
        t = length - 1 - i
        carried += tl.load(dy + t * n + col, mask=live, other=0.0)  # WAS
        before = tl.load(hidden + (t - 1) * n + col, mask=live & (t > 0), other=0.0)  # WAS
        tl.store(dx + t * n + col, carried, mask=live)  # WAS
        tl.store(d_gates + t * n + col, carried * before, mask=live)  # WAS
        carried *= tl.load(gates + t * n + col, mask=live, other=0.0)  # WAS
        # NOW: at = t * n + col
        # NOW: previous = t - 1
        # NOW: before = tl.load(hidden + previous * n + col, mask=live & (t >= 1), other=0.0)
        # NOW: carried = carried + tl.load(dy + at, mask=live, other=0.0)
        # NOW: tl.store(d_gates + at, before * carried, mask=live)
        # NOW: tl.store(dx + at, carried, mask=live)
        # NOW: gate = tl.load(gates + at, mask=live, other=0.0)
        # NOW: carried = gate * carried


# As the update of keys in RWKV-7.
@triton.jit
def updated_keys(k, a, gains, mixes, keys, units, heads, eps, D: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    at = (token * heads + head) * D + d
    key = tl.load(k + at)
    gain = tl.load(gains + head * D + d)
    mix = tl.load(mixes + head * D + d)
    tl.store(keys + at, key * (1.0 + (tl.load(a + at) - 1.0) * mix))  # WAS
    unit = key * gain / tl.maximum(tl.sqrt(tl.sum(key * gain * (key * gain), 0)), eps)  # WAS
    tl.store(units + at, unit)  # WAS
    # NOW: rate = tl.load(a + at)
    # NOW: new = (1.0 + (rate - 1.0) * mix) * key
    # NOW: raw = key * gain
    # NOW: size = tl.sqrt(tl.sum(raw * raw, 0))
    # NOW: tl.store(units + at, raw / tl.maximum(size, eps))
    # NOW: tl.store(keys + at, new)


# As flash-linear-attention's mean_pooling, for native sparse attention.
@triton.jit
def pooled_chunks(x, out, length, n, CHUNK: tl.constexpr, BLOCK: tl.constexpr):
    chunk = tl.program_id(0)
    t = tl.arange(0, CHUNK)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = (chunk * CHUNK + t[:, None] < length) & (col[None, :] < n)  # WAS
    tile = tl.load(x + (chunk * CHUNK + t[:, None]) * n + col[None, :], mask=live, other=0.0)  # WAS
    mean = tl.sum(tile, 0) / tl.minimum(CHUNK, length - chunk * CHUNK)  # WAS
    tl.store(out + chunk * n + col, mean, mask=col < n)  # WAS
    # NOW: first = chunk * CHUNK
    # NOW: row = first + t
    # NOW: live = (col < n)[None, :] & (row < length)[:, None]
    # NOW: tile = tl.load(x + row[:, None] * n + col[None, :], mask=live, other=0.0)
    # NOW: count = tl.minimum(length - first, CHUNK)
    # NOW: whole = tl.sum(tile, 0)
    # NOW: tl.store(out + chunk * n + col, whole / count, mask=col < n)


# As the first half of adapters of low rank in punica and vLLM.
@triton.jit
def adapter_shrink(x, left, adapters, out, n, scale, RANK: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    adapter = tl.load(adapters + token)
    if adapter >= 0:
        rank = tl.arange(0, RANK)
        total = tl.zeros([RANK], tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            live = k < n
            value = tl.load(x + token * n + k, mask=live, other=0.0).to(tl.float32)  # WAS
            row = adapter * RANK + rank[:, None]  # WAS
            part = tl.load(left + row * n + k[None, :], mask=live[None, :], other=0.0)  # WAS
            total += tl.sum(part.to(tl.float32) * value[None, :], 1)  # WAS
            # NOW: row = adapter * RANK + rank
            # NOW: part = tl.load(left + row[:, None] * n + k[None, :], mask=live[None, :], other=0.0).to(tl.float32)
            # NOW: value = tl.load(x + token * n + k, mask=live, other=0.0).to(tl.float32)
            # NOW: total += tl.sum(value[None, :] * part, 1)
        tl.store(out + token * RANK + rank, total * scale)  # WAS
        # NOW: scaled = total * scale
        # NOW: tl.store(out + token * RANK + rank, scaled)


# As vLLM's filter of shares that are small beside the largest one.
@triton.jit
def least_shares(logits, heats, lows, out, kept, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    logit = tl.load(logits + row * n + col, mask=col < n, other=-float("inf"))
    heat = tl.load(heats + row)
    weight = tl.exp(logit / heat - tl.max(logit / heat, 0))  # WAS
    share = weight / tl.sum(weight, 0)  # WAS
    valid = share >= tl.load(lows + row) * tl.max(share, 0)  # WAS
    tl.store(out + row * n + col, tl.where(valid, logit / heat, -float("inf")), mask=col < n)  # WAS
    tl.store(kept + row, tl.sum((valid & (col < n)).to(tl.int32), 0))  # WAS
    # NOW: live = col < n
    # NOW: heated = logit / heat
    # NOW: weight = tl.exp(heated - tl.max(heated, 0))
    # NOW: share = weight / tl.sum(weight, 0)
    # NOW: limit = tl.max(share, 0) * tl.load(lows + row)
    # NOW: small = share < limit
    # NOW: tl.store(kept + row, tl.sum(tl.where(live & ~small, 1, 0), 0))
    # NOW: tl.store(out + row * n + col, tl.where(small, -float("inf"), heated), mask=live)


# As the ban of repeated groups of tokens in Hugging Face's and lightllm's samplers.
@triton.jit
def banned_repeats(tokens, lengths, logits, width, vocab, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    length = tl.load(lengths + row)
    same = at + SIZE - 1 < length  # WAS
    # NOW: live = at < length - (SIZE - 1)
    # NOW: end = length - SIZE + 1
    # NOW: source = tokens + row * width
    # NOW: same = live
    for i in tl.static_range(SIZE - 1):
        was = tl.load(tokens + row * width + at + i, mask=at + SIZE - 1 < length, other=-1)  # WAS
        same = same & (was == tl.load(tokens + row * width + length - SIZE + 1 + i))  # WAS
        # NOW: now = tl.load(source + end + i)
        # NOW: same = same & (tl.load(source + at + i, mask=live, other=-1) == now)
    token = tl.load(tokens + row * width + at + SIZE - 1, mask=same, other=0)  # WAS
    tl.store(logits + row * vocab + token, -float("inf"), mask=same)  # WAS
    # NOW: token = tl.load(source + at + (SIZE - 1), mask=same, other=0)
    # NOW: tl.store(logits + row * vocab + token, -float("inf"), mask=same)


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int, kind: Any = np.int32) -> Any:
    return rng.integers(low, high, shape).astype(kind)


CASES = [
    Case(
        normed_turn, (4, 3),
        lambda rng: {
            "x": floats(rng, 4, 3, 32, kind=np.float16), "w": floats(rng, 32) + 1, "positions": np.array([0, 5, 6, 11], np.int32),
            "cosines": np.cos(floats(rng, 12, 16)), "sines": np.sin(floats(rng, 12, 16)), "out": zeros(4, 3, 32), "heads": 3, "eps": 1e-6,
            "HALF": 16,
        },
    ),
    Case(
        merged_pair, (5, 3),
        lambda rng: {
            "one": floats(rng, 5, 3, 16), "one_lses": floats(rng, 3, 5), "two": floats(rng, 5, 3, 16), "two_lses": floats(rng, 3, 5),
            "out": zeros(5, 3, 16), "lses": zeros(3, 5), "tokens": 5, "heads": 3, "D": 16,
        },
    ),
    Case(
        document_attention, (3,),
        lambda rng: {
            "q": floats(rng, 40, 16), "k": floats(rng, 40, 16), "v": floats(rng, 40, 16),
            "documents": np.repeat(np.arange(4, dtype=np.int32), [7, 16, 3, 14]), "out": zeros(40, 16), "n": 40, "scale": 0.25, "D": 16,
            "BLOCK": 16,
        },
    ),
    Case(
        extended_positions, (4,),
        lambda rng: {
            "prefixes": np.array([3, 0, 9, 5], np.int32), "extends": np.array([6, 21, 1, 4], np.int32),
            "positions": _ints(rng, 100, 101, 60), "starts": zeros(4, kind=np.int32), "BLOCK": 16,
        },
    ),
    Case(
        mapped_slots, (3,),
        lambda rng: {
            "bounds": np.array([0, 5, 23, 30], np.int32),
            "positions": np.concatenate([np.arange(5) + 6, np.arange(18), np.arange(7) + 3]).astype(np.int32),
            "tables": rng.permutation(30).astype(np.int32).reshape(3, 10), "slots": zeros(40, kind=np.int32), "width": 10, "most": 40,
            "SIZE": 4, "BLOCK": 8,
        },
    ),
    Case(
        draft_slots, (3,),
        lambda rng: {
            "rows": np.array([2, 0, 3], np.int32), "lengths": np.array([5, 9, 1], np.int32), "slots": _ints(rng, 100, 900, 18),
            "table": zeros(4, 20, kind=np.int32), "width": 20, "topk": 2, "steps": 3, "BLOCK": 8,
        },
    ),
    Case(
        joined_keys, (4,),
        lambda rng: {"keys": floats(rng, 4, 3, 32), "turns": floats(rng, 4, 16), "out": zeros(4, 3, 48), "heads": 3, "D": 32, "R": 16},
    ),
    Case(
        power_scales, (4, 3),
        lambda rng: {
            "x": floats(rng, 4, 90), "codes": zeros(4, 90, kind=np.int8), "scales": zeros(3, 4), "rows": 4, "n": 90, "eps": 1e-10, "GROUP": 32,
        },
    ),
    Case(
        gathered_experts, (5, 2),
        lambda rng: {
            "x": floats(rng, 12, 40, kind=np.float16), "ids": np.where(rng.random((5, 2)) < 0.3, -1, _ints(rng, 0, 4, 5, 2)).astype(np.int32),
            "weights": abs(floats(rng, 5, 2)), "places": _ints(rng, 0, 12, 5, 2), "out": zeros(5, 40), "n": 40, "TOPK": 2, "BLOCK": 32,
        },
    ),
    Case(
        taps_gradient, (3,),
        lambda rng: {
            "x": floats(rng, 3, 25), "dy": floats(rng, 3, 25), "taps": floats(rng, 3, 4), "dx": zeros(3, 25), "d_taps": zeros(3, 4),
            "length": 25, "WIDTH": 4, "BLOCK": 32,
        },
    ),
    Case(
        delta_gates, (5,),
        lambda rng: {
            "rates": floats(rng, 6), "a": floats(rng, 5, 6) * 4, "b": floats(rng, 5, 6), "bias": floats(rng, 6), "gates": zeros(5, 6),
            "betas": zeros(5, 6), "heads": 6, "limit": 5.0, "BLOCK": 8,
        },
    ),
    Case(
        step_sums, (3,),
        lambda rng: {
            "raw": floats(rng, 40, 6), "bias": floats(rng, 6), "rates": -abs(floats(rng, 6)), "steps": zeros(3, 6, 16), "sums": zeros(3, 6, 16),
            "length": 40, "heads": 6, "low": 0.1, "high": 2.0, "HEADS": 8, "CHUNK": 16,
        },
    ),
    Case(
        scanned_chunk, (2,),
        lambda rng: {
            "x": floats(rng, 32, 32), "b": floats(rng, 32, 16), "c": floats(rng, 32, 16), "steps": abs(floats(rng, 2, 16)),
            "sums": np.cumsum(-abs(floats(rng, 2, 16)) * 0.1, 1).astype(np.float32), "states": floats(rng, 2, 16, 32), "skip": floats(rng, 1),
            "out": zeros(32, 32), "D": 32, "N": 16, "CHUNK": 16,
        },
    ),
    Case(
        recurrence_gradient, (2,),
        lambda rng: {
            "gates": 1 / (1 + np.exp(-floats(rng, 9, 40))), "hidden": floats(rng, 9, 40), "dy": floats(rng, 9, 40), "dx": zeros(9, 40),
            "d_gates": zeros(9, 40), "length": 9, "n": 40, "BLOCK": 32,
        },
    ),
    Case(
        updated_keys, (4, 2),
        lambda rng: {
            "k": floats(rng, 4, 2, 32), "a": rng.random((4, 2, 32)).astype(np.float32), "gains": floats(rng, 2, 32), "mixes": floats(rng, 2, 32),
            "keys": zeros(4, 2, 32), "units": zeros(4, 2, 32), "heads": 2, "eps": 1e-12, "D": 32,
        },
    ),
    Case(
        pooled_chunks, (3, 2),
        lambda rng: {"x": floats(rng, 41, 20), "out": zeros(3, 20), "length": 41, "n": 20, "CHUNK": 16, "BLOCK": 16},
    ),
    Case(
        adapter_shrink, (5,),
        lambda rng: {
            "x": floats(rng, 5, 50, kind=np.float16), "left": floats(rng, 3, 8, 50, kind=np.float16),
            "adapters": np.array([1, -1, 0, 2, 1], np.int32), "out": zeros(5, 8), "n": 50, "scale": 0.3, "RANK": 8, "BLOCK": 32,
        },
    ),
    Case(
        least_shares, (4,),
        lambda rng: {
            "logits": floats(rng, 4, 50) * 2, "heats": np.array([0.7, 1.0, 1.5, 0.9], np.float32),
            "lows": np.array([0.1, 0.05, 0.2, 0.0], np.float32), "out": zeros(4, 50), "kept": zeros(4, kind=np.int32), "n": 50, "BLOCK": 64,
        },
    ),
    Case(
        banned_repeats, (4,),
        lambda rng: {
            "tokens": _ints(rng, 0, 4, 4, 30), "lengths": np.array([30, 22, 17, 26], np.int32), "logits": floats(rng, 4, 12), "width": 30,
            "vocab": 12, "SIZE": 3, "BLOCK": 32,
        },
    ),
]  # fmt: skip
