"""``prlx cycles``: what repeats in a trace, and what changed between two runs."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _request
from .._errors import UsageError
from .._units import format_count, format_ns, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import shown_path
from ._parser import given
from ._render import Column, clean, table

if TYPE_CHECKING:
    from .._cycles_result import CycleComparison, Cycles
    from ._ui import UI

_REPORTS = {
    "html": "html",
    "markdown": "markdown",
    "csv": "csv",
    "overlay": "chrome",
    "junit": "junit",
    "github": "github",
}
_SHARES = ("alpha", "min_change", "similarity")
_OF_COMPARISONS = (*_SHARES, "baseline", "fail_on", "junit", "github")
_NO_OVERLAY = "--overlay shows one trace: leave out compare"
_LEVELS = (
    Column("level"),
    Column("class", shrinks=True),
    Column("phase"),
    Column("kernels", right=True),
    Column("times", right=True),
    Column("median", right=True),
    Column("p99", right=True),
    Column("idle", right=True),
    Column("of time", right=True),
)
_NAME = 72  # letters of a kernel's name, unless -v
_SHOWN = 8  # kernels, and costs, unless --kernels says otherwise
_KERNELS = (
    Column("kernel", shrinks=True),
    Column("times", right=True),
    Column("mean", right=True),
    Column("together", right=True),
    Column("share", right=True),
)
_MODULES = (
    Column("module", shrinks=True),
    Column("kernels", right=True),
    Column("together", right=True),
    Column("share", right=True),
)
_COSTS = (
    Column("a step", right=True),
    Column("change", right=True),
    Column("in", shrinks=True),
    Column("what", shrinks=True),
)
_ACCOUNT = (Column("time", right=True), Column("part"), Column("kernels", right=True))
_PAIRS = (
    Column("level"),
    Column("A", shrinks=True),
    Column("B", shrinks=True),
    Column("mean in A", right=True),
    Column("mean in B", right=True),
    Column("change", right=True),
    Column("verdict"),
)
_OPENERS = {"html": "xdg-open {}", "chrome": "https://ui.perfetto.dev (Open trace file)", "xlsx": "xdg-open {}"}


def run(values: argparse.Namespace, ui: UI) -> int:
    """Find cycles in one trace, or compare those of two."""
    given = list(values.trace)
    if given[0] == "compare":
        if len(given) != 3:
            raise UsageError(f"expected two traces, got {len(given) - 1}", hint="prlx cycles compare A B")
        return _compare(given[1], given[2], values, ui)
    return _find(given, values, ui)


def _find(traces: Sequence[str], values: argparse.Namespace, ui: UI) -> int:
    from .. import _cycles

    for name in _OF_COMPARISONS:
        if getattr(values, name):
            raise UsageError(
                f"{_flag(name)} is for comparing two traces", hint="prlx cycles compare A B, or leave it out"
            )
    chosen = given(values, _cycles.request) | {"compat": _compat(values), "outputs": _outputs(values)}
    asked = _cycles.request(traces, **chosen)
    _check_xlsx(values)
    cycles = _cycles.run(asked, progress=ui.progress)
    _finish(cycles, values, ui, _text(cycles, ui, _limit(values)))
    return cycles.conclusion.exit_code


def _compare(a: str, b: str, values: argparse.Namespace, ui: UI) -> int:
    from .. import _cycles

    if values.overlay is not None:
        raise UsageError(_NO_OVERLAY)
    chosen = given(values, _cycles.compare_request) | {"compat": _compat(values), "outputs": _outputs(values)}
    chosen |= {name: _share(chosen[name], name) for name in _SHARES if name in chosen}
    asked = _cycles.compare_request(a, b, **chosen)
    _check_xlsx(values)
    comparison = _cycles.run_compare(asked, progress=ui.progress)
    _finish(comparison, values, ui, _text_of_comparison(comparison, ui, _limit(values)))
    return (comparison.gate or comparison.conclusion).exit_code


def _limit(values: argparse.Namespace) -> int:
    return _SHOWN if values.kernels is None else int(values.kernels)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _share(text: str, name: str) -> float:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"{_flag(name)}: expected a share such as 0.03 or 3%, got {text!r}") from None


def _compat(values: argparse.Namespace) -> dict[str, float] | bool:
    """``--compat``, with what ``--compat-parameter`` changes."""
    changed: dict[str, float] = {}
    for word in values.compat_parameter or ():
        key, _, value = word.partition("=")
        try:
            changed[key.strip().replace("-", "_")] = float(value) if "." in value else int(value)
        except ValueError:
            raise UsageError(f"--compat-parameter: expected NAME=NUMBER, got {word!r}") from None
    return changed or bool(values.compat)


def _outputs(values: argparse.Namespace) -> list[dict[str, str]]:
    named = [(format, getattr(values, name)) for name, format in _REPORTS.items() if getattr(values, name) is not None]
    if sum(path == "-" for _, path in named) + bool(values.json) > 1:
        raise UsageError("only one thing can go to stdout", hint="name a file instead of -")
    return [{"format": format, "path": path if path == "-" else _request.absolute(path)} for format, path in named]


def _check_xlsx(values: argparse.Namespace) -> None:
    """Refuse before the work, not after it."""
    if values.xlsx is None:
        return
    from .._cycles_xlsx import check

    check(Path(values.xlsx), overwrite=bool(values.overwrite))


def _finish(result: Cycles | CycleComparison, values: argparse.Namespace, ui: UI, text: Iterator[str]) -> None:
    document = dict(result.document)
    written = list(document.pop("written", None) or ())
    on_stdout = document.pop("rendered", None)
    document.pop("tables", None)
    if values.xlsx is not None:
        from .._cycles_xlsx import write

        write(document, Path(values.xlsx), overwrite=bool(values.overwrite))
        written.append({"path": values.xlsx, "format": "xlsx"})
    if ui.json:
        ui.emit(document)
    elif on_stdout is not None:
        sys.stdout.write(on_stdout)
    elif not ui.quiet:
        ui.show(text)
    for warning in result.document.get("warnings") or ():
        ui.warn(clean(warning))
    for output in written:
        opener = _OPENERS.get(output["format"], "less {}").format(shown_path(Path(output["path"])))
        ui.say(f"wrote {shown_path(Path(output['path']))}; open it with: {opener}")


def _text(cycles: Cycles, ui: UI, kernels: int) -> Iterator[str]:
    document = cycles.document
    about = document["input"]
    names = f"{plural(about['kernels'], 'kernel')} of {plural(about['names'], 'name')}"
    ranks = f", {plural(len(about['ranks']), 'rank')}" if len(about["ranks"]) > 1 else ""
    yield f"{ui.out.style(clean(cycles.verdict), 'bold')}"
    yield f"  {clean(shown_path(Path(about['path'])))}  {names}{ranks}, {format_ns(about['span_ns'])}"
    if not cycles.found:
        return
    yield from _open(document)
    yield ""
    rows = list(_by_level(document))
    shown = rows if ui.verbose else _telling(rows)
    yield from table(ui.out, _LEVELS, [_class_row(level, row) for level, row in shown], indent=2)
    if len(shown) < len(rows):
        yield ui.out.style(f"  {plural(len(rows) - len(shown), 'smaller class')} with -v", "dim")
    yield from _phases(document)
    yield from _order(document)
    main = _class(document, document["selected"])
    if main is not None:
        yield from _kernels(main, ui, kernels)
        yield from _modules(main, ui, kernels)
    yield from _odd(document, ui)
    yield from _foot(document)


def _open(document: Mapping[str, Any]) -> Iterator[str]:
    """What keeps the answer open."""
    for row in document["conclusion"]["missing"]:
        count = "" if row["count"] in (None, 1) else f"{format_count(row['count'])} "
        yield f"  inconclusive: {count}{clean(row['what'])}: {clean(row['why'])}"


def _by_level(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for level in reversed(document["levels"]):
        for row in level["classes"]:
            yield level["name"], row


def _telling(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The classes that matter to a reader: those that take most time, at least one of each level."""
    expensive = sorted(rows, key=lambda row: -row[1]["time_share"])[:_SHOWN]
    kept = {row["id"] for _, row in expensive if row["time_share"] >= 0.01}
    kept |= {next(row["id"] for name, row in expensive + list(rows) if name == level) for level, _ in rows}
    return [one for one in rows if one[1]["id"] in kept]


