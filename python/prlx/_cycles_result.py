"""What repeats in a trace, and what changed between two runs: the results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _cycles_tables, _request
from ._errors import UsageError, said
from ._result import Brief, Card
from ._units import format_count, format_ns, one_unit
from ._verdict import Judged, Verdict, conclusion_of

if TYPE_CHECKING:
    from ._table import Table

FORMATS = {".html": "html", ".md": "markdown", ".csv": "csv", ".xml": "junit"}
"""Endings of reports, and the formats that the core writes for them."""


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
        ``prefill``, ``decode``, ``mixed``, ``draft``, ``verify``, ``training``, ``train-fwd``, ``train-bwd``, ``optimizer`` or
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


class _Report(Judged):
    """What reports of cycles and of comparisons have in common."""

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document or a report of it; the ending decides.

        Parameters
        ----------
        path
            ``.json`` the document, ``.html`` one page for a browser that needs no network, ``.md`` Markdown, ``.csv`` and
            ``.xlsx`` the layouts of uplifter (``.xlsx`` needs XlsxWriter), ``.trace.json`` a track of steps and
            layers that opens in Perfetto beside the trace, ``.xml`` JUnit of a comparison.
        overwrite
            Replace a file that exists.

        Raises
        ------
        UsageError
            The ending says no format, or XlsxWriter is not there.
        FileAccessError
            The file exists and ``overwrite`` was not given.

        Examples
        --------
        >>> cycles = prlx.find_cycles("examples/serving/before.json.gz")
        >>> cycles.save("cycles.html").name, cycles.save("cycles.csv").name
        ('cycles.html', 'cycles.csv')
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
    """The repeating structure of one trace. The document is ``prlx.cycles/1``.

    Examples
    --------
    >>> cycles = prlx.find_cycles("examples/serving/before.json.gz")
    >>> [(one.name, one.count, one.period) for one in cycles if one.level_name == "step"]
    [('decode step', 27, 259), ('prefill step', 8, 259)]
    >>> len(cycles.steps), round(cycles.coverage, 2)
    (35, 1.0)
    """

    request: Mapping[str, Any] | None = None
    """How it was found, so that it can be found again for a comparison."""

    @property
    def found(self) -> bool:
        """Whether anything repeats; ``bool()`` says whether it also explains the run."""
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
    def time_coverage(self) -> float:
        """The share of the time that the steps take; where there are none, the repetitions of the level that covers most."""
        return float(self.document["time_coverage"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer, in sentences."""
        return said(self.document.get("warnings"))

    @cached_property
    def classes(self) -> tuple[CycleClass, ...]:
        """Everything that repeats, the outermost level first."""
        return tuple(
            CycleClass._of(row, level["name"])
            for level in reversed(self.document["levels"])
            for row in level["classes"]
        )

    def level(self, name: str) -> tuple[CycleClass, ...]:
        """The classes of a level: ``layer``, ``step``, ...; none when there is no such level.

        Examples
        --------
        >>> cycles = prlx.find_cycles("examples/serving/before.json.gz")
        >>> [one.phase for one in cycles.level("step")]
        ['decode', 'prefill']
        """
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
        """One row per class."""
        from ._rows import table

        return table(_cycles_tables.CLASSES, _cycles_tables.class_rows(self.document))

    @cached_property
    def kernels(self) -> Table:
        """One row a kernel of a class."""
        from ._rows import table

        rows = (
            {**slot, "class": row["id"], "class_name": row["name"]}
            for level in self.document["levels"]
            for row in level["classes"]
            for slot in row["kernels"]
        )
        return table(_cycles_tables.SLOTS, rows)

    @cached_property
    def steps(self) -> Table:
        """One row a step, in order of rank, device and time; ``document["steps"]`` lists the first 10,000."""
        from ._rows import beside, renamed, table

        omitted = self.document["steps_omitted"]
        steps = self._read("steps") if omitted else table(_cycles_tables.STEPS, self.document["steps"])
        names = {one.id: one.name for one in self.classes}
        return beside(steps, "class", renamed(steps.column("class"), "class_name", names))

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
        """The classes as a pandas data frame.

        Examples
        --------
        >>> cycles = prlx.find_cycles("examples/serving/before.json.gz")
        >>> cycles.to_pandas()[["name", "count"]].values.tolist()[0]
        ['decode step', 27]
        """
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The classes as a polars data frame.

        Examples
        --------
        >>> cycles = prlx.find_cycles("examples/serving/before.json.gz")
        >>> cycles.to_polars()["name"][0]
        'decode step'
        """
        return self.table.to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _card(self) -> Card:
        shown = one_unit(one.wall_ns for one in self.classes)
        rows = [
            (
                one.level_name,
                one.name,
                one.phase,
                format_count(one.period),
                format_count(one.count),
                shown(one.wall_ns),
                f"{one.document['coverage']:.0%}",
            )
            for one in self.classes
        ]
        headings = ("level", "class", "phase", "kernels", "times", "each", "coverage")
        return Card("Cycles", self.verdict, headings, rows, self.warnings)


@dataclass(frozen=True, repr=False)
class CycleComparison(_Report):
    """What changed from one run to another. The document is ``prlx.cycles-compare/1``. Its truth is that of its conclusion.

    Examples
    --------
    >>> change = prlx.compare_cycles("examples/serving/before.json.gz", "examples/serving/after.json.gz")
    >>> change.same
    False
    >>> worst = change.regressions[0]
    >>> worst["class"], worst["what"].partition("<")[0], worst["step_ns"]
    ('decode layer', 'vllm::paged_attention_v2_kernel', 75146)
    """

    @property
    def same(self) -> bool:
        """Whether no class changed by more than chance, and enough was compared to say so.

        Where it was not, this is False and ``bool()`` raises.
        """
        return self.conclusion.outcome == "same"

    @property
    def gate(self) -> Verdict | None:
        """How the runs stand against ``fail_on``: passed, failed or inconclusive; None where it was not given.

        Examples
        --------
        >>> sides = ("examples/serving/before.json.gz", "examples/serving/after.json.gz")
        >>> prlx.compare_cycles(*sides, fail_on="kernel:paged_attention*>5%").gate.outcome
        'failed'
        """
        gate = self.document.get("gate")
        return None if gate is None else conclusion_of({"conclusion": gate})

    @property
    def verdict(self) -> str:
        """The change of a step and what costs most, in a sentence or two."""
        return str(self.document["verdict"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer, in sentences."""
        return said(self.document.get("warnings"))

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
        """The rows as a pandas data frame.

        Examples
        --------
        >>> change = prlx.compare_cycles("examples/serving/before.json.gz", "examples/serving/after.json.gz")
        >>> change.to_pandas().shape
        (540, 14)
        """
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a polars data frame.

        Examples
        --------
        >>> change = prlx.compare_cycles("examples/serving/before.json.gz", "examples/serving/after.json.gz")
        >>> change.to_polars().shape
        (540, 14)
        """
        return self.table.to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _card(self) -> Card:
        rows = [
            (cost["class"], cost["what"], f"{cost['step_ns'] / 1e3:+,.1f} us", f"{cost['relative']:+.1%}")
            for cost in [*self.regressions, *self.improvements][:20]
        ]
        return Card("Cycles compared", self.verdict, ("class", "what", "a step", "change"), rows, self.warnings)


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
            hint="end it in .json, .html, .md, .csv, .xlsx, .trace.json, or .xml of a comparison",
        )
    return FORMATS[path.suffix]
