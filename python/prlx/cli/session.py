"""``prlx session``: the launches of a session, and two sessions compared."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _request
from .._errors import UsageError
from .._origin import operations, text_of
from .._units import format_bytes, format_count, plural
from . import diff
from ._command import Command, Option, Positional
from ._render import Column, clean, table

if TYPE_CHECKING:
    from .._session import Session
    from ._ui import UI

VERBS = ("inspect", "diff")
_LAUNCHES = (
    Column("launch", right=True),
    Column("kernel", shrinks=True),
    Column("computes", shrinks=True),
    Column("grid"),
    Column("block"),
    Column("arguments"),
    Column("size", right=True),
    Column("file", shrinks=True),
    Column("problem", shrinks=True),
)
_OPERATIONS = (Column("node", shrinks=True), Column("operation"), Column("module", shrinks=True), Column("line"))
_KERNELS = (Column("launches", right=True), Column("kernel", shrinks=True))


def run(values: argparse.Namespace, ui: UI) -> int:
    """List a session, or compare two."""
    verb, given = values.verb, values.session_dir
    if verb == "inspect":
        if len(given) != 1:
            raise UsageError(f"expected one session, got {len(given)}", hint="prlx session inspect DIR")
        return _inspect(given[0], values, ui)
    if len(given) != 2:
        raise UsageError(f"expected two sessions, got {len(given)}", hint="prlx session diff A B")
    values.a, values.b = given
    values.session = True
    values.baseline = values.baseline_b = values.dump_a = values.dump_b = None
    return diff.run(values, ui)


def _inspect(path: str, values: argparse.Namespace, ui: UI) -> int:
    from .._session import open_session

    session = open_session(_request.absolute(path), progress=ui.progress)
    if ui.json:
        ui.emit(session.document)
    else:
        ui.show(_render(session, ui, values.max_shown))
    for warning in session.document.get("warnings") or ():
        ui.warn(clean(warning))
    return 0


def _render(session: Session, ui: UI, limit: int) -> Iterator[str]:
    from .._lines import times

    document = session.document
    kernels = document["kernels"]
    counts = f"{plural(len(session), 'launch')} of {plural(len(kernels), 'kernel')}"
    yield f"{ui.out.style(clean(document['path']), 'bold')}  {counts}"
    if not document["manifest"]:
        yield "  there is no session.json: these are the recordings in the directory"
    if document["partial"]:
        yield "  recording did not come to its end"
    limit = max(limit, 20)
    launches = document["launches"] if ui.verbose else document["launches"][:limit]
    rows = [
        (
            str(row["launch"]),
            row["kernel"],
            text_of(row),
            times(row["grid"]),
            times(row["block"]),
            row.get("argument_digest") or "",
            format_bytes(row["bytes"]) if row["bytes"] else "",
            row["file"],
            row.get("problem") or ("partial" if row["partial"] else ""),
        )
        for row in launches
    ]
    yield ""
    yield from table(ui.out, _LAUNCHES, rows, indent=2)
    if len(launches) < len(session):
        yield ui.out.style(f"  {len(launches)} of {format_count(len(session))}; -v shows all", "dim")
    if ui.verbose:
        yield from _computed(launches, ui)
    yield from _fidelity(document["launches"], ui)
    if len(kernels) > 1:
        yield ""
        each = [(format_count(row["launches"]), row["kernel"]) for row in kernels[: None if ui.verbose else limit]]
        yield from table(ui.out, _KERNELS, each, indent=2)


def _computed(launches: Sequence[Mapping[str, Any]], ui: UI) -> Iterator[str]:
    """The operations that kernels compute, each kernel once, with the launches that do so."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for row in launches:
        nodes = tuple(operations(row))
        if nodes:
            found.setdefault((row["kernel"], nodes), []).append(str(row["launch"]))
    for (kernel, nodes), numbers in found.items():
        yield ""
        which = "launch" if len(numbers) == 1 else "launches"
        yield f"  {ui.out.style(clean(kernel), 'bold')} computes, in {which} {', '.join(numbers)}"
        yield from table(ui.out, _OPERATIONS, nodes, indent=4)


def _fidelity(launches: Sequence[Mapping[str, Any]], ui: UI) -> Iterator[str]:
    """What the simulator approximated in the launches, and what that decided."""
    said = [row["fidelity"] for row in launches if row.get("fidelity")]
    if not said:
        return
    yield ""
    silent = f"; {plural(len(launches) - len(said), 'launch')} do not say" if len(said) < len(launches) else ""
    names = dict.fromkeys(name for one in said for name in one["approximated"])
    if not names:
        yield f"  {ui.out.style('fidelity', 'bold')}  exact: nothing was approximated{silent}"
        return
    inexact = sum(not one["exact"] for one in said)
    listed = ", ".join(clean(name) for name in list(names)[:_NAMES]) + (", ..." if len(names) > _NAMES else "")
    yield f"  {ui.out.style('fidelity', 'bold')}  approximated in {plural(inexact, 'launch')}: {listed}{silent}"
    uses = sorted({use for one in said for use in one["decides"]})
    reached = (
        f"reached: {', '.join(clean(use) for use in uses)}"
        if uses
        else "reached no address, branch, predicate or barrier"
    )
    yield f"    values that may come from it {reached}"


_NAMES = 4
_NAMED = (
    "--values",
    "--tolerance",
    "--site-map",
    "--max-shown",
    "--max-divergences",
    "--require",
    "--html",
    "--json",
    "--strict",
)
_NOT_HERE = ("--baseline", "--baseline-b", "--rerun", "--dump-a", "--dump-b", "--session")


def _options() -> tuple[Option, ...]:
    """Those of ``prlx diff`` that sessions have; the less usual ones are only named."""
    found = [option for option in diff.COMMAND.options if option.flags[0] not in _NOT_HERE]
    return tuple(replace(option, brief=option.flags[0] not in _NAMED) for option in found)


COMMAND = Command(
    name="session",
    run=run,
    examples=(
        ("prlx session inspect run_a/", "the launches"),
        ("prlx session diff run_a/ run_b/", "launch by launch"),
        ("prlx session diff run_a/ run_b/ --html report.html", "the same in a browser"),
    ),
    positionals=(
        Positional("VERB", "list one session, or compare two", "one", VERBS),
        Positional("SESSION_DIR", "a directory with session.json, or of .prlx files", "some"),
    ),
    options=_options(),
    notes=("exit codes of diff: 0 same, 1 a launch differs or is missing, 5 inconclusive, losses (--strict)",),
)
