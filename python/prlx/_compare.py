"""Comparing recordings of a kernel, or sessions of them: where do two runs first differ, and why?"""

from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from . import _config, _request
from ._diff import Diff, run_files
from ._errors import UsageError
from ._session_diff import run_sessions
from ._steps_diff import are_tapes, diff_tapes

if TYPE_CHECKING:
    from ._filters import Sites, Warps
    from ._kernel_trace import KernelTrace
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
    strict_order: bool = False,
    floats: bool = False,
    explain: bool = False,
    on_inconclusive: Recorder | None = None,
    accepted: AnyPath | None = None,
    max_divergences: int | Mapping[str, int] = 0,
    require: str | Iterable[str] | None = None,
    verify: bool | None = None,
    limit: int | None = _LISTED_HERE,
    source_roots: AnyPath | Iterable[AnyPath] = (),
    libraries: str | Iterable[str] = (),
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Diff:
    """Find where two recordings of a kernel, or two sessions of recordings, first differ.

    Parameters
    ----------
    a, b
        A path or an opened ``KernelTrace`` each; a session's directory or an opened ``Session`` each; or several recordings
        of runs that should be equal, of which the first is compared and the others tell what is noise. Of tapes of training
        steps, or directories of them, the result is a ``StepsDiff``, and no other argument applies.
    values
        Compare the values of events too.
    lookahead
        Accepted for programs written for original prlx 0.5. Alignment here is minimal and needs no window.
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
    strict_order
        Another order of divergent paths differs, too.
    floats
        Show operands and values of unknown type as floats.
    explain
        Say why, too.
    on_inconclusive
        Called where the recordings do not settle whether and why the runs differ, as ``on_inconclusive(side, out, options)``:
        it runs side ``"a"`` or ``"b"`` again and records it to the path ``out`` with the options of ``record`` given;
        ``seed`` among them is that of ``enable``. Implies ``explain``; what comes back compares the new recordings.
    accepted
        A file of accepted differences.
    max_divergences
        How many may count for ``passed`` to be true: a number, or a mapping of kinds (``{"Value": 3}``; ``"*"`` is every other
        kind together, 0 when left out).
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
    libraries
        Files whose lines come after the lines that call them, besides those of ``triton.language`` and Inductor's
        runtime: globs over the path or its last element, or folders. ``"none"`` alone names the innermost line, also in a
        library.
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
    if isinstance(a, (str, os.PathLike)) and isinstance(b, (str, os.PathLike)) and are_tapes(a):
        return cast("Diff", diff_tapes(a, b, progress=progress))  # no type says what a path holds
    asked = request(
        a,
        b,
        values=values,
        ignore=ignore,
        tolerance=tolerance,
        site_map=site_map,
        site_map_b=site_map_b,
        nan=nan,
        baseline=baseline,
        baseline_b=baseline_b,
        warps=warps,
        kinds=kinds,
        sites=sites,
        ignore_active_mask=ignore_active_mask,
        force=force,
        cross_gpu=cross_gpu,
        strict_order=strict_order,
        floats=floats,
        explain=explain,
        accepted=accepted,
        max_divergences=max_divergences,
        require=require,
        verify=verify,
        limit=limit,
        clusters=_CLUSTERS_HERE if limit else 0,
        source_roots=source_roots,
        libraries=libraries,
        workers=workers,
        memory_limit=memory_limit,
    )
    if on_inconclusive is not None:
        from ._rerun import run_again

        return run_again(asked, on_inconclusive, functools.partial(run, progress=progress))
    return run(asked, progress=progress)


def request(
    a: Recordings,
    b: Recordings,
    *,
    values: bool = False,
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
    strict_order: bool = False,
    floats: bool = False,
    explain: bool = False,
    accepted: AnyPath | None = None,
    max_divergences: int | Mapping[str, int] = 0,
    require: str | Iterable[str] | None = None,
    verify: bool | None = None,
    limit: int | None = LISTED,
    clusters: int | None = None,
    source_roots: AnyPath | Iterable[AnyPath] = (),
    libraries: str | Iterable[str] = (),
    outputs: Sequence[Mapping[str, str]] = (),
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``diff``, and of ``session_diff``: what functions and commands that compare ask for.

    Parameters
    ----------
    a, b, values, ignore, tolerance, site_map, site_map_b, nan, baseline, baseline_b, warps, kinds, sites, ignore_active_mask
        As of ``diff_traces``.
    force, cross_gpu, strict_order, floats, explain, accepted, max_divergences, require, verify, source_roots, libraries
        As of ``diff_traces``.
    limit, clusters
        Divergences and clusters that the document lists; 0 for all. ``clusters=None`` leaves it to the core.
    outputs, overwrite
        Reports that are written on the way: ``format`` and ``path`` of each.
    workers, memory_limit
        As of ``diff_traces``.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}, expected 0 or more, or None for all")
    defaults = _config.load()
    return {
        "a": recordings(a),
        "b": recordings(b),
        "baseline": recordings(baseline),
        "baseline_b": recordings(baseline_b),
        **_request.site_maps(site_map, site_map_b),
        **comparing(values=values, tolerance=tolerance, nan=nan, ignore=ignore),
        **filters(warps=warps, kinds=kinds, sites=sites),
        "ignore_active_mask": ignore_active_mask,
        "force": force,
        "cross_gpu": cross_gpu,
        "strict_order": strict_order,
        "floats": floats,
        "explain": explain,
        "accepted": _request.absolute_or_none(accepted),
        "require": required(require, defaults),
        "today": today(),
        "max_divergences": allowed(max_divergences),
        "verify": verifying(verify),
        "limit": limit or 0,
        "clusters": clusters,
        "source_roots": _request.paths(source_roots),
        "libraries": [libraries] if isinstance(libraries, str) else list(libraries),
        "outputs": list(outputs) or None,
        "overwrite": overwrite,
        **_request.limits(workers, memory_limit, defaults),
    }


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
    *, values: bool, tolerance: Tolerance | None, nan: str | None, ignore: str | Iterable[str]
) -> dict[str, Any]:
    """How values compare and what does not count."""
    text = tolerance_text(tolerance)
    return {
        "values": values or text is not None or nan is not None,
        "tolerance": text,
        **_request.words(nan=nan),
        "ignore": [ignore] if isinstance(ignore, str) else list(ignore),
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


def filters(*, warps: Warps | None, kinds: str | Iterable[str] | None, sites: Sites | None) -> dict[str, Any]:
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
