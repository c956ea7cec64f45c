"""``prlx simulate``: a script's Triton kernels on the simulator."""

from __future__ import annotations

import contextlib
import os
import runpy
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .. import _collector, _options
from .._errors import FileAccessError, FindingError, FindingWarning, PrlxError, UsageError
from .._verdict import conclusion_of
from . import _options as options
from ._command import Command, Option, Positional
from ._earlier import Earlier
from ._outputs import shown_path
from ._parser import given
from ._render import clean

if TYPE_CHECKING:
    import argparse

    from .._simulated import Run
    from .._simulation import Simulation
    from .._simulator import Recording
    from ._ui import UI, Stream

SELFTEST = "prlx-simulate-selftest.json"
_OF_PROGRAMS = frozenset({
    "output", "mode", "stores", "atomics", "loads", "barriers", "events_per_warp", "outputs", "overwrite", "html",
    "json", "seed", "nan", "races", "global_races", "warp_races", "convergence", "counts", "max_findings",
    "max_instructions", "workers", "memory_limit",
})  # fmt: skip
_OF_THE_COMMAND = frozenset({"quiet", "verbose", "color", "progress"})
_OWN = Path(__file__).parents[1]


def run(values: argparse.Namespace, ui: UI) -> int:
    """Run the script, then say what its kernels did; exit code 1 when a check found something."""
    if values.selftest:
        return _selftest(values, ui)
    program = _program(values.script)
    if program is not None:
        return _run_program(program, values, ui)
    for flag in ("launches", "rest", "leaks", "uninitialised"):
        if getattr(values, flag) not in (None, False):
            raise UsageError(f"--{flag} is about programs", hint=f"prlx simulate --{flag} ... -- PROGRAM runs one")
    from .._record import enable

    return run_script(values, ui, enable)


def _program(name: str | None) -> str | None:
    """The program that a word names, None where it is a script or nothing."""
    if name is None or name.endswith(".py"):
        return None
    path = Path(name)
    if path.is_file():
        return str(path.absolute()) if os.access(path, os.X_OK) else None
    import shutil

    return shutil.which(name)


def _run_program(program: str, values: argparse.Namespace, ui: UI) -> int:
    """Run a program that finds CUDA on the simulator, then say what its kernels did; its exit code goes before ours."""
    from .._simulate_program import pictured, simulate_program

    for option in SIMULATING:
        if option.setting or option.name in _OF_THE_COMMAND or option.name in _OF_PROGRAMS:
            continue
        if getattr(values, option.name, None) not in (None, False):
            raise UsageError(
                f"{option.flags[0]} is about scripts that prlx runs itself, and {values.script} is a program",
                hint="leave it out; what is checked and recorded of programs is in docs/commands/simulate.md",
            )
    _check_recording(values)
    page = _page(values)
    asked = given(values, simulate_program) | ({"stdout": sys.stderr.fileno()} if ui.json else {})
    ran = simulate_program([program, *values.arg], **asked)
    document = ran.document if page is None else pictured(ran)
    if page is not None:
        ran.save(page, overwrite=bool(values.overwrite))
        ui.say(f"wrote {shlex.quote(shown_path(page))}; open it in a browser")
    if ui.json:
        ui.emit(document)
    elif not ui.quiet:
        for line in _render(dict(document), ui, ui.err, "program"):  # its standard output is its own
            ui.err.line(line)
    if ran.session is not None and ran.recordings:
        named = shlex.quote(shown_path(ran.session))
        ui.say(f"wrote {named}; open it with: prlx session inspect {named}")
    return ran.exit_code or ran.conclusion.exit_code


def _check_recording(values: argparse.Namespace) -> None:
    """Refuse options of recordings where nothing is recorded."""
    told = [option.flags[0] for option in RECORDING if not option.setting and getattr(values, option.name) is not None]
    if values.html is not None:
        told = [flag for flag in told if flag != "--overwrite"]
    if values.output is None and told and not values.plan:
        raise UsageError(f"{told[0]} is about recording", hint="name where to with --record DIR")


def _page(values: argparse.Namespace) -> Path | None:
    """Where the page is written, None where nobody asked for one."""
    page = None if values.html is None else Path(values.html)
    if page is not None and page.exists() and not values.overwrite:
        raise FileAccessError("already exists", path=str(page), hint="choose another name, or pass --overwrite")
    return page


