"""``prlx diff``: where two recordings of a kernel first differ, and why."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _request
from .._errors import UsageError
from .._units import format_count, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._outputs import PARTIAL, shown_path
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._diff import Comparison, Diff
    from .._kernel_trace import KernelTrace
    from ._ui import UI

DIVERGED = 1
UNREADABLE = 3
NOT_COMPARABLE = 4
# The flags that write a report, and the format of each.
REPORTS = {
    "html": "html",
    "csv": "csv",
    "junit": "junit",
    "sarif": "sarif",
    "github": "github",
    "markdown": "markdown",
    "perfetto": "perfetto",
    "export_flamegraph": "chrome",
}
_CLUSTERS_OF_DETAIL = 100  # that -v shows
_COMPAT_ONLY = ("lookahead", "continue_after_path")
PERFETTO = "https://ui.perfetto.dev (Open trace file)"
_OPENERS = {"chrome": PERFETTO, "perfetto": PERFETTO}


def run(values: argparse.Namespace, ui: UI) -> int:
    """Compare, print, write the reports; exit code 1 when more differs than is allowed."""
    from .. import _compare

    _refuse(values)
    if values.dump_a is not None or values.dump_b is not None:
        return _dump(values, ui)
    if values.compat:
        return _compat(values, ui)
    request = request_of(values)
    for name in _COMPAT_ONLY:
        if getattr(values, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            ui.warn(f"{flag} has no effect: every warp is aligned to its end, with as few differences as possible; "
                    "with --compat it has its described meaning")  # fmt: skip
    diff = _compare.run(request, progress=ui.progress)
    show(diff, values, ui)
    return code(diff, strict=bool(values.strict))


def _refuse(values: argparse.Namespace) -> None:
    if values.tui:
        raise UsageError(
            "--tui is not part of prlx diff", hint="--html FILE writes a report for a browser, -v prints more"
        )
    if values.compat and (values.explain or values.baseline or values.baseline_b or values.accepted):
        raise UsageError("--compat reproduces the described document and takes neither --explain, --baseline nor --accepted",
                         hint="leave out --compat")  # fmt: skip


def request_of(values: argparse.Namespace) -> dict[str, Any]:
    """The request of the operation ``diff`` that the flags ask for."""
    from .. import _compare

    reported = outputs(values)
    limit = values.limit
    if limit is None:
        limit = _compare.LISTED if reported or values.json else 1
    clusters = 0 if reported or values.json else max(_CLUSTERS_OF_DETAIL, values.max_shown)
    request: dict[str, Any] = {
        "a": [_request.absolute(values.a)],
        "b": [_request.absolute(values.b)],
        "baseline": _request.paths(values.baseline),
        "baseline_b": _request.paths(values.baseline_b),
        **maps(values),
        **_compare.comparing(
            values=bool(values.values), tolerance=values.tolerance, nan=values.nan, ignore=values.ignore or ()
        ),
        **_compare.filters(warps=values.warps, kinds=values.filter_kind, sites=values.filter_sites),
        "ignore_active_mask": bool(values.ignore_active_mask),
        "force": bool(values.force),
        "cross_gpu": bool(values.cross_gpu),
        "strict_order": bool(values.strict_order),
        "float": bool(values.float),
        "explain": bool(values.explain),
        "require": required(values),
        "accepted": _request.absolute_or_none(values.accepted),
        "today": _compare.today(),
        "threshold": values.max_allowed_divergences or 0,
        "verify": _compare.verifying(values.verify),
        "rows": limit or -1,
        "clusters": clusters,
        "source_roots": _request.paths(values.source_root),
        "outputs": reported or None,
        "overwrite": bool(values.overwrite),
        "workers": values.workers,
        "memory_limit": values.memory_limit,
    }
    if values.session:
        check_sessions(request)
    return request


def required(values: argparse.Namespace) -> list[str] | None:
    """What ``--require``, or the setting, says must agree."""
    words = [part.strip() for part in (values.require or "").split(",")]
    return [word for word in words if word] or None


def check_sessions(request: Mapping[str, Any]) -> None:
    """Refuse ``--session`` for what is none."""
    for path in (request["a"][0], request["b"][0]):
        if not Path(path).is_dir():
            raise UsageError(
                "is not a directory, so it is no session", path=path, hint="leave out --session for recordings"
            )


def maps(values: argparse.Namespace) -> dict[str, Any]:
    """The site maps that the flags name; ``--remap-a`` and ``--remap-b`` name one for each side."""
    from .. import _compare

    remap_a, remap_b = getattr(values, "remap_a", None), getattr(values, "remap_b", None)
    if (remap_a is None) != (remap_b is None):
        raise UsageError("--remap-a and --remap-b belong together", hint="name the site map of either side")
    if remap_a is not None and values.map is not None:
        raise UsageError("--map and --remap-a both name the site map of A", hint="leave out --map")
    return _compare.site_maps(values.map or remap_a, remap_b)


def outputs(values: argparse.Namespace) -> list[dict[str, str]]:
    """The reports that the flags ask for."""
    named = [(format, getattr(values, name)) for name, format in REPORTS.items() if getattr(values, name) is not None]
    if sum(path == "-" for _, path in named) + bool(values.json) > 1:
        raise UsageError("only one thing can go to stdout", hint="name a file instead of -")
    return [{"format": format, "path": _request.absolute(path)} for format, path in named]


def show(diff: Comparison, values: argparse.Namespace, ui: UI) -> None:
    """Print the comparison, then what was written and what to do next."""
    document = dict(diff.document)
    written = document.pop("written", None) or []
    on_stdout = document.pop("rendered", None)
    document.pop("notes", None)
    if ui.json:
        ui.emit(document)
    elif on_stdout is not None:
        sys.stdout.write(on_stdout)
    elif not ui.quiet:
        ui.show(_render(diff, values, ui))
    for note in diff.notes:
        ui.say(clean(note))
    for warning in diff.warnings:
        ui.warn(clean(warning))
    if not ui.json:
        for line in _next(diff, values):
            ui.say(line)
    for output in written:
        path = Path(output["path"])
        ui.say(f"wrote {shown_path(path)}; open it with: {opener(path, output['format'])}")


def _render(diff: Comparison, values: argparse.Namespace, ui: UI) -> Iterator[str]:
    from .._diff_text import render
    from .._lines import Look
    from .._session_diff import SessionDiff, render_session

    shown = values.max_shown if ui.verbose == 0 else max(values.max_shown, _CLUSTERS_OF_DETAIL)
    look = Look(
        style=ui.out.style,
        width=min(ui.out.width, 160) if ui.out.width < 1 << 16 else 100,
        clusters=shown,
        history=bool(values.history),
        detail=ui.verbose > 0,
    )
    return render_session(diff.document, look) if isinstance(diff, SessionDiff) else render(diff.document, look)


def _next(diff: Comparison, values: argparse.Namespace) -> Iterator[str]:
    """What to do with the answer: at most one line."""
    a, b = shlex.quote(values.a), shlex.quote(values.b)
    if diff.status == "inconclusive":
        yield "next: record with prlx.record(path) or prlx simulate --record, which keep digests of what kernels write"
        return
    if diff.status == "same-results":
        if not diff.passed:
            yield "next: --require outputs passes what writes the same by another way"
        return
    if diff.identical:
        if _values_left(diff):
            yield "next: values were not compared; --values compares them"
        return
    if (diff.document.get("outputs") or {}).get("more") or diff.document.get("first") is None:
        return  # the text says what records more
    if values.html is None and values.explain is None:
        yield f"next: prlx diff {a} {b} --explain --html report.html   (why, and every lane)"


def _values_left(diff: Comparison) -> bool:
    """Whether both sides have values that nobody asked to compare; of sessions, of any launch."""
    values = diff.coverage["values"]
    if isinstance(values, int):
        return values < int(diff.coverage["values_recorded"])
    return bool(values["by"] == "not-asked")


def opener(path: Path, format: str) -> str:
    """What opens a report."""
    named = shlex.quote(shown_path(path))
    return _OPENERS.get(format) or (f"xdg-open {named}" if format == "html" else f"less {named}")


def code(diff: Comparison, *, strict: bool) -> int:
    """1 when more differs than is allowed; 3 or 4 when nothing differs, but launches could not be read or compared.

    5 when too little was recorded to say that nothing differs, or when losses limit that and it was not to pass.
    """
    if diff.document["status"] == "error":
        kinds = {row.get("error_kind") for row in diff.document["kernel_results"] if row["status"] == "error"}
        return NOT_COMPARABLE if kinds == {"incompatible"} else UNREADABLE
    if diff.status == "inconclusive":
        return PARTIAL
    if not diff.passed:
        return DIVERGED
    return PARTIAL if strict and (limited(diff) or diff.coverage.get("missing")) else 0


def limited(diff: Comparison) -> bool:
    """Whether something is missing from either side."""
    losses = diff.document["losses"]
    return any(losses[side]["dropped"] or losses[side]["sample_rate"] > 1 or losses[side]["truncated"] for side in "ab")


def _compat(values: argparse.Namespace, ui: UI) -> int:
    """The described differ's document, quirks included."""
    from .. import _compare, _core
    from .._progress import shown

    request = {
        "a": [_request.absolute(values.a)],
        "b": [_request.absolute(values.b)],
        "values": bool(values.values),
        "force": bool(values.force),
        "cross_gpu": bool(values.cross_gpu),
        "threshold": values.max_allowed_divergences or 0,
        "ignore_active_mask": bool(values.ignore_active_mask),
        "overwrite": bool(values.overwrite),
        "workers": values.workers,
        "memory_limit": values.memory_limit,
    }
    if values.session:
        check_sessions(request)

    written = outputs(values)
    odd = [output["format"] for output in written if output["format"] not in ("csv", "chrome")]
    if odd:
        raise UsageError(f"--compat writes csv and flamegraph files, not {odd[0]}", hint="leave out --compat")
    asked = request | {
        "a": request["a"][0],
        "b": request["b"][0],
        "limit": values.limit or 0,
        "lookahead": _compare.LOOKAHEAD if values.lookahead is None else values.lookahead,
        "continue_after_path": bool(values.continue_after_path),
        "warps": values.warps,
        "kinds": values.filter_kind,
        "sites": values.filter_sites,
        "map": _request.absolute_or_none(values.map),
        "remap_a": _request.absolute_or_none(values.remap_a),
        "remap_b": _request.absolute_or_none(values.remap_b),
        "outputs": written or None,
    }
    op = "session_diff_compat" if _compare.are_sessions(request) else "diff_compat"
    with shown(ui.progress) as watch:
        reply = _core.run(op, asked, progress=watch)
    sys.stdout.write(reply["text"].rstrip("\n") + "\n")
    for warning in reply.get("warnings") or ():
        ui.warn(clean(warning))
    for output in reply.get("written") or ():
        path = Path(output["path"])
        ui.say(f"wrote {shown_path(path)}; open it with: {opener(path, output['format'])}")
    return 0 if reply["passed"] else DIVERGED


