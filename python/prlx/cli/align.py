"""``prlx align``, and ``xprof_trace_align`` with the flags of the document it comes from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import announce
from ._parser import given
from .combine import render

if TYPE_CHECKING:
    import argparse

    from ._ui import UI


def run(values: argparse.Namespace, ui: UI) -> int:
    """Align one trace and print what was found for its node."""
    from .. import _align

    return _align_as(_align.request(values.trace, **given(values, _align.request)), ui)


def _align_as(asked: dict[str, Any], ui: UI) -> int:
    from .. import _align

    result = _align.run(asked, progress=ui.progress)
    if ui.json:
        ui.emit({**result.document, "base": str(result.base)})
    else:
        ui.show(render(result, ui))
    announce(result, ui)
    return result.conclusion.exit_code


_NOTES = (
    "OUT.<node>.alignment_stats.json is written beside the output.",
    "exit code 5: the clock was not placed, or no bound is known.",
)

COMMAND = Command(
    name="align",
    run=run,
    examples=(
        ("prlx align node1.xplane.pb --probes probes_*.jsonl -o out.pb", "by network probes"),
        ("prlx align node1.xplane.pb --offsets offsets.jsonl -o out.pb", "by solved offsets"),
        ("prlx align b.json.gz --node 1 --declared off.toml -o b2.json.gz", ""),
    ),
    positionals=(Positional("TRACE", "the trace of one node", "one"),),
    options=(
        *options.of("align"),
        options.JSON,
    ),
    notes=_NOTES,
)


def _run_xprof(values: argparse.Namespace, ui: UI) -> int:
    from .. import _align

    names = (
        "method",
        "policy",
        "reference",
        "correction-stat",
        "bound-stat",
        "device-clocks",
    )  # that have no flag here
    settings = {name.replace("-", "_"): ui.config.get(f"align.{name}").value for name in names}
    chosen = settings | given(values, _align.request)
    return _align_as(_align.request(values.trace, snapshots=values.snapshot_pairs, **chosen), ui)


XPROF = Command(
    name="align",
    program="xprof_trace_align",
    summary="aligns one node's trace by snapshot pairs and round offsets; prlx align does the same and more",
    run=_run_xprof,
    examples=(
        ("xprof_trace_align --trace node0.xspace --snapshot_pairs node0.snapshot.jsonl \\", ""),
        ("    --offsets node0.offsets.jsonl --output node0.aligned.xspace", ""),
    ),
    options=(
        Option(("--trace",), "XSpace of the node", "path", "FILE", required=True),
        Option(("--snapshot_pairs",), "clock pairs of the node; default: those inside the trace", "path", "FILE"),
        Option(("--offsets",), "round offsets (JSONL)", "path", "FILE"),
        Option(("--output",), "the aligned trace", "path", "FILE", required=True),
        options.OVERWRITE,
        Option(("--node",), "which node of the offsets this is; default: by its name", metavar="NODE"),
        options.from_setting("align.timebase", "the clock that the output shows"),
        options.from_setting("align.strict"),
        options.JSON,
    ),
    notes=_NOTES,
)


def xprof_main(argv: Sequence[str] | None = None) -> int:
    """The program ``xprof_trace_align``."""
    from . import run_command

    return run_command(XPROF, list(sys.argv[1:] if argv is None else argv))
