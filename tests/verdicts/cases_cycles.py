"""What ``prlx cycles`` and ``prlx cycles compare`` are given where evidence is absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .lacks import Case


def steps(count: int, *, dur_us: float | None = 50.0) -> list[dict[str, Any]]:
    """Steps of 20 kernels."""
    events = []
    now = 0.0
    for _ in range(count):
        for kernel in range(20):
            event = {"ph": "X", "cat": "kernel", "name": f"k{kernel}", "pid": 0, "tid": 7, "ts": now}
            events.append(event if dur_us is None else {**event, "dur": dur_us})
            now += (dur_us or 0.0) + 0.3
        now += 40.0
    return events


def write(path: Path, events: list[dict[str, Any]], **more: Any) -> str:
    path.write_text(json.dumps({**more, "traceEvents": events}))
    return path.name


def cut(path: Path) -> str:
    """A trace of 40 steps whose last third is missing."""
    text = json.dumps({"traceEvents": steps(40)})
    path.write_text(text[: 2 * len(text) // 3])
    return path.name


def ranks(folder: Path, letter: str, count: int) -> list[str]:
    """Files of some ranks of a job of four."""
    return [
        write(folder / f"{letter}{rank}.json", steps(40), distributedInfo={"rank": rank, "world_size": 4})
        for rank in range(count)
    ]


def host_only(path: Path) -> str:
    """Operations of a CPU, and no kernel."""
    return write(path, [{**event, "cat": "cpu_op"} for event in steps(40)])


def alone(make: Any) -> Any:
    return lambda folder: ["cycles", make(folder / "a.json")]


def both(make: Any) -> Any:
    return lambda folder: ["cycles", "compare", make(folder / "a.json"), make(folder / "b.json")]


def beside_whole(make: Any) -> Any:
    return lambda folder: ["cycles", "compare", write(folder / "a.json", steps(40)), make(folder / "b.json")]


def two_of_four(folder: Path) -> list[str]:
    return ["cycles", *ranks(folder, "a", 2)]


def one_unreadable(folder: Path) -> list[str]:
    (folder / "b.json").write_text("no trace")
    return ["cycles", write(folder / "a.json", steps(40)), "b.json", "--skip-unreadable"]


def merged_of_four(path: Path) -> str:
    """Two ranks of a job of four in one file, as Kineto's documents behind each other."""
    with path.open("w") as out:
        for rank in range(2):
            info = {"rank": rank, "world_size": 4}
            out.write(json.dumps({"distributedInfo": info, "traceEvents": steps(40)}) + "\n")
    return path.name


CASES = [
    Case("cycles", "empty", alone(lambda path: write(path, [])), "holds none of a GPU or TPU"),
    Case("cycles", "nothing of the kind", alone(host_only), "holds none of a GPU or TPU"),
    Case("cycles", "one repetition", alone(lambda path: write(path, steps(1))), "nothing repeats"),
    Case("cycles", "truncated", alone(cut), "the file is cut"),
    Case("cycles", "one missing", two_of_four, "2 ranks"),
    Case("cycles", "one missing", one_unreadable, "left out"),
    Case("cycles", "unknown values", alone(lambda path: write(path, steps(40, dur_us=0.0))), "all are zero"),
    Case("cycles", "unknown values", alone(lambda path: write(path, steps(40, dur_us=None)))),
    Case("cycles compare", "empty", both(lambda path: write(path, [])), "holds none of a GPU or TPU"),
    Case("cycles compare", "one side empty", beside_whole(lambda path: write(path, [])), "kernels of B"),
    Case("cycles compare", "nothing of the kind", both(host_only), "holds none of a GPU or TPU"),
    Case("cycles compare", "one repetition", both(lambda path: write(path, steps(1))), "nothing in it repeats"),
    Case("cycles compare", "one repetition", both(lambda path: write(path, steps(3))), "a test needs 8"),
    Case("cycles compare", "truncated", beside_whole(cut), "the rest of the trace of B"),
    Case("cycles compare", "one missing", both(merged_of_four), "2 ranks of A"),
    Case("cycles compare", "unknown values", both(lambda path: write(path, steps(40, dur_us=0.0))), "all are zero"),
]

NONE = {("cycles", "one side empty"): "it takes one run: there are no sides"}
