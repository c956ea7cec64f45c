"""What ``prlx diff`` and ``prlx assert`` say of recordings that hold nothing, or not enough."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.kernel.recordings import softmax
from tests.simulator.conftest import NEEDED, ROOT, require, variables

from .lacks import Case

NEWEST = NEEDED[-1]
SCALED = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests/simulator")!r})
import numpy as np
import kernels

x = np.ones(64, np.float32) * float(sys.argv[1])
kernels.copy[(1,)](x, x.copy() * 0, BLOCK=64)
"""


def written(a: bytes | None, b: bytes | None) -> Callable[[Path], list[str]]:
    """Two files; None is a good recording."""

    def make(folder: Path) -> list[str]:
        for name, content in (("a.prlx", a), ("b.prlx", b)):
            softmax().write(folder / name)
            if content is not None:
                (folder / name).write_bytes(content)
        return ["a.prlx", "b.prlx"]

    return make


def without_events(folder: Path) -> list[str]:
    """Two recordings in which nothing happened."""
    for name in ("a.prlx", "b.prlx"):
        replace(softmax(), warps=[[] for _ in softmax().warps]).write(folder / name)
    return ["a.prlx", "b.prlx"]


def cut(folder: Path) -> list[str]:
    """The second file is half of the first."""
    softmax().write(folder / "a.prlx")
    whole = (folder / "a.prlx").read_bytes()
    (folder / "b.prlx").write_bytes(whole[: len(whole) // 2])
    return ["a.prlx", "b.prlx"]


def lost(folder: Path) -> list[str]:
    """Both recordings say that events are missing."""
    for name in ("a.prlx", "b.prlx"):
        replace(softmax(), dropped={2: 7}).write(folder / name)
    return ["a.prlx", "b.prlx"]


def digests(folder: Path) -> list[str]:
    """Arrays that differ, of which digests alone were recorded, and a tolerance."""
    folder_of_triton = require(NEWEST)
    (folder / "script.py").write_text(SCALED)
    for name, scale in (("a", "1.0"), ("b", "1.0000001")):
        words = [sys.executable, "-m", "prlx", "simulate", "--record", name, "script.py", scale]
        environment = {**os.environ, **variables(folder_of_triton)}
        subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True, timeout=120)
    return [str(next((folder / name).glob("*.prlx"))) for name in "ab"] + ["--tolerance", "rel=1e-5"]


MADE: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "empty": (written(b"", b""), "is empty"),
    "one side empty": (written(None, b""), "is empty"),
    "nothing of the kind": (without_events, "neither recording holds an event"),
    "truncated": (cut, ""),
    "one missing": (lost, "7 events were lost"),
    "unknown values": (digests, "a tolerance needs them"),
}
CASES = [
    Case(verb, lack, lambda folder, verb=verb, make=make: [verb, *make(folder)], says)  # type: ignore[misc]
    for verb in ("diff", "assert")
    for lack, (make, says) in MADE.items()
    if (verb, lack) != ("assert", "unknown values")
]
NONE = {
    (
        "diff",
        "one repetition",
    ): "two recordings are compared event by event: noise alone is a matter of chance, and says "
    "how many equal runs it needs (core/diff, noise_test.go and noisevalues_test.go)",
    ("assert", "one repetition"): "as diff",
    ("assert", "unknown values"): "as diff: it is the same comparison",
}
