"""Results in columns: NumPy arrays that Python owns, handed on to pandas, polars or anything that speaks Arrow."""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._result import clipped

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas
    import polars

_DTYPES = {"int64": "<i8", "int32": "<i4", "float64": "<f8", "bool": "?", "string": "<i4"}
_DATA, _VALID, _OFFSETS, _TEXT = range(4)  # the parts of a column, as core/api/table.go numbers them
_SHOWN = 10  # rows that a notebook shows
_LEFT = ' style="text-align:left"'
_CELL = 60  # characters of a cell of those


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    name
        Its name, unique in the table.
    type
        ``int64``, ``int32``, ``float64``, ``bool`` or ``string``; ``uint64`` where 64 bits are a mask or a pattern.
    unit
        ``ns``, ``ps``, ``bytes``, ... or ``""``.
    values
        One value a row; of a string column the numbers of its dictionary.
    valid
        Whether each row has a value; None when all have.
    offsets, text
        Of a string column: where in ``text`` (UTF-8) each distinct value begins, and the end of the last.
    """

    name: str
    type: str
    unit: str
    values: npt.NDArray[Any]
    valid: npt.NDArray[np.bool_] | None = None
    offsets: npt.NDArray[np.int64] | None = None
    text: npt.NDArray[np.uint8] | None = None

    def dictionary(self) -> list[str]:
        """The distinct values of a string column, in the order of their numbers."""
        if self.offsets is None or self.text is None:
            raise TypeError(f"column {self.name!r} holds {self.type}, not strings")
        text, ends = self.text.tobytes(), self.offsets.tolist()
        return [text[begin:end].decode() for begin, end in itertools.pairwise(ends)]

    def to_numpy(self) -> npt.NDArray[Any]:
        """One value a row: strings as objects (None when missing), numbers masked where they are missing."""
        if self.type == "string":
            distinct = np.array([*self.dictionary(), None], dtype=object)
            return distinct.take(self.values)  # -1, missing, is the last: None
        if self.valid is None:
            return self.values
        ma: Any = np.ma  # not typed in every NumPy
        masked: npt.NDArray[Any] = ma.masked_array(self.values, mask=~self.valid)
        return masked


class Table:
    """Columns of equal length, in memory that Python owns: nothing of it lives in the core.

    ``table["name"]`` is a NumPy array, ``len(table)`` the number of rows, and iterating gives the names. A table speaks
    Arrow's PyCapsule protocol: ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and DuckDB take it as it is.
    """

    __slots__ = ("_columns", "_rows")

    def __init__(self, columns: list[Column], rows: int) -> None:
        self._columns = {column.name: column for column in columns}
        self._rows = rows

    @classmethod
    def _read(cls, reference: Mapping[str, Any], fill: Callable[[int, int, int, int, int], None]) -> Table:
        """Copy a table of the core. ``fill(id, column, part, address, size)`` copies one part."""
        rows: int = reference["rows"]

        def part(column: int, number: int, length: int, dtype: str) -> npt.NDArray[Any]:
            array = np.empty(length, dtype)
            fill(reference["id"], column, number, array.ctypes.data, array.nbytes)
            return array

        columns = []
        for i, about in enumerate(reference["columns"]):
            text = about["type"] == "string"
            columns.append(
                Column(
                    about["name"],
                    about["type"],
                    about.get("unit", ""),
                    part(i, _DATA, rows, _DTYPES[about["type"]]),
                    part(i, _VALID, rows, "?") if about.get("nullable") else None,
                    part(i, _OFFSETS, about.get("values", 0) + 1, "<i8") if text else None,
                    part(i, _TEXT, about.get("text_bytes", 0), "u1") if text else None,
                )
            )
        return cls(columns, rows)

    def _pack(self) -> tuple[dict[str, Any], list[memoryview]]:
        """What ``_read`` needs to make the table again: its description, and its parts in the order of reading."""
        about: list[dict[str, Any]] = []
        parts: list[memoryview] = []
        for c in self._columns.values():
            text = {}
            if c.offsets is not None and c.text is not None:
                text = {"values": len(c.offsets) - 1, "text_bytes": len(c.text)}
            about.append({"name": c.name, "type": c.type, "unit": c.unit, "nullable": c.valid is not None, **text})
            parts += [part.view("u1").data for part in (c.values, c.valid, c.offsets, c.text) if part is not None]
        return {"id": 0, "rows": self._rows, "columns": about}, parts

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.column(name).to_numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return self._rows

    @property
    def names(self) -> list[str]:
        """The names of the columns in their order."""
        return list(self._columns)

    @property
    def columns(self) -> list[Column]:
        """The columns in their order."""
        return list(self._columns.values())

    def column(self, name: str) -> Column:
        """One column with its unit, its missing values and its dictionary.

        Raises
        ------
        KeyError
            There is no such column; the message lists those there are.
        """
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}: there are {', '.join(self._columns) or 'none'}") from None

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame``: strings as categories, whole numbers and flags with missing values as nullable types."""
        import pandas as pd

        def convert(column: Column) -> Any:
            if column.type == "string":
                return pd.Categorical.from_codes(column.values, categories=pd.Index(column.dictionary(), dtype=object))
            if column.valid is None:
                return column.values
            if column.type == "float64":
                return np.where(column.valid, column.values, np.nan)
            missing = ~column.valid
            if column.type == "bool":
                return pd.arrays.BooleanArray(column.values, missing)
            return pd.arrays.IntegerArray(column.values, missing)

        return pd.DataFrame({name: convert(column) for name, column in self._columns.items()}, copy=True)

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame``: strings as categories."""
        import polars as pl

        return pl.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow stream of one batch. ``requested_schema`` is a wish that the protocol allows to ignore."""
        from ._arrow import stream

        return stream(self.columns, self._rows)

    def __repr__(self) -> str:
        names = ", ".join(f"{c.name}: {c.type}{f' [{c.unit}]' if c.unit else ''}" for c in self._columns.values())
        return clipped(f"<Table of {self._rows:,} rows: {names}>")

    def _repr_html_(self) -> str:
        shown = min(self._rows, _SHOWN)
        sides = [
            _LEFT if c.type == "string" else "" for c in self._columns.values()
        ]  # notebooks put cells to the right
        head = "".join(
            f"<th{side}>{html.escape(c.name)}{f'<br><small>{html.escape(c.unit)}</small>' if c.unit else ''}</th>"
            for c, side in zip(self._columns.values(), sides, strict=True)
        )
        cells = [_head(column, shown) for column in self._columns.values()]
        body = "".join(
            "<tr>"
            + "".join(f"<td{side}>{html.escape(_begin(c[i]))}</td>" for c, side in zip(cells, sides, strict=True))
            + "</tr>"
            for i in range(shown)
        )
        more = f"<p>{self._rows:,} rows, the first {shown} shown</p>" if shown < self._rows else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _begin(text: str) -> str:
    """A cell of a notebook: names of kernels can have thousands of characters."""
    return text if len(text) <= _CELL else f"{text[: _CELL // 2]}\u2026{text[-_CELL // 2 + 1 :]}"


def _head(column: Column, n: int) -> list[str]:
    """The first values of a column as text; a missing one is empty."""
    values: list[Any] = column.values[:n].tolist()
    if column.type == "string":
        dictionary = column.dictionary()
        values = [dictionary[code] if code >= 0 else "" for code in values]
    valid = [True] * n if column.valid is None else column.valid[:n].tolist()
    return [str(value) if there else "" for value, there in zip(values, valid, strict=True)]


_OF_SIDES = {f"{name}_{side}" for name in ("active", "taken", "value") for side in "ab"}
_BITS = {"active", "taken", "value", "lhs", "rhs", "lanes"} | _OF_SIDES


def as_bits(table: Table) -> Table:
    """The table with masks and 64-bit patterns as unsigned numbers: the same memory under another type."""
    return Table([_unsigned(column) for column in table.columns], len(table))


def _unsigned(column: Column) -> Column:
    if column.type != "int64" or column.name not in _BITS:
        return column
    return Column(column.name, "uint64", column.unit, column.values.view(np.uint64), column.valid)
