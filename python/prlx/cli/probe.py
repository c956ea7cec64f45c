"""``prlx probe``: measures the clocks of other hosts beside a job."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._units import format_count, format_ns
from . import _options as options
from ._command import Command, Option
from ._outputs import shown_path
from ._parser import given
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._probe import Probing
    from ._ui import UI

_COLUMNS = (
    Column("node", right=True),
    Column("peer", shrinks=True),
    Column("sent", right=True),
    Column("answered", right=True),
    Column("shortest round trip", right=True),
)


def run(values: argparse.Namespace, ui: UI) -> int:
    """Probe until the time is over or Ctrl-C, then say what became of the probes."""
    from .. import _probe

    asked = _probe.request(**given(values, _probe.request))
    ends = "" if values.duration else "; Ctrl-C ends it"
    said = {
        "waiting": f"waiting: another process of this host measures{ends}",
        "probing": f"probing into {values.output}{ends}",
    }
    done = _probe.run(asked, until_interrupted=True, began=lambda stage: ui.say(said.get(stage, stage)))
    if ui.json:
        ui.emit(done.document)
    else:
        ui.show(_render(done, ui))
    for warning in done.document["warnings"]:
        ui.warn(clean(warning))
    if done.path is not None:
        written = shown_path(done.path)
        ui.say(
            f"wrote {written}; with those of the other hosts: prlx solve {shlex.quote(shown_path(done.path.parent))}/*"
        )
    return done.conclusion.exit_code


def _render(done: Probing, ui: UI) -> Iterator[str]:
    yield done.summary
    if done.status == "elsewhere":
        return
    yield ""
    yield from table(
        ui.out,
        _COLUMNS,
        [
            (
                str(link["node"]),
                link["name"],
                format_count(link["sent"]),
                format_count(link["answered"]),
                format_ns(link["min_rtt_ns"]) if link["min_rtt_ns"] else "",
            )
            for link in done.document["links"]
        ],
    )
    counted = {name: count for name, count in done.counters.items() if count and (ui.verbose or name in _TOLD)}
    if counted:
        yield ""
        yield ", ".join(f"{name} {format_count(count)}" for name, count in counted.items())


_TOLD = ("late", "dropped", "unsent", "withheld", "rejected")

COMMAND = Command(
    name="probe",
    run=run,
    examples=(
        ("prlx probe --peers hosts.txt --job-file job.key -o probes", "on every host, until Ctrl-C"),
        ("prlx probe -o probes --duration 10min", "in a job of SLURM; key in PRLX_JOB_KEY"),
    ),
    options=(
        Option(
            ("--peers",),
            "every host, in the same order on all: a file, or host:port,...; default: the list of SLURM, MPI, ...",
            metavar="PEERS",
        ),
        Option(
            ("--output", "-o"), "directory for the stamps; keeps what is there", "path", metavar="DIR", required=True
        ),
        Option(("--duration",), "end after this time, such as 90s or 10min; default: at Ctrl-C", metavar="TIME"),
        Option(("--node",), "which of the peers this host is, from 0; default: by name or address", metavar="N"),
        Option(("--keep",), "keep only the stamps of the last 1h, or another time", metavar="TIME"),
        Option(("--rate",), "probes a second to all peers together; default: 24", takes="whole", metavar="N"),
        Option(("--interface",), "the network interface to use", metavar="NAME"),
        Option(
            ("--job-file",), "file with the key of the job; default: the variable PRLX_JOB_KEY", "path", metavar="FILE"
        ),
        options.JSON,
    ),
    notes=("The key is never on the command line, where other users would see it.",),
)
