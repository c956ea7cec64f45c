"""``prlx report``: a saved comparison as HTML, CSV, JUnit, SARIF, ..."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .. import _request
from .._errors import UsageError
from . import _options as options
from ._command import Command, Option, Positional
from ._comparing import say_written
from ._render import clean

if TYPE_CHECKING:
    from ._ui import UI

FORMATS = ("html", "json", "csv", "junit", "sarif", "github", "markdown", "chrome", "perfetto")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Write the report; the exit code is that of what the document concludes, or of ``--fail-on``."""
    from .. import _core
    from .._progress import shown
    from .._stragglers import gate
    from .._verdict import conclusion_of

    if values.output is None:
        raise UsageError("no output is named", hint="-o report.html")
    if values.output == "-" and ui.json:
        raise UsageError("the report and --json are both printed", hint="write the report to a file")
    request = {
        "path": _request.absolute(values.file),
        "outputs": [{"path": _request.absolute(values.output), "format": values.format or ""}],
        "overwrite": bool(values.overwrite),
        "fail_on": gate(values.fail_on),
    }
    with shown(ui.progress) as watch:
        reply = _core.run("report", request, progress=watch)
    if reply.get("rendered"):
        ui.out.file.write(reply["rendered"])
    if ui.json:
        ui.emit(reply)
    say_written(reply.get("written") or (), ui)
    for rank in reply.get("over") or ():
        ui.warn(f"{clean(rank)} meets {values.fail_on}")
    concluded = conclusion_of(reply)
    if concluded.outcome == "inconclusive":
        ui.warn(f"inconclusive: {clean(concluded.why)}")
    return concluded.exit_code


COMMAND = Command(
    name="report",
    run=run,
    examples=(
        ("prlx report diff.json -o diff.html", "what prlx diff --json > diff.json saved"),
        ("prlx report diff.json -o - --format github", "printed"),
        ("prlx report stragglers.json -o stragglers.md", "what prlx stragglers --json saved"),
    ),
    positionals=(Positional("FILE", "what prlx diff --json or prlx session diff --json printed", "one"),),
    options=(
        Option(("--output", "-o"), "where to write; its ending says the format", takes="path", metavar="OUT"),
        Option(("--format",), "the format, where the ending does not say it", choices=FORMATS),
        Option(
            ("--fail-on",), "of stragglers: exit code 1 where a blamed rank cost more: rank-loss>5%", metavar="GATE"
        ),
        options.OVERWRITE,
        options.JSON,
    ),
    notes=("exit code: that of what FILE concludes, or of --fail-on.",),
)
