"""The programs of prlx, beside the package so that Ctrl-C while that loads is caught."""

import sys


def main() -> int:
    """The program ``prlx``."""
    return _run("main", "prlx")


def diff_main() -> int:
    """The program ``prlx-diff``."""
    return _run("diff_main", "prlx-diff")


def xprof_main() -> int:
    """The program ``xprof_trace_align``."""
    return _run("xprof_main", "xprof_trace_align")


def _run(name: str, program: str) -> int:
    try:
        from prlx import _start

        found: int = getattr(_start, name)()
        return found
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write(f"{program}: interrupted\n")
        return 130
