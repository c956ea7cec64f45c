"""Triton operations of unsloth beside what they stand for in torch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from case import Compared, forward_and_backward, normal
from packaging.version import Version
from stand_ins import absent, bare

bare("unsloth")
absent(
    "unsloth_zoo",
    "unsloth_zoo.loss_utils",
    "unsloth_zoo.patching_utils",
    "unsloth_zoo.temporary_patches",
    "unsloth_zoo.temporary_patches.common",
    "unsloth_zoo.device_type",
    "transformers",
    "transformers.models",
    "transformers.models.llama",
    "transformers.models.llama.modeling_llama",
)
absent("unsloth_zoo.utils", Version=Version)
absent("unsloth_zoo.log", logger=logging.getLogger("unsloth"))
bare("unsloth.kernels")
Cases = Iterator[Compared]
ROWS, COLUMNS = 6, 256


def case_swiglu(generator: Any) -> Cases:
    from unsloth.kernels.swiglu import swiglu_DWf_DW_dfg_kernel, swiglu_fg_kernel

    e, g, upstream = (normal(generator, 2, 5, COLUMNS) for _ in range(3))
    yield Compared("forward", swiglu_fg_kernel(e, g), F.silu(e) * g)
    e2, g2 = e.flatten(0, 1).clone(), g.flatten(0, 1).clone()
    got = swiglu_DWf_DW_dfg_kernel(upstream.flatten(0, 1).clone(), e2, g2)
    s, up = torch.sigmoid(e.flatten(0, 1)), upstream.flatten(0, 1)
    f = e.flatten(0, 1) * s
    want = (f * g.flatten(0, 1), up * f, up * g.flatten(0, 1) * s * (1 + e.flatten(0, 1) * (1 - s)))
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        yield Compared(f"backward {number}", one, other)


def _geglu(generator: Any, name: str, approximate: str) -> Cases:
    import unsloth.kernels.geglu as module

    e, g, upstream = (normal(generator, 10, COLUMNS) for _ in range(3))
    got = getattr(module, f"geglu_{name}_forward_kernel")(e[None], g[None])
    yield Compared("forward", got[0], F.gelu(e, approximate=approximate) * g)
    leaf = e.clone().requires_grad_()
    f = F.gelu(leaf, approximate=approximate)
    (slope,) = torch.autograd.grad(f.sum(), leaf)
    want = (f.detach() * g, upstream * f.detach(), upstream * g * slope)
    found = getattr(module, f"geglu_{name}_backward_kernel")(upstream.clone(), e.clone(), g.clone())
    for number, (one, other) in enumerate(zip(found, want, strict=True)):
        yield Compared(f"backward {number}", one, other)


def case_geglu_exact(generator: Any) -> Cases:
    yield from _geglu(generator, "exact", "none")


def case_geglu_approx(generator: Any) -> Cases:
    yield from _geglu(generator, "approx", "tanh")


def case_rms_layernorm(generator: Any) -> Cases:
    from unsloth.kernels.rms_layernorm import Fast_RMS_Layernorm as ours

    inputs = {"x": normal(generator, 2, 5, COLUMNS), "w": normal(generator, COLUMNS)}
    for gemma in (False, True):
        yield from forward_and_backward(
            lambda x, w, gemma=gemma: ours.apply(x, w, 1e-6, gemma),
            lambda x, w, gemma=gemma: F.rms_norm(x, (COLUMNS,), eps=1e-6) * (w + gemma),
            inputs,
        )


def case_layernorm(generator: Any) -> Cases:
    from unsloth.kernels.layernorm import Fast_Layernorm as ours

    yield from forward_and_backward(
        lambda x, w, b: ours.apply(x, w, b, 1e-5),
        lambda x, w, b: F.layer_norm(x, (COLUMNS,), w, b),
        {"x": normal(generator, 2, 5, COLUMNS), "w": normal(generator, COLUMNS), "b": normal(generator, COLUMNS)},
    )


def case_rope_embedding(generator: Any) -> Cases:
    from unsloth.kernels.rope_embedding import fast_rope_embedding

    half = torch.rand(10, 16, generator=generator) * 6
    cos, sin = (torch.cat((table, table), -1) for table in (half.cos(), half.sin()))

    def turned(x: Any) -> Any:
        return x * cos + torch.cat((-x[..., 16:], x[..., :16]), -1) * sin

    yield from forward_and_backward(
        lambda q, k: fast_rope_embedding(q, k, cos, sin),
        lambda q, k: (turned(q), turned(k)),
        {"q": normal(generator, 2, 4, 10, 32), "k": normal(generator, 2, 2, 10, 32)},
    )


def case_cross_entropy(generator: Any) -> Cases:
    from unsloth.kernels.cross_entropy_loss import Fast_CrossEntropyLoss as ours

    labels = torch.randint(300, (ROWS,), generator=generator)
    labels[2] = -100
    for cap, scale in ((0, 0), (5.0, 0), (0, 2.0)):

        def reference(x: Any, cap: float = cap, scale: float = scale) -> Any:
            x = scale * x if scale else x
            x = cap * torch.tanh(x / cap) if cap else x
            return F.cross_entropy(x, labels, reduction="none")

        yield from forward_and_backward(
            lambda x, cap=cap, scale=scale: ours.apply(x, labels, cap, scale),
            reference,
            {"x": normal(generator, ROWS, 300)},
        )


def case_cross_entropy_of_many(generator: Any) -> Cases:
    from unsloth.kernels.cross_entropy_loss import Fast_CrossEntropyLoss as ours

    labels = torch.tensor([5, 70000])
    yield from forward_and_backward(
        lambda x: ours.apply(x, labels, 0, 0),
        lambda x: F.cross_entropy(x, labels, reduction="none"),
        {"x": normal(generator, 2, 70001)},
    )


def case_nvfp4_dequantize(generator: Any) -> Cases:
    from unsloth.kernels.nvfp4 import _nvfp4_dequantize_torch, _nvfp4_dequantize_triton

    packed = torch.randint(256, (32, 32), generator=generator, dtype=torch.uint8)
    scale = (torch.rand(32, 4, generator=generator) + 0.5).to(torch.float8_e4m3fn)
    whole = torch.tensor(0.7)
    for dtype in (torch.float32, torch.bfloat16):
        got = _nvfp4_dequantize_triton(packed, scale, whole, dtype)
        yield Compared(f"{dtype}", got, _nvfp4_dequantize_torch(packed, scale, whole, dtype))


def case_large_head_attention(generator: Any) -> Cases:
    from unsloth.kernels.large_head_attention import _dense_intervals, large_head_attention

    lo, hi = _dense_intervals(1, 40, True, torch.device("cpu"))
    yield from forward_and_backward(
        lambda q, k, v: large_head_attention(q, k, v, lo, hi, 0.1).transpose(1, 2),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.1),
        {name: normal(generator, 1, 2, 40, 64) for name in "qkv"},
        5e-3,
    )
