"""Tables: what is in them, who owns them, and who can read them."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import prlx
from prlx import _core
from prlx._table import Table

from .conftest import Python

EPOCH = 1_760_000_000_000_000_000


def make(rows: int) -> Table:
    return _core.table("debug.table", {"rows": rows}, name="events")


@pytest.fixture(params=[0, 1, 7, 8, 9, 1000])
def table(request: pytest.FixtureRequest) -> Table:
    return make(request.param)


def expected(rows: int) -> dict[str, list[object]]:
    valid = [i % 3 != 0 for i in range(rows)]
    text = "größer ☃".encode()
    return {
        "start": [EPOCH + i for i in range(rows)],
        "run_id": [EPOCH + i if valid[i] else None for i in range(rows)],
        "line": [-i for i in range(rows)],
        "drift": [i / 2 if valid[i] else None for i in range(rows)],
        "clamped": [i % 2 == 1 for i in range(rows)],
        "matched": [i % 2 == 1 if valid[i] else None for i in range(rows)],
        "name": [f"kernel {i % 5}" for i in range(rows)],
        "group": [text[: i % 8].decode(errors="replace") if valid[i] else None for i in range(rows)],
    }


def test_columns_are_numpy_arrays(table: Table) -> None:
    want = expected(len(table))
    assert table.names == list(table) == list(want)
    for name in table:
        array = table[name]
        assert isinstance(array, np.ndarray)
        assert array.tolist() == want[name], name
    assert table["start"].dtype == np.int64
    assert table.column("start").unit == "ns"
    assert "start" in table
    assert "end" not in table


def test_unknown_column_lists_those_there_are(table: Table) -> None:
    with pytest.raises(KeyError, match="no column 'end': there are start, run_id"):
        table["end"]


def test_arrays_outlive_their_table_and_can_be_written() -> None:
    start = make(1000)["start"]
    gc.collect()
    start += 1
    assert start[0] == EPOCH + 1
    assert make(1000)["start"][0] == EPOCH


def test_pandas(table: Table) -> None:
    pd = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame.columns) == table.names
    assert str(frame.dtypes["start"]) == "int64"
    assert str(frame.dtypes["run_id"]) == "Int64"
    assert str(frame.dtypes["name"]) == "category"
    for name, want in expected(len(table)).items():
        assert [None if pd.isna(value) else value for value in frame[name].tolist()] == want, name


def test_polars(table: Table) -> None:
    pl = pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame.columns == table.names
    assert frame.schema["start"] == pl.Int64
    assert frame.to_dict(as_series=False) == expected(len(table))


def test_arrow(table: Table) -> None:
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table(table)
    arrow.validate(full=True)
    assert arrow.to_pydict() == expected(len(table))
    assert arrow.schema.field("start").metadata == {b"unit": b"ns"}
    assert arrow.schema.field("name").type == pa.dictionary(pa.int32(), pa.large_string())


def test_arrow_needs_no_arrow_library(python: Python) -> None:
    kind = python(
        "sys.modules['pyarrow'] = None\n"
        "from prlx import _core\n"
        "table = _core.table('debug.table', {'rows': 5}, name='events')\n"
        "show(type(table.__arrow_c_stream__()).__name__)"
    )
    assert kind == "PyCapsule"


def references(table: Table) -> list[int]:
    gc.collect()
    arrays = [a for c in table.columns for a in (c.values, c.valid, c.offsets, c.text) if a is not None]
    return [sys.getrefcount(array) for array in arrays]


def test_arrow_gives_everything_back() -> None:
    pa = pytest.importorskip("pyarrow")
    table = make(100)
    before = references(table)

    arrow = pa.table(table)
    assert references(table) != before
    column = arrow["name"]  # outlives the rest
    del arrow
    assert column.to_pylist()[:2] == ["kernel 0", "kernel 1"]
    del column
    assert references(table) == before

    capsule = table.__arrow_c_stream__()  # never consumed
    del capsule
    assert references(table) == before

    reader = pa.RecordBatchReader.from_stream(table)  # consumed half-way
    del reader
    assert references(table) == before

    other_thread = [pa.table(table)]
    thread = threading.Thread(target=other_thread.clear)
    thread.start()
    thread.join()
    assert references(table) == before


def test_arrow_outlives_the_table() -> None:
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table(make(1000))
    gc.collect()
    make(1000)
    assert arrow.to_pydict() == expected(1000)


def test_arrow_is_given_back_while_an_exception_is_on_its_way() -> None:
    pa = pytest.importorskip("pyarrow")
    table = make(100)
    before = references(table)

    def fail(maker: Callable[[], object]) -> Iterator[object]:
        yield maker()
        raise ValueError("mine")

    for maker in (lambda: pa.table(table), table.__arrow_c_stream__):
        with pytest.raises(ValueError, match="mine"):
            tuple(fail(maker))  # drops what it has while the exception is set
    del maker
    assert references(table) == before


def test_tables_do_not_leak() -> None:
    pa = pytest.importorskip("pyarrow")
    table = make(100_000)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def use(times: int) -> None:
        for _ in range(times):
            pa.table(table)
            table.__arrow_c_stream__()
            make(10_000)

    use(20)
    before = resident()
    use(200)
    assert resident() - before < 48 << 20  # each round that leaked would keep 4 MB or more


def test_released_table_is_an_error() -> None:
    make(3)  # table 1, or a later one
    with pytest.raises(prlx.InternalError, match="table 1 was released"):
        _core.fill(1, 0, 0, np.empty(1).ctypes.data, 8)


def test_tables_pickle(table: Table) -> None:
    again = pickle.loads(pickle.dumps(table))
    assert repr(again) == repr(table)
    assert all(again[name].tolist() == table[name].tolist() for name in table)


def test_repr_is_one_line_and_names_units() -> None:
    assert repr(make(1234)).startswith("<Table of 1,234 rows: start: int64 [ns], run_id: int64, ")
    assert "\n" not in repr(make(3))


def test_notebook_shows_the_first_rows() -> None:
    shown = make(1000)._repr_html_()
    assert "1,000 rows, the first 10 shown" in shown
    assert shown.count("<tr>") == 11
    assert "rows, the first" not in make(3)._repr_html_()
