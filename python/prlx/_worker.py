"""prlx in a process of its own: ``python -m prlx._worker`` serves the operations of the core on stdin and stdout.

It is for callers that must not load the core themselves, above all children of a fork. Each message is a frame: its length as
four little-endian bytes, then JSON in UTF-8.

========================================  ====================================================================
from the caller                           ``{"id": 1, "op": "combine", "request": {...}, "progress": true}``
                                          ``{"cancel": 1}``
from the worker, any number of times      ``{"id": 1, "progress": ["scan", done, total]}`` (when asked for)
from the worker, once                     ``{"id": 1, "document": {...}}`` or ``{"id": 1, "error": {...}}``
========================================  ====================================================================

Requests run side by side; answers come in the order in which they are ready. Tables follow their document as raw frames, one
for each part of each column. The worker ends when its stdin does, and cancels what still runs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from . import _core
from ._errors import InternalError, UsageError, from_envelope, to_envelope

if TYPE_CHECKING:
    from ._table import Table

_LENGTH = 4  # bytes
_LARGEST = 1 << 30  # bytes of one message; a longer one is noise on the pipe
_PATIENCE_S = 0.45  # how long a worker may take to cancel and clean up


def _read(stream: IO[bytes]) -> bytes | None:
    """One frame, or None at the end of the stream."""
    head = stream.read(_LENGTH)
    if not head:
        return None
    size = int.from_bytes(head, "little")
    if len(head) < _LENGTH or size > _LARGEST:
        raise InternalError(f"the worker's pipe does not carry frames: {head!r}")
    body = stream.read(size)
    if len(body) < size:
        raise InternalError(f"the worker's pipe ended within a frame: {len(body)} of {size} bytes")
    return body


def _write(stream: IO[bytes], *bodies: bytes | memoryview) -> None:
    for body in bodies:
        stream.write(len(body).to_bytes(_LENGTH, "little"))
        stream.write(body)
    stream.flush()


def _decode(frame: bytes) -> dict[str, Any]:
    """The message in a frame of a caller: anything else means that the two are out of step."""
    try:
        message = json.loads(frame)
    except ValueError as error:
        raise InternalError(f"a frame does not hold JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("id", message.get("cancel")), int):
        raise InternalError(f"a message has neither an id nor what to cancel: {frame[:80]!r}")
    return message


class _Server:
    """Serves one caller until its pipe ends."""

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests = requests
        self._answers = answers
        self._writing = threading.Lock()
        self._cancelled: dict[int, threading.Event] = {}

    def serve(self) -> None:
        threads: list[threading.Thread] = []
        try:
            while (frame := _read(self._requests)) is not None:
                message = _decode(frame)
                if "cancel" in message:
                    if event := self._cancelled.get(message["cancel"]):
                        event.set()
                    continue
                self._cancelled[message["id"]] = event = threading.Event()
                thread = threading.Thread(target=self._answer, args=(message, event), name=f"prlx {message.get('op')}")
                thread.start()
                threads = [running for running in threads if running.is_alive()] + [thread]
        finally:
            for event in list(self._cancelled.values()):
                event.set()
            for thread in threads:
                thread.join()

    def _answer(self, message: Mapping[str, Any], cancelled: threading.Event) -> None:
        number = message["id"]
        try:
            document, parts = self._run(message, cancelled)
            answer: dict[str, Any] = {"id": number, "document": document}
        except BaseException as error:  # whatever it is, the caller waits for an answer
            answer, parts = {"id": number, "error": to_envelope(error)}, []
        finally:
            del self._cancelled[number]
        self._send(answer, parts)

    def _run(self, message: Mapping[str, Any], cancelled: threading.Event) -> tuple[dict[str, Any], list[memoryview]]:
        if not isinstance(message.get("op"), str) or not isinstance(message.get("request", {}), dict):
            raise UsageError("a message to the worker has an op and a request")
        with _core.start(message["op"], message.get("request")) as job:
            before = None
            while not job.wait(0.05):
                if cancelled.is_set():
                    job.cancel()
                if message.get("progress") and (now := job.progress()) != before:
                    before = now
                    self._send({"id": message["id"], "progress": now}, [])
            document = job.result()
        parts: list[memoryview] = []
        if "tables" in document:
            packed = {name: table._pack() for name, table in document["tables"].items()}
            document["tables"] = {name: reference for name, (reference, _) in packed.items()}
            parts = [part for _, several in packed.values() for part in several]
        return document, parts

    def _send(self, answer: Mapping[str, Any], parts: list[memoryview]) -> None:
        text = json.dumps(answer, ensure_ascii=False).encode()
        # When the caller is gone, the end of stdin, which follows, ends the worker.
        with self._writing, contextlib.suppress(BrokenPipeError):
            _write(self._answers, text, *parts)


class Worker:
    """A worker process and the way to call it. It starts with the first call, and ends with ``close`` or with its owner.

    It serves one call at a time, from any thread. In a forked child the next call starts a worker of the child's own.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def run(
        self, op: str, request: Mapping[str, Any] | None = None, *, progress: _core.Progress | None = None
    ) -> dict[str, Any]:
        """Run an operation as ``_core.run`` does, in the worker."""
        present = {key: value for key, value in (request or {}).items() if value is not None}
        message = {"id": next(self._numbers), "op": op, "request": present, "progress": progress is not None}
        with self._lock:
            process = self._started()
            in_step = False  # whether the pipes are between two calls
            try:
                assert process.stdin is not None
                _write(process.stdin, json.dumps(message, ensure_ascii=False).encode())
                while "progress" in (answer := self._answer(process)):
                    if progress is not None:
                        progress(*answer["progress"])
                document: dict[str, Any] = answer.get("document", {})
                if "tables" in document:
                    document["tables"] = self._tables(process, document["tables"])
                in_step = True
            finally:
                if not in_step:
                    self._end()
        if "error" in answer:
            raise from_envelope(answer["error"])
        return document

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and (self._process.poll() is not None or self._owner != os.getpid()):
            self._close_pipes(self._process)
            self._process = None
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "prlx._worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._owner = os.getpid()
        return self._process

    @staticmethod
    def _answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None
        frame = _read(process.stdout)
        if frame is None:
            raise InternalError(f"the worker ended with status {process.wait()}")
        answer: dict[str, Any] = json.loads(frame)
        return answer

    @staticmethod
    def _tables(process: subprocess.Popen[bytes], references: Mapping[str, Any]) -> dict[str, Table]:
        from ._table import Table

        assert process.stdout is not None
        stdout = process.stdout

        def fill(_table: int, _column: int, _part: int, address: int, size: int) -> None:
            import ctypes

            frame = _read(stdout)
            if frame is None or len(frame) != size:
                raise InternalError("the worker sent a column of another size than it said")
            ctypes.memmove(address, frame, size)

        return {name: Table._read(reference, fill) for name, reference in references.items()}

    def close(self) -> None:
        """End the worker: it cancels what it still does and cleans up."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        self._close_pipes(process)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @staticmethod
    def _close_pipes(process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def main() -> None:
    """Serve on stdin and stdout. Whatever prints to stdout goes to stderr, so that it cannot break a frame.

    Ctrl-C is for the caller, which shares the terminal: the worker ends when its stdin does.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _Server(requests, answers).serve()
    except InternalError as error:
        sys.stderr.write(f"prlx worker: {error}\n")
        sys.exit(error.exit_code)
    finally:
        with contextlib.suppress(BrokenPipeError):
            answers.close()


if __name__ == "__main__":
    main()
