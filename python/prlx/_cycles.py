"""Finding cycles: the repeating structure of the kernels of a trace, and what changed between two runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _config, _core, _request
from ._cycles_result import CycleComparison, Cycles
from ._errors import UsageError

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath

COMPAT = {
    "min_anchor_count": 5,
    "max_anchor_share": 0.2,
    "length_tolerance": 0.05,
    "outer_match": 0.95,
    "sub_match": 0.8,
    "min_sub_length": 5,
}
"""The parameters of uplifter, and its defaults."""

Traces: TypeAlias = "AnyPath | Iterable[AnyPath]"
Source: TypeAlias = "Traces | Cycles"


def find_cycles(
    trace: Traces,
    *,
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
    skip_unreadable: bool = False,
    salvage: bool = False,
    modules: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> Cycles:
    """Find the repeating structure of the kernels of a trace.

    Parameters
    ----------
    trace
        A Chrome or Kineto trace (``.json``, ``.gz``, ``.zst``) or an XSpace file, of one rank or of several; or one file a
        rank. Files that do not say their rank are numbered in the order given.
    ignore_annotations
        Leave profiler steps, server annotations, modules and the like aside; find everything from the kernels alone.
    keys
        ``strict`` tells kernels apart by everything but arguments, ``loose`` ignores template arguments and generated
        suffixes, ``auto`` (the default) takes strict unless loose explains clearly more.
    streams
        ``each`` looks at the busiest stream of a device that computes, ``merged`` at all of them in order of time, ``auto``
        (the default) decides by whether they take turns.
    rules
        A TOML file with signature rules of your own.
    phase_mode
        Which class is selected: ``auto`` (by evidence), ``prefill`` (the earliest) or ``decode`` (the latest).
    edit_percent
        How many kernels of a repetition may be inserted, missing or replaced, in percent; 5 unless given.
    max_levels
        At most so many levels, 1 to 4.
    compat
        Find cycles as uplifter does; a mapping changes its parameters (``prlx.cycles.COMPAT`` has their names).
    skip_unreadable
        Leave out traces that cannot be read, and say which.
    salvage
        Of an XSpace whose file was cut, take what is complete, and say what was lost. JSON is always read so.
    modules
        Say what each kernel belongs to: module, named range, operator, collective. The trace is read a second time for it.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    Cycles
        Its ``found`` says whether anything repeats.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> cycles = prlx.find_cycles("examples/serving/before.json.gz")
    >>> print(cycles.verdict)
    27 ... decode step of 259 kernels, median 1.94 ms, 23 ... decode layer; 8 ... prefill step of ...
    """
    asked = request(
        trace,
        ignore_annotations=ignore_annotations,
        keys=keys,
        streams=streams,
        rules=rules,
        phase_mode=phase_mode,
        edit_percent=edit_percent,
        max_levels=max_levels,
        compat=compat,
        skip_unreadable=skip_unreadable,
        salvage=salvage,
        modules=modules,
        workers=workers,
        memory_limit=memory_limit,
    )
    return run(asked, progress=progress)


def request(
    trace: Traces,
    *,
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
    skip_unreadable: bool = False,
    salvage: bool = False,
    modules: bool = False,
    outputs: Sequence[Mapping[str, str]] = (),
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of the operation ``cycles``; arguments as of ``find_cycles``, and reports that are written on the way."""
    return {
        "paths": _request.paths(trace),
        **options(
            ignore_annotations=ignore_annotations,
            keys=keys,
            streams=streams,
            rules=rules,
            phase_mode=phase_mode,
            edit_percent=edit_percent,
            max_levels=max_levels,
            compat=compat,
            skip_unreadable=skip_unreadable,
            salvage=salvage,
            modules=modules,
        ),
        "outputs": list(outputs) or None,
        "overwrite": overwrite,
        **_request.limits(workers, memory_limit, _config.load()),
    }


def compare_cycles(
    a: Source,
    b: Source,
    *,
    alpha: float | None = None,
    min_change: float | None = None,
    similarity: float | None = None,
    baseline: Source | Sequence[Source] = (),
    fail_on: str | Sequence[str] = (),
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
    skip_unreadable: bool = False,
    salvage: bool = False,
    modules: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress = "auto",
) -> CycleComparison:
    """Compare the cycles of two runs.

    Parameters
    ----------
    a, b
        Traces, or what ``find_cycles`` returned for them.
    alpha
        The chance of a false change in one class; 0.01 unless given.
    min_change
        The smallest change that is worth a word, as a share; 0.03 unless given.
    similarity
        The least share of common kernels of two classes that are paired; 0.5 unless given.
    baseline
        Runs that should be equal to ``a``: a change counts where it is more than what they differ by.
    fail_on
        Gates, such as ``"step>3%"``, ``"kernel:flash*>5%"`` or ``"added"``. ``gate`` of the result says how they stand.
    ignore_annotations, keys, streams, rules, phase_mode, edit_percent, max_levels, compat, skip_unreadable, salvage, modules
        As of ``find_cycles``, for traces that are named by path.
    workers, memory_limit, progress
        As for ``combine_traces``.

    Returns
    -------
    CycleComparison
        Its ``regressions`` are sorted by what they cost a step.

    Raises
    ------
    PrlxError
        One of its kinds, with ``.path``, ``.offset`` and ``.hint`` where known.

    Examples
    --------
    >>> change = prlx.compare_cycles("examples/serving/before.json.gz", "examples/serving/after.json.gz")
    >>> print(change.verdict)
    Decode step: mean 1.93 ms, now 2.01 ms (+3.9 %, slower). ...
    """
    asked = compare_request(
        a,
        b,
        alpha=alpha,
        min_change=min_change,
        similarity=similarity,
        baseline=baseline,
        fail_on=fail_on,
        ignore_annotations=ignore_annotations,
        keys=keys,
        streams=streams,
        rules=rules,
        phase_mode=phase_mode,
        edit_percent=edit_percent,
        max_levels=max_levels,
        compat=compat,
        skip_unreadable=skip_unreadable,
        salvage=salvage,
        modules=modules,
        workers=workers,
        memory_limit=memory_limit,
    )
    return run_compare(asked, progress=progress)


