"""What traces of ranks and recordings of two runs can lack, where it is asked who was late and what became slower."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .lacks import Case

HANG = Path(__file__).resolve().parents[2] / "examples" / "nccl_hang"
MEMBERS = 4
STEP_US = 10_000

Event = dict[str, Any]


def traces(
    folder: Path,
    *,
    ranks: tuple[int, ...] = (0, 1, 2, 3),
    times: int = 40,
    kernel: str = "ncclDevKernel_AllReduce",
    apart: bool = False,
) -> Path:
    """Traces of PyTorch of a job that runs well: each rank computes and reduces.

    The group says how many ranks it has. ``apart``: each rank has a host of its own, and nothing relates their clocks.
    """
    into = folder / "traces"
    into.mkdir()
    for rank in ranks:
        skew = 1_000_000 * rank if apart else 0
        events = [_event(kernel, n, rank, skew) for n in range(times)]
        document = {
            "deviceProperties": [{"id": rank, "name": "H100"}],
            "distributedInfo": {"rank": rank, "world_size": MEMBERS, "backend": "nccl"},
            "traceEvents": events,
        }
        document |= {"baseTimeNanoseconds": 1_700_000_000_000_000_000, "host_name": f"host{rank if apart else 0}"}
        (into / f"rank{rank}.json").write_text(json.dumps(document))
    return into


def _event(kernel: str, n: int, rank: int, skew_us: int) -> Event:
    """One kernel: they enter a little apart, and leave together."""
    enter = n * STEP_US + 7 * ((n + rank) % 4)
    args: Event = {"device": rank, "stream": 7}
    if kernel.startswith("nccl"):
        args |= {
            "Collective name": "allreduce",
            "Process Group Name": "0",
            "Group size": MEMBERS,
            "In msg nelems": 4096,
        }
        args |= {"dtype": "Float", "Seq": n}
    return {
        "ph": "X",
        "cat": "kernel",
        "name": kernel,
        "pid": rank,
        "tid": 7,
        "ts": 1_000_000 + skew_us + enter,
        "dur": n * STEP_US + 1_000 - enter,
        "args": args,
    }


def _late(make: Callable[[Path], Path], *options: str) -> Callable[[Path], list[str]]:
    return lambda folder: ["stragglers", str(make(folder)), *options]


def _nothing(folder: Path) -> Path:
    """Traces whose list of events is empty."""
    into = traces(folder, times=0)
    assert len(list(into.iterdir())) == MEMBERS
    return into


def _cut(folder: Path) -> Path:
    """The trace of one rank ends in the middle."""
    into = traces(folder)
    whole = (into / "rank3.json").read_bytes()
    (into / "rank3.json").write_bytes(whole[: len(whole) // 2])
    return into


def _recordings(into: Path, *, leave: int = 0, cut: bool = False) -> str:
    """A run of the example: without the first so many of its ranks, or with one that is cut."""
    into.mkdir()
    for rank, path in enumerate(sorted(HANG.iterdir())):
        whole = gzip.decompress(path.read_bytes())
        if rank >= leave:
            (into / path.name.removesuffix(".gz")).write_bytes(whole[: len(whole) // 2] if cut and rank == 3 else whole)
    return str(into)


def _compared(a: Callable[[Path], str], b: Callable[[Path], str]) -> Callable[[Path], list[str]]:
    return lambda folder: ["nccl", "report", "--compare", a(folder / "a"), b(folder / "b")]


def _empty(into: Path) -> str:
    """A run whose only recording is an empty file."""
    into.mkdir()
    (into / "a-1-1.prlx-nccl").write_bytes(b"")
    return str(into)


def _inspector(into: Path, *, times: int = 1) -> str:
    """A run as NVIDIA's Inspector writes it without NCCL_INSPECTOR_DUMP_VERBOSE: how long operations took, and not when."""
    into.mkdir()
    for rank in range(2):
        lines = [
            {
                "header": {"id": "0xfeed", "rank": rank, "n_ranks": 2, "nnodes": 1},
                "metadata": {
                    "inspector_output_format_version": "v4.0",
                    "dump_timestamp_us": 1_700_000_000_000_000 + n,
                    "hostname": "host",
                    "pid": 100 + rank,
                },
                "coll_perf": {
                    "coll": "AllReduce",
                    "coll_sn": n,
                    "coll_msg_size_bytes": 4096,
                    "coll_exec_time_us": 100,
                    "coll_timing_source": "kernel_gpu",
                },
            }
            for n in range(times)
        ]
        (into / f"host-pid{100 + rank}.log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(into)


def _well(into: Path) -> str:
    return _recordings(into)


CASES = [
    Case("stragglers", "empty", _late(_nothing)),
    Case("stragglers", "nothing of the kind", _late(lambda folder: traces(folder, kernel="gemm"))),
    Case("stragglers", "one repetition", _late(lambda folder: traces(folder, times=1)), "repetitions"),
    Case("stragglers", "truncated", _late(_cut, "--salvage"), "rank3"),
    Case("stragglers", "truncated", _late(_cut, "--skip-unreadable"), "rank3"),
    Case("stragglers", "one missing", _late(lambda folder: traces(folder, ranks=(0, 1, 2)))),
    Case("stragglers", "unknown values", _late(lambda folder: traces(folder, apart=True), "--method", "wall")),
    Case("nccl report --compare", "empty", _compared(_empty, _empty)),
    Case("nccl report --compare", "one side empty", _compared(_well, _empty)),
    Case("nccl report --compare", "one repetition", _compared(_inspector, _inspector)),
    Case("nccl report --compare", "truncated", _compared(_well, lambda into: _recordings(into, cut=True)), "damaged"),
    Case("nccl report --compare", "one missing", _compared(_well, lambda into: _recordings(into, leave=1))),
    Case("nccl report --compare", "unknown values", _compared(*2 * [lambda into: _inspector(into, times=40)])),
]

NONE = {
    ("stragglers", "one side empty"): "it takes one job",
    (
        "nccl report --compare",
        "nothing of the kind",
    ): "recordings without operations are the empty case",
}
