"""``prlx diff``: where two recordings of a kernel first differ, and why; and ``prlx-diff``, the name of original prlx 0.5."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _request
from .._errors import UsageError
from .._units import format_count, plural
from . import _options as options
from ._command import Command, Option, Positional
from ._comparing import REPORTS, asked, brief, check_sessions, code, file, max_divergences, reports, say_written, show
from ._render import Column, clean, table

if TYPE_CHECKING:
    import argparse

    from .._diff import Comparison
    from .._kernel_trace import KernelTrace
    from ._ui import UI

_CLUSTERS_OF_DETAIL = 100  # that -v shows
_COMPAT_ONLY = ("lookahead", "continue_after_path")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Compare, print, write the reports; exit code 1 when more differs than is allowed."""
    from .. import _compare
    from .._steps_diff import are_tapes

    _refuse(values)
    if are_tapes(values.a):
        return _tapes(values, ui)
    if values.dump_a is not None or values.dump_b is not None:
        return _dump(values, ui)
    if values.compat:
        return _compat(values, ui)
    request = request_of(values)
    for name in _COMPAT_ONLY:
        if getattr(values, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            ui.warn(f"{flag} has no effect: every warp is aligned to its end, with as few differences as possible; "
                    "with --compat it has its meaning in original prlx 0.5")  # fmt: skip
    rerun = getattr(values, "rerun", None)  # sessions have none
    if values.try_statements:
        if rerun is not None:
            raise UsageError(
                "--try-statements runs what was recorded, --rerun records again", hint="leave one of them out"
            )
        from .._trial import try_statements

        diff = try_statements(
            _compare.run({**request, "outputs": None}, progress=ui.progress), request, progress=ui.progress
        )
    elif rerun is None:
        diff = _compare.run(request, progress=ui.progress)
    else:
        from .. import _rerun

        compare = functools.partial(_compare.run, progress=ui.progress)
        diff = _rerun.run_again(request, _rerun.by_command(rerun), compare)
    show(diff, _render(diff, values, ui), ui, after=_next(diff, values))
    return code(diff, strict=bool(values.strict))


_OF_TAPES = ("a", "b", "baseline", "html", "json", "overwrite", "max_shown", "strict", "workers", "memory_limit")


def _tapes(values: argparse.Namespace, ui: UI) -> int:
    """Compare two trainings by their tapes."""
    from .._lines import Look
    from .._steps_diff import diff_tapes, render_steps

    own = {option.name: option.flags[0] for option in COMMAND.options}
    for name, flag in own.items():
        if name not in _OF_TAPES and getattr(values, name, None) not in (None, False, [], ()):
            raise UsageError(
                f"{flag} is about recordings of kernels, and these are tapes of training steps", hint="leave it out"
            )
    reported = reports(values, {"html": "html"})
    diff = diff_tapes(
        values.a,
        values.b,
        baseline=values.baseline or (),
        outputs=reported,
        overwrite=bool(values.overwrite),
        progress=ui.progress,
    )
    look = Look(
        style=ui.out.style, width=min(ui.out.width, 160) if ui.out.width < 1 << 16 else 100, clusters=values.max_shown
    )
    show(diff, render_steps(diff.document, look), ui)
    return diff.conclusion.exit_code


def _refuse(values: argparse.Namespace) -> None:
    if values.tui:
        raise UsageError(
            "--tui is not part of prlx diff", hint="--html FILE writes a report for a browser, -v prints more"
        )
    if values.compat and (
        getattr(values, "rerun", None) or values.explain or values.baseline or values.baseline_b or values.accepted
    ):
        raise UsageError("--compat prints what original prlx 0.5 prints, without --explain, --rerun, --baseline and --accepted",
                         hint="leave out --compat")  # fmt: skip


def request_of(values: argparse.Namespace) -> dict[str, Any]:
    """The request of the operation ``diff`` that the flags ask for."""
    from .. import _compare

    reported = reports(values, REPORTS)
    whole = bool(reported or values.json)
    limit = values.limit
    if limit is None:
        limit = _compare.LISTED if whole else 1
    return asked(
        values,
        values.a,
        values.b,
        **_site_maps(values),
        limit=limit,
        clusters=None if whole else max(_CLUSTERS_OF_DETAIL, values.max_shown),
        outputs=reported,
    )


def _site_maps(values: argparse.Namespace) -> dict[str, str]:
    """The site maps that the flags name; ``--remap-a`` is the original's word for that of A where B has its own."""
    if values.remap_a is None:
        return {}
    if values.site_map_b is None:
        raise UsageError("--remap-a and --remap-b belong together", hint="name the site map of either side")
    if values.site_map is not None:
        raise UsageError("--site-map and --remap-a both name the site map of A", hint="leave out --remap-a")
    return {"site_map": values.remap_a}


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
        flags=True,
    )
    return render_session(diff.document, look) if isinstance(diff, SessionDiff) else render(diff.document, look)