def _selftest(values: argparse.Namespace, ui: UI) -> int:
    """Compare the simulator with a GPU; exit code 1 where they differ, 5 where there is none to compare with."""
    from .._simulate_selftest import selftest_simulator

    if values.script is not None:
        raise UsageError("--selftest takes no script", hint="its kernels are its own")
    target = Path(values.output or SELFTEST)
    tested = selftest_simulator(output=target, overwrite=bool(values.overwrite))
    if ui.json:
        ui.emit(tested.document)
    else:
        ui.show([clean(tested.sentence), *(f"  {clean(problem)}" for problem in tested.problems)])
    ui.say(f"wrote {shlex.quote(shown_path(target))}: the file to send")
    return tested.conclusion.exit_code


@dataclass(frozen=True)
class Advice:
    """What a command says where a script does not do what it can run."""

    gpu: str = 'with --map-cuda, device="cuda" stands for the CPU'
    nothing: str = ""


# What torch says where a program wants a GPU and there is none.
_WANTS_GPU = ("No CUDA GPUs are available", "Torch not compiled with CUDA enabled", "Found no NVIDIA driver")


def run_script(
    values: argparse.Namespace, ui: UI, enable: Callable[..., Recording], advice: Advice | None = None
) -> int:
    """Run a script with what enables the simulator, then say what its kernels did."""
    advice = advice or Advice()
    from .._simulated import Run, save_page

    if values.script is None:
        raise UsageError("no script is named", hint="prlx simulate SCRIPT runs one; --selftest needs none")
    script = Path(values.script)
    if not script.is_file():
        raise FileAccessError("no such script or program", path=str(script))
    _check_recording(values)
    page = _page(values)
    before = None if values.compare is None else Path(values.compare)
    chosen = {"device": "simulator"} | given(values, enable) | {"progress": ui.progress}
    if page is not None and before is None:
        chosen["touched"] = True
    seen = Run(shown_path(script))
    with Earlier.of(before, values, chosen) as earlier:
        if earlier is None:
            status, recording = _launch(script, seen, values, ui, enable, chosen, advice)
        else:
            status, _ = _launch(
                earlier.script, earlier.seen, values, ui, enable, earlier.options("a"), advice, earlier.listener("a")
            )
            if status:
                raise UsageError(f"{earlier.name} ended with exit code {status}: there is nothing to compare with")
            status, recording = _launch(
                script, seen, values, ui, enable, earlier.options("b"), advice, earlier.listener("b")
            )
        asked = None if values.output is None else recording.path
        document = seen.document(recording=asked, status=status, pictures=page is not None or before is not None)
        comparison = None if earlier is None else earlier.compared(document)
    for place in seen.absent:
        ui.warn(f"--break {place}: no kernel that was launched has an instruction of this line")
    if page is not None:
        save_page(comparison or document, page, overwrite=bool(values.overwrite))
    if ui.json:
        ui.emit(comparison or document)
    elif not ui.quiet:
        ui.show(_render(document, ui, ui.out) if comparison is None else _render_comparison(comparison, ui))
    if not status and not document["launches"] and not document["refused"] and advice.nothing and not ui.quiet:
        ui.say(advice.nothing)
    if recording.plans and not ui.json and not ui.quiet:
        from .._plan import sentences

        ui.show(sentences(recording.plans))
    if page is not None:
        named = shlex.quote(shown_path(page))
        ui.say(f"wrote {named}; open it in a browser")
    if asked is not None and recording.recorded:
        assert recording.path is not None
        named = shlex.quote(shown_path(recording.path))
        verb = "diff" if recording.recorded == 1 else "session inspect"
        ui.say(f"wrote {named}; open it with: prlx {'inspect' if verb == 'diff' else verb} {named}")
    return status or conclusion_of(document if comparison is None else comparison).exit_code


def _launch(
    script: Path,
    seen: Run,
    values: argparse.Namespace,
    ui: UI,
    enable: Callable[..., Recording],
    chosen: Mapping[str, Any],
    advice: Advice,
    also: Callable[[Simulation], None] | None = None,
) -> tuple[int, Recording]:
    """Run a script on the simulator, and return its exit status."""
    from .. import _record

    with _quietly(ui), enable(**chosen) as recording:
        recording.on_launch(seen.add)
        if also is not None:
            recording.on_launch(also)
        recording.on_refusal(seen.refuse)
        recording._says_plans = False
        with _record.hosting(recording):
            return _execute(script, values.arg, ui, advice), recording


def _render_comparison(document: Mapping[str, Any], ui: UI) -> Iterator[str]:
    from .._lines import Look
    from .._simulate_text import render_comparison

    width = min(ui.out.width, 160) if ui.out.width < 1 << 16 else 100
    return render_comparison(document, Look(style=ui.out.style, width=width), lines=20 if ui.verbose == 0 else 200)


