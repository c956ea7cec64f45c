"""``prlx assert``: a gate for builds: are two recordings the same, or as near as is allowed?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _request
from .._config import did_you_mean
from .._errors import FileAccessError, IncompatibleTracesError, TraceFormatError, UsageError
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import shown_path
from ._render import clean
from .diff import FILTERS, check_sessions, code, maps, opener, required

if TYPE_CHECKING:
    import argparse

    from .._diff import Comparison
    from ._ui import UI

_REPORTS = ("html", "csv", "junit", "sarif", "github", "markdown")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Compare, print the line of the gate and, where it fails, why; the exit code is the answer."""
    from .. import _compare

    first, second = sides(values)
    if values.update_golden and not Path(first).exists():
        return _make_golden(first, second, values, ui)
    request = _request_of(values, first, second)
    if values.session:
        check_sessions(request)
    try:
        found = _compare.run(request, progress=ui.progress)
    except (TraceFormatError, IncompatibleTracesError) as error:
        if not values.update_golden:
            raise
        ui.warn(clean(error.message))
        return _make_golden(first, second, values, ui)
    _show(found, ui)
    if values.update_golden and not found.passed:
        return _replace(first, second, ui)
    return code(found, strict=bool(values.strict))


def sides(values: argparse.Namespace) -> tuple[str, str]:
    """What is compared with what: the golden recording first, wherever it stood on the command line."""
    if values.golden is not None:
        if values.b is not None:
            raise UsageError("--golden takes the place of A", hint=f"prlx assert --golden {values.golden} {values.a}")
        return values.golden, values.a
    if values.update_golden:
        raise UsageError("--update-golden needs --golden FILE", hint=f"prlx assert --golden GOLDEN {values.a}")
    if values.b is None:
        hint = f"prlx assert {values.a} OTHER, or prlx assert --golden GOLDEN {values.a}"
        raise UsageError("expected a second recording, or --golden", hint=hint)
    return values.a, values.b


def _request_of(values: argparse.Namespace, first: str, second: str) -> dict[str, Any]:
    from .. import _assert, _compare

    total, by_kind = _assert.limits(_limits([*(values.max_divergences or ()), *(values.max_allowed_divergences or ())]))
    return {
        "a": [_request.absolute(first)],
        "b": [_request.absolute(second)],
        "baseline": _request.paths(values.baseline),
        "baseline_b": _request.paths(values.baseline_b),
        **maps(values),
        **_compare.comparing(
            values=bool(values.values), tolerance=values.tolerance, nan=values.nan, ignore=values.ignore or ()
        ),
        **_compare.filters(warps=values.warps, kinds=values.filter_kind, sites=values.filter_sites),
        "ignore_active_mask": bool(values.ignore_active_mask),
        "force": bool(values.force),
        "cross_gpu": bool(values.cross_gpu),
        "strict_order": bool(values.strict_order),
        "explain": values.explain is not False,
        "require": required(values),
        "accepted": _request.absolute_or_none(values.accepted),
        "today": _compare.today(),
        "threshold": total,
        "verify": values.verify is not False,
        "thresholds": by_kind or None,
        "rows": _compare.LISTED,
        "source_roots": _request.paths(values.source_root),
        "outputs": _outputs(values) or None,
        "overwrite": bool(values.overwrite),
        "workers": values.workers,
        "memory_limit": values.memory_limit,
    }


def _limits(words: list[str]) -> dict[str, int]:
    """``5`` and ``Value=3``, as often as they are given or after commas; the last word about a kind holds."""
    from .._assert import KINDS

    found: dict[str, int] = {}
    for word in (part.strip() for text in words for part in text.split(",")):
        kind, separator, number = word.rpartition("=")
        if not number.strip().isdecimal() or (separator and not kind.strip()):
            raise UsageError(f"--max-divergences: expected N or KIND=N, got {word!r}")
        name = kind.strip() or "*"
        if name != "*" and name not in KINDS:
            near = did_you_mean(name, KINDS)
            raise UsageError(f"--max-divergences: no kind of divergence is called {name!r}{near}")
        found[name] = int(number)
    return found


def _outputs(values: argparse.Namespace) -> list[dict[str, str]]:
    named = [(name, getattr(values, name)) for name in _REPORTS if getattr(values, name) is not None]
    if sum(path == "-" for _, path in named) + bool(values.json) > 1:
        raise UsageError("only one thing can go to stdout", hint="name a file instead of -")
    return [{"format": name, "path": _request.absolute(path)} for name, path in named]


