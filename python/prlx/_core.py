"""The way into the core: the only module that loads it, and the only one that calls it.

Requests and replies are JSON; columns are copied into memory that Python owns. The core is Go, so two things need care. A
panic must not end the process: the core turns every one into a reply. And Go does not survive a fork: what was loaded before
a fork is dead in the child, where every call raises ``ForkedProcessError`` at once instead of hanging somewhere later.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from ._errors import CoreUnavailableError, ForkedProcessError, InternalError, UsageError, from_envelope
from ._version import __version__

if TYPE_CHECKING:
    from ._table import Table

Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with the stage's name, how much is done and the total (0 when unknown), in the thread that waits."""

_POLL_MS = 50  # how long a wait stays in the core: a Ctrl-C is noticed after at most this
_GRACE_S = 0.35  # how long a cancelled job may take to end before it is left to itself
_ROOM = 64 << 10  # bytes of a scratch buffer for a reply; larger ones take a second call


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


_go: Any = _Unloaded()
_lock = threading.Lock()
_loading = False  # the extension is, or may be, mapped
_buffers: list[_Buffer] = []


class _Buffer:
    """Memory at a fixed address for one reply. They are pooled, not one a thread: signal handlers and finalizers re-enter."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(_ROOM)
        self.address = ctypes.addressof(self.memory)


def _after_fork() -> None:
    """Make the child of a fork safe: whatever held a lock is gone, and a loaded core is dead."""
    global _go, _lock, _buffers
    _lock, _buffers = threading.Lock(), []
    if _loading:
        _go = _Dead()


os.register_at_fork(after_in_child=_after_fork)


def _load() -> Any:
    """Load the core, once, and tell it its limits before anybody else can call it."""
    global _go, _loading
    with _lock:
        if not isinstance(_go, _Unloaded):
            return _go
        _loading = True
        try:
            from . import _prlx as go
        except ImportError as error:
            _loading = False
            raise CoreUnavailableError(
                f"the core of prlx cannot be loaded: {error}",
                hint="install the wheel for this Python (pip install --force-reinstall prlx-go), "
                "or in a checkout run `make build`",
            ) from error
        built_for = go.pybind_Version()
        if built_for != __version__:
            raise CoreUnavailableError(
                f"the core was built for prlx {built_for}, the Python package is prlx {__version__}",
                hint="reinstall prlx-go, or in a checkout run `make build`",
            )
        _call(go, "configure", _settings())
        _go = go
        return go


def _settings() -> dict[str, Any]:
    # The tests of the boundary need operations that fail and block on request; the core opens them only when told to.
    return {"debug_ops": True} if os.environ.get("PRLX_DEBUG_OPS") == "1" else {}


def is_loaded() -> bool:
    """Whether the core is mapped into this process and alive."""
    return not isinstance(_go, (_Unloaded, _Dead))


def is_forked() -> bool:
    """Whether this process was forked after the core was loaded, so that no call may enter it."""
    return isinstance(_go, _Dead)


def configure(*, workers: int | None = None, memory_limit: int | str | None = None) -> dict[str, Any]:
    """Set the limits of every job to come; a request may still carry its own ``workers`` and ``memory_limit``.

    Parameters
    ----------
    workers
        How many threads may work at once. Default: the cores that the CPU quota grants.
    memory_limit
        Bytes, or a text like ``"2GiB"``. Default: half of the control group's limit, else half of the machine's memory.

    Returns
    -------
    dict
        The limits that hold now: ``workers``, ``memory_limit`` and ``memory_source``.
    """
    return call("configure", {"workers": workers, "memory_limit": memory_limit, **_settings()})


def call(op: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run a short operation and return its document. It cannot be interrupted: what may take long is for ``run``.

    Parameters
    ----------
    op
        Name of the operation.
    request
        Its request; values that are None count as absent.
    """
    return _call(_go, op, request)


def _call(go: Any, op: str, request: Mapping[str, Any] | None) -> dict[str, Any]:
    text = _encode(request)
    return _document(lambda out: go.pybind_Call(op, _address(text), len(text), out, _ROOM))


def run(op: str, request: Mapping[str, Any] | None = None, *, progress: Progress | None = None) -> dict[str, Any]:
    """Run an operation as a job and return its document. Ctrl-C cancels it and comes back within half a second.

    Tables that the operation returns are read: ``document["tables"]`` maps their names to ``Table`` objects.

    Parameters
    ----------
    op
        Name of the operation.
    request
        Its request; values that are None count as absent.
    progress
        Called about 20 times a second while the job moves on. What it raises cancels the job and is raised here.
    """
    with start(op, request) as job:
        before: tuple[str, int, int] | None = None
        while not job.wait(_POLL_MS / 1000):
            if progress is not None and (now := job.progress()) != before:
                before = now
                progress(*now)
        if progress is not None and (now := job.progress()) != before:
            progress(*now)
        return job.result()


