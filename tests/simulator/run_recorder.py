"""Runs the corpus watched, recording by itself, and recording by itself while it is watched: a JSON document a case.

Results, events, which events have a partner, and by what rule the others have none.

PYTHONPATH=build/triton/3.9.0 python run_recorder.py DIRECTORY [NAME...]
"""

from __future__ import annotations

import collections
import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from partners import OTHER_VALUE, UNEXPLAINED, Events, Side, asked, counted, line_of, pairs, turned, why

import prlx
from prlx import _core

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")


def launched(case: Any, capture: Any, path: Path) -> tuple[dict[str, bytes], list[Any]]:
    """The arrays after a launch and its simulations."""
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(device="simulator", capture=capture, output=path, overwrite=True, progress=False) as seen:
        case.launch(arrays)
    return {name: array.tobytes() for name, array in arrays.items()}, list(seen.simulations)


@contextlib.contextmanager
def unprepared() -> Iterator[None]:
    """Kernels that record by themselves are launched as they are, without an arena, and the simulator records what it sees."""
    run = _core.run

    def watching(operation: str, request: dict[str, Any], **rest: Any) -> Any:
        if operation == "simulate_launch":
            record = {name: value for name, value in request["record"].items() if name != "instrumented"}
            request = {**request, "record": record}
        return run(operation, request, **rest)

    _core.run = watching
    try:
        yield
    finally:
        _core.run = run


def masks(events: dict[int, Events]) -> dict[int, list[tuple[int, int]]]:
    """Events without their values."""
    return {warp: [one[:2] for one in ones] for warp, ones in events.items()}


def numbers(events: dict[int, Events]) -> dict[int, list[int]]:
    """Values of events."""
    return {warp: [value for *_, value in ones] for warp, ones in events.items()}


def is_counter(mine: dict[int, list[int]], theirs: dict[int, list[int]]) -> bool:
    """Whether the values of each warp are those of one counter."""
    return all(counted(values, theirs[warp]) for warp, values in mine.items())


def compared(watched: Side, recorded: Side, own: Side) -> dict[str, Any]:
    """How many watched events have a partner, by what they have in common, or else by what rule; and what differs in pairs."""
    found, partners = collections.Counter[str](), pairs(watched, recorded)
    odd = []
    for site, (candidate, common) in partners.items():
        found[common] += watched.count([candidate])
        theirs = dict(watched.events[candidate])
        ways = [
            one for one in (dict(recorded.events[site]), turned(recorded.events[site])) if masks(one) == masks(theirs)
        ]
        if theirs in ways:
            continue
        if ways and (asked(site, candidate, watched, recorded, own) or is_counter(numbers(ways[0]), numbers(theirs))):
            found[OTHER_VALUE] += watched.count([candidate])
        else:
            odd.append([*recorded.place[site], watched.count([candidate])])
    for site in watched.events.keys() - {candidate for candidate, _ in partners.values()}:
        reason = why(site, watched, recorded, own)
        found[reason] += watched.count([site])
        if reason == UNEXPLAINED:
            odd.append([*watched.place[site], watched.count([site])])
    return {
        "found": dict(found),
        "odd": odd,
        "events": recorded.count(recorded.events),
    }


def machine_code(clean: Side, own: Side) -> dict[str, Any]:
    """Which sites of the clean machine code have none in the code that records that decides the same.

    At their line, or with their code at another line.
    """

    def decided(side: Side, site: str) -> tuple[str, str]:
        return side.place[site][0], min(str(sorted(one[site].items())) for one in (side.lanes, side.turned))

    left, free = list(clean.events), set(own.events)
    for same in (lambda side, site: line_of(side.place[site][1]), lambda side, site: side.code[site]):
        there = collections.defaultdict(list)
        for site in free:
            there[decided(own, site), same(own, site)].append(site)
        for site in list(left):
            if there[decided(clean, site), same(clean, site)]:
                free.discard(there[decided(clean, site), same(clean, site)].pop())
                left.remove(site)
    return {"clean": len(clean.events), "recorder": len(free), "gone": [clean.place[site] for site in left]}


CODED = {"branch": "decision", "predicate": "decision", "global-store": "store", "atomic": "atomic"}


def coded(a: Any, b: Any) -> dict[str, Any]:
    """How many watched sites compute, by the hash of their code, what a site of the recording kernel at their line computes."""
    sides = []
    for trace in (a, b):
        columns = [trace.sites.column(name) for name in ("kind", "location", "code", "text")]
        rows = zip(*([column.dictionary()[code] for code in column.values.tolist()] for column in columns), strict=True)
        sides.append([(CODED[kind], line_of(at), code, text) for kind, at, code, text in rows if kind in CODED])
    free = collections.Counter(one[:3] for one in sides[1])
    lines = {one[:2] for one in sides[1]}
    left = []
    for what, line, code, text in sides[0]:
        if free[what, line, code]:
            free[what, line, code] -= 1
        else:
            left.append(
                [what, line.rpartition("/")[2], text, "other code" if (what, line) in lines else "no such site"]
            )
    return {"sites": len(sides[0]), "agree": len(sides[0]) - len(left), "codes_left": left}


def stored(path: Path) -> tuple[dict[str, Any], Any]:
    """How much was stored and the hash of it, by kind and line of the statement and by array; and the digests of arrays."""
    outputs = prlx.read_trace(path, progress=False).document["outputs"]
    sums = {
        f"{one['kind']} {one['location'].rpartition('/')[2]} {one['array']}": [
            one["elements"],
            one["hash"],
            one["warps"],
        ]
        for one in outputs["stores"]
    }
    return sums, outputs["arrays"]


def differences(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """What two have under one name and not alike."""
    return {name: [a.get(name), b.get(name)] for name in {*a, *b} if a.get(name) != b.get(name)}


def row(case: Any, folder: Path) -> dict[str, Any]:
    watched, recorded = folder / f"{case.name}.observed.prlx", folder / f"{case.name}.instrumented.prlx"
    plain, before = launched(case, "observed", watched)
    own, after = launched(case, "instrumented", recorded)
    machine = folder / f"{case.name}.machine.prlx"
    with unprepared(), contextlib.redirect_stdout(sys.stderr):
        launched(case, "instrumented", machine)
    a, b, c = (prlx.read_trace(path, progress=False) for path in (watched, recorded, machine))
    return {
        "case": case.name,
        "same": plain == own,
        "means": b.header.means,
        "findings": [str(finding) for one in after for finding in one.findings],
        "instructions": [before[-1].instructions, after[-1].instructions],
        "watched": a.total_events,
        "notes": [str(note) for note in b.losses.notes] if hasattr(b.losses, "notes") else [],
        "stores": len(stored(watched)[0]),
        "stored": differences(stored(watched)[0], stored(recorded)[0]),
        "arrays": stored(watched)[1] == stored(recorded)[1],
        **machine_code(Side(a), Side(c)),
        **compared(Side(a), Side(b), Side(c)),
        **coded(a, b),
    }


def main() -> None:
    from corpus import CASES

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or CASES:
        try:
            print(json.dumps(row(CASES[name], folder)), flush=True)
        except Exception as error:
            print(json.dumps({"case": name, "error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
