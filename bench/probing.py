"""Measures what a prober costs, at the default rate: two hosts, and one host of many (8 links).

  python bench/probing.py            a minute a case
  python bench/probing.py --quick    some seconds: shows that everything here still runs

The hosts are processes on loopback. CPU time is user and system time of the process that probes, less that of a process that
ends at once, as a share of one core; bytes are those of the packets that it sends and receives, with their IP and UDP headers
(28 bytes each). How exact the clocks are, at the default rate:

  PROBER_SECONDS=60s go test -v -run EightProcesses ./core/clocks/probe
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PACKET = 112 + 28
HOSTS = (2, 9)


def ports(count: int) -> list[int]:
    """Free UDP ports of loopback."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    found = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return found


def spent(process: subprocess.Popen[str]) -> tuple[str, float]:
    """What a process printed, and its CPU time in seconds."""
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 5):  # 5: on a busy machine a peer may start too late to answer
        raise SystemExit(f"a prober ended with {process.returncode}")
    return out, usage.ru_utime + usage.ru_stime


def probe(count: int, seconds: float, folder: Path) -> list[tuple[dict[str, object], float]]:
    """Document and CPU time of each of so many probers."""
    peers = ",".join(f"127.0.0.1:{port}" for port in ports(count))
    running = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "prlx", "probe", "--peers", peers, "--node", str(node), "--json", "-q"),
                *("-o", str(folder / f"{count}"), "--duration", f"{seconds}s"),
            ],
            env={**os.environ, "PRLX_JOB_KEY": "a key of the measured job"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for node in range(count)
    ]
    return [(json.loads(out), cpu) for out, cpu in map(spent, running)]


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    seconds = 3.0 if parser.parse_args().quick else 60.0
    print(f"load {os.getloadavg()[0]:.1f}; {seconds:.0f} s a case")
    with tempfile.TemporaryDirectory() as folder:
        short = min(cpu for _, cpu in probe(2, 0.1, Path(folder)))
        for count in HOSTS:
            done = probe(count, seconds, Path(folder))
            shares = sorted((cpu - short) / seconds for _, cpu in done)
            traffic = []
            for document, _ in done:
                counters = document["counters"]
                assert isinstance(counters, dict)
                packets = counters["sent"] + 2 * counters["given"] + counters["answered"]
                traffic.append(packets * PACKET / seconds)
            print(
                f"{count} hosts: {100 * shares[len(shares) // 2]:.2f} % of a core (median of the hosts, "
                f"largest {100 * shares[-1]:.2f} %), {max(traffic) / 1e3:.1f} kB/s sent and received"
            )


if __name__ == "__main__":
    main()
