"""``prlx validate``: is the order of collectives possible?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import UsageError
from .._units import format_count, format_ns, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._parser import given
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._validate import Verdicts
    from ._ui import UI

_COLUMNS = (
    Column("collective", shrinks=True),
    Column("kind"),
    Column("occurrence", right=True),
    Column("verdict"),
    Column("gap", right=True),
    Column("bound", right=True),
    Column("left"),
    Column("entered"),
)
_KINDS = (
    Column("kind"),
    Column("groups", right=True),
    Column("impossible", right=True),
    Column("consistent", right=True),
    Column("undecidable", right=True),
)
_LOST = (Column("unmatched", shrinks=True), Column("executions", right=True), Column("because"))
_VERDICTS = {"violated": "impossible"}


def run(values: argparse.Namespace, ui: UI) -> int:
    """Judge every collective."""
    from .. import _validate

    asked = _validate.request(values.input, **given(values, _validate.request))
    if values.output is not None:
        _check_output(Path(values.output), asked)
    verdicts = _validate.run(asked, progress=ui.progress)
    if values.output is not None:
        verdicts.save(values.output, overwrite=bool(values.overwrite))
    if ui.json:
        ui.emit(verdicts.document)
    else:
        ui.show(_render(verdicts, ui))
    for note in verdicts.document.get("notes") or ():
        ui.say(clean(note))
    for warning in verdicts.document.get("warnings") or ():
        ui.warn(clean(warning))
    if values.output is not None:
        ui.say(f"wrote {values.output}; open it with: {_opener(values.output)}")
    return verdicts.conclusion.exit_code


def _check_output(target: Path, asked: dict[str, Any]) -> None:
    """Refuse to replace what is read; a file in a directory that is read may only be an earlier one of ours."""
    if not target.exists():
        return
    named = [*asked["inputs"], *(asked["snapshots"] or ())]
    read = [Path(one["path"]) for one in named]
    read += [Path(path) for path in (*(asked["probes"] or ()), asked["offsets"], asked["declared"]) if path]
    inside = any(path.is_dir() and target.resolve().is_relative_to(path.resolve()) for path in read)
    if any(path.exists() and path.samefile(target) for path in read) or (inside and not _ours(target)):
        raise UsageError(
            "is an input, and inputs are never touched", path=str(target), hint="choose another name for the verdicts"
        )


def _ours(target: Path) -> bool:
    with target.open("rb") as file:
        head = file.read(256).lstrip().lower()
    return head.startswith(b"<!doctype html") or b'"schema": "prlx.validate/' in head


def _opener(output: str) -> str:
    return f"python -m json.tool {output}" if output.endswith(".json") else f"xdg-open {output}"


def _render(verdicts: Verdicts, ui: UI) -> Iterator[str]:
    yield plural(verdicts.groups, "collective")
    counts = (
        ("impossible", verdicts.violated, "red"),
        ("consistent", verdicts.consistent, "green"),
        ("undecidable", verdicts.undecidable, "yellow"),
        ("unmatched", verdicts.unmatched, "yellow"),
    )
    for name, count, color in counts:
        shown = f"{count:>8,}"
        yield f"  {name:<11} {ui.out.style(shown, color, 'bold') if count else shown}"
    rows = [
        (
            row.key,
            row.kind,
            str(row.occurrence),
            _VERDICTS.get(row.verdict, row.verdict),
            format_ns(row.gap_ns),
            "unknown" if row.bound_ns is None else format_ns(row.bound_ns) if row.bound_ns else "",
            row.nodes[0],
            row.nodes[-1],
        )
        for row in verdicts.worst
    ]
    if rows:
        yield ""
        yield "worst"
        yield from table(ui.out, _COLUMNS, rows, indent=2)
    yield from _details(verdicts, ui)
    for said in verdicts.verdict.split("; ")[1:]:  # what limits it
        yield ui.out.style(clean(said), "yellow", "bold")


def _details(verdicts: Verdicts, ui: UI) -> Iterator[str]:
    counted = ("groups", "violated", "consistent", "undecidable")
    kinds = [
        (row["kind"], *(format_count(row[count]) for count in counted))
        for row in verdicts.document.get("by_kind") or ()
    ]
    lost = [
        (row["key"], format_count(row["count"]), row["reason"])
        for row in verdicts.document.get("unmatched_by_key") or ()
    ]
    for columns, rows in ((_KINDS, kinds if ui.verbose else []), (_LOST, lost)):
        if rows:
            yield ""
            yield from table(ui.out, columns, rows, indent=2)


COMMAND = Command(
    name="validate",
    run=run,
    examples=(
        ("prlx validate run_aligned/", "a combined run"),
        ("prlx validate node*.xplane.pb", "raw traces, on the clocks as recorded"),
        ("prlx validate node*.xplane.pb --probes probes_*.jsonl", "on the clocks that probes relate"),
        ("prlx validate run/ --json -o verdicts.json", ""),
    ),
    positionals=(Positional("INPUT", "traces of all nodes, or one combined trace"),),
    options=(
        *options.of("validate"),
        Option(("--output", "-o"), "save the verdicts: .json or .html", takes="path", metavar="FILE"),
        options.OVERWRITE,
        options.JSON,
    ),
    notes=(
        "exit code 1: a collective is impossible; 5: none could be judged, or a rank is missing.",
        "A collective that ends on one node at the very instant at which another begins it is consistent.",
    ),
)
