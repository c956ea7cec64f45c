"""Fifty more commits that tidy and break, held out: written by somebody who had read none of the rules that test or rank statements.

Each kernel has the shape of one that people run, and its commit rewrites three to six statements of it without a change of one
bit (``# WAS``, ``# NOW``); then one of those is broken as in FIFTH, in ways that one meets in bug reports. They were committed before
anything was measured of them, and neither they nor a rule is changed to fit what was said. Here are the kernels of losses and of
attention; those of commits_fifth_more.py and commits_fifth_rest.py belong to the set.
"""
# ruff: noqa: E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros
from commits_fifth_more import MORE
from commits_fifth_rest import REST

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
FIFTH: dict[str, tuple[str, str]] = {
    "geglu_gradient": ("bend = SQRT * (1.0 + 3.0 * CUBE * a * a)", "bend = SQRT * (1.0 + CUBE * a * a)"),
    "divergence_rows": ("logged = tl.log(tl.maximum(q, eps))", "logged = tl.log(q)"),
    "dynamic_tanh_gradient": ("sum_gamma += t * grad", "sum_gamma += value * grad"),
    "sparse_simplex": ("rank = col + 1", "rank = col"),
    "preference_loss": ("margin = beta * (ours - theirs)", "margin = beta * (ours + theirs)"),
    "penalised_entropy": ("penalty = weight * lse * lse", "penalty = weight * lse"),
    "output_deltas": (
        "product = o.to(tl.float32) * grad.to(tl.float32)",
        "product = (o * grad).to(tl.float32)",
    ),
    "query_gradient": ("stop = tl.minimum(n, first + BLOCK)", "stop = tl.minimum(n, first)"),
    "sloped_attention": ("head = pid % heads", "head = pid // heads"),
    "quantized_copies": (
        "tl.store(scales + slot * heads + head, step)",
        "tl.store(scales + token * heads + head, step)",
    ),
    "split_decode": ("last = tl.minimum(first + per, length)", "last = first + per"),
    "listed_indices": ("source = table + row * width + start", "source = table + row * width"),
    "gated_codes": ("step = peak / 127.0", "step = peak / 128.0"),
    "block_scaled_weights": ("across = tl.cdiv(N, BLOCK)", "across = N // BLOCK"),
    "block_scaled_product": (
        "total += part * left_scale[:, None] * right_scale[None, :]",
        "total += part * left_scale[:, None] * right_scale[:, None]",
    ),
    "retained_chunk": ("reach = tl.exp2((i + 1) * rate)", "reach = tl.exp2(i * rate)"),
    "local_sums": ("sums = tl.cumsum(tile, 0)", "sums = tl.cumsum(tile, 1)"),
    **MORE,
    **REST,
}


@triton.jit
def _tanh(v):
    return 2.0 / (1.0 + tl.exp(-2.0 * v)) - 1.0


