"""The commands of prlx: one line each, one file each."""

from __future__ import annotations

import importlib
import keyword
from dataclasses import replace

from .. import _former
from .._config import did_you_mean
from .._errors import UsageError
from ._command import Command

COMMANDS: dict[str, str] = {
    "combine": "puts the traces of N nodes on one clock and merges them",
    "align": "puts one node's trace on the clock of another node",
    "validate": "checks traces for collectives in an impossible order",
    "stragglers": "says who was late at which collective, by how much, and what it cost",
    "solve": "computes clock offsets from network probes",
    "probe": "measures the clocks of other hosts beside a job",
    "inspect": "shows what is in a file",
    "diff": "says where two recordings of a kernel, or two sessions, first differ, and why",
    "assert": "passes or fails a build: are two recordings the same, or close enough",
    "cycles": "finds what repeats in a trace (steps, layers, phases), and what changed between two runs",
    "simulate": "runs a script's Triton kernels on the simulator, checked and, with --record, recorded",
    "run": "runs a program whose Triton kernels record themselves, on a GPU or without one",
    "pytorch": "runs what torch.compile makes on the simulator, checked and, with --record, recorded",
    "locate": "runs two scripts until the first line at which their kernels differ is known",
    "session": "lists the launches of a session, or compares two sessions",
    "flamegraph": "writes the divergences of two recordings as tracks for a trace viewer",
    "convert": "converts recordings between formats v1 and v2",
    "report": "writes a saved comparison as HTML, CSV, JUnit, SARIF and others",
    "nccl": "what NCCL did in a job: the plug-in that records it, where its time went, what holds the job up",
    "doctor": "checks this installation",
    "version": "prints the version",
    "completion": "prints the completion script for a shell",
    "config": "shows every setting and where it was set",
}


# What is another form of one of the others, or is seldom asked for: the first help only names these.
SECOND = ("align", "pytorch", "session", "flamegraph", "convert", "completion", "version", "config")

# What original prlx 0.5 called what is another command now.
ALIASES: dict[tuple[str, ...], str] = {("triton",): "run", ("session", "capture"): "run"}


def today(name: str, words: list[str]) -> tuple[str, list[str]]:
    """The name of a command and the words behind it, where the original had another name."""
    for former, now in ALIASES.items():
        rest = len(former) - 1
        if (name, *words[:rest]) == former:
            return now, words[rest:]
    return name, words


def load(name: str) -> Command:
    """The command of a name; only its own module is imported.

    Raises
    ------
    UsageError
        There is no such command; with the near name.
    """
    if name not in COMMANDS:
        if name in _former.COMMANDS:
            raise UsageError(f"no command {name!r}, which original prlx 0.5 has", hint=_former.COMMANDS[name])
        raise UsageError(
            f"no command {name!r}{did_you_mean(name, list(COMMANDS))}", hint="prlx --help lists the commands"
        )
    module = f"{name}_" if keyword.iskeyword(name) else name
    found = importlib.import_module(f"{__package__}.{module}").COMMAND
    assert isinstance(found, Command)
    return replace(found, summary=COMMANDS[name])
