"""Operations of liger_kernel beside what they stand for in torch: forward and backward."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from case import Compared, forward_and_backward, normal

ROWS, COLUMNS, VOCABULARY = 6, 200, 300
Cases = Iterator[Compared]


def _rms(x: Any, eps: float = 1e-6) -> Any:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


def _labels(generator: Any, rows: int = ROWS, count: int = VOCABULARY) -> Any:
    labels = torch.randint(count, (rows,), generator=generator)
    labels[1] = -100
    return labels


def case_rms_norm(generator: Any) -> Cases:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction as ours

    inputs = {"x": normal(generator, ROWS, COLUMNS), "w": normal(generator, COLUMNS)}
    for mode in ("llama", "gemma", "none"):
        yield from forward_and_backward(
            lambda x, w, mode=mode: ours.apply(x, w, 1e-6, 1.0, mode, False), lambda x, w: _rms(x) * (1 + w), inputs
        )


def case_rms_norm_many_rows(generator: Any) -> Cases:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction as ours

    inputs = {"x": normal(generator, 4096 * 8, 16), "w": normal(generator, 16)}
    yield from forward_and_backward(
        lambda x, w: ours.apply(x, w, 1e-6, 0.0, "llama", False), lambda x, w: _rms(x) * w, inputs
    )


def case_layer_norm(generator: Any) -> Cases:
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction as ours

    inputs = {"x": normal(generator, ROWS, COLUMNS), "w": normal(generator, COLUMNS), "b": normal(generator, COLUMNS)}
    yield from forward_and_backward(
        lambda x, w, b: ours.apply(x, w, b, 1e-5), lambda x, w, b: F.layer_norm(x, (COLUMNS,), w, b), inputs
    )


def case_group_norm(generator: Any) -> Cases:
    from liger_kernel.ops.group_norm import LigerGroupNormFunction as ours

    inputs = {"x": normal(generator, 2, 12, 40), "w": normal(generator, 12), "b": normal(generator, 12)}
    yield from forward_and_backward(
        lambda x, w, b: ours.apply(x, w, b, 12, 3, 1e-5), lambda x, w, b: F.group_norm(x, 3, w, b), inputs
    )


def case_fused_add_rms_norm(generator: Any) -> Cases:
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction as ours

    inputs = {
        "x": normal(generator, ROWS, COLUMNS),
        "r": normal(generator, ROWS, COLUMNS),
        "w": normal(generator, COLUMNS),
    }
    yield from forward_and_backward(
        lambda x, r, w: ours.apply(x, r, w, 1e-6), lambda x, r, w: (_rms(x + r) * w, x + r), inputs
    )


def case_modulated_rms_norm(generator: Any) -> Cases:
    from liger_kernel.ops.modulated_rms_norm import LigerModulatedRMSNormFunction as ours

    inputs = {
        "x": normal(generator, 2, 5, COLUMNS),
        "w": normal(generator, COLUMNS),
        "scale": normal(generator, 2, COLUMNS),
        "shift": normal(generator, 2, COLUMNS),
    }
    yield from forward_and_backward(
        lambda x, w, scale, shift: ours.apply(x, w, scale, shift, 1e-6, 0.0, "llama", False),
        lambda x, w, scale, shift: _rms(x) * w * (1 + scale[:, None]) + shift[:, None],
        inputs,
    )


def case_poly_norm(generator: Any) -> Cases:
    from liger_kernel.ops.poly_norm import LigerPolyNormFunction as ours

    inputs = {"x": normal(generator, ROWS, COLUMNS), "w": normal(generator, 3), "b": torch.tensor(0.3)}
    yield from forward_and_backward(
        lambda x, w, b: ours.apply(x, w, b, 1e-6, False),
        lambda x, w, b: w[0] * _rms(x**3) + w[1] * _rms(x**2) + w[2] * _rms(x) + b,
        inputs,
        1e-3,
    )


def case_dyt(generator: Any) -> Cases:
    from liger_kernel.ops.dyt import LigerDyTFunction as ours

    inputs = {
        "x": normal(generator, ROWS, COLUMNS),
        "alpha": normal(generator, 1),
        "gamma": normal(generator, COLUMNS),
        "beta": normal(generator, COLUMNS),
    }
    yield from forward_and_backward(
        lambda x, alpha, gamma, beta: ours.apply(x, alpha, gamma, beta),
        lambda x, alpha, gamma, beta: torch.tanh(alpha * x) * gamma + beta,
        inputs,
    )


def case_softmax(generator: Any) -> Cases:
    from liger_kernel.ops.softmax import LigerSoftmaxFunction as ours

    for columns in (COLUMNS, 1500):
        inputs = {"x": normal(generator, ROWS, columns)}
        yield from forward_and_backward(lambda x: ours.apply(x), lambda x: x.softmax(-1), inputs)


def _sparsemax(x: Any) -> Any:
    ordered = x.sort(-1, descending=True).values
    number = torch.arange(1, x.shape[-1] + 1)
    total = ordered.cumsum(-1)
    count = (1 + number * ordered > total).sum(-1, keepdim=True)
    return torch.relu(x - (total.gather(-1, count - 1) - 1) / count)


def case_sparsemax(generator: Any) -> Cases:
    from liger_kernel.ops.sparsemax import LigerSparsemaxFunction as ours

    yield from forward_and_backward(lambda x: ours.apply(x, -1), _sparsemax, {"x": normal(generator, ROWS, COLUMNS)})


def case_swiglu(generator: Any) -> Cases:
    from liger_kernel.ops.swiglu import LigerFusedGateUpSiLUMulFunction, LigerSiLUMulFunction

    inputs = {"a": normal(generator, ROWS, COLUMNS), "b": normal(generator, ROWS, COLUMNS)}
    yield from forward_and_backward(lambda a, b: LigerSiLUMulFunction.apply(a, b), lambda a, b: F.silu(a) * b, inputs)
    both = {"y": normal(generator, ROWS, 2 * COLUMNS)}
    yield from forward_and_backward(
        lambda y: LigerFusedGateUpSiLUMulFunction.apply(y),
        lambda y: F.silu(y[:, :COLUMNS]) * y[:, COLUMNS:],
        both,
    )


def case_geglu(generator: Any) -> Cases:
    from liger_kernel.ops.geglu import LigerGELUMulFunction as ours

    inputs = {"a": normal(generator, ROWS, COLUMNS), "b": normal(generator, ROWS, COLUMNS)}
    yield from forward_and_backward(
        lambda a, b: ours.apply(a, b), lambda a, b: F.gelu(a, approximate="tanh") * b, inputs
    )


def case_relu_squared(generator: Any) -> Cases:
    from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction as ours

    yield from forward_and_backward(
        lambda x: ours.apply(x), lambda x: F.relu(x) ** 2, {"x": normal(generator, ROWS, COLUMNS)}
    )


def case_cross_entropy(generator: Any) -> Cases:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction as ours

    labels = _labels(generator)
    inputs = {"x": normal(generator, ROWS, VOCABULARY)}
    for reduction, smoothing in (("mean", 0.0), ("sum", 0.1)):
        yield from forward_and_backward(
            lambda x, r=reduction, s=smoothing: ours.apply(x, labels, None, -100, 0.0, s, r)[0],
            lambda x, r=reduction, s=smoothing: F.cross_entropy(x, labels, reduction=r, label_smoothing=s),
            inputs,
        )


def case_cross_entropy_softcap(generator: Any) -> Cases:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction as ours

    labels, weight = _labels(generator), torch.rand(VOCABULARY, generator=generator) + 0.5
    yield from forward_and_backward(
        lambda x: ours.apply(x, labels, weight, -100, 0.0, 0.0, "mean", 5.0)[0],
        lambda x: F.cross_entropy(5 * torch.tanh(x / 5), labels, weight),
        {"x": normal(generator, ROWS, VOCABULARY)},
    )


def case_vocab_parallel_cross_entropy(generator: Any) -> Cases:
    from liger_kernel.ops.vocab_parallel_cross_entropy import LigerVocabParallelCEFunction as ours

    labels = torch.randint(VOCABULARY, (3, 2), generator=generator)
    yield from forward_and_backward(
        lambda x: ours.apply(x, labels, None, -100, 0.0, "megatron", "none"),
        lambda x: F.cross_entropy(x.flatten(0, 1), labels.flatten(), reduction="none").view(3, 2),
        {"x": normal(generator, 3, 2, VOCABULARY)},
    )


def case_fused_linear_cross_entropy(generator: Any) -> Cases:
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction as ours

    labels = _labels(generator)
    yield from forward_and_backward(
        lambda x, w, b: ours.apply(x, w, labels, b)[0],
        lambda x, w, b: F.cross_entropy(x @ w.T + b, labels),
        {"x": normal(generator, ROWS, 32), "w": normal(generator, VOCABULARY, 32), "b": normal(generator, VOCABULARY)},
    )


def _divergence(x: Any, y: Any, beta: float) -> Any:
    """The generalised Jensen-Shannon divergence of log probabilities, x the student's, summed over the vocabulary."""
    p, q = y.exp(), x.exp()
    if beta == 0:
        return (p * (y - x)).sum(-1)
    if beta == 1:
        return (q * (x - y)).sum(-1)
    middle = (beta * p + (1 - beta) * q).log()
    return (beta * p * (y - middle) + (1 - beta) * q * (x - middle)).sum(-1)


