"""Rows of a document as a table of columns, so that small results too become a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._table import Column, Table

if TYPE_CHECKING:
    import numpy.typing as npt

_DTYPES = {"int64": np.int64, "float64": np.float64, "bool": np.bool_}

Spec = tuple[str, str, str]
"""Name, type and unit of a column."""


def table(specs: Sequence[Spec], rows: Iterable[Mapping[str, Any]]) -> Table:
    """The rows as columns; a value that a row lacks is missing, and a table without rows keeps its columns."""
    held = list(rows)
    columns = [_column(name, kind, unit, [row.get(name) for row in held]) for name, kind, unit in specs]
    return Table(columns, len(held))


def stacked(tables: Sequence[Table], name: str, labels: Sequence[str]) -> Table:
    """Tables of the same columns below each other; a first column says which table a row is of."""
    counts = [len(one) for one in tables]
    first = _text(name, np.repeat(np.arange(len(tables), dtype=np.int32), counts), labels)
    return Table([first, *(_stack([one.column(key) for one in tables]) for key in tables[0])], sum(counts))


def renamed(column: Column, name: str, called: Mapping[str, str]) -> Column:
    """A column that calls the values of a text column otherwise, ``""`` where nobody knows how; it shares their numbers."""
    return _text(name, column.values, [called.get(text, "") for text in column.dictionary()], column.valid)


def beside(whole: Table, name: str, *others: Column) -> Table:
    """The table with more columns behind one of its own."""
    columns = list(whole.columns)
    at = 1 + next(i for i, column in enumerate(columns) if column.name == name)
    return Table([*columns[:at], *others, *columns[at:]], len(whole))


def _stack(columns: Sequence[Column]) -> Column:
    one = columns[0]
    if len(columns) == 1:
        return one
    valid = None
    if any(column.valid is not None for column in columns):
        there = [np.ones(len(c.values), dtype=np.bool_) if c.valid is None else c.valid for c in columns]
        valid = np.concatenate(there)
    if one.type != "string":
        return Column(one.name, one.type, one.unit, np.concatenate([column.values for column in columns]), valid)
    numbers: dict[str, int] = {}
    codes = []
    for column in columns:
        renumbered = [numbers.setdefault(text, len(numbers)) for text in column.dictionary()]
        codes.append(np.array([*renumbered, -1], dtype=np.int32)[column.values])  # -1, missing, stays the last
    return _text(one.name, np.concatenate(codes), list(numbers), valid)


def _column(name: str, kind: str, unit: str, values: list[Any]) -> Column:
    there = np.array([value is not None for value in values], dtype=np.bool_)
    valid = None if there.all() else there
    if kind != "string":
        filled = [0 if value is None else value for value in values]
        return Column(name, kind, unit, np.array(filled, dtype=_DTYPES[kind]), valid)
    numbers: dict[str, int] = {}
    codes = [-1 if value is None else numbers.setdefault(str(value), len(numbers)) for value in values]
    return _text(name, np.array(codes, dtype=np.int32), list(numbers), valid)


def _text(
    name: str, codes: npt.NDArray[np.int32], dictionary: Sequence[str], valid: npt.NDArray[np.bool_] | None = None
) -> Column:
    encoded = [text.encode("utf-8", "replace") for text in dictionary]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return Column(name, "string", "", codes, valid, ends, text)
