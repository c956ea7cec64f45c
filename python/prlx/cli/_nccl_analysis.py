"""``prlx nccl report`` and ``prlx nccl diagnose``: where time went, and what holds a job up."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._units import format_bytes, format_count, format_ns
from ._comparing import reports, say_written
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._nccl import NcclDiagnosis, NcclReport
    from ._ui import UI

_SHOWN = 12
_STUCK = (
    Column("operation", shrinks=True),
    Column("rank"),
    Column("state"),
    Column("stage"),
    Column("with"),
    Column("channel", right=True),
    Column("NIC", right=True),
    Column("steps", right=True),
    Column("for", right=True),
)
_PARTS = ("launch", "scheduling", "waiting", "kernel", "proxy", "credit", "network", "flush")
_RANKS = (
    Column("rank"),
    Column("host", shrinks=True),
    Column("operations", right=True),
    Column("last", right=True),
    *(Column(part, right=True) for part in _PARTS),
)
_OPERATIONS = (
    Column("operation", shrinks=True),
    Column("size", right=True),
    Column("how", shrinks=True),
    Column("times", right=True),
    Column("median", right=True),
    Column("p99", right=True),
    Column("waiting", right=True),
    Column("last most often"),
)
_LINKS = (
    Column("from"),
    Column("to"),
    Column("channel", right=True),
    Column("NIC", right=True),
    Column("bytes", right=True),
    Column("while sending", right=True),
    Column("of usual", right=True),
)


def _asked(values: argparse.Namespace) -> dict[str, Any]:
    from .. import _nccl

    return _nccl.request(
        values.input,
        probes=values.probes,
        limit=values.limit,
        workers=values.workers,
        memory_limit=values.memory_limit,
    )


def diagnose(values: argparse.Namespace, ui: UI) -> int:
    """Name what holds the job up: exit code 1 where something does, 5 when nothing tells."""
    from .. import _nccl

    found = _nccl.run_diagnosis(_asked(values) | {"stall_after": values.stall_after}, progress=ui.progress)
    if ui.json:
        ui.emit(found.document)
    elif not ui.quiet:
        ui.show(_render_diagnosis(found, ui))
    for text in (*found.advice, *found.notes):
        ui.say(clean(text))
    for text in found.warnings:
        ui.warn(clean(text))
    return found.conclusion.exit_code


def _render_diagnosis(found: NcclDiagnosis, ui: UI) -> Iterator[str]:
    yield ui.out.style(clean(found.verdict), {"culprit": "red", "nothing": "green"}.get(found.status, "yellow"), "bold")
    if found.findings:
        for text in found.findings[0].document["detail"]:
            yield f"  {clean(text)}"
    for other in found.findings[1 : _SHOWN if not ui.verbose else None]:
        yield f"{'' if other.certain else 'perhaps: '}{clean(other.sentence)}"
    rows = [_stuck(row) for row in found.stuck]
    if rows:
        yield ""
        shown = rows if ui.verbose else rows[:_SHOWN]
        yield from table(ui.out, _STUCK, shown)
        if len(shown) < len(rows):
            yield f"{len(rows) - len(shown)} more; -v shows all"


def _stuck(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['operation']} #{row['sequence']} of {row['communicator']}",
        row["rank"],
        row["state"],
        row["stage"],
        f"{'to' if row['direction'] == 'send' else 'from'} {row['peer']}" if row["peer"] else "",
        str(row["channel"]) if row["channel"] >= 0 else "",
        str(row["nic"]) if row["nic"] >= 0 else "",
        f"{row['steps']} of {row['of']}" if row["of"] else "",
        format_ns(row["since_ns"]),
    )


def report(values: argparse.Namespace, ui: UI) -> int:
    """Say where the time of all operations went; exit code 5 where the recordings lack something of the job."""
    from .. import _nccl

    pages = _nccl.written(reports(values, {"html": "html"}), overwrite=values.overwrite)
    found = _nccl.run_report(_asked(values) | pages, progress=ui.progress)
    document = dict(found.document)
    made, rendered = document.pop("written", None) or (), document.pop("rendered", None)
    if ui.json:
        ui.emit(document)
    elif rendered is not None:
        sys.stdout.write(rendered)
    elif not ui.quiet:
        ui.show(_render_report(found, ui))
    for text in found.document["notes"]:
        ui.say(clean(text))
    for text in found.warnings:
        ui.warn(clean(text))
    say_written(made, ui)
    return found.conclusion.exit_code


def _render_report(found: NcclReport, ui: UI) -> Iterator[str]:
    yield ui.out.style(clean(found.verdict), "bold")
    yield f"stragglers: {clean(found.document['stragglers'])}"
    ranks = [
        (
            row["id"],
            row["host"],
            format_count(row["operations"]),
            format_count(row["last"]) if row["last"] else "",
            *(format_ns(row["time"][f"{part}_ns"]) if row["divided"] else "" for part in _PARTS),
        )
        for row in found.ranks
    ]
    operations = [
        (
            f"{row['communicator']} {row['operation']}",
            format_bytes(row["bytes"]) if row["bytes"] else "",
            " ".join(text for text in (row["algorithm"], row["protocol"]) if text),
            format_count(row["count"]),
            format_ns(row["median_ns"]) if row["median_ns"] else "",
            format_ns(row["p99_ns"]) if row["median_ns"] else "",
            format_ns(row["time"]["waiting_ns"]) if row["divided"] else "",
            f"{row['last']} ({row['last_times']})" if row["last"] else "",
        )
        for row in found.operations
    ]
    links = [
        (
            row["from"],
            row["to"],
            str(row["channel"]),
            str(row["nic"]) if row["nic"] >= 0 else "",
            format_bytes(row["bytes"]),
            f"{row['bytes_per_s'] / 1e9:.3g} GB/s",
            f"{row['times']:.2f} x" if row["times"] else "",
        )
        for row in found.links
    ]
    for columns, rows in ((_RANKS, ranks), (_OPERATIONS, operations), (_LINKS, links)):
        if rows:
            shown = rows if ui.verbose else rows[:_SHOWN]
            yield ""
            yield from table(ui.out, columns, shown)
            if len(shown) < len(rows):
                yield f"{len(rows) - len(shown)} more; -v shows all"
