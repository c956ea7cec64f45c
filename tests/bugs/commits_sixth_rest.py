"""The third part of the set of commits_sixth.py: kernels of images, of rays, of particles, of graphs, of optimizers, and others."""
# ruff: noqa: E501, N803, SIM108

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from case import Case, floats, zeros

# By kernel: what stands in the form after the tidying, and what the commit makes of that.
REST: dict[str, tuple[str, str]] = {
    "ternary_weights": ("code = ((word >> shift) & 3) - 1", "code = (word >> shift) & 3 - 1"),
    "nesterov_step": ("change = grad + momentum * new", "change = grad + momentum * old"),
    "factored_step": ("excess = tl.maximum(rms / limit, 1.0)", "excess = tl.minimum(rms / limit, 1.0)"),
    "box_overlaps": ("union = ours[:, None] + theirs[None, :] - shared", "union = ours[:, None] + theirs[None, :]"),
    "sampled_grid": ("h = ((gy + 1.0) * H - 1.0) * 0.5", "h = ((gy + 1.0) * W - 1.0) * 0.5"),
    "mean_pool_gradient": (
        "tall = tl.minimum(top + SIDE, H) - tl.maximum(top, 0)",
        "tall = tl.minimum(top + SIDE, H) - top",
    ),
    "composited_rays": ("behind = (1.0 - opacity) * ground", "behind = opacity * ground"),
    "pair_forces": ("turns = tl.floor(apart / size + 0.5)", "turns = tl.floor(apart / size)"),
    "edge_softmax": (
        "score = tl.where(score > 0.0, score, slope * score)",
        "score = tl.where(score > 0.0, score, slope)",
    ),
    "joined_jagged": ("inner = second + at - count", "inner = first + at - count"),
    "alignment_step": ("skips = (label != blank) & (label != before)", "skips = label != blank"),
    "butterfly_stage": ("ti = wr * bi + wi * br", "ti = wr * bi - wi * br"),
    "symmetric_product": ("mirrored = tl.trans(total)", "mirrored = total"),
    "guided_step": ("away = bound.to(tl.float32) - free.to(tl.float32)", "away = (bound - free).to(tl.float32)"),
}


