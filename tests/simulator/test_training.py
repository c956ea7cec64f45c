"""Training code that says device="cuda", with torch (``make corpus`` installs it): each check, and a script as a whole."""

from __future__ import annotations

import json
import os
import re
from functools import cache

import pytest

from .conftest import HERE, python, require, torch_environment

CHECKS = re.findall(r"^def (check_\w+)", (HERE / "training_checks.py").read_text(), re.MULTILINE)

SCRIPT = """
import sys
import torch
import triton
import triton.language as tl
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


@triton.jit
def scale(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def doubled(x):
    if x.device.type == "cpu" and device == "cpu":
        return x * 2
    o = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, o, x.numel(), BLOCK=256)
    return o


device = sys.argv[1]
torch.manual_seed(3)
data = TensorDataset(torch.randn(64, 8), torch.randint(0, 4, (64,)))
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler(device)
for x, y in DataLoader(data, batch_size=16, num_workers=1, pin_memory=device == "cuda"):
    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(checkpoint(model, doubled(x), use_reentrant=False).float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(f"loss {loss.item():.6f}")
if device == "cuda":
    torch.cuda.synchronize()
"""

pytestmark = pytest.mark.skipif(not os.environ.get("PRLX_TRITON_ALL"), reason="make corpus runs it: torch is large")


@cache
def results(version: str) -> dict[str, str | None]:
    """What became of every check."""
    folder = require(version)
    done = python(folder, HERE / "training_checks.py", **torch_environment(folder))
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("check", [*CHECKS, "restored"])
def test_training(check):
    problem = results("3.9.0")[check]
    assert problem is None, problem


def test_a_script_trains_as_on_the_cpu(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    folder = require("3.9.0")
    mapped = python(
        folder, "-m", "prlx", "simulate", "--map-cuda", "train.py", "cuda", cwd=tmp_path, **torch_environment(folder)
    )
    assert mapped.returncode == 0, mapped.stderr
    plain = python(folder, "train.py", "cpu", cwd=tmp_path, **torch_environment(folder))
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.count("loss") == 4
    assert mapped.stdout.startswith(plain.stdout + "1 kernel, 4 launches, "), mapped.stdout
