"""Small trainings whose tapes the tests look at: ``python programs.py NAME ARGUMENT...`` prints what the function returns."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

import torch

import prlx


def model(layers: int = 3) -> torch.nn.Module:
    """A stack of blocks with dropout, the same each time."""
    torch.manual_seed(0)
    block = torch.nn.Sequential
    return block(
        *[
            block(
                torch.nn.Linear(16, 32),
                torch.nn.GELU(),
                torch.nn.Dropout(0.1),
                torch.nn.Linear(32, 16),
                torch.nn.LayerNorm(16),
            )
            for _ in range(layers)
        ]
    )


def train(steps: int = 3, optimizer: str = "AdamW", before=None) -> float:
    """Train for some steps; ``before`` is called with the number of each step."""
    net = model()
    opt = getattr(torch.optim, optimizer)(net.parameters(), lr=1e-2)
    torch.manual_seed(1)
    x = torch.randn(8, 16)
    loss = x.sum()
    for step in range(steps):
        if before is not None:
            before(step)
        loss = (net(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return float(loss)


def plain(path: str, level: str = "operators", steps: str = "3", every: str = "1", ring: str = "0") -> dict:
    """A tape of some steps, and whether the training computed what it does without one."""
    torch.set_num_threads(1)
    without = train(int(steps))
    with prlx.torch.steps(path, level=level, every=int(every), ring=int(ring) or None) as tape:
        loss = train(int(steps))
    return {
        "equal": loss == without,
        "operators": tape.operators,
        "text": repr(tape),
        "skipped": dict(tape._listener.skipped),
    }


class Between(torch.nn.Module):
    """Changes in place what one module made before another gets it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.first(x)
        with torch.no_grad():
            made[3, 3] = float("nan")
        return self.second(made)


def between(path: str) -> None:
    """A tape of modules of which one gets something else than the other made."""
    torch.manual_seed(0)
    net = Between()
    with prlx.torch.steps(path, level="modules"), torch.no_grad():
        net(torch.ones(64, 64))


def spared() -> dict:
    """Which tensors of a record are said to be unchanged."""
    from prlx.hooks.tensors import INPUT, UNCHANGED, Record, Tensors

    tensors = Tensors(torch)

    def marked(*given: torch.Tensor) -> list:
        record = Record("", "", "", 0)
        tensors.add(record, INPUT, [("x", each) for each in given])
        tensors.spare(record)
        return [each & UNCHANGED > 0 for each in record.addresses]

    x = torch.ones(64, 64)
    found = {"new": marked(x), "again": marked(x, x), "view": marked(x.view(-1))}
    x.view(-1).add_(1)
    found |= {"changed": marked(x), "twice": marked(x)}
    tensors.forget()
    found["next step"] = marked(x)
    with torch.inference_mode():
        y = torch.ones(64, 64)
    found["inference"] = marked(y) + marked(y)
    return found


def nothing_is_left(path: str) -> dict:
    """What of torch is different during and after a tape."""
    from torch.nn.modules import module as hooks
    from torch.optim import optimizer as optim

    places = {
        "pre": hooks._global_forward_pre_hooks,
        "post": hooks._global_forward_hooks,
        "before": optim._global_optimizer_pre_hooks,
        "after": optim._global_optimizer_post_hooks,
    }

    def counts() -> dict[str, int]:
        modes = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
        return {name: len(place) for name, place in places.items()} | {"modes": len(modes)}

    first = counts()
    with prlx.torch.steps(path):
        during = counts()
        train(1)
    after = counts()
    try:
        with prlx.torch.steps(path + "2"):
            raise KeyError("of the user")
    except KeyError:
        pass
    return {"before": first, "during": during, "after": after, "failed": counts()}


def killed(path: str, at: str) -> None:
    """A training that is killed in a step."""

    def before(step: int) -> None:
        if step == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    with prlx.torch.steps(path):
        train(10, before=before)


def full(path: str) -> dict:
    """A tape whose file system refuses: the training goes on."""
    import resource
    import warnings

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        without = train(4)
        failed = None
        try:
            with prlx.torch.steps(path) as tape:
                loss = train(4)
        except prlx.PrlxError as error:
            failed = str(error)
    return {
        "equal": loss == without,
        "warned": [str(each.message) for each in said],
        "failed": failed,
        "tape": tape.failed,
    }


def by_hand(path: str) -> dict:
    """Steps that the program says: two optimizers in each, and gradients of two batches."""
    net, other = model(1), model(1)
    first = torch.optim.SGD(net.parameters(), lr=0.1)
    second = torch.optim.SGD(other.parameters(), lr=0.1)
    x = torch.ones(4, 16)
    with prlx.torch.steps(path) as tape:
        for _ in range(3):
            tape.begin_step()
            for _ in range(2):
                net(x).square().mean().backward()
            first.step()
            other(x).square().mean().backward()
            second.step()
    return {"number": tape.step_number}


