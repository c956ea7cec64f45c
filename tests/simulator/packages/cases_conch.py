"""Operations of conch-triton-kernels beside ``conch.reference``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch
from case import Compared, normal

Cases = Iterator[Compared]


def _pair(place: str, name: str) -> tuple[Any, Any]:
    return (
        getattr(importlib.import_module(f"conch.ops.{place}"), name),
        getattr(importlib.import_module(f"conch.reference.{place}"), name),
    )


def _all(got: Any, want: Any, tolerance: float = 1e-4) -> Cases:
    got, want = (value if isinstance(value, tuple) else (value,) for value in (got, want))
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        yield Compared(f"output {number}", one, other, tolerance)


def case_silu_and_mul(generator: Any) -> Cases:
    ours, reference = _pair("activation.silu_and_mul", "silu_and_mul")
    x = normal(generator, 6, 400)
    yield from _all(ours(x), reference(x))


def case_gelu_tanh_and_mul(generator: Any) -> Cases:
    ours, reference = _pair("activation.gelu_tanh_and_mul", "gelu_tanh_and_mul")
    x = normal(generator, 6, 400)
    yield from _all(ours(x), reference(x))


def case_rms_norm(generator: Any) -> Cases:
    x, residual, weight = normal(generator, 6, 200), normal(generator, 6, 200), normal(generator, 200)
    ours, reference = _pair("normalization.rms_norm", "rms_norm")
    yield from _all(ours(x, weight, 1e-6), reference(x, weight, 1e-6))
    ours, reference = _pair("normalization.rms_norm", "fused_add_rms_norm")
    yield from _all(
        ours(x.clone(), residual.clone(), weight, 1e-6), reference(x.clone(), residual.clone(), weight, 1e-6)
    )


def case_gemma_rms_norm(generator: Any) -> Cases:
    x, residual, weight = normal(generator, 6, 200), normal(generator, 6, 200), normal(generator, 200)
    ours, reference = _pair("normalization.gemma_rms_norm", "gemma_rms_norm")
    yield from _all(ours(x.clone(), weight, 1e-6), reference(x.clone(), weight, 1e-6))
    # The package normalises in place what it also returns as the new residual, so only the first output is as its reference's.
    got, want = (function(x.clone(), weight, 1e-6, residual.clone()) for function in (ours, reference))
    yield Compared("with residual", got[0], want[0])


def case_rotary_embedding(generator: Any) -> Cases:
    ours, reference = _pair("embedding.rotary_embedding", "rotary_embedding")
    table = importlib.import_module("conch.reference.embedding.rotary_embedding").compute_cos_sin_cache(10000, 32, 64)
    positions = torch.randint(64, (10,), generator=generator)
    q, k = normal(generator, 10, 4 * 32), normal(generator, 10, 2 * 32)
    got = ours(positions, q.clone(), k.clone(), 32, table)
    want = reference(positions, q.clone(), k.clone(), table, 32, 32)
    yield from _all(tuple(one.view(10, -1) for one in got), tuple(one.view(10, -1) for one in want))


def case_int8_quant(generator: Any) -> Cases:
    ours, reference = _pair("quantization.int8", "scaled_int8_quant")
    x = normal(generator, 6, 200)
    got, scale = ours(x, torch.tensor([0.02]))
    yield Compared("quantised", got.int(), reference(x, torch.tensor([0.02])).int())
    yield Compared("scale", scale, torch.tensor([0.02]))


def case_nms(generator: Any) -> Cases:
    ours, reference = _pair("vision.nms", "nms")
    corner = torch.rand(100, 2, generator=generator) * 50
    boxes = torch.cat((corner, corner + 5 + torch.rand(100, 2, generator=generator) * 20), 1)
    scores = torch.rand(100, generator=generator)
    yield Compared("kept", ours(boxes, scores, 0.4).sort().values, reference(boxes, scores, 0.4).sort().values)


def case_bev_pool(generator: Any) -> Cases:
    ours = importlib.import_module("conch.ops.vision.bev_pool")
    reference = importlib.import_module("conch.reference.vision.bev_pool")
    places = torch.randint(0, 3, (60, 4), generator=generator, dtype=torch.int32)
    places[:, 3] = 0
    order = (places * torch.tensor([27, 9, 3, 1], dtype=torch.int32)).sum(1).argsort(stable=True)
    places = places[order].contiguous()
    new = torch.cat((torch.tensor([True]), (places[1:] != places[:-1]).any(1)))
    starts = new.nonzero()[:, 0].int()
    lengths = torch.cat((starts[1:], torch.tensor([60], dtype=torch.int32))) - starts
    features = normal(generator, 60, 32)
    got = ours.bev_pool(features, places, starts, lengths, 1, 3, 3, 3)
    yield Compared("pooled", got, reference.bev_pool_pytorch(features, places, starts, lengths, 1, 3, 3, 3))
    upstream = normal(generator, *got.shape)
    yield Compared(
        "gradient",
        ours.bev_pool_backward(upstream, places, starts, lengths),
        reference.bev_pool_backward_pytorch(upstream, places, starts, lengths),
    )


def case_copy_blocks(generator: Any) -> Cases:
    ours, reference = _pair("vllm.copy_blocks", "copy_blocks")
    keys, values = ([normal(generator, 8, 1024) for _ in range(2)] for _ in range(2))
    theirs = [cache.clone() for cache in keys], [cache.clone() for cache in values]
    mapping = [(0, 5), (2, 6), (2, 7)]
    ours(keys, values, torch.tensor(mapping))
    reference(*theirs, mapping)
    for got, want in zip(keys + values, theirs[0] + theirs[1], strict=True):
        yield Compared("cache", got, want)


def _cache(generator: Any) -> tuple[Any, ...]:
    key, value = normal(generator, 5, 2, 32), normal(generator, 5, 2, 32)
    slots = torch.tensor([3, 17, 5, 40, 41])
    return key, value, slots


def case_reshape_and_cache(generator: Any) -> Cases:
    ours, reference = _pair("vllm.reshape_and_cache", "reshape_and_cache")
    key, value, slots = _cache(generator)
    one = torch.ones(1)
    caches = [torch.zeros(4, 16, 2, 32) for _ in range(4)]
    ours(key, value, caches[0], caches[1], slots, "auto", one, one)
    reference(key, value, caches[2], caches[3], slots, "auto", one, one)
    yield Compared("keys", caches[0], caches[2])
    yield Compared("values", caches[1], caches[3])


def _attended(q: Any, k: Any, v: Any, lengths: Any, table: Any, scale: float) -> Any:
    """Attention of one query a sequence over blocks of a cache (blocks, size, heads, width)."""
    rows = []
    for row, length in enumerate(lengths.tolist()):
        keys, values = (c[table[row]].flatten(0, 1)[:length] for c in (k, v))
        groups = q.shape[1] // keys.shape[1]
        keys, values = (c.repeat_interleave(groups, 1) for c in (keys, values))
        share = torch.einsum("hd,lhd->hl", q[row] * scale, keys).softmax(-1)
        rows.append(torch.einsum("hl,lhd->hd", share, values))
    return torch.stack(rows)


def case_paged_attention(generator: Any) -> Cases:
    from conch.ops.attention.paged_attention import paged_attention

    q = normal(generator, 3, 4, 32, dtype=torch.float16)
    k, v = (normal(generator, 12, 16, 2, 32, dtype=torch.float16) for _ in range(2))
    table = torch.randperm(12, generator=generator).view(3, 4).int()
    lengths = torch.tensor([5, 64, 33], dtype=torch.int32)
    got = paged_attention(q, k, v, table, lengths, scale=0.2)
    yield Compared("output", got, _attended(q.float(), k.float(), v.float(), lengths, table.long(), 0.2), 5e-3)


def case_varlen_attention(generator: Any) -> Cases:
    from conch.ops.attention.varlen_attention import varlen_attention

    lengths = torch.tensor([5, 20, 33], dtype=torch.int32)
    ends = torch.tensor([0, 5, 25, 58], dtype=torch.int32)
    q = normal(generator, 58, 4, 32, dtype=torch.float16)
    k, v = (normal(generator, 12, 16, 2, 32, dtype=torch.float16) for _ in range(2))
    table = torch.randperm(12, generator=generator).view(3, 4).int()
    got = varlen_attention(q, k, v, ends, 33, lengths, 33, table, causal=True, scale=0.2)
    rows = []
    for row, length in enumerate(lengths.tolist()):
        for place in range(length):
            one = q[ends[row] + place][None].float()
            rows.append(
                _attended(one, k.float(), v.float(), torch.tensor([place + 1]), table[row : row + 1].long(), 0.2)
            )
    yield Compared("output", got, torch.cat(rows), 5e-3)


def _scaled(generator: Any, columns: int) -> Cases:
    ours = importlib.import_module("conch.ops.quantization.gemm").scaled_gemm
    reference = importlib.import_module("conch.reference.quantization.scaled_gemm").scaled_gemm
    shapes = (32, 64), (64, columns)
    a, b = (torch.randint(-100, 100, shape, generator=generator, dtype=torch.int8) for shape in shapes)
    scales = torch.rand(32, 1, generator=generator), torch.rand(columns, 1, generator=generator)
    yield Compared("product", ours(a, b, *scales, torch.float32), reference(a, b, *scales, torch.float32), 5e-3)


def case_scaled_gemm(generator: Any) -> Cases:
    yield from _scaled(generator, 128)


def case_scaled_gemm_edge(generator: Any) -> Cases:
    yield from _scaled(generator, 48)


def case_mixed_precision_gemm(generator: Any) -> Cases:
    from conch.ops.quantization.gemm import mixed_precision_gemm

    weights = torch.randint(0, 16, (128, 64), generator=generator, dtype=torch.int32)
    packed = torch.zeros(16, 64, dtype=torch.int32)
    for part in range(8):
        packed |= weights[part::8] << (4 * part)
    scales = torch.rand(1, 64, generator=generator).half() * 0.1
    x = normal(generator, 16, 128, dtype=torch.float16)
    got = mixed_precision_gemm(x, packed, scales, None, 4, 8, 128)
    yield Compared("product", got, x.float() @ ((weights - 8) * scales.float()), 5e-3)
