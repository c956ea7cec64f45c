"""What the annotations of a training run say about its kernels: forward pass, backward pass or optimizer.

PyTorch's profiler writes what the host did beside the kernels. A kernel belongs to the backward pass where the thread that
launched it was in a function of autograd or in a range called backward, to the optimizer where it was in ``Optimizer.step``,
and else to the forward pass. That is what ``test_training.py`` compares phases with.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

BACKWARD = re.compile(
    r"^autograd::engine::evaluate_function|AccumulateGrad|Backward\d*$|^#* ?backward ?#*$", re.IGNORECASE
)
OPTIMIZER = re.compile(r"^Optimizer\.step|^#* ?optimizer[_. ]?step", re.IGNORECASE)
STEP = re.compile(r"^ProfilerStep#\d+")
PARTS = ("train-fwd", "train-bwd", "optimizer")


def rank(event: dict[str, Any]) -> int:
    """The rank of an event in a file of several; 0 where it holds one."""
    pid = event.get("pid")
    return pid // RANK_STEP if isinstance(pid, int) else 0


def read(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes()
    found = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
    return found if isinstance(found, list) else found["traceEvents"]


class Launches:
    """For each thread of the host: when it was in which part."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        spans: dict[tuple[Any, Any], dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
        for event in events:
            if event.get("ph") != "X" or "dur" not in event:
                continue
            name = str(event.get("name", ""))
            part = "train-bwd" if BACKWARD.search(name) else "optimizer" if OPTIMIZER.search(name) else ""
            if part and "gpu" not in str(event.get("cat", "")):
                start = float(event["ts"])
                spans[event.get("pid"), event.get("tid")][part].append((start, start + float(event["dur"])))
        self.spans = {thread: {part: merged(list_) for part, list_ in parts.items()} for thread, parts in spans.items()}

    def part(self, thread: tuple[Any, Any], at: float) -> str:
        parts = self.spans.get(thread, {})
        for part in ("optimizer", "train-bwd"):
            spans = parts.get(part, [])
            k = bisect.bisect_right(spans, (at, float("inf"))) - 1
            if k >= 0 and spans[k][1] >= at:
                return part
        return "train-fwd"


def merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    out: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


RANK_STEP = 100_000_000
"""In files of several ranks the ids of processes are offset by so much a rank."""


def labelled(path: Path) -> list[tuple[float, int, str]]:
    """Kernels in order of time: start in us, rank, part. Empty where the recording has no launches or no autograd."""
    events = read(path)
    launches = Launches(events)
    if not any("train-bwd" in parts for parts in launches.spans.values()):
        return []
    launched: dict[Any, tuple[tuple[Any, Any], float]] = {}
    for event in events:
        if "untime" in str(event.get("cat", "")) or str(event.get("cat", "")).endswith("driver"):
            args = event.get("args", {})
            correlation = args.get("correlation", args.get("correlation id"))
            if correlation is not None:
                launched[rank(event), correlation] = ((event.get("pid"), event.get("tid")), float(event["ts"]))
    out = []
    for event in events:
        if str(event.get("cat", "")).lower() != "kernel" or "dur" not in event:
            continue
        args = event.get("args", {})
        correlation = args.get("correlation", args.get("correlation id"))
        if (rank(event), correlation) in launched and not re.match(r"nccl", str(event["name"]), re.IGNORECASE):
            thread, at = launched[rank(event), correlation]
            out.append((float(event["ts"]), rank(event), launches.part(thread, at)))
    return sorted(out)


def truth(
    kernels: list[tuple[float, int, str]], windows: list[tuple[int, float, float]]
) -> tuple[str, dict[str, float]]:
    """A part where nine in ten kernels of the repetitions (rank, start and end in us) are of it, else training."""
    by_rank: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for at, of, part in kernels:
        by_rank[of].append((at, part))
    starts = {of: [at for at, _ in list_] for of, list_ in by_rank.items()}
    count: dict[str, int] = dict.fromkeys(PARTS, 0)
    for of, start, end in windows:
        for k in range(bisect.bisect_left(starts.get(of, []), start), bisect.bisect_left(starts.get(of, []), end)):
            count[by_rank[of][k][1]] += 1
    total = sum(count.values())
    if total == 0:
        return "", {}
    shares = {part: n / total for part, n in count.items()}
    for part, share in shares.items():
        if share >= 0.9:
            return part, shares
    return "training", shares
