"""``prlx solve``: probes between nodes become offsets of their clocks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._errors import UsageError
from .._units import format_count, format_ns, node_name, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import shown_path
from ._parser import given
from ._render import Column, clean, table
from .combine import step_text

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from .._solve import NodeOffset, Offsets
    from ._ui import UI

_COLUMNS = (
    Column("node", shrinks=True),
    Column("offset", right=True),
    Column("drift", right=True),
    Column("bound p50", right=True),
    Column("p99", right=True),
    Column("max", right=True),
    Column("windows", right=True),
    Column("missing", right=True),
    Column("steps", right=True),
)
_LINKS = (
    Column("link"),
    Column("probes", right=True),
    Column("unusable", right=True),
    Column("shortest round trip", right=True),
    Column("residual", right=True),
)


def run(values: argparse.Namespace, ui: UI) -> int:
    """Solve, print the offsets, name the file and the command that uses it."""
    from .. import _solve

    if values.watch:
        return _watched(values, ui)
    for option in ("interval", "rounds"):
        if getattr(values, option) is not None:
            raise UsageError(f"--{option} needs --watch")
    offsets = _solve.run(_solve.request(values.file, **given(values, _solve.request)), progress=ui.progress)
    if ui.json:
        ui.emit(offsets.document)
    else:
        ui.show(_render(offsets, ui))
    for warning in offsets.document.get("warnings") or ():
        ui.warn(clean(warning))
    for node in offsets.nodes:
        for warning in node.document.get("warnings") or ():
            ui.warn(f"{node_name(node.id)}: {clean(warning)}")
    if offsets.path is not None:
        written = shown_path(offsets.path)
        ui.say(f"wrote {written}; use it with: prlx combine INPUT... --offsets {shlex.quote(written)}")
    return offsets.conclusion.exit_code


def _watched(values: argparse.Namespace, ui: UI) -> int:
    """Solve what is there until Ctrl-C."""
    from .. import _solve
    from ._watch import INTERVAL_S, watch

    if values.output is not None:
        raise UsageError("--watch writes no file", hint="leave out --output, and solve once when the job is over")

    def solve(files: list[Path]) -> Offsets:
        return _solve.run(_solve.request(files, reference=values.reference), progress=False)

    interval_s = INTERVAL_S if values.interval is None else values.interval
    return watch(
        values.file, solve, lambda offsets: _render(offsets, ui), ui, interval_s=interval_s, rounds=values.rounds
    )


def _render(offsets: Offsets, ui: UI) -> Iterator[str]:
    yield f"{plural(len(offsets.nodes), 'node')} relative to {node_name(offsets.reference)}"
    yield ""
    yield from table(ui.out, _COLUMNS, [_row(node, offsets.reference) for node in offsets.nodes])
    for node in offsets.nodes:
        for step in node.steps:
            yield f"{node_name(node.id)}: {step_text(step)}"

    links = offsets.document.get("links") or ()
    if ui.verbose and links:
        yield ""
        yield from table(ui.out, _LINKS, [_link_row(link) for link in links])


def _link_row(link: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{link['a']} - {link['b']}",
        format_count(link.get("probes")),
        format_count(link.get("dropped")) if link.get("dropped") else "",
        format_ns(link.get("min_rtt_ns")),
        format_ns(link.get("residual_ns")) if link.get("residual_ns") else "",
    )


def _row(node: NodeOffset, reference: str) -> tuple[str, ...]:
    if node.id == reference:
        return (node.id, "reference", *("",) * 7)
    return (
        node.id,
        format_ns(node.offset_ns, sign=True),
        "" if node.drift_ppm is None else f"{node.drift_ppm:+.2f} ppm",
        format_ns(node.bound_p50_ns),
        format_ns(node.bound_p99_ns),
        format_ns(node.bound_max_ns),
        format_count(node.windows),
        format_count(node.missing_windows) if node.missing_windows else "",
        str(len(node.steps)) if node.steps else "",
    )


COMMAND = Command(
    name="solve",
    run=run,
    examples=(
        ("prlx solve probes_node*.jsonl -o offsets.jsonl", "raw stamps or probe windows"),
        ("prlx solve probe_windows_node*.jsonl --reference 1", "print only"),
        ("prlx solve --watch probes", "while prlx probe writes there"),
    ),
    positionals=(Positional("FILE", "network probes: raw stamps or windows; with --watch also directories"),),
    options=(
        *options.of("solve"),
        Option(
            ("--watch",),
            "solve again and again until Ctrl-C, with the files that have come to a directory",
            takes="switch",
        ),
        Option(("--interval",), "seconds between two rounds of --watch; default: 2", takes="number", metavar="SECONDS"),
        Option(("--rounds",), "end --watch after so many rounds", takes="whole", metavar="N"),
        options.JSON,
    ),
)
