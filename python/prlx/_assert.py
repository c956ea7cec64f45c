"""Asserting that two recordings are the same: for tests, for the gate ``prlx assert`` and for golden recordings."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _compare, _options
from ._diff_text import render
from ._errors import FileAccessError, UsageError
from ._lines import Look, Style, clean, plain

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._compare import Recordings
    from ._diff import Comparison
    from ._option_keywords import AssertKeywords
    from ._request import Path as AnyPath

_CLUSTERS = 3  # of the message of a failure, which is to be read in ten seconds


@_options.by_name("assert")
def assert_same(
    a: Recordings,
    b: Recordings,
    *,
    strict: bool = False,
    **options: Unpack[AssertKeywords],
) -> Comparison:
    """Raise ``AssertionError`` with a readable report unless two recordings, or two sessions, are the same.

    Recordings that hold too little to say so are not the same: the message says that it could not look.

    Parameters
    ----------
    a, b
        As of ``diff_traces``.
    **options
        See ``docs/options.md``.
    strict
        Raise also when nothing differs only as far as recorded: events were lost, or what ``require`` names was not recorded.

    Returns
    -------
    Diff
        The comparison, when it passes. A ``SessionDiff`` for sessions.

    Raises
    ------
    AssertionError
        More differs than is allowed; the message is the report. Its attribute ``diff`` is the comparison.
    PrlxError
        The recordings cannot be compared: one of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> prlx.assert_same("examples/two_runs/a.prlx", "examples/two_runs/a.prlx")
    <Diff: identical, 8 warps compared>
    >>> prlx.assert_same("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
    Traceback (most recent call last):
    AssertionError: PRLX ASSERT: FAIL (2336 divergences, threshold: 0)
    ...
    """
    __tracebackhide__ = True
    asked = _compare.request(a, b, limit=_compare.LISTED, **_options.filled("assert", options))
    found = _compare.run(asked, progress=False)
    demand(found, strict=strict)
    return found


def demand(found: Comparison, *, strict: bool = False) -> None:
    """Raise the ``AssertionError`` of a comparison that does not pass.

    Parameters
    ----------
    found
        The comparison.
    strict
        Whether one that passes only as far as recorded fails too.
    """
    __tracebackhide__ = True
    if found.status == "inconclusive":
        error = AssertionError(f"prlx could not look closely enough to call these the same:\n{report(found)}")
    elif not found.passed:
        error = AssertionError(report(found))
    elif strict and (lost := [*losses(found), *uncovered(found)]):
        error = AssertionError("nothing differs as far as recorded, and strict was asked for:\n  " + "\n  ".join(lost))
    else:
        return
    error.diff = found  # type: ignore[attr-defined]  # for whoever catches it
    raise error


def report(found: Comparison, *, detail: bool = False) -> str:
    """What differs, as text: to be read in ten seconds, or with everything that the document has.

    Parameters
    ----------
    found
        The comparison.
    detail
        Every cluster, site and lane, with the events around the first divergence.
    """
    return "\n".join([headline(found.document), *body(found, detail=detail)])


def body(found: Comparison, *, detail: bool = False, style: Style = plain, flags: bool = False) -> Iterator[str]:
    """The lines of a report below its headline.

    Parameters
    ----------
    found, detail
        As of ``report``.
    style
        Puts text into colours.
    flags
        Advice names flags of the command line, not arguments.
    """
    look = Look(style=style, clusters=10 if detail else _CLUSTERS, history=detail, detail=detail, flags=flags)
    if found.document["schema"].startswith("prlx.diff/"):
        return render(found.document, look)
    from ._session_diff import render_session

    return render_session(found.document, look)


def headline(document: Mapping[str, Any]) -> str:
    """The line that ``prlx assert`` of original prlx 0.5 prints: ``PRLX ASSERT: FAIL (3 divergences, threshold: 0)``."""
    return clean(document["headline"]["gate"])


LIMITED = "PRLX ASSERT: INCONCLUSIVE (nothing differs as far as recorded, and strict asks for more)"
"""The headline of recordings that pass only as far as recorded, where that is not to pass."""


def losses(found: Comparison) -> list[str]:
    """What the recordings of a comparison lack, in sentences; nothing when they are whole."""
    lost = found.document.get("losses") or {}
    said: list[str] = []
    for side in "ab":
        one = lost.get(side) or {}
        if one.get("dropped") or one.get("truncated") or one.get("sample_rate", 1) > 1:
            notes = [clean(note) for note in one.get("notes") or ()] or ["events are missing"]
            said += [f"{side.upper()}: {note}" for note in notes]
    return said


def uncovered(found: Comparison) -> list[str]:
    """What must agree and was not recorded, in sentences."""
    names = {"control-flow": "control flow"}
    return [f"{names.get(name, name)} not recorded on both sides" for name in found.coverage.get("missing") or ()]


def replace_golden(recording: AnyPath, golden: AnyPath) -> Path:
    """Make a recording, or a session's directory, the golden one: a copy under another name, then renamed.

    Any number of processes may do this at once; each leaves a whole copy, and the last one stays.

    Parameters
    ----------
    recording
        What becomes golden.
    golden
        Where to. What is there is replaced.

    Returns
    -------
    pathlib.Path
        The golden recording.

    Raises
    ------
    FileAccessError
        The file system refuses.
    UsageError
        Both are the same file, or one is a directory and the other is not.
    """
    source, target = Path(os.fspath(recording)), Path(os.fspath(golden))
    if target.exists() and source.exists() and source.samefile(target):
        raise UsageError("is the golden recording itself", path=str(source), hint="name another recording")
    if target.exists() and source.is_dir() != target.is_dir():
        kinds = ("a session", "a recording") if source.is_dir() else ("a recording", "a session")
        raise UsageError(f"is {kinds[0]}, and the golden {target} is {kinds[1]}", path=str(source))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            _replace_directory(source, target)
        else:
            _replace_file(source, target)
    except shutil.Error as error:
        raise FileAccessError(f"cannot be copied: {error}", path=str(source)) from error
    except OSError as error:
        place = error.filename or str(target)
        raise FileAccessError(error.strerror or str(error), path=os.fsdecode(place)) from error
    return target


def _replace_file(source: Path, target: Path) -> None:
    number, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as copy, source.open("rb") as original:
            shutil.copyfileobj(original, copy, 1 << 20)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _replace_directory(source: Path, target: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        copy, old = work / "new", work / "old"
        shutil.copytree(source, copy)
        with contextlib.suppress(FileNotFoundError):
            target.rename(old)
        try:
            copy.rename(target)
        except OSError:
            if old.exists() and not target.exists():
                old.rename(target)  # as it was
            elif not target.exists():
                raise
            # else: another process was faster, and its copy is whole
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _umask() -> int:
    """The umask of this process, which can only be read by setting it; /proc says it without."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(next(line for line in status.splitlines() if line.startswith("Umask:")).split()[1], 8)
    return 0o022