def case_jsd(generator: Any) -> Cases:
    from liger_kernel.ops.jsd import LigerJSDFunction as ours

    y = normal(generator, ROWS, VOCABULARY).log_softmax(-1)
    for beta in (0.0, 0.3, 1.0):
        yield from forward_and_backward(
            lambda x, beta=beta: ours.apply(x, y, None, beta),
            lambda x, beta=beta: _divergence(x, y, beta).mean(),
            {"x": normal(generator, ROWS, VOCABULARY).log_softmax(-1)},
        )


def case_fused_linear_jsd(generator: Any) -> Cases:
    from liger_kernel.ops.fused_linear_jsd import LigerFusedLinearJSDFunction as ours

    tx, tw = normal(generator, ROWS, 32, scale=0.3), normal(generator, VOCABULARY, 32, scale=0.3)
    yield from forward_and_backward(
        lambda x, w: ours.apply(x, w, tx, tw, None, 0.5),
        lambda x, w: _divergence((x @ w.T).log_softmax(-1), (tx @ tw.T).log_softmax(-1), 0.5).mean(),
        {"x": normal(generator, ROWS, 32, scale=0.3), "w": normal(generator, VOCABULARY, 32, scale=0.3)},
        1e-3,
    )


def case_kl_div(generator: Any) -> Cases:
    from liger_kernel.ops.kl_div import LigerKLDivLossFunction as ours

    y = normal(generator, ROWS, VOCABULARY).softmax(-1)
    for reduction in ("batchmean", "none"):
        yield from forward_and_backward(
            lambda x, r=reduction: ours.apply(x, y, r, False),
            lambda x, r=reduction: F.kl_div(x, y, reduction=r),
            {"x": normal(generator, ROWS, VOCABULARY).log_softmax(-1)},
        )


