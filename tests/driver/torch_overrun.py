"""A kernel that reads beyond a tensor with neighbours: prlx simulate -- python tests/driver/torch_overrun.py."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at) + tl.load(y + at, at < n, other=0)  # without its mask
    tl.store(out + at, total, at < n)


x, y = torch.rand(1023, device="cuda"), torch.rand(1023, device="cuda")
out = torch.empty_like(x)
add[(1,)](x, y, out, 1023, BLOCK=1024)