_EVENTS = (
    Column("warp", right=True),
    Column("event", right=True),
    Column("site", shrinks=True),
    Column("kind"),
    Column("dir", right=True),
    Column("active"),
    Column("taken"),
    Column("value"),
)


def _dump(values: argparse.Namespace, ui: UI) -> int:
    """The first events of A, of B or of both, as ``--dump-a`` and ``--dump-b`` ask; nothing is compared."""
    from .. import _kernel_trace

    if ui.json:
        raise UsageError(
            "--dump-a and --dump-b print text, not JSON", hint="prlx inspect FILE --json describes a recording"
        )
    site_map = maps(values)
    for letter, path, head in (("A", values.a, values.dump_a), ("B", values.b, values.dump_b)):
        if head is None:
            continue
        named = site_map["site_map_b"] if letter == "B" and site_map["site_map_b"] else site_map["site_map"]
        request = {
            "path": _request.absolute(path),
            "site_map": named,
            "look_in": site_map["look_in"],
            "warps": values.warps,
            "head": max(1, head),
            "workers": values.workers,
            "memory_limit": values.memory_limit,
        }
        ui.show(_dumped(letter, _kernel_trace.open_recording(request, progress=ui.progress), ui))
    return 0


def _dumped(letter: str, trace: KernelTrace, ui: UI) -> Iterator[str]:
    h = trace.header
    yield f"{ui.out.style(letter, 'bold')}  {clean(trace.path)}"
    yield f"   {clean(h.kernel)}, {plural(trace.num_warps, 'warp')}, {plural(trace.total_events, 'event')}"
    events = trace.events
    known = {site: place for site, place in zip(trace.sites["site"], trace.sites["location"], strict=True) if place}
    digits = h.wave_size // 4
    columns = {
        name: events[name].tolist() for name in ("warp", "event", "site", "kind", "dir", "active", "taken", "value")
    }
    rows = [
        (
            format_count(warp),
            format_count(event),
            known.get(site, site),
            kind,
            str(way),
            f"0x{active:0{digits}x}",
            "" if taken is None else f"0x{taken:0{digits}x}",
            f"0x{value:x}" if value is not None else "",
        )
        for warp, event, site, kind, way, active, taken, value in zip(*columns.values(), strict=True)
    ]
    yield from table(ui.out, _EVENTS, rows, indent=3)


