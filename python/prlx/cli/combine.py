"""``prlx combine``: N traces, each on its own clock, become one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._errors import UsageError
from .._units import format_bytes, format_count, format_instant, format_ns, node_name, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import announce
from ._parser import given
from ._render import Column, clean, facts, table

if TYPE_CHECKING:
    import argparse

    from .._combine import CombinedTrace, NodeReport
    from .._combine_compare import AlignmentComparison
    from ._ui import UI


def run(values: argparse.Namespace, ui: UI) -> int:
    """Combine, print what was found for each node, name the output and the command that opens it; or compare two alignments."""
    from .. import _combine

    if values.compare:
        return _compare(values, ui)
    asked = _combine.request(values.input, **given(values, _combine.request))
    result = _combine.run(asked, progress=ui.progress)
    if ui.json:
        ui.emit({**result.document, "base": str(result.base)})
    else:
        ui.show(render(result, ui))
    announce(result, ui, report=values.report)
    return (
        result.conclusion.exit_code if asked["apply_alignment"] else 0
    )  # a merge that was asked for is judged by nobody


def _compare(values: argparse.Namespace, ui: UI) -> int:
    """Whether the clocks of two alignments agree."""
    from .. import _combine_compare, _config

    if len(values.input) != 2:
        raise UsageError(
            f"--compare takes two alignments, got {len(values.input)}",
            hint="prlx combine compare A/alignment.json B/alignment.json",
        )
    config = _config.load()
    for option in COMMAND.options:
        unsaid = config.get(option.setting).value if option.setting else None
        if option.name not in ("compare", "json") and getattr(values, option.name) != unsaid:
            flag = option.off or option.flags[0]
            raise UsageError(f"{flag} is for combining, and --compare reads what was combined", hint="leave one out")
    compared = _combine_compare.run(_combine_compare.request(*values.input))
    if ui.json:
        ui.emit(compared.document)
    else:
        ui.show(_compared(compared, ui))
    for warning in compared.warnings:
        ui.warn(clean(warning))
    return compared.conclusion.exit_code


_DIFFERENCES = (
    Column("node", shrinks=True),
    Column("A"),
    Column("B"),
    Column("apart p50", right=True),
    Column("max", right=True),
    Column("drift", right=True),
    Column("bound A", right=True),
    Column("bound B", right=True),
    Column("status"),
)


def _compared(compared: AlignmentComparison, ui: UI) -> Iterator[str]:
    """The comparison as text: a sentence, the nodes, where those that contradict each other do so most."""
    color = {"agree": "green", "contradict": "red"}.get(compared.status, "yellow")
    yield ui.out.style(clean(compared.verdict), color, "bold")
    yield f"all clocks are on that of {node_name(compared.reference)}"
    yield ""
    rows = [
        (
            node.id,
            node.method_a,
            node.method_b,
            "" if node.apart_p50_ns is None else format_ns(node.apart_p50_ns),
            "" if node.apart_max_ns is None else format_ns(node.apart_max_ns),
            "" if node.drift_ppm is None else f"{node.drift_ppm:+.2f} ppm",
            "" if node.bound_a_ns is None else format_ns(node.bound_a_ns),
            "" if node.bound_b_ns is None else format_ns(node.bound_b_ns),
            node.status,
        )
        for node in compared.nodes
    ]
    yield from table(ui.out, _DIFFERENCES, rows)
    for node in compared.nodes:
        if node.status == "contradict":
            worst = node.document["worst"]
            apart, allowed = format_ns(worst["by_ns"], sign=True), format_ns(worst["allowed_ns"])
            when = f"{node.document['disjoint']} of {plural(node.instants, 'instant')}"
            yield ""
            yield f"{node_name(node.id)}: B less A is {apart} at {format_instant(worst['at_ns'])}, where both allow {allowed};"
            yield f"  the intervals have nothing in common at {when}"
    for side, names in (("A", compared.document["only_a"]), ("B", compared.document["only_b"])):
        if names:
            yield f"only in {side}: {', '.join(map(clean, names))}"


_COLUMNS = (
    Column("node", shrinks=True),
    Column("host", shrinks=True),
    Column("rank", right=True),
    Column("method"),
    Column("offset", right=True),
    Column("drift", right=True),
    Column("bound p50", right=True),
    Column("max", right=True),
    Column("corrected by", right=True),
    Column("events", right=True),
    Column("in reach", right=True),
)


def render(result: CombinedTrace, ui: UI) -> Iterator[str]:
    """The result as text: a sentence, the nodes, the collectives, and in detail what was guessed."""
    color = {"aligned": "green", "degraded": "yellow", "unaligned": "red"}.get(result.status, "red")
    head, separator, said = clean(result.verdict).partition(": ")
    yield head + separator + ui.out.style(said, color, "bold")
    yield ""
    yield from table(ui.out, _COLUMNS, [_row(node, result.reference) for node in result.nodes])
    yield from _steps(result)
    yield from _devices(result, ui)
    yield from _collectives(result)
    yield from _repaired(result)
    yield from _explained(result, ui)
    if ui.verbose:
        yield from _counts(result, ui)


def _row(node: NodeReport, reference: str) -> tuple[str, ...]:
    is_reference = node.id == reference
    return (
        node.id,
        node.host,
        "" if node.rank is None else str(node.rank),
        "reference" if is_reference else node.method,
        "" if is_reference else format_ns(node.offset_ns, sign=True),
        "" if is_reference or node.drift_ppm is None else f"{node.drift_ppm:+.2f} ppm",
        "" if is_reference else format_ns(node.bound_p50_ns),
        "" if is_reference else format_ns(node.bound_max_ns),
        _correction(node),
        format_count(node.events),
        "" if node.coverage is None or not node.events else f"{100 * node.coverage:.1f} %",
    )


def _correction(node: NodeReport) -> str:
    low, high = node.min_correction_ns, node.max_correction_ns
    if low is None or high is None:
        return "-"
    if low == high:
        return format_ns(low, sign=True) if low else "0"
    return f"{format_ns(low, sign=True)} .. {format_ns(high, sign=True)}"


def _steps(result: CombinedTrace) -> Iterator[str]:
    for node in result.nodes:
        for step in node.document.get("steps") or ():
            yield f"{node_name(node.id)}: {step_text(step)}"


_DEVICES = (
    Column("node", shrinks=True),
    Column("device", shrinks=True),
    Column("launches", right=True),
    Column("waits", right=True),
    Column("before launch", right=True),
    Column("after wait", right=True),
    Column("its clock", shrinks=True),
)


def _devices(result: CombinedTrace, ui: UI) -> Iterator[str]:
    """What launches and waits say of the clocks of devices, where that was asked for."""
    rows = [
        (
            node.id,
            device["process"],
            format_count(device["launches"]),
            format_count(device["waits"]),
            _changed(device, "before_launch"),
            _changed(device, "after_wait"),
            _device_clock(device),
        )
        for node in result.nodes
        for device in node.document.get("device_clocks") or ()
    ]
    if rows:
        yield ""
        yield from table(ui.out, _DEVICES, rows)


def _changed(device: Mapping[str, Any], key: str) -> str:
    before, after = device["before"][key], device["after"][key]
    return f"{before} -> {after}" if device["corrected"] else str(before)


def _device_clock(device: Mapping[str, Any]) -> str:
    if device["offset_ns"] is None:
        return str(device["said"])
    said = f"{format_ns(device['offset_ns'], sign=True)} ± {format_ns(device['bound_ns']['p50'])}"
    return said + (", corrected" if device["corrected"] else "")


def step_text(step: Mapping[str, int]) -> str:
    """A jump of a clock in words: how far, when, and within which interval it was found."""
    width = format_ns(step["to_ns"] - step["from_ns"])
    return (
        f"its clock jumped {format_ns(step['size_ns'], sign=True)} at {format_instant(step['from_ns'])}, within {width}"
    )


def _collectives(result: CombinedTrace) -> Iterator[str]:
    found = result.collectives
    if not found:
        return
    yield ""
    if not found.get("groups"):
        yield f"collectives  none could be judged, {found.get('unmatched', 0)} unmatched"
        return
    yield f"collectives  {plural(found['groups'], 'group')}, {found.get('unmatched', 0)} unmatched"
    for when in ("before", "after"):
        counts = found.get(when)
        if counts:
            said = f"{counts.get('violated', 0)} impossible, {counts.get('consistent', 0)} consistent"
            yield f"  {when:<6}  {said}, {counts.get('undecidable', 0)} undecidable"
    if "passed" in found and found["passed"] is None:
        yield "  none of them could be judged"


def _repaired(result: CombinedTrace) -> Iterator[str]:
    """By how much clocks were moved within their bounds, and what that could not repair."""
    found = result.document.get("repaired")
    if not found:
        return
    yield ""
    yield f"repaired  {found['inverted_before']} orders were impossible, {found['inverted_after']} are left"
    for moved in found["moved"]:
        may = format_ns(moved["may_ns"])
        yield f"  {node_name(moved['node'])} moved by {format_ns(moved['by_ns'], sign=True)}, of {may} that its bound allows"
    for left in found["left"]:
        early = format_ns(left["by_ns"])
        yield f"  {left['key']} ({left['occurrence']}): {left['left']} left {early} before {left['entered']} entered"


_TIGHT = (
    Column("collective", shrinks=True),
    Column("occurrence", right=True),
    Column("entered", shrinks=True),
    Column("left", shrinks=True),
    Column("room", right=True),
)


def _explained(result: CombinedTrace, ui: UI) -> Iterator[str]:
    """What the clock of a node rests on: its sources, the tightest collectives either way, the ends of collectives."""
    found = result.document.get("explained")
    if not found:
        return
    node = next(node for node in result.nodes if node.id == found["node"])
    yield ""
    rests = ", ".join(_rest(rest) for rest in node.document.get("rests_on") or ())
    yield f"{node_name(node.id)} rests on {rests or 'nothing: it is the reference, or nothing relates it'}"
    for key, said in (("at_most", "ahead"), ("at_least", "behind")):
        if found[key]:
            yield ""
            yield f"it cannot be further {said} than these leave room for"
            rows = [
                (row["key"], str(row["occurrence"]), row["entered"], row["left"], format_ns(row["room_ns"]))
                for row in found[key]
            ]
            yield from table(ui.out, _TIGHT, rows)
    ends = found["ends"]
    if ends["executions"]:
        yield ""
        p50, p99 = format_ns(ends["p50_ns"]), format_ns(ends["p99_ns"])
        yield f"it left {plural(ends['executions'], 'collective')} {p50} from the others in the median, {p99} at p99"


def _rest(rest: Mapping[str, Any]) -> str:
    """A source of a node's clock in words, with its bound where it has one."""
    said = f"host clock of {node_name(rest['of'])}" if rest["of"] else str(rest["source"])
    if rest["bound_ns"]:
        said += f" ±{format_ns(rest['bound_ns'])}"
    if rest["as_recorded"]:
        said += " (agrees as recorded)"
    if rest["contradicts"]:
        said += f" (contradicts {rest['contradicts']}, not used)"
    return said


