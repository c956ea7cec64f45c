"""A Triton kernel on a machine without a GPU: two runs recorded and compared, and a store out of bounds that is caught.

Run by ``make demo``. The script examples/laptop/softmax.py knows nothing of prlx. It runs as it should be, with a mask that
is one too short, and with one that is one too long; the mistakes are known, and this compares what prlx says with them. Exits
with 1 when they disagree.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import prlx

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = Path("examples/laptop/softmax.py")
LINES = (ROOT / SCRIPT).read_text().splitlines()


def main() -> int:
    """Print what a user sees, and check it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--output", type=Path, default=ROOT / "build" / "demo", help="default: build/demo")
    arguments.add_argument(
        "--triton", type=Path, help="a folder with triton in it; default: the newest under build/triton"
    )
    options = arguments.parse_args()
    out: Path = options.output.resolve()
    triton = options.triton or newest()
    if triton is None:
        print("demo: no Triton under build/triton; make demo installs it", file=sys.stderr)
        return 1
    (out / "right").parent.mkdir(parents=True, exist_ok=True)
    for name in ("right.prlx", "wrong.prlx"):
        (out / name).unlink(missing_ok=True)

    began = time.monotonic()
    right, wrong = out / "right.prlx", out / "wrong.prlx"
    codes = [
        run(triton, "simulate", "--record", right, SCRIPT),
        run(triton, "simulate", "--record", wrong, "-q", SCRIPT, "--slip", "-1"),
        run(triton, "diff", right, wrong),
        run(triton, "simulate", SCRIPT, "--slip", "1"),
    ]
    print(f"{time.monotonic() - began:.1f} s for the four, compiling included")
    failures = [*check_codes(codes), *check_diff(right, wrong)]
    for failure in failures:
        print(f"demo: not as promised: {failure}", file=sys.stderr)
    return 1 if failures else 0


def newest() -> Path | None:
    """The newest Triton that make has installed."""
    there = [path for path in (ROOT / "build" / "triton").glob("3.*") if (path / "triton").is_dir()]
    return max(there, default=None)


def run(triton: Path, *words: str | Path) -> int:
    """Print a command line and run it."""
    print(f"$ prlx {' '.join(shown(word) for word in words)}\n", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(triton), "NO_COLOR": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
    environment.setdefault("TRITON_CACHE_DIR", str(ROOT / "build" / "triton" / "cache" / "demo"))
    command = [sys.executable, "-m", "prlx", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    print(flush=True)
    return done.returncode


def line_of(text: str) -> int:
    """The line of the script that contains a text."""
    return next(number for number, line in enumerate(LINES, 1) if text in line)


def check_codes(codes: list[int]) -> list[str]:
    """Right and wrong runs end with 0, for both are legal; they differ; the third stores out of bounds."""
    return [] if codes == [0, 0, 1, 1] else [f"the exit codes are {codes}, expected [0, 0, 1, 1]"]


def check_diff(right: Path, wrong: Path) -> list[str]:
    """The first divergence is the mask, and the lane is the one of the last column."""
    first = prlx.diff_traces(right, wrong, progress=False).first
    want = line_of("inside = column")
    if first is None or f"softmax.py:softmax:{want}" not in first.location:
        return [f"the first divergence is at {first and first.location}, expected line {want}"]
    lanes = first.document["lanes"]
    return [] if len(lanes) == 1 else [f"lanes {lanes} differ, expected one"]


def shown(word: str | Path) -> str:
    """A path below the repository as one types it there."""
    path = Path(word)
    return str(path.relative_to(ROOT)) if path.is_absolute() and path.is_relative_to(ROOT) else str(word)


if __name__ == "__main__":
    if shutil.which("gcc") is None and shutil.which("cc") is None:
        print("demo: Triton wants a C compiler", file=sys.stderr)
    sys.exit(main())
