"""Probers of the processes of one job, which find each other through what the job's framework has for that."""

from __future__ import annotations

import socket
from pathlib import Path

from . import _probe
from ._clocks import Probes

PROBES_PER_HOST = 24  # a second: the default of the prober, which the processes of a host share


def introduction(host: str, port: int) -> str:
    """What a process tells the others: its host, and an address of it that they reach, with a port that nobody has.

    ``host`` and ``port`` are where all processes have met: the system picks the address by which it would go there.
    """
    family = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        way.connect((host, port))  # sends nothing
        mine = way.getsockname()[0]
    with socket.socket(family, socket.SOCK_DGRAM) as free:
        free.bind((mine, 0))
        number = free.getsockname()[1]
    return f"{socket.gethostname()} [{mine}]:{number}" if ":" in mine else f"{socket.gethostname()} {mine}:{number}"


def probes(told: list[str], process: int, key: str, output: Path) -> Probes:
    """Start the prober of a process, given what all processes have told, in their order, and the key of the job."""
    split = [one.split() for one in told]
    of_host = sum(host == split[process][0] for host, _ in split)
    asked = _probe.request(
        output=output, peers=[peer for _, peer in split], node=process, rate=max(1, PROBES_PER_HOST // of_host)
    )
    asked["environment"] = {"PRLX_JOB_KEY": key}
    return Probes(asked)
