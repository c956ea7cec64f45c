"""The thresholds that decide verdicts: where each stands, what measured it, and the tests that hold it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Room:
    """Thresholds of one file."""

    file: str
    names: tuple[str, ...]
    tests: tuple[str, ...]  # packages of Go
    measured: str  # on what, as a page of docs or a command says it


ROOMS = (
    Room(
        "core/straggler/lost.go",
        ("LostShare", "noiseShare", "noiseTimes", "noiseWindows", "leastAlike", "longBeginning", "blindBeginning",
         "mostOfAll", "farBeyond", "windowShare"),
        ("./core/straggler",),
        "[generated jobs](concepts/stragglers.md)",
    ),
    Room(
        "core/straggler/blame.go",
        ("draws", "aboveChance", "leastShare", "oneAtMost"),
        ("./core/straggler",),
        "[generated jobs](concepts/stragglers.md)",
    ),
    Room("core/straggler/state.go", ("togetherShare",), ("./core/straggler",), "[generated jobs](concepts/stragglers.md)"),
    Room(
        "core/straggler/ends.go",
        ("endsNear", "endsTimes", "endsWithin"),
        ("./core/straggler",),
        "[generated jobs](concepts/stragglers.md)",
    ),
    Room(
        "core/nccl/diagnosing/slow.go",
        ("slowTimes", "mostSlow", "leastSteps", "leastShare", "leastTimes", "leastOfJob", "leastChance", "leastEvents"),
        ("./core/nccl/diagnosing",),
        "[simulated jobs](nccl.md)",
    ),
    Room("core/nccl/diagnosing/stalls.go", ("silentNS",), ("./core/nccl/diagnosing",), "[simulated jobs](nccl.md)"),
    Room("core/nccl/diagnosing/diagnosing.go", ("stallNS",), ("./core/nccl/diagnosing",), "[simulated jobs](nccl.md)"),
    Room("core/nccl/dividing/comparing.go", ("leastShare",), ("./core/nccl/dividing",), "[simulated jobs](nccl.md)"),
    Room("core/nccl/dividing/tally.go", ("timesUsual",), ("./core/nccl/dividing",), "[simulated jobs](nccl.md)"),
    Room(
        "core/cycle/measuring/thresholds.go",
        ("outlierScore", "outlierChange", "outlierLeast", "driftP", "driftChange", "driftLeast", "driftSide"),
        ("./core/cycle", "./core/cycle/measuring"),
        "[generated sequences](concepts/cycles.md)",
    ),
    Room(
        "core/cycle/pairs/thresholds.go",
        ("ranksWeight", "tailsWeight", "meansWeight", "lateDeviations", "lateShare"),
        ("./core/cycle", "./core/cycle/pairs"),
        "[pairs of generated runs](commands/cycles.md)",
    ),
    Room(
        "core/diff/noisestat.go",
        ("noiseDoubt", "noiseTimes", "noiseUsual", "noiseSure", "noiseRich", "noiseOften", "noiseMeasured", "noiseMoved",
         "noiseSlips", "noiseBlind", "noiseWhere"),
        ("./core/diff",),
        "[generated kernels with noise](concepts/noise.md)",
    ),
    Room("core/diff/noisesize.go", ("noiseSize",), ("./core/diff",), "[generated kernels with noise](concepts/noise.md)"),
    Room("core/diff/noisemark.go", ("mostNoisePasses",), ("./core/diff",), "[generated kernels with noise](concepts/noise.md)"),
    Room("core/diff/explainrules.go", ("earnedPoints",), ("./core/diff",), "[bugs that others made](concepts/explain.md)"),
    Room(
        "core/clocks/offsets/frame.go",
        ("minContradictions", "doubtfulShare"),
        ("./core/clocks/offsets", "./core/clocks/precedence"),
        "[synthetic jobs](concepts/solving.md)",
    ),
    Room(
        "core/clocks/offsets/agree.go",
        ("agreeNS", "minEnds", "mostWrong", "endsApart"),
        ("./core/clocks/offsets", "./core/clocks/precedence"),
        "[synthetic jobs](concepts/solving.md)",
    ),
    Room(
        "core/clocks/offsets/wander.go",
        ("swingSeconds", "mostSwingPPB", "unseenPPB", "fewestChanges"),
        ("./core/clocks/offsets",),
        "[simulated clocks](concepts/bounds.md)",
    ),
)  # fmt: skip


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<head>(?:const )?\s*{name}(?: [a-z]\w*)?\s*=\s*)(?P<value>[\d][\d_.e+-]*)(?P<tail>.*)$", re.MULTILINE
    )


def text_of(file: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / file).read_text(encoding="utf-8")


def value_of(file: str, name: str) -> str:
    """The value of a constant, as its file writes it."""
    found = _pattern(name).findall(text_of(file))
    assert len(found) == 1, f"{file}: {name} is there {len(found)} times as a number"
    return found[0][1]


def with_value(file: str, name: str, value: str) -> str:
    """The text of a file in which a constant has another value."""
    return _pattern(name).sub(rf"\g<head>{value}\g<tail>", text_of(file))


def decides(file: str, name: str) -> str:
    """What a constant decides: the comment beside it, else the one before it."""
    lines = text_of(file).splitlines()
    at = next(i for i, line in enumerate(lines) if _pattern(name).match(line))
    if "//" in lines[at]:
        return lines[at].split("//", 1)[1].strip().split(": ")[0]
    above = []
    while at and lines[at - 1].strip().startswith("//"):
        at -= 1
        above.insert(0, lines[at].strip().removeprefix("//").strip())
    return re.sub(rf"^{name}:? (?:is )?", "", " ".join(above)).split(". ")[0].split(": ")[0].rstrip(".")
