"""Cycles: the repeating structure of the kernels of a trace, and what changed between two runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _config, _core, _cycles_tables, _request
from ._errors import UsageError
from ._result import Brief, Card, Result
from ._units import format_count, format_ns

if TYPE_CHECKING:
    from ._progress import Progress
    from ._request import Path as AnyPath
    from ._table import Table

FORMATS = {".html": "html", ".md": "markdown", ".csv": "csv"}
"""Endings of reports, and the formats that the core writes for them."""

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


@dataclass(frozen=True, repr=False)
class Slot(Brief):
    """One place in a repetition: the kernel there, and its times over all repetitions.

    Attributes
    ----------
    slot
        Its place, from 0 at the border.
    name, signature
        The kernel as the first repetition names it, and its strict key.
    mean_ns, p50_ns, p99_ns
        Its time.
    share
        Of the sum of kernel times of the class.
    """

    slot: int
    name: str
    signature: str
    mean_ns: float
    p50_ns: int
    p99_ns: int
    share: float
    document: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class CycleClass(Brief):
    """One thing that repeats.

    Attributes
    ----------
    id
        The same for the same kernels in the same order, from whatever start, on whatever rank, in whatever run.
    name
        For people; unique in its document.
    level, level_name
        1 is innermost; ``layer``, ``step``, ``loop``, ...
    phase, phase_score, phase_reason
        ``prefill``, ``decode``, ``mixed``, ``draft``, ``verify``, ``train-fwd``, ``train-bwd``, ``optimizer`` or
        ``unknown``, how sure that is, and the evidence.
    phase_readings
        Pairs of a phase and its score, likeliest first: several where they are close, none where nothing is known.
    period, count
        Kernels of one repetition, and repetitions.
    wall_ns
        Mean time from border to border.
    document
        The class as the core describes it.
    """

    id: str
    name: str
    level: int
    level_name: str
    phase: str
    phase_score: float
    phase_reason: str
    period: int
    count: int
    wall_ns: float
    document: Mapping[str, Any]

    @classmethod
    def _of(cls, row: Mapping[str, Any], level_name: str) -> CycleClass:
        copied = {key: row[key] for key in ("id", "name", "level", "phase", "phase_score", "phase_reason")}
        return cls(
            **copied,
            level_name=level_name,
            period=row["period"],
            count=row["count"],
            wall_ns=row["wall_ns"]["mean"],
            document=row,
        )

    @property
    def phase_readings(self) -> tuple[tuple[str, float], ...]:
        """What the phase may be, with scores, likeliest first."""
        return tuple((one["phase"], one["score"]) for one in self.document["phase_readings"])

    @cached_property
    def kernels(self) -> tuple[Slot, ...]:
        """The kernels of one repetition, in order."""
        keys = ("slot", "name", "signature", "mean_ns", "p50_ns", "p99_ns", "share")
        return tuple(Slot(**{key: row[key] for key in keys}, document=row) for row in self.document["kernels"])

    def __str__(self) -> str:
        kernels = "kernel" if self.period == 1 else "kernels"
        return f"{self.name}: {self.period} {kernels} x {self.count}, {format_ns(round(self.wall_ns))} each"


class _Report(Result):
    """What reports of cycles and of comparisons have in common."""

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document or a report of it; the ending decides.

        Parameters
        ----------
        path
            ``.json`` the document, ``.html`` one page for a browser that needs no network, ``.md`` Markdown, ``.csv`` and
            ``.xlsx`` the layouts of uplifter (``.xlsx`` needs XlsxWriter), ``.trace.json`` a track of steps and
            layers that opens in Perfetto beside the trace.
        overwrite
            Replace a file that exists.

        Raises
        ------
        UsageError
            The ending says no format, or XlsxWriter is not there.
        FileAccessError
            The file exists and ``overwrite`` was not given.
        """
        target = Path(path)
        format = report_format(target)
        if format == "json":
            return super().save(target, overwrite=overwrite)
        if format == "xlsx":
            from ._cycles_xlsx import write

            write(self.document, target, overwrite=overwrite)
            return target
        output = {"format": format, "path": _request.absolute(target)}
        _core.run("report", {"document": dict(self.document), "outputs": [output], "overwrite": overwrite})
        return target


