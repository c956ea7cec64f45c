"""What the launches of a comparison were given differently: a table of arguments, before anything is said of code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._lines import Look, clean, wrapped
from ._units import plural

_SHOWN = 12
_WIDEST = 24  # characters of a cell


def given(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The table of what differs of arguments, constants and options; nothing where nothing does or nothing was recorded."""
    rows = document.get("given") or ()
    if not rows:
        return
    yield ""
    yield look.style("given differently:", "bold") + f" {plural(len(rows), 'property')} of what was launched"
    shown = rows if look.detail else rows[:_SHOWN]
    cells = [("argument", "what", "A", "B")]
    cells += [(_cell(row["name"]), row["what"], _cell(row["a"]), _cell(row["b"])) for row in shown]
    widths = [max(len(row[k]) for row in cells) for k in range(4)]
    for i, row in enumerate(cells):
        line = "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield look.style(line, "dim") if i == 0 else line
    for note in dict.fromkeys(f"{clean(row['name'])}: {clean(row['note'])}" for row in shown if row.get("note")):
        yield from wrapped("  ", note, look)
    if len(shown) < len(rows):
        yield look.style(f"  {len(shown)} of {len(rows)}; -v shows all", "dim")


def _cell(text: str) -> str:
    shown = clean(text) or "-"
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 3] + "..."
