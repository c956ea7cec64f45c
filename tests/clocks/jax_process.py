"""One process of a small job on the CPU, traced twice: jax_process.py LOG_DIR PROCESS PROCESSES PORT. It says what it wrote."""

from __future__ import annotations

import json
import sys
import time

import jax
import jax.numpy as jnp

import prlx

log_dir, process, processes, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
jax.config.update("jax_platforms", "cpu")
if processes > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", processes, process)

devices = jax.make_mesh((processes,), ("x",))
spec = jax.sharding.PartitionSpec("x")
summed = jax.jit(
    jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=devices, in_specs=spec, out_specs=jax.sharding.PartitionSpec())
)


def work() -> None:
    local = jnp.ones((1, 8))
    x = jax.make_array_from_process_local_data(jax.sharding.NamedSharding(devices, spec), local)
    for _ in range(20):
        time.sleep(0.02)
        summed(x).block_until_ready()


work()
options = None
if hasattr(jax.profiler, "ProfileOptions"):
    options = jax.profiler.ProfileOptions()
    options.advanced_configuration = {"snapshot_pair_period_ms": 20}
written = []
for run in range(2):
    with prlx.jax.trace(
        log_dir, combine=run == 1 and processes > 1, **({"profiler_options": options} if options else {})
    ) as traced:
        work()
    written.append(
        {
            "jax": list(jax.version.__version_info__),
            "run": str(traced.run_dir),
            "xplane": str(traced.xplane),
            "snapshots": str(traced.snapshots) if traced.snapshots else None,
            "probes": str(traced.probes) if traced.probes else None,
            "counters": traced.counters,
            "command": traced.command,
            "combined": traced.combined.status if traced.combined else None,
        }
    )
print(json.dumps(written))
