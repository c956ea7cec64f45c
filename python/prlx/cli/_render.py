"""Tables and lists in plain text, made to be read in 80 columns and piped through grep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ._ui import Stream


@dataclass(frozen=True)
class Column:
    """A column: its heading, on which side its cells stand, and whether it may be cut to fit the width."""

    heading: str
    right: bool = False
    shrinks: bool = False


def table(
    stream: Stream, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: int = 0
) -> Iterator[str]:
    """The lines of a table; columns that are empty in every row are left out."""
    kept = [k for k in range(len(columns)) if any(row[k] not in ("", "-") for row in rows)]
    if not rows or not kept:
        return
    cells = [[_clean(row[k]) for k in kept] for row in rows]
    used = [columns[k] for k in kept]
    widths = [max(len(column.heading), *(len(row[n]) for row in cells)) for n, column in enumerate(used)]
    _fit(widths, used, stream.width - indent)
    head = _join([column.heading for column in used], used, widths)
    yield " " * indent + stream.style(head, "dim")
    for row in cells:
        yield " " * indent + _join(
            [_cut(cell, width, stream) for cell, width in zip(row, widths, strict=True)], used, widths
        )


def _fit(widths: list[int], columns: Sequence[Column], room: int) -> None:
    over = sum(widths) + 2 * (len(widths) - 1) - room
    for n in sorted(range(len(widths)), key=lambda n: -widths[n]):
        if over > 0 and columns[n].shrinks:
            cut = min(over, max(0, widths[n] - max(12, len(columns[n].heading))))
            widths[n] -= cut
            over -= cut


def _join(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    rows = zip(cells, columns, widths, strict=True)
    placed = [cell.rjust(width) if column.right else cell.ljust(width) for cell, column, width in rows]
    return "  ".join(placed).rstrip()


def _cut(text: str, width: int, stream: Stream) -> str:
    if len(text) <= width:
        return text
    return text[: width - 1] + "…" if stream.unicode else text[: width - 2] + ".."


def _clean(text: str) -> str:
    """Names come from files: control characters must not reach the terminal."""
    return "".join(char if char.isprintable() else "�" for char in text)


def facts(stream: Stream, pairs: Sequence[tuple[str, str]], *, indent: int = 0) -> Iterator[str]:
    """Lines of ``name   value``; empty values are left out."""
    shown = [(name, _clean(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        yield f"{' ' * indent}{stream.style(name.ljust(width), 'dim')}  {value}"


def clean(text: str) -> str:
    """Text from a file, safe to print."""
    return _clean(text)
