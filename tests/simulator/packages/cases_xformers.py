"""Triton operations of xformers beside what they stand for in torch."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from case import Compared, normal
from stand_ins import bare

bare("xformers", "xformers.ops", "xformers.ops._triton", "xformers.ops.fmha", "xformers.ops.fmha._triton")
bare("xformers.triton")
Cases = Iterator[Compared]


def _module(name: str) -> Any:
    return importlib.import_module(f"xformers.ops.{name}")


def case_rms_norm(generator: Any) -> Cases:
    module = _module("_triton.rmsnorm_kernels")
    x, y, weight = normal(generator, 6, 200), normal(generator, 6, 200), normal(generator, 200)
    yield Compared("norm", module._rms_norm_forward(x, weight, 1e-6), F.rms_norm(x, (200,), weight, 1e-6))
    whole = x + y
    yield Compared("added", module._rms_norm_add_forward(x, y, weight, 1e-6), F.rms_norm(whole, (200,), weight, 1e-6))
    yield Compared("sum", x, whole)


def case_index_select(generator: Any) -> Cases:
    module = _module("_triton.k_index_select_cat")
    source, index = normal(generator, 12, 70), torch.tensor([3, 0, 11, 7])
    out = torch.empty(4, 70)
    module.index_select_cat_fwd(out, source, index)
    yield Compared("selected", out, source[index])
    gradient, upstream = torch.zeros(12, 70), normal(generator, 4, 70)
    module.index_select_cat_bwd(gradient, index, upstream)
    yield Compared("gradient", gradient, torch.zeros(12, 70).index_add(0, index, upstream))


def case_scaled_index_add(generator: Any) -> Cases:
    module = _module("_triton.k_scaled_index_add")
    x, source, scale = normal(generator, 6, 5, 40), normal(generator, 3, 5, 40), normal(generator, 40)
    index = torch.tensor([4, 0, 2])
    want = x.index_add(0, index, source * scale, alpha=0.5)
    module.scaled_index_add_fwd(x, index, source, scale, 0.5)
    yield Compared("added", x, want)
    upstream = normal(generator, 6, 5, 40)
    slope, weight = torch.empty_like(source), torch.empty(3, 5, 40)
    module.scaled_index_add_bwd(upstream, slope, weight, source, scale, index, 0.5)
    yield Compared("gradient of the source", slope, 0.5 * upstream[index] * scale)
    yield Compared("gradient of the scale", weight, 0.5 * upstream[index] * source)


def case_tiled_matmul(generator: Any) -> Cases:
    module = _module("_triton.tiled_matmul_kernels")
    _module("_triton.matmul_perf_model").get_clock_rate_in_khz = lambda: 1_410_000  # it asks the driver
    ms, ns, ks = [32, 16], [16, 32, 32], [32, 64]
    a = [[normal(generator, m, k, dtype=torch.float16) for k in ks] for m in ms]
    b = [[normal(generator, k, n, dtype=torch.float16) for n in ns] for k in ks]
    out = [[torch.empty(m, n, dtype=torch.float16) for n in ns] for m in ms]
    module._launch_triton_matmul(a, b, out, ms, ns, ks)
    for row, ours in enumerate(out):
        for column, got in enumerate(ours):
            want = sum(a[row][k].float() @ b[k][column].float() for k in range(2))
            yield Compared(f"tile {row}, {column}", got, want, 5e-3)


def _strides(tensor: Any, *names: str) -> dict[str, int]:
    return {f"stride_{name}": tensor.stride(place) for place, name in enumerate(names)}


def case_merge_splits(generator: Any) -> Cases:
    module = _module("fmha._triton.splitk_kernels")
    parts, sums = normal(generator, 2, 1, 3, 4, 5, 32), normal(generator, 2, 1, 3, 4, 5)
    out, whole = torch.empty(2, 5, 1, 3, 32), torch.empty(2, 1, 3, 5)
    module._splitK_reduce[(5, 6, 1)](
        parts, sums, out, whole, split_k=4, splitK_pow2=4, head_dim=32, head_dim_pow_2=32, G=1, H=3, WRITE_LSE=True,
        **_strides(parts, "osk_z", "osk_g", "osk_h", "osk_s", "osk_m", "osk_k"),
        **_strides(sums, "lsek_z", "lsek_g", "lsek_h", "lsek_s", "lsek_m"),
        **_strides(out, "oz", "om", "og", "oh", "ok"), **_strides(whole, "lse_z", "lse_g", "lse_h", "lse_m"),
        num_warps=2,
    )  # fmt: skip
    total = sums.logsumexp(3)
    want = (parts * (sums - total[:, :, :, None]).exp()[..., None]).sum(3)
    yield Compared("sums", whole, total)
    yield Compared("output", out, want.permute(0, 3, 1, 2, 4))


def case_rope_padded(generator: Any) -> Cases:
    kernel = _module("_triton.rope_padded_kernels")._rope_padded_kernel
    q, k, v = (normal(generator, 1, 7, heads, 32) for heads in (4, 2, 2))
    queries, keys = torch.tensor([0, 3, 7], dtype=torch.int32), torch.tensor([0, 8, 24], dtype=torch.int32)
    lengths = torch.tensor([5, 10], dtype=torch.int32)
    cache_k, cache_v, out = torch.zeros(1, 24, 2, 32), torch.zeros(1, 24, 2, 32), torch.empty_like(q)
    kernel[(4, 2, 8)](
        q, k, v, out, cache_k, cache_v, queries, keys, lengths, 10000.0, 1.0, False, 0, 0, 0, 0, None, None, 4, 6, 1,
        32, q.stride(1), 0, q.stride(2), k.stride(1), 0, k.stride(2), v.stride(1), 0, v.stride(2), cache_k.stride(1),
        0, cache_k.stride(2), cache_v.stride(1), 0, cache_v.stride(2), queries.stride(0), keys.stride(0),
        lengths.stride(0), out.stride(1), 0, out.stride(2), 0, "f32", const_batch_strides=False, cache_padding_length=0,
        seqlenk_shift=0, BLOCK_SIZE=128, adjacents=True, num_warps=1,
    )  # fmt: skip
    turn = 10000.0 ** (-torch.arange(0, 32, 2) / 32)
    for batch in range(2):
        count = int(queries[batch + 1] - queries[batch])
        first = int(lengths[batch]) - count
        for number in range(count):
            angle = (first + number) * turn
            row = int(queries[batch]) + number
            for got, source in ((out[0, row], q), (cache_k[0, int(keys[batch]) + first + number], k)):
                pairs = source[0, row].unflatten(-1, (-1, 2))
                want = torch.stack(
                    (
                        pairs[..., 0] * angle.cos() - pairs[..., 1] * angle.sin(),
                        pairs[..., 0] * angle.sin() + pairs[..., 1] * angle.cos(),
                    ),
                    -1,
                ).flatten(-2)
                yield Compared(f"row {row}", got, want, 1e-3)
            yield Compared(f"value {row}", cache_v[0, int(keys[batch]) + first + number], v[0, row])
