"""Layers and utilities of fla-core beside the references that it ships, or what they stand for in torch."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from case import Compared, forward_and_backward, normal

Cases = Iterator[Compared]
ROWS, COLUMNS = 10, 200


def _fla(name: str) -> Any:
    return importlib.import_module(f"fla.{name}")


def _two(generator: Any) -> dict[str, Any]:
    return {"x": normal(generator, 2, 5, COLUMNS), "y": normal(generator, 2, 5, COLUMNS)}


def case_layer_norm(generator: Any) -> Cases:
    module = _fla("modules.norm.layernorm")
    inputs = {**_two(generator), "w": normal(generator, COLUMNS), "b": normal(generator, COLUMNS)}
    yield from forward_and_backward(
        lambda x, y, w, b: module.layer_norm(x, w, b, residual=y, prenorm=True),
        lambda x, y, w, b: (F.layer_norm(x + y, (COLUMNS,), w, b), x + y),
        inputs,
    )
    yield from forward_and_backward(
        lambda x, y, w, b: module.rms_norm(x * y, w, b, eps=1e-5),
        lambda x, y, w, b: F.rms_norm(x * y, (COLUMNS,), w, 1e-5) + b,
        inputs,
    )
    yield from forward_and_backward(
        lambda x, y, w, b: module.group_norm(x * y, w, b, num_groups=4),
        lambda x, y, w, b: F.group_norm((x * y).flatten(0, 1), 4, w, b).view(2, 5, -1),
        inputs,
    )


def case_layer_norm_wide(generator: Any) -> Cases:
    module = _fla("modules.norm.layernorm")
    inputs = {"x": normal(generator, 3, 1500), "w": normal(generator, 1500), "b": normal(generator, 1500)}
    yield from forward_and_backward(
        lambda x, w, b: module.layer_norm(x, w, b), lambda x, w, b: F.layer_norm(x, (1500,), w, b), inputs
    )


def case_norm_gated(generator: Any) -> Cases:
    module = _fla("modules.norm.fused_norm_gate")
    inputs = {**_two(generator), "w": normal(generator, COLUMNS)}
    yield from forward_and_backward(
        lambda x, y, w: module.rms_norm_gated(x, y, w, None, "swish", eps=1e-6),
        lambda x, y, w: F.rms_norm(x, (COLUMNS,), w, 1e-6) * F.silu(y),
        inputs,
    )
    yield from forward_and_backward(
        lambda x, y, w: module.layer_norm_gated(x, y, w, None, "sigmoid", eps=1e-6),
        lambda x, y, w: F.layer_norm(x, (COLUMNS,), w, eps=1e-6) * y.sigmoid(),
        inputs,
    )


def case_norm_gated_grouped(generator: Any) -> Cases:
    module = _fla("modules.norm.layernorm_gated")
    inputs = {"x": normal(generator, 6, 128), "w": normal(generator, 128), "z": normal(generator, 6, 128)}
    yield from forward_and_backward(
        lambda x, w, z: module.rmsnorm_fn(x, w, None, z, 1e-6, 64),
        lambda x, w, z: module.rms_norm_ref(x, w, None, z, 1e-6, 64),
        inputs,
    )


def case_l2norm(generator: Any) -> Cases:
    module = _fla("modules.norm.l2norm")
    for columns in (64, 700):
        yield from forward_and_backward(
            lambda x: module.l2norm(x),
            lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6),
            {"x": normal(generator, 2, 10, 2, columns)},
        )


def case_activations(generator: Any) -> Cases:
    module = _fla("modules.activations.ops")
    x = {"x": normal(generator, 2, 5, COLUMNS)}
    for name, want in (
        ("sigmoid", torch.sigmoid),
        ("swish", F.silu),
        ("logsigmoid", F.logsigmoid),
        ("elu_p1", lambda x: F.elu(x) + 1),
    ):
        yield from forward_and_backward(lambda x, name=name: getattr(module, name)(x), lambda x, want=want: want(x), x)


def case_gated_units(generator: Any) -> Cases:
    module = _fla("modules.activations.ops")
    yield from forward_and_backward(lambda x, y: module.swiglu(x, y), lambda x, y: F.silu(x) * y, _two(generator))
    yield from forward_and_backward(lambda x, y: module.sigmoidglu(x, y), lambda x, y: x.sigmoid() * y, _two(generator))
    inputs = {**_two(generator), "w": normal(generator, 32, COLUMNS, scale=0.1)}
    yield from forward_and_backward(
        lambda x, y, w: module.swiglu_linear(x, y, w, None), lambda x, y, w: F.linear(F.silu(x) * y, w), inputs
    )


def case_rotary(generator: Any) -> Cases:
    module = _fla("modules.rotary.ops")
    angle = torch.rand(20, 8, generator=generator) * 6
    for pairs in (False, True):
        yield from forward_and_backward(
            lambda x, pairs=pairs: module.rotary_embedding(x, angle.cos(), angle.sin(), pairs),
            lambda x, pairs=pairs: module.rotary_embedding_ref(x, angle.cos(), angle.sin(), pairs),
            {"x": normal(generator, 2, 20, 3, 32)},
        )


def case_token_shift(generator: Any) -> Cases:
    module = _fla("modules.token_shift")
    yield from forward_and_backward(
        lambda x: module.token_shift(x),
        lambda x: F.pad(x, (0, 0, 1, -1)) - x,
        {"x": normal(generator, 2, 20, 48)},
    )


def case_causal_conv1d(generator: Any) -> Cases:
    module = _fla("modules.causal_conv1d.ops")

    def reference(x: Any, w: Any, b: Any) -> Any:
        whole = F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), w[:, None], b, groups=48)
        return F.silu(whole).transpose(1, 2)

    yield from forward_and_backward(
        lambda x, w, b: module.causal_conv1d(x, w, b, activation="silu")[0],
        reference,
        {"x": normal(generator, 2, 70, 48), "w": normal(generator, 48, 4), "b": normal(generator, 48)},
    )


def case_cross_entropy(generator: Any) -> Cases:
    module = _fla("modules.fused_cross_entropy.ops")
    labels = torch.randint(300, (ROWS,), generator=generator)
    labels[3] = -100
    yield from forward_and_backward(
        lambda x: module.cross_entropy_loss(x, labels, 0.1)[0],
        lambda x: F.cross_entropy(x, labels, reduction="none", label_smoothing=0.1),
        {"x": normal(generator, ROWS, 300)},
    )


def case_linear_cross_entropy(generator: Any) -> Cases:
    module = _fla("modules.fused_linear_cross_entropy.ops")
    labels = torch.randint(300, (ROWS,), generator=generator)
    yield from forward_and_backward(
        lambda x, w: module.fused_linear_cross_entropy_loss(x, labels, w),
        lambda x, w: F.cross_entropy(x @ w.T, labels),
        {"x": normal(generator, ROWS, 32, scale=0.3), "w": normal(generator, 300, 32, scale=0.3)},
        1e-3,
    )


def case_kl_div(generator: Any) -> Cases:
    module = _fla("modules.fused_kl_div.ops")
    target, tw = normal(generator, ROWS, 32, scale=0.3), normal(generator, 300, 32, scale=0.3)
    yield from forward_and_backward(
        lambda x, w: module.fused_kl_div_loss(x, target, w, tw),
        lambda x, w: F.kl_div((x @ w.T).log_softmax(-1), (target @ tw.T).softmax(-1), reduction="batchmean"),
        {"x": normal(generator, ROWS, 32, scale=0.3), "w": normal(generator, 300, 32, scale=0.3)},
        1e-3,
    )


def case_grpo(generator: Any) -> Cases:
    module = _fla("modules.grpo.ops")
    ids, advantages = torch.randint(300, (2, 11), generator=generator), normal(generator, 2)
    ref = -5 + normal(generator, 2, 7, scale=0.2)
    yield from forward_and_backward(
        lambda x: module.fused_grpo_loss(x, ref, ids, advantages),
        lambda x: module.grpo_loss_torch(x, ref, ids, advantages),
        {"x": normal(generator, 2, 8, 300)},
        1e-3,
    )


def case_sums(generator: Any) -> Cases:
    module = _fla("ops.utils.cumsum")
    thin, wide = normal(generator, 2, 128, 3), normal(generator, 2, 128, 3, 16)
    for x in (thin, wide):
        chunks = x.unflatten(1, (2, 64))
        yield Compared("local", module.chunk_local_cumsum(x, 64), chunks.cumsum(2).flatten(1, 2))
        yield Compared(
            "local, backwards",
            module.chunk_local_cumsum(x, 64, reverse=True),
            chunks.flip(2).cumsum(2).flip(2).flatten(1, 2),
        )
        yield Compared("global", module.chunk_global_cumsum(x), x.cumsum(1))


def case_softmax(generator: Any) -> Cases:
    x, upstream = normal(generator, ROWS, COLUMNS), normal(generator, ROWS, COLUMNS)
    module, want = _fla("ops.utils.softmax"), x.softmax(-1)
    yield Compared("softmax", module.softmax_fwd(x), want)
    slope = want * (upstream - (want * upstream).sum(-1, keepdim=True))
    yield Compared("gradient", module.softmax_bwd(want, upstream), slope)
    yield Compared("logsumexp", _fla("ops.utils.logsumexp").logsumexp_fwd(x), x.logsumexp(-1))


def case_matmul(generator: Any) -> Cases:
    module = _fla("ops.utils.matmul")
    a, b, x = normal(generator, 40, 64), normal(generator, 64, 48), normal(generator, 40, 48)
    yield Compared("product", module.matmul(a, b), a @ b, 5e-3)
    shares = torch.tensor([0.5]), torch.tensor([2.0])
    yield Compared("with a sum", module.addmm(x, a, b, *shares), torch.addmm(x, a, b, alpha=0.5, beta=2.0), 5e-3)


def case_solve_tril(generator: Any) -> Cases:
    module = _fla("ops.utils.solve_tril")
    for size in (16, 32, 64):
        lower = normal(generator, 1, 128, 2, size, scale=0.1)
        blocks = lower.unflatten(1, (-1, size)).permute(0, 3, 1, 2, 4).tril(-1)
        given = blocks.permute(0, 2, 3, 1, 4).flatten(1, 2).contiguous()
        want = torch.linalg.inv(torch.eye(size) + blocks).permute(0, 2, 3, 1, 4).flatten(1, 2)
        yield Compared(f"of {size}", module.solve_tril(given), want, 5e-3)


def case_mean_pooling(generator: Any) -> Cases:
    module = _fla("ops.utils.pooling")
    yield from forward_and_backward(
        lambda x: module.mean_pooling(x, 16),
        lambda x: x.unflatten(1, (4, 16)).mean(2),
        {"x": normal(generator, 2, 64, 3, 32)},
    )


def case_pack(generator: Any) -> Cases:
    module = _fla("ops.utils.pack")
    ends = torch.tensor([0, 5, 12, 20], dtype=torch.int32)

    def packed(x: Any) -> Any:
        return torch.cat([x[row, 8 - int(count) :] for row, count in enumerate(ends.diff())])

    yield from forward_and_backward(lambda x: module.pack_sequence(x, ends), packed, {"x": normal(generator, 3, 8, 40)})


def case_rwkv7_parts(generator: Any) -> Cases:
    update, correct = _fla("ops.rwkv7.fused_k_update"), _fla("ops.rwkv7.gate_output_correction")
    yield from forward_and_backward(
        lambda k, a, ka: update.fused_k_rwkv7(k, a, ka),
        lambda k, a, ka: update.k_update_ref(k, a, ka),
        {"k": normal(generator, 2, 10, 64), "a": normal(generator, 2, 10, 64), "ka": normal(generator, 64)},
    )
    yield from forward_and_backward(
        lambda **given: correct.gate_output_correction(**given),
        lambda **given: correct.gate_output_correction_ref(**given),
        {
            "o": normal(generator, 2, 10, 64),
            "r": normal(generator, 2, 10, 2, 32),
            "k": normal(generator, 2, 10, 2, 32),
            "r_k": normal(generator, 2, 32),
            "v": normal(generator, 2, 10, 2, 32),
            "g": normal(generator, 2, 10, 64),
        },
        1e-3,
    )
