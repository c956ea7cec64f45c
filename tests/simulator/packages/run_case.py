"""Run cases of one package on the simulator and print what became of each as a line of JSON.

``python run_case.py FOLDER MODULE [CASE...] [--configs N]`` with Triton and torch importable; FOLDER is what ``install.py``
filled. Without a case it lists them. With ``--over driver`` Triton's own driver launches, over the CUDA driver that the process
finds. ``recorded`` is the same with kernels that record by themselves, ``instrumented`` launches these by prlx's driver object.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import math
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import torch
import triton

import prlx

HERE = Path(__file__).resolve().parent


def few_configs(count: int) -> None:
    """Let autotuners choose among so many configurations, the smallest: packages list dozens, and each is compiled."""
    tuner = triton.runtime.autotuner.Autotuner
    prune, begin = tuner.prune_configs, tuner.__init__

    def size(config):
        sizes = [value for value in config.kwargs.values() if isinstance(value, int) and value > 0]
        return math.prod(sizes) * config.num_stages, config.num_warps

    def pruned(self, kwargs, *more):
        return sorted(prune(self, kwargs, *more), key=size)[:count]

    def init(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        if not kwargs.get("prune_configs_by"):
            self.configs = sorted(self.configs, key=size)[:count]

    tuner.prune_configs, tuner.__init__ = pruned, init


class Seen:
    """What was launched, whoever launched it."""

    def __init__(self) -> None:
        self.kernels: list[str] = []
        self.launches = 0
        self.findings: list[str] = []
        self.recorded = 0
        self.losses: dict[str, int] = {}


@contextlib.contextmanager
def simulator(**record: str) -> Iterator[Seen]:
    """Launches by prlx's own driver object."""
    seen = Seen()
    with prlx.enable(device="simulator", map_cuda=True, progress=False, **record) as recording:
        try:
            yield seen
        finally:
            seen.kernels = [simulation.kernel for simulation in recording.simulations]
            seen.launches = recording.launches
            seen.findings = [str(finding) for finding in recording.findings]


@contextlib.contextmanager
def driver(**record: str) -> Iterator[Seen]:
    """Launches by Triton's own driver."""
    sys.path.append(str(HERE.parents[1] / "driver"))
    from tensors import mapped

    seen = Seen()
    with mapped(**record) as (seen.kernels, recording):
        yield seen
    seen.launches = len(seen.kernels)
    if recording is not None:
        seen.recorded, seen.losses = recording.recorded, dict(recording.losses)


@contextlib.contextmanager
def recorded(way: Callable[..., AbstractContextManager[Seen]], **more: str) -> Iterator[Seen]:
    """Launches that are recorded, into a session that nobody needs."""
    with tempfile.TemporaryDirectory() as folder, way(output=f"{folder}/session", **more) as seen:
        yield seen


OVER = {
    "simulator": simulator,
    "instrumented": lambda: recorded(simulator, capture="instrumented"),
    "driver": driver,
    "recorded": lambda: recorded(driver),
}


def run(module: str, case: str, over: str) -> dict[str, object]:
    """The row of the journal."""
    compiled: set[str] = set()
    begin = triton.compiler.ASTSource.__init__

    def noticed(self, fn, *args, **kwargs):
        compiled.add(fn.__name__)
        begin(self, fn, *args, **kwargs)

    triton.compiler.ASTSource.__init__ = noticed
    try:
        return judged(module, case, compiled, over)
    finally:
        triton.compiler.ASTSource.__init__ = begin


def bits(compared: list) -> str:
    """A digest of what kernels computed."""
    digest = hashlib.sha256()
    for one in compared:
        digest.update(one.got.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def judged(module: str, case: str, compiled: set[str], over: str) -> dict[str, object]:
    """The row, with the names of kernels that are compiled in ``compiled``."""
    row: dict[str, object] = {"package": module, "case": case, "outcome": "ran", "cause": ""}
    started = time.monotonic()
    with OVER[over]() as seen:
        try:
            function = getattr(importlib.import_module(module), f"case_{case}")
            row["imported"] = True
            torch.manual_seed(0)
            compared = list(function(torch.Generator().manual_seed(0)))
            row["bits"] = bits(compared)
            wrong = [one.problem for one in compared if one.problem]
            if wrong:
                row.update(outcome="wrong", cause="; ".join(wrong))
            elif not compared:
                row.update(outcome="error", cause="nothing was compared")
        except (prlx.SimulationError, prlx.UsageError) as error:
            row.update(outcome="refused", cause=str(error).splitlines()[0])
        except triton.runtime.errors.OutOfResources as error:
            row.update(outcome="too large", cause=str(error))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            row.update(
                outcome="error", cause=f"{type(error).__name__}: {str(error)[:300]} ({last.filename}:{last.lineno})"
            )
            traceback.print_exc()
    if row["outcome"] == "ran" and not seen.launches:
        row.update(outcome="error", cause="no kernel was launched")
    elif row["outcome"] == "ran" and seen.findings:
        row.update(outcome="finding", cause=seen.findings[0])
    ran = set(seen.kernels)
    row.update(
        kernels=sorted(ran),
        not_run=sorted(compiled - ran) if row["outcome"] not in ("ran", "finding", "wrong") else [],
        launches=seen.launches,
        findings=len(seen.findings),
        seconds=round(time.monotonic() - started, 1),
    )
    if over == "recorded":
        row.update(recorded=seen.recorded, losses=seen.losses)
    return row


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("module")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--configs", type=int, default=1)
    parser.add_argument("--over", choices=OVER, default="simulator")
    given = parser.parse_args()
    sys.path[:0] = [str(HERE), *map(str, sorted(path for path in given.folder.iterdir() if path.is_dir()))]
    warnings.simplefilter("ignore")
    if not given.cases:  # what there is
        names = sorted(name for name in vars(importlib.import_module(given.module)) if name.startswith("case_"))
        sys.stdout.write("\n".join(name.removeprefix("case_") for name in names) + "\n")
        return
    few_configs(given.configs)
    for case in given.cases:
        sys.stdout.write(json.dumps(run(given.module, case, given.over)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
