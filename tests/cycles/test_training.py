"""Phases of public recordings of training, against what their annotations say (``training.py``).

The recordings are those in ``PRLX_TEST_DATA``, without ``PRLX_TRAINING`` the small ones of them. ``PRLX_TRAINING`` names
folders with more, separated as in ``PATH``; ``:`` names none.
"""

from __future__ import annotations

import os
from pathlib import Path

import prlx

from .training import labelled, truth

PUBLIC = (
    "facebookresearch+HolisticTraceAnalysis__*.json.gz",
    "facebookresearch+param__*.json.gz",
    "pytorch+kineto__*.json*",
    "AMD-AGI+TraceLens__mi300__resnet*.json.gz",
    "amd+HPCTrainingExamples__*.json.gz",
)
SMALL = 800_000  # bytes of a recording that the ordinary tests read
SURE = 0.9


def recordings(data: Path) -> list[Path]:
    found = [path for pattern in PUBLIC for path in sorted((data / "kineto").glob(pattern))]
    if (more := os.environ.get("PRLX_TRAINING")) is None:
        return [path for path in found if path.stat().st_size < SMALL]
    for folder in filter(None, more.split(os.pathsep)):
        found += sorted(Path(folder).glob("*.json*"))
    return found


def judged(path: Path, *, ignore_annotations: bool) -> list[tuple[str, str, str, float, str]]:
    """Level, class, phase with its score, and the phase that the annotations say, of every class whose kernels they reach."""
    kernels = labelled(path)
    if not kernels:
        return []
    document = prlx.find_cycles(path, ignore_annotations=ignore_annotations, progress=False).document
    several = len(document["input"]["ranks"]) > 1
    zero = document["zero_ns"] - document["input"]["base_ns"]
    out = []
    for level in document["levels"]:
        for row in level["classes"]:
            windows = [
                (one["rank"] if several else 0, (zero + one["start_ns"]) / 1000 - 0.001, (zero + one["end_ns"]) / 1000)
                for one in row["borders"]
            ]
            want, _ = truth(kernels, windows)
            if want:
                out.append((level["name"], row["name"], row["phase"], row["phase_score"], want))
    return out


def test_phases_of_training_are_what_the_annotations_say(data):
    paths = recordings(data)
    told = right = steps = right_steps = programs = 0
    wrong = []
    for path in paths:
        rows = [(ignore, *row) for ignore in (False, True) for row in judged(path, ignore_annotations=ignore)]
        programs += bool(rows)
        for ignore, level, name, phase, score, want in rows:
            if phase == "unknown":
                continue
            told, right = told + 1, right + (phase == want)
            if level == "step":
                steps, right_steps = steps + 1, right_steps + (phase == want)
            if phase != want and (score >= SURE or level == "step"):
                wrong.append(f"{path.name}, ignore {ignore}: {name} is {phase} {score:.2f}, annotated as {want}")
    print(f"{programs} programs: {right} of {told} classes right, {right_steps} of {steps} steps")
    assert programs >= (3 if "PRLX_TRAINING" not in os.environ else 10)
    assert not wrong, "\n".join(wrong)
    assert right >= SURE * told
