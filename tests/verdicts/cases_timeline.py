"""What combine, validate, solve and probe say where evidence is absent."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prlx

from .lacks import Case

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RANKS = EXAMPLES / "torch_ranks"
P4 = EXAMPLES / "jax_p4"


def ranks(folder: Path, only: tuple[int, ...] = (0, 1, 2, 3), change: Callable[[str], str] = str) -> list[str]:
    """The traces of some ranks of the example, changed as text; the words that name them."""
    (folder / "in").mkdir()
    for rank in only:
        text = gzip.decompress((RANKS / f"rank{rank}.pt.trace.json.gz").read_bytes()).decode()
        (folder / "in" / f"rank{rank}.json").write_text(change(text))
    return ["in"]


def without_collectives(text: str) -> str:
    """The trace with other names for its collectives."""
    return text.replace("gloo:", "other:")


def without_times(text: str) -> str:
    """The trace with zero for every start and duration."""
    return re.sub(
        r'"(ts|dur)": [0-9.]+', r'"\1": 0', re.sub(r'"baseTimeNanoseconds": \d+', '"baseTimeNanoseconds": 0', text)
    )


def combining(make: Callable[[Path], list[str]]) -> Callable[[Path], list[str]]:
    """The inputs, combined."""
    return lambda folder: ["combine", *make(folder), "-o", "out.json"]


def in_order(folder: Path, only: tuple[int, ...] = (0, 1, 2), **said: Any) -> list[str]:
    """Ranks of a job of three on one clock, with collectives in a possible order: they pass but for what they lack."""
    (folder / "in").mkdir(exist_ok=True)
    for rank in only:
        args = {
            "Collective name": "allreduce",
            "Process Group Name": "0",
            "Process Group Ranks": "[0, 1, 2]",
            "Group size": 3,
        }
        kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 7}
        events = [
            {
                **kernel,
                "ts": 1_700_000_000_000_000 + 1000 * number + rank,
                "dur": 200,
                "args": {**args, "Seq": number},
                **said,
            }
            for number in range(30)
        ]
        document = {"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": events}
        (folder / f"in/rank{rank}.json").write_text(json.dumps(document))
    return ["in"]


def in_order_one_empty(folder: Path) -> list[str]:
    """Two of them, and an empty file in the place of the third."""
    words = in_order(folder, (0, 1))
    (folder / "in/rank2.json").write_text("")
    return words


def in_order_cut(folder: Path) -> list[str]:
    """Three of them, of which one was cut."""
    words = in_order(folder)
    text = (folder / "in/rank2.json").read_text()
    (folder / "in/rank2.json").write_text(text[: len(text) // 3])
    return [*words, "--salvage"]


def empty(folder: Path) -> list[str]:
    """A directory that holds nothing."""
    (folder / "in").mkdir()
    return ["in"]


def one_empty(folder: Path) -> list[str]:
    """Three ranks, and an empty file in the place of the fourth."""
    words = ranks(folder, (0, 1, 2), lambda text: text.replace('"world_size"', '"size_of_world"'))
    (folder / "in/rank3.json").write_text("")
    return words


def cut(folder: Path) -> list[str]:
    """Four ranks, of which one was cut."""
    words = ranks(folder)
    text = (folder / "in/rank3.json").read_text()
    (folder / "in/rank3.json").write_text(text[: len(text) // 3])
    return [*words, "--salvage"]


def alignment(
    folder: Path, name: str, change: Callable[[dict[str, Any]], None] = lambda _: None, **options: Any
) -> str:
    """The document of an alignment of the example, changed."""
    prlx.combine_traces(P4, output=folder / name, progress=False, **options)
    document = json.loads((folder / name / "alignment.json").read_text())
    change(document)
    (folder / name / "alignment.json").write_text(json.dumps(document))
    return name


def without_a_node(document: dict[str, Any]) -> None:
    """The document without its last node."""
    del document["nodes"][-1]


def comparing(**second: Any) -> Callable[[Path], list[str]]:
    """An alignment by probes beside another one."""
    return lambda folder: ["combine", "--compare", alignment(folder, "a"), alignment(folder, "b", **second)]


def comparing_file(text: Callable[[str], str]) -> Callable[[Path], list[str]]:
    """An alignment beside a file with a part of its text."""

    def words(folder: Path) -> list[str]:
        name = alignment(folder, "a")
        (folder / "b.json").write_text(text((folder / name / "alignment.json").read_text()))
        return ["combine", "--compare", name, "b.json"]

    return words


def probes(folder: Path, nodes: tuple[int, ...] = (0, 1), change: Callable[[list[str]], str] = "".join) -> list[str]:
    """Files of probes of the example, changed as lines."""
    for node in nodes:
        lines = (P4 / f"probes_node{node}.jsonl").read_text().splitlines(keepends=True)
        (folder / f"probes_node{node}.jsonl").write_text(change(lines))
    return [f"probes_node{node}.jsonl" for node in nodes]


def solving(
    nodes: tuple[int, ...] = (0, 1), change: Callable[[list[str]], str] = "".join
) -> Callable[[Path], list[str]]:
    """Such files, solved."""
    return lambda folder: ["solve", *probes(folder, nodes, change)]


def meta_alone(_: list[str]) -> str:
    """What a prober writes whom nobody answers."""
    said = {
        "meta": True,
        "schema": "prlx.probes/1",
        "node_id": 0,
        "name": "a:1",
        "host_clock": "x",
        "session": "y",
        "peers": 2,
    }
    return json.dumps(said) + "\n"


def solving_one_empty(folder: Path) -> list[str]:
    """The probes of one node beside an empty file."""
    (folder / "probes_node1.jsonl").write_text("")
    return ["solve", *probes(folder, (0,)), "probes_node1.jsonl"]


def unreachable(folder: Path) -> list[str]:
    """Probe windows in which nobody could be reached."""
    edge = {"dst": 1, "reachable": False}
    rows = [
        {"node_id": 0, "window_start_ns": n * 10**9, "window_end_ns": (n + 1) * 10**9, "edges": [edge]}
        for n in range(1, 9)
    ]
    (folder / "windows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["solve", "windows.jsonl"]


def another_part(folder: Path) -> list[str]:
    """Probes of four nodes, of which two exchanged none with the others."""
    apart = [line for line in (P4 / "probes_node2.jsonl").read_text().splitlines(keepends=True) if '"dst":3' in line]
    (folder / "probes_node2.jsonl").write_text("".join(apart))
    kept = [line for line in (P4 / "probes_node0.jsonl").read_text().splitlines(keepends=True) if '"dst":1' in line]
    (folder / "probes_node0.jsonl").write_text("".join(kept))
    return ["solve", "probes_node0.jsonl", "probes_node2.jsonl"]


def alone(folder: Path) -> list[str]:
    """A prober at whose peer nobody runs."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    peers = ",".join(f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    (folder / "job.key").touch(mode=0o600)
    (folder / "job.key").write_text("a key of at least sixteen bytes")
    (folder / "job.key").chmod(0o600)
    return ["probe", "--peers", peers, "--node", "0", "-o", "probes", "--duration", "0.2s", "--job-file", "job.key"]


