"""``prlx convert``: recordings between format v1 and v2."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._units import format_count
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import shown_path
from ._parser import given
from ._render import clean

if TYPE_CHECKING:
    import argparse

    from .._convert import Converted
    from ._ui import UI


def run(values: argparse.Namespace, ui: UI) -> int:
    """Convert; what has no place in the other format is counted and said."""
    from .. import _convert

    asked = _convert.request(getattr(values, "in"), **given(values, _convert.request))
    done = _convert.run(asked, progress=ui.progress)
    if ui.json:
        ui.emit(done.document)
    else:
        ui.show(_render(done))
    for warning in done.document.get("warnings") or ():
        ui.warn(clean(warning))
    written = shown_path(done.path)
    ui.say(f"wrote {written}; open it with: prlx inspect {shlex.quote(written)}")
    return 0


def _render(done: Converted) -> Iterator[str]:
    yield done.summary
    for what, count in done.lost.items():
        yield f"  {clean(what)}: {format_count(count)} left out"


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
        *options.of("diff", "site_map"),
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
