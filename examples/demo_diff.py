"""Two runs of a kernel that should be the same, and where they first differ: the line, the lanes, the reason.

Run by ``make demo``. The recordings in examples/two_runs were made by bench/gentrace, which knows the bug that it put into the
second run; this compares what prlx says with that. Exits with 1 when the two disagree.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import prlx

ROOT = Path(__file__).resolve().parent.parent
RUNS = Path("examples/two_runs")


def main() -> int:
    """Print the comparison as a user sees it, write the HTML report, check both against the truth."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "demo", help="default: build/demo")
    out: Path = arguments.parse_args().output.resolve()
    out.mkdir(parents=True, exist_ok=True)

    command = ["diff", "a.prlx", "b.prlx", "--baseline", "a2.prlx", "a3.prlx", "--explain"]
    words = [str(RUNS / word) if word.endswith(".prlx") else word for word in command]
    print(f"$ prlx {' '.join(words)}\n", flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "prlx", *words, "--no-color"], cwd=ROOT, check=False)
    seconds = time.monotonic() - began

    runs = ROOT / RUNS
    diff = prlx.diff_traces(
        runs / "a.prlx", runs / "b.prlx", baseline=[runs / "a2.prlx", runs / "a3.prlx"], explain=True, progress=False
    )
    diff.save(out / "two_runs.html", overwrite=True)
    truth = json.loads((runs / "truth.json").read_text())
    failures = [*check_exit(done.returncode), *check_first(diff, truth), *check_noise(diff)]
    print(f"\n{seconds:.1f} s; the seeded bug: {truth['bug']['what']}, at {truth['bug']['shown']}")
    print(f"the same in a browser: {shown(out / 'two_runs.html')}")
    for failure in failures:
        print(f"demo: not as promised: {failure}", file=sys.stderr)
    return 1 if failures else 0


def check_exit(code: int) -> list[str]:
    """Exit code 1 says that the runs differ."""
    return [] if code == 1 else [f"the command ended with exit code {code}, expected 1"]


def check_first(diff: prlx.Diff, truth: dict[str, dict[str, str]]) -> list[str]:
    """The first divergence is at the line of the bug, and the reason is the right one."""
    bug, failures = truth["bug"], []
    first = diff.document["first"]
    if first is None or first["source_location"] != bug["shown"]:
        failures.append(f"the first divergence is at {first and first['source_location']}, expected {bug['shown']}")
    reason = diff.document["explanation"]["class"]
    if reason != bug["class"]:
        failures.append(f"the reason is {reason}, expected {bug['class']}")
    return failures


def check_noise(diff: prlx.Diff) -> list[str]:
    """What differs among the equal runs is told apart from the bug."""
    return [] if diff.document["baseline"]["suppressed"] > 0 else ["nothing was found to be noise"]


def shown(path: Path) -> str:
    """A path below the repository as one types it there."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
