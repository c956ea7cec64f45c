"""Processes of ``prlx.clocks`` find each other without a framework: with the list of peers and the key of the job alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import prlx

HERE = Path(__file__).parent
LARGE = pytest.mark.skipif(not os.environ.get("PRLX_CLOCKS_ALL"), reason="make corpus runs it: many processes")


def free_ports(count: int) -> list[int]:
    """UDP ports of loopback that nobody has."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


def answered(folder: Path, node: int) -> dict[int, int]:
    """When each peer answered a node first, ns: of the stamps in its file so far."""
    first: dict[int, int] = {}
    path = folder / f"probes_node{node}.jsonl"
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        if line.endswith(b"\n") and b'"t4"' in line:
            row = json.loads(line)
            first.setdefault(row["dst"], row["t4"])
    return first


def meet(folder: Path, count: int, links: int) -> list[dict[str, Any]]:
    """Run so many processes until each has been answered by so many peers, and say what they said."""
    peers = ",".join(f"127.0.0.1:{port}" for port in free_ports(count))
    package = str(Path(prlx.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "PRLX_JOB_KEY": "a key of the job that meets",
        "GOMAXPROCS": "1",
    }
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [
        subprocess.Popen(
            [sys.executable, HERE / "meeting_process.py", folder, str(node), peers], env=environment, **pipes
        )
        for node in range(count)
    ]
    try:
        until = time.monotonic() + 300
        while time.monotonic() < until and any(len(answered(folder, node)) < links for node in range(count)):
            time.sleep(1)
        if links < count - 1:  # a few more may be linked
            time.sleep(5)
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
        said = [process.communicate(timeout=300)[0] for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()
    assert not any(process.returncode for process in running)
    return [json.loads(text.splitlines()[-1]) for text in said]


@pytest.mark.parametrize("count", [6, pytest.param(64, marks=LARGE)])
def test_processes_meet_soon_after_the_last_one_has_begun(tmp_path: Path, count: int) -> None:
    ended = meet(tmp_path, count, links=min(count - 1, 4))
    last = max(one["began"] for one in ended)
    waited = []
    for node, one in enumerate(ended):
        first = answered(tmp_path, node)
        assert sorted(first) == [link["node"] for link in one["links"]]
        assert one["counters"]["probes_rejected"] == 0
        waited += [(at - last) / 1e9 for at in first.values()]
    print(f"{count} processes: all {len(waited)} links answered {max(waited):.2f} s after the last process had begun")
    if count == 64:
        assert max(waited) <= 10
    combined = prlx.solve_offsets(sorted(tmp_path.glob("probes_node*.jsonl")))
    assert len(combined.nodes) == count
