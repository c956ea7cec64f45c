"""Products of gemlite with packed weights, one for each of its ways to divide the work, beside products with whole weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from case import Compared, normal
from stand_ins import absent

absent("tqdm", tqdm=iter)
Cases = Iterator[Compared]
GROUP = 64


def _product(generator: Any, way: str, rows: int, bits: int) -> Cases:
    from gemlite.core import DType, GemLiteLinearTriton

    inner, outer = 256, 128
    weights = torch.randint(0, 1 << bits, (outer, inner), generator=generator, dtype=torch.uint8)
    scales = torch.rand(outer * inner // GROUP, 1, generator=generator).half() * 0.1
    zeros = torch.randint(0, 1 << bits, (outer * inner // GROUP, 1), generator=generator).half()
    layer = GemLiteLinearTriton(bits, GROUP, inner, outer, DType.FP16, DType.FP16)
    layer.pack(weights.clone(), scales.clone(), zeros.clone(), None)
    x = normal(generator, rows, inner, scale=0.1, dtype=torch.float16)
    whole = ((weights.view(-1, GROUP).float() - zeros.float()) * scales.float()).view(outer, inner)
    yield Compared("product", layer.forward_manual(x, matmul_type=way), x.float() @ whole.T, 1e-2)


def case_gemm(generator: Any) -> Cases:
    yield from _product(generator, "GEMM", 20, 4)


def case_gemm_8_bits(generator: Any) -> Cases:
    yield from _product(generator, "GEMM", 20, 8)


def case_gemm_2_bits(generator: Any) -> Cases:
    yield from _product(generator, "GEMM", 20, 2)


def case_gemm_split_k(generator: Any) -> Cases:
    yield from _product(generator, "GEMM_SPLITK", 10, 4)


def case_gemv(generator: Any) -> Cases:
    from gemlite.triton_kernels import gemv_kernels

    gemv_kernels.fp4_mapping = {
        None: gemv_kernels.fp4_mapping[0]
    }  # by the number of a device, which the CPU has none of
    yield from _product(generator, "GEMV", 1, 4)


def case_gemv_split_k(generator: Any) -> Cases:
    yield from _product(generator, "GEMV_SPLITK", 1, 4)


def case_gemv_rev_split_k(generator: Any) -> Cases:
    yield from _product(generator, "GEMV_REVSPLITK", 1, 4)
