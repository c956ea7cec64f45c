"""``prlx inspect``: what is in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _request
from .._origin import operations, text_of
from .._units import format_bytes, format_count, format_instant, format_ns, node_name, plural
from . import _options as options
from ._command import Command, Positional
from ._render import Column, clean, facts, table

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

_FORMATS = {
    "xspace": "XSpace",
    "chrome": "Chrome JSON",
    "snapshot-pairs": "snapshot pairs",
    "probe-windows": "probe windows",
    "probe-stamps": "raw probe stamps",
    "round-offsets": "round offsets",
    "declared-offsets": "declared offsets",
    "alignment": "alignment document",
    "prlx-v1": "kernel recording, format v1",
    "prlx-v2": "kernel recording, format v2",
    "session": "session of kernel recordings",
    "prlx-tape": "tape of training steps",
}
_ONE_BY_ONE = 8  # files that are shown whole; more become a table
_FILES = (
    Column("file", shrinks=True),
    Column("format"),
    Column("host", shrinks=True),
    Column("rank", right=True),
    Column("events", right=True),
    Column("begins", right=True),
    Column("lasts", right=True),
    Column("aligned"),
)
_PLANES = (
    Column("plane", shrinks=True),
    Column("id", right=True),
    Column("lines", right=True),
    Column("events", right=True),
    Column("aggregated", right=True),
    Column("begins", right=True),
    Column("lasts", right=True),
    Column("clock"),
)
_LINES = (
    Column("line", shrinks=True),
    Column("of plane", shrinks=True),
    Column("id", right=True),
    Column("events", right=True),
    Column("begins", right=True),
    Column("lasts", right=True),
    Column("clock"),
    Column("order"),
)
_CLOCKS = (Column("clock", shrinks=True), Column("readings", right=True), Column("lasts", right=True), Column("detail"))
_KERNELS = (Column("count", right=True), Column("total", right=True), Column("kernel", shrinks=True))
_COLLECTIVES = (Column("count", right=True), Column("collective", shrinks=True))


def run(values: argparse.Namespace, ui: UI) -> int:
    """Print what is in each file."""
    from .._timeline import inspect_files, left_out

    paths = [_request.absolute(path) for path in values.file]
    document = inspect_files(
        paths, skip_unreadable=bool(values.skip_unreadable), salvage=bool(values.salvage), progress=ui.progress
    )
    if ui.json:
        ui.emit(document)
        return 0
    for note in document.get("notes") or ():
        ui.say(clean(note))
    files = document["files"]
    if len(files) > _ONE_BY_ONE and not ui.verbose:
        ui.show(_overview(files, ui))
    else:
        for number, file in enumerate(files):
            if number:
                ui.show([""])
            ui.show(_render(file, ui, values.limit))
    for skipped in document.get("skipped") or ():
        ui.warn(clean(left_out(skipped)))
    return 0


def _overview(files: Sequence[Mapping[str, Any]], ui: UI) -> Iterator[str]:
    """Many files: a row each, and what they warn of, once."""
    events = sum(file.get("events") or 0 for file in files)
    size = format_bytes(sum(file.get("bytes") or 0 for file in files))
    yield f"{plural(len(files), 'file')}, {plural(events, 'event')}, {size}; -v shows each"
    yield ""
    starts = [file["start_ns"] for file in files if file.get("start_ns") is not None]
    folder = os.path.commonpath([Path(file["path"]).parent for file in files])
    first = min(starts, default=None)
    yield from table(ui.out, _FILES, [_file_row(file, folder, first) for file in files], indent=2)
    said: dict[str, list[str]] = {}
    for file in files:
        for kind in ("losses", "warnings"):
            for sentence in file.get(kind) or ():
                said.setdefault(sentence, []).append(os.path.relpath(file["path"], folder))
    if said:
        yield ""
        yield "  " + ui.out.style("losses and warnings", "yellow", "bold")
    for sentence, names in said.items():
        who = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        yield f"    {clean(who)}: {clean(sentence)}"


def _file_row(file: Mapping[str, Any], folder: str, first: int | None) -> tuple[str, ...]:
    start, end = file.get("start_ns"), file.get("end_ns")
    ranks = file.get("merged_ranks") or ([] if file.get("rank") is None else [str(file["rank"])])
    aligned = file.get("alignment")
    return (
        os.path.relpath(file["path"], folder),
        _FORMATS.get(file["format"], file["format"]),
        ", ".join(file.get("hosts") or ()),
        ", ".join(ranks),
        format_count(file.get("events")),
        "" if start is None else format_ns(start - (first or 0), sign=True),
        "" if start is None or end is None else format_ns(end - start),
        "" if aligned is None else "yes" if aligned["aligned"] else "no",
    )


def _render(file: Mapping[str, Any], ui: UI, limit: int) -> Iterator[str]:
    kind = _FORMATS.get(file["format"], file["format"])
    size = format_bytes(file.get("bytes"))
    if file.get("compression"):
        size += f" {file['compression']}, {format_bytes(file.get('decompressed_bytes'))} unpacked"
    yield f"{ui.out.style(clean(file['path']), 'bold')}  {kind}, {size}"
    yield from facts(
        ui.out, [*_facts(file), *_recording(file.get("recording"), ui), *_tape(file.get("tape"), ui)], indent=2
    )
    planes = file.get("planes") or ()
    start = file.get("start_ns")
    if len(planes) > limit and not ui.verbose:
        planes = sorted(planes, key=lambda plane: -plane.get("events", 0))
    yield from _section("planes", planes, limit, ui, _PLANES, [_plane_row(plane, start) for plane in planes])
    lines = [(plane, line) for plane in planes for line in plane.get("lines") or ()]
    lines.sort(key=lambda pair: -pair[1].get("events", 0))
    yield from _section("lines", lines, limit, ui, _LINES, [_line_row(plane, line, start) for plane, line in lines])
    clocks = file.get("clocks") or ()
    yield from _section("clocks", clocks, limit, ui, _CLOCKS, [_clock_row(clock) for clock in clocks])
    kernels = file.get("kernels") or ()
    rows = [
        (format_count(row.get("count")), format_ns(row["total_ns"]) if row.get("total_ns") else "", row["name"])
        for row in kernels
    ]
    yield from _section("kernels", kernels, limit, ui, _KERNELS, rows)
    collectives = file.get("collectives") or ()
    pairs = [(format_count(row.get("count")), row["name"]) for row in collectives]
    yield from _section("collectives", collectives, limit, ui, _COLLECTIVES, pairs)
    for kind, color in (("losses", "red"), ("warnings", "yellow")):
        found = file.get(kind) or ()
        if found:
            yield ""
            yield "  " + ui.out.style(kind, color, "bold")
            yield from (f"    {clean(sentence)}" for sentence in found)


def _facts(file: Mapping[str, Any]) -> list[tuple[str, str]]:
    planes = file.get("planes") or ()
    lines = sum(len(plane.get("lines") or ()) for plane in planes)
    start, end = file.get("start_ns"), file.get("end_ns")
    rank = file.get("rank")
    found = [
        ("host", ", ".join(file.get("hosts") or ())),
        ("ranks", _merged(file.get("merged_ranks") or ())),
        ("rank", "" if rank is None else f"{rank} of {file['world_size']}" if file.get("world_size") else str(rank)),
        ("backend", file.get("backend") or ""),
        ("nodes", ", ".join(str(node) for node in file.get("nodes") or ())),
        ("aligned", _alignment(file.get("alignment"))),
        ("begins", "" if start is None else format_instant(start)),
        ("lasts", "" if start is None or end is None else format_ns(end - start)),
    ]
    if file.get("events") is not None:
        inside = f" in {plural(len(planes), 'plane')}, {plural(lines, 'line')}" if planes else ""
        found.append(("events", format_count(file["events"]) + inside))
    counts = file.get("counts") or {}
    found.append(("counts", ", ".join(f"{name} {format_count(count)}" for name, count in counts.items())))
    return found


def _tape(tape: Mapping[str, Any] | None, ui: UI) -> list[tuple[str, str]]:
    """What is in a tape of training steps."""
    if tape is None:
        return []
    run, first, last = tape["run"], tape["first_step"], tape["last_step"]
    steps = format_count(tape["steps"]) + ("" if first is None else f", {first} to {last}")
    kept = f", the last {run['ring']} kept" if run["ring"] else ""
    made, carried = tape["first_maker"], tape["first_carrier"]
    skipped = ", ".join(f"{clean(why)} {format_count(count)}" for why, count in sorted(tape["skipped"].items()))
    found = [
        ("level", clean(run["level"]) + ("" if run["every"] == 1 else f", one step in {run['every']}") + kept),
        ("steps", steps),
        ("rank", f"{run['rank']} of {run['ranks']}" if run["ranks"] > 1 else ""),
        (
            "tensors",
            format_count(tape["tensors"])
            + (f", {format_count(tape['unread'])} not looked at" if tape["unread"] else ""),
        ),
        ("random", plural(tape["random"], "operator") if tape["random"] else ""),
        ("NaN, Inf", f"made by {plural(tape['not_finite'], 'operator')}" if tape["not_finite"] else "none"),
        ("first made", clean(made["text"]) if made else ""),
        ("carried", clean(carried["text"]) if carried and not made else ""),
        ("skipped", skipped),
    ]
    if ui.verbose:
        found += [(clean(fact["name"]), clean(fact["value"])) for fact in run["facts"]]
        found += [
            (
                clean(module["module"]) or "no module",
                f"{plural(module['operators'], 'operator')} {clean(module['class'])}",
            )
            for module in tape["modules"]
        ]
    return found


def _merged(ranks: Sequence[str]) -> str:
    """The ranks of a trace that another tool merged."""
    if not ranks:
        return ""
    return f"{len(ranks)}, merged by another tool: {', '.join(ranks[:8])}" + (", ..." if len(ranks) > 8 else "")


def _alignment(said: Mapping[str, Any] | None) -> str:
    """What a trace that prlx wrote says about its times."""
    if said is None:
        return ""
    by = f"prlx {said['prlx']}" if said["prlx"] else "prlx"
    if not said["aligned"]:
        return f"no: merged by {by}, each node on a clock of its own"
    bounds = [node["bound_ns"] for node in said["nodes"]]
    error = "error not known" if None in bounds else f"error up to {format_ns(max(bounds))}"
    clock = {"host": "host time", "tracer": "tracer lines on their own clock"}.get(said["timebase"], said["timebase"])
    names = ", ".join(node["id"] for node in said["nodes"][:8]) + (", ..." if len(said["nodes"]) > 8 else "")
    return f"by {by} to the clock of {node_name(said['reference'])}, {clock}; {error}; holds {names}"


def _outputs(outputs: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What a recording says of what its launch wrote."""
    if outputs is None:
        return []
    size = sum(array["bytes"] for array in outputs["arrays"])
    stores = plural(len(outputs["stores"]) + outputs["more_stores"], "store")
    if outputs["arrays_known"]:
        text = f"{size:,} bytes of {plural(len(outputs['arrays']), 'array')}, by {stores}"
    elif outputs["memory"]:
        held = plural(len(outputs["memory"]), "argument")
        text = f"sums of {stores}; digests of what the memory of {held} held after the launch"
    else:
        text = f"sums of {stores}; what is in the arrays, nobody looked at"
    if outputs["asked_bytes"]:
        text += f"; the contents of {outputs['kept_bytes']:,} are kept"
    found = outputs["findings"]
    more = f" and {outputs['more_findings']:,} more times" if outputs["more_findings"] else ""
    return [
        ("outputs", text),
        ("findings", f"{found:,}{more}" if found else "" if outputs["checked"] else "nobody checked"),
    ]


