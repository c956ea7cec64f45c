"""Has the encoder of PyTorch's Cuspy write a trace: ``python cuspy.py OUT``. Run by build/torch/python.

The window is made up: 200 kernels of two GPUs with their launches, 20 copies, operators and steps. CUPTI
is not needed to encode one.
"""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np

BEGAN = 1_760_000_000_000_000_000
KERNELS, COPIES, STEPS = 200, 20, 4


def columns() -> dict:
    """What Cuspy collected of GPUs and of the runtime."""
    i, j = np.arange(KERNELS), np.arange(COPIES)
    start = BEGAN + 1000 * i + i % 7
    kernel = {
        "start_ns": start,
        "end_ns": start + 700 + i % 90,
        "device_id": i % 2,
        "stream_id": 7 + i % 2 * 6,
        "correlation_id": 1000 + i,
        "name": np.asarray([f"void gemm_{n % 5}<float>(float*)" for n in range(KERNELS)], dtype=object),
        "grid_x": 10 + i,
        "block_x": i * 0 + 128,
        "registers_per_thread": i * 0 + 32,
    }
    kernel |= dict.fromkeys(("context_id", "grid_y", "grid_z", "block_y", "block_z"), i * 0 + 1)
    kernel |= dict.fromkeys(("dynamic_shared_memory", "graph_node_id", "graph_id", "priority"), i * 0)
    copied = BEGAN + 300_000 + 2000 * j
    copy = {
        "start_ns": copied,
        "end_ns": copied + 500,
        "stream_id": j * 0 + 7,
        "correlation_id": 5000 + j,
        "bytes": 4096 * (j + 1),
        "copy_kind": j * 0 + 1,
        "context_id": j * 0 + 1,
    }
    copy |= dict.fromkeys(("device_id", "graph_node_id", "graph_id"), j * 0)
    runtime = {
        "start_ns": start - 400,
        "end_ns": start - 100,
        "process_id": i * 0 + 4242,
        "thread_id": i * 0 + 4243,
        "correlation_id": 1000 + i,
        "cbid": i * 0 + 211,
    }
    return {"kernel": kernel, "gpu_memcpy": copy, "cuda_runtime": runtime}


def operators() -> list[dict]:
    """What Kineto collected of threads."""
    main, steps = {"pid": 4242, "tid": 4243}, {"pid": 4242, "tid": 4244}
    out = [
        {"ph": "M", "name": "process_name", **main, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", **main, "args": {"name": "main"}},
    ]
    for n in range(KERNELS):
        args = {"External id": n + 1, "Sizes": [[1, 2], [3]]}
        out.append({"ph": "X", "name": "aten::mm", "cat": "cpu_op", **main, "ts": n - 0.5, "dur": 0.45, "args": args})
    for n in range(STEPS):
        step = {"ph": "X", "name": f"ProfilerStep#{n}", "cat": "user_annotation", **steps, "ts": 50.0 * n, "dur": 50.0}
        out.append({**step, "args": {"External id": 9000 + n}})
    return out


def main(path: str) -> None:
    """Write the trace."""
    for module in ("cupti", "cupti.cupti"):  # it names calls and kinds, where there is a GPU
        sys.modules[module] = mock.MagicMock()
    from torch.profiler._cuspy import trace

    trace._runtime_cbid_name = lambda _: "cudaLaunchKernel"
    trace._runtime_is_registered = trace._runtime_is_launch = lambda _: True
    trace._window_to_pftrace({"traceEvents": operators()}, {"columns": columns()}, BEGAN, path)


if __name__ == "__main__":
    main(sys.argv[1])
