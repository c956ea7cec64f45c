"""One process of a job on a host whose wall clock has a known error: known_process.py FRAMEWORK DIRECTORY RANK RANKS PORT.

The library of examples/known_clocks is preloaded and gives that clock to all that reads it through the C library: the
framework, its profiler and the sampler of clocks. The prober, which reads it past that library and as stamps of the kernel, is
told the same formula. The host has a name of its own, and an identity of its clock by which processes tell hosts apart.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

framework, directory, rank, ranks, port = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
host = int(os.environ["KNOWN_HOST"])
CLONE_NEWUTS = 0x04000000
if ctypes.CDLL(None).unshare(CLONE_NEWUTS):  # before there are threads: each has its own namespaces
    sys.exit(77)

import prlx  # noqa: E402
from prlx import _clocks, _peers  # noqa: E402
from prlx._clocks import Probes  # noqa: E402

offset_ns, drift_ppb, anchor_ns = map(int, os.environ["KNOWN_CLOCK"].split(",")[:3])
KNOWN = {"host": f"host {host}", "offset_ns": offset_ns, "drift_ppb": drift_ppb, "anchor_ns": anchor_ns}


class KnownProbes(Probes):
    """The prober of this host."""

    def __init__(self, asked: dict[str, Any]) -> None:
        super().__init__({**asked, "known_clock": KNOWN})


_peers.Probes = _clocks.Probes = KnownProbes  # type: ignore[misc]
_peers.host_clock = lambda: f"host-{host}"


def with_jax() -> dict[str, Any]:
    """Steps with collectives, traced through ``prlx.jax.trace``, or by JAX alone within ``prlx.clocks``."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", ranks, rank)
    spec = jax.sharding.PartitionSpec
    mesh = jax.make_mesh((ranks,), ("x",))
    sharded = jax.sharding.NamedSharding(mesh, spec("x"))
    steps = [
        jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec())),
        jax.jit(
            jax.shard_map(lambda v: jax.lax.all_gather(v, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec("x"))
        ),
    ]

    def work(seconds: float) -> None:
        x = jax.make_array_from_process_local_data(sharded, jnp.ones((1, 8)))
        until = time.monotonic() + seconds
        going = jnp.ones(())
        while going > 0:  # all processes do the same number of steps: the first says when it is over
            for step in steps:
                step(x).block_until_ready()
            mine = jnp.full((1,), float(rank == 0 and time.monotonic() < until))
            going = steps[0](jax.make_array_from_process_local_data(sharded, mine)).addressable_data(0)[0]
            time.sleep(0.02)

    work(0)
    socket.sethostname(f"node{host}")  # now: the collectives have looked for it
    if (
        framework == "clocks"
    ):  # around JAX's own profiler: the peers are hosts, and every rank of a host is given its number
        with (
            prlx.clocks(directory, peers=os.environ["KNOWN_PEERS"].split(","), node=host, rank=rank) as clocks,
            jax.profiler.trace(f"{directory}/rank{rank}"),
        ):
            work(4)
        work(0)
        return {"probes": str(clocks.probes) if clocks.probes else None}
    with prlx.jax.trace(directory) as traced:
        work(4)
    work(0)
    return {
        "run": str(traced.run_dir),
        "probes": str(traced.probes) if traced.probes else None,
        "command": traced.command,
    }


def with_torch() -> dict[str, Any]:
    """Steps with collectives, profiled through ``prlx.torch.profile``, or a ``prlx.torch.trace_handler`` alone."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
    distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    x, going = torch.ones(64, 64), torch.ones(1)
    distributed.all_reduce(going)
    socket.sethostname(f"node{host}")
    options: dict[str, Any] = {"activities": [torch.profiler.ProfilerActivity.CPU], "record_shapes": True}
    if framework == "torch":
        profiled = prlx.torch.profile(directory, period_ms=100, **options)
        handler = profiled.handler
    else:
        handler = prlx.torch.trace_handler(directory, period_ms=100)
        profiled = torch.profiler.profile(on_trace_ready=handler, **options)
    with profiled:
        until = time.monotonic() + 4
        while going.item() > 0:
            distributed.all_reduce(torch.relu(x @ x) / 64)
            distributed.barrier()
            going[0] = float(rank == 0 and time.monotonic() < until)
            distributed.all_reduce(going)
            if framework == "torch":
                profiled.step()
            time.sleep(0.02)
    handler.close()
    clocks = handler.clocks
    distributed.destroy_process_group()
    return {
        "paths": [str(path) for path in handler.paths],
        "probes": str(clocks.probes) if clocks and clocks.probes else None,
    }


Path(directory).mkdir(parents=True, exist_ok=True)
print(json.dumps(with_torch() if framework.startswith("torch") else with_jax()))
