"""What the commands that compare recordings share: flags, how a flag becomes an argument, reports, what is said at the end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _request
from .._errors import UsageError
from ._command import Option
from ._outputs import shown_path
from ._parser import given
from ._render import clean

if TYPE_CHECKING:
    import argparse

    from .._diff import Comparison
    from ._ui import UI

PARTIAL = 5
# The flags that write a report, and the format of each.
REPORTS = {
    "html": "html",
    "csv": "csv",
    "junit": "junit",
    "sarif": "sarif",
    "github": "github",
    "markdown": "markdown",
    "perfetto": "perfetto",
    "export_flamegraph": "chrome",
}
PERFETTO = "https://ui.perfetto.dev (Open trace file)"
_OPENERS = {"chrome": PERFETTO, "perfetto": PERFETTO}


def asked(values: argparse.Namespace, a: str, b: str, **others: object) -> dict[str, Any]:
    """The request of a comparison that the flags ask for, ``--session`` checked.

    Parameters
    ----------
    values
        The flags.
    a, b
        What is compared.
    **others
        Arguments of ``_compare.request`` that the command decides.
    """
    from .. import _compare

    chosen = {"limit": _compare.LISTED} | given(values, _compare.request) | others
    if "max_divergences" in chosen:
        chosen["max_divergences"] = max_divergences(values.max_divergences)
    found = _compare.request(a, b, **chosen)
    if getattr(values, "session", None):
        check_sessions(found)
    return found


def max_divergences(words: Iterable[str] | None) -> dict[str, int]:
    """``5`` and ``Value=3``, as often as they are given or after commas; the last word about a kind holds."""
    found: dict[str, int] = {}
    for word in (part.strip() for text in words or () for part in text.split(",")):
        kind, separator, number = word.rpartition("=")
        if not number.strip().isdecimal() or (separator and not kind.strip()):
            raise UsageError(f"--max-divergences: expected N or KIND=N, got {word!r}")
        found[kind.strip() or "*"] = int(number)
    return found


def check_sessions(request: Mapping[str, Any]) -> None:
    """Refuse ``--session`` for recordings."""
    for path in (request["a"][0], request["b"][0]):
        if not Path(path).is_dir():
            raise UsageError(
                "is not a session: a session is a directory",
                path=path,
                hint="prlx diff A B, without --session, compares recordings",
            )


def reports(values: argparse.Namespace, formats: Mapping[str, str]) -> list[dict[str, str]]:
    """The reports that the flags ask for.

    Parameters
    ----------
    values
        The flags.
    formats
        The names of the flags that write a report, and the format of each.
    """
    named = [(format, getattr(values, name)) for name, format in formats.items() if getattr(values, name) is not None]
    if sum(path == "-" for _, path in named) + bool(values.json) > 1:
        raise UsageError("only one thing can go to stdout", hint="name a file instead of -")
    return [{"format": format, "path": _request.absolute(path)} for format, path in named]


def show(found: Comparison, text: Iterator[str], ui: UI, *, after: Iterable[str] = ()) -> None:
    """Print a comparison as JSON, as the report that was asked for on stdout, or as text; then what there is to say.

    Parameters
    ----------
    found
        The comparison.
    text
        Its lines.
    ui
        Where to.
    after
        What to do next, in lines.
    """
    document = dict(found.document)
    written = document.pop("written", None) or []
    rendered = document.pop("rendered", None)
    document.pop("notes", None)
    if ui.json:
        ui.emit(document)
    elif rendered is not None:
        sys.stdout.write(rendered)
    elif not ui.quiet:
        ui.show(text)
    for note in found.document.get("notes") or ():
        ui.say(clean(note))
    for warning in found.document.get("warnings") or ():
        ui.warn(clean(warning))
    if not ui.json:
        for line in after:
            ui.say(line)
    say_written(written, ui)


def say_written(written: Iterable[Mapping[str, str]], ui: UI) -> None:
    """Name the reports that were written, and what opens each."""
    for output in written:
        path = Path(output["path"])
        ui.say(f"wrote {shown_path(path)}; open it with: {opener(path, output['format'])}")


def opener(path: Path, format: str) -> str:
    """What opens a report."""
    named = shlex.quote(shown_path(path))
    return _OPENERS.get(format) or (f"xdg-open {named}" if format == "html" else f"less {named}")


def code(diff: Comparison, *, strict: bool) -> int:
    """The exit code of what a comparison comes to: 1 when more differs than is allowed.

    5 when too little was recorded to say that nothing differs, or when losses limit that and it was not to pass.
    """
    found = diff.conclusion.exit_code
    return PARTIAL if not found and strict and (limited(diff) or diff.coverage.get("missing")) else found


def limited(diff: Comparison) -> bool:
    """Whether something is missing from either side."""
    losses = diff.document["losses"]
    return any(losses[side]["dropped"] or losses[side]["sample_rate"] > 1 or losses[side]["truncated"] for side in "ab")


def file(flag: str, help: str, *, brief: bool = False) -> Option:
    """A flag that takes a file."""
    return Option((flag,), help, takes="path", metavar="FILE", brief=brief)


def brief(option: Option) -> Option:
    """The flag, only named in the help."""
    return replace(option, brief=True)
