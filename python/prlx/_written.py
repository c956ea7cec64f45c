"""What two versions of a program write: both are recorded on the way, and held against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._compare import diff_traces
from ._errors import PrlxError
from ._inputs import SUFFIX
from ._trial import try_statements

if TYPE_CHECKING:
    from ._simulation import Simulation

# Contents are for the distances that are shown, about as much a launch as a recording weighs without them; digests decide.
RECORDED: Mapping[str, Any] = {"mode": "control-flow", "outputs": "64KiB", "inputs": "64MiB"}
_MOST_INPUTS = 1 << 30  # bytes a side; what later launches were given is not kept


def within_bounds(folder: Path) -> Callable[[Simulation], None]:
    """What is to be called after each launch that is recorded to a folder: it drops inputs beyond the bound."""
    seen: set[Path] = set()
    room = _MOST_INPUTS

    def drop(_: Simulation) -> None:
        nonlocal room
        for path in folder.glob(f"*{SUFFIX}"):
            if path in seen:
                continue
            seen.add(path)
            room -= path.stat().st_size
            if room < 0:
                path.unlink()

    return drop


def written(a: Path, b: Path) -> dict[str, Any]:
    """Whether two recorded runs wrote the same; of the first launch that did not, which changed statement is why."""
    rest: dict[str, Any] = {"launches": 0, "kernel": "", "launch": -1, "explanation": None}
    try:
        found = try_statements(diff_traces(a, b, explain=True, force=True, progress=False), progress=False)
    except PrlxError as error:
        return {"outcome": "inconclusive", "why": str(error), **rest}
    document, conclusion = found.document, found.document["conclusion"]
    first: Mapping[str, Any] = {"kernel": document["a"].get("kernel", ""), "launch": 0, "diff": document}
    rest["launches"] = 1
    if "kernel_results" in document:
        rest["launches"] = len(document["kernel_results"])
        first = document["first"] or {"kernel": "", "launch": -1, "diff": {}}
    if conclusion["outcome"] == "differs":
        rest |= {"kernel": first["kernel"], "launch": first["launch"], "explanation": first["diff"].get("explanation")}
    return {"outcome": conclusion["outcome"], "why": conclusion["why"], **rest}