def _next(diff: Comparison, values: argparse.Namespace) -> Iterator[str]:
    """What to do with the answer: at most one line."""
    a, b = shlex.quote(values.a), shlex.quote(values.b)
    if diff.status == "inconclusive":
        outputs = diff.coverage.get("outputs")
        if isinstance(outputs, dict) and outputs["by"] == "nothing":
            yield "next: record with prlx.record(path) or prlx simulate --record, which keep digests of what kernels write"
        return
    if diff.status == "same-results":
        if not diff.passed:
            yield "next: --require outputs passes kernels that write the same results in a different way"
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


def _compat(values: argparse.Namespace, ui: UI) -> int:
    """Original prlx 0.5's document, quirks included."""
    from .. import _compare, _core
    from .._progress import shown

    sides = {side: _request.absolute(path) for side, path in (("a", values.a), ("b", values.b))}
    pair = {side: [path] for side, path in sides.items()}
    if values.session:
        check_sessions(pair)
    written = reports(values, REPORTS)
    odd = [output["format"] for output in written if output["format"] not in ("csv", "chrome")]
    if odd:
        raise UsageError(f"--compat writes csv and flamegraph files, not {odd[0]}", hint="leave out --compat")
    allowed = max_divergences(values.max_divergences)
    if set(allowed) - {"*"}:
        raise UsageError("--compat has one threshold, not one per kind", hint="--max-divergences N")
    request = {
        **sides,
        "values": bool(values.values),
        "force": bool(values.force),
        "cross_gpu": bool(values.cross_gpu),
        "max_divergences": allowed.get("*", 0),
        "ignore_active_mask": bool(values.ignore_active_mask),
        "limit": values.limit or 0,
        "lookahead": _compare.LOOKAHEAD if values.lookahead is None else values.lookahead,
        "continue_after_path": bool(values.continue_after_path),
        "warps": values.warps,
        "kinds": values.kinds,
        "sites": values.sites,
        "site_map": _request.absolute_or_none(values.site_map),
        "remap_a": _request.absolute_or_none(values.remap_a),
        "remap_b": _request.absolute_or_none(values.site_map_b),
        "outputs": written or None,
        "overwrite": bool(values.overwrite),
        "workers": values.workers,
        "memory_limit": values.memory_limit,
    }
    op = "session_diff_compat" if _compare.are_sessions(pair) else "diff_compat"
    with shown(ui.progress) as watch:
        reply = _core.run(op, request, progress=watch)
    sys.stdout.write(reply["text"].rstrip("\n") + "\n")
    for warning in reply.get("warnings") or ():
        ui.warn(clean(warning))
    say_written(reply.get("written") or (), ui)
    return 0 if reply["passed"] else 1


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
    site_map = values.site_map or _site_maps(values).get("site_map")
    for letter, path, head, own in (
        ("A", values.a, values.dump_a, None),
        ("B", values.b, values.dump_b, values.site_map_b),
    ):
        if head is None:
            continue
        request = _kernel_trace.request(
            path,
            site_map=own or site_map,
            warps=values.warps,
            head=max(1, head),
            workers=values.workers,
            memory_limit=values.memory_limit,
        )
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


