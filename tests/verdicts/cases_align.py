"""What align says where evidence is absent: its trace is written, and is no aligned one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from .cases_timeline import P4
from .lacks import Case

TRACE = P4 / "node1/node1.xplane.pb"


def aligning(trace: bytes, probes: str, *words: str) -> Callable[[Path], list[str]]:
    """Node 1 of the example with other bytes, by a file of probes with another text."""

    def make(folder: Path) -> list[str]:
        (folder / "node1.xplane.pb").write_bytes(trace)
        (folder / "probes.jsonl").write_text(probes)
        return ["align", "node1.xplane.pb", "--probes", "probes.jsonl", "-o", "out.pb", *words]

    return make


def of_another_node(folder: Path) -> list[str]:
    """A trace of node 9, which no probe knows."""
    shutil.copyfile(TRACE, folder / "node9.xplane.pb")
    return ["align", "node9.xplane.pb", "--probes", str(P4 / "probes_node0.jsonl"), "-o", "out.pb"]


def by_wall_clocks(folder: Path) -> list[str]:
    """A trace whose wall clock is taken as it is: nobody has bounded it."""
    shutil.copyfile(TRACE, folder / "node1.xplane.pb")
    return ["align", "node1.xplane.pb", "--method", "wall", "-o", "out.pb"]


WHOLE = TRACE.read_bytes()
PROBES = (P4 / "probes_node0.jsonl").read_text()
FIRST = PROBES.splitlines(keepends=True)[0]

CASES = [
    Case("align", "empty", aligning(b"", PROBES), "is empty"),
    Case("align", "one side empty", aligning(WHOLE, ""), "is empty"),
    Case("align", "nothing of the kind", by_wall_clocks, "not aligned"),
    Case("align", "one repetition", aligning(WHOLE, FIRST), "lie outside the clock readings"),
    Case("align", "truncated", aligning(WHOLE[:20000], PROBES, "--salvage"), "cut and salvaged"),
    Case("align", "one missing", of_another_node),
    Case("align", "unknown values", aligning(WHOLE, FIRST.replace('"t1":', '"t1":0,"was":')), "t1"),
]

NONE: dict[tuple[str, str], str] = {}
