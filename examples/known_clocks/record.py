"""Records a job of several processes on this machine, each with a host name and a wall clock of its own, whose error is known.

    python record.py torch -o recorded --clocks 0:0,37000:120,-5200:-80,250:35
    python record.py jax -o recorded --clocks 0:0,37000:120:2000@1.5

A clock is OFFSET_US:DRIFT_PPM, and :STEP_US@SECONDS for a step that many seconds after the start. Each process preloads
clock.c, which cc compiles, and has a UTS namespace of its own: run it as root, or where users may make namespaces. It needs
Linux, and torch or jax. Beside the traces it writes truth.json, which says how the clocks were set.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLONE_NEWUTS, CLONE_NEWUSER = 0x04000000, 0x10000000


def own_host_name() -> None:
    """Give the process a namespace of its own, in which it may change the name of its host."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUTS) and libc.unshare(CLONE_NEWUSER | CLONE_NEWUTS):
        raise OSError(ctypes.get_errno(), "no namespace for a host name of its own: run it as root")


def torch_rank(rank: int, world: int, asked: argparse.Namespace) -> None:
    """Steps with five collectives of PyTorch's gloo backend, recorded by its profiler."""
    import torch
    import torch.distributed as dist
    from torch import profiler

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{asked.port}", rank=rank, world_size=world)
    pair = dist.new_group([0, 1])
    x, part = torch.ones(64, 48), torch.ones(17)

    def step() -> None:
        y = x @ x.T
        dist.all_reduce(y)
        dist.all_gather([torch.empty_like(y) for _ in range(world)], y)
        dist.broadcast(y, src=0)
        dist.all_reduce(y)
        if rank < 2:  # the profiler does not write which group it was; how often each rank did it tells
            dist.all_reduce(part, group=pair)
        dist.barrier()

    for _ in range(3):
        step()
    socket.sethostname(f"node{rank}")
    done = profiler.tensorboard_trace_handler(str(asked.output), worker_name=f"node{rank}", use_gzip=True)
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU], record_shapes=True, on_trace_ready=done
    ) as recording:
        for _ in range(asked.steps):
            step()
            recording.step()
            time.sleep(asked.sleep)
    dist.barrier()
    dist.destroy_process_group()


def jax_rank(rank: int, world: int, asked: argparse.Namespace) -> None:
    """Steps with four collectives of JAX on CPU, recorded by its profiler."""
    import jax
    import numpy as np
    from jax.experimental import multihost_utils
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{asked.port}", world, rank)
    mesh = Mesh(np.array(jax.devices()), ("ranks",))
    whole = np.ones((32 * world, 48), np.float32)
    x = jax.make_array_from_callback(whole.shape, NamedSharding(mesh, P("ranks", None)), lambda i: whole[i])
    ring = [(i, (i + 1) % world) for i in range(world)]

    def sharded(f, out):
        return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("ranks", None), out_specs=out))

    steps = [
        sharded(lambda a: jax.lax.psum(a @ a.T, "ranks"), P()),
        sharded(lambda a: jax.lax.all_gather(a, "ranks"), P("ranks", None)),
        sharded(lambda a: jax.lax.psum_scatter(a.T @ a, "ranks", tiled=True), P("ranks", None)),
        sharded(lambda a: jax.lax.ppermute(a, "ranks", ring), P("ranks", None)),
    ]
    for f in steps:
        f(x).block_until_ready()
    multihost_utils.sync_global_devices("begin")
    socket.sethostname(f"node{rank}")
    with jax.profiler.trace(str(asked.output / f"node{rank}")):
        for number in range(asked.steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                for f in steps:
                    f(x).block_until_ready()
            time.sleep(asked.sleep)
    multihost_utils.sync_global_devices("end")


RANKS = {"torch": torch_rank, "jax": jax_rank}


def clock(text: str, start_ns: int) -> dict[str, int]:
    """How a clock is set, from OFFSET_US:DRIFT_PPM[:STEP_US@SECONDS]."""
    offset, drift, *step = text.split(":")
    size, at = (step[0].split("@") if step else ("0", "0"))[:2]
    return {
        "offset_ns": round(float(offset) * 1000),
        "drift_ppb": round(float(drift) * 1000),
        "anchor_ns": start_ns,
        "step_ns": round(float(size) * 1000),
        "step_at_ns": start_ns + round(float(at) * 1e9),
    }


def record(asked: argparse.Namespace, texts: list[str]) -> int:
    """Run all ranks, each behind its clock."""
    asked.output.mkdir(parents=True)
    clocks = [clock(text, time.time_ns()) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "clock.c"], check=True)
        ranks = []
        for rank, one in enumerate(clocks):
            command = [sys.executable, __file__, *sys.argv[1:], "--rank", str(rank)]
            known = ",".join(str(value) for value in one.values())
            ranks.append(
                subprocess.Popen(command, env={**os.environ, "LD_PRELOAD": str(library), "KNOWN_CLOCK": known})
            )
        failed = sum(rank.wait() != 0 for rank in ranks)
    (asked.output / "truth.json").write_text(json.dumps({"nodes": clocks}, indent=1) + "\n")
    return 1 if failed else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=sorted(RANKS))
    parser.add_argument("-o", "--output", type=Path, required=True, help="a folder that does not exist")
    parser.add_argument("--clocks", default="0:0,37000:120,-5200:-80,250:35", help="one per process")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--sleep", type=float, default=0.03, help="seconds between steps")
    parser.add_argument("--port", type=int, default=29431)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    texts = asked.clocks.split(",")
    if asked.rank is None:
        return record(asked, texts)
    own_host_name()
    RANKS[asked.framework](asked.rank, len(texts), asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
