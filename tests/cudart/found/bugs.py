"""What has to be found in real.cu and seeded.cu: check, lane, memory; comments in them say at which line.

It was written down before anything ran on it. The first run found 39 of 49. Since then: real.cu draws its numbers (a race that
writes what is there is none by the check's definition), "neighbour" names the other of its two lanes, "loop_barrier" is in
BY_RULE (whoever has left a kernel is not waited for, by CUDA's guide), "half_shuffle" in MISSED.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One bug: which check finds it, which lane (None: the program did it), in what memory, where it was reported."""

    check: str
    lane: int | None = None
    memory: str = ""
    issue: str = ""


REAL = {
    "boxfilter": Bug("out-of-bounds", 20, "allocation 0", "ORNL/HeCBench#112"),
    "dxtc2": Bug("out-of-bounds", 1, "allocation 0", "ORNL/HeCBench#132"),
    "marching_cubes": Bug("shared-race", 0, "shared memory", "ORNL/HeCBench#254"),
    "surfel": Bug("shared-race", 0, "shared memory", "ORNL/HeCBench#253"),
    "floyd_warshall": Bug("shared-race", 0, "shared memory", "ORNL/HeCBench#261"),
    "warp_sum": Bug("warp-race", 0, "shared memory", "CanReader/FastNN#8"),
    "tvm_slice": Bug("misaligned", 0, "", "apache/tvm#8540"),
    "paddle_qkv": Bug("misaligned", 0, "", "PaddlePaddle/Paddle#23090"),
    "failed_malloc": Bug("null-pointer", 0, "", "ORNL/HeCBench#131"),
    "early_return": Bug("barrier-divergence", 0, "", "pytorch/FBGEMM#5857"),
    "kron": Bug("uninitialised-global", 0, "allocation 1", "NVIDIA/cuda-quantum#2475"),
    "popsift": Bug("out-of-bounds", 0, "shared", "alicevision/popsift#109"),
    "kbmod": Bug("shared-race", 0, "shared memory", "dirac-institute/kbmod#108"),
    "get_value": Bug("unwaited-copy", None, "", "NVIDIA/cudf#6700"),
    "reset_then_free": Bug("bad-free", None, "", "chrxh/alien#101"),
    "wrong_branch": Bug("bad-free", None, "no allocation begins there", "deepmodeling/abacus-develop#736"),
}

SEEDED = {
    "off_by_one": Bug("out-of-bounds", 8, "allocation 0"),  # element 1000 of 256 a block: warp 7 of block 3
    "before_begin": Bug("out-of-bounds", 0, "allocation 0"),
    "row_pitch": Bug("out-of-bounds", 12, "allocation 0"),  # row 38 begins at element 988
    "stencil": Bug("out-of-bounds", 7, "allocation 0"),
    "shared_bounds": Bug("out-of-bounds", 31, "s"),
    "wide_store": Bug("out-of-bounds", 26, "allocation 0"),  # 250 of them fit
    "negative_atomic": Bug("out-of-bounds", 0, "allocation 1"),
    "misaligned_load": Bug("misaligned", 0),
    "misaligned_vector": Bug("misaligned", 1),
    "after_free": Bug("use-after-free", 0, "allocation 0"),
    "after_free_inside": Bug("use-after-free", 0, "allocation 0"),
    "no_barrier": Bug("shared-race", 0, "shared memory"),
    "scan": Bug("shared-race", 0, "shared memory"),
    "shared_count": Bug("shared-race", 0, "shared memory"),
    "global_count": Bug("global-race", 0, "allocation 0"),
    "neighbour": Bug("global-race", 0, "allocation 0"),  # of warp 1; the other is lane 31 of warp 0
    "flag": Bug("global-race", 0, "allocation 1"),
    "half_barrier": Bug("barrier-divergence", 0),
    "lane_swap": Bug("warp-race", 0, "shared memory"),
    "unwritten_shared": Bug("uninitialised-shared", 16),
    "unwritten_sum": Bug("uninitialised-global", 0, "allocation 1"),
    "unwritten_max": Bug("uninitialised-global", 0, "allocation 1"),
    "unwritten_local": Bug("uninitialised-local", 3),
    "too_many_blocks": Bug("out-of-bounds", 8, "allocation 0"),
    "little_shared": Bug("out-of-bounds", 0, "s"),  # of warp 1
    "host_pointer": Bug("out-of-bounds", 0),
    "null_pointer": Bug("null-pointer", 0),
    "double_free": Bug("bad-free", None, "it was freed before"),
    "free_inside": Bug("bad-free", None, "no allocation begins there"),
    "free_of_host": Bug("bad-free", None, "no allocation begins there"),
    "unwaited": Bug("unwaited-copy"),
}

BY_RULE = {
    "loop_barrier": Bug("barrier-divergence", 0),
}
"""What its author took for a bug, and CUDA allows."""

MISSED = {
    "half_shuffle": Bug("bad-shuffle", 0),
}
"""What is not found: lanes that end without another shuffle may be named in a mask, so that compilers may join returns."""

BESIDE = {
    "out-of-bounds": "memcheck",
    "misaligned": "memcheck",
    "null-pointer": "memcheck",
    "use-after-free": "memcheck",
    "shared-race": "racecheck",
    "warp-race": "racecheck",
    "global-race": "none: racecheck looks at shared memory",
    "barrier-divergence": "synccheck",
    "uninitialised-global": "initcheck",
    "uninitialised-shared": "none: initcheck looks at global memory",
    "uninitialised-local": "none: initcheck looks at global memory",
    "bad-free": "memcheck, by the error that the call returns",
    "unwaited-copy": "none is documented",
}
"""Which tool of Compute Sanitizer looks for what each check finds, by its documentation: nobody ran both on these bugs."""


def table() -> list[str]:
    """The rows of docs/cuda.md: how many of the bugs are named, and which tool looks for such."""
    every = [bug.check for bug in (*REAL.values(), *SEEDED.values())]
    rows = [f"| `{check}` | {every.count(check)} | {tool} |" for check, tool in BESIDE.items()]
    return ["| check | bugs named, of as many | Compute Sanitizer |", "|---|---|---|", *rows]
