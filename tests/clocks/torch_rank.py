"""One rank of a small job on the CPU, profiled: torch_rank.py DIRECTORY HOW RANK SIZE PORT. It says what it wrote."""

from __future__ import annotations

import json
import os
import sys
import threading

import torch
import torch.distributed as distributed

import prlx

directory, how, rank, size, port = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]


def join() -> None:
    if size > 1:
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        distributed.init_process_group("gloo", rank=rank, world_size=size)


def work(steps: int, profiler: object = None) -> None:
    x = torch.ones(64, 64)
    for step in range(steps):
        if how == "late" and step == 1:
            join()
        x = torch.relu(x @ x) / 64
        if distributed.is_initialized():
            distributed.all_reduce(x)
        if profiler is not None:
            profiler.step()  # type: ignore[attr-defined]


if how != "late":
    join()
schedule = torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1 if how == "once" else 2)
activities = [torch.profiler.ProfilerActivity.CPU]
if how in ("profile", "late"):
    called = []
    with prlx.torch.profile(
        directory, activities=activities, schedule=schedule, period_ms=10, on_trace_ready=lambda _: called.append(1)
    ) as profiler:
        work(6, profiler)
    handler = profiler.handler
    assert isinstance(profiler, torch.profiler.profile)
    assert len(called) == len(handler.paths)
else:
    handler = prlx.torch.trace_handler(directory, period_ms=10, use_gzip=how == "gzip")
    with torch.profiler.profile(activities=activities, schedule=schedule, on_trace_ready=handler) as profiler:
        work(6, profiler)
clocks = handler.clocks
handler.close()
print(
    json.dumps(
        {
            "paths": [str(path) for path in handler.paths],
            "snapshots": str(clocks.snapshots) if clocks else None,
            "counters": clocks.counters if clocks else None,
            "threads": threading.active_count(),
        }
    )
)
if distributed.is_initialized():
    distributed.destroy_process_group()
