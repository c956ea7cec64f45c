"""Cycles and their comparison as spreadsheets, in the layouts of uplifter. Needs XlsxWriter."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._errors import FileAccessError, UsageError

_COMPARE = (
    "Baseline Kernel",
    "Base Avg",
    "Base Min",
    "Base Max",
    "Base StdDev",
    "New Kernel",
    "New Avg",
    "New Min",
    "New Max",
    "New StdDev",
    "Change (%)",
    "Match Type",
)
_CYCLE = (
    "index",
    "kernel_name",
    "avg_duration_us",
    "min_duration_us",
    "max_duration_us",
    "stddev_us",
    "count",
    "pct_of_cycle",
)
_FILLS = {"exact": "#E2EFDA", "similar": "#FFF2CC", "removed": "#F8CBAD", "new_only": "#DDEBF7"}
_HEAT = 5.0  # percent from which a change is coloured
_WIDTHS = {0: 48, 5: 48}
_EPOCH = datetime.datetime(2000, 1, 1)  # the same document gives the same bytes


def check(target: Path, *, overwrite: bool) -> None:
    """Say what stands against writing before any work is done."""
    _library()
    if target.exists() and not overwrite:
        raise FileAccessError("already exists", path=str(target), hint="choose another name, or pass --overwrite")
    if not target.absolute().parent.is_dir():
        raise FileAccessError("no such directory to write to", path=str(target.parent))


def write(document: Mapping[str, Any], target: Path, *, overwrite: bool) -> None:
    """Write a document of cycles, or of their comparison, as ``.xlsx``: a whole file or none.

    Parameters
    ----------
    document
        ``prlx.cycles/1``: one sheet per class. ``prlx.cycles-compare/1``: one sheet a pair of classes.
    target
        Where to.
    overwrite
        Replace a file that exists.

    Raises
    ------
    UsageError
        XlsxWriter is not installed.
    FileAccessError
        The file exists, or its directory does not.
    """
    check(target, overwrite=overwrite)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        # Names come from traces: they are text, never formulas, links or numbers.
        plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
        book = _library().Workbook(str(temporary), {**plain, "constant_memory": False})
        book.set_properties({"title": "prlx cycles", "created": _EPOCH})
        if document["schema"].startswith("prlx.cycles-compare/"):
            _comparison(book, document)
        else:
            _cycles(book, document)
        book.close()
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _library() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise UsageError("spreadsheets need XlsxWriter", hint="pip install 'prlx-go[xlsx]'") from None
    return xlsxwriter


class _Sheets:
    """Sheets by names that spreadsheets accept: 31 characters, no brackets, colons, stars or slashes, each once."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._taken: set[str] = set()

    def add(self, name: str) -> Any:
        plain = re.sub(r"[\[\]:*?/\\]|[^ -~]", "_", name).strip("' ")[:28] or "sheet"
        unique, number = plain, 2
        while unique.lower() in self._taken:
            unique, number = f"{plain[:25]} {number}", number + 1
        self._taken.add(unique.lower())
        return self._book.add_worksheet(unique)


def _us(ns: float) -> float:
    return round(ns / 1000, 3)