COMMAND = Command(
    name="diff",
    run=run,
    examples=(
        ("prlx diff good.prlx bad.prlx", "verdict, first divergence, clusters"),
        ("prlx diff good.prlx bad.prlx --explain --html report.html", "why, and every lane in a browser"),
        ("prlx diff a.prlx b.prlx --baseline a2.prlx a3.prlx", "differences among equal runs are noise"),
        ("prlx diff run_a/ run_b/", "two sessions, launch by launch"),
    ),
    positionals=(
        Positional("A", "the reference: a recording or a session", "one"),
        Positional("B", "the recording or session to compare with A", "one"),
    ),
    options=(
        *options.of("diff"),
        Option(
            ("--try-statements", "--try"),
            "run mixed texts of A and B on recorded inputs: which change matters",
            takes="switch",
        ),
        file("--html", "write a report: clusters, source, lanes, in one file"),
        options.JSON,
        Option(("--compat",), "original prlx 0.5's JSON instead, bit for bit", takes="switch"),
        Option(
            ("--rerun",),
            "where that is not settled, record {side} a or b to {out} again with this command",
            metavar="CMD",
            brief=True,
        ),
        Option(
            ("--max-shown", "-n"), "clusters to show", takes="number", metavar="N", setting="diff.max-shown", brief=True
        ),
        Option(
            ("--strict",), "exit 5 when losses limit the verdict", takes="switch", setting="diff.strict", brief=True
        ),
        file("--csv", "write every listed divergence as a row", brief=True),
        file("--junit", "write a JUnit report", brief=True),
        file("--sarif", "write SARIF 2.1.0", brief=True),
        file("--github", "write GitHub annotations; - prints them", brief=True),
        file("--markdown", "write a summary for a pull request", brief=True),
        file("--perfetto", "write tracks in the real order of events", brief=True),
        file("--export-flamegraph", "write the Chrome JSON of original prlx 0.5", brief=True),
        brief(options.OVERWRITE),
        Option(("--history",), "show the events around the first divergence", takes="switch", brief=True),
        file("--remap-a", "the site map of A, with --remap-b", brief=True),
        options.SESSION,
        Option(("--dump-a",), "print the first events of A instead", takes="number", metavar="N", brief=True),
        Option(("--dump-b",), "print the first events of B instead", takes="number", metavar="N", brief=True),
        Option(("--lookahead",), "window of original prlx 0.5, with --compat", takes="number", metavar="N", brief=True),
        Option(("--continue-after-path",), "go on after a path divergence, with --compat", takes="switch", brief=True),
        Option(("--tui",), "refused: --html FILE is for browsing", takes="switch", refused=True),
    ),
    notes=("exit codes: 0 same, 1 divergence, 4 nothing in common, 5 inconclusive, or losses under --strict",),
)


def _run_prlx_diff(values: argparse.Namespace, ui: UI) -> int:
    """``prlx diff``, whose document is that of the binary ``prlx-diff``."""
    values.compat = bool(values.compat or values.json)
    return run(values, ui)


BINARY = replace(
    COMMAND,
    program="prlx-diff",
    run=_run_prlx_diff,
    summary="compares as prlx diff does; --json prints the document of original prlx 0.5",
    examples=(
        ("prlx-diff a.prlx b.prlx --map prlx-sites.json", "as prlx diff"),
        ("prlx-diff a.prlx b.prlx --json", "as prlx diff --compat"),
    ),
)


def prlx_diff_main(argv: Sequence[str] | None = None) -> int:
    """The program ``prlx-diff``."""
    from . import main, run_command

    words = list(sys.argv[1:] if argv is None else argv)
    return main(["version"]) if words in (["-V"], ["--version"]) else run_command(BINARY, words)
