"""``prlx nccl collect`` and ``prlx nccl selftest``: recordings in one place, and whether the recorder works here."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from .._errors import UsageError
from .._units import format_bytes
from .._verdict import conclusion_of
from ._outputs import shown_path
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any

    from ._ui import UI

SELFTEST = "prlx-nccl-selftest.json"
_FILES = (
    Column("file", shrinks=True),
    Column("host", shrinks=True),
    Column("state"),
    Column("calls", right=True),
    Column("lost", right=True),
    Column("size", right=True),
    Column("", shrinks=True),
)


def collect(values: argparse.Namespace, ui: UI) -> int:
    """Check recordings and bring them into one place; exit code 1: one is damaged or was not brought, 5: ranks are missing."""
    from .. import _nccl_files

    if not values.output:
        raise UsageError("nothing says where the recordings go", hint="prlx nccl collect DIR... -o OUT")
    collected = _nccl_files.collect_nccl(
        values.input,
        output=values.output,
        workers=values.workers,
        memory_limit=values.memory_limit,
        progress=ui.progress,
    )
    if ui.json:
        ui.emit(collected.document)
    else:
        ui.show([collected.summary, "", *table(ui.out, _FILES, [_file_row(row) for row in collected.files], indent=2)])
    for warning in collected.warnings:
        ui.warn(clean(warning))
    written = shlex.quote(shown_path(Path(str(collected.output))))
    opens = f"zstd -dc {written} | tar -x" if collected.document["format"] == "tar.zst" else f"ls {written}"
    ui.say(f"wrote {written}; to open it: {opens}")
    concluded = conclusion_of(collected.document)
    if concluded.outcome != "passed":
        ui.warn(clean(f"{concluded.outcome}: {concluded.why}"))
    return concluded.exit_code


def _file_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    calls = sum((row.get("calls") or {}).values())
    said = row["outcome"] + (f": {row['problem']}" if row.get("problem") else "")
    return (
        clean(row["name"]), clean(row.get("host") or ""), row.get("state") or "", f"{calls:,}", f"{row['lost']:,}",
        format_bytes(row["bytes"]), clean(said),
    )  # fmt: skip


def selftest(values: argparse.Namespace, ui: UI) -> int:
    """Play NCCL to the plug-in and say whether all of it was recorded; exit code 1 where not."""
    from .. import _nccl_files

    target = values.output or SELFTEST
    tested = _nccl_files.selftest_nccl(output=target, overwrite=values.overwrite)
    if ui.json:
        ui.emit(tested.document)
    else:
        ui.show([clean(tested.sentence), *(f"  {clean(problem)}" for problem in tested.problems)])
    ui.say(f"wrote {shlex.quote(shown_path(Path(target)))}: the file to send along with a question")
    return tested.conclusion.exit_code
