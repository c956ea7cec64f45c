"""``prlx locate``: two scripts, or one in two ways, to the first line at which their kernels differ."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import FileAccessError, UsageError
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import shown_path

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

DEVICES = ("auto", "gpu", "simulator")
CAPTURES = ("observed", "instrumented")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Run both sides until the first line that differs is known; exit code 1 when they differ."""
    from .._locate import by_command, by_program, search, steps

    on_gpu = _on_gpu(values)
    capture = values.capture or ("instrumented" if on_gpu else "observed")
    scripts = [values.script, values.script_b or values.script]
    sides, names = [], []
    for letter, script in zip("ab", scripts, strict=True):
        if not Path(script).is_file():
            raise FileAccessError("no such script", path=script)
        words = [script, *shlex.split(getattr(values, f"args_{letter}") or "")]
        environ = _environment(getattr(values, f"env_{letter}") or ())
        seed = getattr(values, f"seed_{letter}")
        compiled = not script.endswith(".py") and os.access(script, os.X_OK)
        if compiled and capture == "instrumented" and not on_gpu:
            raise UsageError(f"--capture instrumented is about scripts, and {script} is a program", hint="leave it out")
        if on_gpu:
            sides.append(by_program([*(() if compiled else (sys.executable,)), *words], environ))
        else:
            sides.append(by_command(words, environ, seed, None if compiled else capture))
        names.append(f"{shlex.join(words)} {sorted(environ.items())} {seed}")
    if names[0] == names[1]:
        ui.say("both sides are the same command: what differs is not the same from run to run")
    found = search(sides, names, folder=values.output, capture=capture)
    if ui.json:
        ui.emit(found.document)
    elif not ui.quiet:
        ui.show(iter(steps(found)))
        if found.diff is not None and found.status != "same":
            ui.show(iter(["", *str(found.diff).splitlines()]))
    if values.output is not None:
        ui.say(f"the recordings are in {shown_path(Path(values.output))}")
    return found.conclusion.exit_code


def _on_gpu(values: argparse.Namespace) -> bool:
    """Whether both sides run on a GPU."""
    from .._program import driver

    if values.device == "simulator":
        return False
    found = driver()
    if "why" in found:
        if values.device == "gpu":
            raise UsageError(f"there is no GPU: {found['why']}", hint="--device simulator runs the kernels without one")
        return False
    for name in ("seed_a", "seed_b"):
        if getattr(values, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for the simulator", hint="--device simulator")
    if values.capture == "observed":
        raise UsageError("nobody can watch a GPU; kernels record by themselves", hint="--device simulator")
    return True


def _environment(given: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Variables as NAME=VALUE."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not a variable and its value", hint="NAME=VALUE")
        found[name] = value
    return found


COMMAND = Command(
    name="locate",
    run=run,
    examples=(
        ("prlx locate before.py after.py", "the first line at which their kernels differ"),
        ("prlx locate train.py --args-b 'fused 1'", "one script, with other arguments"),
        ("prlx locate train.py --seed-b 7", "in another order of blocks and warps"),
        ("prlx locate train.py --env-b FUSED=1", "with another environment"),
        ("prlx locate ./before ./after", "two CUDA programs of nvcc -cudart shared or clang"),
    ),
    positionals=(
        Positional("SCRIPT", "a Python script that launches Triton kernels, or a CUDA program", "one"),
        Positional("SCRIPT_B", "the other one; left out: the same", "optional"),
    ),
    options=(
        Option(("--args-a",), "arguments of A, in one text", metavar="ARGS"),
        Option(("--args-b",), "arguments of B, in one text", metavar="ARGS"),
        Option(("--env-a",), "variables of A's environment, NAME=VALUE; several", takes="texts", metavar="VAR"),
        Option(("--env-b",), "variables of B's environment, NAME=VALUE; several", takes="texts", metavar="VAR"),
        Option(("--seed-a",), "order of blocks and warps of A; 0: ascending", takes="number", metavar="N"),
        Option(("--seed-b",), "order of blocks and warps of B; 0: ascending", takes="number", metavar="N"),
        Option(
            ("--output", "-o"), "keep the recordings in DIR, and go on with what is there", takes="path", metavar="DIR"
        ),
        Option(("--device",), "where kernels run; auto: a GPU if there is one", choices=DEVICES),
        Option(("--capture",), "kernels are watched, or compiled to record by themselves", choices=CAPTURES),
        options.JSON,
    ),
    notes=(
        "exit code 1: the runs differ, or differed once; 5: too little, or nothing, could be compared.",
        "Each side runs three times, at most four: hashes of every launch, then the control flow of the first",
        "launch that differs, of the warps that do, then values of some of these.",
    ),
)
