"""The extension that holds the core: loading it once, where it must not be entered, and how texts cross.

This is the only module that imports it. The core is Go, so two things need care. A panic must not end the process: the core
turns every one into a reply. And Go does not survive a fork: what was loaded before a fork is dead in the child, where every
call raises ``ForkedProcessError`` at once instead of hanging somewhere later.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._errors import CoreUnavailableError, ForkedProcessError, InternalError, UsageError, from_envelope
from ._version import __version__

_EMPTY = 3  # bytes of a reply that is an empty document: its status and two braces
ROOM = 64 << 10  # bytes of a scratch buffer for a reply; larger ones take a second call


class _Unloaded:
    """Stands for the core until its first use."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(), name)


class _Dead:
    """Stands for the core in a process that was forked after the core was loaded."""

    def __getattr__(self, name: str) -> Any:
        raise ForkedProcessError(
            "this process was forked after prlx had loaded its core, which does not survive a fork",
            hint="start processes with the 'spawn' or 'forkserver' method of multiprocessing, or call prlx in the parent",
        )


go: Any = _Unloaded()
_lock = threading.Lock()
_loading = False  # the extension is, or may be, mapped
_buffers: list[_Buffer] = []


class _Buffer:
    """Memory at a fixed address for one reply. They are pooled, not one a thread: signal handlers and finalizers re-enter."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(ROOM)
        self.address = ctypes.addressof(self.memory)


def _after_fork() -> None:
    """Make the child of a fork safe: whatever held a lock is gone, and a loaded core is dead."""
    global go, _lock, _buffers
    _lock, _buffers = threading.Lock(), []
    if _loading:
        go = _Dead()


os.register_at_fork(after_in_child=_after_fork)


def _load() -> Any:
    """Load the core, once, and tell it its limits before anybody else can call it."""
    global go, _loading
    with _lock:
        if not isinstance(go, _Unloaded):
            return go
        _loading = True
        try:
            from . import _prlx as found
        except ImportError as error:
            _loading = False
            raise CoreUnavailableError(
                f"the core of prlx cannot be loaded: {error}",
                hint="install the wheel for this Python (pip install --force-reinstall prlx-go), "
                "or in a checkout run `make build`",
            ) from error
        built_for = found.pybind_Version()
        if built_for != __version__:
            raise CoreUnavailableError(
                f"the core was built for prlx {built_for}, the Python package is prlx {__version__}",
                hint="reinstall prlx-go, or in a checkout run `make build`",
            )
        call(found, "configure", settings())
        go = found
        return found


def settings() -> dict[str, Any]:
    """What the core is told besides its limits."""
    # The tests of the boundary need operations that fail and block on request; the core opens them only when told to.
    return {"debug_ops": True} if os.environ.get("PRLX_DEBUG_OPS") == "1" else {}


def is_loaded() -> bool:
    """Whether the core is mapped into this process and alive."""
    return not isinstance(go, (_Unloaded, _Dead))


def is_forked() -> bool:
    """Whether this process was forked after the core was loaded, so that no call may enter it."""
    return isinstance(go, _Dead)


def call(extension: Any, op: str, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Run a short operation of an extension and return its document."""
    text = encode(request)
    return document(lambda out: extension.pybind_Call(op, address(text), len(text), out, ROOM))


def call_packed(op: str, words: Iterable[int], text: bytes) -> None:
    """Run a short operation whose request is whole numbers and a text, not JSON: one that is called too often for that."""
    request = array("Q", words)
    size = 8 * len(request) + len(text)
    request.frombytes(text + bytes(-len(text) % 8))
    at, _ = request.buffer_info()
    document(lambda out: go.pybind_Call(op, at, size, out, ROOM), _EMPTY)


def fill(table_id: int, column: int, part: int, address: int, size: int) -> None:
    """Copy a part of a table's column to ``size`` bytes of memory at ``address``."""
    if size == 0:
        return
    done = go.pybind_Fill(table_id, column, part, address, size)
    if done == -1:
        raise InternalError(f"table {table_id} was released")
    if done != size:
        raise InternalError(f"table {table_id}: column {column}, part {part} does not fit {size} bytes ({done})")


def arrow_releases() -> list[int]:
    """The addresses of the functions that give back an Arrow schema, array, stream and capsule of a stream."""
    python = ctypes.pythonapi
    needed = (
        python.Py_IsInitialized,
        python.PyGILState_Ensure,
        python.PyGILState_Release,
        python.Py_DecRef,
        python.PyCapsule_GetPointer,
    )
    addresses = (ctypes.c_uint64 * len(needed))(*(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in needed))
    releases = (ctypes.c_uint64 * 4)()
    if go.pybind_Arrow(ctypes.addressof(addresses), ctypes.addressof(releases)) != 1:
        raise broken("Arrow")
    return list(releases)


def encode(request: Mapping[str, Any] | None) -> bytes:
    """A request as it crosses; values that are None count as absent."""
    present = {key: value for key, value in (request or {}).items() if value is not None}
    try:
        return json.dumps(present, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        bad = error.object[max(0, error.start - 40) : error.end + 40]
        raise UsageError(f"not valid Unicode: {bad!r}", hint="rename the file to a name in UTF-8") from None


def address(text: bytes) -> int:
    """Where the bytes lie; whoever asks keeps them alive."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0


def document(ask: Callable[[int], int], expected: int = 0) -> dict[str, Any]:
    """Call into the core with room for a reply and return the document in it, or raise the exception that it describes.

    A reply of the expected length is an empty document and is not looked at.
    """
    try:
        buffer = _buffers.pop()
    except IndexError:
        buffer = _Buffer()
    try:
        n = ask(buffer.address)
        if n == expected != 0:
            return {}
        if n > 0:
            reply = ctypes.string_at(buffer.address, n)
        elif n < 0:
            reply = _fetch(-n, int.from_bytes(ctypes.string_at(buffer.address, 8), "little"))
        else:
            raise broken("no reply")
    finally:
        _buffers.append(buffer)
    content = json.loads(reply[1:])
    if reply[0] != 0:
        raise from_envelope(content)
    found: dict[str, Any] = content
    return found


def _fetch(number: int, size: int) -> bytes:
    """Get a reply that did not fit the buffer."""
    memory = ctypes.create_string_buffer(size)
    if go.pybind_Fetch(number, ctypes.addressof(memory), size) != size:
        raise broken("a long reply is not there")
    return memory.raw


def broken(what: str) -> InternalError:
    """The error of a boundary that does not keep its word."""
    return InternalError(f"the boundary to the core failed: {what}", hint="this is a bug of prlx: please report it")
