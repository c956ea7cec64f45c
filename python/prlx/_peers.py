"""Probers of the processes of one job, which find each other through what the job's framework has for that.

A host measures once: the first of its processes does, on behalf of all of them.
"""

from __future__ import annotations

import contextlib
import re
import socket
from pathlib import Path

from . import _probe
from ._clocks import Probes


def host_clock() -> str:
    """What identifies the clock of this host: all processes between two starts of its kernel share it.

    Virtual machines that were restored from one snapshot have it in common, and do not share a clock: see ``introduction``.
    """
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return socket.gethostname()


def introduction(host: str, port: int) -> str:
    """What a process tells the others: its host's clock, and an address of it that they reach, with a port that nobody has.

    ``host`` and ``port`` are where all processes have met: the system picks the address by which it would go there.
    Processes are of one host if kernel, host name and that address are the same. Containers with addresses of their own
    are thus taken for hosts: their clocks are measured, though they share one. The other way round, virtual machines that
    were restored from one snapshot would be taken for one host, and what is measured of one would stand for all.
    """
    family = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        way.connect((host, port))  # sends nothing
        mine = way.getsockname()[0]
    with socket.socket(family, socket.SOCK_DGRAM) as free:
        free.bind((mine, 0))
        number = free.getsockname()[1]
    name = re.sub(r"\s", "", socket.gethostname())
    return f"{host_clock()}/{name}/{mine} " + (f"[{mine}]:{number}" if ":" in mine else f"{mine}:{number}")


def probes(told: list[str], process: int, key: str, output: Path) -> Probes | None:
    """Start the prober of a host, given what all processes have told, in their order, and the key of the job.

    None where an earlier process of the host does it, and where all are of one host: there is one clock then.
    """
    ranks: dict[str, list[int]] = {}
    for rank, one in enumerate(told):
        ranks.setdefault(one.split()[0], []).append(rank)
    hosts = list(ranks.values())
    node = next(number for number, of_host in enumerate(hosts) if process in of_host)
    if len(hosts) < 2 or hosts[node][0] != process:
        return None
    asked = _probe.request(output=output, peers=[told[of_host[0]].split()[1] for of_host in hosts], node=node)
    asked["ranks"] = hosts
    asked["environment"] = {"PRLX_JOB_KEY": key}
    return Probes(asked)
