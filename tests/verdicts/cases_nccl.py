"""What recordings of NCCL's events and dumps of the Flight Recorder can lack, by command."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from .lacks import Case, none_of

HANG = Path(__file__).resolve().parents[2] / "examples" / "nccl_hang"
NAMES = sorted(path.name.removesuffix(".gz") for path in HANG.iterdir())


def _recordings(folder: Path, *, leave: tuple[int, ...] = ()) -> Path:
    """The recordings of the example, but for some."""
    into = folder / "recordings"
    into.mkdir()
    for rank, name in enumerate(NAMES):
        if rank not in leave:
            (into / name).write_bytes(gzip.decompress((HANG / f"{name}.gz").read_bytes()))
    return into


def _moving(make: Callable[[Path], Path]) -> Callable[[Path], list[str]]:
    """A diagnosis with so long a time to stall that nothing stands still: too few operations to say who was late."""
    return lambda folder: ["nccl", "diagnose", str(make(folder)), "--stall-after", "1000"]


def _empty(folder: Path) -> Path:
    """A folder whose only recording is an empty file."""
    into = folder / "recordings"
    into.mkdir()
    (into / "a-1-1.prlx-nccl").write_bytes(b"")
    return into


def _other(folder: Path) -> Path:
    """A folder whose only recording is something else."""
    into = folder / "recordings"
    into.mkdir()
    (into / "a-1-1.prlx-nccl").write_text('{"traceEvents": []}\n')
    return into


def _unused(folder: Path) -> Path:
    """Recordings of which nothing but tables and a part of a segment is left."""
    return _truncated(folder, ranks=NAMES)


def _truncated(folder: Path, *, ranks: list[str]) -> Path:
    """Recordings that are cut in the middle."""
    into = _recordings(folder)
    for name in ranks:
        whole = (into / name).read_bytes()
        (into / name).write_bytes(whole[: len(whole) // 2])
    return into


def _dump(*, ranks: int = 2, called: int = 3, **changed: object) -> dict[str, object]:
    """A dump of a rank that has called all_reduce so often."""
    entries = [
        {
            "record_id": n,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": n + 1,
            "p2p_seq_id": 0,
            "op_id": n + 1,
            "profiling_name": "nccl:all_reduce",
            "time_created_ns": 1_700_000_000_000_000_000 + n,
            "input_sizes": [[4]],
            "output_sizes": [[4]],
            "input_dtypes": ["Float"],
            "output_dtypes": ["Float"],
            "state": "completed",
            "retired": True,
            "is_p2p": False,
            "frames": [],
            **changed,
        }
        for n in range(called)
    ]
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}}
    return {"version": "2.10", "pg_config": config, "entries": entries}


def _flight(*dumps: object) -> Callable[[Path], list[str]]:
    """Dumps, a text being written as it is."""

    def make(folder: Path) -> list[str]:
        into = folder / "dumps"
        into.mkdir()
        for rank, dump in enumerate(dumps):
            text = dump if isinstance(dump, str) else json.dumps(dump)
            (into / f"trace_{rank}.json").write_text(text)
        return ["nccl", "flight", str(into)]

    return make


def _diagnose(make: Callable[[Path], Path]) -> Callable[[Path], list[str]]:
    return lambda folder: ["nccl", "diagnose", str(make(folder))]


def _watch(make: Callable[[Path], Path]) -> Callable[[Path], list[str]]:
    return lambda folder: ["nccl", "watch", str(make(folder)), "--rounds", "1", "--stall-after", "1000"]


def _merge(make: Callable[[Path], Path]) -> Callable[[Path], list[str]]:
    return lambda folder: ["nccl", "merge", str(make(folder)), "-o", str(folder / "out.json")]


def _collect(make: Callable[[Path], Path]) -> Callable[[Path], list[str]]:
    return lambda folder: ["nccl", "collect", str(make(folder)), "-o", str(folder / "out")]


def _one_operation(folder: Path) -> Path:
    """What NVIDIA's Inspector writes of one operation of two ranks."""
    into = folder / "recordings"
    into.mkdir()
    for rank in range(2):
        line = {
            "header": {"id": "0x7f8c", "comm_name": "world", "rank": rank, "n_ranks": 2, "nnodes": 2},
            "metadata": {"dump_timestamp_us": 1_748_030_377_748_202, "hostname": f"node{rank}", "pid": 7},
            "coll_perf": {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 1024, "coll_exec_time_us": 9},
        }
        (into / f"node{rank}-pid7.log").write_text(json.dumps(line) + "\n")
    return into