# fmt: off
# As the weights of BitNet, four to a byte, each -1, 0 or 1.
@triton.jit
def ternary_weights(packed, scales, out, words, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    word = tl.load(packed + row * words + col, mask=col < words, other=0).to(tl.int32)  # WAS
    for part in tl.static_range(4):  # WAS
        value = (((word >> (2 * part)) & 3) - 1).to(tl.float32) * tl.load(scales + row)  # WAS
        tl.store(out + row * 4 * words + part * words + col, value, mask=col < words)  # WAS
    # NOW: live = col < words
    # NOW: scale = tl.load(scales + row)
    # NOW: word = tl.load(packed + row * words + col, mask=live, other=0).to(tl.int32)
    # NOW: for part in tl.static_range(4):
    # NOW:     shift = 2 * part
    # NOW:     code = ((word >> shift) & 3) - 1
    # NOW:     tl.store(out + (row * 4 + part) * words + col, scale * code.to(tl.float32), mask=live)
# fmt: on


# As PyTorch's fused SGD with Nesterov's momentum.
@triton.jit
def nesterov_step(weights, grads, buffers, n, rate, momentum, decay, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = tl.load(weights + at, mask=at < n, other=0.0)  # WAS
    grad = tl.load(grads + at, mask=at < n, other=0.0) + decay * w  # WAS
    new = momentum * tl.load(buffers + at, mask=at < n, other=0.0) + grad  # WAS
    tl.store(buffers + at, new, mask=at < n)  # WAS
    tl.store(weights + at, w - rate * (grad + momentum * new), mask=at < n)  # WAS
    # NOW: live = at < n
    # NOW: old = tl.load(buffers + at, mask=live, other=0.0)
    # NOW: w = tl.load(weights + at, mask=live, other=0.0)
    # NOW: grad = decay * w + tl.load(grads + at, mask=live, other=0.0)
    # NOW: new = grad + momentum * old
    # NOW: change = grad + momentum * new
    # NOW: tl.store(weights + at, w - change * rate, mask=live)
    # NOW: tl.store(buffers + at, new, mask=live)


# As Adafactor of a small matrix, with the limit of the change.
@triton.jit
def factored_step(weights, grads, rows, cols, M, N, rate, keep, eps, limit, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    live = (m[:, None] < M) & (n[None, :] < N)
    at = m[:, None] * N + n[None, :]
    grad = tl.load(grads + at, mask=live, other=0.0)
    w = tl.load(weights + at, mask=live, other=0.0)
    square = tl.where(live, grad * grad + eps, 0.0)
    r = keep * tl.load(rows + m, mask=m < M, other=0.0) + (1.0 - keep) * (tl.sum(square, 1) / N)
    c = keep * tl.load(cols + n, mask=n < N, other=0.0) + (1.0 - keep) * (tl.sum(square, 0) / M)
    factor = r[:, None] / (tl.sum(r, 0) / M) * c[None, :]  # WAS
    change = tl.where(live, grad / tl.sqrt(factor), 0.0)  # WAS
    change = change / tl.maximum(1.0, tl.sqrt(tl.sum(tl.sum(change * change, 1), 0) / (M * N)) / limit)  # WAS
    # NOW: whole = tl.sum(r, 0) / M
    # NOW: change = tl.where(live, grad / tl.sqrt((r / whole)[:, None] * c[None, :]), 0.0)
    # NOW: rms = tl.sqrt(tl.sum(tl.sum(change * change, 1), 0) / (M * N))
    # NOW: excess = tl.maximum(rms / limit, 1.0)
    # NOW: change = change / excess
    tl.store(rows + m, r, mask=m < M)
    tl.store(cols + n, c, mask=n < N)
    tl.store(weights + at, w - rate * change, mask=live)  # WAS
    # NOW: tl.store(weights + at, w - change * rate, mask=live)


# As torchvision's box_iou.
@triton.jit
def box_overlaps(one, two, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ax0 = tl.load(one + m * 4, mask=m < M, other=0.0)
    ay0 = tl.load(one + m * 4 + 1, mask=m < M, other=0.0)
    ax1 = tl.load(one + m * 4 + 2, mask=m < M, other=1.0)
    ay1 = tl.load(one + m * 4 + 3, mask=m < M, other=1.0)
    bx0 = tl.load(two + n * 4, mask=n < N, other=0.0)
    by0 = tl.load(two + n * 4 + 1, mask=n < N, other=0.0)
    bx1 = tl.load(two + n * 4 + 2, mask=n < N, other=1.0)
    by1 = tl.load(two + n * 4 + 3, mask=n < N, other=1.0)
    wide = tl.maximum(tl.minimum(ax1[:, None], bx1[None, :]) - tl.maximum(ax0[:, None], bx0[None, :]), 0.0)  # WAS
    tall = tl.maximum(tl.minimum(ay1[:, None], by1[None, :]) - tl.maximum(ay0[:, None], by0[None, :]), 0.0)  # WAS
    union = ((ax1 - ax0) * (ay1 - ay0))[:, None] + ((bx1 - bx0) * (by1 - by0))[None, :] - wide * tall  # WAS
    tl.store(out + m[:, None] * N + n[None, :], wide * tall / union, mask=(m < M)[:, None] & (n < N)[None, :])  # WAS
    # NOW: left = tl.maximum(ax0[:, None], bx0[None, :])
    # NOW: right = tl.minimum(ax1[:, None], bx1[None, :])
    # NOW: low = tl.maximum(ay0[:, None], by0[None, :])
    # NOW: high = tl.minimum(ay1[:, None], by1[None, :])
    # NOW: shared = tl.maximum(right - left, 0.0) * tl.maximum(high - low, 0.0)
    # NOW: ours = (ax1 - ax0) * (ay1 - ay0)
    # NOW: theirs = (bx1 - bx0) * (by1 - by0)
    # NOW: union = ours[:, None] + theirs[None, :] - shared
    # NOW: live = (n < N)[None, :] & (m < M)[:, None]
    # NOW: tl.store(out + m[:, None] * N + n[None, :], shared / union, mask=live)


@triton.jit
def _pixel(plane, h, w, H, W, live):
    return tl.load(plane + h * W + w, mask=live & (h >= 0) & (h < H) & (w >= 0) & (w < W), other=0.0)


# As grid_sample of PyTorch: bilinear, with zeros around the image.
@triton.jit
def sampled_grid(x, points, out, channels, H, W, count, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = at < count
    gx = tl.load(points + (plane // channels * count + at) * 2, mask=live, other=0.0)
    gy = tl.load(points + (plane // channels * count + at) * 2 + 1, mask=live, other=0.0)
    source = x + plane * H * W
    w = ((gx + 1.0) * W - 1.0) / 2.0  # WAS
    h = ((gy + 1.0) * H - 1.0) / 2.0  # WAS
    w0 = tl.floor(w).to(tl.int32)  # WAS
    h0 = tl.floor(h).to(tl.int32)  # WAS
    b = w - w0  # WAS
    a = h - h0  # WAS
    # NOW: w = ((gx + 1.0) * W - 1.0) * 0.5
    # NOW: h = ((gy + 1.0) * H - 1.0) * 0.5
    # NOW: left = tl.floor(w)
    # NOW: top = tl.floor(h)
    # NOW: b = w - left
    # NOW: a = h - top
    # NOW: w0 = left.to(tl.int32)
    # NOW: h0 = top.to(tl.int32)
    upper = _pixel(source, h0, w0, H, W, live) * (1.0 - b) + _pixel(source, h0, w0 + 1, H, W, live) * b
    lower = _pixel(source, h0 + 1, w0, H, W, live) * (1.0 - b) + _pixel(source, h0 + 1, w0 + 1, H, W, live) * b
    tl.store(out + plane * count + at, upper * (1.0 - a) + lower * a, mask=live)


# As FlagGems' backward of avg_pool2d that does not count what pads: windows that stand side by side.
@triton.jit
def mean_pool_gradient(dy, dx, H, W, OH, OW, pad, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = at < H * W
    oh = (at // W + pad) // SIDE  # WAS
    ow = (at % W + pad) // SIDE  # WAS
    tall = tl.minimum(oh * SIDE - pad + SIDE, H) - tl.maximum(oh * SIDE - pad, 0)  # WAS
    wide = tl.minimum(ow * SIDE - pad + SIDE, W) - tl.maximum(ow * SIDE - pad, 0)  # WAS
    inside = live & (oh < OH) & (ow < OW)  # WAS
    grad = tl.load(dy + plane * OH * OW + oh * OW + ow, mask=inside, other=0.0)  # WAS
    tl.store(dx + plane * H * W + at, grad / (tall * wide), mask=live)  # WAS
    # NOW: h = at // W
    # NOW: oh = (h + pad) // SIDE
    # NOW: ow = (at - h * W + pad) // SIDE
    # NOW: top = oh * SIDE - pad
    # NOW: left = ow * SIDE - pad
    # NOW: tall = tl.minimum(top + SIDE, H) - tl.maximum(top, 0)
    # NOW: wide = tl.minimum(left + SIDE, W) - tl.maximum(left, 0)
    # NOW: inside = (oh < OH) & (ow < OW) & live
    # NOW: grad = tl.load(dy + (plane * OH + oh) * OW + ow, mask=inside, other=0.0)
    # NOW: tl.store(dx + plane * H * W + at, grad / (wide * tall), mask=live)


# As the rendering of rays in nerfacc: each ray has samples of its own number.
@triton.jit
def composited_rays(densities, colours, starts, stops, bounds, grounds, out, BLOCK: tl.constexpr):
    ray = tl.program_id(0)
    first = tl.load(bounds + ray)
    last = tl.load(bounds + ray + 1)
    at = first + tl.arange(0, BLOCK)
    density = tl.load(densities + at, mask=at < last, other=0.0)
    end = tl.load(stops + at, mask=at < last, other=0.0)  # WAS
    thick = density * (end - tl.load(starts + at, mask=at < last, other=0.0))  # WAS
    weight = tl.exp(-(tl.cumsum(thick, 0) - thick)) * (1.0 - tl.exp(-thick))  # WAS
    opacity = tl.sum(weight, 0)  # WAS
    # NOW: live = at < last
    # NOW: begin = tl.load(starts + at, mask=live, other=0.0)
    # NOW: end = tl.load(stops + at, mask=live, other=0.0)
    # NOW: thick = (end - begin) * density
    # NOW: before = tl.cumsum(thick, 0) - thick
    # NOW: weight = (1.0 - tl.exp(-thick)) * tl.exp(-before)
    # NOW: opacity = tl.sum(weight, 0)
    for c in tl.static_range(3):
        colour = tl.load(colours + at * 3 + c, mask=at < last, other=0.0)  # WAS
        tl.store(out + ray * 3 + c, tl.sum(weight * colour, 0) + (1.0 - opacity) * tl.load(grounds + c))  # WAS
        # NOW: ground = tl.load(grounds + c)
        # NOW: behind = (1.0 - opacity) * ground
        # NOW: colour = tl.load(colours + at * 3 + c, mask=live, other=0.0)
        # NOW: tl.store(out + ray * 3 + c, tl.sum(colour * weight, 0) + behind)


# fmt: off
# Forces of Lennard and Jones in a box that repeats, as in TorchMD.
@triton.jit
def pair_forces(places, out, n, size, reach, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    other = (j < n) & (j != i)
    square = tl.zeros([BLOCK], tl.float32)
    for axis in tl.static_range(3):
        apart = tl.load(places + i * 3 + axis) - tl.load(places + j * 3 + axis, mask=other, other=0.0)  # WAS
        apart = apart - size * tl.floor(apart / size + 0.5)  # WAS
        square += apart * apart  # WAS
    # NOW:     own = tl.load(places + i * 3 + axis)
    # NOW:     apart = own - tl.load(places + j * 3 + axis, mask=other, other=0.0)
    # NOW:     turns = tl.floor(apart / size + 0.5)
    # NOW:     apart = apart - turns * size
    # NOW:     square = square + apart * apart
    near = other & (square < reach * reach)
    inverse = 1.0 / tl.where(near, square, 1.0)
    sixth = inverse * inverse * inverse  # WAS
    force = tl.where(near, 24.0 * inverse * sixth * (2.0 * sixth - 1.0), 0.0)  # WAS
    tl.store(out + i, tl.sum(force, 0))  # WAS
    # NOW: sixth = inverse * inverse * inverse
    # NOW: steep = 2.0 * sixth - 1.0
    # NOW: whole = tl.sum(tl.where(near, 24.0 * inverse * sixth * steep, 0.0), 0)
    # NOW: tl.store(out + i, whole)
# fmt: on


# As the attention of graphs in DGL and PyG: a softmax over the edges of each node.
@triton.jit
def edge_softmax(bounds, ends, lefts, rights, x, out, n, slope, BLOCK: tl.constexpr, D: tl.constexpr):
    node = tl.program_id(0)
    first = tl.load(bounds + node)
    last = tl.load(bounds + node + 1)
    edge = first + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    live = edge < last
    end = tl.load(ends + edge, mask=live, other=0)
    score = tl.load(lefts + node) + tl.load(rights + end, mask=live, other=0.0)  # WAS
    score = tl.where(score > 0.0, score, score * slope)  # WAS
    score = tl.where(live, score, -float("inf"))  # WAS
    weight = tl.exp(score - tl.max(score, 0))  # WAS
    value = tl.load(x + end[:, None] * n + d[None, :], mask=live[:, None] & (d < n)[None, :], other=0.0)  # WAS
    tl.store(out + node * n + d, tl.sum((weight / tl.sum(weight, 0))[:, None] * value, 0), mask=d < n)  # WAS
    # NOW: right = tl.load(rights + end, mask=live, other=0.0)
    # NOW: score = right + tl.load(lefts + node)
    # NOW: score = tl.where(score > 0.0, score, slope * score)
    # NOW: score = tl.where(live, score, -float("inf"))
    # NOW: high = tl.max(score, 0)
    # NOW: weight = tl.exp(score - high)
    # NOW: share = weight / tl.sum(weight, 0)
    # NOW: inside = (d < n)[None, :] & live[:, None]
    # NOW: value = tl.load(x + end[:, None] * n + d[None, :], mask=inside, other=0.0)
    # NOW: tl.store(out + node * n + d, tl.sum(value * share[:, None], 0), mask=d < n)


# As concat_2D_jagged of the generative recommenders: of each sequence the rows of the one, then those of the other.
@triton.jit
def joined_jagged(a, b, starts_a, starts_b, out, D: tl.constexpr):
    sequence = tl.program_id(0)
    at = tl.program_id(1)
    d = tl.arange(0, D)
    first = tl.load(starts_a + sequence)
    second = tl.load(starts_b + sequence)
    count = tl.load(starts_a + sequence + 1) - first
    total = count + tl.load(starts_b + sequence + 1) - second  # WAS
    # NOW: rest = tl.load(starts_b + sequence + 1) - second
    # NOW: total = count + rest
    if at < total:
        if at < count:
            value = tl.load(a + (first + at) * D + d)  # WAS
            # NOW: outer = first + at
            # NOW: value = tl.load(a + outer * D + d)
        else:
            value = tl.load(b + (second + at - count) * D + d)  # WAS
            # NOW: inner = second + at - count
            # NOW: value = tl.load(b + inner * D + d)
        tl.store(out + (first + second + at) * D + d, value)  # WAS
        # NOW: base = first + second
        # NOW: tl.store(out + (base + at) * D + d, value)


# One step of the forward variables of CTC, as in PyTorch's ctc_loss: blanks stand between the labels.
@triton.jit
def alignment_step(alphas, logs, labels, out, states, vocab, blank, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.arange(0, BLOCK)
    live = s < states
    label = tl.load(labels + row * states + s, mask=live, other=blank)
    stay = tl.load(alphas + row * states + s, mask=live, other=-1e30)
    step = tl.load(alphas + row * states + s - 1, mask=live & (s >= 1), other=-1e30)
    before = tl.load(labels + row * states + s - 2, mask=live & (s >= 2), other=blank)  # WAS
    free = (label != blank) & (label != before) & (s >= 2)  # WAS
    jump = tl.load(alphas + row * states + s - 2, mask=live & free, other=-1e30)  # WAS
    high = tl.maximum(tl.maximum(stay, step), jump)  # WAS
    total = high + tl.log(tl.exp(stay - high) + tl.exp(step - high) + tl.exp(jump - high))  # WAS
    total += tl.load(logs + row * vocab + label, mask=live, other=0.0)  # WAS
    tl.store(out + row * states + s, total, mask=live)  # WAS
    # NOW: far = live & (s >= 2)
    # NOW: back = row * states + s - 2
    # NOW: before = tl.load(labels + back, mask=far, other=blank)
    # NOW: skips = (label != blank) & (label != before)
    # NOW: jump = tl.load(alphas + back, mask=far & skips, other=-1e30)
    # NOW: high = tl.maximum(jump, tl.maximum(stay, step))
    # NOW: weight = tl.exp(stay - high) + tl.exp(step - high) + tl.exp(jump - high)
    # NOW: total = tl.log(weight) + high
    # NOW: log = tl.load(logs + row * vocab + label, mask=live, other=0.0)
    # NOW: tl.store(out + row * states + s, log + total, mask=live)


# One stage of a Fourier transform of radix 2, as FlashFFTConv's and others'.
@triton.jit
def butterfly_stage(real, imaginary, cosines, sines, n, half, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = pair < n // 2
    one = row * n + pair // half * 2 * half + pair % half  # WAS
    wr = tl.load(cosines + pair % half * (n // (2 * half)), mask=live, other=0.0)  # WAS
    wi = -tl.load(sines + pair % half * (n // (2 * half)), mask=live, other=0.0)  # WAS
    ar = tl.load(real + one, mask=live, other=0.0)  # WAS
    ai = tl.load(imaginary + one, mask=live, other=0.0)  # WAS
    br = tl.load(real + one + half, mask=live, other=0.0)  # WAS
    bi = tl.load(imaginary + one + half, mask=live, other=0.0)  # WAS
    tr = wr * br - wi * bi  # WAS
    tl.store(real + one, ar + tr, mask=live)  # WAS
    tl.store(real + one + half, ar - tr, mask=live)  # WAS
    tl.store(imaginary + one, ai + (wr * bi + wi * br), mask=live)  # WAS
    tl.store(imaginary + one + half, ai - (wr * bi + wi * br), mask=live)  # WAS
    # NOW: k = pair % half
    # NOW: one = row * n + pair // half * (2 * half) + k
    # NOW: two = one + half
    # NOW: turn = k * (n // (2 * half))
    # NOW: wr = tl.load(cosines + turn, mask=live, other=0.0)
    # NOW: wi = -tl.load(sines + turn, mask=live, other=0.0)
    # NOW: ar = tl.load(real + one, mask=live, other=0.0)
    # NOW: br = tl.load(real + two, mask=live, other=0.0)
    # NOW: ai = tl.load(imaginary + one, mask=live, other=0.0)
    # NOW: bi = tl.load(imaginary + two, mask=live, other=0.0)
    # NOW: tr = wr * br - wi * bi
    # NOW: ti = wr * bi + wi * br
    # NOW: tl.store(real + one, ar + tr, mask=live)
    # NOW: tl.store(imaginary + one, ai + ti, mask=live)
    # NOW: tl.store(real + two, ar - tr, mask=live)
    # NOW: tl.store(imaginary + two, ai - ti, mask=live)


# As the products of a matrix with itself in Muon: one half is reckoned, the other one mirrored.
@triton.jit
def symmetric_product(x, out, M, K, BM: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    if pid_n <= pid_m:
        m = pid_m * BM + tl.arange(0, BM)
        n = pid_n * BM + tl.arange(0, BM)
        total = tl.zeros([BM, BM], tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            left = tl.load(x + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)  # WAS
            right = tl.load(x + n[None, :] * K + k[:, None], mask=(n < M)[None, :] & (k < K)[:, None], other=0.0)  # WAS
            total += tl.dot(left, right, input_precision="ieee")  # WAS
            # NOW: live = k < K
            # NOW: left = tl.load(x + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & live[None, :], other=0.0)
            # NOW: right = tl.load(x + n[:, None] * K + k[None, :], mask=(n < M)[:, None] & live[None, :], other=0.0)
            # NOW: total += tl.dot(left, tl.trans(right), input_precision="ieee")
        tl.store(out + m[:, None] * M + n[None, :], total, mask=(m < M)[:, None] & (n < M)[None, :])  # WAS
        # NOW: inside = (n < M)[None, :] & (m < M)[:, None]
        # NOW: tl.store(out + m[:, None] * M + n[None, :], total, mask=inside)
        if pid_n < pid_m:
            across = (n < M)[:, None] & (m < M)[None, :]  # WAS
            tl.store(out + n[:, None] * M + m[None, :], tl.trans(total), mask=across)  # WAS
            # NOW: mirrored = tl.trans(total)
            # NOW: tl.store(out + n[:, None] * M + m[None, :], mirrored, mask=tl.trans(inside))


# As a step of DDIM in diffusers, guided without a classifier.
@triton.jit
def guided_step(x, noise, out, kept, kept_next, gain, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    free = tl.load(noise + at, mask=at < n, other=0.0)
    bound = tl.load(noise + n + at, mask=at < n, other=0.0)
    guess = free.to(tl.float32) + gain * (bound.to(tl.float32) - free.to(tl.float32))  # WAS
    clean = (value - tl.sqrt(1.0 - kept) * guess) / tl.sqrt(kept)  # WAS
    after = tl.sqrt(kept_next) * clean + tl.sqrt(1.0 - kept_next) * guess  # WAS
    tl.store(out + at, after, mask=at < n)  # WAS
    # NOW: away = bound.to(tl.float32) - free.to(tl.float32)
    # NOW: guess = free.to(tl.float32) + away * gain
    # NOW: share = tl.sqrt(1.0 - kept)
    # NOW: clean = (value - guess * share) / tl.sqrt(kept)
    # NOW: rest = tl.sqrt(1.0 - kept_next)
    # NOW: tl.store(out + at, tl.sqrt(kept_next) * clean + rest * guess, mask=at < n)


def _boxes(rng: np.random.Generator, count: int) -> Any:
    """Corners of boxes that overlap often."""
    low = rng.random((count, 2)) * 4
    return np.concatenate([low, low + 1 + rng.random((count, 2)) * 3], 1).astype(np.float32)


def _rays(rng: np.random.Generator) -> dict[str, Any]:
    starts = np.concatenate([np.sort(rng.random(count)) * 4 for count in (12, 5, 9)]).astype(np.float32)
    return {
        "densities": abs(floats(rng, 26)), "colours": rng.random((26, 3)).astype(np.float32), "starts": starts,
        "stops": starts + np.float32(0.2), "bounds": np.array([0, 12, 17, 26], np.int32), "grounds": np.array([1.0, 0.8, 0.5], np.float32),
        "out": zeros(3, 3), "BLOCK": 16,
    }  # fmt: skip


def _alignments(rng: np.random.Generator) -> dict[str, Any]:
    labels = np.zeros((3, 11), np.int32)
    labels[:, 1::2] = [[3, 3, 5, 2, 2], [1, 4, 4, 4, 6], [2, 5, 1, 3, 3]]
    return {
        "alphas": -abs(floats(rng, 3, 11)), "logs": -abs(floats(rng, 3, 7)), "labels": labels, "out": zeros(3, 11), "states": 11, "vocab": 7,
        "blank": 0, "BLOCK": 16,
    }  # fmt: skip


CASES = [
    Case(
        ternary_weights, (3,),
        lambda rng: {
            "packed": sum(rng.integers(0, 3, (3, 20)) << (2 * part) for part in range(4)).astype(np.uint8), "scales": abs(floats(rng, 3)),
            "out": zeros(3, 80), "words": 20, "BLOCK": 32,
        },
    ),
    Case(
        nesterov_step, (3,),
        lambda rng: {
            "weights": floats(rng, 80), "grads": floats(rng, 80), "buffers": floats(rng, 80), "n": 80, "rate": 0.1, "momentum": 0.9,
            "decay": 0.01, "BLOCK": 32,
        },
    ),
    Case(
        factored_step, (1,),
        lambda rng: {
            "weights": floats(rng, 12, 20), "grads": floats(rng, 12, 20), "rows": abs(floats(rng, 12)) * 0.1,
            "cols": abs(floats(rng, 20)) * 0.1, "M": 12, "N": 20, "rate": 0.1, "keep": 0.9, "eps": 1e-30, "limit": 1.0, "BM": 16, "BN": 32,
        },
    ),
    Case(
        box_overlaps, (2, 2),
        lambda rng: {"one": _boxes(rng, 20), "two": _boxes(rng, 25), "out": zeros(20, 25), "M": 20, "N": 25, "BM": 16, "BN": 16},
    ),
    Case(
        sampled_grid, (4, 2),
        lambda rng: {
            "x": floats(rng, 2, 2, 7, 10), "points": (rng.random((2, 30, 2)) * 2.4 - 1.2).astype(np.float32), "out": zeros(2, 2, 30),
            "channels": 2, "H": 7, "W": 10, "count": 30, "BLOCK": 16,
        },
    ),
    Case(
        mean_pool_gradient, (2, 3),
        lambda rng: {
            "dy": floats(rng, 2, 4, 3), "dx": zeros(2, 10, 8), "H": 10, "W": 8, "OH": 4, "OW": 3, "pad": 1, "SIDE": 3, "BLOCK": 32,
        },
    ),
    Case(composited_rays, (3,), _rays),
    Case(
        pair_forces, (20,),
        lambda rng: {
            "places": (rng.random((20, 3)) * 5).astype(np.float32), "out": zeros(20), "n": 20, "size": 5.0, "reach": 2.4, "BLOCK": 32,
        },
    ),
    Case(
        edge_softmax, (6,),
        lambda rng: {
            "bounds": np.array([0, 3, 9, 10, 15, 22, 26], np.int32), "ends": rng.integers(0, 6, 26).astype(np.int32), "lefts": floats(rng, 6),
            "rights": floats(rng, 6), "x": floats(rng, 6, 12), "out": zeros(6, 12), "n": 12, "slope": 0.2, "BLOCK": 8, "D": 16,
        },
    ),
    Case(
        joined_jagged, (3, 10),
        lambda rng: {
            "a": floats(rng, 9, 16), "b": floats(rng, 14, 16), "starts_a": np.array([0, 2, 6, 9], np.int32),
            "starts_b": np.array([0, 5, 8, 14], np.int32), "out": zeros(23, 16), "D": 16,
        },
    ),
    Case(alignment_step, (3,), _alignments),
    Case(
        butterfly_stage, (2, 2),
        lambda rng: {
            "real": floats(rng, 2, 64), "imaginary": floats(rng, 2, 64), "cosines": np.cos(np.arange(32) * np.pi / 32).astype(np.float32),
            "sines": np.sin(np.arange(32) * np.pi / 32).astype(np.float32), "n": 64, "half": 8, "BLOCK": 16,
        },
    ),
    Case(
        symmetric_product, (3, 3),
        lambda rng: {"x": floats(rng, 40, 50), "out": zeros(40, 40), "M": 40, "K": 50, "BM": 16, "BK": 16},
    ),
    Case(
        guided_step, (3,),
        lambda rng: {
            "x": floats(rng, 90, kind=np.float16), "noise": floats(rng, 2, 90, kind=np.float16), "out": zeros(90), "kept": 0.6,
            "kept_next": 0.75, "gain": 7.5, "n": 90, "BLOCK": 32,
        },
    ),
]  # fmt: skip