def _counts(result: CombinedTrace, ui: UI) -> Iterator[str]:
    for node in result.nodes:
        yield ""
        yield node_name(node.id)
        pairs = [
            ("inputs", ", ".join(node.document.get("inputs") or ())),
            ("snapshots", format_count(node.document.get("snapshots"))),
            ("rests on", ", ".join(_rest(rest) for rest in node.document.get("rests_on") or ())),
            ("offset windows", format_count(node.document.get("offset_windows"))),
            ("events corrected", format_count(node.events_corrected)),
            ("clamped to keep order", format_count(node.events_clamped_monotonic)),
            ("beyond the snapshots", format_count(node.snapshot_extrapolations)),
            ("beyond the offsets", format_count(node.offset_extrapolations)),
            ("bound p99", format_ns(node.bound_p99_ns)),
        ]
        yield from facts(ui.out, [pair for pair in pairs if pair[1] != "-"], indent=2)
    yield ""
    for output in result.outputs:
        yield f"{output.path}  {output.format}, {format_bytes(output.bytes)}"


COMMAND = Command(
    name="combine",
    run=run,
    comparing=(),
    examples=(
        ("prlx combine node0/ node1/ --probes probes_*.jsonl -o run/", "aligned by network probes"),
        ("prlx combine 0=a.xplane.pb 1=b.xplane.pb --declared off.toml", "ids given, offsets known"),
        ("prlx combine rank*.json.gz -o all.json.gz --html all.html", "Kineto traces, one JSON"),
        ("prlx combine compare a/alignment.json b/alignment.json", "do their clocks agree"),
    ),
    positionals=(
        Positional("INPUT", "files, directories or globs; ID=PATH names a node; or: compare A B", verbs=("compare",)),
    ),
    options=(
        *options.of("combine"),
        Option(("--compare",), "as prlx combine compare A B", takes="switch", brief=True),
        options.JSON,
    ),
)