def _cycles(book: Any, document: Mapping[str, Any]) -> None:
    sheets, bold = _Sheets(book), book.add_format({"bold": True})
    classes = [row for level in reversed(document["levels"]) for row in level["classes"]]
    for row in classes or [None]:
        sheet = sheets.add("no cycle" if row is None else row["name"])
        if row is None:
            sheet.write_string(0, 0, document["verdict"])
            continue
        head = (
            ("Iterations", row["count"]),
            ("Kernels per cycle", row["period"]),
            ("Avg cycle time (us)", _us(row["kernel_ns"]["mean"])),
            ("Total time (us)", _us(row["kernel_ns"]["mean"] * row["kernel_ns"]["count"])),
            ("Wall time (us)", _us(row["wall_ns"]["mean"])),
            ("Phase", f"{row['phase']} ({row['phase_reason']})"),
        )
        for line, (name, value) in enumerate(head):
            sheet.write(line, 0, name, bold)
            sheet.write(line, 1, value)
        first = len(head) + 1
        sheet.write_row(first, 0, _CYCLE, bold)
        for line, slot in enumerate(row["kernels"], first + 1):
            times = (slot["mean_ns"], slot["min_ns"], slot["max_ns"], slot["stddev_ns"])
            cells = (slot["slot"], slot["name"], *map(_us, times), slot["count"], round(100 * slot["share"], 4))
            sheet.write_row(line, 0, cells)
        sheet.set_column(1, 1, 60)
        sheet.set_column(2, 7, 15)
        sheet.freeze_panes(first + 1, 0)
        sheet.autofilter(first, 0, first + len(row["kernels"]), len(_CYCLE) - 1)


def _comparison(book: Any, document: Mapping[str, Any]) -> None:
    sheets = _Sheets(book)
    formats = {name: book.add_format({"bg_color": colour}) for name, colour in _FILLS.items()}
    formats["worse"] = book.add_format({"bg_color": "#F8696B", "num_format": "+0.0;-0.0;0.0"})
    formats["better"] = book.add_format({"bg_color": "#63BE7B", "num_format": "+0.0;-0.0;0.0"})
    formats["even"] = book.add_format({"num_format": "+0.0;-0.0;0.0"})
    bold = book.add_format({"bold": True, "bottom": 1})
    for pair in document["pairs"]:
        sheet = sheets.add(pair["a"]["name"])
        sheet.write_row(0, 0, _COMPARE, bold)
        wall = pair["wall"]
        sheet.write_row(1, 0, (pair["a"]["name"], _us(wall["a_ns"])))
        sheet.write_row(1, 5, (pair["b"]["name"], _us(wall["b_ns"])))
        _change(sheet, 1, wall["relative"], formats)
        line = 2
        for row in pair["rows"]:
            for kind, a, b in _lines(row):
                _line(sheet, line, kind, a, b, formats)
                line += 1
        for column in range(len(_COMPARE)):
            sheet.set_column(column, column, _WIDTHS.get(column, 12))
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, max(line - 1, 1), len(_COMPARE) - 1)
    if not document["pairs"]:
        sheets.add("no pairs").write_string(0, 0, document["verdict"])


Slot = Mapping[str, Any]


def _lines(row: Mapping[str, Any]) -> Sequence[tuple[str, Slot | None, Slot | None]]:
    """A row as uplifter has it: one kernel a side; what was fused or replaced is removed and new."""
    a, b = row["a"], row["b"]
    if row["kind"] in ("exact", "similar") and len(a) == len(b) == 1:
        kind = "exact" if a[0]["name"] == b[0]["name"] else "similar"
        return [(kind, a[0], b[0])]
    return [*(("removed", slot, None) for slot in a), *(("new_only", None, slot) for slot in b)]


def _line(sheet: Any, line: int, kind: str, a: Slot | None, b: Slot | None, formats: Mapping[str, Any]) -> None:
    for column, slot in ((0, a), (5, b)):
        if slot is not None:
            sheet.write_string(line, column, slot["name"], formats[kind])
            times = (slot["mean_ns"], slot["min_ns"], slot["max_ns"], slot["stddev_ns"])
            sheet.write_row(line, column + 1, [_us(ns) for ns in times])
    if a is not None and b is not None and a["mean_ns"]:
        _change(sheet, line, b["mean_ns"] / a["mean_ns"] - 1, formats)
    sheet.write_string(line, 11, kind, formats[kind])


def _change(sheet: Any, line: int, share: float, formats: Mapping[str, Any]) -> None:
    percent = 100 * share
    kind = "worse" if percent >= _HEAT else "better" if percent <= -_HEAT else "even"
    sheet.write_number(line, 10, round(percent, 3), formats[kind])
