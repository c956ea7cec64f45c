"""Memory on a GPU that kernels record into: handed out to launches, and brought home while the next one runs."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._contents import MOST_ROWS, ROW, Places, Rows
from ._cuda import Cuda, DriverError
from ._errors import PrlxError

MOST = 2
"""Arenas of a context: one is brought home while the next launch writes the other."""

PATIENCE_S = 10.0
"""How long a launch waits for an arena. It may hold up the very stream that the arena waits for."""

_LOOK_S, _LOOKS = 0.002, 100  # how often the thread looks for launches before it has to be woken

_HEADER = 320  # bytes of an arena that say what of it is used: docs/formats/arena.md


_ROWS = MOST_ROWS * ROW  # bytes in front of an arena


class Arena:
    """Memory of the device for the events of one launch; zeros while it waits for one. Rows of digests end where it begins."""

    def __init__(self, cuda: Cuda, context: int, size: int) -> None:
        self.context = context
        self.size = size
        self.whole = cuda.allocate(_ROWS + size)
        self.at = self.whole + _ROWS
        self.rows: Rows | None = None  # of its launch
        self.places = Places()
        try:
            cuda.clear(self.whole, _ROWS + size, 0)
            cuda.wait_for_stream(0)
            self.event = cuda.new_event()
        except DriverError:
            cuda.free(self.whole)
            raise


class Header:
    """What a kernel is to find where its arena begins, behind rows; in pinned memory, so that copying it holds nobody up."""

    def __init__(self, cuda: Cuda, content: bytes, rows: Rows | None = None) -> None:
        self._cuda = cuda
        self.rows = rows
        self.front = 0 if rows is None else len(rows.content)
        whole = content if rows is None else rows.content + content
        self.size = len(whole)
        self.at = cuda.allocate_pinned(self.size)
        ctypes.memmove(self.at, whole, self.size)

    def send(self, arena: Arena, stream: int) -> None:
        """Put it where the kernel finds it when the stream gets there."""
        arena.rows = self.rows
        begin = arena.at - self.front
        arena.places.begin(begin)
        self._cuda.to_device(begin, self.at, self.size, stream)

    def __del__(self) -> None:
        self._cuda.free_pinned(self.at)


class Pool:
    """The arenas of a process, by context."""

    def __init__(self, cuda: Cuda, size: int) -> None:
        self._cuda = cuda
        self.size = size
        self._waiting = threading.Condition()
        self._free: dict[int, list[Arena]] = {}
        self._made: dict[int, int] = {}

    def take(self, context: int) -> Arena | None:
        """An arena in a context, which is that of this thread; None where all were taken for a long time.

        Raises
        ------
        DriverError
            The device has no memory for one.
        """
        end = time.monotonic() + PATIENCE_S
        with self._waiting:
            while True:
                free = self._free.setdefault(context, [])
                if free:
                    return free.pop()
                if self._made.get(context, 0) < MOST:
                    self._made[context] = self._made.get(context, 0) + 1
                    break
                if not self._waiting.wait(end - time.monotonic()):
                    return None
        try:
            return Arena(self._cuda, context, self.size)
        except DriverError:
            self.lose(context)
            raise

    def give(self, arena: Arena) -> None:
        """Give an arena back, which has only zeros in it."""
        with self._waiting:
            self._free[arena.context].append(arena)
            self._waiting.notify()

    def lose(self, context: int) -> None:
        """Count an arena out that nobody can use any more: what its context was doing failed."""
        with self._waiting:
            self._made[context] -= 1
            self._waiting.notify()

    def close(self) -> None:
        """Give the memory back."""
        with self._waiting:
            for context, free in self._free.items():
                try:
                    self._cuda.enter(context)
                except DriverError:
                    continue
                for arena in free:
                    self._cuda.library.cuEventDestroy_v2(ctypes.c_void_p(arena.event))
                    self._cuda.free(arena.whole)
            self._free.clear()
            self._made.clear()


Request = Callable[[bytes], Mapping[str, Any]]
"""What ``arena_collect`` is asked, of the rows in front of an arena that came home."""

Done = Callable[[Mapping[str, Any] | None, BaseException | None], None]
"""Is told that a launch was written (what ``arena_collect`` says), or why it was not."""


class Drain:
    """The thread that brings arenas home and writes what is in them, in the order of their launches."""

    def __init__(self, cuda: Cuda, pool: Pool) -> None:
        self._cuda = cuda
        self._pool = pool
        self._waiting = threading.Condition()
        self._queue: deque[tuple[Arena, Request, Done]] = deque()  # launches that are not done
        self._asleep = True  # whoever puts something has to wake it
        self._ended = False
        self._streams: dict[int, int] = {}
        self._home: dict[int, int] = {}
        self._thread: threading.Thread | None = None

    def put(self, arena: Arena, request: Request, done: Done) -> None:
        """Take over an arena whose event is on the stream of its launch."""
        self._queue.append((arena, request, done))
        if self._asleep:
            with self._waiting:
                self._asleep = False
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="prlx records", daemon=True)
                    self._thread.start()
                self._waiting.notify_all()

    def settle(self) -> None:
        """Wait until everything that was put is done."""
        with self._waiting:
            self._waiting.notify_all()  # whoever only looks now and then looks now
            while self._queue:
                self._waiting.wait(0.1)  # so that Ctrl-C is noticed

    def close(self) -> None:
        """Wait for what is left, and end the thread."""
        self.settle()
        with self._waiting:
            self._ended = True
            self._waiting.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with self._cuda.beside_captures():
            self._work()
        for context, stream in self._streams.items():
            self._cuda.library.cuCtxSetCurrent(ctypes.c_void_p(context))
            self._cuda.library.cuStreamDestroy_v2(ctypes.c_void_p(stream))
            self._cuda.free_pinned(self._home[context])

    def _work(self) -> None:
        while self._queue or self._found_more():
            try:
                self._write(*self._queue[0])
            finally:
                with self._waiting:
                    self._queue.popleft()
                    if not self._queue:
                        self._waiting.notify_all()

    def _found_more(self) -> bool:
        """Wait for something to do; False where there will be nothing any more.

        Waking a thread takes longer than all else that a launch does for its recording. So for some time nobody wakes it: it
        looks.
        """
        with self._waiting:
            for _ in range(_LOOKS):
                if self._queue or self._ended:
                    return bool(self._queue)
                self._waiting.wait(_LOOK_S)
            self._asleep = True
            while not self._queue and not self._ended:
                self._waiting.wait()
            self._asleep = False
            return bool(self._queue)

    def _write(self, arena: Arena, request: Request, done: Done) -> None:
        try:
            home, filled = self._bring(arena)
        except PrlxError as error:
            self._pool.lose(arena.context)
            done(None, error)
            return
        except BaseException as error:
            self._pool.lose(arena.context)
            done(None, error)
            raise
        self._pool.give(arena)
        try:
            document = _core.call("arena_collect", {**request(filled), "address": home, "bytes": arena.size})
        except PrlxError as error:
            done(None, error)
        else:
            done(document, None)

    def _bring(self, arena: Arena) -> tuple[int, bytes]:
        """Copy what is used of an arena to the host, and clear it. Returns where the copy is, and the rows in front of it."""
        cuda = self._cuda
        cuda.enter(arena.context)
        if arena.context not in self._streams:
            self._home[arena.context] = cuda.allocate_pinned(_ROWS + arena.size)
            self._streams[arena.context] = cuda.new_stream()
        home, stream = self._home[arena.context] + _ROWS, self._streams[arena.context]
        front = 0 if arena.rows is None else len(arena.rows.content)
        cuda.wait_for_event(arena.event)
        cuda.to_host(home - front, arena.at - front, front + _HEADER, stream)
        cuda.wait_for_stream(stream)
        used = _core.call("arena_used", {"address": home, "bytes": _HEADER})["used"]
        for at, size in used:
            cuda.to_host(home + at, arena.at + at, size, stream)
        cuda.wait_for_stream(stream)
        for at, size in used:
            cuda.clear(arena.at + at, size, stream)
        cuda.wait_for_stream(stream)
        return home, ctypes.string_at(home - front, front)
