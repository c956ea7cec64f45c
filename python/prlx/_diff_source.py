"""The source of what differs, as lines of a comparison: A's lines for A, B's for B, and what was edited between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._lines import Look, clean, location, short, wrapped
from ._units import plural

_EACH_SIDE = 2  # source lines before and after the one that is marked
_EDITS_SHOWN = 12  # lines of the difference of the texts
_LONGEST = 240  # characters of a line


def source(d: Mapping[str, Any], document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The lines around a place: of either side where they are not the same.

    Parameters
    ----------
    d
        What has a ``source_location``, and a ``source_location_b`` where the place is on another line in B.
    document, look
        As ``render`` takes them.
    """
    only = d.get("in_trace") or ""
    first = "B" if only == "B" else "A"
    places = [(first, d.get("source_location"))]
    if not only:
        places.append(("B", d.get("source_location_b") or d.get("source_location")))
    shown: list[tuple[str, Mapping[str, Any], list[str]]] = []
    for side, at in places:
        file, _, line_text, _ = location(at)
        line = int(line_text) if line_text.isdecimal() else 0
        piece = _piece(document, file, line, side)
        if piece is not None:
            rows = list(_lines(piece, line, look))
            if not shown or rows != shown[0][2]:
                shown.append((side, piece, rows))
    for side, piece, rows in shown:
        if len(shown) > 1 or (piece.get("side") and (only or d.get("site_b"))):
            yield look.style(f"  {side}, {clean(piece['file'].rsplit('/', 1)[-1])}", "bold")
        if piece.get("stale"):
            yield look.style("  (this file is newer than the recording: lines may have moved)", "yellow")
        elif piece.get("changed") and len(shown) == 1:
            yield look.style("  (as recorded; the file was edited since)", "yellow")
        yield from rows


def _piece(document: Mapping[str, Any], file: str, line: int, side: str) -> Mapping[str, Any] | None:
    """The piece of source with a line: that of the side, or of both."""
    found = [
        piece
        for piece in document.get("sources") or ()
        if line > 0
        and piece["file"] == file
        and piece["first_line"] <= line < piece["first_line"] + len(piece["lines"])
    ]
    mine = [piece for piece in found if piece.get("side", "") in ("", side)]
    return next(iter(mine or found), None)


def _lines(piece: Mapping[str, Any], line: int, look: Look) -> Iterator[str]:
    begin, lines = piece["first_line"], piece["lines"]
    for number in range(max(begin, line - _EACH_SIDE), min(begin + len(lines), line + _EACH_SIDE + 1)):
        marked = number == line
        row = f"  {'>' if marked else ' '} {number:>5} | {_code(lines[number - begin], look)}".rstrip()
        yield look.style(row, "bold") if marked else look.style(row, "dim")


def _code(text: str, look: Look) -> str:
    return clean(text.expandtabs(4).rstrip())[: min(_LONGEST, max(20, look.width - 12))]


def edits(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """What was edited between the two recordings, and whether that is the line that differs first."""
    found = document.get("edits") or {}
    functions, constants = found.get("functions") or (), found.get("constants") or ()
    if not functions and not constants:
        return
    yield ""
    yield from wrapped("source: ", clean(found["text"]), look, head=look.style("source:", "bold") + " ")
    room = None if look.detail else _EDITS_SHOWN
    left = 0
    for function in functions:
        rows = list(_edited(function, look))
        kept = rows if room is None else rows[:room]
        left += len(rows) - len(kept)
        if room is not None:
            room -= len(kept)
        if kept:
            yield look.style(f"  {clean(function['function'])}, {_files(function)}", "dim")
        yield from kept
    left += found.get("omitted") or 0
    if left:
        yield look.style(f"  and {plural(left, 'more line')}{'' if look.detail else '; -v shows them'}", "dim")


def _files(function: Mapping[str, Any]) -> str:
    names = [short(f"{function[key]}::1:0", "").rpartition(":")[0] for key in ("file_a", "file_b") if function.get(key)]
    if len(names) == 1:
        return f"{names[0]}, only in {'A' if function.get('file_a') else 'B'}"
    return names[0] if names[0] == names[1] else f"{names[0]} and {names[1]}"


def _edited(function: Mapping[str, Any], look: Look) -> Iterator[str]:
    for hunk in function["hunks"]:
        for sign, key, colour in (("-", "a", "red"), ("+", "b", "green")):
            for number, text in enumerate(hunk[key], hunk[f"first_{key}"]):
                yield look.style(f"  {sign} {number:>5} | {_code(text, look)}".rstrip(), colour)
