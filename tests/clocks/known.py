"""Jobs of several processes whose clocks have known errors, and how far what prlx made of their traces is from the truth."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import prlx

HERE = Path(__file__).parent
CLOCK = HERE.parents[1] / "examples" / "known_clocks" / "clock.c"
# Of one host after the other, as far as a job has them: us ahead, ppm fast.
CLOCKS = ((0, 0), (37_000, 120), (-5_200, -80), (250, 35), (-900_000, -150), (1_500_000, 90), (12, -5), (-61_000, 200))


@dataclass(frozen=True)
class KnownClock:
    """A clock whose error is known."""

    offset_ns: int
    drift_ppb: int
    anchor_ns: int

    def shown(self, true: int) -> int:
        """What it shows at a true instant."""
        return true + self.offset_ns + (true - self.anchor_ns) * self.drift_ppb // 10**9

    def true(self, shown: int) -> int:
        """The true instant at which it shows this."""
        true = shown
        for _ in range(6):
            true += shown - self.shown(true)
        return true


@dataclass
class Job:
    """A job that has run: the clock of each rank, and what its processes said."""

    directory: Path
    clocks: list[KnownClock]
    answers: list[dict[str, Any]]

    def errors_ns(self, raw: list[Path], aligned: list[Path]) -> list[int]:
        """How far the events of aligned traces of other hosts are from the truth on the clock of rank 0, ascending."""
        found = []
        for clock, before, after in zip(self.clocks, raw, aligned, strict=True):
            if clock == self.clocks[0]:
                continue
            shown, put = events(before), events(after)
            assert {key: len(starts) for key, starts in shown.items()} == {
                key: len(starts) for key, starts in put.items()
            }
            for key, starts in shown.items():
                for start, placed in zip(starts, put[key], strict=True):
                    found.append(abs(placed - self.clocks[0].shown(clock.true(start))))
        return sorted(found)

    def merged_errors_ns(self, raw: Path, aligned: Path) -> list[int]:
        """The same of one JSON of all ranks, beside one in which no clock was corrected."""
        found = []
        for (rank, start), (same, placed) in zip(merged_events(raw), merged_events(aligned), strict=True):
            assert rank == same
            clock = self.clocks[rank]
            if clock != self.clocks[0]:
                found.append(abs(placed - self.clocks[0].shown(clock.true(start))))
        return sorted(found)


def merged_events(path: Path) -> Iterator[tuple[int, int]]:
    """The events of a combined JSON: rank, and start in ns."""
    document = json.loads(path.read_text(), parse_float=Decimal)
    ranks = {pid: node["rank"] for node in document["prlxAlignment"]["nodes"] for pid in node["processes"]}
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and event["pid"] in ranks:
            yield ranks[event["pid"]], document.get("baseTimeNanoseconds", 0) + int(Decimal(event["ts"]) * 1000)


def events(path: Path) -> dict[tuple[str, str], list[int]]:
    """The starts of the events of a trace's host, in ns, by line and name, ascending."""
    table = prlx.open(path).events
    found = defaultdict(list)
    columns = (table[name].tolist() for name in ("plane", "line", "name", "start_ns"))
    for plane, line, name, start in zip(*columns, strict=True):
        if plane != "/host:snapshots":
            found[f"{line}", name].append(start)
    return {key: sorted(starts) for key, starts in found.items()}


def run(python: str, framework: str, directory: Path, scratch: Path, hosts: list[int]) -> Job:
    """Run a job with one process on each host named: processes of one host have one clock."""
    library = scratch / "clock.so"
    try:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, CLOCK], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler: the clocks of processes cannot be made wrong")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    probers = []
    for _ in set(hosts):
        with socket.socket(type=socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            probers.append(f"127.0.0.1:{free.getsockname()[1]}")
    now = time.time_ns()
    known = [KnownClock(us * 1000, ppm * 1000, now) for us, ppm in CLOCKS]
    environment = {**os.environ, "PYTHONPATH": str(Path(prlx.__file__).parent.parent), "LD_PRELOAD": str(library)}
    environment |= {"KNOWN_PEERS": ",".join(probers), "PRLX_JOB_KEY": "a key of the job on known clocks"}
    for name in ("RANK", "WORLD_SIZE", "PRLX_SNAPSHOT_PERIOD_MS"):
        environment.pop(name, None)
    running = []
    for rank, host in enumerate(hosts):
        one = known[host]
        mine = {"KNOWN_CLOCK": f"{one.offset_ns},{one.drift_ppb},{one.anchor_ns}", "KNOWN_HOST": str(host)}
        asked = [python, HERE / "known_process.py", framework, directory, str(rank), str(len(hosts)), str(port)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen(asked, env={**environment, **mine}, **pipes))  # type: ignore[call-overload]
    try:
        ended = [process.communicate(timeout=600) for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()
    if any(process.returncode == 77 for process in running):
        pytest.skip("processes may not have host names of their own here: that takes root")
    assert not any(process.returncode for process in running), "\n".join(errors for _, errors in ended)
    return Job(directory, [known[host] for host in hosts], [json.loads(said.splitlines()[-1]) for said, _ in ended])


def by_rank(paths: Any) -> list[Path]:
    """Paths in the order of the ranks that their contents or names state, or their hosts where each has one."""

    def rank(path: Path) -> int:
        inside = prlx.open(path).ranks
        found = re.search(r"rank(\d+)", path.name) or re.search(r"node(\d+)", path.name)
        return inside[0] if inside or not found else int(found[1])

    return sorted(paths, key=rank)
