"""``prlx flamegraph``: the divergences of two recordings as tracks for a trace viewer."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _request
from .._units import format_count, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._comparing import PERFETTO, asked
from ._outputs import shown_path
from ._render import clean

if TYPE_CHECKING:
    from ._ui import UI

DEFAULT = "prlx-flamegraph.json"
TRACKS = 100_000


def run(values: argparse.Namespace, ui: UI) -> int:
    """Compare and write the tracks; exit code 0 whether anything differs or not."""
    from .. import _compare

    output = {"format": values.format, "path": _request.absolute(values.output or DEFAULT)}
    limit = TRACKS if values.limit is None else values.limit
    request = asked(values, values.a, values.b, limit=limit, outputs=[output])
    result = _compare.run(request, progress=ui.progress)
    for warning in result.document.get("warnings") or ():
        ui.warn(clean(warning))
    left_out = result.document.get("divergences_omitted") or 0
    if left_out:
        ui.warn(f"{format_count(left_out)} divergences are not in it; --limit 0 writes all")
    path = Path(output["path"])
    ui.say(clean(f"{result.status}: {result.verdict}"))
    written = len(result.document.get("divergences") or ()) or int(result.document["total_divergences"]) - left_out
    ui.say(f"wrote {shown_path(path)} ({plural(written, 'divergence')}); open it with: {PERFETTO}")
    return 0


COMMAND = Command(
    name="flamegraph",
    run=run,
    examples=(
        ("prlx flamegraph a.prlx b.prlx -o tracks.json", "one thread per warp"),
        ("prlx flamegraph a.prlx b.prlx -o b.pftrace --format perfetto", "in the order of events"),
    ),
    positionals=(
        Positional("A", "the reference: a recording or a session", "one"),
        Positional("B", "the recording or session to compare with A", "one"),
    ),
    options=(
        Option(("--output", "-o"), f"where to write; default {DEFAULT}", takes="path", metavar="OUT"),
        Option(
            ("--format",),
            "chrome: the layout of original prlx 0.5; perfetto: the order of events",
            metavar="",
            choices=("chrome", "perfetto"),
            setting="flamegraph.format",
        ),
        *options.of("diff", "values", "site_map", "force"),
        Option(("--session",), options.SESSION.help, takes="switch"),
        Option(("--limit", "-l"), f"divergences to write; default {TRACKS:,}, 0 for all", takes="number", metavar="N"),
        options.OVERWRITE,
        options.WORKERS,
        options.MEMORY_LIMIT,
    ),
)
