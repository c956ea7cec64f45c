"""Comparing recordings of a kernel, or sessions of them: where do two runs first differ, and why?"""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _config, _request
from ._diff import Diff, run_files
from ._errors import UsageError
from ._session_diff import run_sessions

if TYPE_CHECKING:
    from ._filters import Sites, Warps
    from ._kernel_trace import KernelTrace
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._session import Session

Recordings: TypeAlias = "AnyPath | KernelTrace | Session | Iterable[AnyPath | KernelTrace]"
"""A recording, a session, or several recordings of runs that should be equal (the first is the one compared)."""

Tolerance: TypeAlias = str | float | Mapping[str, float | str]
"""How far values may be apart: ``"rel=1e-5"``, ``"f16:ulp=4,f32:abs=1e-6"``, a number (relative), or a mapping."""

LOOKAHEAD = 32
LISTED = 10_000  # divergences in a document that is printed or reported, unless more are asked for
_LISTED_HERE = 100  # in one that has the tables beside it
_CLUSTERS_HERE = 100


def diff_traces(
    a: Recordings,
    b: Recordings,
    *,
    values: bool = False,
    lookahead: int = LOOKAHEAD,
    ignore: str | Iterable[str] = (),
    tolerance: Tolerance | None = None,
    site_map: AnyPath | None = None,
    site_map_b: AnyPath | None = None,
    nan: str | None = None,
    baseline: Recordings = (),
    baseline_b: Recordings = (),
    warps: Warps | None = None,
    kinds: str | Iterable[str] | None = None,
    sites: Sites | None = None,
    ignore_active_mask: bool = False,
    force: bool = False,
    cross_gpu: bool = False,
    explain: bool = False,
    accepted: AnyPath | None = None,
    max_divergences: int = 0,
    require: str | Iterable[str] | None = None,
    verify: bool | None = None,
    limit: int | None = _LISTED_HERE,
    source_roots: AnyPath | Iterable[AnyPath] = (),
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Diff:
    """Find where two recordings of a kernel, or two sessions of recordings, first differ.

    Parameters
    ----------
    a, b
        A path or an opened ``KernelTrace`` each; a session's directory or an opened ``Session`` each; or several recordings
        of runs that should be equal, of which the first is compared and the others tell what is noise.
    values
        Compare the values of events too.
    lookahead
        Accepted for programs written for the described interface. Alignment here is minimal and needs no window.
    ignore
        Patterns of places that do not count: a function, a file, ``file:line`` (globs), or a site's id.
    tolerance, nan
        How far values may be apart, and how NaN compares; both imply ``values``. See ``docs/commands/diff.md``.
    site_map, site_map_b
        The ``prlx-sites.json`` of recordings of format v1; that of B where it was built apart. Left out, one is looked for;
        ``""`` looks for none.
    baseline, baseline_b
        More runs equal to ``a``, and to ``b``: what differs among them is noise.
    warps, kinds, sites
        Compare only these warps; report only these kinds of divergences (``"Branch"``, ...) or sites.
    ignore_active_mask
        Differences of active lanes alone do not count.
    force, cross_gpu
        Compare different kernels; compare recordings of different machines by thread.
    explain
        Say why, too.
    accepted
        A file of accepted differences.
    max_divergences
        How many may differ for ``passed`` to be true.
    require
        What must agree for ``passed`` to be true: some of ``"control-flow"``, ``"outputs"`` and ``"values"`` (which implies
        ``values``). Left out, the setting ``diff.require`` decides, which is control flow and outputs.
    verify
        Read all of both recordings and check it, also what is equal by its digests: what is damaged raises
        ``TraceFormatError``. Left out, where ``CI`` is set in the environment.
    limit
        How many divergences the document lists at most, beside the first 100 clusters; None or 0 for all of both. The table
        ``divergences`` always has all; for tables the recordings are read again when one is first asked for.
    source_roots
        Directories in which sources are looked for.
    workers, memory_limit
        Limits; left out, the settings decide.
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
    """
    if lookahead != LOOKAHEAD:
        text = (
            "lookahead has no effect: alignment is minimal over the whole warp (prlx diff --compat takes --lookahead)"
        )
        warnings.warn(text, stacklevel=2)
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}, expected 0 or more, or None for all")
    defaults = _config.load()
    request: dict[str, Any] = {
        "a": recordings(a),
        "b": recordings(b),
        "baseline": recordings(baseline),
        "baseline_b": recordings(baseline_b),
        **site_maps(site_map, site_map_b),
        **comparing(values=values, tolerance=tolerance, nan=nan, ignore=ignore),
        **filters(warps=warps, kinds=kinds, sites=sites),
        "ignore_active_mask": ignore_active_mask,
        "force": force,
        "cross_gpu": cross_gpu,
        "explain": explain,
        "accepted": _request.absolute_or_none(accepted),
        "require": required(require, defaults),
        "today": today(),
        "threshold": max_divergences,
        "verify": verifying(verify),
        "rows": limit or -1,
        "clusters": _CLUSTERS_HERE if limit else -1,
        "source_roots": _request.paths(source_roots),
        **_request.limits(workers, memory_limit, defaults),
    }
    return run(request, progress=progress)


