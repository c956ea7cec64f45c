"""Runs kernels of the corpus watched and recording by themselves, with operands of every lane: one JSON document a case.

PYTHONPATH=build/triton/3.9.0 python run_values.py DIRECTORY NAME...
"""

from __future__ import annotations

import collections
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import prlx

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")

Held = dict[tuple[str, int], list[tuple[Any, ...]]]


def launched(case: Any, capture: Any, path: Path) -> tuple[dict[str, bytes], list[str]]:
    """The arrays after a launch that is recorded with values, and what the simulator found."""
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(
        device="simulator", capture=capture, output=path, mode="values", stores=True, overwrite=True, progress=False
    ) as seen:
        case.launch(arrays)
    findings = [str(finding) for one in seen.simulations for finding in one.findings]
    return {name: array.tobytes() for name, array in arrays.items()}, findings


def operands(trace: Any) -> Held:
    """By site and warp what the active lanes held, event by event: kind, lane, operands."""
    names = ("warp", "event", "site", "role", "lane", "lhs", "rhs", "in_active_lanes")
    columns = []
    table = trace._tables(["snapshots"])["snapshots"]
    for name in names:
        column = table.column(name)
        words = column.dictionary() if column.type == "string" else None
        columns.append([words[code] for code in column.values.tolist()] if words else column.values.tolist())
    held: Held = collections.defaultdict(list)
    for warp, event, site, role, lane, lhs, rhs, active in zip(*columns, strict=True):
        if active:
            held[site, warp].append((event, role, lane, lhs, rhs))
    for rows in held.values():  # events are numbered in each site alone: kernels that record have others between
        order = {event: i for i, event in enumerate(dict.fromkeys(row[0] for row in rows))}
        rows[:] = [(order[row[0]], *row[1:]) for row in rows]
    return held


def row(case: Any, folder: Path) -> dict[str, Any]:
    paths = [folder / f"{case.name}.{capture}.prlx" for capture in ("observed", "instrumented")]
    plain, _ = launched(case, "observed", paths[0])
    own, findings = launched(case, "instrumented", paths[1])
    watched, recorded = (prlx.read_trace(path, progress=False) for path in paths)
    a, b = operands(watched), operands(recorded)
    return {
        "case": case.name,
        "same": plain == own,
        "findings": findings,
        "watched": sum(map(len, a.values())),
        "recorded": sum(map(len, b.values())),
        "equal": sum(len(rows) for key, rows in a.items() if b.get(key) == rows),
        "roles": sorted({row[1] for rows in b.values() for row in rows}),
        "other": sorted({f"{key[0]}" for key in a if key in b and a[key] != b[key]}),
        "notes": [str(note) for note in recorded.losses.notes],
        "visits": max((row[0] + 1 for rows in b.values() for row in rows), default=0),
    }


def main() -> None:
    from corpus import CASES

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or CASES:
        print(json.dumps(row(CASES[name], folder)), flush=True)


if __name__ == "__main__":
    main()
