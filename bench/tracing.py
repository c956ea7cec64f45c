"""Measures what ``prlx.jax.trace`` costs over ``jax.profiler.trace``, in a loop of steps of 1 ms.

  python bench/tracing.py                   20 pairs of 4,000 steps
  python bench/tracing.py --quick           one short pair: shows that everything here still runs

It needs JAX in the Python that runs it, or one that PRLX_JAX_PYTHON names. Two processes are a job on two hosts (as far as they
are told), so that sampler and prober run; the first of them does the same steps again and again, traced in turn by JAX alone
and by prlx. CPU time is that of the process, all its threads, while it does the steps. Beside it stands what the threads of
sampler and prober used, which other load of the machine does not blur, and what beginning and ending a trace takes more.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEP_NS = 1_000_000
PROCESSES = 2


def threads() -> dict[int, int]:
    """CPU time in ns of each thread of this process."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            found[int(task.name)] = int((task / "schedstat").read_text().split()[0])
        except OSError:  # it has ended
            continue
    return found


def used(before: dict[int, int], after: dict[int, int], known: set[int]) -> int:
    """What the threads that are not known used in between, ns."""
    return sum(ns - before.get(task, 0) for task, ns in after.items() if task not in known)


def process(rank: int, port: str, pairs: int, steps: int, folder: str) -> None:
    """One process of the job; the first prints what it measured."""
    import jax
    import jax.numpy as jnp

    import prlx.jax
    from prlx import _peers

    _peers.host_clock = lambda: f"host-{rank}"
    jax.config.update("jax_platforms", "cpu")
    jax.distributed.initialize(f"127.0.0.1:{port}", PROCESSES, rank)
    client = jax._src.distributed.global_state.client

    def meet(name: str) -> None:
        client.wait_at_barrier(name, 600_000)

    multiply = jax.jit(lambda v: v @ v / 2)

    def milliseconds(size: int) -> float:
        x = jnp.ones((size, size))
        multiply(x).block_until_ready()
        spent = []
        for _ in range(50):
            begin = time.perf_counter_ns()
            multiply(x).block_until_ready()
            spent.append(time.perf_counter_ns() - begin)
        return statistics.median(spent) / STEP_NS

    size = 64
    while rank == 0 and milliseconds(size) < 1 and size < 4096:
        size += 32
    x = jnp.ones((size, size))

    def loop() -> tuple[int, int]:
        """CPU time of the steps, and of them what threads used that JAX alone does not have."""
        if rank:
            return 0, 0
        before, begin = threads(), time.process_time_ns()
        for _ in range(steps):
            multiply(x).block_until_ready()
        return time.process_time_ns() - begin, used(before, threads(), known)

    known: set[int] = set()

    def plainly(pair: int) -> tuple[int, int]:
        """CPU time of the steps, and of all else, traced by JAX alone."""
        if rank:
            return 0, 0
        begin = time.process_time_ns()
        jax.profiler.start_trace(f"{folder}/plain{pair}")
        spent, _ = loop()
        jax.profiler.stop_trace()
        return spent, time.process_time_ns() - begin - spent

    def with_prlx(pair: int) -> tuple[int, int, int]:
        """The same by prlx, with what its own threads used during the steps in the middle."""
        meet(f"begin {pair}")
        begin = time.process_time_ns()
        prlx.jax.start_trace(f"{folder}/with{pair}")
        spent, ours = loop()
        meet(f"end {pair}")
        traced = prlx.jax.stop_trace()
        if rank == 0 and pair >= 0 and traced.probes is None:
            raise SystemExit("nobody answered the prober")
        return spent, ours, time.process_time_ns() - begin - spent

    rows = []
    for pair in range(-1, pairs):  # the first is not counted: everything is loaded then
        if pair % 2 == 0:  # who goes first alternates: what goes on slowly favours nobody
            spent, ours, around = with_prlx(pair)
            plain, plain_around = plainly(pair)
        else:
            plain, plain_around = plainly(pair)
            known = known or set(threads())
            spent, ours, around = with_prlx(pair)
        if rank == 0 and pair >= 0:
            more = around - plain_around
            rows.append({"plain_ns": plain, "prlx_ns": spent, "ours_ns": ours, "around_ns": more, "size": size})
    if rank == 0:
        print(json.dumps(rows))


def measure(python: str, pairs: int, steps: int) -> list[dict[str, int]]:
    """Run the job."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    package = str(Path(__file__).resolve().parents[1] / "python")
    environment = {**os.environ, "PYTHONPATH": package, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    with tempfile.TemporaryDirectory() as folder:
        asked = [python, __file__, "--job", port, str(pairs), str(steps), folder, "--rank"]
        running = [
            subprocess.Popen([*asked, str(rank)], stdout=subprocess.PIPE, text=True, env=environment)
            for rank in range(PROCESSES)
        ]
        said = [one.communicate()[0] for one in running]
        if any(one.returncode for one in running):
            raise SystemExit("the job failed")
    rows: list[dict[str, int]] = json.loads(said[0].splitlines()[-1])
    return rows


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        process(asked.rank, asked.job[0], int(asked.job[1]), int(asked.job[2]), asked.job[3])
        return
    pairs, steps = (1, 300) if asked.quick else (asked.pairs, asked.steps)
    rows = measure(os.environ.get("PRLX_JAX_PYTHON") or sys.executable, pairs, steps)
    over = [100 * (row["prlx_ns"] / row["plain_ns"] - 1) for row in rows]
    ours = [100 * row["ours_ns"] / row["plain_ns"] for row in rows]
    print(
        f"load {os.getloadavg()[0]:.1f}; {len(rows)} pairs of {steps} steps of {rows[0]['plain_ns'] / steps / 1e6:.2f} ms"
    )
    low, _, high = statistics.quantiles(over, n=4) if len(over) > 1 else over * 3
    median = statistics.median(over)
    print(f"CPU time over jax.profiler.trace: median {median:+.2f} %, half of the pairs {low:+.2f} to {high:+.2f} %")
    print(f"threads of sampler and prober: median {statistics.median(ours):.2f} % of it, largest {max(ours):.2f} %")
    print(
        f"beginning and ending a trace: median {statistics.median(row['around_ns'] for row in rows) / 1e6:+.0f} ms of CPU time"
    )


if __name__ == "__main__":
    main()
