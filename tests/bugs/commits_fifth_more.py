"""The second part of the set of commits_fifth.py: kernels of recurrent states, of packed weights, of experts, and of sampling."""
# ruff: noqa: E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
MORE: dict[str, tuple[str, str]] = {
    "unit_gradient": ("rstd = 1.0 / tl.sqrt(square + eps)", "rstd = 1.0 / (tl.sqrt(square) + eps)"),
    "bonus_recurrence": ("seen = state + bonus[:, None] * pair", "seen = state * bonus[:, None] + pair"),
    "chunk_outer_states": ("last = base + limit - 1", "last = base + CHUNK - 1"),
    "passed_states": ("here = tl.load(sequences + end - 1)", "here = tl.load(sequences + chunk * CHUNK)"),
    "gated_norm": ("gated = value * (z / (1.0 + tl.exp(-z)))", "gated = value * (1.0 / (1.0 + tl.exp(-z)))"),
    "adapter_expand": ("held = adapter >= 0", "held = adapter > 0"),
    "reordered_nibbles": ("zero = (offsets >> shift) & 15", "zero = offsets >> shift"),
    "indexed_groups": ("zero = ((packed_zero >> zero_shift) & 15) + 1", "zero = (packed_zero >> zero_shift) & 15"),
    "shared_exponents": ("code = tl.where(odd, pair >> 4, pair & 15)", "code = tl.where(odd, pair & 15, pair >> 4)"),
    "padded_scatter": ("weight = tl.load(weights + index)", "weight = tl.load(weights + pid)"),
    "expert_product": (
        "weighted = total * weight[:, None]",
        "weighted = total.to(tl.float16) * weight[:, None]",
    ),
    "renormalised_gates": ('rest = tl.where(e != pick, rest, -float("inf"))', "rest = tl.where(e != pick, rest, 0.0)"),
    "penalised_logits": (
        "logit = tl.where(logit > 0.0, logit / repeat, logit * repeat)",
        "logit = logit / repeat",
    ),
    "ranked_logprobs": ("above = logit > own", "above = logit >= own"),
    "masked_by_bits": ("bit = col % 32", "bit = 31 - col % 32"),
    "resized_image": ("x0 = (ow + 0.5) * across - 0.5", "x0 = ow * across"),
    "reflected_border": ("h = tl.abs(at // OW - top)", "h = tl.abs(at // OW - left)"),
}


# As flash-linear-attention's backward of the l2 norm.
@triton.jit
def unit_gradient(dy, x, dx, rows, n, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, BLOCK)
    live = (row < rows)[:, None] & (col < n)[None, :]
    value = tl.load(x + row[:, None] * n + col[None, :], mask=live, other=0.0)
    grad = tl.load(dy + row[:, None] * n + col[None, :], mask=live, other=0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(value * value, 1) + eps)  # WAS
    y = value * rstd[:, None]  # WAS
    slope = grad * rstd[:, None] - tl.sum(grad * y, 1)[:, None] * y * rstd[:, None]  # WAS
    tl.store(dx + row[:, None] * n + col[None, :], slope, mask=live)  # WAS
    # NOW: square = tl.sum(value * value, 1)
    # NOW: rstd = 1.0 / tl.sqrt(square + eps)
    # NOW: y = rstd[:, None] * value
    # NOW: along = tl.sum(y * grad, 1)
    # NOW: back = along[:, None] * y * rstd[:, None]
    # NOW: cell = row[:, None] * n + col[None, :]
    # NOW: tl.store(dx + cell, grad * rstd[:, None] - back, mask=live)