@dataclass(frozen=True, repr=False)
class Cycles(_Report):
    """The repeating structure of one trace. The document is ``prlx.cycles/1``."""

    request: Mapping[str, Any] | None = None
    """How it was found, so that it can be found again for a comparison."""

    @property
    def found(self) -> bool:
        """Whether anything repeats."""
        return bool(self.document["status"] == "cycles")

    @property
    def verdict(self) -> str:
        """What repeats, how often, how long; or that nothing does."""
        return str(self.document["verdict"])

    @property
    def confidence(self) -> float:
        """From 0 to 1, of the steps where there are any."""
        return float(self.document["confidence"])

    @property
    def coverage(self) -> float:
        """The share of kernels that lie in a repetition."""
        return float(self.document["coverage"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer, in sentences."""
        return tuple(self.document.get("warnings") or ())

    @cached_property
    def classes(self) -> tuple[CycleClass, ...]:
        """Everything that repeats, the outermost level first."""
        return tuple(
            CycleClass._of(row, level["name"])
            for level in reversed(self.document["levels"])
            for row in level["classes"]
        )

    def level(self, name: str) -> tuple[CycleClass, ...]:
        """The classes of a level: ``layer``, ``step``, ...; none when there is no such level."""
        return tuple(one for one in self.classes if one.level_name == name)

    def __iter__(self) -> Iterator[CycleClass]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, id: str) -> CycleClass:
        for one in self.classes:
            if id in (one.id, one.name):
                return one
        raise KeyError(id)

    @cached_property
    def table(self) -> Table:
        """One row a class."""
        from ._rows import table

        return table(_cycles_tables.CLASSES, _cycles_tables.class_rows(self.document))

    @cached_property
    def kernels(self) -> Table:
        """One row a kernel of a class."""
        from ._rows import table

        rows = (
            {**slot, "class": row["id"]}
            for level in self.document["levels"]
            for row in level["classes"]
            for slot in row["kernels"]
        )
        return table(_cycles_tables.SLOTS, rows)

    @cached_property
    def steps(self) -> Table:
        """One row a step, in order of rank, device and time; ``document["steps"]`` lists the first 10,000."""
        if self.document["steps_omitted"]:
            return self._read("steps")
        from ._rows import table

        return table(_cycles_tables.STEPS, self.document["steps"])

    @cached_property
    def repetitions(self) -> Table:
        """One row a repetition of any class, all of them; the trace is read again for it."""
        return self._read("repetitions")

    def _read(self, name: str) -> Table:
        if self.request is None:
            raise UsageError(
                "these cycles do not say which trace they are of", hint="find_cycles(...) on the trace does"
            )
        reply = _core.run("cycles", {**self.request, "outputs": None, "tables": [name]})
        table: Table = reply["tables"][name]
        return table

    def to_pandas(self) -> Any:
        """The classes as a pandas data frame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The classes as a polars data frame."""
        return self.table.to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _card(self) -> Card:
        rows = [
            (
                one.level_name,
                one.name,
                one.phase,
                format_count(one.period),
                format_count(one.count),
                format_ns(round(one.wall_ns)),
                f"{one.document['coverage']:.0%}",
            )
            for one in self.classes
        ]
        headings = ("level", "class", "phase", "kernels", "times", "each", "coverage")
        return Card("Cycles", self.verdict, headings, rows, self.warnings)


@dataclass(frozen=True, repr=False)
class CycleComparison(_Report):
    """What changed from one run to another. The document is ``prlx.cycles-compare/1``."""

    @property
    def same(self) -> bool:
        """Whether no class changed by more than chance."""
        return bool(self.document["status"] == "same")

    @property
    def verdict(self) -> str:
        """The change of a step and what costs most, in a sentence or two."""
        return str(self.document["verdict"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer, in sentences."""
        return tuple(self.document.get("warnings") or ())

    @property
    def regressions(self) -> tuple[Mapping[str, Any], ...]:
        """What costs time, the most expensive per step first."""
        return tuple(self.document["regressions"])

    @property
    def improvements(self) -> tuple[Mapping[str, Any], ...]:
        """What saves time, greatest first."""
        return tuple(self.document["improvements"])

    @property
    def account(self) -> Mapping[str, Any]:
        """Where the time of a mean step went: ``a_ns``, ``b_ns``, ``delta_ns`` and ``parts`` that add up to it."""
        return dict(self.document["account"])

    @cached_property
    def table(self) -> Table:
        """One row a kernel, or a group of kernels that were fused or split."""
        from ._rows import table

        return table(_cycles_tables.ROWS, _cycles_tables.pair_rows(self.document))

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a polars data frame."""
        return self.table.to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _card(self) -> Card:
        rows = [
            (cost["class"], cost["what"], f"{cost['step_ns'] / 1e3:+,.1f} us", f"{cost['relative']:+.1%}")
            for cost in [*self.regressions, *self.improvements][:20]
        ]
        return Card("Cycles compared", self.verdict, ("class", "what", "a step", "change"), rows, self.warnings)


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
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
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
    ignore_annotations, keys, streams, rules, phase_mode, edit_percent, max_levels, compat
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
    """
    asked = compare_request(
        a,
        b,
        alpha=alpha,
        min_change=min_change,
        similarity=similarity,
        ignore_annotations=ignore_annotations,
        keys=keys,
        streams=streams,
        rules=rules,
        phase_mode=phase_mode,
        edit_percent=edit_percent,
        max_levels=max_levels,
        compat=compat,
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
    ignore_annotations: bool = False,
    keys: str | None = None,
    streams: str | None = None,
    rules: AnyPath | None = None,
    phase_mode: str | None = None,
    edit_percent: int | None = None,
    max_levels: int | None = None,
    compat: bool | Mapping[str, float] = False,
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
    )
    return {
        "a": _side(a, chosen),
        "b": _side(b, chosen),
        "alpha": alpha,
        "min_change": min_change,
        "similarity": similarity,
        "outputs": list(outputs) or None,
        "overwrite": overwrite,
        **_request.limits(workers, memory_limit, _config.load()),
    }


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
) -> dict[str, Any]:
    """The options of finding as the core takes them."""
    described = None
    if isinstance(compat, Mapping):
        unknown = sorted(set(compat) - set(COMPAT))
        if unknown:
            raise UsageError(
                f"uplifter has no parameter {unknown[0]!r}{_config.did_you_mean(unknown[0], list(COMPAT))}"
            )
        described = {**COMPAT, **compat}
    elif compat:
        described = dict(COMPAT)
    return {
        "ignore_annotations": bool(ignore_annotations),
        "keys": keys,
        "streams": streams,
        "rules": _request.absolute_or_none(rules),
        "phase_mode": phase_mode,
        "edit_percent": edit_percent,
        "max_levels": max_levels,
        "compat": described,
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

    asked = named(asked, [*asked["a"]["paths"], *asked["b"]["paths"]])
    with shown(progress) as watch:
        return CycleComparison(_core.run("cycles_compare", asked, progress=watch))


def named(asked: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """The request, with how its document calls the files: as seen from the current directory."""
    here = _request.absolute(".")
    return {**asked, "names": {path: _request.seen_from(path, here) for path in paths}}


def report_format(path: Path) -> str:
    """The format that a report's name says."""
    if path.name.endswith((".trace.json", ".trace.json.gz")):
        return "chrome"
    if path.suffix in (".json", ".xlsx"):
        return path.suffix[1:]
    if path.suffix not in FORMATS:
        raise UsageError(
            "the ending says no format",
            path=str(path),
            hint="end it in .json, .html, .md, .csv, .xlsx or .trace.json",
        )
    return FORMATS[path.suffix]