def _class_row(level: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    wall, gap = row["wall_ns"], row["gap_ns"]
    phase = row["phase"] if row["phase"] == "unknown" else f"{row['phase']} {row['phase_score']:.2f}"
    return (
        level,
        row["name"],
        phase,
        format_count(row["period"]),
        format_count(row["count"]),
        format_ns(wall["p50"]),
        format_ns(wall["p99"]),
        f"{gap['mean'] / wall['mean']:.0%}" if wall["mean"] else "",
        f"{row['time_share']:.0%}",
    )


def _clipped(name: str, ui: UI) -> str:
    """A name that leaves room for its numbers; generated ones have a thousand letters."""
    if ui.verbose or len(name) <= _NAME:
        return name
    return name[: _NAME - 2] + (" \u2026" if ui.out.unicode else "..")


def _kernels(row: Mapping[str, Any], ui: UI, limit: int) -> Iterator[str]:
    """The kernels of one repetition by name, most expensive first."""
    gathered: dict[str, list[Mapping[str, Any]]] = {}
    for slot in row["kernels"]:
        gathered.setdefault(slot["signature"] or slot["name"], []).append(slot)
    costs = sorted(((sum(slot["mean_ns"] for slot in slots), name) for name, slots in gathered.items()), reverse=True)
    shown = costs[: limit or None]
    rows = []
    for together, name in shown:
        slots = gathered[name]
        share = sum(slot["share"] for slot in slots)
        cells = (str(len(slots)), format_ns(round(together / len(slots))), format_ns(round(together)), f"{share:.1%}")
        rows.append((_clipped(name, ui), *cells))
    if rows:
        yield ""
        all_of_them = len(shown) == len(costs)
        yield f"kernels of {clean(row['name'])}" + (
            "" if all_of_them else f", the {len(shown)} most expensive of {len(costs)}"
        )
        yield from table(ui.out, _KERNELS, rows, indent=2)


def _modules(row: Mapping[str, Any], ui: UI, limit: int) -> Iterator[str]:
    """The time of one repetition by module, in the order of the first kernel, where the trace says them."""
    gathered: dict[str, list[Mapping[str, Any]]] = {}
    for slot in row["kernels"]:  # those of all layers together
        gathered.setdefault(re.sub(r"\[\d+\](?= /)", "", slot.get("module", "")), []).append(slot)
    if set(gathered) <= {""}:
        return
    around = _common([module.split(" / ") for module in gathered if module])
    costs = sorted(gathered.items(), key=lambda item: -sum(slot["mean_ns"] for slot in item[1]))
    kept = {module for module, _ in costs[: limit or None]}
    rows = []
    for module, slots in gathered.items():
        if module in kept:
            together, share = sum(slot["mean_ns"] for slot in slots), sum(slot["share"] for slot in slots)
            name = " / ".join(module.split(" / ")[len(around) :]) if module else "not known"
            cells = (str(len(slots)), format_ns(round(together)), f"{share:.1%}")
            rows.append((_clipped(clean(name) or "itself", ui), *cells))
    yield ""
    inside = f" in {clean(' / '.join(around))}" if around else ""
    more = "" if len(rows) == len(gathered) else f", the {len(rows)} most expensive of {len(gathered)}"
    yield f"modules of {clean(row['name'])}{inside}{more}"
    yield from table(ui.out, _MODULES, rows, indent=2)


def _common(paths: Sequence[list[str]]) -> list[str]:
    """The beginning that all paths have in common."""
    first, last = min(paths), max(paths)
    n = 0
    while n < min(len(first), len(last)) and first[n] == last[n]:
        n += 1
    return first[:n]


def _class(document: Mapping[str, Any], id: str) -> Mapping[str, Any] | None:
    return next((row for _, row in _by_level(document) if row["id"] == id), None)


def _phases(document: Mapping[str, Any]) -> Iterator[str]:
    """Why the steps bear the phases that they bear, and what else they may be."""
    rows = [row for level, row in _by_level(document) if level == "step" and row["phase_readings"]]
    if rows:
        yield ""
    for row in rows[:4]:
        readings = [f"{one['phase']} {one['score']:.2f}" for one in row["phase_readings"]]
        if row["phase"] == "unknown":
            said = f"may be {' or '.join(readings)}"
        elif len(readings) > 1:
            said = f"is {readings[0]}, or {' or '.join(readings[1:])}"
        else:
            said = f"is {row['phase']}"
        yield f"  {clean(row['name'])} {said}: {clean(row['phase_reason'])}"


def _order(document: Mapping[str, Any]) -> Iterator[str]:
    """The steps of the first device as runs of classes."""
    steps = document["steps"]
    if len({row["id"] for level, row in _by_level(document) if level == "step"}) < 2 or not steps:
        return
    names = {row["id"]: row["name"] for _, row in _by_level(document)}
    first = [row for row in steps if (row["rank"], row["device"]) == (steps[0]["rank"], steps[0]["device"])]
    runs = [
        (names.get(id, "other"), len(list(group))) for id, group in itertools.groupby(first, lambda row: row["class"])
    ]
    shown = ", ".join(f"{count} x {clean(name)}" for name, count in runs[:8])
    more = f", and {plural(len(runs) - 8, 'run')} more" if len(runs) > 8 else ""
    yield f"  in order: {shown}{more}"


def _odd(document: Mapping[str, Any], ui: UI) -> Iterator[str]:
    """Repetitions that took much longer than the others, by the time that they cost, and runs that changed on the way."""
    found = []
    for _, row in _by_level(document):
        for one in row["outliers"]:
            cause = "the time between kernels" if one["slot"] < 0 else one["slot_name"]
            text = (
                f"repetition {format_count(one['repetition'])} of {clean(row['name'])} took {format_ns(one['wall_ns'])} "
                f"(median {format_ns(one['median_ns'])}), most of it {clean(_clipped(cause, ui))}"
            )
            found.append((abs(one["wall_ns"] - one["median_ns"]), text))
        if row["drift"]:
            change = abs(row["drift"]["after_ns"] - row["drift"]["before_ns"]) * row["count"]
            found.append((change, f"{clean(row['name'])}: {clean(row['drift']['description'])}"))
    found.sort(key=lambda one: -one[0])
    limit = len(found) if ui.verbose else 3
    if found:
        yield ""
    yield from (f"outlier: {text}" for _, text in found[:limit])
    if len(found) > limit:
        yield ui.out.style(f"     {format_count(len(found) - limit)} more with -v", "dim")


def _foot(document: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    used = [
        f"{row['kind']} ({row['use']})" for row in document["evidence"] if row["use"] not in ("ignored", "not used")
    ]
    yield f"{100 * document['coverage']:.1f} % of the kernels repeat; confidence {document['confidence']:.2f}; " + (
        f"from {', '.join(used)}" if used else "from the order of kernels alone"
    )
    slowest = Counter({row["rank"]: row["slowest"] for row in document["rank_totals"]}).most_common(1)
    if slowest and document["rank_steps"]:
        rank, times = slowest[0]
        yield f"rank {rank} is the slowest in {times} of {len(document['rank_steps'])} steps"


def _text_of_comparison(comparison: CycleComparison, ui: UI, kernels: int) -> Iterator[str]:
    document = comparison.document
    yield ui.out.style(clean(comparison.verdict), "bold")
    for letter in "ab":
        side = document[letter]
        steps = f", {plural(side['steps'], 'step')}" if side["steps"] else ""
        kernels_there = plural(side["input"]["kernels"], "kernel")
        yield f"  {letter.upper()}  {clean(shown_path(Path(side['input']['path'])))}  {kernels_there}{steps}"
    yield from _gates(document, ui)
    rows = [_pair_row(pair) for pair in document["pairs"]]
    if rows:
        yield ""
        yield from table(ui.out, _PAIRS, rows, indent=2)
    yield from _account(document["account"], ui)
    for title, costs in (("costs time", comparison.regressions), ("saves time", comparison.improvements)):
        if costs:
            shown: Sequence[Mapping[str, Any]] = costs[: kernels or None]
            yield ""
            yield title if len(shown) == len(costs) else f"{title} ({len(shown)} of {len(costs)})"
            lines = [_cost_row(cost, ui) for cost in shown]
            if left := costs[len(shown) :]:
                together = sum(cost["step_ns"] for cost in left)
                lines.append((format_ns(round(together), sign=True), "", "", f"{len(left)} more together"))
            yield from table(ui.out, _COSTS, lines, indent=2)
    for letter, key in (("A", "only_a"), ("B", "only_b")):
        for brief in document[key]:
            size = f"{plural(brief['period'], 'kernel')} x {format_count(brief['count'])}"
            yield f"only in {letter}: {clean(brief['name'])} ({size})"


def _gates(document: Mapping[str, Any], ui: UI) -> Iterator[str]:
    """How the runs stand against ``--fail-on``."""
    if document.get("gate") is None:
        return
    yield ""
    for row in document["gate"]["gates"]:
        yield f"  {row['outcome']}: {clean(row['gate'])}: {clean(_clipped_why(row['why'], ui))}"


def _clipped_why(why: str, ui: UI) -> str:
    return why if ui.verbose or len(why) <= 2 * _NAME else why[: 2 * _NAME - 2] + ".."


def _account(account: Mapping[str, Any], ui: UI) -> Iterator[str]:
    """Where the difference of a step went: parts that add up to the nanosecond."""
    if not account["parts"]:
        return
    times = f"{_exact(account['a_ns'])} -> {_exact(account['b_ns'])}"
    yield ""
    yield f"a {account['of']}: {times}, {_exact(account['delta_ns'], sign=True)}, of which"
    rows = [
        (_exact(part["delta_ns"], sign=True), part["text"], format_count(part["rows"]) if part["rows"] else "")
        for part in account["parts"]
    ]
    yield from table(ui.out, _ACCOUNT, rows, indent=2)


def _exact(ns: int, *, sign: bool = False) -> str:
    """A time in microseconds with all its nanoseconds."""
    return f"{ns / 1000:{'+' if sign else ''},.3f} us"


def _pair_row(pair: Mapping[str, Any]) -> tuple[str, ...]:
    wall = pair["wall"]
    return (
        pair["level"],
        pair["a"]["name"],
        pair["b"]["name"],
        format_ns(round(wall["a_ns"])),
        format_ns(round(wall["b_ns"])),
        f"{wall['relative']:+.1%}",
        wall["verdict"],
    )


def _cost_row(cost: Mapping[str, Any], ui: UI) -> tuple[str, ...]:
    return (
        format_ns(round(cost["step_ns"]), sign=True),
        f"{cost['relative']:+.1%}" if cost["relative"] else "",
        cost["class"],
        _clipped(cost["what"], ui) + (f" in {clean(cost['module'])}" if cost.get("module") else ""),
    )


COMMAND = Command(
    name="cycles",
    run=run,
    examples=(
        ("prlx cycles trace.json.gz", "phases, steps, layers, what they cost"),
        ("prlx cycles trace.json.gz --html cycles.html", "the same in a browser, with the time line"),
        ("prlx cycles rank*.json.gz", "all ranks of one run: who is the slowest"),
        ("prlx cycles compare before.json.gz after.json.gz", "what changed, the most expensive first"),
        ("prlx cycles trace.json.gz --overlay steps.trace.json", "tracks of steps and layers for Perfetto"),
    ),
    positionals=(
        Positional(
            "TRACE", "a Chrome / Kineto or XSpace trace, or one per rank; or: compare A B", "some", verbs=("compare",)
        ),
    ),
    options=(
        Option(("--ignore-annotations",), "find everything from the kernels alone", takes="switch"),
        Option(("--keys",), "which kernels count as equal", choices=("auto", "strict", "loose")),
        Option(("--streams",), "each stream, or all of a device merged", choices=("auto", "each", "merged")),
        Option(("--rules",), "signature rules of your own, TOML", takes="path", metavar="FILE"),
        Option(
            ("--phase-mode",),
            "the phase whose kernels the list and the CSV show",
            choices=("auto", "prefill", "decode"),
        ),
        Option(
            ("--edit-percent",),
            "percent of kernels that may differ; default 5",
            takes="number",
            metavar="N",
            brief=True,
        ),
        Option(("--max-levels",), "at most so many levels, 1 to 4", takes="whole", metavar="N", brief=True),
        Option(("--kernels", "-n"), "kernels and costs to show; default 8, 0 for all", takes="number", metavar="N"),
        Option(("--alpha",), "compare: chance of a false change in a class; 0.01", metavar="SHARE", brief=True),
        Option(("--min-change",), "compare: the smallest change worth a word; 3%", metavar="SHARE", brief=True),
        Option(("--similarity",), "compare: least share of kernels in common; 0.5", metavar="SHARE", brief=True),
        Option(
            ("--baseline",),
            "compare: another run equal to A; again for more",
            takes="paths",
            metavar="TRACE",
            brief=True,
        ),
        Option(("--fail-on",), "compare: a gate: step>3%, kernel:flash*>5%, added", takes="texts", metavar="GATE"),
        Option(("--html",), "write a report for a browser", takes="path", metavar="FILE"),
        Option(("--markdown",), "write Markdown", takes="path", metavar="FILE"),
        Option(("--junit",), "compare: write JUnit, a case a gate", takes="path", metavar="FILE", brief=True),
        Option(("--github",), "compare: write annotations, - for stdout", takes="path", metavar="FILE", brief=True),
        Option(("--csv",), "write the table that uplifter, an earlier tool, writes", takes="path", metavar="FILE"),
        Option(("--xlsx",), "the same as a spreadsheet (needs XlsxWriter)", takes="path", metavar="FILE"),
        Option(("--overlay",), "write a track of steps and layers, .trace.json", takes="path", metavar="FILE"),
        Option(("--compat",), "find cycles as uplifter, an earlier tool, does", takes="switch"),
        Option(("--compat-parameter",), "one of its parameters, changed: NAME=NUMBER", "texts", "P", brief=True),
        options.OVERWRITE,
        replace(options.SKIP_UNREADABLE, brief=True),
        replace(options.SALVAGE, brief=True),
        Option(("--modules",), "say to which module and operator kernels belong", takes="switch"),
        options.WORKERS,
        options.MEMORY_LIMIT,
        options.JSON,
    ),
    notes=(
        "exit code 0: what repeats explains the run; with compare: the runs are the same. 1: they differ.",
        "with --fail-on: 1 where a gate is crossed, 0 where none is and the evidence says so.",
        "exit code 5: not enough evidence: nothing repeats, few repetitions, a cut trace, a rank left out.",
    ),
)