def two_optimizers(path: str) -> dict:
    """Two optimizers, one after the other, are one step."""
    net = model(2)
    optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in net]
    x = torch.ones(4, 16)
    with prlx.torch.steps(path) as tape:
        for _ in range(3):
            net(x).square().mean().backward()
            for each in optimizers:
                each.step()
    return {"number": tape.step_number}


def by_closure(path: str, level: str) -> dict:
    """An optimizer that is given a function which computes the loss and its gradients, as Lightning's trainer does."""
    net = model(2)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x = torch.ones(4, 16)

    def closure() -> torch.Tensor:
        opt.zero_grad()
        loss = net(x).square().mean()
        if tape.step_number == 1:
            loss = loss.sub(1e9).log()  # makes NaN too
        loss.backward()
        return loss

    with prlx.torch.steps(path, level=level) as tape:
        for _ in range(3):
            opt.step(closure)
    return {"number": tape.step_number}


def not_finite(path: str) -> float:
    """A logarithm of a negative number in one module, in the third step."""

    class Log(torch.nn.Module):
        """Makes NaN where its input is negative."""

        def __init__(self) -> None:
            super().__init__()
            self.shift = 5.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + self.shift).log()  # makes NaN

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sigmoid(), Log(), torch.nn.Linear(4, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    with prlx.torch.steps(path):
        for step in range(4):
            if step == 2:
                net[2].shift = -0.9
            loss = net(torch.ones(2, 4)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    return float(loss.isnan())


def monitored(folder: str, ring: str) -> dict:
    """A training that goes wrong in its sixth step, watched."""
    torch.set_num_threads(1)

    def train_watched(monitor, bad: bool) -> list:
        net = model(2)
        opt = torch.optim.SGD(net.parameters(), lr=1e-2)
        torch.manual_seed(1)
        x = torch.randn(8, 16)
        for step in range(10):
            y = net(x)
            loss = ((y - x).square() if step != 6 or not bad else (y - x - 9).log()).mean()
            opt.zero_grad()
            loss.backward()
            if monitor is not None:
                monitor.step(loss)
            opt.step()
        return [float(p.detach().sum()) for p in net.parameters()]

    with prlx.TrainingMonitor(folder, ring=int(ring) or None) as monitor:
        train_watched(monitor, True)
    with prlx.TrainingMonitor(folder + "-clean", ring=int(ring) or None) as clean:
        watched = train_watched(clean, False)
    equal = watched == train_watched(None, False)
    return {"kinds": [each.kind for each in monitor.anomalies], "clean": len(clean.anomalies), "equal": equal}


def replayed(folder: str, differently: str) -> dict:
    """A training that goes wrong in its eighth step, and that step run again in objects of other values."""
    torch.set_num_threads(1)

    def parts(seed: int) -> dict:
        net = model(2)
        opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
        torch.manual_seed(seed)
        return {"net": net, "opt": opt, "schedule": torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)}

    def trainer(parts: dict, monitor=None):
        def step(batch: dict):
            y = parts["net"](batch["x"])
            loss = (y.abs() + batch["shift"]).log().mean()
            parts["opt"].zero_grad()
            loss.backward()
            if monitor is not None:
                monitor.step(loss)
            parts["opt"].step()
            parts["schedule"].step()
            return loss

        return step

    first = parts(1)
    with prlx.TrainingMonitor(folder, snapshot=first, snapshot_every=3, loss_threshold=100) as monitor:
        step = trainer(first, monitor)
        for number in range(8):
            batch = {"x": torch.randn(8, 16), "shift": -5.0 if number == 7 else 1.0}
            monitor.begin(batch)
            step(batch)
    second = parts(2)
    with torch.no_grad():
        for each in second["net"].parameters():
            each.fill_(0.5)
    again = trainer(second)

    def otherwise(batch: dict):
        torch.rand(1)
        return again(batch)

    found = prlx.torch.replay(f"{folder}/step_7.replay", otherwise if differently == "True" else again, second)
    sums = [[float(each.nan_to_num().sum()) for each in part["net"].parameters()] for part in (first, second)]
    return {
        "anomalies": [(each.step, each.kind, each.replay) for each in monitor.anomalies],
        "bytes": monitor.snapshot_bytes,
        "saved": sum(each.numel() * 4 for each in first["net"].parameters()) * 3,
        "reproduced": found.reproduced,
        "step": found.step,
        "tape": str(found.tape),
        "maker": found.maker,
        "text": found.text,
        "equal": sums[0] == sums[1],
    }


def debug_mode(path: str, rate: str) -> int:
    """The log of torch's own DebugMode of a step."""
    from torch.utils._debug_mode import DebugMode

    torch.set_num_threads(1)
    net = model(2)
    torch.manual_seed(1)
    net[1][2].p = float(rate)
    with DebugMode(record_nn_module=True) as debug, DebugMode.log_tensor_hashes(hash_inputs=True):
        net(torch.ones(4, 16)).square().mean().backward()
    DebugMode.save_logs(debug.logs, path)
    return len(debug.logs)


if __name__ == "__main__":
    place, _, called = sys.argv[1].rpartition(".")
    print(json.dumps(getattr(importlib.import_module(place or "__main__"), called)(*sys.argv[2:])))
