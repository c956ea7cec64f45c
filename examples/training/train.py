"""A small training with a tape: ``python train.py good.tape`` and ``python train.py bad.tape --bad``.

The bad one takes the logarithm of a number that has become negative, from the third step on.
"""

import sys

import torch

import prlx.torch


class Energy(torch.nn.Module):
    """The logarithm of a positive number, where the shift keeps it positive."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = 1.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Squash, shift, take the logarithm."""
        return (x.tanh() + self.shift).log()


def train(path: str, bad: bool) -> None:
    """Train for four steps and write a tape."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.1), Energy(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batches = torch.randn(4, 16, 8)
    with prlx.torch.steps(path):
        for step, batch in enumerate(batches):
            if bad and step == 2:
                model[2].shift = 0.2
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    train(sys.argv[1], "--bad" in sys.argv)
