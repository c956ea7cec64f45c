"""Measures what every command of prlx costs before its work begins, beyond Python's own start.

  python bench/startup.py            about a minute
  python bench/startup.py --quick    one try of each: shows that everything here still runs

Each command runs up to the first operation of the core, with the core loaded and nothing asked of it; ``--help``, and commands
that end without the core, run to their end. ``simulate`` and ``doctor`` begin with a script and with another process: only
their help is measured. CPU time is user and system time of the process; wall time says little on a busy machine, so the load is
printed beside it. Python that does nothing is measured in turn, and modules are compiled beforehand, as pip does when it
installs. ``tests/cli/test_startup.py`` and ``core/startup_test.go`` hold what these times rest on, without a clock.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import inputs

RUNS = inputs.REPOSITORY / "examples" / "two_runs"
NODES = inputs.REPOSITORY / "examples" / "jax_p4"
GOAL_MS = 100
BEGUN = 42  # the exit code of a command that has reached the core

# The wrapper: the first operation loads the core, as it would, and ends the process.
UNTIL_THE_CORE = f"""
import os, sys
from prlx import _core, _extension
def begin(*request, **more):
    _extension.go.pybind_Version()
    os._exit({BEGUN})
_core.start = _core.call = begin
from prlx.cli import main
sys.exit(main(sys.argv[1:]))
"""

WHOLE = "import sys; from prlx.cli import main; sys.exit(main(sys.argv[1:]))"

A, B, NODE0, NODE1 = str(RUNS / "a.prlx"), str(RUNS / "b.prlx"), str(NODES / "node0"), str(NODES / "node1")
COMMANDS: dict[str, tuple[str, ...]] = {
    "combine": (NODE0, NODE1, "-o", "out"),
    "align": (NODE0, "-o", "out"),
    "validate": (NODE0, NODE1),
    "solve": (str(NODES / "probes_node0.jsonl"), "-o", "out.jsonl"),
    "inspect": (A,),
    "diff": (A, B),
    "assert": (A, B),
    "cycles": (NODE0,),
    "session": ("inspect", str(RUNS)),
    "flamegraph": (A, B, "-o", "out.json"),
    "convert": (A, "-o", "out.prlx"),
    "report": ("diff.json", "-o", "out.html"),
    "version": ("--json",),
    "completion": ("bash",),
    "config": (),
}


@dataclass(frozen=True)
class Cost:
    """What a process took, in milliseconds."""

    processor: float
    wall: float
    code: int


def run(code: str, arguments: Sequence[str], folder: Path) -> Cost:
    """Run Python code in a process of its own."""
    begin = perf_counter()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=folder, env=environment(), **silent)
    _, status, usage = os.wait4(child.pid, 0)
    wall = perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    return Cost(1e3 * (usage.ru_utime + usage.ru_stime), 1e3 * wall, child.returncode)


def environment() -> dict[str, str]:
    """As the user's, with compiled modules in a folder of ours."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(inputs.REPOSITORY / "build" / "bench" / "pycache")}


def beyond_python(code: str, arguments: Sequence[str], folder: Path, tries: int) -> Cost:
    """The median of what a process takes more than Python that does nothing, which is measured in turn."""
    pairs = [(run(code, arguments, folder), run("pass", (), folder)) for _ in range(tries)]
    return Cost(
        statistics.median(one.processor - bare.processor for one, bare in pairs),
        statistics.median(one.wall - bare.wall for one, bare in pairs),
        pairs[-1][0].code,
    )


def loading() -> tuple[float, int, int, int]:
    """What Go's packages do while the core is loaded: milliseconds, bytes, allocations, and how many packages do anything."""
    done = subprocess.run(
        [sys.executable, "-c", "from prlx import _core; _core.configure()"],
        env={**environment(), "GODEBUG": "inittrace=1"}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    rows = re.findall(r"^init \S+ @\S+ ms, (\S+) ms clock, (\d+) bytes, (\d+) allocs", done.stderr, re.MULTILINE)
    return (
        sum(float(row[0]) for row in rows),
        sum(int(row[1]) for row in rows),
        sum(int(row[2]) for row in rows),
        len(rows),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    tries = 1 if parser.parse_args().quick else 9
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "diff.json").write_text("{}")
        package = inputs.REPOSITORY / "python" / "prlx"
        subprocess.run([sys.executable, "-m", "compileall", "-q", package], env=environment(), check=True)
        report(folder, tries)


def report(folder: Path, tries: int) -> None:
    """Measure and print every row."""
    print(f"load {os.getloadavg()[0]:.1f}; median of {tries}, ms beyond Python's own start")
    print("       CPU     wall")
    rows = [("import prlx", "import prlx", ())]
    rows += [(f"prlx {name} --help", WHOLE, (name, "--help")) for name in (*COMMANDS, "simulate", "doctor")]
    rows += [
        (f"prlx {name}, until its work begins", UNTIL_THE_CORE, (name, *words)) for name, words in COMMANDS.items()
    ]
    missed = []
    for label, code, arguments in rows:
        cost = beyond_python(code, arguments, folder, tries)
        if cost.code not in (0, BEGUN):
            sys.exit(f"{label} ended with {cost.code}")
        if cost.processor > GOAL_MS:
            missed.append(label)
        print(f"  {cost.processor:8.1f} {cost.wall:8.1f}  {label}")
    print(f"CPU time at most {GOAL_MS} ms: {'missed by ' + ', '.join(missed) if missed else 'met by all'}")
    took, size, count, packages = loading()
    print(f"loading the core: {packages} packages of Go make {count:,} allocations of {size:,} bytes in {took:.1f} ms")


if __name__ == "__main__":
    main()
