"""Measures the times that prlx promises to people: importing it, starting a command, ending one.

  python bench/contracts.py            about a minute
  python bench/contracts.py --quick    one try of each: shows that everything here still runs

No test depends on these times, because a busy machine makes any of them long; here the load is printed beside them. A command's
start is compared with that of Python itself, which imports nothing, in turn.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

import inputs

EXAMPLES = inputs.REPOSITORY / "examples"
RUNS = EXAMPLES / "two_runs"
# A command whose work does not end by itself: the operation sleeps.
BLOCKED = """
import os, sys
os.environ["PRLX_DEBUG_OPS"] = "1"
from prlx import _core
run = _core.run
def slow(op, request=None, **more):
    print("running", flush=True)
    return run("debug.sleep", {"ms": 3_600_000}, **more)
_core.run = slow
from prlx.cli import main
sys.exit(main(["inspect", "a.pb"]))
"""


def seconds(command: list[str]) -> float:
    """How long a command takes from its start to its end."""
    begin = perf_counter()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf_counter() - begin


def import_ms() -> float:
    """How long ``import prlx`` takes in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import prlx; print(time.perf_counter() - t)"
    return 1e3 * float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)


def extra_ms(*arguments: str) -> float:
    """How much longer a command takes than Python that does nothing."""
    bare = seconds([sys.executable, "-c", "pass"])
    return 1e3 * (seconds([sys.executable, "-m", "prlx", *arguments]) - bare)


def interrupted_ms(command: list[str], *, after: float = 0.0) -> float:
    """How long a command lives on after Ctrl-C, which comes so many seconds after it has begun its work."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    if after == 0.0:
        child.stdout.readline()
    else:
        while child.poll() is None and "_prlx" not in Path(f"/proc/{child.pid}/maps").read_text():
            sleep(0.01)
        sleep(after)
    if child.poll() is not None:
        raise SystemExit("the work was over before it could be interrupted")
    begin = perf_counter()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    return 1e3 * (perf_counter() - begin)


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    tries = 1 if parser.parse_args().quick else 9
    with tempfile.TemporaryDirectory() as scratch:
        traces = []
        for number in range(2):
            trace = Path(scratch) / f"node{number}.xplane.pb"
            trace.write_bytes(next((EXAMPLES / "jax_p4" / "node1").rglob("*.xplane.pb")).read_bytes() * 400)
            traces.append(str(trace))
        combine = ["combine", *traces, "-o", f"{scratch}/out", "--workers", "1"]
        rows = [
            ("import prlx", 30, import_ms),
            ("prlx version, beyond Python's own start", 100, lambda: extra_ms("version")),
            ("prlx diff --help, likewise", 100, lambda: extra_ms("diff", "--help")),
            ("prlx diff of the example, likewise", None, lambda: extra_ms("diff", f"{RUNS}/a.prlx", f"{RUNS}/b.prlx")),
            ("Ctrl-C until a command has ended", 500, lambda: interrupted_ms([sys.executable, "-c", BLOCKED])),
            (
                "Ctrl-C until a combine of real traces has ended",
                500,
                lambda: interrupted_ms([sys.executable, "-m", "prlx", *combine], after=0.2),
            ),
        ]
        print(f"load {os.getloadavg()[0]:.1f}; median of {tries}, ms")
        for what, goal, measure in rows:
            took = statistics.median(measure() for _ in range(tries))
            said = "" if goal is None else f"  (goal {goal}{'' if took <= goal else ': missed'})"
            print(f"  {took:8.1f}  {what}{said}")


if __name__ == "__main__":
    main()
