"""Lines of text for people: how they look, tables, paragraphs, places in sources, lanes. Eighty columns do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Style(Protocol):
    """Puts text into a colour or weight."""

    def __call__(self, text: str, *names: str) -> str:
        """The text in the colours and weights of these names."""


def plain(text: str, *names: str) -> str:
    """No colour."""
    del names
    return text


@dataclass(frozen=True)
class Look:
    """How to print.

    Attributes
    ----------
    clusters
        How many clusters are shown.
    history
        Show the events around the first divergence.
    detail
        Show everything that the document has: sites, rulings, every lane that differs.
    flags
        Advice names flags of the command line; without it, arguments of functions.
    """

    style: Style = plain
    width: int = 80
    clusters: int = 10
    history: bool = False
    detail: bool = False
    flags: bool = False


def clean(text: object) -> str:
    """Text from a file, safe to print: control characters must not reach a terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in str(text))


def grid(
    headings: Sequence[str], rows: Sequence[Sequence[str]], look: Look, *, indent: int = 0, right: Sequence[int] = ()
) -> Iterator[str]:
    """A table; columns without a heading and without a cell are left out, the widest text is cut to fit."""
    kept = [k for k in range(len(headings)) if any(row[k] for row in rows)]
    if not rows or not kept:
        return
    widths = [max(len(headings[k]), *(len(row[k]) for row in rows)) for k in kept]
    over = sum(widths) + 2 * (len(widths) - 1) + indent - look.width
    while over > 0:
        widest = max(range(len(widths)), key=lambda n: widths[n])
        cut = min(over, max(0, widths[widest] - 12))
        if cut == 0:
            break
        others = sorted(widths)[-2] if len(widths) > 1 else 12
        cut = min(cut, max(1, widths[widest] - others))
        widths[widest] -= cut
        over -= cut

    def line(cells: Sequence[str]) -> str:
        placed = []
        for k, width in zip(kept, widths, strict=True):
            cell = cells[k] if len(cells[k]) <= width else cells[k][: width - 2] + ".."
            placed.append(cell.rjust(width) if k in right else cell.ljust(width))
        return (" " * indent + "  ".join(placed)).rstrip()

    if any(headings[k] for k in kept):
        yield look.style(line(headings), "dim")
    yield from map(line, rows)


def wrapped(plain_head: str, text: str, look: Look, *, head: str | None = None) -> Iterator[str]:
    """A paragraph with a head that may be coloured; later lines are indented by two more than the head is."""
    room = max(40, look.width)
    indent = " " * (len(plain_head) - len(plain_head.lstrip()) + 2)
    lines: list[str] = []
    line = plain_head
    for word in text.split():
        if len(line) + len(word) > room and line.strip() and line != plain_head:
            lines.append(line.rstrip())
            line = indent
        line += word + " "
    lines.append(line.rstrip())
    if head is not None:
        lines[0] = head + lines[0][len(plain_head) :]
    yield from lines


def place(d: Mapping[str, Any], look: Look | None = None) -> str:
    """Where a divergence is, in short: ``softmax.py:41 in softmax_kernel``, or the site's id."""
    file, function, line, column = location(d.get("source_location"))
    if not file and not function:
        return f"site {clean(d['site_id'])}"
    at = f"{file}:{line}" + (f":{column}" if column not in ("", "0") else "") if file else ""
    bold = look.style(clean(at), "bold") if look and at else clean(at)
    function = d.get("function") or function
    inside = f"in {clean(function)}" if function else ""
    library = f"(through {short(d['inside'][0], '')})" if d.get("inside") else ""
    return " ".join(part for part in (bold, inside, library) if part)


def location(text: str | None) -> tuple[str, str, str, str]:
    """File, function, line and column of ``file:function:line:column``; empty where unknown."""
    if not text:
        return "", "", "", ""
    head, _, column = text.rpartition(":")
    head, _, line = head.rpartition(":")
    file, _, function = head.partition(":")
    if "::" in head:  # C++ names have colons of their own
        file, _, function = head.partition(":")
    return file, function, line, column


def short(text: str | None, site: str) -> str:
    """A location for a table: the file's last part and the line, or the site's id."""
    file, function, line, _ = location(text)
    if file and line not in ("", "0"):
        return clean(f"{file.rsplit('/', 1)[-1]}:{line}")
    return clean(function or site)


def mask(text: str | None) -> int:
    """The lanes of a mask in hexadecimal; none where there is no mask."""
    return int(text, 16) if text else 0


def lane_text(lanes: int | Iterable[int]) -> str:
    """Lanes as ranges: ``0-3,17``."""
    numbers = [k for k in range(64) if lanes >> k & 1] if isinstance(lanes, int) else sorted(lanes)
    parts: list[str] = []
    begin = end = -2
    for lane in [*numbers, None]:
        if lane is not None and lane == end + 1:
            end = lane
            continue
        if begin >= 0:
            parts.append(str(begin) if begin == end else f"{begin}-{end}")
        if lane is not None:
            begin = end = lane
    return ",".join(parts)


def times(size: Any) -> str:
    """A grid or a block: ``128x1x1``; empty where it is not known."""
    return "x".join(str(n) for n in size) if any(size) else ""
