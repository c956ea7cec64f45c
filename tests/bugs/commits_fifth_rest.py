"""The third part of the set of commits_fifth.py: kernels of images, of distances, of cells, of steps of optimizers, and others."""
# ruff: noqa: E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
REST: dict[str, tuple[str, str]] = {
    "depthwise_taps": ("inside = (h >= 0) & (h < H)", "inside = (h >= 0) & (h <= H)"),
    "focal_loss": ("focus = tl.exp(gamma * tl.log(1.0 - share))", "focus = tl.exp(gamma * (1.0 - share))"),
    "cosine_rows": ("right += tl.sum(b * b, 0)", "right += tl.sum(b * a, 0)"),
    "squared_distances": ("tl.sqrt(tl.maximum(square, 0.0))", "tl.sqrt(square)"),
    "walsh_rows": ("both = i[:, None] & i[None, :]", "both = i[:, None] ^ i[None, :]"),
    "harmonics": ("flat = px * px + pz * pz", "flat = px * px + py * py"),
    "lstm_cell": ("hidden = leave * _tanh(new)", "hidden = leave * _tanh(old)"),
    "stabilised_memory": ("size = tl.abs(tl.sum(norm * query, 0))", "size = tl.sum(norm * query, 0)"),
    "log_product": ("keep = tl.exp(top - new)", "keep = tl.exp(new - top)"),
    "pair_biased_attention": ("pair = (head * n + row) * n + col", "pair = (head * n + col) * n + row"),
    "silu_attention": ("weight = _silu(score) / longest", "weight = _silu(score) / length"),
    "rowwise_adagrad": ("value - change", "value + change"),
    "lion_step": ("momentum = b2 * old + (1.0 - b2) * grad", "momentum = b1 * old + (1.0 - b1) * grad"),
    "indexer_scores": ("part = tl.maximum(score, 0.0) * weight", "part = tl.maximum(score * weight, 0.0)"),
    "sinkhorn_steps": ("left = steps - 1", "left = steps"),
    "limited_swiglu": ("up = tl.minimum(tl.maximum(up, -limit), limit)", "up = tl.minimum(up, limit)"),
}


