"""``prlx solve --watch``: offsets of clocks while they are measured, as a table that is drawn anew or as lines of JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import PrlxError, UsageError
from ._render import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._solve import Offsets
    from ._ui import UI

INTERVAL_S = 2.0
# Solving reads all that was measured, which becomes more: at most a fifth of the time goes into it.
_REST = 4
_CLEAR = "\x1b[H\x1b[J"  # to the upper left corner, and nothing below it


def watch(
    inputs: Sequence[str],
    solve: Callable[[list[Path]], Offsets],
    render: Callable[[Offsets], Iterator[str]],
    ui: UI,
    *,
    interval_s: float = INTERVAL_S,
    rounds: int | None = None,
) -> int:
    """Solve until Ctrl-C, or as often as ``rounds`` says; what cannot be solved yet is said, and tried again."""
    if not inputs:
        raise UsageError("no directory given", hint="name the directory that prlx probe writes into")
    for given in inputs:
        if not Path(given).exists():
            raise UsageError(f"{given}: no such file or directory")
    redraws = ui.out.file.isatty() and not ui.json
    done = 0
    try:
        while True:
            begun = time.monotonic()
            _show(_solved(inputs, solve), render, ui, redraws=redraws, first=done == 0)
            done += 1
            if rounds is not None and done >= rounds:
                return 0
            time.sleep(max(interval_s, _REST * (time.monotonic() - begun)))
    except KeyboardInterrupt as stop:
        if type(stop) is not KeyboardInterrupt:
            raise
        return 0


def files(inputs: Sequence[str]) -> list[Path]:
    """The files of probes that the inputs stand for now: a directory is looked into each time, for peers start late."""
    found: list[Path] = []
    for given in map(Path, inputs):
        found += sorted(given.glob("probe*.jsonl*")) if given.is_dir() else [given]
    return found


def _solved(inputs: Sequence[str], solve: Callable[[list[Path]], Offsets]) -> Offsets | str:
    """The offsets of now, or why there are none."""
    named = files(inputs)
    if not named:
        return f"no probes in {', '.join(inputs)} yet"
    try:
        return solve(named)
    except PrlxError as error:
        return clean(str(error))


def _show(
    solved: Offsets | str, render: Callable[[Offsets], Iterator[str]], ui: UI, *, redraws: bool, first: bool
) -> None:
    if isinstance(solved, str):
        ui.warn(solved)
        return
    if ui.json:
        ui.out.line(json.dumps(solved.document, ensure_ascii=not ui.out.unicode))
    else:
        headline, *table = render(solved)
        begin = _CLEAR if redraws else "" if first else "\n"
        ui.show([f"{begin}{time.strftime('%H:%M:%S')}  {headline}", *table])
    ui.out.file.flush()
