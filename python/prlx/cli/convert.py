"""``prlx convert``: recordings between format v1 and v2."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _request
from .._errors import UsageError
from .._units import format_bytes, format_count, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import shown_path
from ._render import clean

if TYPE_CHECKING:
    from ._ui import UI


def run(values: argparse.Namespace, ui: UI) -> int:
    """Convert; what has no place in the other format is counted and said."""
    from .. import _core
    from .._progress import shown

    if values.output is None:
        raise UsageError("no output is named", hint="-o OUT.prlx")
    request = {
        "path": _request.absolute(getattr(values, "in")),
        "output": _request.absolute(values.output),
        "to": values.to,
        "compress": bool(values.compress),
        "map_output": _request.absolute_or_none(values.map_output),
        **_request.site_maps(values.site_map),
        "overwrite": bool(values.overwrite),
        "workers": values.workers,
        "memory_limit": values.memory_limit,
    }
    with shown(ui.progress) as watch:
        reply = _core.run("convert", request, progress=watch)
    if ui.json:
        ui.emit(reply)
    else:
        ui.show(_render(reply))
    for warning in reply.get("warnings") or ():
        ui.warn(clean(warning))
    written = shown_path(Path(reply["output"]))
    ui.say(f"wrote {written}; open it with: prlx inspect {shlex.quote(written)}")
    return 0


def _render(reply: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{plural(reply['warps'], 'warp')}, {plural(reply['events'], 'event')}: {reply['from']} to {reply['to']}, "
        f"{format_bytes(reply['bytes_in'])} to {format_bytes(reply['bytes_out'])}"
    )
    for lost in reply["lost"]:
        yield f"  {clean(lost['what'])}: {format_count(lost['count'])} left out"


COMMAND = Command(
    name="convert",
    run=run,
    examples=(
        ("prlx convert old.prlx -o new.prlx --to v2", "smaller, with its sites inside"),
        ("prlx convert new.prlx -o old.prlx --to v1", "for tools that read v1 only"),
    ),
    positionals=(Positional("IN", "a recording of either format", "one"),),
    options=(
        Option(
            ("--output", "-o"),
            "where to write; nothing is overwritten without --overwrite",
            takes="path",
            metavar="OUT",
        ),
        Option(("--to",), "the format to write", choices=("v1", "v2"), setting="convert.to"),
        options.SITE_MAP,
        Option(
            ("--map-output",), "with --to v1: write the site map that names its sites", takes="path", metavar="FILE"
        ),
        Option(("--compress",), "with --to v1: compress the events; v2 always is", takes="switch"),
        options.OVERWRITE,
        options.WORKERS,
        options.MEMORY_LIMIT,
        options.JSON,
    ),
)
