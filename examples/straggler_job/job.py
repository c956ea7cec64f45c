"""Runs a job of several processes on this machine, of which one is slow on purpose, and records every rank.

    python job.py jax -o recorded
    python job.py jax -o recorded --slow 4:sleep:5:20-40
    python job.py torch -o recorded --ranks 4 --slow 2:compute:8

--slow is RANK:HOW:MILLISECONDS, and :FIRST-LAST for the steps in which it is slow; all steps without. HOW is sleep (the
process waits before its step, as for a batch that is late) or compute (it computes longer than the others). Beside the
traces it writes truth.json: who was slow, how and when, and for each rank and step when its first collective was called, by
the clock that all processes share.

It needs JAX or PyTorch, on any machine; processes talk through the loopback interface.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Slow:
    """Who is slow, how, by how much and when."""

    rank: int = -1
    how: str = "sleep"
    milliseconds: float = 0.0
    first: int = 0
    last: int = sys.maxsize

    @classmethod
    def read(cls, text: str) -> Slow:
        """Of RANK:HOW:MILLISECONDS[:FIRST-LAST]."""
        rank, how, milliseconds, *steps = text.split(":")
        if how not in ("sleep", "compute") or len(steps) > 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not RANK:sleep|compute:MILLISECONDS[:FIRST-LAST]")
        first, last = steps[0].split("-") if steps else (0, sys.maxsize)
        return cls(int(rank), how, float(milliseconds), int(first), int(last))

    def now(self, rank: int, step: int) -> bool:
        """Whether the rank is slow in the step."""
        return rank == self.rank and self.first <= step <= self.last


def own_work(slow: bool, how: Slow, named: Callable[[str], Any], compute: Callable[[], Any]) -> None:
    """What a rank does by itself before its collectives: it loads a batch and computes, one of them longer where it is slow."""
    wait = compute_until = 0.0
    if slow and how.how == "sleep":
        wait = how.milliseconds / 1e3
    elif slow:
        compute_until = time.perf_counter() + how.milliseconds / 1e3
    with named("load batch"):
        time.sleep(wait)
    with named("forward"):
        compute()
        while time.perf_counter() < compute_until:
            compute()


def jax_rank(asked: argparse.Namespace) -> list[int]:
    """Steps of one computation and three collectives of JAX on CPU, recorded by its profiler."""
    os.environ.setdefault("JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX", ".*/")  # traces hold no path of this machine
    import jax
    import numpy as np
    from jax.experimental import multihost_utils
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{asked.port}", asked.ranks, asked.rank)
    mesh = Mesh(np.array(jax.devices()), ("ranks",))
    whole = np.ones((16 * asked.ranks, 8 * asked.ranks), np.float32)
    x = jax.make_array_from_callback(whole.shape, NamedSharding(mesh, P("ranks", None)), lambda i: whole[i])
    own = jax.numpy.ones((256, 256)) / 256

    @jax.jit
    def forward(a):
        return a @ a

    def sharded(f, out):
        return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("ranks", None), out_specs=out))

    def gradients(a):
        return jax.lax.psum(a @ a.T, "ranks")

    def scatter(a):
        return jax.lax.psum_scatter(a.T @ a, "ranks", tiled=True)

    def gather(a):
        return jax.lax.all_gather(a, "ranks")

    collectives = [sharded(gradients, P()), sharded(scatter, P("ranks")), sharded(gather, P("ranks"))]
    forward(own).block_until_ready()
    for f in collectives:
        f(x).block_until_ready()
    called = []
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # calls of Python functions, most of a trace
    with jax.profiler.trace(str(asked.output / f"rank{asked.rank}"), profiler_options=options):
        multihost_utils.sync_global_devices("begin")
        for number in range(asked.steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                slow = asked.slow.now(asked.rank, number)
                own_work(slow, asked.slow, jax.profiler.TraceAnnotation, lambda: forward(own).block_until_ready())
                called.append(time.time_ns())
                for f in collectives:
                    f(x).block_until_ready()
    multihost_utils.sync_global_devices("end")
    return called


def torch_rank(asked: argparse.Namespace) -> list[int]:
    """Steps of one computation and three collectives of PyTorch's gloo backend, recorded by its profiler."""
    import torch
    import torch.distributed as dist
    from torch import profiler

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{asked.port}", rank=asked.rank, world_size=asked.ranks
    )
    own, x = torch.ones(256, 256) / 256, torch.ones(64, 48)

    def collectives() -> None:
        dist.all_reduce(x)
        dist.all_gather([torch.empty_like(x) for _ in range(asked.ranks)], x)
        dist.broadcast(x, src=0)

    for _ in range(3):
        collectives()
    called = []
    done = profiler.tensorboard_trace_handler(str(asked.output), worker_name=f"rank{asked.rank}", use_gzip=True)
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], record_shapes=True, on_trace_ready=done
    ) as recording:
        dist.barrier()
        for number in range(asked.steps):
            own_work(asked.slow.now(asked.rank, number), asked.slow, profiler.record_function, lambda: own @ own)
            called.append(time.time_ns())
            collectives()
            recording.step()
    dist.barrier()
    dist.destroy_process_group()
    return called


RANKS = {"jax": jax_rank, "torch": torch_rank}


def record(asked: argparse.Namespace) -> int:
    """Run all ranks, and write down what is true of them."""
    asked.output.mkdir(parents=True)
    command = [sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]]
    ranks = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(asked.ranks)]
    if sum(rank.wait() != 0 for rank in ranks):
        return 1
    parts = [asked.output / f"called{rank}.json" for rank in range(asked.ranks)]
    truth = {"slow": asdict(asked.slow), "called_ns": [json.loads(part.read_text()) for part in parts]}
    for part in parts:
        part.unlink()
    (asked.output / "truth.json").write_text(json.dumps(truth) + "\n")
    return 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=sorted(RANKS))
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder that does not exist")
    parser.add_argument("--ranks", type=int, default=6)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow", type=Slow.read, default=Slow(), help="RANK:sleep|compute:MILLISECONDS[:FIRST-LAST]")
    parser.add_argument("--port", type=int, default=29441)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rank is None:
        return record(asked)
    called = RANKS[asked.framework](asked)
    (asked.output / f"called{asked.rank}.json").write_text(json.dumps(called))
    return 0


if __name__ == "__main__":
    sys.exit(main())
