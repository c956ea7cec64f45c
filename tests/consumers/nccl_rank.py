"""Plays one rank of a job to the recorder of NCCL's events, as NCCL 2.29 does: version 6 of its profiler interface, by ctypes.

Usage: nccl_rank.py LIBRARY RANK RANKS OPERATIONS BEGIN_NS [HANG [KINETO LATE_NS]].
PRLX_NCCL_DIR and PRLX_NCCL_LEVEL are the recorder's.
Operations are called every 40 ms from BEGIN_NS on. With HANG the rank stays in a last operation that does not end for so
many seconds, and rank 0 never calls it. KINETO is a file: what PyTorch's profiler would write of the same kernels in this
process, on a clock that is LATE_NS late.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import time
from pathlib import Path

GROUP, COLL, PROXY_OP, STEP, KERNEL, GROUP_API, COLL_API, LAUNCH = 1, 2, 8, 16, 64, 256, 512, 2048
IN_PROGRESS, KERNEL_STOP, GROUP_ENDS = 19, 22, 24
SEND_STATES, RECV_STATES = (8, 20, 9), (10, 11, 12)
DESCRIPTOR_BYTES = 112
EVERY_NS = 40_000_000
GPU_AHEAD_NS = 40_000_000


class Recorder:
    """The five functions of the plug-in's table, and what keeps its texts alive."""

    def __init__(self, library: str, rank: int, ranks: int) -> None:
        table = (ctypes.c_void_p * 6).in_dll(ctypes.CDLL(library), "ncclProfiler_v6")
        pointer, word = ctypes.c_void_p, ctypes.c_int
        init = ctypes.CFUNCTYPE(word, pointer, ctypes.c_uint64, pointer, ctypes.c_char_p, word, word, word, pointer)
        self._start = ctypes.CFUNCTYPE(word, pointer, pointer, pointer)(table[2])
        self._stop = ctypes.CFUNCTYPE(word, pointer)(table[3])
        self._state = ctypes.CFUNCTYPE(word, pointer, word, pointer)(table[4])
        self._finalize = ctypes.CFUNCTYPE(word, pointer)(table[5])
        self._texts: dict[str, ctypes.Array[ctypes.c_char]] = {}
        self.context, self.mask, self.rank = pointer(), word(0), rank
        init(table[1])(ctypes.byref(self.context), 0x77, ctypes.byref(self.mask), b"world", ranks, ranks, rank, None)

    def text(self, value: str) -> int:
        """The address of a text, as long as the process lives."""
        buffer = self._texts.setdefault(value, ctypes.create_string_buffer(value.encode()))
        return ctypes.addressof(buffer)

    def start(self, kind: int, parent: int = 0, **fields: tuple[str, int]) -> int:
        """Begin an event. Fields are at_OFFSET=(format, value)."""
        descriptor = bytearray(DESCRIPTOR_BYTES)
        struct.pack_into("<QQi", descriptor, 0, kind, parent, self.rank)
        for name, (form, value) in fields.items():
            struct.pack_into("<" + form, descriptor, int(name.removeprefix("at_")), value)
        handle, raw = ctypes.c_void_p(), ctypes.create_string_buffer(bytes(descriptor), DESCRIPTOR_BYTES)
        self._start(self.context, ctypes.byref(handle), raw)
        return handle.value or 0

    def stop(self, handle: int) -> None:
        self._stop(handle)

    def state(self, handle: int, state: int, value: int = 0) -> None:
        self._state(handle, state, ctypes.byref(ctypes.c_uint64(value)))

    def finalize(self) -> None:
        self._finalize(self.context)


def gpu_ns() -> int:
    """The GPU's clock: 40 ms ahead of the host's, in steps of 1024 ns."""
    return (time.time_ns() + GPU_AHEAD_NS) & ~1023


def meet(rank: int, number: int, ranks: int) -> None:
    """Return when every rank has begun the operation, as no AllReduce ends before: on a busy machine one may be late."""
    begun = Path(os.environ["PRLX_NCCL_DIR"] + ".begun")
    begun.mkdir(exist_ok=True)
    (begun / f"{number}-{rank}").touch()
    while not all((begun / f"{number}-{other}").exists() for other in range(ranks)):
        time.sleep(0.001)