def table(op: str, request: Mapping[str, Any] | None = None, *, name: str, progress: Progress | None = None) -> Table:
    """Run an operation as a job and return one of its tables.

    Parameters
    ----------
    op, request, progress
        As of ``run``.
    name
        Which of the operation's tables.
    """
    found: Table = run(op, request, progress=progress)["tables"][name]
    return found


def start(op: str, request: Mapping[str, Any] | None = None) -> Job:
    """Start an operation in the background; ``Job`` says how to wait for it."""
    text = _encode(request)
    number = _go.pybind_Start(op, _address(text), len(text))
    if number <= 0:
        raise _broken("Start")
    return Job(number)


class Job:
    """An operation that runs in the core. Leaving its ``with`` block, or dropping it, cancels it unless it has ended."""

    def __init__(self, number: int) -> None:
        self._number: int | None = number

    def _id(self) -> int:
        if self._number is None:
            raise InternalError("the result of this job was already collected")
        return self._number

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the job, at most so long; whether it has ended. Ctrl-C is served every 50 ms."""
        end = time.monotonic() + seconds
        while True:
            left = max(0, round((end - time.monotonic()) * 1000))
            if _go.pybind_Wait(self._id(), min(left, _POLL_MS)):
                return True
            if left <= _POLL_MS:
                return False

    def progress(self) -> tuple[str, int, int]:
        """The stage's name, how much is done and the total (0 when unknown)."""
        state = _document(lambda out: _go.pybind_Progress(self._id(), out, _ROOM))
        return state["stage"], state["done"], state["total"]

    def cancel(self) -> None:
        """Ask the job to end: ``result`` then raises ``CancelledError``, unless the job was faster."""
        _go.pybind_Cancel(self._id(), False)

    def result(self) -> dict[str, Any]:
        """Wait for the end of the job and return its document, once. Ctrl-C cancels the job."""
        try:
            while not self.wait(1.0):
                pass
        except BaseException:
            self.close()
            raise
        number, self._number = self._id(), None
        document = _document(lambda out: _go.pybind_Result(number, out, _ROOM))
        if "tables" in document:
            document["tables"] = _read_tables(document["tables"])
        return document

    def close(self) -> None:
        """Cancel the job, give it a moment to clean up, and forget it. Nothing happens when its result was collected."""
        number, self._number = self._number, None
        if number is None or isinstance(_go, _Dead):
            return
        end = time.monotonic() + _GRACE_S
        try:
            _go.pybind_Cancel(number, False)
            while not _go.pybind_Wait(number, 20) and time.monotonic() < end:
                pass
        finally:
            _go.pybind_Cancel(number, True)

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        number = getattr(self, "_number", None)
        if number is not None and is_loaded():
            _go.pybind_Cancel(number, True)


def fill(table_id: int, column: int, part: int, address: int, size: int) -> None:
    """Copy a part of a table's column to ``size`` bytes of memory at ``address``."""
    if size == 0:
        return
    done = _go.pybind_Fill(table_id, column, part, address, size)
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
    if _go.pybind_Arrow(ctypes.addressof(addresses), ctypes.addressof(releases)) != 1:
        raise _broken("Arrow")
    return list(releases)


def _read_tables(references: Mapping[str, Any]) -> dict[str, Table]:
    """Copy tables out of the core and release them there, whatever happens."""
    try:
        from ._table import Table

        return {name: Table._read(reference, fill) for name, reference in references.items()}
    finally:
        for reference in references.values():
            _go.pybind_Release(reference["id"])


def _encode(request: Mapping[str, Any] | None) -> bytes:
    present = {key: value for key, value in (request or {}).items() if value is not None}
    try:
        return json.dumps(present, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        bad = error.object[max(0, error.start - 40) : error.end + 40]
        raise UsageError(f"not valid Unicode: {bad!r}", hint="rename the file to a name in UTF-8") from None


def _address(text: bytes) -> int:
    """Where the bytes lie; whoever asks keeps them alive."""
    return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0


def _document(ask: Callable[[int], int]) -> dict[str, Any]:
    """Call into the core with room for a reply and return the document in it, or raise the exception that it describes."""
    try:
        buffer = _buffers.pop()
    except IndexError:
        buffer = _Buffer()
    try:
        n = ask(buffer.address)
        if n > 0:
            reply = ctypes.string_at(buffer.address, n)
        elif n < 0:
            reply = _fetch(-n, int.from_bytes(ctypes.string_at(buffer.address, 8), "little"))
        else:
            raise _broken("no reply")
    finally:
        _buffers.append(buffer)
    content = json.loads(reply[1:])
    if reply[0] != 0:
        raise from_envelope(content)
    document: dict[str, Any] = content
    return document


def _fetch(number: int, size: int) -> bytes:
    """Get a reply that did not fit the buffer."""
    memory = ctypes.create_string_buffer(size)
    if _go.pybind_Fetch(number, ctypes.addressof(memory), size) != size:
        raise _broken("a long reply is not there")
    return memory.raw


def _broken(what: str) -> InternalError:
    return InternalError(f"the boundary to the core failed: {what}", hint="this is a bug of prlx: please report it")
