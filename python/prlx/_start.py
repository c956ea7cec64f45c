"""Where the programs start: Ctrl-C while modules load prints no traceback, running out of memory ends with a code of its own.

Nothing is imported here that takes time, so that what can be interrupted is what is caught.
"""

from __future__ import annotations

import os
import sys

from . import _collector


def main() -> int:
    """The program ``prlx``."""
    return _guarded("prlx", "main")


def diff_main() -> int:
    """The program ``prlx-diff``."""
    return _guarded("prlx-diff", "diff_main")


def xprof_main() -> int:
    """The program ``xprof_trace_align``."""
    return _guarded("xprof_trace_align", "xprof_main")


def _guarded(program: str, name: str) -> int:
    try:
        if _memory_is_limited():
            return _watched(program, name)
        return _run(name)
    except KeyboardInterrupt:
        _say(f"{program}: interrupted")
        return 130
    except MemoryError:
        _say(f"{program}: out of memory")
        return 70


def _run(name: str) -> int:
    _collector.rarely()
    if name == "main":
        from .cli import main as run
    elif name == "diff_main":
        from .cli.diff import prlx_diff_main as run
    else:
        from .cli.align import xprof_main as run
    return run()


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text + "\n")


def _memory_is_limited() -> bool:
    """Whether the system refuses memory to this process instead of ending it: ``ulimit -v`` or ``-d``."""
    try:
        import resource
    except ImportError:
        return False
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return any(limit != resource.RLIM_INFINITY for limit in limits)


# The core cannot catch it when the system refuses memory: its runtime ends the process with 2, which would be a wrong command
# line, or by SIGABRT. Where memory is limited so, a process that needs none looks on and says 70.


def _watched(program: str, name: str) -> int:
    import signal

    ours, theirs = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(ours)
        return _watch_over(parent, theirs, name)
    os.close(theirs)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child gets it, too
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: os.kill(child, got))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os.set_blocking(ours, False)  # processes that the child left behind may hold the other end
    try:
        finished = os.read(ours, 1) == b"."
    except BlockingIOError:
        finished = False
    if not finished and code in (2, -signal.SIGABRT, -signal.SIGSEGV):
        _say(f"{program}: out of memory")
        return 70
    if code < 0:  # end as it did
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _watch_over(parent: int, pipe: int, name: str) -> int:
    """Run, and say at the end that it was reached."""
    import ctypes
    import signal

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return 137
    try:
        return _run(name)
    finally:
        os.write(pipe, b".")
        os.close(pipe)
