"""Steps with a collective on all devices of a job, traced on one clock: train_jax.py LOG_DIR, in every process."""

import sys

import jax
import jax.numpy as jnp

import prlx.jax

jax.distributed.initialize()  # SLURM, Open MPI, Kubernetes and TPU pods tell it who the others are
mesh = jax.make_mesh((jax.device_count(),), ("all",))
spread = jax.sharding.PartitionSpec("all")
step = jax.jit(
    jax.shard_map(
        lambda x: jax.lax.psum(x * 2, "all"), mesh=mesh, in_specs=spread, out_specs=jax.sharding.PartitionSpec()
    )
)
mine = jnp.ones((jax.local_device_count(), 1024))
batch = jax.make_array_from_process_local_data(jax.sharding.NamedSharding(mesh, spread), mine)
step(batch).block_until_ready()  # compiled before it is traced

with prlx.jax.trace(sys.argv[1]) as traced:
    for _ in range(100):
        step(batch).block_until_ready()

if jax.process_index() == 0:
    print(traced.command)
