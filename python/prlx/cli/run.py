"""``prlx run``: a program whose launches are recorded, on a GPU or on the simulator's driver."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import UsageError
from .._units import plural
from . import simulate
from ._command import Command, Option, Positional
from ._outputs import shown_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ._ui import UI

_RECORDED = ("--mode", "--filter", "--stores", "--atomics", "--barriers")
_ASKED = ("stores", "atomics", "barriers")
_DEVICES = ("auto", "gpu", "simulator")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Run the program; its exit code is ours."""
    return record_program([values.program, *values.arg], values, ui)


def record_program(command: Sequence[str], values: argparse.Namespace, ui: UI) -> int:
    """Run a command and say what it left; a script is run by Python."""
    from .._run import run_recorded

    if values.output is None:
        raise UsageError("no place to record to", hint="name one with --record DIR")
    words = [sys.executable, *command] if command[0].endswith(".py") else list(command)
    asked: dict[str, Any] = {name: True for name in _ASKED if getattr(values, name)}
    if values.mode is not None:
        asked["mode"] = values.mode
    if values.contents_after is False:
        asked["contents_after"] = False
    ran = run_recorded(
        words,
        Path(values.output),
        device=values.device or "auto",
        options=asked,
        filter=",".join(values.filter or ()),
        overwrite=bool(values.overwrite),
    )
    where = "the GPU" if ran.device == "gpu" else "the simulator's driver"
    if not ran.sessions:
        ui.warn(
            f"nothing was recorded on {where}: no process of {command[0]} launched a Triton kernel that is recorded"
        )
        return ran.status
    named = [shlex.quote(shown_path(one)) for one in ran.sessions]
    ui.say(f"recorded {plural(ran.launches, 'launch')} on {where}; open with: prlx session inspect {named[0]}")
    if len(named) > 1:
        ui.say(f"{len(named)} processes have a session each: {', '.join(named)}")
    return ran.status


RECORDING = (
    Option(
        ("--output", "--record", "-o"),
        "where to: a new directory, a session; several processes have one each",
        takes="path",
        metavar="DIR",
    ),
    Option(("--device",), "whose driver the program finds; auto: a GPU's if there is one", choices=_DEVICES),
    *(replace(one, brief=False) for one in simulate.RECORDING if one.flags[0] in _RECORDED),
    Option(
        ("--contents-after",),
        "do not look at what memory holds before and after launches",
        takes="switch",
        off="--no-contents-after",
    ),
    Option(("--overwrite",), "replace the recordings that are there", takes="switch"),
)
COMMAND = Command(
    name="run",
    run=run,
    examples=(
        ("prlx run --record before/ -- python train.py", "its Triton kernels, recorded where they run"),
        ("prlx run --record r/ -- torchrun train.py", "a session for each rank: r/rank-0, ..."),
        ("prlx run --device simulator --record r/ train.py", "without a GPU"),
    ),
    positionals=(
        Positional("PROGRAM", "a program, or a Python script", "one"),
        Positional("ARG", "its arguments, options included", "rest"),
    ),
    options=RECORDING,
    notes=(
        "exit code: the program's. Processes of Python that import Triton record;",
        "no line of theirs is changed.",
    ),
)