def _show(found: Comparison, ui: UI) -> None:
    document = dict(found.document)
    written = document.pop("written", None) or []
    rendered = document.pop("rendered", None)
    document.pop("notes", None)
    if ui.json:
        ui.emit(document)
    elif rendered is not None:
        sys.stdout.write(rendered)
    elif not ui.quiet:
        ui.show(_render(found, ui))
    for note in found.notes:
        ui.say(clean(note))
    for warning in found.warnings:
        ui.warn(clean(warning))
    for output in written:
        path = Path(output["path"])
        ui.say(f"wrote {shown_path(path)}; open it with: {opener(path, output['format'])}")


def _render(found: Comparison, ui: UI) -> Iterator[str]:
    from .. import _assert

    color = "green" if found.passed else "yellow" if found.status == "inconclusive" else "red"
    yield ui.out.style(_assert.headline(found.document), color, "bold")
    if not found.passed or ui.verbose:
        yield from _assert.body(found, detail=ui.verbose > 0, style=ui.out.style)


def _make_golden(golden: str, recording: str, values: argparse.Namespace, ui: UI) -> int:
    """Make a golden recording where there is none that can be compared, of a recording that can be read."""
    from .. import _compare

    request = {**_request_of(values, recording, recording), "explain": False, "outputs": None}
    if not Path(recording).exists():
        raise FileAccessError("no such file or directory", path=recording)
    _compare.run(request, progress=ui.progress)
    return _replace(golden, recording, ui)


def _replace(golden: str, recording: str, ui: UI) -> int:
    from .. import _assert

    written = _assert.replace_golden(recording, golden)
    ui.say(f"wrote {shown_path(written)}, a copy of {recording}: the golden recording from now on")
    return 0


def _file(flag: str, help: str, *, brief: bool = False) -> Option:
    return Option((flag,), help, takes="path", metavar="FILE", brief=brief)


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
        Positional("A", "what should be; with --golden: what is checked", "one"),
        Positional("B", "what is checked", "optional"),
    ),
    options=(
        _file("--golden", "the recording, or session, that A must equal"),
        Option(("--update-golden",), "make A the golden one where it fails, or there is none", takes="switch"),
        Option(("--max-divergences",), "how many may count; KIND=N for one kind", takes="texts", metavar="N"),
        options.VALUES,
        options.TOLERANCE,
        Option(("--ignore",), "sites that do not count: file:line, func:NAME, ...", takes="texts", metavar="PATTERN"),
        Option(("--ignore-active-mask",), "differences of active lanes do not count", takes="switch"),
        _file("--accepted", "differences accepted for a while (TOML)"),
        Option(("--baseline",), "more runs equal to A: how they differ is noise", takes="paths", metavar="FILE"),
        _file("--junit", "write a JUnit report"),
        _file("--sarif", "write SARIF 2.1.0"),
        _file("--github", "write GitHub annotations; - prints them"),
        options.JSON,
        options.REQUIRE,
        Option(("--strict",), "exit 5 when nothing differs only as far as recorded", takes="switch"),
        Option(("--max-allowed-divergences",), "the same as --max-divergences", takes="texts", metavar="N", brief=True),
        Option(options.NAN.flags, options.NAN.help, choices=options.NAN.choices, brief=True),
        Option(options.MAP.flags, options.MAP.help, takes="path", metavar="FILE", brief=True),
        _file("--html", "write a report for a browser", brief=True),
        _file("--csv", "write every listed divergence as a row", brief=True),
        _file("--markdown", "write a summary for a pull request", brief=True),
        Option(("--overwrite",), options.OVERWRITE.help, takes="switch", brief=True),
        Option(("--baseline-b",), "more runs equal to B", takes="paths", metavar="FILE", brief=True),
        Option(("--explain",), "say why where it fails", takes="switch", off="--no-explain", brief=True),
        *(Option(one.flags, one.help, takes=one.takes, metavar=one.metavar, brief=True) for one in FILTERS),
        Option(("--verify",), "read all of both", takes="switch", off="--no-verify", brief=True),
        Option(("--source-root",), "where sources are looked for", takes="paths", metavar="DIR", brief=True),
        Option(("--force",), options.FORCE.help, takes="switch", brief=True),
        Option(("--cross-gpu",), "compare recordings of different machines by thread", takes="switch", brief=True),
        Option(("--strict-order",), "another order of divergent paths counts too", takes="switch", brief=True),
        options.SESSION,
        Option(("--workers",), options.WORKERS.help, takes="whole", metavar="N", setting="workers", brief=True),
        Option(
            ("--memory-limit",),
            options.MEMORY_LIMIT.help,
            takes="size",
            metavar="SIZE",
            setting="memory-limit",
            brief=True,
        ),
    ),
    notes=("exit codes: 0 passed, 1 too much differs, 4 nothing in common, 5 inconclusive, losses (--strict)",),
)