def are_sessions(request: Mapping[str, Any]) -> bool:
    """Whether A and B are directories, that is sessions.

    Raises
    ------
    UsageError
        Only one of them is.
    """
    a, b = request["a"][0], request["b"][0]
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


def site_maps(site_map: AnyPath | None, site_map_b: AnyPath | None) -> dict[str, Any]:
    """How a request names the site maps of both sides, and from where they are looked for."""
    given = None if not site_map else _request.absolute(site_map)
    given_b = None if not site_map_b else _request.absolute(site_map_b)
    look = site_map is None or (site_map_b is None and given is None)
    return {"site_map": given, "site_map_b": given_b, "look_in": _request.absolute(".") if look else None}


def comparing(
    *, values: bool, tolerance: Tolerance | None, nan: str | None, ignore: str | Iterable[str]
) -> dict[str, Any]:
    """How values compare and what does not count."""
    text = tolerance_text(tolerance)
    return {
        "values": values or text is not None or nan is not None,
        "tolerance": text,
        "nan": nan,
        "ignore": [ignore] if isinstance(ignore, str) else list(ignore),
    }


def tolerance_text(given: Tolerance | None) -> str | None:
    """A tolerance as the core takes it: ``rel=1e-05``, ``f16:ulp=4``."""
    if given is None or isinstance(given, str):
        if given is not None and not given.strip():
            raise UsageError("tolerance is empty", hint="such as rel=1e-5 or f16:ulp=4, or leave it away")
        return given
    if isinstance(given, Mapping):
        return ",".join(
            f"{key}:{value}" if isinstance(value, str) else f"{key}={value!r}" for key, value in given.items()
        )
    return f"rel={float(given)!r}"


def filters(*, warps: Warps | None, kinds: str | Iterable[str] | None, sites: Sites | None) -> dict[str, Any]:
    """What is compared and reported at all."""
    if warps is None and kinds is None and sites is None:
        return {}
    from ._filters import site_texts, warp_text

    words: Sequence[str] | None = None
    if kinds is not None:
        words = [kinds] if isinstance(kinds, str) else list(kinds)
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
    return datetime.date.today().isoformat()


def run(request: Mapping[str, Any], *, progress: Progress = "auto") -> Diff:
    """Run a request of the operation ``diff``, or of ``session_diff`` where A and B are sessions.

    Parameters
    ----------
    request
        Of the operation, with absolute paths. Documents name the files as seen from the current directory.
    progress
        As for ``diff_traces``.
    """
    for side in "ab":
        if not request[side]:
            raise UsageError(f"no recording is named for {side.upper()}")
    here = _request.absolute(".")
    named = [path for key in ("a", "b", "baseline", "baseline_b") for path in request.get(key) or ()]
    named += [request["accepted"]] if request.get("accepted") else []
    names = {path: _request.seen_from(path, here) for path in named}
    request = {**request, "names": names, "root": here}
    compare = run_sessions if are_sessions(request) else run_files
    return compare(request, progress=progress)
