"""Measures what it costs to listen to a training: everything taken, modules alone, one step in 50, and the monitor.

  python bench/steps.py            about three minutes
  python bench/steps.py --quick    one try of each: shows that everything here still runs

The model is six blocks of linear, gelu, dropout, linear and norm, trained by AdamW with one thread. The same steps run in turn
without anything, with PyTorch's own DebugMode and its hashes of inputs and outputs, and with each way of listening, in one
process. A figure is the least processor time of several rounds by the least of clean steps. The first step of a tape, which
describes each place, is a figure of its own. torch is taken from build/torch (`make build/torch/.ready`).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from time import process_time
from typing import Any

import inputs

TORCH = inputs.REPOSITORY / "build" / "torch"
BATCHES = (32, 1024)
SHARE, MODULES, EVERY, MONITOR = 0.7, 1.3, 1.1, 1.02  # what was promised


def trainer(batch: int) -> Callable[[int, Callable[[Any], object]], float]:
    """A function that trains for some steps, tells each loss, and returns the processor time of a step in ms."""
    import torch

    nn = torch.nn
    torch.set_num_threads(1)
    torch.manual_seed(0)
    blocks = [
        nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 128), nn.LayerNorm(128))
        for _ in range(6)
    ]
    net = nn.Sequential(*blocks)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x = torch.randn(batch, 128)

    def train(steps: int, tell: Callable[[Any], object]) -> float:
        begin = process_time()
        for _ in range(steps):
            loss = (net(x) - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            tell(loss)
            optimizer.step()
        return 1e3 * (process_time() - begin) / steps

    train.net = net  # type: ignore[attr-defined]
    return train


def debug_mode() -> AbstractContextManager[Any]:
    """PyTorch's own mode, with hashes of what operators get and make."""
    from torch.utils._debug_mode import DebugMode

    stack = contextlib.ExitStack()
    stack.enter_context(DebugMode())
    stack.enter_context(DebugMode.log_tensor_hashes(hash_inputs=True))
    return stack


def measure(folder: Path, batch: int, rounds: int, few: int, many: int) -> dict[str, list[float]]:
    """Milliseconds of a step, by way of listening, round by round."""
    import prlx

    train = trainer(batch)
    first: list[float] = []
    tape = folder / "a.tape"

    def nobody(_loss: Any) -> None:
        return None

    def listened(steps: int, **how: Any) -> float:
        with prlx.torch.steps(tape, overwrite=True, **how):
            first.append(train(1, nobody))
            return train(steps, nobody)

    def debugged() -> float:
        with debug_mode():
            return train(few, nobody)

    def monitored() -> float:
        with prlx.TrainingMonitor(folder / "watched", model=train.net, overwrite=True) as monitor:  # type: ignore[attr-defined]
            return train(many, monitor.step)

    ways: dict[str, Callable[[], float]] = {
        "clean": lambda: train(few, nobody),
        "debug": debugged,
        "operators": lambda: listened(few),
        "modules": lambda: listened(few, level="modules"),
        "clean many": lambda: train(many, nobody),
        "every": lambda: listened(many, every=50),
        "monitor": monitored,
    }
    found: dict[str, list[float]] = {name: [] for name in (*ways, "first")}
    for number in range(rounds + 1):
        for name, way in ways.items():
            first.clear()
            took = way()
            if number:  # the first warms up
                found[name].append(took)
                found["first"] += first if name == "operators" else []
    return found


def ratio(over: list[float], under: list[float]) -> float:
    """The quotient of the least of the rounds."""
    return min(over) / min(under)


def report(batch: int, found: dict[str, list[float]]) -> None:
    """Print the figures of a batch beside what was promised."""
    clean, many = found["clean"], found["clean many"]
    share = (min(found["operators"]) - min(clean)) / (min(found["debug"]) - min(clean))
    print(f"batch {batch}: a clean step takes {min(clean):.2f} ms")
    print(f"  DebugMode with hashes of inputs  {ratio(found['debug'], clean):6.2f} x")
    print(f"  everything taken                 {ratio(found['operators'], clean):6.2f} x")
    print(f"  its first step                   {ratio(found['first'], clean):6.2f} x")
    print(f"  what that adds by DebugMode's    {share:6.2f}     (promised {SHARE})")
    print(f"  modules                          {ratio(found['modules'], clean):6.2f} x   (promised {MODULES} at 1,024)")
    print(f"  one step in 50                   {ratio(found['every'], many):6.2f} x   (promised {EVERY})")
    print(
        f"  the monitor alone                {ratio(found['monitor'], many):6.3f} x  (promised {MONITOR})", flush=True
    )


def main() -> None:
    """Run the measurements in a process that finds torch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one try of each")
    parser.add_argument("--batch", type=int, choices=BATCHES, help="only this one")
    given = parser.parse_args()
    if os.environ.get("PYTHONPATH") != str(TORCH):
        if not (TORCH / "stubs").is_dir():
            print(f"bench/steps.py: no torch under {TORCH}: make build/torch/.ready installs it")
            return
        environment = {**os.environ, "PYTHONPATH": str(TORCH), "LD_LIBRARY_PATH": str(TORCH / "stubs")}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode)
    for batch in BATCHES if given.batch is None else (given.batch,):
        with tempfile.TemporaryDirectory() as folder:
            sizes = (1, 1, 2) if given.quick else (5, 3, 50)
            report(batch, measure(Path(folder), batch, *sizes))


if __name__ == "__main__":
    main()
