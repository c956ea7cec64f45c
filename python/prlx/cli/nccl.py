"""``prlx nccl``: the recorder of NCCL's events, where their time went, and what holds a job up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import PrlxError, UsageError
from .._units import format_bytes, format_count, format_ns
from . import _options as options
from ._command import Command, Option, Positional
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._nccl import NcclDiagnosis, NcclReport
    from ._ui import UI

VERBS = ("plugin", "report", "diagnose")
FAILED = 1
INCONCLUSIVE = 5
_LONGEST = 254  # characters of a path that NCCL 2.26 and later keep
_SHOWN = 12
_STUCK = (
    Column("operation", shrinks=True),
    Column("rank"),
    Column("state"),
    Column("stage"),
    Column("with"),
    Column("channel", right=True),
    Column("NIC", right=True),
    Column("steps", right=True),
    Column("for", right=True),
)
_PARTS = ("launch", "scheduling", "waiting", "kernel", "proxy", "credit", "network", "flush")
_RANKS = (
    Column("rank"),
    Column("host", shrinks=True),
    Column("operations", right=True),
    Column("last", right=True),
    *(Column(part, right=True) for part in _PARTS),
)
_OPERATIONS = (
    Column("operation", shrinks=True),
    Column("size", right=True),
    Column("how", shrinks=True),
    Column("times", right=True),
    Column("median", right=True),
    Column("p99", right=True),
    Column("waiting", right=True),
    Column("last most often"),
)
_LINKS = (
    Column("from"),
    Column("to"),
    Column("channel", right=True),
    Column("NIC", right=True),
    Column("bytes", right=True),
    Column("while sending", right=True),
    Column("of usual", right=True),
)


def run(values: argparse.Namespace, ui: UI) -> int:
    """Name the plug-in, say where time went, or name the culprit: exit code 1 where there is one, 5 when nothing tells."""
    if values.verb == "plugin":
        if values.dir:
            raise UsageError("prlx nccl plugin takes no directory", hint="prlx nccl diagnose DIR reads recordings")
        return _plugin(values, ui)
    for flag in ("path", "rccl"):
        if getattr(values, flag):
            raise UsageError(f"--{flag} is of prlx nccl plugin")
    if not values.dir:
        raise UsageError(
            "no recordings of NCCL events given",
            hint=f"prlx nccl {values.verb} DIR, the folder that PRLX_NCCL_DIR named",
        )
    return _report(values, ui) if values.verb == "report" else _diagnose(values, ui)


def _asked(values: argparse.Namespace) -> dict[str, Any]:
    from .. import _nccl

    return _nccl.request(
        values.dir,
        probes=values.probes,
        limit=values.limit,
        workers=values.workers,
        memory_limit=values.memory_limit,
    )


def _diagnose(values: argparse.Namespace, ui: UI) -> int:
    from .. import _nccl

    found = _nccl.run_diagnosis(_asked(values) | {"stall_after": values.stall_after}, progress=ui.progress)
    if ui.json:
        ui.emit(found.document)
    elif not ui.quiet:
        ui.show(_render_diagnosis(found, ui))
    for text in (*found.advice, *found.notes):
        ui.say(clean(text))
    for text in found.warnings:
        ui.warn(clean(text))
    return {"culprit": FAILED, "inconclusive": INCONCLUSIVE}.get(found.status, 0)


def _render_diagnosis(found: NcclDiagnosis, ui: UI) -> Iterator[str]:
    yield ui.out.style(clean(found.verdict), {"culprit": "red", "nothing": "green"}.get(found.status, "yellow"), "bold")
    if found.findings:
        for text in found.findings[0].document["detail"]:
            yield f"  {clean(text)}"
    for other in found.findings[1 : _SHOWN if not ui.verbose else None]:
        yield f"{'' if other.certain else 'perhaps: '}{clean(other.sentence)}"
    rows = [_stuck(row) for row in found.stuck]
    if rows:
        yield ""
        shown = rows if ui.verbose else rows[:_SHOWN]
        yield from table(ui.out, _STUCK, shown)
        if len(shown) < len(rows):
            yield f"{len(rows) - len(shown)} more; -v shows all"


def _stuck(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['operation']} #{row['sequence']} of {row['communicator']}",
        row["rank"],
        row["state"],
        row["stage"],
        f"{'to' if row['direction'] == 'send' else 'from'} {row['peer']}" if row["peer"] else "",
        str(row["channel"]) if row["channel"] >= 0 else "",
        str(row["nic"]) if row["nic"] >= 0 else "",
        f"{row['steps']} of {row['of']}" if row["of"] else "",
        format_ns(row["since_ns"]),
    )


def _report(values: argparse.Namespace, ui: UI) -> int:
    from .. import _nccl

    if values.stall_after is not None:
        raise UsageError("--stall-after is of prlx nccl diagnose")
    found = _nccl.run_report(_asked(values), progress=ui.progress)
    if ui.json:
        ui.emit(found.document)
    elif not ui.quiet:
        ui.show(_render_report(found, ui))
    for text in found.document["notes"]:
        ui.say(clean(text))
    for text in found.warnings:
        ui.warn(clean(text))
    return 0


def _render_report(found: NcclReport, ui: UI) -> Iterator[str]:
    yield ui.out.style(clean(found.verdict), "bold")
    yield f"stragglers: {clean(found.document['stragglers'])}"
    ranks = [
        (
            row["id"],
            row["host"],
            format_count(row["operations"]),
            format_count(row["last"]) if row["last"] else "",
            *(format_ns(row["time"][f"{part}_ns"]) if row["divided"] else "" for part in _PARTS),
        )
        for row in found.ranks
    ]
    operations = [
        (
            f"{row['communicator']} {row['operation']}",
            format_bytes(row["bytes"]) if row["bytes"] else "",
            " ".join(text for text in (row["algorithm"], row["protocol"]) if text),
            format_count(row["count"]),
            format_ns(row["median_ns"]) if row["divided"] else "",
            format_ns(row["p99_ns"]) if row["divided"] else "",
            format_ns(row["time"]["waiting_ns"]) if row["divided"] else "",
            f"{row['last']} ({row['last_times']})" if row["last"] else "",
        )
        for row in found.operations
    ]
    links = [
        (
            row["from"],
            row["to"],
            str(row["channel"]),
            str(row["nic"]) if row["nic"] >= 0 else "",
            format_bytes(row["bytes"]),
            f"{row['bytes_per_s'] / 1e9:.3g} GB/s",
            f"{row['times']:.2f} x" if row["times"] else "",
        )
        for row in found.links
    ]
    for columns, rows in ((_RANKS, ranks), (_OPERATIONS, operations), (_LINKS, links)):
        if rows:
            shown = rows if ui.verbose else rows[:_SHOWN]
            yield ""
            yield from table(ui.out, columns, shown)
            if len(shown) < len(rows):
                yield f"{len(rows) - len(shown)} more; -v shows all"


def _plugin(values: argparse.Namespace, ui: UI) -> int:
    """Print where the plug-in lies, or how a job loads it."""
    name = "librccl-profiler-prlx.so" if values.rccl else "libnccl-profiler-prlx.so"
    library = Path(__file__).resolve().parents[1] / name
    if not library.is_file():
        raise PrlxError(f"{library} is not there", hint="install prlx again: its wheel has the plug-in")
    if len(str(library)) > _LONGEST:
        ui.warn(
            f"NCCL cuts the path after {_LONGEST} characters, this one has {len(str(library))}: install prlx elsewhere"
        )
    if values.path:
        ui.out.line(str(library))
        return 0
    variable = f"NCCL_PROFILER_PLUGIN={library}"
    ui.out.line("One line, for every process of the job:")
    ui.out.line(f"  SLURM       export {variable}  (in the batch script, above srun)")
    ui.out.line(f"  torchrun    {variable} torchrun ...")
    ui.out.line(f"  Kubernetes  env: [{{name: NCCL_PROFILER_PLUGIN, value: {library}}}]")
    return 0


COMMAND = Command(
    name="nccl",
    run=run,
    examples=(
        ("prlx nccl plugin", "the line that makes a job record"),
        ("prlx nccl plugin --path", "the path alone, for scripts"),
        ("prlx nccl diagnose recordings/", "what holds the job up, while it runs or after"),
        ("prlx nccl report recordings/ --json", "where the time of all operations went"),
    ),
    positionals=(
        Positional("verb", "plugin: the library that NCCL loads; report and diagnose: what it recorded", "one", VERBS),
        Positional("DIR", "recordings of all ranks, or directories with them", "any"),
    ),
    options=(
        Option(("--path",), "print the path of the library alone", takes="switch"),
        Option(("--rccl",), "the library under the name that RCCL looks for", takes="switch"),
        Option(("--stall-after",), "seconds without progress that count as stalled; 5", takes="seconds", metavar="S"),
        Option(
            ("--limit",), "findings, or operations with all their ranks, in the document", takes="whole", metavar="N"
        ),
        Option(("--probes",), "stamps of prlx probe, which relate the clocks of hosts", takes="paths", metavar="FILE"),
        options.WORKERS,
        options.MEMORY_LIMIT,
        options.JSON,
    ),
    notes=(
        "exit code 1: diagnose names a culprit; 5: something may be wrong, and nothing that was recorded tells.",
        "PRLX_NCCL_DIR, _LEVEL, _MAX_BYTES, _DUTY: where files are made, and what is recorded in them.",
    ),
)