def _recording(recording: Mapping[str, Any] | None, ui: UI) -> list[tuple[str, str]]:
    """What a recording of a kernel says of itself."""
    if recording is None:
        return []
    h, losses = recording["header"], recording["losses"]
    slots = h["warp_slots"]
    warps = format_count(recording["warps"]) + (
        f" of {slots:,} recorded anything" if slots > recording["warps"] else ""
    )
    launch = f"{_times(h['grid'])} blocks of {_times(h['block'])} threads"
    if any(h["cluster"]):
        launch += f", clusters of {_times(h['cluster'])}"
    lost = f"{losses['dropped']:,} ({100 * losses['dropped_share']:.3g} %), in {plural(losses['warps_with_drops'], 'warp')}"
    sites = format_count(recording["sites"]) if recording["sites"] else "ids only; a prlx-sites.json names them"
    found = [
        ("kernel", h["kernel"] or "(no name)"),
        ("launch", launch + (f", number {h['launch']}" if h["launch"] else "")),
        ("machine", ", ".join(part for part in (h["arch"], f"{h['wave_size']} lanes per warp") if part)),
        ("computes", text_of(recording)),
        ("warps", warps),
        ("sites", sites + (f", named by {recording['site_map']}" if recording.get("site_map") else "")),
        ("mode", f"{h['mode']}, {h['means']}, keeps the {h['keep']}" if h["mode"] != "unknown" else ""),
        ("written", format_instant(h["timestamp_ns"]) if h["timestamp_ns"] else ""),
        *_outputs(recording.get("outputs")),
        ("lost", lost if losses["dropped"] else ""),
        ("sampled", f"one event in {losses['sample_rate']}" if losses["sample_rate"] > 1 else ""),
        ("by", h.get("producer") or ""),
    ]
    if ui.verbose:
        rings = [
            f"{h[key]} {name}" for key, name in (("history_depth", "values"), ("snapshot_depth", "snapshots")) if h[key]
        ]
        found += [
            ("capacity", f"{h['events_per_warp']:,} events per warp" if h["events_per_warp"] else "no limit"),
            ("rings", " and ".join(rings) + " per warp" if rings else ""),
            ("name hash", h["kernel_hash"]),
            ("module", h.get("module_hash") or ""),
            ("arguments", h.get("argument_digest") or ""),
        ]
        found += [
            (
                f"  {argument['name']}",
                " ".join(filter(None, (argument["type"], argument.get("value"), argument.get("digest")))),
            )
            for argument in h.get("arguments") or ()
        ]
        found += [(f"  {node}", " ".join(filter(None, rest))) for node, *rest in operations(recording)]
    return found


