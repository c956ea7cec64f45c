"""Thirty clean runs: five architectures, six seeds, small batches, as people train them. Prints the anomalies of each.

    python tests/training/quiet.py FOLDER

The task of each is learnt: classes of blobs, stripes, sums of sequences, copies, bags of words. Nothing is wrong in any.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from torch import nn

import prlx

STEPS, SEEDS = 200, 6


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.out = nn.LSTM(4, 16, batch_first=True), nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.cells(x)[0][:, -1]).squeeze(1)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(12, 16), nn.Parameter(torch.zeros(8, 16))
        self.layer, self.out = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True), nn.Linear(16, 12)

    def forward(self, x):
        return self.out(self.layer(self.words(x) + self.places)).transpose(1, 2)


def perceptron(n):
    kind = torch.randint(4, (n,))
    return torch.randn(n, 8) + 2 * torch.eye(8)[kind], kind


def stripes(n):
    kind = torch.randint(2, (n,))
    wave = torch.sin(torch.arange(8.0) * 1.5)
    both = torch.stack((wave[:, None].expand(8, 8), wave[None].expand(8, 8)))
    return both[kind][:, None] + torch.randn(n, 1, 8, 8), kind


def sums(n):
    x = torch.randn(n, 6, 4)
    return x, x.sum((1, 2)) / 4


def copies(n):
    x = torch.randint(12, (n, 8))
    return x, x.flip(1)


def bags(n):
    x = torch.randint(50, (n, 10))
    return x, (x < 25).float().mean(1).gt(0.5).long()


KINDS = {
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)),
        perceptron,
        nn.functional.cross_entropy,
    ),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2)),
        stripes,
        nn.functional.cross_entropy,
    ),
    "recurrent": (Recurrent, sums, nn.functional.mse_loss),
    "transformer": (Transformer, copies, nn.functional.cross_entropy),
    "bag": (lambda: nn.Sequential(nn.EmbeddingBag(50, 8), nn.Linear(8, 2)), bags, nn.functional.cross_entropy),
}


def run(folder, kind, seed):
    """The anomalies of a run, with batches of 2 to 64."""
    make, draw, measure = KINDS[kind]
    torch.manual_seed(seed)
    net, batch = make(), 2 << seed
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    with prlx.TrainingMonitor(folder, model=net) as monitor:
        for _ in range(STEPS):
            x, y = draw(batch)
            loss = measure(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            monitor.step(loss.item())
    return [f"{each.kind} at step {each.step}: {each.value}, limit {each.limit}" for each in monitor.anomalies]


def main(folder):
    torch.set_num_threads(1)
    found = {
        f"{kind} {seed}": run(Path(folder) / f"{kind}{seed}", kind, seed) for kind in KINDS for seed in range(SEEDS)
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
