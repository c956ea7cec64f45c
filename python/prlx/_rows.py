"""Rows of a document as a table of columns, so that small results too become a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._table import Column, Table

_DTYPES = {"int64": np.int64, "float64": np.float64, "bool": np.bool_}

Spec = tuple[str, str, str]
"""Name, type and unit of a column."""


def table(specs: Sequence[Spec], rows: Iterable[Mapping[str, Any]]) -> Table:
    """The rows as columns; a value that a row lacks is missing, and a table without rows keeps its columns."""
    held = list(rows)
    columns = [_column(name, kind, unit, [row.get(name) for row in held]) for name, kind, unit in specs]
    return Table(columns, len(held))


def _column(name: str, kind: str, unit: str, values: list[Any]) -> Column:
    there = np.array([value is not None for value in values], dtype=np.bool_)
    valid = None if there.all() else there
    if kind != "string":
        filled = [0 if value is None else value for value in values]
        return Column(name, kind, unit, np.array(filled, dtype=_DTYPES[kind]), valid)
    numbers: dict[str, int] = {}
    codes = [-1 if value is None else numbers.setdefault(str(value), len(numbers)) for value in values]
    encoded = [text.encode("utf-8", "replace") for text in numbers]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return Column(name, kind, unit, np.array(codes, dtype=np.int32), valid, ends, text)
