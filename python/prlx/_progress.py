"""How far a job is, on a terminal: rich draws it where it is installed, one plain line otherwise; elsewhere nothing."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from ._errors import UsageError
from ._units import format_bytes, format_count

if TYPE_CHECKING:
    from ._core import Progress as Watch

Progress: TypeAlias = "Literal['auto'] | bool | Watch"
"""``"auto"`` shows on a terminal; a function gets the stage, what is done of it, and its total (0 when unknown)."""

Unit: TypeAlias = Literal["bytes", "count"]
"""What an operation counts its work in."""

_PATIENCE_S = 0.3  # what takes no longer than this shows nothing


@contextlib.contextmanager
def shown(progress: Progress, *, unit: Unit = "bytes") -> Iterator[Watch | None]:
    """What ``_core.run`` shall call while the block runs; the line on the terminal is gone afterwards."""
    if callable(progress):
        yield progress
        return
    if progress is not True and progress is not False and progress != "auto":
        raise UsageError(f"progress: expected 'auto', True, False or a function, got {progress!r}")
    stream = sys.stderr
    if progress is False or stream is None or (progress == "auto" and not stream.isatty()):
        yield None
        return
    line = _rich(stream, unit) or _Plain(stream, unit)
    start = time.monotonic()

    def watch(stage: str, done: int, total: int) -> None:
        if time.monotonic() - start > _PATIENCE_S:
            line.show(stage, done, total)

    try:
        yield watch
    finally:
        line.close()


class _Plain:
    """One line that is written over."""

    def __init__(self, stream: TextIO, unit: Unit = "bytes") -> None:
        self._stream = stream
        self._format = format_bytes if unit == "bytes" else format_count
        self._width = 0

    def show(self, stage: str, done: int, total: int) -> None:
        share = (
            f"{100 * min(done, total) // total:3d} %  {self._format(done)} of {self._format(total)}" if total else ""
        )
        text = f"{stage or 'working'}  {share or self._format(done)}"[:78]
        self._write(text)
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        # The line may already be gone with its terminal; progress is never a reason to fail.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
            self._stream.flush()


class _Rich:
    """A bar drawn by rich."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task: Any = None
        self._stage = ""

    def show(self, stage: str, done: int, total: int) -> None:
        if self._task is None:
            self._bar.start()
        elif stage != self._stage:
            self._bar.remove_task(self._task)
            self._task = None
        if self._task is None:
            self._task, self._stage = self._bar.add_task(stage or "working", total=total or None), stage
        self._bar.update(self._task, completed=done, total=total or None)

    def close(self) -> None:
        if self._task is not None:
            self._bar.stop()


def _rich(stream: TextIO, unit: Unit) -> _Rich | None:
    try:
        console = importlib.import_module("rich.console")
        bars = importlib.import_module("rich.progress")
    except ImportError:
        return None
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn() if unit == "bytes" else bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    return _Rich(bars.Progress(*columns, console=console.Console(file=stream), transient=True))
