"""Trainings that torch wraps: mixed precision, checkpoints, several ranks, compiled graphs. Each takes a tape, or some."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import prlx


def blocks(count: int = 2) -> torch.nn.Sequential:
    """A stack of blocks, the same each time."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(*[nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(count)])


def listened(path: str, train: Callable[[], torch.nn.Module]) -> bool:
    """Whether a training comes to the same parameters while its tape is taken as without."""
    without = train()
    with prlx.torch.steps(path) as tape:
        with_tape = train()
    assert tape.failed is None, tape.failed
    return sums(without) == sums(with_tape)


def sums(net: torch.nn.Module) -> list[float]:
    """What the parameters came to."""
    return [float(each.detach().double().sum()) for each in net.parameters()]


def mixed(path: str, scale: str) -> dict[str, Any]:
    """Autocast to bfloat16, and a scaler of gradients that begins with a scale."""
    scales = []

    def train() -> torch.nn.Module:
        net = blocks()
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
        scaler = torch.amp.GradScaler("cpu", init_scale=float(scale))
        for _ in range(3):
            with torch.autocast("cpu", torch.bfloat16):
                loss = 100 * net(torch.ones(4, 16)).square().sum()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        scales.append(scaler.state_dict()["scale"])
        return net

    return {"equal": listened(path, train), "scales": scales}


def checkpointed(path: str, reentrant: str) -> dict[str, Any]:
    """The second block is computed again in the backward pass."""
    from torch.utils.checkpoint import checkpoint

    class Net(torch.nn.Module):
        """Two blocks."""

        def __init__(self) -> None:
            super().__init__()
            self.blocks = blocks()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.blocks[1], self.blocks[0](x), use_reentrant=reentrant == "True")

    def train() -> torch.nn.Module:
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = net(torch.ones(4, 16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return net

    return {"equal": listened(path, train)}


def compiled(path: str) -> dict[str, Any]:
    """A model that torch.compile makes graphs of, whose operators are dispatched one by one."""
    losses = []

    def train() -> torch.nn.Module:
        torch._dynamo.reset()
        net = blocks()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        graph = torch.compile(net, backend="aot_eager")
        for _ in range(3):
            loss = graph(torch.ones(4, 16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return net

    equal = listened(path, train)
    return {"equal": equal, "losses": [float(each) for each in losses]}


def ring_killed(path: str, at: str) -> None:
    """A training whose tape keeps two steps, killed in a step."""
    net = blocks()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with prlx.torch.steps(path, ring=2):
        for step in range(20):
            loss = net(torch.ones(4, 16)).square().mean()
            if step == int(at):
                os.kill(os.getpid(), signal.SIGKILL)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


# several ranks

Case = Callable[[int, int, torch.nn.Module, torch.optim.Optimizer], None]


def ranks(folder: str, how: str, count: str, *names: str) -> dict[str, Any]:
    """Train once for each name in some ranks, and take the tapes of each into a folder of its name.

    Parameters
    ----------
    folder
        Where the folders go.
    how
        ``ddp`` or ``fsdp``.
    count
        How many ranks.
    names
        Of harms of ``apart.py``; those that begin with ``clean`` are right runs.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_rank, (int(count), port, folder, how, names), nprocs=int(count))
    return {"ranks": int(count)}


def _rank(rank: int, count: int, port: int, folder: str, how: str, names: tuple[str, ...]) -> None:
    import apart

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=count)
    for name in names:
        Path(folder, name).mkdir(parents=True, exist_ok=True)
        apart.train(Path(folder, name, "run.tape"), how, apart.HARMS.get(name), rank)
    torch.distributed.destroy_process_group()
