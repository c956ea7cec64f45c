"""``prlx doctor``: is everything there?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import _options as options
from ._command import Command
from ._render import clean

if TYPE_CHECKING:
    import argparse

    from .._doctor import Diagnosis
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
    ui.show(_render(diagnosis, ui))
    return 0 if diagnosis.ok else FAILED


def _render(diagnosis: Diagnosis, ui: UI) -> Iterator[str]:
    """A line for each check, and what to do about those that are not OK."""
    width = max(len(check.name) for check in diagnosis.checks)
    for check in diagnosis.checks:
        status = ui.out.style(f"{check.status:<4}", _COLORS[check.status], "bold")
        yield f"{status}  {check.name:<{width}}  {clean(check.detail)}"
        if check.cure:
            yield f"{'':<{width + 8}}{ui.out.style(check.cure, 'cyan')}"


COMMAND = Command(
    name="doctor",
    run=run,
    examples=(("prlx doctor", "versions, core, memory, disk, viewers"), ("prlx doctor --json", "for a bug report")),
    options=(options.JSON,),
    notes=("exit code 1: something failed. Every line that is not OK says what to do.",),
)