def operation(nccl: Recorder, number: int, ranks: int, *, hang_s: float = 0) -> tuple[int, int]:
    """One AllReduce, from the call to the last proxy; returns when its kernel began and ended, by the host's clock."""
    function, datatype = nccl.text("AllReduce"), nccl.text("ncclFloat32")
    group = nccl.start(GROUP_API, at_28=("i", 1))
    nccl.state(group, 23)
    api = nccl.start(
        COLL_API, group, at_24=("Q", function), at_32=("Q", 1 << 20), at_40=("Q", datatype), at_56=("Q", 5)
    )
    nccl.stop(api)
    nccl.state(group, GROUP_ENDS)
    launch = nccl.start(LAUNCH, group, at_24=("Q", 5))
    nccl.stop(launch)
    inner = nccl.start(GROUP)
    coll = nccl.start(
        COLL, api, at_24=("Q", number), at_32=("Q", function), at_56=("Q", 1 << 20), at_72=("Q", datatype), at_80=("B", 1),
        at_88=("Q", nccl.text("RING")), at_96=("Q", nccl.text("SIMPLE")), at_104=("Q", inner),
    )  # fmt: skip
    nccl.stop(coll)
    nccl.stop(inner)
    nccl.stop(group)
    proxies = [
        nccl.start(
            PROXY_OP, coll, at_32=("i", (nccl.rank + step) % ranks), at_36=("i", 2), at_40=("i", 65536), at_44=("i", step > 0)
        )
        for step in (1, -1)
    ]  # fmt: skip
    for proxy in proxies:
        nccl.state(proxy, IN_PROGRESS)
    began = gpu_ns()
    kernel = nccl.start(KERNEL, coll, at_32=("Q", began))
    for number_of_step in range(2):
        for proxy, states in zip(proxies, (SEND_STATES, RECV_STATES), strict=True):
            step = nccl.start(STEP, proxy, at_24=("i", number_of_step))
            for state in states:
                nccl.state(step, state, 65536)
                if hang_s and state == RECV_STATES[0]:
                    time.sleep(hang_s)
                    return 0, 0
            nccl.stop(step)
    meet(nccl.rank, number, ranks)
    time.sleep(0.025)
    for proxy in proxies:
        nccl.stop(proxy)
    ended = gpu_ns()
    nccl.state(kernel, KERNEL_STOP, ended)
    nccl.stop(kernel)
    return began - GPU_AHEAD_NS, ended - GPU_AHEAD_NS


def write_kineto(path: str, rank: int, ranks: int, kernels: list[tuple[int, int]], late_ns: int) -> None:
    """A stand-in for the trace of PyTorch's profiler: the kernels of this process, and what called them."""
    base_ns = kernels[0][0] // 10**9 * 10**9
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    events: list[dict[str, object]] = []
    for began, ended in kernels:
        at, took = (began + late_ns - base_ns) / 1000, (ended - began) / 1000
        device = {"cat": "kernel", "name": name, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
        host = {"cat": "cpu_op", "name": "c10d::allreduce_", "pid": os.getpid(), "tid": os.getpid()}
        events += [{"ph": "X", "ts": at, "dur": took, **device}, {"ph": "X", "ts": at - 90, "dur": 40, **host}]
    said = {"backend": "nccl", "rank": rank, "world_size": ranks}
    whole = {"schemaVersion": 1, "distributedInfo": said, "baseTimeNanoseconds": base_ns, "traceEvents": events}
    Path(path).write_text(json.dumps(whole), encoding="utf-8")


def main(
    library: str,
    rank: int,
    ranks: int,
    operations: int,
    begin_ns: int,
    hang_s: float = 0,
    kineto: str = "",
    late_ns: int = 0,
) -> None:
    """Record a job of one rank."""
    nccl = Recorder(library, rank, ranks)
    kernels = []
    for number in range(operations):
        time.sleep(max(0, begin_ns + number * EVERY_NS - time.time_ns()) / 1e9)
        kernels.append(operation(nccl, number, ranks))
    if hang_s and rank == 0:
        time.sleep(hang_s)
    elif hang_s:
        operation(nccl, operations, ranks, hang_s=hang_s)
    nccl.finalize()
    if kineto:
        write_kineto(kineto, rank, ranks, kernels[operations // 4 :], late_ns)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        given[0],
        *map(int, given[1:5]),
        hang_s=float(given[5]) if given[5:] else 0,
        kineto=given[6] if given[6:] else "",
        late_ns=int(given[7]) if given[7:] else 0,
    )
