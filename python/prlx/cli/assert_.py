"""``prlx assert``: a gate for builds: are two recordings the same, or as near as is allowed?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import FileAccessError, IncompatibleTracesError, TraceFormatError, UsageError
from . import _options as options
from ._command import Command, Option, Positional
from ._comparing import asked, brief, code, file, reports, show
from ._outputs import shown_path
from ._render import clean

if TYPE_CHECKING:
    import argparse

    from .._diff import Comparison
    from ._ui import UI

_REPORTS = {name: name for name in ("html", "csv", "junit", "sarif", "github", "markdown")}


def run(values: argparse.Namespace, ui: UI) -> int:
    """Compare, print the line of the gate and, where it fails, why; the exit code is the answer."""
    from .. import _compare

    first, second = sides(values)
    if values.update_golden and not Path(first).exists():
        return _make_golden(first, second, values, ui)
    if values.golden is not None and not Path(first).exists():
        hint = f"make it: prlx assert --golden {first} --update-golden {second}"
        raise FileAccessError("no such golden recording", path=first, hint=hint)
    request = _request_of(values, first, second, outputs=reports(values, _REPORTS))
    try:
        found = _compare.run(request, progress=ui.progress)
    except (TraceFormatError, IncompatibleTracesError) as error:
        if not values.update_golden:
            raise
        ui.warn(clean(error.args[0]))
        return _make_golden(first, second, values, ui)
    show(found, _render(found, ui, strict=bool(values.strict)), ui)
    if values.update_golden and not found.passed:
        return _replace(first, second, ui)
    return code(found, strict=bool(values.strict))


def sides(values: argparse.Namespace) -> tuple[str, str]:
    """What is compared with what: the golden recording first, wherever it stood on the command line."""
    if values.golden is not None:
        if values.b is not None:
            raise UsageError(
                "with --golden one recording is checked, got two",
                hint=f"prlx assert --golden {values.golden} {values.a}",
            )
        return values.golden, values.a
    if values.update_golden:
        raise UsageError("--update-golden needs --golden FILE", hint=f"prlx assert --golden GOLDEN {values.a}")
    if values.b is None:
        hint = f"prlx assert {values.a} OTHER, or prlx assert --golden GOLDEN {values.a}"
        raise UsageError("expected a second recording, or --golden", hint=hint)
    return values.a, values.b


def _request_of(values: argparse.Namespace, first: str, second: str, **others: object) -> dict[str, Any]:
    """The request of the operation ``diff``: everything is read, and a failure says why, unless the flags say otherwise."""
    explain, verify = values.explain is not False, values.verify is not False
    return asked(values, first, second, **{"explain": explain, "verify": verify, **others})


def _render(found: Comparison, ui: UI, *, strict: bool) -> Iterator[str]:
    from .. import _assert

    if strict and found.passed and (lost := [*_assert.losses(found), *_assert.uncovered(found)]):
        yield ui.out.style(_assert.LIMITED, "yellow", "bold")
        yield from (f"  {sentence}" for sentence in lost)
        return
    color = "green" if found.passed else "yellow" if found.status == "inconclusive" else "red"
    yield ui.out.style(_assert.headline(found.document), color, "bold")
    if not found.passed or ui.verbose:
        yield from _assert.body(found, detail=ui.verbose > 0, style=ui.out.style, flags=True)


def _make_golden(golden: str, recording: str, values: argparse.Namespace, ui: UI) -> int:
    """Make a golden recording where there is none that can be compared, of a recording that can be read."""
    from .. import _compare

    request = _request_of(values, recording, recording, explain=False)
    if not Path(recording).exists():
        raise FileAccessError("no such file or directory", path=recording)
    _compare.run(request, progress=ui.progress)
    return _replace(golden, recording, ui)


def _replace(golden: str, recording: str, ui: UI) -> int:
    from .. import _assert

    written = _assert.replace_golden(recording, golden)
    ui.say(f"wrote {shown_path(written)}, a copy of {recording}: the golden recording from now on")
    return 0


COMMAND = Command(
    name="assert",
    run=run,
    examples=(
        ("prlx assert good.prlx new.prlx", "exit 1 when anything differs"),
        ("prlx assert --golden golden.prlx new.prlx --max-divergences 5", "up to five are allowed"),
        ("prlx assert --golden golden.prlx new.prlx --update-golden", "the new one is golden now"),
        ("prlx assert run_a/ run_b/ --junit diff.xml", "two sessions"),
    ),
    positionals=(
        Positional("A", "the reference; with --golden: what is checked", "one"),
        Positional("B", "what is checked", "optional"),
    ),
    options=(
        file("--golden", "the recording, or session, that A must equal"),
        Option(("--update-golden",), "replace the golden recording if the check fails", takes="switch"),
        *options.of("assert"),
        file("--junit", "write a JUnit report"),
        file("--sarif", "write SARIF 2.1.0"),
        file("--github", "write GitHub annotations; - prints them"),
        options.JSON,
        Option(("--strict",), "exit 5 when too little was recorded to be sure", takes="switch"),
        file("--html", "write a report for a browser", brief=True),
        file("--csv", "write every listed divergence as a row", brief=True),
        file("--markdown", "write a summary for a pull request", brief=True),
        brief(options.OVERWRITE),
        options.SESSION,
    ),
    notes=("exit codes: 0 passed, 1 too much differs, 4 nothing in common, 5 inconclusive, losses (--strict)",),
)
