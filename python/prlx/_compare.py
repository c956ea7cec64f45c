"""Comparing recordings of a kernel, or sessions of them: where do two runs first differ, and why?"""

from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from . import _config, _options, _request
from ._diff import Diff, run_files
from ._errors import UsageError
from ._session_diff import run_sessions
from ._steps_diff import are_tapes, diff_tapes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._filters import Sites, Warps
    from ._kernel_trace import KernelTrace
    from ._option_keywords import DiffKeywords
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._rerun import Recorder
    from ._session import Session

Recordings: TypeAlias = "AnyPath | KernelTrace | Session | Iterable[AnyPath | KernelTrace]"
"""A recording, a session, or several recordings of runs that should be equal (the first is the one compared)."""

Tolerance: TypeAlias = str | float | Mapping[str, float | str]
"""How far values may be apart: ``"rel=1e-5"``, ``"f16:ulp=4,f32:abs=1e-6"``, a number (relative), or a mapping."""

KINDS = ("Branch", "ActiveMask", "Value", "Path", "ExtraEvents", "Output", "Store", "Finding")
LOOKAHEAD = 32
LISTED = 10_000  # divergences in a document that is printed or reported, unless more are asked for
_CLUSTERS_HERE = 100


@_options.by_name("diff")
def diff_traces(
    a: Recordings,
    b: Recordings,
    *,
    lookahead: int = LOOKAHEAD,
    on_inconclusive: Recorder | None = None,
    progress: Progress = "auto",
    **options: Unpack[DiffKeywords],
) -> Diff:
    """Find where two recordings of a kernel, or two sessions of recordings, first differ.

    Parameters
    ----------
    a, b
        A path or an opened ``KernelTrace`` each; a session's directory or an opened ``Session`` each; or several recordings
        of runs that should be equal, of which the first is compared and the others tell what is noise. Of tapes of training
        steps, or directories of them, the result is a ``StepsDiff``, and of the options only ``baseline`` applies.
    **options
        See ``docs/options.md``.
    lookahead
        Accepted for programs written for original prlx 0.5. Alignment here is minimal and needs no window.
    on_inconclusive
        Called where the recordings do not settle whether and why the runs differ, as ``on_inconclusive(side, out, options)``:
        it runs side ``"a"`` or ``"b"`` again and records it to the path ``out`` with the options of ``record`` given;
        ``seed`` among them is that of ``enable``. Implies ``explain``; what comes back compares the new recordings.
    progress
        ``"auto"``, a flag, or a function of stage, done and total.

    Returns
    -------
    Diff
        A ``SessionDiff`` for sessions.

    Raises
    ------
    IncompatibleTracesError
        The recordings are of different kernels or launches.
    PrlxError
        Another of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> diff = prlx.diff_traces("examples/two_runs/a.prlx", "examples/two_runs/b.prlx")
    >>> diff.status, str(diff.first)
    ('diverged', 'ExtraEvents at softmax_rows.cu:11:21 in softmax_rows, warp 0, event 6')

    Two further runs of A tell what is noise:

    >>> runs = ["examples/two_runs/a.prlx", "examples/two_runs/a2.prlx"]
    >>> prlx.diff_traces(runs, "examples/two_runs/a3.prlx").status
    'inconclusive'
    """
    if lookahead != LOOKAHEAD:
        text = (
            "lookahead has no effect: alignment is minimal over the whole warp (prlx diff --compat takes --lookahead)"
        )
        warnings.warn(text, stacklevel=2)
    given = _options.filled("diff", options)
    if isinstance(a, (str, os.PathLike)) and isinstance(b, (str, os.PathLike)) and are_tapes(a):
        baseline = [Path(each) for each in recordings(given["baseline"] or ())]
        return cast("Diff", diff_tapes(a, b, baseline=baseline, progress=progress))  # no type says what a path holds
    asked = request(a, b, clusters=_CLUSTERS_HERE if given["limit"] else 0, **given)
    if on_inconclusive is not None:
        from ._rerun import run_again

        return run_again(asked, on_inconclusive, functools.partial(run, progress=progress))
    return run(asked, progress=progress)


@_options.by_name("diff")
def request(
    a: Recordings,
    b: Recordings,
    *,
    clusters: int | None = None,
    outputs: Sequence[Mapping[str, str]] = (),
    overwrite: bool = False,
    **options: Unpack[DiffKeywords],
) -> dict[str, Any]:
    """The request of the operation ``diff``, and of ``session_diff``: what functions and commands that compare ask for.

    Parameters
    ----------
    a, b
        As of ``diff_traces``.
    **options
        As of ``diff_traces``.
    clusters
        Clusters that the document lists; 0 for all. ``None`` leaves it to the core.
    outputs, overwrite
        Reports that are written on the way: ``format`` and ``path`` of each.
    """
    given = _options.filled("diff", options)
    limit = given["limit"]
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}, expected 0 or more, or None for all")
    defaults = _config.load()
    return {
        **given,  # what the core takes as it is
        "a": recordings(a),
        "b": recordings(b),
        "baseline": recordings(given["baseline"] or ()),
        "baseline_b": recordings(given["baseline_b"] or ()),
        **_request.site_maps(given.pop("site_map"), given.pop("site_map_b")),
        **comparing(given["values"], given["tolerance"], given["nan"], given["ignore"]),
        **filters(given["warps"], given["kinds"], given["sites"]),
        "accepted": _request.absolute_or_none(given["accepted"]),
        "require": required(given["require"], defaults),
        "today": today(),
        "max_divergences": allowed(given["max_divergences"]),
        "verify": verifying(given["verify"]),
        "limit": limit or 0,
        "clusters": clusters,
        "source_roots": _request.paths(given["source_roots"] or ()),
        "libraries": _names(given["libraries"]),
        "outputs": list(outputs) or None,
        "overwrite": overwrite,
        **_request.limits(given["workers"], given["memory_limit"], defaults),
    }