def one_file(folder: Path) -> list[str]:
    """A trace alone."""
    shutil.copyfile(RANKS / "rank0.pt.trace.json.gz", folder / "rank0.json.gz")
    return ["rank0.json.gz"]


CASES = [
    Case("combine", "empty", combining(empty), "no traces in this directory"),
    Case("combine", "one side empty", combining(one_empty), "passed over: rank3.json"),
    Case(
        "combine",
        "nothing of the kind",
        combining(lambda folder: ranks(folder, change=without_collectives)),
        "not aligned",
    ),
    Case("combine", "one repetition", combining(one_file), "not aligned"),
    Case("combine", "truncated", combining(cut), "cut and salvaged: rank3"),
    Case(
        "combine",
        "one missing",
        combining(lambda folder: ranks(folder, (0, 1, 3))),
        "3 of 4 ranks have a trace, rank 2 has none",
    ),
    Case("combine", "unknown values", combining(lambda folder: ranks(folder, change=without_times))),
    Case("combine --compare", "empty", comparing_file(lambda _: ""), "empty"),
    Case(
        "combine --compare",
        "one side empty",
        comparing_file(lambda _: '{"schema": "prlx.combine/1", "nodes": []}'),
        "names no nodes",
    ),
    Case("combine --compare", "nothing of the kind", comparing(method="wall"), "no clock could be compared"),
    Case("combine --compare", "truncated", comparing_file(lambda text: text[: len(text) // 2])),
    Case(
        "combine --compare", "one missing", comparing(change=without_a_node), "only one of the documents has that node"
    ),
    Case("combine --compare", "unknown values", comparing(method="wall"), "relates its clock"),
    Case("validate", "empty", lambda folder: ["validate", *empty(folder)], "no traces in this directory"),
    Case(
        "validate",
        "one side empty",
        lambda folder: ["validate", *in_order_one_empty(folder)],
        "passed over: rank2.json",
    ),
    Case(
        "validate", "nothing of the kind", lambda folder: ["validate", *in_order(folder, cat="cpu_op")], "no collective"
    ),
    Case("validate", "one repetition", lambda folder: ["validate", *one_file(folder)], "could be judged"),
    Case("validate", "truncated", lambda folder: ["validate", *in_order_cut(folder)], "cut and salvaged: rank2"),
    Case(
        "validate",
        "one missing",
        lambda folder: ["validate", *in_order(folder, (0, 2))],
        "2 of 3 ranks have a trace, rank 1 has none",
    ),
    Case(
        "validate",
        "unknown values",
        lambda folder: ["validate", *in_order(folder, ts=1_700_000_000_000_000, dur=0)],
        "times were not recorded",
    ),
    Case("solve", "empty", solving(change=lambda _: ""), "is empty"),
    Case("solve", "one side empty", solving_one_empty, "is empty"),
    Case("solve", "nothing of the kind", solving((0,), meta_alone)),
    Case("solve", "truncated", solving(change=lambda lines: "".join(lines)[:-40]), "ends inside a line"),
    Case("solve", "one missing", another_part, "exchanged no usable probes"),
    Case("solve", "unknown values", unreachable),
    Case("probe", "one side empty", alone, "no probe was answered"),
]

NONE = {
    ("combine --compare", "one repetition"): "clocks are compared instant by instant, and no chance is weighed",
    ("solve", "one repetition"): "one probe bounds a clock by half of its round trip, and the bound says so",
    ("probe", "empty"): "an empty list of peers is a mistake of the request, which is refused with code 2",
    ("probe", "nothing of the kind"): "its inputs are hosts, not files",
    ("probe", "one repetition"): "one answered probe bounds a clock by half of its round trip",
    ("probe", "truncated"): "its inputs are hosts, not files",
    ("probe", "one missing"): "a peer that does not answer is the case of one side empty",
    ("probe", "unknown values"): "what it measures is an answer or none",
}
