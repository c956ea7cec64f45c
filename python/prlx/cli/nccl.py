"""``prlx nccl``: the recorder of NCCL's events, and what its recordings tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .._errors import PrlxError, UsageError
from . import _options as options
from ._command import Command, Option, Positional

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ._ui import UI

_LONGEST = 254  # characters of a path that NCCL 2.26 and later keep


def run(values: argparse.Namespace, ui: UI) -> int:
    """Do what the verb says; refuse what belongs to other verbs."""
    verb = _VERBS[values.verb]
    for name, value in vars(values).items():
        others = [other for other, it in _VERBS.items() if name in it.flags]
        if others and value not in (None, False, []) and values.verb not in others:
            raise UsageError(f"--{name.replace('_', '-')} is of prlx nccl {', '.join(others)}")
    if values.input and not verb.example:
        raise UsageError(f"prlx nccl {values.verb} takes no files")
    if verb.example and not values.input:
        raise UsageError(f"prlx nccl {values.verb} names no input", hint=verb.example)
    return verb.run(values, ui)


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
    ui.show(
        [
            "One line, for every process of the job:",
            f"  SLURM       export {variable}  (in the batch script, above srun)",
            f"  torchrun    {variable} torchrun ...",
            f"  Kubernetes  env: [{{name: NCCL_PROFILER_PLUGIN, value: {library}}}]",
        ]
    )
    return 0


def _report(values: argparse.Namespace, ui: UI) -> int:
    if values.compare:
        from . import _nccl_compare

        return _nccl_compare.compare(values, ui)
    from . import _nccl_analysis

    return _nccl_analysis.report(values, ui)


def _diagnose(values: argparse.Namespace, ui: UI) -> int:
    from . import _nccl_analysis

    return _nccl_analysis.diagnose(values, ui)


def _merge(values: argparse.Namespace, ui: UI) -> int:
    from . import _nccl_traces

    return _nccl_traces.merge(values, ui)


def _flight(values: argparse.Namespace, ui: UI) -> int:
    from . import _nccl_traces

    return _nccl_traces.flight(values, ui)


def _watch(values: argparse.Namespace, ui: UI) -> int:
    """Say when the job stops moving."""
    from . import _nccl_watch

    if values.output is not None:
        raise UsageError(
            "watch writes no trace", hint="--prometheus FILE writes metrics; prlx nccl merge writes a trace"
        )
    return _nccl_watch.watch(
        values.input,
        ui,
        interval_s=_nccl_watch.INTERVAL_S if values.interval is None else values.interval,
        stall_s=_nccl_watch.STALL_S if values.stall_after is None else values.stall_after,
        prometheus=values.prometheus,
        rounds=values.rounds,
        until_stall=values.until_stall,
    )


def _collect(values: argparse.Namespace, ui: UI) -> int:
    from . import _nccl_recordings

    return _nccl_recordings.collect(values, ui)


def _selftest(values: argparse.Namespace, ui: UI) -> int:
    from . import _nccl_recordings

    return _nccl_recordings.selftest(values, ui)


class _Verb(NamedTuple):
    run: Callable[[argparse.Namespace, UI], int]
    flags: tuple[str, ...]
    """What not every verb takes, by the names of arguments."""
    example: str
    """With its inputs; empty where it takes none."""


_VERBS = {
    "plugin": _Verb(_plugin, ("path", "rccl"), ""),
    "diagnose": _Verb(
        _diagnose,
        ("stall_after", "limit", "probes", "workers", "memory_limit", "json"),
        "prlx nccl diagnose DIR, the folder that PRLX_NCCL_DIR named",
    ),
    "report": _Verb(
        _report,
        ("compare", "html", "overwrite", "limit", "probes", "workers", "memory_limit", "json"),
        "prlx nccl report DIR, the folder that PRLX_NCCL_DIR named",
    ),
    "merge": _Verb(
        _merge,
        ("output", "format", "probes", "overwrite", "workers", "memory_limit", "json"),
        "prlx nccl merge DIR -o OUT.json",
    ),
    "watch": _Verb(
        _watch,
        ("interval", "stall_after", "prometheus", "until_stall", "rounds", "json"),
        "prlx nccl watch DIR, the folder that PRLX_NCCL_DIR names",
    ),
    "flight": _Verb(_flight, ("workers", "memory_limit", "json"), "prlx nccl flight DIR"),
    "collect": _Verb(_collect, ("output", "workers", "memory_limit", "json"), "prlx nccl collect DIR... -o OUT"),
    "selftest": _Verb(_selftest, ("output", "overwrite", "json"), ""),
}

COMMAND = Command(
    name="nccl",
    run=run,
    comparing=("report",),
    examples=(
        ("prlx nccl plugin", "the line that makes a job record"),
        ("prlx nccl plugin --path", "the path alone, for scripts"),
        ("prlx nccl diagnose recordings/", "what holds the job up, while it runs or after"),
        ("prlx nccl report recordings/ --html nccl.html", "where the time of all operations went"),
        ("prlx nccl compare before after", "which part of it grew, and for whom"),
        ("prlx nccl merge recordings -o job.json", "all ranks as one trace for Perfetto"),
        ("prlx nccl watch recordings --until-stall", "while the job runs: ends when it stops moving"),
        ("prlx nccl collect node0 node1 -o job42", "recordings of many folders into one"),
        ("prlx nccl selftest", "does the plug-in work here? one file to send"),
        ("prlx nccl flight dumps", "dumps of PyTorch's Flight Recorder: who was missing"),
    ),
    positionals=(
        Positional("verb", "what to do, as above", count="one", choices=tuple(_VERBS)),
        Positional("input", "recordings, or directories of them; with flight dumps", count="any"),
    ),
    options=(
        Option(("--path",), "plugin: print the path of the library alone", takes="switch"),
        Option(("--rccl",), "plugin: the library under the name that RCCL looks for", takes="switch", brief=True),
        Option(
            ("--output", "-o"),
            "merge: .json or .xplane.pb; collect: a folder or .tar.zst; selftest: the document",
            takes="path",
            metavar="OUT",
        ),
        Option(
            ("--format",),
            "merge: the format, where the ending of OUT does not say it",
            choices=("chrome", "xplane"),
            brief=True,
        ),
        Option(("--html",), "report: a page with who waited for whom, links, operations", takes="path", metavar="FILE"),
        Option(("--compare",), "report: two runs, part by part; exit code 1: the second is slower", takes="switch"),
        Option(("--probes",), "stamps of prlx probe, which relate the clocks of hosts", takes="paths", metavar="FILE"),
        Option(
            ("--limit", "-n"),
            "findings, or operations with all their ranks, in the document",
            takes="whole",
            metavar="N",
            brief=True,
        ),
        Option(
            ("--interval",),
            "watch: seconds between two looks; default: 3",
            takes="seconds",
            metavar="SECONDS",
            brief=True,
        ),
        Option(
            ("--stall-after",),
            "diagnose, watch: seconds without progress after which an operation counts as stalled; default: 5",
            takes="seconds",
            metavar="SECONDS",
        ),
        Option(
            ("--prometheus",),
            "watch: metrics for Prometheus, into a file that is replaced as a whole, or on a port of this machine",
            metavar="FILE|PORT",
            brief=True,
        ),
        Option(("--until-stall",), "watch: end with exit code 1 when the job stops moving", takes="switch"),
        Option(("--rounds",), "watch: end after so many looks", takes="whole", metavar="N", brief=True),
        options.OVERWRITE,
        options.WORKERS,
        options.MEMORY_LIMIT,
        options.JSON,
    ),
    notes=(
        "PRLX_NCCL_DIR, _LEVEL, _MAX_BYTES, _DUTY, _CHAIN: where files are made, what is recorded.",
        "exit code 1: somebody is named; watch: the job stands still; collect: a file damaged or not brought.",
        "exit code 5: what is missing could have changed the answer: a rank, records of a damaged file.",
    ),
)
