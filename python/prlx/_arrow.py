"""Columns as an Arrow C stream, without an Arrow library: the three structs of the C data interface, filled by ctypes.

The interface (arrow.apache.org/docs/format/CDataInterface.html) hands over structs whose ``release`` the consumer calls once,
from any thread and in any order, and whose children it may move out and release on their own. So each struct owns itself: its
``private_data`` is a reference to a Python object that keeps alive whatever the struct points to, and its ``release`` gives
that reference up. The releases are C (``pybind/arrow``): a consumer may call them while an exception is on its way, where no
Python code must run.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ._extension import arrow_releases

if TYPE_CHECKING:
    from ._table import Column

_DICTIONARY_UNORDERED, _NULLABLE = 0, 2
_FORMATS = {"int64": b"l", "uint64": b"L", "int32": b"i", "float64": b"g", "bool": b"b", "string": b"i"}
_LARGE_UTF8, _STRUCT = b"U", b"+s"

_Pointer: TypeAlias = Any  # a ctypes pointer; its types are built at run time


class _Schema(ctypes.Structure):
    """``struct ArrowSchema``."""


class _Array(ctypes.Structure):
    """``struct ArrowArray``."""


class _Stream(ctypes.Structure):
    """``struct ArrowArrayStream``."""


_GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))
_GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))
_GetLastError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Stream))

_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", _GetSchema),
    ("get_next", _GetNext),
    ("get_last_error", _GetLastError),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
    ("owner", ctypes.c_void_p),  # ours, beyond the interface: what keeps this very struct alive while its capsule lives
]

_incref = ctypes.pythonapi.Py_IncRef
_incref.restype = None
_incref.argtypes = [ctypes.py_object]
_release_schema, _release_array, _release_stream, _release_capsule = arrow_releases()


def _own(*things: object) -> int:
    """An owned reference to an object that keeps ``things`` alive; whoever calls the release gives it up."""
    _incref(things)
    return id(things)


class _Source:
    """What a stream yields: one batch, then the end."""

    def __init__(self, columns: Sequence[Column], rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.finished = False


def _source(struct: _Pointer) -> _Source:
    """What a stream's ``private_data`` owns."""
    owned: tuple[_Source] = ctypes.cast(struct.contents.private_data, ctypes.py_object).value
    return owned[0]


def _get_schema(struct: _Pointer, out: _Pointer) -> int:
    source = _source(struct)
    children = []
    for column in source.columns:
        dictionary = _schema(_LARGE_UTF8, b"", 0) if column.type == "string" else None
        name = column.name.encode()
        children.append(_schema(_FORMATS[column.type], name, _NULLABLE, dictionary=dictionary, unit=column.unit))
    out[0] = _schema(_STRUCT, b"", 0, children)
    return 0


def _get_next(struct: _Pointer, out: _Pointer) -> int:
    source = _source(struct)
    if source.finished:
        out[0] = _Array()  # a released array: the end
        return 0
    source.finished = True
    out[0] = _array(source.rows, 0, [None], [_column(column) for column in source.columns])
    return 0


def _get_last_error(_struct: _Pointer) -> None:
    return None


def _metadata(unit: str) -> bytes | None:
    """One key and its value, as the interface encodes them: lengths as int32 of this machine."""
    if not unit:
        return None
    text = b""
    for part in (b"unit", unit.encode()):
        text += len(part).to_bytes(4, sys.byteorder) + part
    return (1).to_bytes(4, sys.byteorder) + text


def _schema(
    form: bytes,
    name: bytes,
    flags: int,
    children: Sequence[_Schema] = (),
    dictionary: _Schema | None = None,
    unit: str = "",
) -> _Schema:
    metadata = _metadata(unit)
    kept_metadata = ctypes.create_string_buffer(metadata) if metadata else None
    pointers = (ctypes.POINTER(_Schema) * max(1, len(children)))(*map(ctypes.pointer, children))
    it = _Schema(form, name, None, flags, len(children), pointers)
    if kept_metadata is not None:
        it.metadata = ctypes.cast(kept_metadata, ctypes.c_char_p)
    if dictionary is not None:
        it.dictionary = ctypes.pointer(dictionary)
    it.release = _release_schema
    it.private_data = _own(form, name, kept_metadata, list(children), pointers, dictionary)
    return it


def _array(
    length: int,
    nulls: int,
    buffers: Sequence[np.ndarray[Any, Any] | None],
    children: Sequence[_Array] = (),
    dictionary: _Array | None = None,
) -> _Array:
    addresses = (ctypes.c_void_p * len(buffers))(*(None if b is None else b.ctypes.data for b in buffers))
    pointers = (ctypes.POINTER(_Array) * max(1, len(children)))(*map(ctypes.pointer, children))
    it = _Array(length, nulls, 0, len(buffers), len(children), addresses, pointers)
    if dictionary is not None:
        it.dictionary = ctypes.pointer(dictionary)
    it.release = _release_array
    it.private_data = _own(list(buffers), addresses, list(children), pointers, dictionary)
    return it


def _column(column: Column) -> _Array:
    valid, nulls = None, 0
    if column.valid is not None:
        valid = np.packbits(column.valid, bitorder="little")
        nulls = len(column.valid) - int(np.count_nonzero(column.valid))
    values = np.packbits(column.values, bitorder="little") if column.type == "bool" else column.values
    dictionary = None
    if column.offsets is not None and column.text is not None:
        dictionary = _array(len(column.offsets) - 1, 0, [None, column.offsets, column.text])
    return _array(len(column.values), nulls, [valid, values], dictionary=dictionary)


# Callbacks live as long as the module: consumers hold their addresses.
_get_schema_callback = _GetSchema(_get_schema)
_get_next_callback = _GetNext(_get_next)
_get_last_error_callback = _GetLastError(_get_last_error)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_CAPSULE_NAME = b"arrow_array_stream"


def stream(columns: Sequence[Column], rows: int) -> object:
    """Make a capsule ``arrow_array_stream`` that yields the columns as one batch."""
    it = _Stream(_get_schema_callback, _get_next_callback, _get_last_error_callback, _release_stream)
    it.private_data = _own(_Source(columns, rows))
    it.owner = _own(it)
    capsule: object = _new_capsule(ctypes.addressof(it), _CAPSULE_NAME, _release_capsule)
    return capsule