def _one_missing(folder: Path) -> Path:
    return _recordings(folder, leave=(1,))


def _cut(folder: Path) -> Path:
    return _truncated(folder, ranks=NAMES[1:2])


def _kernel_trace(folder: Path) -> Path:
    """A folder with a trace of a profiler, and no recording."""
    into = folder / "recordings"
    into.mkdir()
    shutil.copy(HANG.parent / "torch_ranks" / "rank0.pt.trace.json.gz", into)
    return into


CASES = [
    Case("nccl diagnose", "empty", _diagnose(_empty), "never finished being made"),
    Case("nccl diagnose", "nothing of the kind", _diagnose(_other), "not a recording"),
    Case("nccl diagnose", "one repetition", _diagnose(_one_operation), "who was late"),
    Case("nccl diagnose", "truncated", _moving(_cut), "records of rank 1"),
    Case("nccl diagnose", "one missing", _moving(_one_missing), "recording of rank 1"),
    Case("nccl diagnose", "unknown values", _diagnose(_unused), "not in the file"),
    Case("nccl watch", "empty", _watch(_empty), "never finished being made"),
    Case("nccl watch", "nothing of the kind", _watch(_kernel_trace), "holds no recording"),
    Case("nccl watch", "truncated", _watch(_cut), "records of rank 1"),
    Case("nccl watch", "one missing", _watch(_one_missing), "recording of rank 1"),
    Case("nccl watch", "unknown values", _watch(_unused), "not in the file"),
    Case("nccl merge", "empty", _merge(_empty), "never finished being made"),
    Case("nccl merge", "nothing of the kind", _merge(_other), "not a recording"),
    Case("nccl merge", "truncated", _merge(_cut), "records of rank 1"),
    Case("nccl merge", "one missing", _merge(_one_missing), "recording of rank 1"),
    Case("nccl merge", "unknown values", _merge(_unused), "nothing relates it"),
    Case("nccl collect", "empty", _collect(_empty), "never finished being made"),
    Case("nccl collect", "nothing of the kind", _collect(_other), "not a recording"),
    Case("nccl collect", "truncated", _collect(_cut), "not in the file"),
    Case("nccl collect", "one missing", _collect(_one_missing), "recording of rank 1 of world"),
    Case("nccl collect", "unknown values", _collect(_unused), "not in the file"),
    Case("nccl flight", "empty", _flight("", ""), "dump"),
    Case(
        "nccl flight",
        "nothing of the kind",
        _flight(_dump(called=0), _dump(called=0)),
        "none is in the dumps of two ranks",
    ),
    Case("nccl flight", "one repetition", _flight(_dump(called=1), _dump(called=0)), "rank 1 never called"),
    Case("nccl flight", "truncated", _flight(_dump(), json.dumps(_dump())[:500]), "dump of rank 1"),
    Case("nccl flight", "one missing", _flight(_dump(ranks=3), _dump(ranks=3)), "dump of rank 2"),
    Case(
        "nccl flight",
        "unknown values",
        _flight(_dump(profiling_name=""), _dump(profiling_name="")),
        "no operation",
    ),
]

_ONE_JOB = "it takes the recordings of one job"
NONE = {
    ("nccl diagnose", "one side empty"): _ONE_JOB,
    ("nccl watch", "one side empty"): _ONE_JOB,
    ("nccl merge", "one side empty"): _ONE_JOB,
    ("nccl collect", "one side empty"): _ONE_JOB,
    ("nccl flight", "one side empty"): _ONE_JOB,
    ("nccl watch", "one repetition"): "it says whether the job goes on, which chance does not decide",
    ("nccl merge", "one repetition"): "it draws what was recorded, and compares nothing",
    ("nccl collect", "one repetition"): "it copies what was recorded, and compares nothing",
    **none_of("nccl selftest", "it has no input: it plays NCCL to the plug-in, and what is not recorded fails"),
}
