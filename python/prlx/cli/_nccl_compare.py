"""``prlx nccl compare A B``: which part of the time grew from one run to another, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._errors import UsageError
from .._units import format_bytes, format_count, format_ns
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._nccl_compare import NcclComparison
    from ._ui import UI

_SHOWN = 12
_CHANGES = (Column("A", right=True), Column("B", right=True), Column("change", right=True), Column("+-", right=True))
_PARTS = (Column("part"), *_CHANGES, Column("most for", shrinks=True))
_OPERATIONS = (
    Column("operation", shrinks=True),
    Column("size", right=True),
    Column("times A", right=True),
    Column("times B", right=True),
    *_CHANGES,
    Column("grew most"),
)
_RANKS = (
    Column("rank"),
    Column("host", shrinks=True),
    Column("last A", right=True),
    Column("last B", right=True),
    Column("caused A", right=True),
    Column("caused B", right=True),
    Column("waiting", right=True),
    Column("kernel", right=True),
    Column("network", right=True),
)
_LINKS = (
    Column("from"),
    Column("to"),
    Column("channel", right=True),
    Column("NIC", right=True),
    Column("times as long", right=True),
)


def compare(values: argparse.Namespace, ui: UI) -> int:
    """Say what changed: exit code 1 where B takes longer for certain, 5 where that is not known."""
    from .. import _nccl_compare

    if len(values.input) != 2:
        raise UsageError(f"--compare takes two runs, got {len(values.input)}", hint="prlx nccl compare BEFORE AFTER")
    if values.probes or values.limit is not None or values.html:
        raise UsageError(
            "--probes, --limit and --html are of a report of one run", hint="--compare prints; --json is for machines"
        )
    found = _nccl_compare.compare_nccl(
        values.input[0],
        values.input[1],
        workers=values.workers,
        memory_limit=values.memory_limit,
        progress=ui.progress,
    )
    if ui.json:
        ui.emit(found.document)
    elif not ui.quiet:
        ui.show(_render(found, ui))
    for text in found.notes:
        ui.say(clean(text))
    for text in found.warnings:
        ui.warn(clean(text))
    return found.conclusion.exit_code


def _signed(ns: int) -> str:
    return f"{'+' if ns > 0 else ''}{format_ns(ns)}"


def _change(row: Mapping[str, Any]) -> tuple[str, ...]:
    bound = "" if row["bound_ns"] is None else format_ns(row["bound_ns"])
    return format_ns(row["a_ns"]), format_ns(row["b_ns"]), _signed(row["change_ns"]), bound


def _render(found: NcclComparison, ui: UI) -> Iterator[str]:
    yield ui.out.style(
        clean(found.verdict), {"slower": "red", "inconclusive": "yellow"}.get(found.status, "green"), "bold"
    )
    if not found.operations:
        return
    parts = [
        (row["part"], *_change(row), f"rank {row['rank']}" if row["rank"] else "")
        for row in (*found.parts, found.held)
        if row["a_ns"] or row["b_ns"]
    ]
    operations = [
        (
            f"{row['communicator']} {row['operation']}",
            format_bytes(row["bytes"]) if row["bytes"] else "",
            format_count(row["compared_a"]),
            format_count(row["compared_b"]),
            *_change(row["held"]),
            max(row["parts"], key=lambda part: part["change_ns"])["part"],
        )
        for row in found.operations
    ]
    ranks = [
        (
            row["id"],
            row["host_b"],
            f"{row['last_a']} of {row['operations_a']}",
            f"{row['last_b']} of {row['operations_b']}",
            format_ns(row["caused_a_ns"]),
            format_ns(row["caused_b_ns"]),
            *(_signed(row["change"][f"{part}_ns"]) for part in ("waiting", "kernel", "network")),
        )
        for row in found.ranks
    ]
    links = [
        (row["from"], row["to"], str(row["channel"]), str(row["nic"]) if row["nic"] >= 0 else "", f"{row['times']:.2f}")
        for row in found.links
    ]
    for columns, rows in ((_PARTS, parts), (_OPERATIONS, operations), (_RANKS, ranks), (_LINKS, links)):
        if rows:
            shown = rows if ui.verbose else rows[:_SHOWN]
            yield ""
            yield from table(ui.out, columns, shown)
            if len(shown) < len(rows):
                yield f"{len(rows) - len(shown)} more; -v shows all"
