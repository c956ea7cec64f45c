"""Runs the corpus twice, watched and recording by itself, and prints a JSON document a case: results, events, what has no pair.

PYTHONPATH=build/triton/3.9.0 python run_recorder.py DIRECTORY [NAME...]
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


def launched(case: Any, capture: Any, path: Path) -> tuple[dict[str, bytes], list[Any]]:
    """The arrays after a launch and its simulations."""
    arrays = case.arrays(np.random.default_rng(0))
    with prlx.enable(device="simulator", capture=capture, output=path, overwrite=True, progress=False) as seen:
        case.launch(arrays)
    return {name: array.tobytes() for name, array in arrays.items()}, list(seen.simulations)


def columns(trace: Any, *names: str) -> list[list[Any]]:
    """Columns of events as lists; texts by their words."""
    found = []
    for name in names:
        column = trace.events.column(name)
        words = column.dictionary() if column.type == "string" else None
        values = column.values.tolist()
        found.append(values if words is None else [words[code] for code in values])
    return found


Sequences = dict[str, dict[int, list[tuple[int, int, int]]]]


def by_site(trace: Any) -> Sequences:
    """Active lanes, taken lanes and value of every event, by site and warp, in order."""
    sites: Sequences = collections.defaultdict(lambda: collections.defaultdict(list))
    for warp, site, active, taken, value in zip(
        *columns(trace, "warp", "site", "active", "taken", "value"), strict=True
    ):
        sites[site][warp].append((active, taken, value))
    return sites


def lanes(sequences: dict[int, list[tuple[int, int, int]]], *, other: bool) -> dict[tuple[int, int], list[bool]]:
    """What each lane decided, in its order; the other way round where a compiler turned the question."""
    found: dict[tuple[int, int], list[bool]] = collections.defaultdict(list)
    for warp, events in sequences.items():
        for active, taken, _value in events:
            for lane in range(32):
                if active >> lane & 1:
                    found[warp, lane].append(bool(taken >> lane & 1) != other)
    return found


def places(trace: Any) -> dict[str, tuple[str, str]]:
    """Kind and location of sites by their keys, without directories: a kernel in a cache has those that it was compiled in."""
    columns = [trace.sites.column(name) for name in ("site", "kind", "location")]
    rows = zip(*([column.dictionary()[code] for code in column.values.tolist()] for column in columns), strict=True)
    return {site: (kind, location.rpartition("/")[2]) for site, kind, location in rows}


def hashes(trace: Any) -> dict[str, str]:
    """The hash of the code of sites by their keys."""
    site, code = (trace.sites.column(name) for name in ("site", "code"))
    rows = zip(*([column.dictionary()[n] for n in column.values.tolist()] for column in (site, code)), strict=True)
    return dict(rows)


def paired(a: Any, b: Any) -> dict[str, Any]:
    """How many events of the recording kernel are those of the watched one, lane by lane: under one key, or at one place.

    And of the watched ones that have no event under their key: why.
    """
    watched, recorded, place_a, place_b = by_site(a), by_site(b), places(a), places(b)
    free: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for site in watched:
        free[place_a[site]].append(site)
    counts: dict[str, Any] = dict.fromkeys(("events", "by_key", "by_place", "by_mask", "by_value"), 0)
    left = collections.Counter[str]()
    keyed = set()

    def take(site: str, candidate: str) -> bool:
        """Whether two sites decide alike; then both are taken."""
        mine, theirs = recorded[site], watched[candidate]
        decided, outcome = (lanes(mine, other=False), lanes(mine, other=True)), lanes(theirs, other=False)
        if candidate not in free[place_a[candidate]] or outcome not in decided:
            return False
        free[place_a[candidate]].remove(candidate)
        turned = outcome != decided[0]
        same = {
            warp: [(active, active & ~taken if turned else taken, value) for active, taken, value in events]
            for warp, events in mine.items()
        }
        masks = [{w: [e[:2] for e in events] for w, events in part.items()} for part in (same, theirs)]
        total = sum(map(len, mine.values()))
        counts["by_key" if candidate == site else "by_place"] += total
        counts["by_mask"] += total if masks[0] == masks[1] else 0
        counts["by_value"] += total if same == dict(theirs) else 0
        return True

    for site, mine in recorded.items():
        counts["events"] += sum(map(len, mine.values()))
        if site in watched and take(site, site):
            keyed.add(site)
    for site, mine in recorded.items():
        if site not in keyed and not any(take(site, candidate) for candidate in list(free[place_b[site]])):
            left[place_b[site][1].rpartition("/")[2]] += sum(map(len, mine.values()))
    counts["left"] = dict(left)
    counts["more"] = sum(sum(map(len, watched[site].values())) for sites in free.values() for site in sites)
    counts["causes"] = causes(a, b, [site for site in watched if site not in keyed])
    counts["other"] = sum(
        sum(map(len, watched[one].values())) for one in watched if one in recorded and one not in keyed
    )
    return counts


def causes(a: Any, b: Any, sites: list[str]) -> dict[str, int]:
    """Why events of these watched sites have none under their key, by cause."""
    watched, place_a, place_b, code_a, code_b = by_site(a), places(a), places(b), hashes(a), hashes(b)
    there, functions = collections.defaultdict(set), {line.split(":")[1] for _, line in place_b.values()}
    for site, place in place_b.items():
        there[place].add(code_b[site])
    found = collections.Counter[str]()
    for site in sites:
        place = place_a[site]
        if place[1].split(":")[1] not in functions:
            why = "the function records nothing"
        elif place not in there:
            why = "the text decides nothing there"
        elif code_a[site] not in there[place]:
            why = "the code is another"
        else:
            why = "the same code is there more often"
        found[why] += sum(map(len, watched[site].values()))
    return dict(found)


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


def line_of(location: str) -> str:
    """A location without its directories, and without its column, which versions of Triton name otherwise."""
    return location.rpartition("/")[2].rpartition(":")[0]


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
    a, b = prlx.read_trace(watched, progress=False), prlx.read_trace(recorded, progress=False)
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
        **paired(a, b),
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
