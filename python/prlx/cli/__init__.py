"""The command line: ``prlx`` and ``python -m prlx``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from .. import _config
from .._errors import InternalError, PrlxError, UsageError
from . import _parser, _table
from ._command import Command
from ._ui import open_ui

__all__ = ["main", "run_command"]

_LEADING = ("-q", "--quiet", "-v", "-vv", "--verbose", "--no-color")
_EXIT_CODES = (
    "exit codes: 0 fine, 1 divergence or violation, 2 usage, 3 unreadable input, 4 inputs that do not belong together,",
    "            5 inconclusive, 70 internal error, 130 interrupted",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; never raises, never exits."""
    _open_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    leading = []
    while words and words[0] in _LEADING:
        leading.append(words.pop(0))
    if not words:
        sys.stderr.write(overview())
        return 2
    name = words.pop(0)
    if name in ("-h", "--help", "help"):
        if not words or name != "help":
            return _print(overview())
        name, words = words[0], ["--help"]
    elif name in ("-V", "--version"):
        name = "version"
    name, words = _table.today(name, words)
    try:
        command = _table.load(name)
    except KeyboardInterrupt:
        sys.stderr.write("prlx: interrupted\n")
        return 130
    except PrlxError as error:
        return _fail("prlx", error, verbose=0)
    return run_command(command, [*leading, *words])


def overview() -> str:
    """The help of ``prlx`` itself."""
    first = {name: summary for name, summary in _table.COMMANDS.items() if name not in _table.SECOND}
    width = max(map(len, first))
    lines = [
        "usage: prlx COMMAND [options]",
        "",
        "Says where two GPU runs first differ, puts traces of many nodes on one clock, and finds what repeats.",
        "",
        "examples:",
        "  prlx combine node0/ node1/ --probes probes_*.jsonl -o run/   align, merge, open in TensorBoard",
        "  prlx diff good.prlx bad.prlx --explain                       where two runs first differ, and why",
        "  prlx cycles trace.json.gz                                    steps, layers and phases, and what they cost",
        "  prlx simulate train.py                                       its Triton kernels, checked, without a GPU",
        "  prlx inspect trace.json.gz                                   what is in a file",
        "",
        "commands:",
        *(f"  {name:<{width}}  {summary}" for name, summary in first.items()),
        f"  also: {', '.join(_table.SECOND)}",
        "",
        "prlx COMMAND --help shows the options of a command.",
        *_EXIT_CODES,
    ]
    return "\n".join(lines) + "\n"


def run_command(command: Command, words: Sequence[str]) -> int:
    """Parse the words after a command's name, run it, and turn what goes wrong into a message and an exit code."""
    own, _ = _parser.split(command, words)
    verbose = sum(word.count("v") for word in own if word in ("-v", "-vv", "-vvv")) + own.count("--verbose")
    if "--help" in own or "-h" in own:
        return _print(_parser.render_help(command, full=verbose > 0))
    program = command.program or f"prlx {command.name}"
    try:
        _end_like_ctrl_c()
        values = _parser.parse(command, words)
        config = _config.load()
        _parser.fill(values, command, config)
        json = bool(getattr(values, "json", False))
        ui = open_ui(config, no_color=bool(values.no_color), quiet=bool(values.quiet), verbose=verbose, json=json)
        for warning in config.warnings:
            ui.warn(warning)
        code = command.run(values, ui)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"{program}: interrupted; no half file was left\n")
        return stop.code if isinstance(stop, _Terminated) else 130
    except BrokenPipeError:
        # Whoever read our output has seen enough (prlx ... | head); Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except PrlxError as error:
        return _fail(program, error, verbose=verbose, command=command)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else "" if error.errno is None else "writing to stdout: "
        return _fail(program, UsageError(f"{place}{error.strerror or error}"), verbose=verbose, code=3)
    except Exception as error:
        sys.stderr.write(f"{program}: internal error: {type(error).__name__}: {error}\n")
        sys.stderr.write("  this is a bug of prlx; -vv shows the traceback, prlx doctor the surroundings\n")
        if verbose >= 2:
            _print_traceback()
        return 70


class _Terminated(KeyboardInterrupt):
    """SIGTERM (timeout, a batch system) or SIGHUP (the terminal is gone): cleans up as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _end_like_ctrl_c() -> None:
    """Let signals that would end the process on the spot raise instead; what somebody else handles or ignores stays so."""

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        raise _Terminated(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        try:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, stop)
        except ValueError:  # not in the main thread
            return


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _fail("prlx", UsageError(f"writing to stdout: {error.strerror or error}"), verbose=0, code=3)
    return 0


def _open_streams() -> None:
    """Give a process that was started with closed streams (``>&-``) ones that swallow everything."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _fail(
    program: str, error: PrlxError, *, verbose: int, code: int | None = None, command: Command | None = None
) -> int:
    message = error.on_command_line().replace("\n", "\n  ")
    if command is not None and isinstance(error, UsageError):
        message = _parser.naming_flags(message, command)
    sys.stderr.write(f"{program}: error: {message}\n")
    if verbose >= 2:
        if isinstance(error, InternalError) and error.stack:
            sys.stderr.write(error.stack.rstrip() + "\n")
        _print_traceback()
    return error.exit_code if code is None else code


def _print_traceback() -> None:
    import traceback  # only where somebody asked for it

    traceback.print_exc()
