"""The sampler of clocks: a thread in C that reads the system clock and a tracer's clock together, at a cadence, into a file.

It needs neither the core nor the interpreter while it runs, so that a busy program does not delay it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._errors import CoreUnavailableError, FileAccessError, UsageError

LIBRARY = Path(__file__).with_name("libprlx_snapshot.so")
COUNTERS = ("snapshots_taken", "missed_deadline", "dropped_samples", "wide_brackets", "failed_reads", "unstored")

Clock = Callable[[], int]
"""A clock of the caller's: it returns nanoseconds. It is called in a thread of the sampler."""

_CLOCK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))


class _Options(ctypes.Structure):
    """The options of a sampler, as runtime/snapshot/prlx_snapshot.h has them."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("tracer", ctypes.c_char_p),
        ("tracer_clock", _CLOCK),
        ("tracer_user", ctypes.c_void_p),
        ("period_ns", ctypes.c_int64),
        ("period_option", ctypes.c_char_p),
        ("duration_ns", ctypes.c_int64),
        ("tries", ctypes.c_int),
        ("path", ctypes.c_char_p),
        ("host", ctypes.c_char_p),
        ("rank", ctypes.c_int),
        ("machine", ctypes.c_void_p * 4),
    )


class _Counters(ctypes.Structure):
    """The telemetry of a sampler, in the order of the header."""

    _fields_ = tuple((name, ctypes.c_int64) for name in COUNTERS)


_library: Any = None
_lock = threading.Lock()


def library() -> Any:
    """The C library, loaded once."""
    global _library
    with _lock:
        if _library is None:
            try:
                found = ctypes.CDLL(str(LIBRARY))
            except OSError as error:
                raise CoreUnavailableError(
                    f"the sampler of clocks cannot be loaded: {error}",
                    hint="install the wheel for this machine (pip install --force-reinstall prlx-go), "
                    "or in a checkout run `make build`",
                ) from error
            found.prlx_snapshot_start.restype = ctypes.c_void_p
            found.prlx_snapshot_start.argtypes = [ctypes.POINTER(_Options), ctypes.c_char_p, ctypes.c_size_t]
            for name in ("stop", "free", "now", "count", "clock_name", "period_of"):
                function = getattr(found, f"prlx_snapshot_{name}")
                function.argtypes = [ctypes.c_void_p]
                function.restype = ctypes.c_int
            found.prlx_snapshot_free.restype = None
            found.prlx_snapshot_count.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Counters)]
            found.prlx_snapshot_count.restype = None
            found.prlx_snapshot_clock_name.restype = ctypes.c_char_p
            found.prlx_snapshot_period_of.restype = ctypes.c_int64
            found.prlx_snapshot_pjrt_api.argtypes = []
            found.prlx_snapshot_pjrt_api.restype = ctypes.c_void_p
            found.prlx_snapshot_pjrt_configure.argtypes = [
                ctypes.c_char_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t,
            ]  # fmt: skip
            found.prlx_snapshot_pjrt_configure.restype = ctypes.c_int
            _library = found
    return _library


def period_ns(period_ms: float | None) -> int:
    """The cadence in ns; 0 leaves it to the environment."""
    if period_ms is None:
        return 0
    if isinstance(period_ms, bool) or not isinstance(period_ms, (int, float)) or not 10 <= period_ms <= 3_600_000:
        raise UsageError(f"period_ms is {period_ms!r}, expected 10 to 3600000")
    return round(period_ms * 1_000_000)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


class Sampler:
    """One sampler that runs. A forked child has none: there every method does nothing."""

    def __init__(
        self,
        path: Path,
        *,
        tracer: str | None = None,
        clock: Clock | None = None,
        period_ms: float | None = None,
        option: str | None = None,
        duration_s: float | None = None,
        host: str | None = None,
        rank: int | None = None,
    ) -> None:
        self.path = path
        self._handle: int | None = None
        self._owner = os.getpid()
        self._last = dict.fromkeys(COUNTERS, 0)
        self._library = library()
        options = _Options(
            size=ctypes.sizeof(_Options),
            tracer=_encoded(tracer),
            period_ns=period_ns(period_ms),
            period_option=_encoded(option),
            duration_ns=round((duration_s or 0) * 1e9),
            path=os.fsencode(path),
            host=_encoded(host),
            rank=-1 if rank is None else rank,
        )
        self._clock = _CLOCK(_read(clock)) if clock else None  # it must live as long as the thread
        if self._clock:
            options.tracer_clock = self._clock
        said = ctypes.create_string_buffer(512)
        handle = self._library.prlx_snapshot_start(ctypes.byref(options), said, len(said))
        if not handle:
            sentence = said.value.decode(errors="replace")
            if sentence.startswith(f"{path}: "):
                raise FileAccessError(sentence.removeprefix(f"{path}: "), path=str(path))
            raise UsageError(f"no clocks are read: {sentence}")
        self._handle = handle
        self.clock: str = self._library.prlx_snapshot_clock_name(handle).decode(errors="replace")
        self.period_ns: int = self._library.prlx_snapshot_period_of(handle)

    @property
    def running(self) -> bool:
        """Whether it runs, in this process."""
        return self._handle is not None and self._owner == os.getpid()

    def now(self) -> bool:
        """Read a pair now, besides those of the cadence; whether that worked."""
        return self._handle is not None and self.running and self._library.prlx_snapshot_now(self._handle) == 0

    def counters(self) -> dict[str, int]:
        """How much was read and lost so far; after the end, all in all."""
        if self._handle is not None and self.running:
            found = _Counters()
            self._library.prlx_snapshot_count(self._handle, ctypes.byref(found))
            self._last = {name: getattr(found, name) for name in COUNTERS}
        return dict(self._last)

    def stop(self) -> None:
        """Read a last pair and end the thread. Again, it does nothing."""
        if self._handle is None or not self.running:
            return
        self._library.prlx_snapshot_stop(self._handle)
        self.counters()
        handle, self._handle = self._handle, None
        self._library.prlx_snapshot_free(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.stop()


def _read(clock: Clock) -> Callable[[Any, Any], int]:
    """A clock of Python's as the library calls it: what it raises is a reading that failed, and is counted."""

    def read(_user: Any, out: Any) -> int:
        try:
            out[0] = int(clock())
        except Exception:
            return 1
        return 0

    return read