def _times(size: Sequence[int]) -> str:
    return "x".join(str(n) for n in size)


def _section(
    title: str, items: Sequence[Any], limit: int, ui: UI, columns: Sequence[Column], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """A table with its title; at most ``limit`` rows unless ``-v``."""
    if not items:
        return
    shown = rows if ui.verbose else rows[:limit]
    left = "" if len(shown) == len(rows) else f"  ({len(shown)} of {len(rows)}; -v shows all)"
    yield ""
    yield "  " + ui.out.style(title, "bold") + ui.out.style(left, "dim")
    yield from table(ui.out, columns, shown, indent=4)


def _plane_row(plane: Mapping[str, Any], start: int | None) -> tuple[str, ...]:
    lines = plane.get("lines") or ()
    begins = [line["first_ns"] for line in lines if line.get("first_ns") is not None and line.get("events")]
    ends = [line["last_ns"] for line in lines if line.get("last_ns") is not None and line.get("events")]
    clocks = sorted({line.get("clock") or "" for line in lines} - {""})
    aggregated = sum(line.get("aggregated") or 0 for line in lines)
    return (
        plane.get("name") or "(no name)",
        str(plane.get("id", "")),
        format_count(len(lines)) if lines else "",
        format_count(plane.get("events")),
        format_count(aggregated) if aggregated else "",
        _since(min(begins, default=None), start),
        format_ns(max(ends) - min(begins)) if begins and ends else "",
        ", ".join(clocks),
    )


def _line_row(plane: Mapping[str, Any], line: Mapping[str, Any], start: int | None) -> tuple[str, ...]:
    first, last = line.get("first_ns"), line.get("last_ns")
    return (
        line.get("display_name") or line.get("name") or "(no name)",
        plane.get("name") or "",
        str(line.get("id", "")),
        format_count(line.get("events")),
        _since(first, start) if line.get("events") else "",
        format_ns(last - first) if first is not None and last is not None and line.get("events") else "",
        line.get("clock") or "",
        "unsorted" if line.get("sorted") is False else "",
    )


def _since(instant: int | None, start: int | None) -> str:
    if instant is None:
        return ""
    return format_ns(instant - start, sign=True) if start is not None else format_instant(instant)


def _clock_row(clock: Mapping[str, Any]) -> tuple[str, ...]:
    first, last = clock.get("first_ns"), clock.get("last_ns")
    return (
        clock["name"],
        format_count(clock.get("readings")),
        format_ns(last - first) if first is not None and last is not None else "",
        clock.get("detail") or "",
    )


COMMAND = Command(
    name="inspect",
    run=run,
    examples=(
        ("prlx inspect node0.xplane.pb", "planes, lines, clocks, kernels"),
        ("prlx inspect trace.json.gz -v", "every line, not only the busiest"),
        ("prlx inspect probes_node0.jsonl offsets.jsonl", "clock files"),
        ("prlx inspect good.prlx", "kernel, launch, warps, sites, losses of a recording"),
        ("prlx inspect logdir/ --json | jq '.files[].hosts'", ""),
    ),
    positionals=(Positional("FILE", "files, directories or globs; - reads stdin"),),
    options=(
        replace(options.from_setting("inspect.limit", "rows of each table", metavar="N"), flags=("--limit", "-n")),
        options.SKIP_UNREADABLE,
        options.SALVAGE,
        options.JSON,
    ),
)
