"""``prlx stragglers``: who was late, by how much, and what it cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._units import format_bytes, format_count, format_ns
from . import _options as options
from ._command import Command, Option, Positional
from ._comparing import reports, say_written
from ._parser import given
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._stragglers import Stragglers
    from ._ui import UI

_RANKS = (
    Column("rank"),
    Column("host", shrinks=True),
    Column("cost", right=True),
    Column("of the time", right=True),
    Column("gain", right=True),
    Column("last", right=True),
    Column("steps", right=True),
    Column("waited", right=True),
    Column("what took longer", shrinks=True),
)
_STEPS = (Column("step"), Column("rank"), Column("cost", right=True), Column("what took longer", shrinks=True))
_LINKS = (Column("slow link", shrinks=True), Column("cost", right=True), Column("of the time", right=True))
_GROUPS = (
    Column("communicator", shrinks=True),
    Column("operations", right=True),
    Column("transfer", right=True),
    Column("waiting", right=True),
    Column("late launch", right=True),
    Column("profiler start", right=True),
    Column("undecided", right=True),
)
_RATES = (
    Column("operation", shrinks=True),
    Column("size", right=True),
    Column("ranks", right=True),
    Column("times", right=True),
    Column("transfer", right=True),
    Column("bus", right=True),
    Column("with waiting", right=True),
)
_SHOWN = 10
_REPORTS = {name: name for name in ("html", "markdown", "csv", "junit")} | {"overlay": "chrome"}


def run(values: argparse.Namespace, ui: UI) -> int:
    """Say who was late; exit code 1 where somebody was, or where ``--fail-on`` is met, 5 where the verdict is open."""
    from .. import _stragglers

    chosen = given(values, _stragglers.request) | {"outputs": reports(values, _REPORTS)}
    found = _stragglers.run(_stragglers.request(values.input, **chosen), progress=ui.progress)
    document = dict(found.document)
    written, rendered = document.pop("written", None) or (), document.pop("rendered", None)
    if ui.json:
        ui.emit(document)
    elif rendered is not None:
        sys.stdout.write(rendered)
    elif not ui.quiet:
        ui.show(_render(found, ui))
    for note in found.notes:
        ui.say(clean(note))
    for warning in found.warnings:
        ui.warn(clean(warning))
    say_written(written, ui)
    if values.fail_on is not None:
        most = _stragglers.gate(values.fail_on)
        for rank in found.blamed:
            if most is not None and 100 * rank.share > most:
                ui.warn(f"{clean(rank.id)} cost {100 * rank.share:.2f} % of the time, more than {most:g} %")
    return found.conclusion.exit_code


def _render(found: Stragglers, ui: UI) -> Iterator[str]:
    yield ui.out.style(clean(found.verdict), {"blamed": "red", "nobody": "green"}.get(found.status, "yellow"), "bold")
    if not found.operations:
        return
    all_ranks = ui.verbose or len(found.ranks) <= _SHOWN
    rows = [
        (
            rank.id,
            " ".join(text for text in (rank.host if rank.host != rank.id else "", rank.device) if text),
            format_ns(rank.cost_ns),
            f"{100 * rank.share:.2f} %",
            "" if rank.replay_gain_ns is None else format_ns(rank.replay_gain_ns),
            f"{format_count(rank.last)} of {format_count(rank.operations)}",
            str(rank.steps) if rank.steps else "",
            format_ns(rank.document["time"]["waiting_ns"]),
            rank.cause,
        )
        for rank in (found.ranks if all_ranks else found.ranks[:_SHOWN])
    ]
    yield ""
    yield from table(ui.out, _RANKS, rows)
    if not all_ranks:
        yield f"{len(found.ranks) - _SHOWN} more; -v shows all"
    yield from _details(found, ui)


def _details(found: Stragglers, ui: UI) -> Iterator[str]:
    links = [
        (" and ".join(row["ranks"]) or row["group"], format_ns(row["cost_ns"]), f"{100 * row['share']:.2f} %")
        for row in found.links
        if row["blamed"] or ui.verbose
    ]
    late = sorted((row for row in found.steps if row["critical"]), key=lambda row: -row["cost_ns"])
    steps = [
        (row["name"], row["critical"], format_ns(row["cost_ns"]), row["cause"])
        for row in late[: _SHOWN if ui.verbose else 3]
    ]
    parts = ("transfer_ns", "waiting_ns", "late_launch_ns", "profiler_start_ns", "undecided_ns")
    groups = [
        (row["group"], format_count(row["operations"]), *(format_ns(row["time"][part]) for part in parts))
        for row in found.document["groups"]
    ]
    groups = groups if ui.verbose else groups[:3]
    rates = [
        (
            f"{row['group']} {row['operation']}" + (f", {' and '.join(row['pair'])}" if row["pair"] else ""),
            format_bytes(row["bytes"]),
            str(row["ranks"]),
            format_count(row["operations"]),
            format_ns(row["transfer_ns"]) if row["bound_ns"] * 2 < row["transfer_ns"] else "undecided",
            _rate(row["bus_bytes_per_s"]) if row["bound_ns"] * 2 < row["transfer_ns"] else "",
            _rate(row["whole_bus_bytes_per_s"]),
        )
        for row in found.bandwidths
    ]
    rates = rates if ui.verbose else rates[:3]
    for columns, rows in ((_LINKS, links), (_STEPS, steps), (_GROUPS, groups), (_RATES, rates)):
        if rows:
            yield ""
            yield from table(ui.out, columns, rows)


def _rate(bytes_per_s: int) -> str:
    return f"{bytes_per_s / 1e9:.3g} GB/s" if bytes_per_s else ""


COMMAND = Command(
    name="stragglers",
    run=run,
    examples=(
        ("prlx stragglers traces/", "clocks are related on the way"),
        ("prlx stragglers merged.json.gz --json", "what prlx combine wrote"),
        ("prlx stragglers traces/ --step 12 --group allreduce", ""),
        ("prlx stragglers traces/ --fail-on 'rank-loss>5%'", "a gate"),
        ("prlx stragglers traces/ --html late.html", "a page with a map of ranks and steps"),
        ("prlx stragglers traces/ --overlay late.trace.json", "tracks that open beside the trace"),
    ),
    positionals=(Positional("INPUT", "traces of all ranks, or one combined trace"),),
    options=(
        *options.of("stragglers"),
        Option(("--fail-on",), "exit code 1 only where the blamed cost more: rank-loss>5%", metavar="GATE"),
        Option(("--html",), "write a page for a browser", takes="path", metavar="FILE"),
        Option(("--markdown",), "write Markdown", takes="path", metavar="FILE"),
        Option(("--csv",), "write a row a rank", takes="path", metavar="FILE"),
        Option(("--junit",), "write JUnit: ranks that meet --fail-on are failures", takes="path", metavar="FILE"),
        Option(("--overlay",), "write tracks of each rank for Perfetto, .trace.json", takes="path", metavar="FILE"),
        options.OVERWRITE,
        options.JSON,
    ),
    notes=(
        "exit code 1: somebody is blamed, or with --fail-on the gate is met; 5: the verdict is open.",
        "cost: the part of a rank's late arrival that its own slower work explains.",
        "gain: by how much shorter the job would be, were the rank as fast as the median.",
    ),
)
