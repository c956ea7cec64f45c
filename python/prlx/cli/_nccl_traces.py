"""``prlx nccl merge`` and ``prlx nccl flight``: recordings as one trace, and what PyTorch's Flight Recorder dumped."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._verdict import conclusion_of
from ._outputs import shown_path
from ._parser import given
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._nccl_flight import FlightRecorder
    from ._ui import UI

_STANDINGS = (
    Column("group", shrinks=True),
    Column("rank", right=True),
    Column("last", right=True),
    Column("operation", shrinks=True),
    Column("state"),
    Column("unfinished", right=True),
)


def merge(values: argparse.Namespace, ui: UI) -> int:
    """Write all recordings as one trace; exit code 5 where it lacks something of the job."""
    from .. import _nccl_merge

    asked = _nccl_merge.request(values.input, **given(values, _nccl_merge.request))
    merged = _nccl_merge.run(asked, progress=ui.progress)
    if ui.json:
        ui.emit(merged.document)
    else:
        ui.show([merged.summary])
    for warning in merged.warnings:
        ui.warn(clean(warning))
    written = shown_path(merged.path)
    viewer = "https://ui.perfetto.dev" if merged.document["format"] == "chrome" else "XProf or TensorBoard"
    ui.say(f"wrote {written}; open it in {viewer}, or with: prlx inspect {shlex.quote(written)}")
    concluded = conclusion_of(merged.document)
    if concluded.outcome == "inconclusive":
        ui.warn(clean(f"the trace is not all of the job: {concluded.why}"))
    return concluded.exit_code


def flight(values: argparse.Namespace, ui: UI) -> int:
    """Say which rank was missing; exit code 1 with a culprit, 5 when it is not told."""
    from .. import _nccl_flight

    asked = _nccl_flight.request(values.input, **given(values, _nccl_flight.request))
    found = _nccl_flight.run(asked, progress=ui.progress)
    if ui.json:
        ui.emit(found.document)
    else:
        ui.show(_render(found, ui))
    for warning in found.warnings:
        ui.warn(clean(warning))
    return found.conclusion.exit_code


def _render(found: FlightRecorder, ui: UI) -> Iterator[str]:
    color = {"culprit": "red", "nothing": "green"}.get(found.status, "yellow")
    yield ui.out.style(clean(found.verdict), color, "bold")
    others = [row["sentence"] for row in found.findings if row["sentence"] != found.verdict]
    for sentence in others if ui.verbose else others[:5]:
        yield f"  {clean(sentence)}"
    rows = [
        (
            group["name"] if group["description"] in ("", "undefined") else f"{group['name']} ({group['description']})",
            str(row["rank"]),
            str(row["last"]),
            row["operation"],
            row["state"],
            str(row["unfinished"]),
        )
        for group in found.groups
        for row in group["standings"]
    ]
    if rows and (found.findings or ui.verbose):
        yield ""
        shown = rows if ui.verbose else rows[:16]
        yield from table(ui.out, _STANDINGS, shown)
        if len(shown) < len(rows):
            yield f"{len(rows) - len(shown)} more; -v shows all"