def case_fused_linear_kl_div(generator: Any) -> Cases:
    from liger_kernel.ops.fused_linear_kl_div import LigerFusedLinearKLDivFunction as ours

    y = normal(generator, ROWS, VOCABULARY).softmax(-1)
    yield from forward_and_backward(
        lambda x, w: ours.apply(x, w, y),
        lambda x, w: F.kl_div((x @ w.T).log_softmax(-1), y, reduction="batchmean"),
        {"x": normal(generator, ROWS, 32, scale=0.3), "w": normal(generator, VOCABULARY, 32, scale=0.3)},
        1e-3,
    )


def case_tvd(generator: Any) -> Cases:
    from liger_kernel.ops.tvd import LigerTVDLossFunction as ours

    q = normal(generator, ROWS, VOCABULARY).softmax(-1)
    yield from forward_and_backward(
        lambda p: ours.apply(p, q),
        lambda p: 0.5 * (p - q).abs().sum() / ROWS,
        {"p": normal(generator, ROWS, VOCABULARY).softmax(-1)},
    )


def case_fused_ce_tvd(generator: Any) -> Cases:
    from liger_kernel.ops.fused_ce_tvd import LigerFusedCETVDFunction as ours

    labels, teacher = torch.randint(VOCABULARY, (ROWS,), generator=generator), normal(generator, ROWS, VOCABULARY)
    yield from forward_and_backward(
        lambda x: ours.apply(x, teacher, labels),
        lambda x: (
            F.cross_entropy(x, labels, reduction="none"),
            0.5 * (x.softmax(-1) - teacher.softmax(-1)).abs().sum(-1),
        ),
        {"x": normal(generator, ROWS, VOCABULARY)},
    )


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def _angles(generator: Any, *shape: int) -> tuple[Any, Any]:
    half = torch.rand(*shape, generator=generator) * 6
    both = torch.cat((half, half), -1)
    return both.cos(), both.sin()


