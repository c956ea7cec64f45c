"""A script of somebody who has a GPU: nothing here knows of prlx. Prints what the test compares, as one JSON object.

    prlx simulate -- python tests/driver/torch_training.py [cpu]

With ``cpu`` the same on the CPU, which is what results are compared with.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

DEVICE = "cpu" if "cpu" in sys.argv else "cuda"


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(32)
        self.attention = torch.nn.MultiheadAttention(32, 4, batch_first=True)
        self.up = torch.nn.Linear(32, 64)
        self.down = torch.nn.Linear(64, 32)

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(functional.gelu(self.up(x)))


def model():
    torch.manual_seed(0)
    layers = torch.nn.Sequential(Block(), Block(), torch.nn.Flatten(), torch.nn.Linear(320, 5))
    return layers.to(DEVICE)


def batches():
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(16, 10, 32), torch.randint(5, (16,)))
    return torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=DEVICE == "cuda")


def trained(half):
    """Losses of training in fp32, or with autocast and a scaler."""
    net, losses = model(), []
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(DEVICE, enabled=half)
    for x, y in batches():
        x, y = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=half):
            hidden = checkpoint(net[0], x, use_reentrant=False)
            loss = functional.cross_entropy(net[1:](hidden).float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses


def recurrent():
    """Sums of results and gradients of what cuDNN does elsewhere."""
    sums = []
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        torch.manual_seed(2)
        net, x = kind(8, 16, 2, batch_first=True, bidirectional=True), torch.randn(3, 5, 8)
        net, x = net.to(DEVICE), x.to(DEVICE).requires_grad_()
        out = net(x)[0]
        out.square().sum().backward()
        sums += [out.abs().sum().item(), x.grad.abs().sum().item()]
    convolutions = (torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.Conv2d(8, 8, 3, groups=8))
    net = torch.nn.Sequential(*convolutions)
    torch.manual_seed(3)
    x = torch.randn(2, 3, 8, 8)
    for parameter in net.parameters():
        parameter.data = torch.randn_like(parameter)
    out = net.to(DEVICE)(x.to(DEVICE))
    out.square().sum().backward()
    return [*sums, out.abs().sum().item(), *(one.grad.abs().sum().item() for one in net.parameters())]


def saved():
    with tempfile.TemporaryDirectory() as folder:
        net = model()
        torch.save(net.state_dict(), Path(folder) / "net.pt")
        back = torch.load(Path(folder) / "net.pt")
        kept = net.state_dict().items()
        return all(torch.equal(back[name], value) and back[name].device == value.device for name, value in kept)


def rounded():
    """How far the gradient of a weight of halves, a sum over 1,024 rows, is from that in fp64."""
    torch.manual_seed(4)
    x, along = (torch.randn(1024, 512, dtype=torch.float16) for _ in range(2))
    found = []
    half, exact = torch.nn.LayerNorm(512).half().cuda(), torch.nn.LayerNorm(512).double()
    for net, to in ((half, {"device": "cuda"}), (exact, {"dtype": torch.double})):
        net(x.to(**to).requires_grad_()).backward(along.to(**to))
        found.append(net.weight.grad.double().cpu())
    return (found[0] - found[1]).abs().max().item()


def own():
    """What the device has of its own: streams, a generator, threads, halves."""
    torch.cuda.manual_seed(3)
    first, state = torch.rand(5, device="cuda"), torch.cuda.get_rng_state()
    second = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    again = torch.rand(5, device="cuda")
    torch.manual_seed(1)
    host = torch.rand(1)
    torch.manual_seed(1)
    functional.dropout(torch.ones(10, device="cuda"))
    apart = torch.equal(host, torch.rand(1))
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(stream):
        there = torch.ones(3, device="cuda") * 2
        event.record()
    event.synchronize()
    seen = []
    thread = threading.Thread(target=lambda: seen.append((there + 1).tolist()))
    thread.start()
    thread.join()
    grown = torch.empty(0, device="cuda")
    torch.add(there, 1, out=grown)
    strided = torch.zeros(4, 4, device="cuda")
    strided[:, 1] = 3
    strided.t()[2].add_(5)
    a, b = torch.randn(64, 512, dtype=torch.float16), torch.randn(512, 64, dtype=torch.float16)
    exact = a.double() @ b.double()
    product = a.cuda() @ b.cuda()
    off = ((product.cpu().double() - exact).abs() / exact.abs().clamp(min=1)).max().item()
    try:
        torch.ops.aten._flash_attention_forward(product, product, product, None, None, 1, 1, 0.0, False, False)
        refused = ""
    except NotImplementedError as error:
        refused = str(error)
    return {
        "random": [torch.equal(second, again), not torch.equal(first, second), apart],
        "thread": seen,
        "grown": grown.tolist(),
        "strided": strided.sum().item(),
        "half": [str(product.dtype), off, str(a.cuda().softmax(-1, dtype=torch.float32).dtype)],
        "rounded": rounded(),
        "refused": refused,
        "name": torch.cuda.get_device_name(),
        "shown": repr(there),
    }


def main():
    document = {"fp32": trained(False), "bf16": trained(True), "recurrent": recurrent(), "saved": saved()}
    if DEVICE == "cuda":
        document["own"] = own()
    if "compile" in sys.argv:
        net, x = model(), torch.randn(2, 10, 32).to(DEVICE)
        net(x).square().mean().backward()
        plain = [one.grad.clone() for one in net.parameters()]
        net.zero_grad()
        torch.compile(net)(x).square().mean().backward()
        document["compiled"] = [
            torch.allclose(a, b.grad, atol=1e-4) for a, b in zip(plain, net.parameters(), strict=True)
        ]
    print(json.dumps(document))


if __name__ == "__main__":
    main()
