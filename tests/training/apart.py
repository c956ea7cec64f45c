"""Ways in which the ranks of one run fall apart, and what a comparison of their tapes has to say first.

The list was written, with its answers, before anything compared ranks. Memory is changed through NumPy, so that no operator of
torch says so. Rank 1 is harmed, where not all are. An answer is step, parameter, kind and the tensor of the operator that
differs first; and whether it can be told with two ranks alone which of the two it is. With more ranks the others agree, so it
can be told always, except where each rank went its own way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

import prlx

STEPS = 4


@dataclass(frozen=True)
class Harm:
    """What is done, and the expected answer."""

    step: int
    module: str
    kind: str
    tensor: str
    told: bool = True  # by two ranks alone, which one it is
    own: bool = False  # each rank goes its own way
    sharded: bool = False  # FSDP2 shows it as well
    before: Callable[..., None] | None = None  # each step: number, net, optimizer
    backward: Callable[..., None] | None = None  # between backward and the optimizer
    skips: int = -1  # the optimizer's step that is left out
    alone: int = -1  # the step whose gradients are not reduced, on any rank


def flip(tensor: torch.Tensor, index: int = 0) -> None:
    """Flip the lowest bit of an element."""
    tensor.detach().numpy().reshape(-1).view(numpy.uint32)[index] ^= 1


def at(number: int, do: Callable[..., Any]) -> Callable[..., None]:
    """Do something in one step."""

    def act(step: int, *given: Any) -> None:
        if step == number:
            do(*given)

    return act


def named(net: Any, name: str) -> Any:
    """A parameter by its name in the model."""
    return dict(getattr(net, "module", net).named_parameters())[name]


def _group(**changed: Any) -> Callable[..., None]:
    return lambda _net, optimizer: optimizer.param_groups[0].update(changed)


def _state(name: str, part: str, change: Callable[[Any], None]) -> Callable[..., None]:
    return lambda net, optimizer: change(optimizer.state[named(net, name)][part])


def _one_more(count: torch.Tensor) -> None:
    count.numpy()[...] += 1


def _shrink(net: Any, _optimizer: Any) -> None:
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)


HARMS = {
    "weight": Harm(2, "0.2.weight", "input", "self", before=at(2, lambda net, _: flip(named(net, "0.2.weight"), 5))),
    "initial": Harm(
        0, "0.0.weight", "input", "self", told=False, before=at(0, lambda net, _: flip(named(net, "0.0.weight")))
    ),
    "gradient": Harm(
        1, "0.0.bias", "input", "end", backward=at(1, lambda net, _: flip(named(net, "0.0.bias").grad, 3))
    ),
    "moment": Harm(2, "1.0.weight", "input", "self", before=at(2, _state("1.0.weight", "exp_avg", flip))),
    "count": Harm(2, "0.0.bias", "input", "self", sharded=True, before=at(2, _state("0.0.bias", "step", _one_more))),
    "rate": Harm(1, "0.0.weight", "arguments", "", sharded=True, before=at(1, _group(lr=0.01 * (1 + 1e-7)))),
    "betas": Harm(1, "0.0.weight", "arguments", "", sharded=True, before=at(1, _group(betas=(0.8, 0.999)))),
    "skipped": Harm(2, "0.0.weight", "missing", "", sharded=True, skips=2),
    "clipped": Harm(1, "0.0.weight", "input", "end", told=False, backward=at(1, _shrink)),
    "unreduced": Harm(2, "0.0.weight", "input", "end", told=False, own=True, alone=2),
}


def train(path: Path, how: str, harm: Harm | None, rank: int) -> None:
    """Train with a tape in a rank, harmed or not; each rank has batches and a dropout of its own."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nn = torch.nn
    net: Any = nn.Sequential(
        *[nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16), nn.Dropout(0.1)) for _ in range(2)]
    )
    if how == "ddp":
        net = nn.parallel.DistributedDataParallel(net)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
        for block in net:
            fully_shard(block, mesh=mesh)
        fully_shard(net, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    torch.manual_seed(100 + rank)
    harmed = harm is not None and rank == 1
    with prlx.torch.steps(path, overwrite=True) as tape:
        for step in range(STEPS):
            tape.begin_step()
            if harmed and harm.before is not None:
                harm.before(step, net, optimizer)
            alone = harm is not None and harm.alone == step
            with net.no_sync() if alone else contextlib.nullcontext():
                x = torch.randn(4, 16)
                optimizer.zero_grad()
                (net(x) - x).square().mean().backward()
            if harmed and harm.backward is not None:
                harm.backward(step, net, optimizer)
            if not (harmed and harm.skips == step):
                optimizer.step()