def _render(document: dict[str, object], ui: UI, out: Stream, noun: str = "script") -> Iterator[str]:
    from .._lines import Look
    from .._simulate_text import render

    width = min(out.width, 160) if out.width < 1 << 16 else 100
    return render(document, Look(style=out.style, width=width), lines=10 if ui.verbose == 0 else 100, noun=noun)


@contextlib.contextmanager
def _quietly(ui: UI) -> Iterator[None]:
    """The report says what was found, so nothing is said twice; what prlx warns of is said as all commands say it."""
    with warnings.catch_warnings():
        python = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if Path(filename).is_relative_to(_OWN):
                ui.warn(str(message))
            else:
                python(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        warnings.simplefilter("ignore", FindingWarning)
        warnings.filterwarnings("ignore", r"PRLX_\w+ is set, but has no effect")
        yield


def _execute(script: Path, words: list[str], ui: UI, advice: Advice) -> int:
    """Run a script as ``python SCRIPT`` would, and return its exit status."""
    argv, path = sys.argv, list(sys.path)
    sys.argv, sys.path[0:0] = [str(script), *words], [str(script.parent.resolve())]
    try:
        with contextlib.redirect_stdout(sys.stderr) if ui.json else contextlib.nullcontext():
            _collector.as_usual()
            runpy.run_path(str(script), run_name="__main__")
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except FindingError:
        return 0  # the first finding ended the script; the report names it
    except PrlxError:
        raise
    except Exception as error:
        _show(error, script)
        if any(text in str(error) for text in _WANTS_GPU):
            ui.warn(f"the script asks torch for a GPU: {advice.gpu}")
        return 1
    finally:
        sys.argv, sys.path[:] = argv, path


def _show(error: Exception, script: Path) -> None:
    """Print a script's exception as Python would, without our own frames above it."""
    import traceback

    trace = error.__traceback__
    while trace is not None and Path(trace.tb_frame.f_code.co_filename) != script:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)  # none of its frames: Python could not read it


def _flags(operation: str) -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Flags of scripts that run on the simulator, and those of them that are about recording."""
    flags = options.of(operation)
    held = {option.name for option in _options.of(operation).values() if option.group == "record"}
    return flags, tuple(flag for flag in flags if flag.name in held)


SIMULATED, RECORDING = _flags("simulate")
# What no function in Python takes.
OF_COMMANDS = (
    Option(("--html",), "write a page: source, findings, which block touched what", takes="path", metavar="FILE"),
    Option(("--compare",), "as prlx simulate compare BEFORE SCRIPT", takes="path", metavar="BEFORE", brief=True),
    options.JSON,
)
SIMULATING = (*SIMULATED, *OF_COMMANDS)
COMMAND = Command(
    name="simulate",
    run=run,
    comparing=(),
    examples=(
        ("prlx simulate train.py --steps 1", "its kernels, compiled and checked, without a GPU"),
        ("prlx simulate --map-cuda model.py", 'torch code that says device="cuda"'),
        ("prlx simulate --record before/ train.py", "recorded, for prlx diff before/ after/"),
        ("prlx simulate compare before.py after.py", "two versions of a kernel, line by line"),
        ("prlx simulate -- ./a.out", "a CUDA program of nvcc -cudart shared or clang"),
        ("prlx simulate -- python train.py", "any program: it finds a CUDA driver of ours"),
        ("prlx simulate --selftest", "does a GPU do the same? one file to send"),
    ),
    positionals=(
        Positional("SCRIPT", "a Python script that launches Triton kernels, or a program", "optional"),
        Positional("ARG", "arguments of the script, options included", "rest"),
    ),
    options=(
        *SIMULATING,
        Option(
            ("--launches",),
            "of a program: execute the first N launches of each kernel",
            takes="whole",
            metavar="N",
            brief=True,
        ),
        Option(
            ("--rest",),
            "of a program: launches that are not executed do nothing, or what an earlier one did that found the same",
            choices=("skip", "repeat"),
            brief=True,
        ),
        Option(
            ("--leaks",), "of a program: memory that is there when it ends is a finding", takes="switch", brief=True
        ),
        Option(
            ("--uninitialised",),
            "of a program: look for reads of memory of cudaMalloc that nobody has written",
            takes="switch",
            brief=True,
        ),
        Option(("--selftest",), "compare the simulator with this machine's GPU", takes="switch"),
    ),
    notes=(
        "exit code 1: a check found something, 5: not all was checked. A script that fails has its own.",
        "--selftest: 1 a GPU differs, 5 there is none. With --json the script's stdout goes to stderr.",
    ),
)
