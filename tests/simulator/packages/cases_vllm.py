"""Triton operations of vllm beside what they stand for in torch. Only modules of kernels are imported, not the package."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from case import Compared, normal
from stand_ins import absent, bare

Cases = Iterator[Compared]
PLATFORM = SimpleNamespace(
    is_cuda=lambda: True,
    is_cuda_alike=lambda: True,
    is_rocm=lambda: False,
    is_xpu=lambda: False,
    is_cpu=lambda: False,
    is_tpu=lambda: False,
    has_device_capability=lambda capability, *_: (capability if isinstance(capability, int) else 80) <= 80,
    is_device_capability=lambda *_: False,
    is_device_capability_family=lambda *_: False,
    get_device_capability=lambda *_: SimpleNamespace(major=8, minor=0),
    supports_fp8=lambda: False,
    fp8_dtype=lambda: torch.float8_e4m3fn,
    get_device_name=lambda *_: "simulator",
    is_arch_support_pdl=lambda *_: False,
    num_compute_units=lambda *_: 108,
    device_type="cuda",
)


def _prepare() -> None:
    import triton
    import triton.language as tl

    bare(
        "vllm",
        "vllm.model_executor",
        "vllm.model_executor.layers",
        "vllm.model_executor.layers.mamba",
        "vllm.model_executor.layers.mamba.ops",
        "vllm.model_executor.layers.quantization",
        "vllm.model_executor.layers.quantization.utils",
        "vllm.model_executor.determinism",
        "vllm.v1",
        "vllm.v1.attention",
        "vllm.v1.attention.ops",
        "vllm.v1.attention.backends",
        "vllm.v1.worker",
        "vllm.v1.worker.gpu",
        "vllm.v1.worker.gpu.sample",
        "vllm.v1.sample",
        "vllm.v1.sample.ops",
        "vllm.utils",
        "vllm.lora",
        "vllm.lora.ops",
        "vllm.lora.ops.triton_ops",
        "vllm.third_party",
        "vllm.third_party.flash_linear_attention",
        "vllm.third_party.flash_linear_attention.ops",
    )
    absent("vllm.platforms", current_platform=PLATFORM, vllm_version_matches_substr=lambda _: False)
    absent("vllm.platforms.interface")
    absent("regex")
    absent("vllm.utils.mem_utils", get_max_shared_memory_bytes=lambda *_: 163 << 10)
    absent("vllm.logger", init_logger=logging.getLogger)
    absent("vllm.envs", VLLM_BATCH_INVARIANT=False, VLLM_TRITON_FORCE_FIRST_CONFIG=False)
    absent("vllm._custom_ops", "vllm.utils.torch_utils", "vllm.utils.nccl", "vllm.distributed", "vllm.sampling_params")
    absent("vllm.v1.attention.backends.utils", PAD_SLOT_ID=-1, NULL_BLOCK_ID=0)
    absent("vllm.v1.worker.gpu.buffer_utils", "vllm.v1.worker.gpu.sample.logits_processor")
    absent("vllm.v1.worker.gpu.sample.logits_processor.interface")
    absent(
        "vllm.triton_utils", triton=triton, tl=tl, HAS_TRITON=True, LOG2E=1.4426950408889634, LOGE2=math.log(2),
        tldevice=__import__("triton.language.extra.libdevice", fromlist=["x"]), use_tensor_descriptor=lambda *_: False,
    )  # fmt: skip


_prepare()


def case_rms_norm_gated(generator: Any) -> Cases:
    from vllm.model_executor.layers.mamba.ops.layernorm_gated import rms_norm_gated

    x, z, weight = normal(generator, 6, 128), normal(generator, 6, 128), normal(generator, 128)
    for before in (True, False):
        gated = x if before else x * F.silu(z)
        grouped = F.rms_norm(gated.view(6, 2, 64), (64,), eps=1e-6).view(6, 128) * weight
        want = grouped * F.silu(z) if before else grouped
        yield Compared(f"output {before}", rms_norm_gated(x, weight, None, z, 1e-6, 64, before), want)


def case_merge_attn_states(generator: Any) -> Cases:
    from vllm.v1.attention.ops.triton_merge_attn_states import merge_attn_states

    a, b = normal(generator, 7, 4, 48), normal(generator, 7, 4, 48)
    la, lb = normal(generator, 4, 7), normal(generator, 4, 7)
    out, lse = torch.empty_like(a), torch.empty_like(la)
    merge_attn_states(out, a, la, b, lb, lse)
    whole = torch.logaddexp(la, lb)
    share = ((one - whole).exp().T[..., None] for one in (la, lb))
    yield Compared("output", out, sum(weight * part for weight, part in zip(share, (a, b), strict=True)))
    yield Compared("sum", lse, whole)


def case_int8_quant(generator: Any) -> Cases:
    from vllm.model_executor.layers.quantization.utils import int8_utils

    x = normal(generator, 6, 256)
    got, scale = int8_utils.per_token_quant_int8(x)
    want = x.abs().amax(-1, keepdim=True) / 127
    yield Compared("scale of tokens", scale, want)
    yield Compared("tokens", got.float() * scale, x, 2e-2)
    got, scale = torch.empty(24, 64, dtype=torch.int8), torch.empty(24)
    int8_utils._per_token_group_quant_int8[(24,)](x, got, scale, 64, 64, 1e-10, -128, 127, BLOCK=64, num_warps=1)
    yield Compared("scale of groups", scale, x.view(24, 64).abs().amax(-1) / 127)
    yield Compared("groups", got.float() * scale[:, None], x.view(24, 64), 2e-2)


def _awq(generator: Any, rows: int, columns: int, group: int) -> tuple[Any, ...]:
    """Packed weights, scales and zeros of AWQ, and the weights that they stand for."""
    weights = torch.randint(0, 16, (rows, columns), generator=generator, dtype=torch.int32)
    zeros = torch.randint(0, 16, (rows // group, columns), generator=generator, dtype=torch.int32)
    scales = torch.rand(rows // group, columns, generator=generator).half() * 0.1
    order = [0, 4, 1, 5, 2, 6, 3, 7]  # which place in a word the column of a number has

    def packed(values: Any) -> Any:
        words = torch.zeros(values.shape[0], columns // 8, dtype=torch.int32)
        for column in range(8):
            words |= values[:, column::8] << (4 * order[column])
        return words

    whole = (weights - zeros.repeat_interleave(group, 0)) * scales.float().repeat_interleave(group, 0)
    return packed(weights), scales, packed(zeros), whole


def case_awq(generator: Any) -> Cases:
    from vllm.model_executor.layers.quantization.awq_triton import awq_dequantize_triton, awq_gemm_triton

    weights, scales, zeros, whole = _awq(generator, 128, 64, 64)
    yield Compared("weights", awq_dequantize_triton(weights, scales, zeros), whole, 1e-3)
    x = normal(generator, 10, 128, dtype=torch.float16)
    yield Compared("product", awq_gemm_triton(x, weights, scales, zeros, 2), x.float() @ whole, 5e-3)


def case_min_p(generator: Any) -> Cases:
    from vllm.v1.worker.gpu.sample.min_p import apply_min_p

    logits, share = normal(generator, 4, 1500), torch.tensor([0.0, 0.1, 0.5])
    rows = torch.tensor([0, 1, 2, 1], dtype=torch.int32)
    want = logits.clone()
    for row in range(4):
        least = share[rows[row]]
        if least > 0:
            want[row][want[row] < want[row].max() + least.log()] = -torch.inf
    apply_min_p(logits, rows, share)
    yield Compared("kept", logits.isfinite().int(), want.isfinite().int())
    yield Compared("logits", logits.nan_to_num(0, 0, 0), want.nan_to_num(0, 0, 0))


def case_prefill_attention(generator: Any) -> Cases:
    from vllm.v1.attention.ops.triton_prefill_attention import context_attention_fwd

    lengths, starts = torch.tensor([5, 40, 17], dtype=torch.int32), torch.tensor([0, 5, 45], dtype=torch.int32)
    q = normal(generator, 62, 4, 32, dtype=torch.float16)
    k, v = (normal(generator, 62, 2, 32, dtype=torch.float16) for _ in range(2))
    for causal in (True, False):
        out = torch.empty_like(q)
        context_attention_fwd(q, k, v, out, starts, lengths, 40, causal)
        parts = []
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            one, keys, values = (x[start : start + length].float().transpose(0, 1)[None] for x in (q, k, v))
            found = F.scaled_dot_product_attention(one, keys, values, is_causal=causal, enable_gqa=True)
            parts.append(found[0].transpose(0, 1))
        yield Compared(f"causal {causal}", out, torch.cat(parts), 5e-3)


def _decoded(generator: Any, heads: int) -> Cases:
    from vllm.v1.attention.ops.triton_decode_attention import decode_attention_fwd

    q = normal(generator, 3, heads, 32, dtype=torch.float16)
    k, v = (normal(generator, 64, 2, 32, dtype=torch.float16) for _ in range(2))
    table = torch.stack([torch.randperm(64, generator=generator)[:30] for _ in range(3)]).int()
    lengths = torch.tensor([30, 1, 17], dtype=torch.int32)
    out, lse = torch.zeros_like(q), torch.zeros(3, heads)
    parts = torch.zeros(3, heads, 4, 33)
    decode_attention_fwd(q, k, v, out, lse, table, lengths, parts, 4, 0.2)
    rows = []
    for row, length in enumerate(lengths.tolist()):
        keys, values = (x[table[row, :length].long()].float() for x in (k, v))
        groups = heads // 2
        scores = torch.einsum("hd,lhd->hl", q[row].float() * 0.2, keys.repeat_interleave(groups, 1))
        rows.append(torch.einsum("hl,lhd->hd", scores.softmax(-1), values.repeat_interleave(groups, 1)))
    yield Compared("output", out, torch.stack(rows), 5e-3)


def case_decode_attention(generator: Any) -> Cases:
    yield from _decoded(generator, 2)


def case_decode_attention_grouped(generator: Any) -> Cases:
    yield from _decoded(generator, 8)


def case_batch_invariant(generator: Any) -> Cases:
    from vllm.model_executor.determinism import batch_invariant as module

    x = normal(generator, 6, 300)
    yield Compared("log_softmax", module.log_softmax(x), x.log_softmax(-1))
    yield Compared("mean", module.mean_dim(x.view(6, 10, 30), 1), x.view(6, 10, 30).mean(1))
    yield Compared("softmax", module.softmax(x), x.softmax(-1))


def case_matmul_persistent(generator: Any) -> Cases:
    from vllm.model_executor.determinism import batch_invariant as module

    a, b = normal(generator, 40, 64, dtype=torch.float16), normal(generator, 64, 48, dtype=torch.float16)
    bias = normal(generator, 48, dtype=torch.float16)
    yield Compared("product", module.matmul_persistent(a, b, bias), a.float() @ b.float() + bias, 5e-3)


def case_causal_conv1d(generator: Any) -> Cases:
    from vllm.model_executor.layers.mamba.ops.causal_conv1d import causal_conv1d_fn, causal_conv1d_update

    width, channels = 4, 64
    weight, bias = normal(generator, channels, width), normal(generator, channels)
    ends, slots = torch.tensor([0, 10, 37], dtype=torch.int32), torch.tensor([2, 1], dtype=torch.int32)
    x = normal(generator, 37, channels).T
    states = normal(generator, 3, width - 1, channels).transpose(1, 2)
    had, before = torch.tensor([False, True]), states.clone()
    got = causal_conv1d_fn(x, weight, bias, states, ends, slots, had, "silu")
    rows = []
    for row in range(2):
        part = x[:, ends[row] : ends[row + 1]]
        front = before[slots[row].item()] if had[row] else torch.zeros(channels, width - 1)
        whole = torch.cat((front, part), 1)
        rows.append(F.silu(F.conv1d(whole[None], weight[:, None], bias, groups=channels)[0]))
        yield Compared(f"state {row}", states[slots[row].item()], whole[:, 1 - width :])
    yield Compared("output", got, torch.cat(rows, 1))
    one, before = normal(generator, 2, channels), states.clone()
    got = causal_conv1d_update(one.clone(), states, weight, bias, "silu", conv_state_indices=slots)
    whole = torch.cat((before[slots.long()], one[..., None]), 2)
    yield Compared("update", got, F.silu((whole * weight).sum(-1) + bias))


def case_lightning_attention(generator: Any) -> Cases:
    from vllm.model_executor.layers.lightning_attn import lightning_attention, linear_decode_forward_triton

    slope = torch.tensor([0.1, 0.4])
    q, k, v = (normal(generator, 1, 2, 100, 64, scale=0.3) for _ in range(3))
    got, _ = lightning_attention(q, k, v, slope, 64)
    state, rows = torch.zeros(1, 2, 64, 64), []
    for place in range(100):
        state = state * (-slope).exp()[None, :, None, None] + k[:, :, place, :, None] * v[:, :, place, None]
        rows.append(torch.einsum("bhd,bhde->bhe", q[:, :, place], state))
    yield Compared("output", got, torch.stack(rows, 2), 5e-3)
    caches = normal(generator, 4, 2, 64, 64)
    one = [normal(generator, 2, 2, 1, 64, scale=0.3) for _ in range(3)]
    slots = torch.tensor([3, 1])
    want = caches.clone()[slots] * (-slope).exp()[None, :, None, None] + one[1].transpose(-1, -2) * one[2]
    got = linear_decode_forward_triton(*one, caches, slope, slots)
    yield Compared("decoded", got, torch.einsum("bhxd,bhde->bhe", one[0], want).flatten(1))
    yield Compared("states", caches[slots], want)


def case_l2norm(generator: Any) -> Cases:
    from vllm.third_party.flash_linear_attention.ops.l2norm import l2norm_fwd

    x = normal(generator, 40, 64)
    yield Compared("output", l2norm_fwd(x), F.normalize(x, dim=-1))


def case_bincount(generator: Any) -> Cases:
    from vllm.v1.worker.gpu.sample.penalties import bincount

    tokens = torch.randint(100, (3, 50), generator=generator, dtype=torch.int32)
    prompt, whole = torch.tensor([10, 20, 5], dtype=torch.int32), torch.tensor([30, 50, 5], dtype=torch.int32)
    mask, counts = torch.zeros(3, 4, dtype=torch.int32), torch.zeros(3, 100, dtype=torch.int32)
    bincount(torch.arange(3, dtype=torch.int32), tokens, prompt, whole, mask, counts, 50)
    want = torch.stack([tokens[row, prompt[row] : whole[row]].bincount(minlength=100) for row in range(3)])
    yield Compared("counts", counts, want.int())
    bits = torch.stack([(mask[:, word] >> bit) & 1 for word in range(4) for bit in range(32)], 1)[:, :100]
    seen = torch.stack([tokens[row, : prompt[row]].bincount(minlength=100) > 0 for row in range(3)])
    yield Compared("prompt", bits, seen.int())