# As liger-kernel's backward of GEGLU.
@triton.jit
def geglu_gradient(dy, gates, ups, d_gates, d_ups, n, SQRT: tl.constexpr, CUBE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    grad = tl.load(dy + row * n + col, mask=live, other=0.0)
    a = tl.load(gates + row * n + col, mask=live, other=0.0)
    b = tl.load(ups + row * n + col, mask=live, other=0.0)
    inner = SQRT * (a + CUBE * a * a * a)  # WAS
    t = _tanh(inner)  # WAS
    slope = 0.5 * (1.0 + t) + 0.5 * a * (1.0 - t * t) * (SQRT * (1.0 + 3.0 * CUBE * a * a))  # WAS
    tl.store(d_ups + row * n + col, grad * (0.5 * a * (1.0 + t)), mask=live)  # WAS
    tl.store(d_gates + row * n + col, grad * b * slope, mask=live)  # WAS
    # NOW: t = _tanh(SQRT * (a + CUBE * a * a * a))
    # NOW: bend = SQRT * (1.0 + 3.0 * CUBE * a * a)
    # NOW: rest = 0.5 * a * (1.0 - t * t) * bend
    # NOW: slope = 0.5 * (1.0 + t) + rest
    # NOW: at = row * n + col
    # NOW: tl.store(d_gates + at, grad * b * slope, mask=live)
    # NOW: tl.store(d_ups + at, 0.5 * a * (1.0 + t) * grad, mask=live)


# As liger-kernel's divergence of Kullback and Leibler.
@triton.jit
def divergence_rows(ours, theirs, losses, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        p = tl.load(ours + row * n + col, mask=col < n, other=0.0)  # WAS
        q = tl.load(theirs + row * n + col, mask=col < n, other=0.0)  # WAS
        total += tl.sum(q * (tl.log(tl.maximum(q, eps)) - p), 0)  # WAS
        # NOW: live = col < n
        # NOW: at = row * n + col
        # NOW: q = tl.load(theirs + at, mask=live, other=0.0)
        # NOW: p = tl.load(ours + at, mask=live, other=0.0)
        # NOW: logged = tl.log(tl.maximum(q, eps))
        # NOW: each = (logged - p) * q
        # NOW: total = total + tl.sum(each, 0)
    tl.store(losses + row, total / n)


# As liger-kernel's backward of the dynamic tanh.
@triton.jit
def dynamic_tanh_gradient(dy, x, gammas, dx, d_alphas, d_gammas, alpha, rows, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    col = pid * BLOCK + tl.arange(0, BLOCK)
    live = col < n
    gamma = tl.load(gammas + col, mask=live, other=0.0)
    sum_alpha = tl.zeros([BLOCK], tl.float32)
    sum_gamma = tl.zeros([BLOCK], tl.float32)
    for row in range(0, rows):
        grad = tl.load(dy + row * n + col, mask=live, other=0.0)  # WAS
        value = tl.load(x + row * n + col, mask=live, other=0.0)  # WAS
        t = _tanh(alpha * value)  # WAS
        sum_gamma += grad * t  # WAS
        sum_alpha += grad * gamma * (1.0 - t * t) * value  # WAS
        tl.store(dx + row * n + col, grad * gamma * (1.0 - t * t) * alpha, mask=live)  # WAS
        # NOW: at = row * n + col
        # NOW: value = tl.load(x + at, mask=live, other=0.0)
        # NOW: grad = tl.load(dy + at, mask=live, other=0.0)
        # NOW: t = _tanh(value * alpha)
        # NOW: back = grad * gamma * (1.0 - t * t)
        # NOW: tl.store(dx + at, back * alpha, mask=live)
        # NOW: sum_alpha += back * value
        # NOW: sum_gamma += t * grad
    tl.store(d_alphas + pid, tl.sum(sum_alpha, 0))
    tl.store(d_gammas + col, sum_gamma, mask=live)


# As liger-kernel's sparsemax: the rows come sorted, too.
@triton.jit
def sparse_simplex(x, ranked, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    value = tl.load(x + row * n + col, mask=live, other=-float("inf"))
    high = tl.load(ranked + row * n + col, mask=live, other=0.0)
    sums = tl.cumsum(high, 0)  # WAS
    inside = live & (high > (sums - 1.0) / (col + 1).to(tl.float32))  # WAS
    count = tl.sum(inside.to(tl.int32), 0)  # WAS
    edge = (tl.sum(tl.where(inside, high, 0.0), 0) - 1.0) / count.to(tl.float32)  # WAS
    # NOW: rank = col + 1
    # NOW: limit = (tl.cumsum(high, 0) - 1.0) / rank.to(tl.float32)
    # NOW: inside = (limit < high) & live
    # NOW: held = tl.sum(tl.where(inside, high, 0.0), 0)
    # NOW: count = tl.sum(tl.where(inside, 1, 0), 0)
    # NOW: edge = (held - 1.0) / count.to(tl.float32)
    tl.store(out + row * n + col, tl.maximum(value - edge, 0.0), mask=live)


# Direct preference optimization as in TRL and liger-kernel: the chosen rows stand first, the rejected ones after them.
@triton.jit
def preference_loss(logps, references, labels, losses, gains, pairs, n, beta, smooth, BLOCK: tl.constexpr):
    pair = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    won = pair * n + col
    lost = (pairs + pair) * n + col
    kept = (tl.load(labels + won, mask=col < n, other=-100) != -100) & (col < n)
    held = (tl.load(labels + lost, mask=col < n, other=-100) != -100) & (col < n)
    up = tl.sum(tl.load(logps + won, mask=kept, other=0.0), 0)
    down = tl.sum(tl.load(logps + lost, mask=held, other=0.0), 0)
    base_up = tl.sum(tl.load(references + won, mask=kept, other=0.0), 0)
    base_down = tl.sum(tl.load(references + lost, mask=held, other=0.0), 0)
    margin = beta * ((up - down) - (base_up - base_down))  # WAS
    likely = tl.log(1.0 / (1.0 + tl.exp(-margin)))  # WAS
    unlikely = tl.log(1.0 / (1.0 + tl.exp(margin)))  # WAS
    tl.store(losses + pair, -likely * (1.0 - smooth) - unlikely * smooth)  # WAS
    tl.store(gains + pair, beta * (up - base_up))  # WAS
    # NOW: ours = up - down
    # NOW: theirs = base_up - base_down
    # NOW: margin = beta * (ours - theirs)
    # NOW: likely = tl.log(1.0 / (tl.exp(-margin) + 1.0))
    # NOW: unlikely = tl.log(1.0 / (tl.exp(margin) + 1.0))
    # NOW: gain = (up - base_up) * beta
    # NOW: tl.store(gains + pair, gain)
    # NOW: tl.store(losses + pair, (1.0 - smooth) * -likely - smooth * unlikely)


# As flash-attention's entropy of a share of the classes, with its z-loss.
@triton.jit
def penalised_entropy(logits, labels, losses, lses, z_losses, first, n, weight, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    logit = tl.load(logits + row * n + col, mask=col < n, other=-float("inf"))
    high = tl.max(logit, 0)
    lse = tl.log(tl.sum(tl.exp(logit - high), 0)) + high
    tl.store(lses + row, lse)
    own = (label >= first) & (label < first + n)  # WAS
    hit = tl.load(logits + row * n + label - first, mask=own, other=0.0)  # WAS
    z = tl.where(label == ignored, 0.0, weight * lse * lse)  # WAS
    loss = tl.where(label == ignored, 0.0, lse - hit + weight * lse * lse)  # WAS
    # NOW: here = label - first
    # NOW: own = (here >= 0) & (here < n)
    # NOW: hit = tl.load(logits + row * n + here, mask=own, other=0.0)
    # NOW: penalty = weight * lse * lse
    # NOW: counted = label != ignored
    # NOW: z = tl.where(counted, penalty, 0.0)
    # NOW: loss = tl.where(counted, lse - hit + penalty, 0.0)
    tl.store(z_losses + row, z)
    tl.store(losses + row, loss)


# As the step before the backward of Triton's tutorial of attention.
@triton.jit
def output_deltas(out, dy, deltas, n, D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(1)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    lane = tl.arange(0, D)
    at = (head * n + row[:, None]) * D + lane[None, :]  # WAS
    o = tl.load(out + at, mask=row[:, None] < n, other=0.0).to(tl.float32)  # WAS
    grad = tl.load(dy + at, mask=row[:, None] < n, other=0.0).to(tl.float32)  # WAS
    tl.store(deltas + head * n + row, tl.sum(o * grad, 1), mask=row < n)  # WAS
    # NOW: live = row < n
    # NOW: place = head * n + row
    # NOW: cell = place[:, None] * D + lane[None, :]
    # NOW: o = tl.load(out + cell, mask=live[:, None], other=0.0)
    # NOW: grad = tl.load(dy + cell, mask=live[:, None], other=0.0)
    # NOW: product = o.to(tl.float32) * grad.to(tl.float32)
    # NOW: tl.store(deltas + place, tl.sum(product, 1), mask=live)


# fmt: off
# As the queries' part of the backward of flash-attention.
@triton.jit
def query_gradient(q, k, v, dy, lses, deltas, dq, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    row = first + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    live = row < n
    query = tl.load(q + row[:, None] * D + d[None, :], mask=live[:, None], other=0.0)
    grad = tl.load(dy + row[:, None] * D + d[None, :], mask=live[:, None], other=0.0)
    lse = tl.load(lses + row, mask=live, other=0.0)
    delta = tl.load(deltas + row, mask=live, other=0.0)
    total = tl.zeros([BLOCK, D], tl.float32)
    for start in range(0, tl.minimum(first + BLOCK, n), BLOCK):  # WAS
        col = start + tl.arange(0, BLOCK)  # WAS
        key = tl.load(k + col[:, None] * D + d[None, :], mask=(col < n)[:, None], other=0.0)  # WAS
        value = tl.load(v + col[:, None] * D + d[None, :], mask=(col < n)[:, None], other=0.0)  # WAS
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale  # WAS
        weight = tl.where((row[:, None] >= col[None, :]) & (col < n)[None, :], tl.exp(score - lse[:, None]), 0.0)  # WAS
        slope = weight * (tl.dot(grad, tl.trans(value), input_precision="ieee") - delta[:, None])  # WAS
    # NOW: stop = tl.minimum(n, first + BLOCK)
    # NOW: for start in range(0, stop, BLOCK):
    # NOW:     col = start + tl.arange(0, BLOCK)
    # NOW:     inside = col < n
    # NOW:     cell = col[:, None] * D + d[None, :]
    # NOW:     key = tl.load(k + cell, mask=inside[:, None], other=0.0)
    # NOW:     value = tl.load(v + cell, mask=inside[:, None], other=0.0)
    # NOW:     score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    # NOW:     seen = (col[None, :] <= row[:, None]) & inside[None, :]
    # NOW:     weight = tl.where(seen, tl.exp(score - lse[:, None]), 0.0)
    # NOW:     slope = (tl.dot(grad, tl.trans(value), input_precision="ieee") - delta[:, None]) * weight
        total += tl.dot(slope, key, input_precision="ieee")
    tl.store(dq + row[:, None] * D + d[None, :], total * scale, mask=live[:, None])
# fmt: on


# Attention with linear biases, as lightllm's kernels for BLOOM.
@triton.jit
def sloped_attention(q, k, v, slopes, out, heads, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = tl.program_id(1)
    d = tl.arange(0, D)
    col = tl.arange(0, BLOCK)
    query = tl.load(q + (pid * n + row) * D + d)
    seen = col <= row
    key = tl.load(k + (pid * n + col[:, None]) * D + d[None, :], mask=seen[:, None], other=0.0)
    value = tl.load(v + (pid * n + col[:, None]) * D + d[None, :], mask=seen[:, None], other=0.0)
    slope = tl.load(slopes + pid % heads)  # WAS
    score = tl.sum(key * query[None, :], 1) * scale + slope * (col - row).to(tl.float32)  # WAS
    score = tl.where(seen, score, -float("inf"))  # WAS
    weight = tl.exp(score - tl.max(score, 0))  # WAS
    tl.store(out + (pid * n + row) * D + d, tl.sum(weight[:, None] * value, 0) / tl.sum(weight, 0))  # WAS
    # NOW: head = pid % heads
    # NOW: away = (col - row).to(tl.float32)
    # NOW: lean = tl.load(slopes + head) * away
    # NOW: score = tl.where(seen, tl.sum(query[None, :] * key, 1) * scale + lean, -float("inf"))
    # NOW: high = tl.max(score, 0)
    # NOW: weight = tl.exp(score - high)
    # NOW: mixed = tl.sum(value * weight[:, None], 0)
    # NOW: tl.store(out + (pid * n + row) * D + d, mixed / tl.sum(weight, 0))


# As lightllm's destindex_copy_quantize_kv.
@triton.jit
def quantized_copies(keys, slots, codes, scales, heads, D: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    lane = tl.arange(0, D)
    slot = tl.load(slots + token)
    value = tl.load(keys + (token * heads + head) * D + lane)  # WAS
    step = tl.max(tl.abs(value), 0) / 127.0  # WAS
    tl.store(codes + (slot * heads + head) * D + lane, (value / step).to(tl.int8))  # WAS
    tl.store(scales + (slot * heads + head), step)  # WAS
    # NOW: source = keys + (token * heads + head) * D
    # NOW: value = tl.load(source + lane)
    # NOW: peak = tl.max(tl.abs(value), 0)
    # NOW: step = peak / 127.0
    # NOW: tl.store(scales + slot * heads + head, step)
    # NOW: target = codes + (slot * heads + head) * D
    # NOW: tl.store(target + lane, (value / step).to(tl.int8))


# As the first stage of sglang's decoding: each program takes a share of the tokens.
@triton.jit
def split_decode(
    q, keys, values, table, lengths, parts, lses, width, splits, scale, KV: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    request = tl.program_id(0)
    head = tl.program_id(1)
    split = tl.program_id(2)
    d = tl.arange(0, D)
    length = tl.load(lengths + request)
    query = tl.load(q + (request * KV * GROUP + head) * D + d)
    per = tl.cdiv(length, splits)  # WAS
    stop = tl.minimum(split * per + per, length)  # WAS
    top = -1e30
    norm = 0.0
    acc = tl.zeros([D], tl.float32)
    # NOW: per = (length + splits - 1) // splits
    # NOW: first = split * per
    # NOW: last = tl.minimum(first + per, length)
    # NOW: base = head // GROUP * D
    # NOW: for start in range(first, last, BLOCK):
    for start in range(split * per, stop, BLOCK):  # WAS
        at = start + tl.arange(0, BLOCK)
        live = at < stop  # WAS
        # NOW: live = at < last
        slot = tl.load(table + request * width + at, mask=live, other=0)
        cell = slot[:, None] * KV * D + head // GROUP * D + d[None, :]  # WAS
        # NOW: cell = slot[:, None] * (KV * D) + (base + d)[None, :]
        key = tl.load(keys + cell, mask=live[:, None], other=0.0)
        value = tl.load(values + cell, mask=live[:, None], other=0.0)
        score = tl.where(live, tl.sum(key * query[None, :], 1) * scale, -1e30)
        new = tl.maximum(top, tl.max(score, 0))
        weight = tl.exp(score - new)
        acc = acc * tl.exp(top - new) + tl.sum(weight[:, None] * value, 0)
        norm = norm * tl.exp(top - new) + tl.sum(weight, 0)
        top = new
    place = (request * KV * GROUP + head) * splits + split
    tl.store(parts + place * D + d, acc / norm)
    tl.store(lses + place, top + tl.log(norm))


# fmt: off
# As sglang's create_flashinfer_kv_indices.
@triton.jit
def listed_indices(table, rows, lengths, begins, starts, out, width, BLOCK: tl.constexpr):
    request = tl.program_id(0)
    row = tl.load(rows + request)
    begin = tl.load(begins + request)
    start = tl.load(starts + request)
    count = tl.load(lengths + request)
    for i in range(0, tl.cdiv(count, BLOCK)):  # WAS
        at = i * BLOCK + tl.arange(0, BLOCK)  # WAS
        slot = tl.load(table + row * width + start + at, mask=at < count)  # WAS
        tl.store(out + begin + at, slot, mask=at < count)  # WAS
    # NOW: source = table + row * width + start
    # NOW: target = out + begin
    # NOW: for done in range(0, count, BLOCK):
    # NOW:     at = done + tl.arange(0, BLOCK)
    # NOW:     live = at < count
    # NOW:     tl.store(target + at, tl.load(source + at, mask=live), mask=live)
# fmt: on


# As sglang's silu_and_mul_masked_post_quant for experts on several devices.
@triton.jit
def gated_codes(x, counts, codes, scales, most, n, SIZE: tl.constexpr):
    expert = tl.program_id(0)
    group = tl.program_id(1)
    col = group * SIZE + tl.arange(0, SIZE)
    for token in range(0, tl.load(counts + expert)):
        gate = tl.load(x + (expert * most + token) * 2 * n + col)  # WAS
        up = tl.load(x + (expert * most + token) * 2 * n + n + col)  # WAS
        y = gate / (1.0 + tl.exp(-gate)) * up  # WAS
        step = tl.maximum(tl.max(tl.abs(y), 0), 1e-10) / 127.0  # WAS
        code = tl.minimum(tl.maximum(y / step, -127.0), 127.0)  # WAS
        tl.store(codes + (expert * most + token) * n + col, code.to(tl.int8))  # WAS
        tl.store(scales + (expert * most + token) * (n // SIZE) + group, step)  # WAS
        # NOW: row = expert * most + token
        # NOW: gate = tl.load(x + row * 2 * n + col)
        # NOW: up = tl.load(x + (row * 2 + 1) * n + col)
        # NOW: y = up * (gate / (1.0 + tl.exp(-gate)))
        # NOW: peak = tl.maximum(tl.max(tl.abs(y), 0), 1e-10)
        # NOW: step = peak / 127.0
        # NOW: tl.store(scales + row * (n // SIZE) + group, step)
        # NOW: code = tl.maximum(tl.minimum(y / step, 127.0), -127.0)
        # NOW: tl.store(codes + row * n + col, code.to(tl.int8))


# As DeepSeek-V3's weight_dequant.
@triton.jit
def block_scaled_weights(x, scales, out, M, N, BLOCK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    m = pid_m * BLOCK + tl.arange(0, BLOCK)
    n = pid_n * BLOCK + tl.arange(0, BLOCK)
    at = m[:, None] * N + n[None, :]  # WAS
    value = tl.load(x + at, mask=(m[:, None] < M) & (n[None, :] < N), other=0).to(tl.float32)  # WAS
    scale = tl.load(scales + pid_m * ((N + BLOCK - 1) // BLOCK) + pid_n)  # WAS
    tl.store(out + at, value * scale, mask=(m[:, None] < M) & (n[None, :] < N))  # WAS
    # NOW: across = tl.cdiv(N, BLOCK)
    # NOW: scale = tl.load(scales + pid_m * across + pid_n)
    # NOW: live = (n < N)[None, :] & (m < M)[:, None]
    # NOW: cell = (m * N)[:, None] + n[None, :]
    # NOW: value = tl.load(x + cell, mask=live, other=0).to(tl.float32)
    # NOW: tl.store(out + cell, scale * value, mask=live)


# As DeepSeek-V3's fp8_gemm: a scale for each row of the left and each block of the right.
@triton.jit
def block_scaled_product(
    a, b, left_scales, right_scales, out, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    blocks = K // BK
    total = tl.zeros([BM, BN], tl.float32)
    for i in range(0, blocks):
        k = i * BK + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None], other=0.0)
        right = tl.load(b + n[None, :] * K + k[:, None], mask=(n < N)[None, :], other=0.0)
        left_scale = tl.load(left_scales + m * blocks + i, mask=m < M, other=0.0)  # WAS
        right_scale = tl.load(right_scales + n // GROUP * blocks + i, mask=n < N, other=0.0)  # WAS
        total += tl.dot(left, right) * left_scale[:, None] * right_scale[None, :]  # WAS
        # NOW: part = tl.dot(left, right)
        # NOW: right_scale = tl.load(right_scales + (n // GROUP) * blocks + i, mask=n < N, other=0.0)
        # NOW: left_scale = tl.load(left_scales + (m * blocks + i), mask=m < M, other=0.0)
        # NOW: total += part * left_scale[:, None] * right_scale[None, :]
    tl.store(out + m[:, None] * N + n[None, :], total, mask=(m < M)[:, None] & (n < N)[None, :])


# As flash-linear-attention's retention in chunks.
@triton.jit
def retained_chunk(q, k, v, states, out, heads, length, scale, D: tl.constexpr, CHUNK: tl.constexpr):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, CHUNK)
    d = tl.arange(0, D)
    rate = tl.log2(1.0 - tl.exp2(-5.0 - head))
    cell = (head * length + chunk * CHUNK + i[:, None]) * D + d[None, :]
    query = tl.load(q + cell) * scale
    key = tl.load(k + cell)
    value = tl.load(v + cell)
    state = tl.load(states + ((chunk * heads + head) * D + d[:, None]) * D + d[None, :])
    far = tl.dot(query, state, input_precision="ieee") * tl.exp2((i + 1) * rate)[:, None]  # WAS
    fade = tl.where(i[:, None] >= i[None, :], tl.exp2((i[:, None] - i[None, :]) * rate), 0.0)  # WAS
    near = tl.dot(query, tl.trans(key), input_precision="ieee") * fade  # WAS
    tl.store(out + cell, tl.dot(near, value, input_precision="ieee") + far)  # WAS
    # NOW: apart = i[:, None] - i[None, :]
    # NOW: fade = tl.where(apart >= 0, tl.exp2(apart * rate), 0.0)
    # NOW: score = fade * tl.dot(query, tl.trans(key), input_precision="ieee")
    # NOW: reach = tl.exp2((i + 1) * rate)
    # NOW: far = reach[:, None] * tl.dot(query, state, input_precision="ieee")
    # NOW: near = tl.dot(score, value, input_precision="ieee")
    # NOW: tl.store(out + cell, far + near)


# As flash-linear-attention's chunk_local_cumsum, with the direction as a flag.
@triton.jit
def local_sums(x, out, length, scale, REVERSE: tl.constexpr, CHUNK: tl.constexpr, HEADS: tl.constexpr):
    chunk = tl.program_id(0)
    t = chunk * CHUNK + tl.arange(0, CHUNK)
    head = tl.arange(0, HEADS)
    at = t[:, None] * HEADS + head[None, :]
    tile = tl.load(x + at, mask=t[:, None] < length, other=0.0)  # WAS
    sums = tl.cumsum(tile, axis=0)  # WAS
    # NOW: live = t[:, None] < length
    # NOW: tile = tl.load(x + at, mask=live, other=0.0)
    # NOW: sums = tl.cumsum(tile, 0)
    if REVERSE:
        sums = -sums + tl.sum(tile, 0)[None, :] + tile  # WAS
        # NOW: whole = tl.sum(tile, 0)
        # NOW: sums = whole[None, :] - sums + tile
    tl.store(out + at, sums * scale, mask=t[:, None] < length)  # WAS
    # NOW: tl.store(out + at, scale * sums, mask=live)


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int, kind: Any = np.int32) -> Any:
    return rng.integers(low, high, shape).astype(kind)


def _shares(rng: np.random.Generator, *shape: int) -> Any:
    """Rows that sum to one."""
    value = np.exp(floats(rng, *shape))
    return (value / value.sum(-1, keepdims=True)).astype(np.float32)


def _with_zeros(rng: np.random.Generator, *shape: int) -> Any:
    """Rows of shares of which some are zero, as one-hot labels have them."""
    value = np.where(rng.random(shape) < 0.3, 0.0, _shares(rng, *shape))
    return (value / value.sum(-1, keepdims=True)).astype(np.float32)


def _ranked(rng: np.random.Generator) -> dict[str, Any]:
    x = floats(rng, 3, 50)
    return {"x": x, "ranked": -np.sort(-x, 1), "out": zeros(3, 50), "n": 50, "BLOCK": 64}


def _labels(rng: np.random.Generator) -> Any:
    """Labels of six rows of 20 tokens, of which the first ones are the prompt."""
    labels = _ints(rng, 0, 90, 6, 20)
    for row, prompt in enumerate((3, 5, 2, 6, 4, 3)):
        labels[row, :prompt] = -100
    return labels


CASES = [
    Case(
        geglu_gradient, (3,),
        lambda rng: {
            "dy": floats(rng, 3, 50), "gates": floats(rng, 3, 50), "ups": floats(rng, 3, 50), "d_gates": zeros(3, 50), "d_ups": zeros(3, 50),
            "n": 50, "SQRT": 0.7978845608, "CUBE": 0.044715, "BLOCK": 64,
        },
    ),
    Case(
        divergence_rows, (4,),
        lambda rng: {
            "ours": np.log(_shares(rng, 4, 100)), "theirs": _with_zeros(rng, 4, 100), "losses": zeros(4), "n": 100, "eps": 1e-10, "BLOCK": 32,
        },
    ),
    Case(
        dynamic_tanh_gradient, (2,),
        lambda rng: {
            "dy": floats(rng, 5, 50), "x": floats(rng, 5, 50), "gammas": floats(rng, 50), "dx": zeros(5, 50), "d_alphas": zeros(2),
            "d_gammas": zeros(50), "alpha": 0.5, "rows": 5, "n": 50, "BLOCK": 32,
        },
    ),
    Case(sparse_simplex, (3,), _ranked),
    Case(
        preference_loss, (3,),
        lambda rng: {
            "logps": -abs(floats(rng, 6, 20)), "references": -abs(floats(rng, 6, 20)), "labels": _labels(rng), "losses": zeros(3),
            "gains": zeros(3), "pairs": 3, "n": 20, "beta": 0.1, "smooth": 0.05, "BLOCK": 32,
        },
    ),
    Case(
        penalised_entropy, (5,),
        lambda rng: {
            "logits": floats(rng, 5, 50) * 2, "labels": np.array([57, 12, 99, -100, 63], np.int32), "losses": zeros(5), "lses": zeros(5),
            "z_losses": zeros(5), "first": 50, "n": 50, "weight": 1e-4, "ignored": -100, "BLOCK": 64,
        },
    ),
    Case(
        output_deltas, (2, 2),
        lambda rng: {
            "out": floats(rng, 2, 24, 32, kind=np.float16), "dy": floats(rng, 2, 24, 32, kind=np.float16), "deltas": zeros(2, 24), "n": 24,
            "D": 32, "BLOCK": 16,
        },
    ),
    Case(
        query_gradient, (3,),
        lambda rng: {
            "q": floats(rng, 40, 16), "k": floats(rng, 40, 16), "v": floats(rng, 40, 16), "dy": floats(rng, 40, 16),
            "lses": abs(floats(rng, 40)) + 2, "deltas": floats(rng, 40), "dq": zeros(40, 16), "n": 40, "scale": 0.25, "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        sloped_attention, (6, 12),
        lambda rng: {
            "q": floats(rng, 6, 12, 16), "k": floats(rng, 6, 12, 16), "v": floats(rng, 6, 12, 16),
            "slopes": np.array([0.5, 0.25, 0.125], np.float32), "out": zeros(6, 12, 16), "heads": 3, "n": 12, "scale": 0.25, "D": 16,
            "BLOCK": 16,
        },
    ),
    Case(
        quantized_copies, (5, 2),
        lambda rng: {
            "keys": floats(rng, 5, 2, 32), "slots": np.array([7, 2, 11, 0, 5], np.int32), "codes": zeros(12, 2, 32, kind=np.int8),
            "scales": zeros(12, 2), "heads": 2, "D": 32,
        },
    ),
    Case(
        split_decode, (2, 4, 3),
        lambda rng: {
            "q": floats(rng, 2, 4, 16), "keys": floats(rng, 40, 2, 16), "values": floats(rng, 40, 2, 16),
            "table": rng.permutation(40).astype(np.int32).reshape(2, 20), "lengths": np.array([13, 17], np.int32),
            "parts": zeros(2, 4, 3, 16), "lses": zeros(2, 4, 3), "width": 20, "splits": 3, "scale": 0.25, "KV": 2, "GROUP": 2, "D": 16,
            "BLOCK": 4,
        },
    ),
    Case(
        listed_indices, (3,),
        lambda rng: {
            "table": _ints(rng, 0, 999, 5, 60), "rows": np.array([3, 0, 4], np.int32), "lengths": np.array([7, 40, 21], np.int32),
            "begins": np.array([0, 7, 47], np.int32), "starts": np.array([4, 0, 9], np.int32), "out": zeros(68, kind=np.int32), "width": 60,
            "BLOCK": 16,
        },
    ),
    Case(
        gated_codes, (3, 2),
        lambda rng: {
            "x": floats(rng, 3, 6, 2, 64), "counts": np.array([4, 1, 6], np.int32), "codes": zeros(3, 6, 64, kind=np.int8),
            "scales": zeros(3, 6, 2), "most": 6, "n": 64, "SIZE": 32,
        },
    ),
    Case(
        block_scaled_weights, (2, 3),
        lambda rng: {
            "x": _ints(rng, -127, 128, 24, 40, kind=np.int8), "scales": abs(floats(rng, 2, 3)), "out": zeros(24, 40), "M": 24, "N": 40,
            "BLOCK": 16,
        },
    ),
    Case(
        block_scaled_product, (2, 2),
        lambda rng: {
            "a": floats(rng, 24, 64, kind=np.float16), "b": floats(rng, 30, 64, kind=np.float16), "left_scales": abs(floats(rng, 24, 4)),
            "right_scales": abs(floats(rng, 4, 4)), "out": zeros(24, 30), "M": 24, "N": 30, "K": 64, "GROUP": 8, "BM": 16, "BN": 16, "BK": 16,
        },
    ),
    Case(
        retained_chunk, (2, 2),
        lambda rng: {
            "q": floats(rng, 2, 32, 16), "k": floats(rng, 2, 32, 16), "v": floats(rng, 2, 32, 16), "states": floats(rng, 2, 2, 16, 16),
            "out": zeros(2, 32, 16), "heads": 2, "length": 32, "scale": 0.25, "D": 16, "CHUNK": 16,
        },
    ),
    Case(
        local_sums, (3,),
        lambda rng: {
            "x": -abs(floats(rng, 42, 8)), "out": zeros(42, 8), "length": 42, "scale": 1.44, "REVERSE": True, "CHUNK": 16, "HEADS": 8,
        },
    ),
]  # fmt: skip
