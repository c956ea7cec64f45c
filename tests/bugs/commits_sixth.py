"""Fifty more commits that tidy and break, held out: written by somebody who had read none of the rules that test or rank statements.

Each kernel has the shape of one that people run, and its commit rewrites three to six statements of it without a change of one
bit (``# WAS``, ``# NOW``); then one of those is broken as in SIXTH, in ways that one meets in bug reports. They were committed before
anything was measured of them, and neither they nor a rule is changed to fit what was said. Here are the kernels of losses and of
norms; those of commits_sixth_more.py and commits_sixth_rest.py belong to the set.
"""
# ruff: noqa: E501, N803

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros
from commits_sixth_more import MORE
from commits_sixth_rest import REST

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
SIXTH: dict[str, tuple[str, str]] = {
    "polynomial_norm": ("mean4 = tl.sum(square * square, 0) / n", "mean4 = tl.sum(square, 0) / n"),
    "total_variation": ("slope = tl.where(p > q, 0.5, -0.5)", "slope = tl.where(p > q, -0.5, 0.5)"),
    "margin_loss": ("others = live & (col != label)", "others = live"),
    "smooth_distance": ("near = 0.5 * size * size / beta", "near = 0.5 * size * size"),
    "picked_loss": ("cell = base + label * space", "cell = base + label * classes"),
    "weighted_bits": ("lean = 1.0 + (push - 1.0) * y", "lean = 1.0 + push * y"),
    "softmax_gradient": ("along = tl.sum(product, 0)", "along = tl.sum(product, 1)"),
    "log_softmax_gradient": ("total = total + tl.sum(grad, 0)", "total = tl.sum(grad, 0)"),
    "weight_norm": ("gain = tl.load(gains + row)", "gain = tl.load(gains)"),
    "mish_gradient": ("bend = v * (1.0 - t * t)", "bend = v * (1.0 - t)"),
    "hard_swish_gradient": ("slope = v / 3.0 + 0.5", "slope = v / 6.0 + 0.5"),
    "capped_entropy": ("hit = cap * _tanh(own / cap)", "hit = own"),
    "folded_batch_norm": ("shift = beta - mean * gain", "shift = beta - mean * rstd"),
    "modulated_norm": ("scale = tl.load(table + n + col, mask=live", "scale = tl.load(table + col, mask=live"),
    "group_gradient": ("count = size * space", "count = size"),
    "scaled_residual": ("tl.store(sums + at, total, mask=live)", "tl.store(sums + at, value, mask=live)"),
    "merged_variance": ("tl.store(variances + row, m2 / (n - 1))", "tl.store(variances + row, m2 / n)"),
    **MORE,
    **REST,
}


@triton.jit
def _tanh(v):
    return 2.0 / (1.0 + tl.exp(-2.0 * v)) - 1.0


# As liger-kernel's PolyNorm: three powers, each with its own norm.
@triton.jit
def polynomial_norm(x, w, bias, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + col, mask=col < n, other=0.0)
    r3 = 1.0 / tl.sqrt(tl.sum(v * v * v * (v * v * v), 0) / n + eps)  # WAS
    r2 = 1.0 / tl.sqrt(tl.sum(v * v * (v * v), 0) / n + eps)  # WAS
    r1 = 1.0 / tl.sqrt(tl.sum(v * v, 0) / n + eps)  # WAS
    y = tl.load(w) * (v * v * v * r3) + tl.load(w + 1) * (v * v * r2) + tl.load(w + 2) * (v * r1) + tl.load(bias)  # WAS
    # NOW: square = v * v
    # NOW: cube = square * v
    # NOW: mean6 = tl.sum(cube * cube, 0) / n
    # NOW: mean4 = tl.sum(square * square, 0) / n
    # NOW: mean2 = tl.sum(square, 0) / n
    # NOW: third = cube * (1.0 / tl.sqrt(mean6 + eps))
    # NOW: second = square * (1.0 / tl.sqrt(mean4 + eps))
    # NOW: first = v * (1.0 / tl.sqrt(mean2 + eps))
    # NOW: y = tl.load(w) * third + tl.load(w + 1) * second + tl.load(w + 2) * first + tl.load(bias)
    tl.store(out + row * n + col, y, mask=col < n)