def case_rope(generator: Any) -> Cases:
    from liger_kernel.ops.rope import LigerRopeFunction as ours

    cos, sin = _angles(generator, 1, 10, 16)
    yield from forward_and_backward(
        lambda q, k: ours.apply(q, k, cos, sin),
        lambda q, k: (_turned(q, cos[:, None], sin[:, None]), _turned(k, cos[:, None], sin[:, None])),
        {"q": normal(generator, 2, 4, 10, 32), "k": normal(generator, 2, 2, 10, 32)},
    )


def case_qwen2vl_mrope(generator: Any) -> Cases:
    from liger_kernel.ops.qwen2vl_mrope import LigerQwen2VLMRopeFunction as ours

    cos, sin = _angles(generator, 3, 2, 10, 16)
    parts = [4, 6, 6]

    def chosen(table: Any) -> Any:
        pieces = table.split(parts * 2, dim=-1)
        return torch.cat([piece[i % 3] for i, piece in enumerate(pieces)], -1)[:, None]

    yield from forward_and_backward(
        lambda q, k: ours.apply(q, k, cos, sin, parts),
        lambda q, k: (_turned(q, chosen(cos), chosen(sin)), _turned(k, chosen(cos), chosen(sin))),
        {"q": normal(generator, 2, 4, 10, 32), "k": normal(generator, 2, 2, 10, 32)},
    )


def case_llama4_rope(generator: Any) -> Cases:
    from liger_kernel.ops.llama4_rope import LigerLlama4RopeFunction as ours

    angle = torch.rand(10, 16, generator=generator) * 6
    turn = torch.polar(torch.ones_like(angle), angle)

    def turned(x: Any) -> Any:
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn[None, :, None]).flatten(-2)

    yield from forward_and_backward(
        lambda q, k: ours.apply(q, k, turn),
        lambda q, k: (turned(q), turned(k)),
        {"q": normal(generator, 2, 10, 4, 32), "k": normal(generator, 2, 10, 2, 32)},
    )


def case_embedding(generator: Any) -> Cases:
    from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction as ours

    indices = torch.randint(20, (3, 7), generator=generator)
    yield from forward_and_backward(
        lambda w: ours.apply(w, indices), lambda w: F.embedding(indices, w), {"w": normal(generator, 20, 48)}
    )


def case_attn_res(generator: Any) -> Cases:
    from liger_kernel.ops.attn_res import LigerAttnResFunction as ours

    def reference(v: Any, query: Any, norm: Any) -> Any:
        share = torch.einsum("d,nbtd->nbt", query, _rms(v) * norm).softmax(0)
        return torch.einsum("nbt,nbtd->btd", share, v)

    yield from forward_and_backward(
        lambda v, query, norm: ours.apply(v, query, norm, 1e-6),
        reference,
        {"v": normal(generator, 5, 2, 4, 48), "query": normal(generator, 48), "norm": normal(generator, 48)},
    )


def case_multi_token_attention(generator: Any) -> Cases:
    from liger_kernel.ops.multi_token_attention import LigerMultiTokenAttentionFunction as ours

    lower = torch.ones(20, 20).tril().bool()

    def reference(scores: Any, weight: Any) -> Any:
        shares = scores.masked_fill(~lower, -1e9).softmax(-1)
        return F.conv2d(shares, weight, padding=1).masked_fill(~lower, 0.0)

    yield from forward_and_backward(
        lambda scores, weight: ours.apply(scores, weight, None, 1, 1),
        reference,
        {"scores": normal(generator, 1, 2, 20, 20), "weight": normal(generator, 2, 2, 3, 3)},
    )


def case_multi_token_attention_sparse(generator: Any) -> Cases:
    from liger_kernel.ops.multi_token_attention import LigerMultiTokenAttentionFunction as ours

    lower = torch.ones(20, 20).tril().bool()

    def reference(scores: Any, weight: Any) -> Any:
        shares = _sparsemax(scores.masked_fill(~lower, -1e9))
        return F.conv2d(shares, weight, padding=1).masked_fill(~lower, 0.0)

    yield from forward_and_backward(
        lambda scores, weight: ours.apply(scores, weight, None, 1, 1, 1, 1, True),
        reference,
        {"scores": normal(generator, 1, 2, 20, 20), "weight": normal(generator, 2, 2, 3, 3)},
    )


