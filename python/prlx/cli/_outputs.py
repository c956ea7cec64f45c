"""What aligning commands say on stderr when they are done: choices, warnings, where it is and how to open it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from .._units import node_name
from ._render import clean

if TYPE_CHECKING:
    from .._combine import CombinedTrace
    from ._ui import UI

_EACH = 4  # more nodes than this with the same warning are one line


def announce(result: CombinedTrace, ui: UI, *, report: str | None = None) -> None:
    """The talk after the work; its last line names the output and the command that opens it."""
    for note in result.document.get("notes") or ():
        ui.say(clean(note))
    for warning in result.document.get("warnings") or ():
        ui.warn(clean(warning))
    for warning, nodes in _gathered(result).items():
        if len(nodes) > _EACH:
            ui.warn(f"{len(nodes)} nodes, {node_name(nodes[0])} to {node_name(nodes[-1])}: {clean(warning)}")
            continue
        for node in nodes:
            ui.warn(f"{node_name(node)}: {clean(warning)}")
    if report is not None:
        ui.say(f"wrote the summary {report}")
    if result.traces:
        ui.say(
            f"wrote {shown_path(result.path)}; open it with: {opener(result.traces[0].path, result.traces[0].format)}"
        )


def _gathered(result: CombinedTrace) -> dict[str, list[str]]:
    """Which nodes each warning is about, so that a thousand nodes do not say the same a thousand times."""
    gathered: dict[str, list[str]] = {}
    for node in result.nodes:
        for warning in node.document.get("warnings") or ():
            gathered.setdefault(warning, []).append(node.id)
    return gathered


def opener(path: Path, kind: str) -> str:
    """The command that opens a trace, or the run directory that it lies in, in its viewer."""
    if kind == "chrome":
        return "https://ui.perfetto.dev (Open trace file)"
    run = path.parent
    if run.parent.name == "profile" and run.parent.parent.name == "plugins":
        return f"xprof --logdir {shlex.quote(shown_path(run.parent.parent.parent))}"
    return f"xprof server, then http://localhost:8791/?session_path={run.absolute()}"


def shown_path(path: Path) -> str:
    """The path as the user would type it: relative where it lies below the current directory."""
    try:
        return str(path.absolute().relative_to(Path.cwd())) or "."
    except ValueError:
        return str(path)