# As liger-kernel's total variation distance.
@triton.jit
def total_variation(ours, theirs, labels, losses, grads, n, ignored, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    total = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        p = tl.load(ours + row * n + col, mask=col < n, other=0.0)  # WAS
        q = tl.load(theirs + row * n + col, mask=col < n, other=0.0)  # WAS
        total += tl.sum(0.5 * tl.abs(p - q), 0)  # WAS
        grad = tl.where(p > q, 0.5, -0.5) * scale  # WAS
        tl.store(grads + row * n + col, tl.where(label == ignored, 0.0, grad), mask=col < n)  # WAS
        # NOW: live = col < n
        # NOW: at = row * n + col
        # NOW: q = tl.load(theirs + at, mask=live, other=0.0)
        # NOW: p = tl.load(ours + at, mask=live, other=0.0)
        # NOW: total = total + tl.sum(tl.abs(p - q) * 0.5, 0)
        # NOW: slope = tl.where(p > q, 0.5, -0.5)
        # NOW: tl.store(grads + at, tl.where(label != ignored, scale * slope, 0.0), mask=live)
    tl.store(losses + row, tl.where(label == ignored, 0.0, total * scale))


# As PyTorch's and FlagGems' multi_margin_loss.
@triton.jit
def margin_loss(x, labels, losses, n, margin, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
    own = tl.load(x + row * n + label)  # WAS
    each = tl.maximum(margin - own + value, 0.0)  # WAS
    tl.store(losses + row, tl.sum(tl.where((col < n) & (col != label), each, 0.0), 0) / n)  # WAS
    # NOW: live = col < n
    # NOW: source = x + row * n
    # NOW: own = tl.load(source + label)
    # NOW: value = tl.load(source + col, mask=live, other=0.0)
    # NOW: over = tl.maximum(value + (margin - own), 0.0)
    # NOW: others = live & (col != label)
    # NOW: total = tl.sum(tl.where(others, over, 0.0), 0)
    # NOW: tl.store(losses + row, total / n)


# As FlagGems' smooth_l1_loss.
@triton.jit
def smooth_distance(x, y, out, n, beta, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    b = tl.load(y + at, mask=at < n, other=0.0)  # WAS
    loss = tl.where(tl.abs(a - b) < beta, 0.5 * tl.abs(a - b) * tl.abs(a - b) / beta, tl.abs(a - b) - 0.5 * beta)  # WAS
    tl.store(out + at, loss, mask=at < n)  # WAS
    # NOW: live = at < n
    # NOW: b = tl.load(y + at, mask=live, other=0.0)
    # NOW: a = tl.load(x + at, mask=live, other=0.0)
    # NOW: size = tl.abs(a - b)
    # NOW: near = 0.5 * size * size / beta
    # NOW: far = size - 0.5 * beta
    # NOW: tl.store(out + at, tl.where(size < beta, near, far), mask=live)


# As FlagGems' nll_loss2d: the classes stand before the places.
@triton.jit
def picked_loss(logs, labels, weights, losses, shares, classes, space, ignored, BLOCK: tl.constexpr):
    batch = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(labels + batch * space + at, mask=at < space, other=ignored)  # WAS
    kept = (label != ignored) & (at < space)  # WAS
    weight = tl.load(weights + label, mask=kept, other=0.0)  # WAS
    value = tl.load(logs + batch * classes * space + label * space + at, mask=kept, other=0.0)  # WAS
    tl.store(losses + batch * space + at, -value * weight, mask=at < space)  # WAS
    tl.store(shares + batch * space + at, weight, mask=at < space)  # WAS
    # NOW: live = at < space
    # NOW: place = batch * space + at
    # NOW: label = tl.load(labels + place, mask=live, other=ignored)
    # NOW: kept = live & (label != ignored)
    # NOW: base = batch * classes * space
    # NOW: cell = base + label * space
    # NOW: value = tl.load(logs + cell + at, mask=kept, other=0.0)
    # NOW: weight = tl.load(weights + label, mask=kept, other=0.0)
    # NOW: tl.store(shares + place, weight, mask=live)
    # NOW: tl.store(losses + place, weight * -value, mask=live)


# As PyTorch's binary_cross_entropy_with_logits, with a weight of what is true.
@triton.jit
def weighted_bits(x, targets, pushes, losses, rows, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < rows * n
    value = tl.load(x + at, mask=live, other=0.0)
    y = tl.load(targets + at, mask=live, other=0.0)
    push = tl.load(pushes + at % n, mask=live, other=0.0)
    soft = tl.log(1.0 + tl.exp(-tl.abs(value))) + tl.maximum(-value, 0.0)  # WAS
    loss = (1.0 - y) * value + (1.0 + (push - 1.0) * y) * soft  # WAS
    tl.store(losses + at, loss, mask=live)  # WAS
    # NOW: small = tl.log(tl.exp(-tl.abs(value)) + 1.0)
    # NOW: soft = small + tl.maximum(0.0, -value)
    # NOW: lean = 1.0 + (push - 1.0) * y
    # NOW: linear = (1.0 - y) * value
    # NOW: tl.store(losses + at, linear + lean * soft, mask=live)


# As FlagGems' backward of a softmax of an axis that is not the last one.
@triton.jit
def softmax_gradient(y, dy, dx, n, inner, BLOCK: tl.constexpr, LANES: tl.constexpr):
    outer = tl.program_id(1)
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    i = tl.arange(0, BLOCK)
    at = (outer * n + i[:, None]) * inner + lane[None, :]
    share = tl.load(y + at, mask=(i[:, None] < n) & (lane[None, :] < inner), other=0.0)  # WAS
    grad = tl.load(dy + at, mask=(i[:, None] < n) & (lane[None, :] < inner), other=0.0)  # WAS
    slope = share * (grad - tl.sum(grad * share, 0)[None, :])  # WAS
    tl.store(dx + at, slope, mask=(i[:, None] < n) & (lane[None, :] < inner))  # WAS
    # NOW: live = (lane < inner)[None, :] & (i < n)[:, None]
    # NOW: grad = tl.load(dy + at, mask=live, other=0.0)
    # NOW: share = tl.load(y + at, mask=live, other=0.0)
    # NOW: product = share * grad
    # NOW: along = tl.sum(product, 0)
    # NOW: tl.store(dx + at, (grad - along[None, :]) * share, mask=live)


# As FlagGems' backward of log_softmax, with rows longer than a block.
@triton.jit
def log_softmax_gradient(y, dy, dx, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(dy + row * n + col, mask=col < n, other=0.0), 0)  # WAS
        # NOW: grad = tl.load(dy + row * n + col, mask=col < n, other=0.0)
        # NOW: total = total + tl.sum(grad, 0)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        grad = tl.load(dy + row * n + col, mask=col < n, other=0.0)  # WAS
        value = tl.load(y + row * n + col, mask=col < n, other=0.0)  # WAS
        tl.store(dx + row * n + col, grad - tl.exp(value) * total, mask=col < n)  # WAS
        # NOW: live = col < n
        # NOW: at = row * n + col
        # NOW: share = tl.exp(tl.load(y + at, mask=live, other=0.0))
        # NOW: back = tl.load(dy + at, mask=live, other=0.0) - total * share
        # NOW: tl.store(dx + at, back, mask=live)


# As FlagGems' weight_norm.
@triton.jit
def weight_norm(v, gains, out, norms, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(v + row * n + col, mask=col < n, other=0.0)  # WAS
    norm = tl.sqrt(tl.sum(value * value, 0))  # WAS
    tl.store(norms + row, norm)  # WAS
    tl.store(out + row * n + col, value * (tl.load(gains + row) / norm), mask=col < n)  # WAS
    # NOW: live = col < n
    # NOW: at = row * n + col
    # NOW: value = tl.load(v + at, mask=live, other=0.0)
    # NOW: square = tl.sum(value * value, 0)
    # NOW: norm = tl.sqrt(square)
    # NOW: gain = tl.load(gains + row)
    # NOW: tl.store(out + at, gain / norm * value, mask=live)
    # NOW: tl.store(norms + row, norm)


# As attorch's backward of mish.
@triton.jit
def mish_gradient(x, dy, dx, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    grad = tl.load(dy + at, mask=at < n, other=0.0)
    t = _tanh(tl.log(1.0 + tl.exp(v)))  # WAS
    slope = t + v * (1.0 - t * t) * (1.0 / (1.0 + tl.exp(-v)))  # WAS
    tl.store(dx + at, grad * slope, mask=at < n)  # WAS
    # NOW: soft = tl.log(tl.exp(v) + 1.0)
    # NOW: t = _tanh(soft)
    # NOW: share = 1.0 / (tl.exp(-v) + 1.0)
    # NOW: bend = v * (1.0 - t * t)
    # NOW: tl.store(dx + at, (bend * share + t) * grad, mask=at < n)


# As attorch's backward of hard swish.
@triton.jit
def hard_swish_gradient(x, dy, dx, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)  # WAS
    grad = tl.load(dy + at, mask=at < n, other=0.0)  # WAS
    slope = tl.where(v <= -3.0, 0.0, tl.where(v < 3.0, v / 3.0 + 0.5, 1.0))  # WAS
    tl.store(dx + at, grad * slope, mask=at < n)  # WAS
    # NOW: live = at < n
    # NOW: grad = tl.load(dy + at, mask=live, other=0.0)
    # NOW: v = tl.load(x + at, mask=live, other=0.0)
    # NOW: slope = v / 3.0 + 0.5
    # NOW: slope = tl.where(v >= 3.0, 1.0, slope)
    # NOW: slope = tl.where(v > -3.0, slope, 0.0)
    # NOW: tl.store(dx + at, slope * grad, mask=live)


# As unsloth's cross entropy of Gemma 2, with soft caps of the logits.
@triton.jit
def capped_entropy(logits, labels, losses, lses, n, cap, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    logit = tl.load(logits + row * n + col, mask=col < n, other=-float("inf")) * scale  # WAS
    logit = tl.where(col < n, cap * _tanh(logit / cap), -float("inf"))  # WAS
    lse = tl.max(logit, 0) + tl.log(tl.sum(tl.exp(logit - tl.max(logit, 0)), 0))  # WAS
    # NOW: live = col < n
    # NOW: raw = scale * tl.load(logits + row * n + col, mask=live, other=-float("inf"))
    # NOW: logit = tl.where(live, _tanh(raw / cap) * cap, -float("inf"))
    # NOW: high = tl.max(logit, 0)
    # NOW: lse = tl.log(tl.sum(tl.exp(logit - high), 0)) + high
    tl.store(lses + row, lse)
    if label != -100:
        hit = cap * _tanh(tl.load(logits + row * n + label) * scale / cap)  # WAS
        # NOW: own = tl.load(logits + row * n + label) * scale
        # NOW: hit = cap * _tanh(own / cap)
        tl.store(losses + row, lse - hit)


# As attorch's batch norm when nothing is learnt, with a relu behind it.
@triton.jit
def folded_batch_norm(x, gammas, betas, means, variances, out, channels, space, eps, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    channel = plane % channels
    gamma = tl.load(gammas + channel)
    beta = tl.load(betas + channel)
    gain = gamma * (1.0 / tl.sqrt(tl.load(variances + channel) + eps))  # WAS
    shift = beta - tl.load(means + channel) * gain  # WAS
    value = tl.load(x + plane * space + at, mask=at < space, other=0.0)  # WAS
    tl.store(out + plane * space + at, tl.maximum(value * gain + shift, 0.0), mask=at < space)  # WAS
    # NOW: live = at < space
    # NOW: mean = tl.load(means + channel)
    # NOW: rstd = 1.0 / tl.sqrt(tl.load(variances + channel) + eps)
    # NOW: gain = rstd * gamma
    # NOW: shift = beta - mean * gain
    # NOW: value = tl.load(x + plane * space + at, mask=live, other=0.0)
    # NOW: y = gain * value + shift
    # NOW: tl.store(out + plane * space + at, tl.maximum(0.0, y), mask=live)


# As the norms of DiT in diffusers and xDiT: what shifts stands before what scales.
@triton.jit
def modulated_norm(x, tables, out, tokens, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0)
    centred = tl.where(col < n, value - tl.sum(value, 0) / n, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, 0) / n + eps)
    shift = tl.load(tables + row // tokens * 2 * n + col, mask=col < n, other=0.0)  # WAS
    scale = tl.load(tables + row // tokens * 2 * n + n + col, mask=col < n, other=0.0)  # WAS
    tl.store(out + row * n + col, centred * rstd * (1.0 + scale) + shift, mask=col < n)  # WAS
    # NOW: live = col < n
    # NOW: table = tables + row // tokens * (2 * n)
    # NOW: scale = tl.load(table + n + col, mask=live, other=0.0)
    # NOW: shift = tl.load(table + col, mask=live, other=0.0)
    # NOW: y = rstd * centred * (scale + 1.0)
    # NOW: tl.store(out + row * n + col, y + shift, mask=live)


# As liger-kernel's backward of the norm of groups.
@triton.jit
def group_gradient(dy, x, w, means, rstds, dx, channels, size, space, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    groups = channels // size
    at = tl.arange(0, BLOCK)
    live = at < size * space
    value = tl.load(x + group * size * space + at, mask=live, other=0.0)
    grad = tl.load(dy + group * size * space + at, mask=live, other=0.0)
    gain = tl.load(w + group % groups * size + at // space, mask=live, other=0.0)
    rstd = tl.load(rstds + group)
    unit = tl.where(live, (value - tl.load(means + group)) * rstd, 0.0)
    c1 = tl.sum(grad * gain, 0) / (size * space)  # WAS
    c2 = tl.sum(grad * gain * unit, 0) / (size * space)  # WAS
    slope = (grad * gain - (c1 + unit * c2)) * rstd  # WAS
    tl.store(dx + group * size * space + at, slope, mask=live)  # WAS
    # NOW: count = size * space
    # NOW: back = gain * grad
    # NOW: c2 = tl.sum(back * unit, 0) / count
    # NOW: c1 = tl.sum(back, 0) / count
    # NOW: slope = rstd * (back - (c1 + c2 * unit))
    # NOW: tl.store(dx + group * (size * space) + at, slope, mask=live)


# As flash-attention's norm of a sum with what goes past, each row with a scale of its own.
@triton.jit
def scaled_residual(x, residual, scales, w, sums, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + col, mask=col < n, other=0.0) * tl.load(scales + row)  # WAS
    total = value + tl.load(residual + row * n + col, mask=col < n, other=0.0)  # WAS
    tl.store(sums + row * n + col, total, mask=col < n)  # WAS
    rstd = 1.0 / tl.sqrt(tl.sum(total * total, 0) / n + eps)  # WAS
    gain = tl.load(w + col, mask=col < n, other=0.0)  # WAS
    tl.store(out + row * n + col, total * rstd * gain, mask=col < n)  # WAS
    # NOW: live = col < n
    # NOW: at = row * n + col
    # NOW: value = tl.load(scales + row) * tl.load(x + at, mask=live, other=0.0)
    # NOW: total = tl.load(residual + at, mask=live, other=0.0) + value
    # NOW: gain = tl.load(w + col, mask=live, other=0.0)
    # NOW: square = tl.sum(total * total, 0) / n
    # NOW: rstd = 1.0 / tl.sqrt(square + eps)
    # NOW: tl.store(sums + at, total, mask=live)
    # NOW: tl.store(out + at, rstd * total * gain, mask=live)


# As FlagGems' var_mean: the moments of blocks are merged as Welford merges them.
@triton.jit
def merged_variance(x, means, variances, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    seen = 0.0
    mean = 0.0
    m2 = 0.0
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + col, mask=col < n, other=0.0)  # WAS
        size = tl.sum((col < n).to(tl.float32), 0)  # WAS
        here = tl.sum(value, 0) / size  # WAS
        part = tl.sum(tl.where(col < n, (value - here) * (value - here), 0.0), 0)  # WAS
        m2 += part + (here - mean) * (here - mean) * (seen * size / (seen + size))  # WAS
        mean += (here - mean) * (size / (seen + size))  # WAS
        # NOW: live = col < n
        # NOW: value = tl.load(x + row * n + col, mask=live, other=0.0)
        # NOW: size = tl.sum(tl.where(live, 1.0, 0.0), 0)
        # NOW: here = tl.sum(value, 0) / size
        # NOW: away = value - here
        # NOW: part = tl.sum(tl.where(live, away * away, 0.0), 0)
        # NOW: both = seen + size
        # NOW: apart = here - mean
        # NOW: m2 = m2 + (part + apart * apart * (seen * size / both))
        # NOW: mean = mean + apart * (size / both)
        seen += size
    tl.store(means + row, mean)
    tl.store(variances + row, m2 / (n - 1))  # WAS
    # NOW: tl.store(variances + row, m2 / (n - 1))


def _ints(rng: np.random.Generator, low: int, high: int, *shape: int, kind: Any = np.int32) -> Any:
    return rng.integers(low, high, shape).astype(kind)


def _shares(rng: np.random.Generator, *shape: int, axis: int = -1) -> Any:
    """Rows that sum to one."""
    value = np.exp(floats(rng, *shape))
    return (value / value.sum(axis, keepdims=True)).astype(np.float32)


CASES = [
    Case(
        polynomial_norm, (3,),
        lambda rng: {
            "x": floats(rng, 3, 50), "w": floats(rng, 3), "bias": floats(rng, 1), "out": zeros(3, 50), "n": 50, "eps": 1e-6, "BLOCK": 64,
        },
    ),
    Case(
        total_variation, (4,),
        lambda rng: {
            "ours": _shares(rng, 4, 100), "theirs": _shares(rng, 4, 100), "labels": np.array([5, -100, 7, 0], np.int32), "losses": zeros(4),
            "grads": zeros(4, 100), "n": 100, "ignored": -100, "scale": 0.3, "BLOCK": 32,
        },
    ),
    Case(
        margin_loss, (5,),
        lambda rng: {
            "x": floats(rng, 5, 20), "labels": _ints(rng, 0, 20, 5), "losses": zeros(5), "n": 20, "margin": 1.0, "BLOCK": 32,
        },
    ),
    Case(
        smooth_distance, (4,),
        lambda rng: {"x": floats(rng, 100), "y": floats(rng, 100), "out": zeros(100), "n": 100, "beta": 0.7, "BLOCK": 32},
    ),
    Case(
        picked_loss, (2, 3),
        lambda rng: {
            "logs": np.log(_shares(rng, 3, 7, 30, axis=1)), "labels": np.where(rng.random((3, 30)) < 0.2, -100, _ints(rng, 0, 7, 3, 30)),
            "weights": abs(floats(rng, 7)), "losses": zeros(3, 30), "shares": zeros(3, 30), "classes": 7, "space": 30, "ignored": -100,
            "BLOCK": 16,
        },
    ),
    Case(
        weighted_bits, (3,),
        lambda rng: {
            "x": floats(rng, 6, 15), "targets": _ints(rng, 0, 2, 6, 15, kind=np.float32), "pushes": abs(floats(rng, 15)) + 1,
            "losses": zeros(6, 15), "rows": 6, "n": 15, "BLOCK": 32,
        },
    ),
    Case(
        softmax_gradient, (2, 2),
        lambda rng: {
            "y": _shares(rng, 2, 12, 20, axis=1), "dy": floats(rng, 2, 12, 20), "dx": zeros(2, 12, 20), "n": 12, "inner": 20, "BLOCK": 16,
            "LANES": 16,
        },
    ),
    Case(
        log_softmax_gradient, (3,),
        lambda rng: {"y": np.log(_shares(rng, 3, 80)), "dy": floats(rng, 3, 80), "dx": zeros(3, 80), "n": 80, "BLOCK": 32},
    ),
    Case(
        weight_norm, (4,),
        lambda rng: {"v": floats(rng, 4, 50), "gains": floats(rng, 4), "out": zeros(4, 50), "norms": zeros(4), "n": 50, "BLOCK": 64},
    ),
    Case(mish_gradient, (3,), lambda rng: {"x": floats(rng, 90), "dy": floats(rng, 90), "dx": zeros(90), "n": 90, "BLOCK": 32}),
    Case(
        hard_swish_gradient, (3,),
        lambda rng: {"x": floats(rng, 90) * 3, "dy": floats(rng, 90), "dx": zeros(90), "n": 90, "BLOCK": 32},
    ),
    Case(
        capped_entropy, (4,),
        lambda rng: {
            "logits": floats(rng, 4, 50) * 20, "labels": np.array([3, -100, 41, 12], np.int32), "losses": zeros(4), "lses": zeros(4), "n": 50,
            "cap": 30.0, "scale": 0.8, "BLOCK": 64,
        },
    ),
    Case(
        folded_batch_norm, (6, 2),
        lambda rng: {
            "x": floats(rng, 2, 3, 50), "gammas": floats(rng, 3) + 1, "betas": floats(rng, 3), "means": floats(rng, 3),
            "variances": abs(floats(rng, 3)), "out": zeros(2, 3, 50), "channels": 3, "space": 50, "eps": 1e-5, "BLOCK": 32,
        },
    ),
    Case(
        modulated_norm, (6,),
        lambda rng: {
            "x": floats(rng, 6, 50), "tables": floats(rng, 2, 2, 50), "out": zeros(6, 50), "tokens": 3, "n": 50, "eps": 1e-6, "BLOCK": 64,
        },
    ),
    Case(
        group_gradient, (6,),
        lambda rng: {
            "dy": floats(rng, 2, 12, 11), "x": floats(rng, 2, 12, 11), "w": floats(rng, 12), "means": floats(rng, 6) * 0.1,
            "rstds": abs(floats(rng, 6)) + 0.5, "dx": zeros(2, 12, 11), "channels": 12, "size": 4, "space": 11, "BLOCK": 64,
        },
    ),
    Case(
        scaled_residual, (4,),
        lambda rng: {
            "x": floats(rng, 4, 50), "residual": floats(rng, 4, 50), "scales": np.array([1.25, 0.0, 1.25, 1.25], np.float32),
            "w": floats(rng, 50), "sums": zeros(4, 50), "out": zeros(4, 50), "n": 50, "eps": 1e-5, "BLOCK": 64,
        },
    ),
    Case(
        merged_variance, (3,),
        lambda rng: {"x": floats(rng, 3, 75) + 2, "means": zeros(3), "variances": zeros(3), "n": 75, "BLOCK": 32},
    ),
]  # fmt: skip