# As flash-linear-attention's recurrence of RWKV-6: the token itself counts with a bonus.
@triton.jit
def bonus_recurrence(r, k, v, logs, bonuses, out, final, heads, length, D: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, D)
    bonus = tl.load(bonuses + pid % heads * D + i)
    state = tl.zeros([D, D], tl.float32)
    for t in range(0, length):
        at = (pid * length + t) * D + i
        key = tl.load(k + at)  # WAS
        value = tl.load(v + at)  # WAS
        query = tl.load(r + at)
        total = tl.sum((state + bonus[:, None] * (key[:, None] * value[None, :])) * query[:, None], 0)  # WAS
        tl.store(out + at, total)  # WAS
        state = state * tl.exp(tl.load(logs + at))[:, None] + key[:, None] * value[None, :]  # WAS
        # NOW: pair = tl.load(k + at)[:, None] * tl.load(v + at)[None, :]
        # NOW: seen = state + bonus[:, None] * pair
        # NOW: tl.store(out + at, tl.sum(query[:, None] * seen, 0))
        # NOW: keep = tl.exp(tl.load(logs + at))
        # NOW: state = keep[:, None] * state + pair
    tl.store(final + pid * D * D + i[:, None] * D + i[None, :], state)


# As Mamba-2's chunk_state.
@triton.jit
def chunk_outer_states(
    x, b, steps, sums, states, length, heads, chunks, CHUNK: tl.constexpr, P: tl.constexpr, N: tl.constexpr
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, CHUNK)
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    limit = tl.minimum(CHUNK, length - chunk * CHUNK)
    live = i < limit
    row = (head * chunks + chunk) * CHUNK  # WAS
    total = tl.load(sums + row + limit - 1)  # WAS
    decay = tl.exp(total - tl.load(sums + row + i, mask=live, other=0.0))  # WAS
    decay *= tl.load(steps + row + i, mask=live, other=0.0)  # WAS
    # NOW: base = (head * chunks + chunk) * CHUNK
    # NOW: step = tl.load(steps + base + i, mask=live, other=0.0)
    # NOW: sum = tl.load(sums + base + i, mask=live, other=0.0)
    # NOW: last = base + limit - 1
    # NOW: decay = step * tl.exp(tl.load(sums + last) - sum)
    t = chunk * CHUNK + i
    value = tl.load(x + (t[:, None] * heads + head) * P + p[None, :], mask=live[:, None], other=0.0)
    into = tl.load(b + t[:, None] * N + n[None, :], mask=live[:, None], other=0.0)
    state = tl.dot(tl.trans(value), into * decay[:, None], input_precision="ieee")
    place = ((chunk * heads + head) * P + p[:, None]) * N + n[None, :]
    tl.store(states + place, state)


