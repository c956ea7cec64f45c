"""``prlx pytorch``: a script's ``torch.compile`` on the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._errors import UsageError
from . import _options as options
from . import simulate
from ._command import Command, Option, Positional

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

VERBS = ("run",)
_REFUSED = {
    "watch": "prlx.TrainingMonitor(directory) in the training watches its loss and gradients",
    "diff-steps": "prlx diff A B compares the sessions of two runs, launch by launch",
    "report": "prlx session inspect DIR lists what was recorded",
}
_ADVICE = simulate.Advice(
    gpu="leave models and tensors on the CPU, their graphs are compiled as for a GPU all the same",
    nothing="call what torch.compile returned; what Inductor leaves to libraries (products of matrices, convolutions) launches "
    'nothing, with mode="max-autotune" it does',
)
_DEVICES = ("auto", "gpu", "simulator")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Run the script, then say what the kernels of its models did; exit code 1 when a check found something."""
    from .._pytorch import enable_pytorch

    if values.verb != "run":
        raise UsageError(f"prlx pytorch {values.verb} does not exist", hint=_REFUSED[values.verb])
    return simulate.run_script(values, ui, enable_pytorch, _ADVICE)


COMMAND = Command(
    name="pytorch",
    run=run,
    comparing=("run",),
    examples=(
        ("prlx pytorch run train.py --steps 1", "what torch.compile makes, checked"),
        ("prlx pytorch run --record before/ train.py", "recorded, for prlx diff before/ after/"),
        ("prlx pytorch run --html page.html model.py", "a page of what its kernels do"),
    ),
    positionals=(
        Positional("VERB", "run", "one", VERBS, tuple(_REFUSED)),
        Positional("SCRIPT", "a Python script that calls torch.compile", "one"),
        Positional("ARG", "arguments of the script, options included", "rest"),
    ),
    options=(
        Option(("--device",), "where kernels run; auto", choices=_DEVICES),
        *options.of("pytorch"),
        Option(("--map-cuda",), "refused: leave models and tensors on the CPU", takes="switch", brief=True),
        *simulate.OF_COMMANDS,
    ),
    notes=(
        "exit code 1: a check found something, 5: not all was checked. A script that fails has its own.",
        "With --json the script's stdout goes to stderr.",
    ),
)