def compare_request(
    a: Source,
    b: Source,
    *,
    alpha: float | None = None,
    min_change: float | None = None,
    similarity: float | None = None,
    baseline: Source | Sequence[Source] = (),
    fail_on: str | Sequence[str] = (),
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
    skip_unreadable: bool = False,
    salvage: bool = False,
    modules: bool = False,
    outputs: Sequence[Mapping[str, str]] = (),
    overwrite: bool = False,
    workers: int | None = None,
    memory_limit: int | str | None = None,
) -> dict[str, Any]:
    """The request of ``cycles_compare``; arguments as of ``compare_cycles``, and reports that are written on the way."""
    chosen = options(
        ignore_annotations=ignore_annotations,
        keys=keys,
        streams=streams,
        rules=rules,
        phase_mode=phase_mode,
        edit_percent=edit_percent,
        max_levels=max_levels,
        compat=compat,
        skip_unreadable=skip_unreadable,
        salvage=salvage,
        modules=modules,
    )
    return {
        "a": _side(a, chosen),
        "b": _side(b, chosen),
        "alpha": alpha,
        "min_change": min_change,
        "similarity": similarity,
        "baselines": [_side(one, chosen) for one in _each(baseline)] or None,
        "fail_on": ([fail_on] if isinstance(fail_on, str) else list(fail_on)) or None,
        "outputs": list(outputs) or None,
        "overwrite": overwrite,
        **_request.limits(workers, memory_limit, _config.load()),
    }


def _each(baseline: Source | Sequence[Source]) -> Sequence[Source]:
    """Baselines, where one may be given as itself."""
    return [baseline] if isinstance(baseline, (str, os.PathLike, Cycles)) else list(baseline)


def options(
    *,
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
    skip_unreadable: bool = False,
    salvage: bool = False,
    modules: bool = False,
) -> dict[str, Any]:
    """The options of finding as the core takes them."""
    described = None
    if isinstance(compat, Mapping):
        unknown = sorted(set(compat) - set(COMPAT))
        if unknown:
            raise UsageError(
                f"uplifter has no parameter {unknown[0]!r}{_config.did_you_mean(unknown[0], list(COMPAT))}",
                hint=f"its parameters are {', '.join(COMPAT)}",
            )
        described = {**COMPAT, **compat}
    elif compat:
        described = dict(COMPAT)
    return {
        "ignore_annotations": bool(ignore_annotations),
        **_request.words(keys=keys, streams=streams, phase_mode=phase_mode),
        "rules": _request.absolute_or_none(rules),
        "edit_percent": edit_percent,
        "max_levels": max_levels,
        "compat": described,
        "skip_unreadable": skip_unreadable,
        "salvage": salvage,
        "modules": modules,
    }


def _side(source: Source, chosen: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(source, Cycles):
        if source.request is None:
            raise UsageError("these cycles do not say which trace they are of", hint="give the trace instead")
        return {key: source.request.get(key) for key in ("paths", *chosen)}
    return {"paths": _request.paths(source), **chosen}


def run(asked: dict[str, Any], *, progress: Progress = "auto") -> Cycles:
    """Run a request of the operation ``cycles``."""
    from ._progress import shown

    asked = named(asked, asked["paths"])
    with shown(progress) as watch:
        return Cycles(_core.run("cycles", asked, progress=watch), request=asked)


def run_compare(asked: dict[str, Any], *, progress: Progress = "auto") -> CycleComparison:
    """Run a request of the operation ``cycles_compare``."""
    from ._progress import shown

    asked = named(
        asked, [path for side in (asked["a"], asked["b"], *(asked["baselines"] or ())) for path in side["paths"]]
    )
    with shown(progress) as watch:
        return CycleComparison(_core.run("cycles_compare", asked, progress=watch))


def named(asked: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """The request, with how its document calls the files: as seen from the current directory."""
    here = _request.absolute(".")
    return {**asked, "names": {path: _request.seen_from(path, here) for path in paths}}