# As Mamba-2's state_passing, with several sequences in a row.
@triton.jit
def passed_states(states, decays, sequences, out, final, chunks, length, CHUNK: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    state = tl.zeros([D], tl.float32)
    before = 0
    for chunk in range(0, chunks):
        at = (head * chunks + chunk) * D + d
        tl.store(out + at, state)
        here = tl.load(sequences + tl.minimum((chunk + 1) * CHUNK, length) - 1)  # WAS
        keep = tl.where(here == before, tl.exp(tl.load(decays + head * chunks + chunk)), 0.0)  # WAS
        state = keep * state + tl.load(states + at)  # WAS
        # NOW: end = tl.minimum(chunk * CHUNK + CHUNK, length)
        # NOW: here = tl.load(sequences + end - 1)
        # NOW: decay = tl.exp(tl.load(decays + head * chunks + chunk))
        # NOW: keep = tl.where(here != before, 0.0, decay)
        # NOW: state = state * keep + tl.load(states + at)
        before = here
    tl.store(final + head * D + d, state)


# As Mamba-2's norm of groups, after the gate.
@triton.jit
def gated_norm(x, gates, w, out, rstds, n, size, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    group = tl.program_id(1)
    col = tl.arange(0, BLOCK)
    live = col < size
    at = row * n + group * size + col
    z = tl.load(gates + at, mask=live, other=0.0)  # WAS
    value = tl.load(x + at, mask=live, other=0.0) * (z / (1.0 + tl.exp(-z)))  # WAS
    rstd = 1.0 / tl.sqrt(tl.sum(value * value, 0) / size + eps)  # WAS
    value *= rstd * tl.load(w + group * size + col, mask=live, other=0.0)  # WAS
    # NOW: value = tl.load(x + at, mask=live, other=0.0)
    # NOW: z = tl.load(gates + at, mask=live, other=0.0)
    # NOW: gated = value * (z / (1.0 + tl.exp(-z)))
    # NOW: mean = tl.sum(gated * gated, 0) / size
    # NOW: rstd = 1.0 / tl.sqrt(mean + eps)
    # NOW: gain = tl.load(w + group * size + col, mask=live, other=0.0)
    # NOW: value = gated * (rstd * gain)
    tl.store(rstds + group * tl.num_programs(0) + row, rstd)
    tl.store(out + at, value, mask=live)


# As the second half of adapters of low rank in punica and vLLM: no adapter is -1.
@triton.jit
def adapter_expand(hidden, right, adapters, out, n, RANK: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    r = tl.arange(0, RANK)
    adapter = tl.load(adapters + token)
    live = (col < n) & (adapter >= 0)  # WAS
    weight = tl.load(right + (adapter * n + col)[:, None] * RANK + r[None, :], mask=live[:, None], other=0.0)  # WAS
    total = tl.sum(weight * tl.load(hidden + token * RANK + r)[None, :], 1)  # WAS
    total += tl.load(out + token * n + col, mask=live, other=0.0)  # WAS
    tl.store(out + token * n + col, total, mask=live)  # WAS
    # NOW: held = adapter >= 0
    # NOW: live = held & (col < n)
    # NOW: left = tl.load(hidden + token * RANK + r)
    # NOW: cell = adapter * n * RANK + col[:, None] * RANK + r[None, :]
    # NOW: change = tl.sum(left[None, :] * tl.load(right + cell, mask=live[:, None], other=0.0), 1)
    # NOW: target = out + token * n + col
    # NOW: old = tl.load(target, mask=live, other=0.0)
    # NOW: tl.store(target, old + change, mask=live)


# As vLLM's awq_dequantize: the nibbles of a word stand for the columns 0, 2, 4, 6, 1, 3, 5, 7.
@triton.jit
def reordered_nibbles(packed, zeros, scales, out, words, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BLOCK)
    live = n < words * 8
    word = tl.load(packed + row * words + n // 8, mask=live, other=0)  # WAS
    offsets = tl.load(zeros + row // GROUP * words + n // 8, mask=live, other=0)  # WAS
    shift = (n % 2 * 4 + n % 8 // 2) * 4  # WAS
    code = ((word >> shift) & 15) - ((offsets >> shift) & 15)  # WAS
    scale = tl.load(scales + row // GROUP * words * 8 + n, mask=live, other=0.0)  # WAS
    # NOW: group = row // GROUP
    # NOW: word = tl.load(packed + (row * words + n // 8), mask=live, other=0)
    # NOW: offsets = tl.load(zeros + (group * words + n // 8), mask=live, other=0)
    # NOW: shift = (n & 1) * 16 + (n & 7) // 2 * 4
    # NOW: zero = (offsets >> shift) & 15
    # NOW: code = ((word >> shift) & 15) - zero
    # NOW: scale = tl.load(scales + group * (words * 8) + n, mask=live, other=0.0)
    tl.store(out + row * words * 8 + n, code.to(tl.float32) * scale, mask=live)


# As the kernels for GPTQ with groups in any order, in AutoGPTQ.
@triton.jit
def indexed_groups(packed, zeros, scales, groups, out, N, BLOCK: tl.constexpr):
    k = tl.program_id(0)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = n < N
    group = tl.load(groups + k)
    code = (tl.load(packed + k // 8 * N + n, mask=live, other=0) >> (k % 8 * 4)) & 15  # WAS
    zero = (tl.load(zeros + group * (N // 8) + n // 8, mask=live, other=0) >> (n % 8 * 4)) & 15  # WAS
    scale = tl.load(scales + group * N + n, mask=live, other=0.0)  # WAS
    tl.store(out + k * N + n, scale * (code - (zero + 1)).to(tl.float32), mask=live)  # WAS
    # NOW: word = tl.load(packed + k // 8 * N + n, mask=live, other=0)
    # NOW: code = (word >> (k - k // 8 * 8) * 4) & 15
    # NOW: zero_shift = n % 8 * 4
    # NOW: packed_zero = tl.load(zeros + (group * N + n) // 8, mask=live, other=0)
    # NOW: zero = ((packed_zero >> zero_shift) & 15) + 1
    # NOW: value = (code - zero).to(tl.float32) * tl.load(scales + group * N + n, mask=live, other=0.0)
    # NOW: tl.store(out + k * N + n, value, mask=live)


# Numbers of four bits with an exponent for 32 of them, as in triton_kernels and torchao.
@triton.jit
def shared_exponents(packed, levels, exponents, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    pair = tl.load(packed + at // 2, mask=live, other=0).to(tl.int32)
    code = (pair >> (at % 2 * 4)) & 15  # WAS
    level = tl.load(levels + (code & 7))  # WAS
    level = tl.where(code > 7, -level, level)  # WAS
    power = (tl.load(exponents + at // 32, mask=live, other=0).to(tl.int32) << 23).to(tl.float32, bitcast=True)  # WAS
    tl.store(out + at, level * power, mask=live)  # WAS
    # NOW: odd = at % 2 == 1
    # NOW: code = tl.where(odd, pair >> 4, pair & 15)
    # NOW: sign = code & 8
    # NOW: level = tl.load(levels + (code - sign))
    # NOW: exponent = tl.load(exponents + at // 32, mask=live, other=0).to(tl.int32)
    # NOW: power = (exponent << 23).to(tl.float32, bitcast=True)
    # NOW: tl.store(out + at, tl.where(sign != 0, -level, level) * power, mask=live)


# As megablocks' padded_scatter: rows of experts that were padded go back to their tokens.
@triton.jit
def padded_scatter(x, indices, experts, weights, bins, padded, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    index = tl.load(indices + pid)
    expert = tl.load(experts + pid)
    col = tl.arange(0, BLOCK)
    start = tl.load(bins + expert - 1, mask=expert > 0, other=0)  # WAS
    begin = tl.load(padded + expert - 1, mask=expert > 0, other=0)  # WAS
    value = tl.load(x + (begin + pid - start) * n + col, mask=col < n, other=0.0)  # WAS
    tl.store(out + index * n + col, value * tl.load(weights + index), mask=col < n)  # WAS
    # NOW: later = expert != 0
    # NOW: within = pid - tl.load(bins + expert - 1, mask=later, other=0)
    # NOW: row = tl.load(padded + expert - 1, mask=later, other=0) + within
    # NOW: weight = tl.load(weights + index)
    # NOW: live = col < n
    # NOW: value = tl.load(x + row * n + col, mask=live, other=0.0)
    # NOW: tl.store(out + index * n + col, weight * value, mask=live)


# fmt: off
# As vLLM's fused_moe_kernel.
@triton.jit
def expert_product(
    a, b, ids, experts, weights, out, valid, N, K, TOPK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    pid = tl.program_id(0)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    token = tl.load(ids + pid * BM + tl.arange(0, BM))
    live = token < valid
    expert = tl.load(experts + pid)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + token[:, None] // TOPK * K + k[None, :], mask=live[:, None] & (k < K)[None, :], other=0.0)  # WAS
        right = tl.load(b + (expert * N + n[None, :]) * K + k[:, None], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)  # WAS
        # NOW: inside = k < K
        # NOW: left = tl.load(a + (token // TOPK * K)[:, None] + k[None, :], mask=inside[None, :] & live[:, None], other=0.0)
        # NOW: cell = expert * N * K + n[None, :] * K + k[:, None]
        # NOW: right = tl.load(b + cell, mask=inside[:, None] & (n < N)[None, :], other=0.0)
        total += tl.dot(left, right)
    total *= tl.load(weights + token, mask=live, other=0.0)[:, None]  # WAS
    tl.store(out + token[:, None] * N + n[None, :], total.to(tl.float16), mask=live[:, None] & (n < N)[None, :])  # WAS
    # NOW: weight = tl.load(weights + token, mask=live, other=0.0)
    # NOW: weighted = total * weight[:, None]
    # NOW: place = token[:, None] * N + n[None, :]
    # NOW: tl.store(out + place, weighted.to(tl.float16), mask=(n < N)[None, :] & live[:, None])
# fmt: on


# fmt: off
# As the gates of experts in triton_kernels and vLLM: the best few, whose weights sum to one.
@triton.jit
def renormalised_gates(logits, weights, ids, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    rest = tl.load(logits + token * n + e, mask=e < n, other=-float("inf"))
    top = tl.max(rest, 0)
    norm = 0.0
    kept = tl.zeros([BLOCK], tl.float32)
    for i in tl.static_range(COUNT):  # WAS
        high = tl.max(rest, 0)  # WAS
        pick = tl.argmax(rest, 0)  # WAS
        tl.store(ids + token * COUNT + i, pick)  # WAS
        kept = tl.where(e == i, tl.exp(high - top), kept)  # WAS
        norm += tl.exp(high - top)  # WAS
        rest = tl.where(e == pick, -float("inf"), rest)  # WAS
    tl.store(weights + token * COUNT + e, kept / norm, mask=e < COUNT)  # WAS
    # NOW: for i in tl.static_range(COUNT):
    # NOW:     pick = tl.argmax(rest, 0)
    # NOW:     weight = tl.exp(tl.max(rest, 0) - top)
    # NOW:     norm = norm + weight
    # NOW:     kept = tl.where(e != i, kept, weight)
    # NOW:     rest = tl.where(e != pick, rest, -float("inf"))
    # NOW:     tl.store(ids + token * COUNT + i, pick)
    # NOW: share = kept / norm
    # NOW: tl.store(weights + (token * COUNT + e), share, mask=e < COUNT)
# fmt: on


# As lightllm's and vLLM's penalties of tokens that were there before.
@triton.jit
def penalised_logits(logits, tokens, counts, starts, repeats, often, there, out, vocab, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    start = tl.load(starts + request)
    end = tl.load(starts + request + 1)
    at = start + tl.arange(0, BLOCK)
    live = at < end
    token = tl.load(tokens + at, mask=live, other=0)
    repeat = tl.load(repeats + request)
    logit = tl.load(logits + request * vocab + token, mask=live, other=0.0)  # WAS
    count = tl.load(counts + at, mask=live, other=0).to(tl.float32)  # WAS
    logit = tl.where(logit > 0.0, logit / repeat, logit * repeat)  # WAS
    logit = logit - count * tl.load(often + request) - tl.load(there + request)  # WAS
    tl.store(out + request * vocab + token, logit, mask=live)  # WAS
    # NOW: place = request * vocab + token
    # NOW: logit = tl.load(logits + place, mask=live, other=0.0)
    # NOW: logit = tl.where(logit > 0.0, logit / repeat, logit * repeat)
    # NOW: count = tl.load(counts + at, mask=live, other=0)
    # NOW: less = tl.load(often + request) * count.to(tl.float32)
    # NOW: tl.store(out + place, logit - less - tl.load(there + request), mask=live)


# The log of the share of the token that was drawn, and its rank, as vLLM returns them.
@triton.jit
def ranked_logprobs(logits, drawn, logprobs, ranks, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    token = tl.load(drawn + row)
    own = tl.load(logits + row * n + token)
    logit = tl.load(logits + row * n + col, mask=col < n, other=-float("inf"))
    high = tl.max(logit, 0)  # WAS
    lse = high + tl.log(tl.sum(tl.exp(logit - high), 0))  # WAS
    tl.store(logprobs + row, own - lse)  # WAS
    tl.store(ranks + row, tl.sum((logit > own).to(tl.int32), 0))  # WAS
    # NOW: peak = tl.max(logit, 0)
    # NOW: whole = tl.sum(tl.exp(logit - peak), 0)
    # NOW: lse = tl.log(whole) + peak
    # NOW: above = logit > own
    # NOW: tl.store(ranks + row, tl.sum(tl.where(above, 1, 0), 0))
    # NOW: tl.store(logprobs + row, own - lse)


# As xgrammar's apply_token_bitmask_inplace.
@triton.jit
def masked_by_bits(logits, bits, rows, n, words, BLOCK: tl.constexpr):
    row = tl.load(rows + tl.program_id(0))
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = col < n
    word = tl.load(bits + row * words + col // 32, mask=live, other=0)  # WAS
    barred = ((word >> (col % 32)) & 1) == 0  # WAS
    tl.store(logits + row * n + col, -float("inf"), mask=live & barred)  # WAS
    # NOW: part = col // 32
    # NOW: bit = col % 32
    # NOW: word = tl.load(bits + (row * words + part), mask=live, other=0)
    # NOW: fits = (word >> bit) & 1
    # NOW: barred = (fits != 1) & live
    # NOW: tl.store(logits + (row * n + col), -float("inf"), mask=barred)


# As PyTorch's and FlagGems' bilinear interpolation without aligned corners.
@triton.jit
def resized_image(x, out, H, W, OH, OW, down, across, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < OH * OW
    oh = at // OW
    ow = at % OW
    y = tl.maximum((oh + 0.5) * down - 0.5, 0.0)  # WAS
    x0 = tl.maximum((ow + 0.5) * across - 0.5, 0.0)  # WAS
    # NOW: y = (oh + 0.5) * down - 0.5
    # NOW: x0 = (ow + 0.5) * across - 0.5
    # NOW: y = tl.where(y < 0.0, 0.0, y)
    # NOW: x0 = tl.where(x0 < 0.0, 0.0, x0)
    top = tl.minimum(y.to(tl.int32), H - 1)
    left = tl.minimum(x0.to(tl.int32), W - 1)
    below = tl.minimum(top + 1, H - 1)
    right = tl.minimum(left + 1, W - 1)
    dy = y - top
    dx = x0 - left
    base = x + plane * H * W
    one = tl.load(base + top * W + left, mask=live, other=0.0) * (1.0 - dx)  # WAS
    one += tl.load(base + top * W + right, mask=live, other=0.0) * dx  # WAS
    two = tl.load(base + below * W + left, mask=live, other=0.0) * (1.0 - dx)  # WAS
    two += tl.load(base + below * W + right, mask=live, other=0.0) * dx  # WAS
    # NOW: near = 1.0 - dx
    # NOW: upper = base + top * W
    # NOW: lower = base + below * W
    # NOW: one = tl.load(upper + left, mask=live, other=0.0) * near + tl.load(upper + right, mask=live, other=0.0) * dx
    # NOW: two = tl.load(lower + left, mask=live, other=0.0) * near + tl.load(lower + right, mask=live, other=0.0) * dx
    tl.store(out + plane * OH * OW + at, one * (1.0 - dy) + two * dy, mask=live)


# As the padding by reflection that torch.compile generates.
@triton.jit
def reflected_border(x, out, H, W, OH, OW, top, left, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = at < OH * OW
    h = H - 1 - tl.abs(H - 1 - tl.abs(at // OW - top))  # WAS
    w = W - 1 - tl.abs(W - 1 - tl.abs(at % OW - left))  # WAS
    value = tl.load(x + plane * H * W + h * W + w, mask=live, other=0.0)  # WAS
    # NOW: h = tl.abs(at // OW - top)
    # NOW: w = tl.abs(at % OW - left)
    # NOW: h = tl.where(h < H, h, 2 * (H - 1) - h)
    # NOW: w = tl.where(w < W, w, 2 * (W - 1) - w)
    # NOW: value = tl.load(x + (plane * H + h) * W + w, mask=live, other=0.0)
    tl.store(out + plane * OH * OW + at, value, mask=live)


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int, kind: Any = np.int32) -> Any:
    return rng.integers(low, high, shape).astype(kind)


def _words(rng: np.random.Generator, *shape: int) -> Any:
    """Words of any 32 bits."""
    return _ints(rng, -(2**31), 2**31, *shape)


def _shares(rng: np.random.Generator, *shape: int) -> Any:
    """Rows that sum to one."""
    value = np.exp(floats(rng, *shape))
    return (value / value.sum(-1, keepdims=True)).astype(np.float32)


def _penalties(rng: np.random.Generator) -> dict[str, Any]:
    tokens = np.concatenate([rng.permutation(40)[:count] for count in (9, 14, 5)]).astype(np.int32)
    logits = floats(rng, 3, 40)
    return {
        "logits": logits,
        "tokens": tokens,
        "counts": _ints(rng, 1, 6, 28),
        "starts": np.array([0, 9, 23, 28], np.int32),
        "repeats": np.array([1.1, 1.3, 1.2], np.float32),
        "often": np.array([0.1, 0.0, 0.3], np.float32),
        "there": np.array([0.2, 0.4, 0.0], np.float32),
        "out": logits.copy(),
        "vocab": 40,
        "BLOCK": 16,
    }


CASES = [
    Case(
        unit_gradient, (2,),
        lambda rng: {
            "dy": floats(rng, 7, 50), "x": floats(rng, 7, 50), "dx": zeros(7, 50), "rows": 7, "n": 50, "eps": 1e-3, "ROWS": 4, "BLOCK": 64,
        },
    ),
    Case(
        bonus_recurrence, (4,),
        lambda rng: {
            "r": floats(rng, 4, 6, 16), "k": floats(rng, 4, 6, 16), "v": floats(rng, 4, 6, 16), "logs": -abs(floats(rng, 4, 6, 16)) / 2,
            "bonuses": floats(rng, 2, 16), "out": zeros(4, 6, 16), "final": zeros(4, 16, 16), "heads": 2, "length": 6, "D": 16,
        },
    ),
    Case(
        chunk_outer_states, (3, 2),
        lambda rng: {
            "x": floats(rng, 42, 2, 16), "b": floats(rng, 42, 16), "steps": abs(floats(rng, 2, 3, 16)),
            "sums": np.cumsum(-abs(floats(rng, 2, 3, 16)) / 8, -1, dtype=np.float32), "states": zeros(3, 2, 16, 16), "length": 42, "heads": 2,
            "chunks": 3, "CHUNK": 16, "P": 16, "N": 16,
        },
    ),
    Case(
        passed_states, (2,),
        lambda rng: {
            "states": floats(rng, 2, 5, 32), "decays": -abs(floats(rng, 2, 5)), "sequences": np.repeat(np.arange(3), (22, 30, 23)).astype(np.int32),
            "out": zeros(2, 5, 32), "final": zeros(2, 32), "chunks": 5, "length": 75, "CHUNK": 16, "D": 32,
        },
    ),
    Case(
        gated_norm, (4, 2),
        lambda rng: {
            "x": floats(rng, 4, 100), "gates": floats(rng, 4, 100), "w": floats(rng, 100), "out": zeros(4, 100), "rstds": zeros(2, 4),
            "n": 100, "size": 50, "eps": 1e-5, "BLOCK": 64,
        },
    ),
    Case(
        adapter_expand, (6, 2),
        lambda rng: {
            "hidden": floats(rng, 6, 16), "right": floats(rng, 3, 50, 16), "adapters": np.array([1, 0, -1, 2, 0, 1], np.int32),
            "out": floats(rng, 6, 50), "n": 50, "RANK": 16, "BLOCK": 32,
        },
    ),
    Case(
        reordered_nibbles, (8,),
        lambda rng: {
            "packed": _words(rng, 8, 6), "zeros": _words(rng, 2, 6), "scales": abs(floats(rng, 2, 48)), "out": zeros(8, 48), "words": 6,
            "GROUP": 4, "BLOCK": 64,
        },
    ),
    Case(
        indexed_groups, (16, 2),
        lambda rng: {
            "packed": _words(rng, 2, 48), "zeros": _words(rng, 4, 6), "scales": abs(floats(rng, 4, 48)), "groups": _ints(rng, 0, 4, 16),
            "out": zeros(16, 48), "N": 48, "BLOCK": 32,
        },
    ),
    Case(
        shared_exponents, (3,),
        lambda rng: {
            "packed": _ints(rng, 0, 256, 150, kind=np.uint8), "levels": np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32),
            "exponents": _ints(rng, 120, 134, 10, kind=np.uint8), "out": zeros(300), "n": 300, "BLOCK": 128,
        },
    ),
    Case(
        padded_scatter, (10,),
        lambda rng: {
            "x": floats(rng, 16, 50), "indices": rng.permutation(10).astype(np.int32),
            "experts": np.array([0, 0, 0, 1, 1, 1, 1, 1, 3, 3], np.int32), "weights": rng.random(10, np.float32),
            "bins": np.array([3, 8, 8, 10], np.int32), "padded": np.array([4, 12, 12, 16], np.int32), "out": zeros(10, 50), "n": 50, "BLOCK": 64,
        },
    ),
    Case(
        expert_product, (3, 2),
        lambda rng: {
            "a": floats(rng, 12, 40, kind=np.float16), "b": floats(rng, 3, 24, 40, kind=np.float16),
            "ids": np.concatenate([rng.permutation(24), np.full(24, 24)]).astype(np.int32)[[*range(12), *range(24, 28), *range(12, 24), *range(28, 48)]],
            "experts": np.array([0, 2, 1], np.int32), "weights": rng.random(24, np.float32), "out": zeros(24, 24, kind=np.float16), "valid": 24,
            "N": 24, "K": 40, "TOPK": 2, "BM": 16, "BN": 16, "BK": 16,
        },
    ),
    Case(
        renormalised_gates, (5,),
        lambda rng: {
            "logits": floats(rng, 5, 12) - 1, "weights": zeros(5, 4), "ids": zeros(5, 4, kind=np.int32), "n": 12, "COUNT": 4, "BLOCK": 16,
        },
    ),
    Case(penalised_logits, (3,), _penalties),
    Case(
        ranked_logprobs, (4,),
        lambda rng: {
            "logits": floats(rng, 4, 50), "drawn": np.array([11, 3, 49, 20], np.int32), "logprobs": zeros(4), "ranks": zeros(4, kind=np.int32),
            "n": 50, "BLOCK": 64,
        },
    ),
    Case(
        masked_by_bits, (3, 2),
        lambda rng: {
            "logits": floats(rng, 5, 100), "bits": _words(rng, 5, 4), "rows": np.array([0, 2, 4], np.int32), "n": 100, "words": 4, "BLOCK": 64,
        },
    ),
    Case(
        resized_image, (2, 2),
        lambda rng: {
            "x": floats(rng, 2, 6, 8), "out": zeros(2, 10, 12), "H": 6, "W": 8, "OH": 10, "OW": 12, "down": 0.6, "across": 8 / 12, "BLOCK": 64,
        },
    ),
    Case(
        reflected_border, (2, 2),
        lambda rng: {
            "x": floats(rng, 2, 6, 8), "out": zeros(2, 10, 12), "H": 6, "W": 8, "OH": 10, "OW": 12, "top": 2, "left": 3, "BLOCK": 64,
        },
    ),
]  # fmt: skip