def _names(given: str | Iterable[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def allowed(given: int | Mapping[str, int]) -> int | dict[str, int]:
    """How many divergences may count: of all kinds together, or by kind, where ``"*"`` is every other kind together.

    Raises
    ------
    UsageError
        A kind that does not exist, or a number below 0.
    """
    named = given if isinstance(given, Mapping) else {"*": given}
    for kind, number in named.items():
        if kind != "*" and kind not in KINDS:
            near = _config.did_you_mean(str(kind), KINDS)
            raise UsageError(
                f"no kind of divergence is called {kind!r}{near}", hint=f"the kinds are {', '.join(KINDS)}"
            )
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise UsageError(f"expected a whole number of allowed divergences from 0 on, got {number!r}")
    return dict(named) if set(named) - {"*"} else named.get("*", 0)


def are_sessions(asked: Mapping[str, Any]) -> bool:
    """Whether A and B are directories, that is sessions.

    Raises
    ------
    UsageError
        Only one of them is.
    """
    a, b = asked["a"][0], asked["b"][0]
    kinds = [Path(path).is_dir() for path in (a, b)]
    if kinds[0] != kinds[1]:
        file, folder = (b, a) if kinds[0] else (a, b)
        hint = f"name a directory for both, or one recording of the session: {folder}/....prlx"
        raise UsageError("is a recording, and the other side a session", path=file, hint=hint)
    return all(kinds)


def recordings(given: Recordings) -> list[str]:
    """The absolute paths of recordings."""
    if isinstance(given, (str, os.PathLike)):
        return [_request.absolute(given)]
    if hasattr(given, "path"):
        return [str(given.path)]
    return [path for one in given for path in recordings(one)]


def comparing(
    values: bool, tolerance: Tolerance | None, nan: str | None, ignore: str | Iterable[str] | None
) -> dict[str, Any]:
    """How values compare and what does not count."""
    text = tolerance_text(tolerance)
    return {
        "values": values or text is not None or nan is not None,
        "tolerance": text,
        **_request.words(nan=nan),
        "ignore": _names(ignore),
    }


def tolerance_text(given: Tolerance | None) -> str | None:
    """A tolerance as the core takes it: ``rel=1e-05``, ``f16:ulp=4``."""
    if given is None or isinstance(given, str):
        if given is not None and not given.strip():
            raise UsageError("tolerance is empty", hint="such as rel=1e-5 or f16:ulp=4, or leave it out")
        return given
    if isinstance(given, Mapping):
        return ",".join(
            f"{key}:{value}" if isinstance(value, str) else f"{key}={value!r}" for key, value in given.items()
        )
    return f"rel={float(given)!r}"


def filters(warps: Warps | None, kinds: str | Iterable[str] | None, sites: Sites | None) -> dict[str, Any]:
    """What is compared and reported at all."""
    if warps is None and kinds is None and sites is None:
        return {}
    from ._filters import site_texts, warp_text

    words: Sequence[str] | None = None
    if kinds is not None:
        words = [kinds] if isinstance(kinds, str) else list(kinds)
        if not words:
            raise UsageError("kinds: none is named", hint="leave it out for all")
    return {
        "warps": None if warps is None else warp_text(warps),
        "kinds": None if words is None else [part.strip() for word in words for part in word.split(",")],
        "sites": None if sites is None else [part for text in site_texts(sites) for part in text.split(",")],
    }


def required(given: str | Iterable[str] | None, defaults: _config.Config) -> list[str] | None:
    """What must agree to pass, by name; None for the default.

    Parameters
    ----------
    given
        Names, or one text with commas; None for what the settings say.
    defaults
        The settings.
    """
    if given is None:
        given = str(defaults.get("diff.require").value or "")
    words = [given] if isinstance(given, str) else list(given)
    return [part.strip() for word in words for part in word.split(",") if part.strip()] or None


def verifying(asked: bool | None) -> bool:
    """Whether recordings are read whole before they are compared: as asked, else where tests run by themselves (``CI``)."""
    if asked is not None:
        return asked
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false", "no")


def today() -> str:
    """The date by which accepted differences expire."""
    return time.strftime("%Y-%m-%d")


def run(asked: Mapping[str, Any], *, tables: bool = False, progress: Progress = "auto") -> Diff:
    """Run a request of the operation ``diff``, or of ``session_diff`` where A and B are sessions.

    Parameters
    ----------
    asked
        The request, with absolute paths. Documents name the files as seen from the current directory.
    tables
        Read the tables at once, for the recordings may be gone later; of sessions they are read when first asked for.
    progress
        As for ``diff_traces``.
    """
    for side in "ab":
        if not asked[side]:
            raise UsageError(f"no recording is named for {side.upper()}")
    here = _request.absolute(".")
    named = [path for key in ("a", "b", "baseline", "baseline_b") for path in asked.get(key) or ()]
    named += [asked["accepted"]] if asked.get("accepted") else []
    names = {path: _request.seen_from(path, here) for path in named}
    asked = {**asked, "names": names, "root": here}
    if are_sessions(asked):
        return run_sessions(asked, progress=progress)
    return run_files(asked, tables=tables, progress=progress)