# As FlagGems' convolution of each channel on its own.
@triton.jit
def depthwise_taps(x, w, bias, out, channels, H, W, OH, OW, stride, pad, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = at < OH * OW
    top = at // OW * stride - pad
    left = at % OW * stride - pad
    total = tl.zeros([BLOCK], tl.float32)
    for i in tl.static_range(SIDE):
        for j in tl.static_range(SIDE):
            inside = (top + i >= 0) & (top + i < H) & (left + j >= 0) & (left + j < W) & live  # WAS
            value = tl.load(x + plane * H * W + (top + i) * W + left + j, mask=inside, other=0.0)  # WAS
            total += value * tl.load(w + plane % channels * SIDE * SIDE + i * SIDE + j)  # WAS
            # NOW: h = top + i
            # NOW: v = left + j
            # NOW: inside = (h >= 0) & (h < H)
            # NOW: within = live & inside & (v >= 0) & (v < W)
            # NOW: value = tl.load(x + (plane * H + h) * W + v, mask=within, other=0.0)
            # NOW: tap = tl.load(w + (plane % channels * SIDE + i) * SIDE + j)
            # NOW: total += tap * value
    total += tl.load(bias + plane % channels)
    tl.store(out + plane * OH * OW + at, total, mask=live)


@triton.jit
def _sigmoid(v):
    return 1.0 / (1.0 + tl.exp(-v))


# As torchvision's sigmoid_focal_loss.
@triton.jit
def focal_loss(x, targets, losses, n, alpha, gamma, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    hit = tl.load(targets + at, mask=live, other=0) > 0
    p = _sigmoid(tl.load(x + at, mask=live, other=0.0))  # WAS
    share = tl.where(hit, p, 1.0 - p)  # WAS
    loss = -tl.log(share) * tl.exp(gamma * tl.log(1.0 - share))  # WAS
    tl.store(losses + at, tl.where(hit, alpha, 1.0 - alpha) * loss, mask=live)  # WAS
    # NOW: logit = tl.load(x + at, mask=live, other=0.0)
    # NOW: p = 1.0 / (1.0 + tl.exp(-logit))
    # NOW: share = tl.where(hit, p, 1.0 - p)
    # NOW: focus = tl.exp(gamma * tl.log(1.0 - share))
    # NOW: loss = focus * -tl.log(share)
    # NOW: balance = tl.where(hit, alpha, 1.0 - alpha)
    # NOW: tl.store(losses + at, loss * balance, mask=live)


# As PyTorch's cosine_similarity.
@triton.jit
def cosine_rows(x, y, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cross = 0.0
    left = 0.0
    right = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
        b = tl.load(y + row * n + col, mask=col < n, other=0.0)  # WAS
        cross += tl.sum(a * b, 0)  # WAS
        right = right + tl.sum(b * b, 0)  # WAS
        # NOW: live = col < n
        # NOW: at = row * n + col
        # NOW: b = tl.load(y + at, mask=live, other=0.0)
        # NOW: a = tl.load(x + at, mask=live, other=0.0)
        # NOW: right += tl.sum(b * b, 0)
        # NOW: cross += tl.sum(b * a, 0)
        left += tl.sum(a * a, 0)
    tl.store(out + row, cross / (tl.maximum(tl.sqrt(left), eps) * tl.maximum(tl.sqrt(right), eps)))


# As cdist by a product of matrices.
@triton.jit
def squared_distances(x, y, out, M, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    a = tl.load(x + m[:, None] * D + d[None, :], mask=m[:, None] < M, other=0.0)
    b = tl.load(y + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)
    cross = tl.dot(a, tl.trans(b), input_precision="ieee")  # WAS
    square = tl.sum(a * a, 1)[:, None] + tl.sum(b * b, 1)[None, :] - 2.0 * cross  # WAS
    distance = tl.sqrt(tl.maximum(square, 0.0))  # WAS
    tl.store(out + m[:, None] * N + n[None, :], distance, mask=(m < M)[:, None] & (n < N)[None, :])  # WAS
    # NOW: left = tl.sum(a * a, 1)
    # NOW: right = tl.sum(b * b, 1)
    # NOW: cross = 2.0 * tl.dot(a, tl.trans(b), input_precision="ieee")
    # NOW: square = left[:, None] + right[None, :] - cross
    # NOW: live = (n < N)[None, :] & (m < M)[:, None]
    # NOW: cell = (m * N)[:, None] + n[None, :]
    # NOW: tl.store(out + cell, tl.sqrt(tl.maximum(square, 0.0)), mask=live)


# The transform of Walsh and Hadamard before a quantization, by a product of matrices.
@triton.jit
def walsh_rows(x, signs, out, rows, scale, D: tl.constexpr, BM: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    i = tl.arange(0, D)
    live = m < rows
    value = tl.load(x + m[:, None] * D + i[None, :], mask=live[:, None], other=0.0)
    value = value * tl.load(signs + i)[None, :]  # WAS
    bits = i[:, None] & i[None, :]  # WAS
    bits = bits ^ (bits >> 4)  # WAS
    bits = bits ^ (bits >> 2)  # WAS
    bits = bits ^ (bits >> 1)  # WAS
    matrix = tl.where(bits & 1 == 0, 1.0, -1.0)  # WAS
    turned = tl.dot(value, matrix, input_precision="ieee") * scale  # WAS
    # NOW: sign = tl.load(signs + i)
    # NOW: both = i[:, None] & i[None, :]
    # NOW: half = (both >> 4) ^ both
    # NOW: quarter = (half >> 2) ^ half
    # NOW: odd = ((quarter >> 1) ^ quarter) & 1
    # NOW: matrix = 1.0 - 2.0 * odd.to(tl.float32)
    # NOW: turned = scale * tl.dot(sign[None, :] * value, matrix, input_precision="ieee")
    tl.store(out + m[:, None] * D + i[None, :], turned, mask=live[:, None])


# As the spherical harmonics of the second order in EquiTriton.
@triton.jit
def harmonics(points, out, n, ROOT5: tl.constexpr, ROOT15: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    px = tl.load(points + at * 3, mask=live, other=0.0)
    py = tl.load(points + at * 3 + 1, mask=live, other=0.0)
    pz = tl.load(points + at * 3 + 2, mask=live, other=0.0)
    tl.store(out + at * 5, ROOT15 * px * pz, mask=live)  # WAS
    tl.store(out + at * 5 + 1, ROOT15 * px * py, mask=live)  # WAS
    tl.store(out + at * 5 + 2, ROOT5 * (py * py - 0.5 * (px * px + pz * pz)), mask=live)  # WAS
    tl.store(out + at * 5 + 3, ROOT15 * py * pz, mask=live)  # WAS
    tl.store(out + at * 5 + 4, 0.5 * ROOT15 * (pz * pz - px * px), mask=live)  # WAS
    # NOW: target = out + at * 5
    # NOW: long = ROOT15 * px
    # NOW: tl.store(target, long * pz, mask=live)
    # NOW: tl.store(target + 1, long * py, mask=live)
    # NOW: flat = px * px + pz * pz
    # NOW: tl.store(target + 2, (py * py - 0.5 * flat) * ROOT5, mask=live)
    # NOW: tl.store(target + 3, ROOT15 * py * pz, mask=live)
    # NOW: tl.store(target + 4, (pz * pz - px * px) * (0.5 * ROOT15), mask=live)


@triton.jit
def _tanh(v):
    return 2.0 / (1.0 + tl.exp(-2.0 * v)) - 1.0


# One step of a cell of long short-term memory, as FlashRNN fuses it.
@triton.jit
def lstm_cell(inputs, turns, bias, cells, hiddens, H, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = col < H
    base = row * 4 * H + col
    enter = tl.load(inputs + base, mask=live, other=0.0) + tl.load(turns + base, mask=live, other=0.0)
    keep = tl.load(inputs + base + H, mask=live, other=0.0) + tl.load(turns + base + H, mask=live, other=0.0)
    fresh = tl.load(inputs + base + 2 * H, mask=live, other=0.0) + tl.load(turns + base + 2 * H, mask=live, other=0.0)
    leave = tl.load(inputs + base + 3 * H, mask=live, other=0.0) + tl.load(turns + base + 3 * H, mask=live, other=0.0)
    enter = _sigmoid(enter + tl.load(bias + col, mask=live, other=0.0))
    keep = _sigmoid(keep + tl.load(bias + H + col, mask=live, other=0.0))
    fresh = _tanh(fresh + tl.load(bias + 2 * H + col, mask=live, other=0.0))  # WAS
    leave = _sigmoid(leave + tl.load(bias + 3 * H + col, mask=live, other=0.0))  # WAS
    new = keep * tl.load(cells + row * H + col, mask=live, other=0.0) + enter * fresh  # WAS
    tl.store(hiddens + row * H + col, leave * _tanh(new), mask=live)  # WAS
    tl.store(cells + row * H + col, new, mask=live)  # WAS
    # NOW: leave = _sigmoid(tl.load(bias + 3 * H + col, mask=live, other=0.0) + leave)
    # NOW: fresh = _tanh(tl.load(bias + 2 * H + col, mask=live, other=0.0) + fresh)
    # NOW: at = row * H + col
    # NOW: old = tl.load(cells + at, mask=live, other=0.0)
    # NOW: new = keep * old + enter * fresh
    # NOW: hidden = leave * _tanh(new)
    # NOW: tl.store(cells + at, new, mask=live)
    # NOW: tl.store(hiddens + at, hidden, mask=live)


# As the recurrent step of the matrix memory of xLSTM.
@triton.jit
def stabilised_memory(q, k, v, enters, keeps, memories, norms, peaks, out, scale, D: tl.constexpr):
    head = tl.program_id(0)
    i = tl.arange(0, D)
    cell = head * D * D + i[:, None] * D + i[None, :]
    memory = tl.load(memories + cell)
    peak = tl.load(peaks + head)
    query = tl.load(q + head * D + i) * scale
    key = tl.load(k + head * D + i)
    value = tl.load(v + head * D + i)
    enter = tl.load(enters + head)
    faded = peak - tl.log(1.0 + tl.exp(-tl.load(keeps + head)))
    top = tl.maximum(faded, enter)  # WAS
    memory = tl.exp(faded - top) * memory + tl.exp(enter - top) * (key[:, None] * value[None, :])  # WAS
    norm = tl.exp(faded - top) * tl.load(norms + head * D + i) + tl.exp(enter - top) * key  # WAS
    below = tl.maximum(tl.abs(tl.sum(norm * query, 0)), tl.exp(-top))  # WAS
    tl.store(out + head * D + i, tl.sum(memory * query[:, None], 0) / below)  # WAS
    # NOW: top = tl.maximum(enter, faded)
    # NOW: old = tl.exp(faded - top)
    # NOW: new = tl.exp(enter - top)
    # NOW: norm = old * tl.load(norms + head * D + i) + new * key
    # NOW: memory = old * memory + new * (key[:, None] * value[None, :])
    # NOW: size = tl.abs(tl.sum(norm * query, 0))
    # NOW: above = tl.sum(query[:, None] * memory, 0)
    # NOW: tl.store(out + head * D + i, above / tl.maximum(size, tl.exp(-top)))
    tl.store(memories + cell, memory)
    tl.store(norms + head * D + i, norm)
    tl.store(peaks + head, top)


# As genbmm's product of matrices of logs.
@triton.jit
def log_product(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    top = tl.full([BM, BN], -1e30, tl.float32)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=-1e30)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=-1e30)
        each = left[:, :, None] + right[None, :, :]  # WAS
        new = tl.maximum(top, tl.max(each, 1))  # WAS
        total = total * tl.exp(top - new) + tl.sum(tl.exp(each - new[:, None, :]), 1)  # WAS
        top = new  # WAS
        # NOW: each = right[None, :, :] + left[:, :, None]
        # NOW: high = tl.max(each, 1)
        # NOW: new = tl.maximum(high, top)
        # NOW: keep = tl.exp(top - new)
        # NOW: part = tl.sum(tl.exp(each - new[:, None, :]), 1)
        # NOW: total = keep * total + part
        # NOW: top = new
    tl.store(out + m[:, None] * N + n[None, :], top + tl.log(total), mask=(m < M)[:, None] & (n < N)[None, :])


# Attention with a bias for each pair, as in trifast and the other kernels for triangles of AlphaFold.
@triton.jit
def pair_biased_attention(q, k, v, bias, kept, out, heads, n, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    line = tl.program_id(0)
    head = tl.program_id(1)
    row = tl.program_id(2)
    d = tl.arange(0, D)
    col = tl.arange(0, BLOCK)
    live = col < n
    base = (line * heads + head) * n
    query = tl.load(q + (base + row) * D + d) * scale
    key = tl.load(k + (base + col[:, None]) * D + d[None, :], mask=live[:, None], other=0.0)
    value = tl.load(v + (base + col[:, None]) * D + d[None, :], mask=live[:, None], other=0.0)
    seen = tl.load(kept + line * n + col, mask=live, other=0) != 0  # WAS
    score = tl.sum(key * query[None, :], 1) + tl.load(bias + (head * n + row) * n + col, mask=live, other=0.0)  # WAS
    score = tl.where(live, tl.where(seen, score, -1e9), -float("inf"))  # WAS
    weight = tl.exp(score - tl.max(score, 0))  # WAS
    # NOW: barred = tl.load(kept + line * n + col, mask=live, other=0) == 0
    # NOW: pair = (head * n + row) * n + col
    # NOW: lean = tl.load(bias + pair, mask=live, other=0.0)
    # NOW: score = lean + tl.sum(query[None, :] * key, 1)
    # NOW: score = tl.where(barred, -1e9, score)
    # NOW: score = tl.where(live, score, -float("inf"))
    # NOW: weight = tl.exp(score - tl.max(score, 0))
    tl.store(out + (base + row) * D + d, tl.sum(weight[:, None] * value, 0) / tl.sum(weight, 0))


@triton.jit
def _silu(v):
    return v / (1.0 + tl.exp(-v))


# fmt: off
# As the attention of generative-recommenders: ragged, and without a softmax.
@triton.jit
def silu_attention(q, k, v, offsets, out, longest, alpha, D: tl.constexpr, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    begin = tl.load(offsets + batch)
    length = tl.load(offsets + batch + 1) - begin
    query = tl.load(q + (begin + row)[:, None] * D + d[None, :], mask=(row < length)[:, None], other=0.0)
    total = tl.zeros([BLOCK, D], tl.float32)
    for start in range(0, length, BLOCK):
        col = start + tl.arange(0, BLOCK)
        key = tl.load(k + (begin + col)[:, None] * D + d[None, :], mask=(col < length)[:, None], other=0.0)  # WAS
        value = tl.load(v + (begin + col)[:, None] * D + d[None, :], mask=(col < length)[:, None], other=0.0)  # WAS
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * alpha  # WAS
        weight = tl.where(row[:, None] >= col[None, :], _silu(score) / longest, 0.0)  # WAS
        total += tl.dot(weight, value, input_precision="ieee")  # WAS
        # NOW: live = col < length
        # NOW: cell = (begin + col)[:, None] * D + d[None, :]
        # NOW: value = tl.load(v + cell, mask=live[:, None], other=0.0)
        # NOW: key = tl.load(k + cell, mask=live[:, None], other=0.0)
        # NOW: score = alpha * tl.dot(query, tl.trans(key), input_precision="ieee")
        # NOW: weight = _silu(score) / longest
        # NOW: weight = tl.where(col[None, :] > row[:, None], 0.0, weight)
        # NOW: total = tl.dot(weight, value, total, input_precision="ieee")
    tl.store(out + (begin + row)[:, None] * D + d[None, :], total, mask=(row < length)[:, None])
# fmt: on


# As FBGEMM's step of Adagrad with one state for each row of a table.
@triton.jit
def rowwise_adagrad(table, grads, ids, states, n, rate, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    live = col < n
    row = tl.load(ids + pid)
    grad = tl.load(grads + pid * n + col, mask=live, other=0.0)
    value = tl.load(table + row * n + col, mask=live, other=0.0)
    state = tl.load(states + row) + tl.sum(grad * grad, 0) / n  # WAS
    step = rate / (tl.sqrt(state) + eps)  # WAS
    tl.store(table + row * n + col, value - step * grad, mask=live)  # WAS
    tl.store(states + row, state)  # WAS
    # NOW: old = tl.load(states + row)
    # NOW: mean = tl.sum(grad * grad, 0) / n
    # NOW: state = mean + old
    # NOW: step = rate / (eps + tl.sqrt(state))
    # NOW: change = grad * step
    # NOW: tl.store(states + row, state)
    # NOW: tl.store(table + row * n + col, value - change, mask=live)


# As the step of lion-pytorch.
@triton.jit
def lion_step(weights, grads, firsts, n, rate, decay, b1, b2, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    value = tl.load(weights + at, mask=live, other=0.0)
    grad = tl.load(grads + at, mask=live, other=0.0)
    old = tl.load(firsts + at, mask=live, other=0.0)
    value = value * (1.0 - rate * decay)  # WAS
    mixed = b1 * old + (1.0 - b1) * grad  # WAS
    value = value - tl.where(mixed > 0.0, rate, tl.where(mixed < 0.0, -rate, 0.0))  # WAS
    tl.store(weights + at, value, mask=live)  # WAS
    tl.store(firsts + at, b2 * old + (1.0 - b2) * grad, mask=live)  # WAS
    # NOW: mixed = b1 * old + (1.0 - b1) * grad
    # NOW: step = tl.where(mixed == 0.0, 0.0, tl.where(mixed > 0.0, rate, -rate))
    # NOW: shrunk = value * (1.0 - decay * rate)
    # NOW: momentum = b2 * old + (1.0 - b2) * grad
    # NOW: tl.store(firsts + at, momentum, mask=live)
    # NOW: tl.store(weights + at, shrunk - step, mask=live)


# fmt: off
# As the scores by which DeepSeek-V3.2 picks the tokens to attend to.
@triton.jit
def indexer_scores(q, keys, scales, weights, ends, out, n, HEADS: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    live = col < n
    key = tl.load(keys + col[:, None] * D + d[None, :], mask=live[:, None], other=0).to(tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for h in range(0, HEADS):  # WAS
        query = tl.load(q + (row * HEADS + h) * D + d)  # WAS
        score = tl.sum(key * query[None, :], 1)  # WAS
        total += tl.maximum(score, 0.0) * tl.load(weights + row * HEADS + h)  # WAS
    score = total * tl.load(scales + col, mask=live, other=0.0)  # WAS
    score = tl.where(col < tl.load(ends + row), score, -float("inf"))  # WAS
    # NOW: first = row * HEADS
    # NOW: for at in range(first, first + HEADS):
    # NOW:     weight = tl.load(weights + at)
    # NOW:     score = tl.sum(tl.load(q + at * D + d)[None, :] * key, 1)
    # NOW:     part = tl.maximum(score, 0.0) * weight
    # NOW:     total = total + part
    # NOW: beyond = col >= tl.load(ends + row)
    # NOW: scale = tl.load(scales + col, mask=live, other=0.0)
    # NOW: score = tl.where(beyond, -float("inf"), scale * total)
    tl.store(out + row * n + col, score, mask=live)
# fmt: on


# fmt: off
# As the steps of Sinkhorn and Knopp that mix the streams of hyper-connections.
@triton.jit
def sinkhorn_steps(logits, out, steps, eps, N: tl.constexpr):
    token = tl.program_id(0)
    i = tl.arange(0, N)
    cell = token * N * N + i[:, None] * N + i[None, :]
    logit = tl.load(logits + cell)
    mix = tl.exp(logit - tl.max(logit, 1)[:, None])  # WAS
    mix = mix / tl.sum(mix, 1)[:, None] + eps  # WAS
    mix = mix / (tl.sum(mix, 0)[None, :] + eps)  # WAS
    for _ in range(1, steps):  # WAS
        mix = mix / (tl.sum(mix, 1)[:, None] + eps)  # WAS
        mix = mix / (tl.sum(mix, 0)[None, :] + eps)  # WAS
    # NOW: high = tl.max(logit, 1)
    # NOW: mix = tl.exp(logit - high[:, None])
    # NOW: mix = eps + mix / tl.sum(mix, 1)[:, None]
    # NOW: mix = mix / (eps + tl.sum(mix, 0))[None, :]
    # NOW: left = steps - 1
    # NOW: while left > 0:
    # NOW:     across = eps + tl.sum(mix, 1)
    # NOW:     mix = mix / across[:, None]
    # NOW:     down = eps + tl.sum(mix, 0)
    # NOW:     mix = mix / down[None, :]
    # NOW:     left -= 1
    tl.store(out + cell, mix)
# fmt: on


# As the gate of gpt-oss, whose halves stand in turn.
@triton.jit
def limited_swiglu(x, out, n, alpha, limit, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = col < n
    gate = tl.load(x + row * 2 * n + 2 * col, mask=live, other=0.0)  # WAS
    up = tl.load(x + row * 2 * n + 2 * col + 1, mask=live, other=0.0)  # WAS
    gate = tl.minimum(gate, limit)  # WAS
    up = tl.maximum(tl.minimum(up, limit), -limit)  # WAS
    tl.store(out + row * n + col, gate * _sigmoid(alpha * gate) * (up + 1.0), mask=live)  # WAS
    # NOW: at = row * n + col
    # NOW: up = tl.load(x + 2 * at + 1, mask=live, other=0.0)
    # NOW: gate = tl.minimum(tl.load(x + 2 * at, mask=live, other=0.0), limit)
    # NOW: up = tl.minimum(tl.maximum(up, -limit), limit)
    # NOW: passed = gate * _sigmoid(gate * alpha)
    # NOW: tl.store(out + at, (1.0 + up) * passed, mask=live)


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int, kind: Any = np.int32) -> Any:
    return rng.integers(low, high, shape).astype(kind)


def _distances(rng: np.random.Generator) -> dict[str, Any]:
    """The distances of points from themselves."""
    x = floats(rng, 24, 32) + 2
    return {"x": x, "y": x.copy(), "out": zeros(24, 24), "M": 24, "N": 24, "D": 32, "BM": 16, "BN": 16}


CASES = [
    Case(
        depthwise_taps, (4, 2),
        lambda rng: {
            "x": floats(rng, 5, 6, 9), "w": floats(rng, 2, 3, 3), "bias": floats(rng, 2), "out": zeros(4, 6, 9), "channels": 2, "H": 6, "W": 9,
            "OH": 6, "OW": 9, "stride": 1, "pad": 1, "SIDE": 3, "BLOCK": 32,
        },
    ),
    Case(
        focal_loss, (3,),
        lambda rng: {
            "x": floats(rng, 300) * 2, "targets": _ints(rng, 0, 2, 300), "losses": zeros(300), "n": 300, "alpha": 0.25, "gamma": 2.0,
            "BLOCK": 128,
        },
    ),
    Case(
        cosine_rows, (4,),
        lambda rng: {"x": floats(rng, 4, 100), "y": floats(rng, 4, 100), "out": zeros(4), "n": 100, "eps": 1e-8, "BLOCK": 32},
    ),
    Case(squared_distances, (2, 2), _distances),
    Case(
        walsh_rows, (2,),
        lambda rng: {
            "x": floats(rng, 24, 32), "signs": _ints(rng, 0, 2, 32, kind=np.float32) * 2 - 1, "out": zeros(24, 32), "rows": 24,
            "scale": 32**-0.5, "D": 32, "BM": 16,
        },
    ),
    Case(
        harmonics, (2,),
        lambda rng: {
            "points": floats(rng, 100, 3), "out": zeros(100, 5), "n": 100, "ROOT5": 5**0.5, "ROOT15": 15**0.5, "BLOCK": 64,
        },
    ),
    Case(
        lstm_cell, (3, 2),
        lambda rng: {
            "inputs": floats(rng, 3, 4, 50), "turns": floats(rng, 3, 4, 50), "bias": floats(rng, 4, 50), "cells": floats(rng, 3, 50),
            "hiddens": zeros(3, 50), "H": 50, "BLOCK": 32,
        },
    ),
    Case(
        stabilised_memory, (6,),
        lambda rng: {
            "q": floats(rng, 6, 16), "k": floats(rng, 6, 16), "v": floats(rng, 6, 16), "enters": floats(rng, 6), "keeps": floats(rng, 6) + 3,
            "memories": floats(rng, 6, 16, 16), "norms": floats(rng, 6, 16) * 3, "peaks": floats(rng, 6), "out": zeros(6, 16), "scale": 0.25,
            "D": 16,
        },
    ),
    Case(
        log_product, (2, 2),
        lambda rng: {
            "a": floats(rng, 12, 20) * 2, "b": floats(rng, 20, 14) * 2, "out": zeros(12, 14), "M": 12, "N": 14, "K": 20, "BM": 8, "BN": 8,
            "BK": 8,
        },
    ),
    Case(
        pair_biased_attention, (3, 2, 12),
        lambda rng: {
            "q": floats(rng, 3, 2, 12, 16), "k": floats(rng, 3, 2, 12, 16), "v": floats(rng, 3, 2, 12, 16), "bias": floats(rng, 2, 12, 12),
            "kept": _ints(rng, 0, 5, 3, 12), "out": zeros(3, 2, 12, 16), "heads": 2, "n": 12, "scale": 0.25, "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        silu_attention, (3, 2),
        lambda rng: {
            "q": floats(rng, 54, 16), "k": floats(rng, 54, 16), "v": floats(rng, 54, 16), "offsets": np.array([0, 9, 35, 54], np.int32),
            "out": zeros(54, 16), "longest": 32, "alpha": 0.25, "D": 16, "BLOCK": 16,
        },
    ),
    Case(
        rowwise_adagrad, (5,),
        lambda rng: {
            "table": floats(rng, 12, 50), "grads": floats(rng, 5, 50), "ids": np.array([7, 2, 11, 0, 5], np.int32), "states": abs(floats(rng, 12)),
            "n": 50, "rate": 0.05, "eps": 1e-8, "BLOCK": 64,
        },
    ),
    Case(
        lion_step, (3,),
        lambda rng: {
            "weights": floats(rng, 300), "grads": floats(rng, 300), "firsts": floats(rng, 300), "n": 300, "rate": 1e-2, "decay": 0.1, "b1": 0.9,
            "b2": 0.99, "BLOCK": 128,
        },
    ),
    Case(
        indexer_scores, (4, 2),
        lambda rng: {
            "q": floats(rng, 4, 4, 32), "keys": _ints(rng, -127, 128, 50, 32, kind=np.int8), "scales": abs(floats(rng, 50)) / 64,
            "weights": floats(rng, 4, 4), "ends": np.array([47, 48, 49, 50], np.int32), "out": zeros(4, 50), "n": 50, "HEADS": 4, "D": 32,
            "BLOCK": 32,
        },
    ),
    Case(sinkhorn_steps, (6,), lambda rng: {"logits": floats(rng, 6, 4, 4) * 2, "out": zeros(6, 4, 4), "steps": 3, "eps": 1e-6, "N": 4}),
    Case(
        limited_swiglu, (3, 2),
        lambda rng: {"x": floats(rng, 3, 100) * 5, "out": zeros(3, 50), "n": 50, "alpha": 1.702, "limit": 7.0, "BLOCK": 32},
    ),
]  # fmt: skip
