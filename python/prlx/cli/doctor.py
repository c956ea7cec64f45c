"""``prlx doctor``: is everything there?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _options as options
from ._command import Command
from ._render import clean

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

_COLORS = {"OK": "green", "WARN": "yellow", "FAIL": "red"}
FAILED = 1


def run(values: argparse.Namespace, ui: UI) -> int:
    """Look at the installation; exit code 1 when something failed."""
    from .._doctor import diagnose

    del values
    diagnosis = diagnose()
    if ui.json:
        ui.emit(diagnosis.document)
        return 0 if diagnosis.ok else FAILED
    width = max(len(check.name) for check in diagnosis.checks)
    for check in diagnosis.checks:
        status = ui.out.style(f"{check.status:<4}", _COLORS[check.status], "bold")
        ui.out.line(f"{status}  {check.name:<{width}}  {clean(check.detail)}")
        if check.cure:
            ui.out.line(f"{'':<{width + 8}}{ui.out.style(check.cure, 'cyan')}")
    return 0 if diagnosis.ok else FAILED


COMMAND = Command(
    name="doctor",
    run=run,
    examples=(("prlx doctor", "versions, core, memory, disk, viewers"), ("prlx doctor --json", "for a bug report")),
    options=(options.JSON,),
    notes=("exit code 1: something failed. Every line that is not OK says what to do.",),
)