def case_fused_neighborhood_attention(generator: Any) -> Cases:
    from liger_kernel.ops.fused_neighborhood_attention import LigerFusedNeighborhoodAttentionFunction as ours

    place = torch.arange(40)
    near = (place[:, None] - place[None]).abs() <= 3

    def reference(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return scores.masked_fill(~near, -torch.inf).softmax(-1) @ v

    yield from forward_and_backward(
        lambda q, k, v: ours.apply(q, k, v, 7, 1),
        reference,
        {name: normal(generator, 1, 2, 40, 32) for name in "qkv"},
        5e-3,
    )


def case_fused_moe(generator: Any) -> Cases:
    from liger_kernel.ops.fused_moe import LigerFusedMoEFunction as ours

    experts = torch.stack([torch.randperm(4, generator=generator)[:2] for _ in range(20)]).int()

    def reference(x: Any, up: Any, down: Any, share: Any) -> Any:
        rows = []
        for token in range(x.shape[0]):
            total = 0.0
            for number, expert in enumerate(experts[token].tolist()):
                gate, value = (up[expert] @ x[token]).chunk(2)
                total = total + share[token, number] * (down[expert] @ (F.silu(gate) * value))
            rows.append(total)
        return torch.stack(rows)

    yield from forward_and_backward(
        lambda x, up, down, share: ours.apply(x, up, down, experts, share),
        reference,
        {
            "x": normal(generator, 20, 64),
            "up": normal(generator, 4, 64, 64, scale=0.2),
            "down": normal(generator, 4, 64, 32, scale=0.2),
            "share": torch.rand(20, 2, generator=generator),
        },
        5e-3,
    )


def case_mhc_pre(generator: Any) -> Cases:
    from liger_kernel.ops.mhc import LigerMHCPreFunction as ours

    yield from forward_and_backward(
        lambda x, h: ours.apply(x, h),
        lambda x, h: torch.einsum("nhc,nh->nc", x, h),
        {"x": normal(generator, 5, 4, 48), "h": normal(generator, 5, 4)},
    )


def case_mhc_post_res(generator: Any) -> Cases:
    from liger_kernel.ops.mhc import LigerMHCPostResFunction as ours

    yield from forward_and_backward(
        lambda x, f, post, mix: ours.apply(x, f, post, mix),
        lambda x, f, post, mix: torch.einsum("nij,njc->nic", mix, x) + post[..., None] * f[:, None],
        {
            "x": normal(generator, 5, 4, 48),
            "f": normal(generator, 5, 48),
            "post": normal(generator, 5, 4),
            "mix": normal(generator, 5, 4, 4),
        },
    )


def case_grpo_loss(generator: Any) -> Cases:
    from liger_kernel.ops.grpo_loss import GrpoLossFunction as ours
    from liger_kernel.ops.grpo_loss import fused_selective_log_softmax

    ids = torch.randint(VOCABULARY, (3, 8), generator=generator)
    advantages = normal(generator, 3)
    old, ref = (-5 + normal(generator, 3, 8, scale=0.2) for _ in range(2))
    logits = normal(generator, 3, 9, VOCABULARY)

    def reference(logits: Any) -> Any:
        logp = (logits[:, :-1] / 0.9).log_softmax(-1).gather(-1, ids[..., None])[..., 0]
        ratio = (logp - old).exp()
        worth = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None])
        kl = (ref - logp).exp() - (ref - logp) - 1
        return (-worth + 0.04 * kl).mean(1).mean()

    yield from forward_and_backward(
        lambda logits: ours.apply(logits, old, ref, ids, advantages, None, 0.9, 0.04, 0.2, 0.2, False)[0],
        reference,
        {"logits": logits},
        1e-3,
    )
    with torch.no_grad():
        want = (logits[:, :-1] / 0.9).log_softmax(-1).gather(-1, ids[..., None])[..., 0]
        yield Compared("log softmax", fused_selective_log_softmax(logits, ids, 0.9), want)


def case_mm_int8int2(generator: Any) -> Cases:
    from liger_kernel.ops.experimental.mm_int8int2 import matmul, pack_weights, unpack_weights

    weights = torch.randint(-1, 2, (1024, 64), generator=generator, dtype=torch.int32)
    packed = pack_weights(weights.clone())
    a = torch.randint(-100, 100, (64, 1024), generator=generator, dtype=torch.int8)
    want = a.int() @ unpack_weights(packed)
    yield Compared("product", matmul(a, packed), want)