def diff_of(values: argparse.Namespace, ui: UI, **replaced: object) -> Diff:
    """Run the comparison that the flags of another command ask for."""
    from .. import _compare

    return _compare.run({**request_of(values), **replaced}, progress=ui.progress)


def _file(flag: str, help: str, *, brief: bool = False) -> Option:
    return Option((flag,), help, takes="path", metavar="FILE", brief=brief)


FILTERS = (
    Option(("--warps",), "compare only these warps: 0-10,15", metavar="LIST"),
    Option(("--filter-kind",), "report only these kinds: Branch,ActiveMask,Value,Path,...", metavar="LIST"),
    Option(("--filter-sites",), "report only these sites: ids, or file:line", metavar="LIST"),
)
COMMAND = Command(
    name="diff",
    run=run,
    examples=(
        ("prlx diff good.prlx bad.prlx", "verdict, first divergence, clusters"),
        ("prlx diff good.prlx bad.prlx --explain --html report.html", "why, and every lane in a browser"),
        ("prlx diff a.prlx b.prlx --baseline a2.prlx a3.prlx", "what equal runs do is noise"),
        ("prlx diff run_a/ run_b/", "two sessions, launch by launch"),
    ),
    positionals=(
        Positional("A", "a recording, or a session: what should be", "one"),
        Positional("B", "what is compared with it", "one"),
    ),
    options=(
        options.VALUES,
        options.TOLERANCE,
        replace(options.NAN, brief=True),
        options.IGNORE,
        Option(
            ("--baseline",), "more runs equal to A; what differs among them is noise", takes="paths", metavar="FILE"
        ),
        Option(("--explain", "--classify"), "why: the evidence, and what kind of cause it is", takes="switch"),
        *FILTERS,
        options.MAP,
        Option(
            ("--source-root",), "a directory in which sources are looked for", takes="paths", metavar="DIR", brief=True
        ),
        Option(
            ("--max-shown", "-n"), "clusters shown", takes="number", metavar="N", setting="diff.max-shown", brief=True
        ),
        Option(("--max-allowed-divergences",), "how many may pass", takes="number", metavar="N", brief=True),
        options.REQUIRE,
        _file("--html", "write a report: clusters, source, lanes, in one file"),
        options.JSON,
        Option(("--compat",), "the described differ's JSON instead, bit for bit", takes="switch"),
        Option(
            ("--strict",), "exit 5 when losses or coverage limit it", takes="switch", setting="diff.strict", brief=True
        ),
        _file("--csv", "write every listed divergence as a row", brief=True),
        _file("--junit", "write a JUnit report", brief=True),
        _file("--sarif", "write SARIF 2.1.0", brief=True),
        _file("--github", "write GitHub annotations; - prints them", brief=True),
        _file("--markdown", "write a summary for a pull request", brief=True),
        _file("--perfetto", "write tracks in the real order of events", brief=True),
        _file("--export-flamegraph", "write the described Chrome JSON", brief=True),
        Option(("--overwrite",), options.OVERWRITE.help, takes="switch", brief=True),
        Option(("--baseline-b",), "more runs equal to B", takes="paths", metavar="FILE", brief=True),
        _file("--accepted", "a file of accepted differences", brief=True),
        Option(("--limit", "-l"), "divergences that --json and reports list", takes="number", metavar="N", brief=True),
        Option(("--history",), "show the events around the first divergence", takes="switch", brief=True),
        Option(("--float",), "show operands as floats", takes="switch", brief=True),
        Option(("--ignore-active-mask",), "differences of active lanes do not count", takes="switch", brief=True),
        Option(("--strict-order",), "another order of paths differs, too", takes="switch", brief=True),
        Option(("--verify",), "read all of both, to notice damage", takes="switch", off="--no-verify", brief=True),
        Option(("--force",), options.FORCE.help, takes="switch", brief=True),
        Option(("--cross-gpu",), "compare recordings of different machines by thread", takes="switch", brief=True),
        _file("--remap-a", "the site map of A", brief=True),
        _file("--remap-b", "the site map of B, built apart", brief=True),
        options.SESSION,
        Option(("--dump-a",), "print the first events of A instead", takes="number", metavar="N", brief=True),
        Option(("--dump-b",), "print the first events of B instead", takes="number", metavar="N", brief=True),
        Option(
            ("--lookahead",), "window of the described aligner, with --compat", takes="number", metavar="N", brief=True
        ),
        Option(("--continue-after-path",), "go on after a path divergence, with --compat", takes="switch", brief=True),
        Option(("--tui",), "refused: --html FILE is for browsing", takes="switch", brief=True),
        Option(("--workers",), options.WORKERS.help, takes="whole", metavar="N", setting="workers", brief=True),
        Option(
            ("--memory-limit",),
            options.MEMORY_LIMIT.help,
            takes="size",
            metavar="SIZE",
            setting="memory-limit",
            brief=True,
        ),
    ),
    notes=("exit codes: 0 same, 1 divergence, 4 nothing in common, 5 inconclusive, or losses under --strict",),
)
