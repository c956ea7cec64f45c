"""The way into the core: operations that run at once, and jobs that are started, waited for and cancelled.

Requests and replies are JSON; columns are copied into memory that Python owns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _extension
from ._errors import InternalError
from ._extension import ROOM, address, broken, call_packed, document, encode, fill, is_forked, is_loaded

if TYPE_CHECKING:
    from ._table import Table

__all__ = [
    "Job",
    "Progress",
    "call",
    "call_packed",
    "configure",
    "fill",
    "is_forked",
    "is_loaded",
    "run",
    "start",
    "table",
]

Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with the stage's name, how much is done and the total (0 when unknown), in the thread that waits."""

_POLL_MS = 50  # how long a wait stays in the core: a Ctrl-C is noticed after at most this
_GRACE_S = 0.35  # how long a cancelled job may take to end before it is left to itself


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
    return call("configure", {"workers": workers, "memory_limit": memory_limit, **_extension.settings()})


def call(op: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run a short operation and return its document. It cannot be interrupted: what may take long is for ``run``.

    Parameters
    ----------
    op
        Name of the operation.
    request
        Its request; values that are None count as absent.
    """
    return _extension.call(_extension.go, op, request)


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
    text = encode(request)
    number = _extension.go.pybind_Start(op, address(text), len(text))
    if number <= 0:
        raise broken("Start")
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
        """Wait for the end of the job, at most so long; whether it has ended."""
        end = time.monotonic() + seconds
        while True:
            left = max(0, round((end - time.monotonic()) * 1000))
            if _extension.go.pybind_Wait(self._id(), min(left, _POLL_MS)):
                return True
            if left <= _POLL_MS:
                return False

    def progress(self) -> tuple[str, int, int]:
        """The stage's name, how much is done and the total (0 when unknown)."""
        state = document(lambda out: _extension.go.pybind_Progress(self._id(), out, ROOM))
        return state["stage"], state["done"], state["total"]

    def cancel(self) -> None:
        """Ask the job to end: ``result`` then raises ``CancelledError``, unless the job was faster."""
        _extension.go.pybind_Cancel(self._id(), False)

    def result(self) -> dict[str, Any]:
        """Wait for the end of the job and return its document, once. Ctrl-C cancels the job."""
        try:
            while not self.wait(1.0):
                pass
        except BaseException:
            self.close()
            raise
        number, self._number = self._id(), None
        found = document(lambda out: _extension.go.pybind_Result(number, out, ROOM))
        if "tables" in found:
            found["tables"] = _read_tables(found["tables"])
        return found

    def close(self) -> None:
        """Cancel the job, give it a moment to clean up, and forget it. Nothing happens when its result was collected."""
        number, self._number = self._number, None
        if number is None or is_forked():
            return
        end = time.monotonic() + _GRACE_S
        try:
            _extension.go.pybind_Cancel(number, False)
            while not _extension.go.pybind_Wait(number, 20) and time.monotonic() < end:
                pass
        finally:
            _extension.go.pybind_Cancel(number, True)

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        number = getattr(self, "_number", None)
        if number is not None and is_loaded():
            _extension.go.pybind_Cancel(number, True)


def _read_tables(references: Mapping[str, Any]) -> dict[str, Table]:
    """Copy tables out of the core and release them there, whatever happens."""
    try:
        from ._table import Table

        return {name: Table._read(reference, fill) for name, reference in references.items()}
    finally:
        for reference in references.values():
            _extension.go.pybind_Release(reference["id"])
