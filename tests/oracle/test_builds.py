"""Two builds of one kernel whose lines moved by one to ten: the truth is one divergence, and original prlx 0.5 says so."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from prlx import _core

from .conftest import Oracle
from .recordings import ATOMIC, BRANCH, GLOBAL_STORE, Event, Recording, program

KINDS = [BRANCH] * 6 + [ATOMIC, GLOBAL_STORE]


@dataclass(frozen=True)
class Place:
    """Where a site is in the source, and which of its function and kind it is."""

    function: str
    line: int
    column: int
    kind: int
    ordinal: int

    @property
    def id(self) -> int:
        """The id of format v1: FNV-1a of 32 bits over the location."""
        value = 2166136261
        for byte in f"k.cu:{self.function}:{self.line}:{self.column}:{self.kind}".encode():
            value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
        return value


def places(rng: random.Random, count: int) -> list[Place]:
    """Sites on neighbouring lines, as in a body of many similar statements."""
    out: list[Place] = []
    line, seen = 10, dict[tuple[str, int], int]()
    function = "f"
    for _ in range(count):
        line += rng.choice([1, 1, 1, 1, 2, 3])
        if rng.random() < 0.04:
            function, line = f"f{line}", line + 8
        kind = rng.choice(KINDS)
        ordinal = seen.get((function, kind), 0)
        seen[function, kind] = ordinal + 1
        out.append(Place(function, line, rng.choice([5, 5, 5, 9]), kind, ordinal))
    return out


def write_map(path: Path, sites: list[Place]) -> Path:
    rows = [
        {"site_id": s.id, "filename": "k.cu", "function": s.function, "line": s.line, "column": s.column}
        | {"event_type": s.kind, "ordinal": s.ordinal}
        for s in sites
    ]
    path.write_text(json.dumps(rows))
    return path


def run_of(rng: random.Random, sites: list[Place], warps: int) -> tuple[tuple[Event, ...], ...]:
    """What warps pass, as numbers of sites in place of ids."""
    out = []
    for _ in range(warps):
        walk = program(rng, 300)
        numbers = [rng.randrange(len(sites)) for _ in range(60)]
        out.append(tuple(replace(e, site=(n := numbers[i % 60]), kind=sites[n].kind) for i, e in enumerate(walk)))
    return tuple(out)


def recorded(events: tuple[tuple[Event, ...], ...], sites: list[Place]) -> Recording:
    warps = tuple(tuple(replace(e, site=sites[e.site].id) for e in warp) for warp in events)
    return Recording(warps=warps, grid=(len(warps), 1, 1), capacity=400)


def with_one_branch_turned(rng: random.Random, events: tuple[tuple[Event, ...], ...]) -> tuple[tuple[Event, ...], ...]:
    warp, at = rng.choice([(w, i) for w, es in enumerate(events) for i, e in enumerate(es) if e.kind == BRANCH])
    changed = list(events[warp])
    changed[at] = replace(changed[at], dir=1 - changed[at].dir)
    return (*events[:warp], tuple(changed), *events[warp + 1 :])


@pytest.mark.parametrize("shift", range(1, 11))
@pytest.mark.parametrize("seed", range(3))
def test_one_difference_stays_one_when_lines_move(seed: int, shift: int, oracle: Oracle, tmp_path: Path) -> None:
    rng = random.Random(100 * seed + shift)
    before = places(rng, rng.choice([12, 30, 60]))
    start = 0 if seed == 0 else rng.choice(before).line  # the whole file, or from a line inside a function on
    after = [replace(s, line=s.line + shift) if s.line >= start else s for s in before]
    events = run_of(rng, before, 6)
    a = recorded(events, before).write(tmp_path / "a.prlx")
    b = recorded(with_one_branch_turned(rng, events), after).write(tmp_path / "b.prlx")
    map_a, map_b = write_map(tmp_path / "a.json", before), write_map(tmp_path / "b.json", after)

    truth = oracle(a, b, ["--remap-a", map_a, "--remap-b", map_b]).document["total_divergences"]
    found = _core.run("diff", {"a": [str(a)], "b": [str(b)], "site_map": str(map_a), "site_map_b": str(map_b)})
    assert truth == 1
    assert found["total_divergences"] == 1, found["warnings"]
    assert found["first"]["kind"] == "Branch"


def test_a_new_line_of_code_is_new_and_the_others_stay_themselves(tmp_path: Path) -> None:
    """Where the original is lost: a new branch moves every ordinal after it."""
    rng = random.Random(7)
    before = places(rng, 40)
    at = 15
    new = replace(before[at], kind=BRANCH, column=13)
    later = [replace(s, line=s.line + 1, ordinal=s.ordinal + (s.kind == BRANCH)) for s in before[at:]]
    after = [*before[:at], new, *later]
    events = run_of(rng, before, 6)
    moved = tuple(tuple(replace(e, site=e.site + (e.site >= at)) for e in warp) for warp in events)
    a = recorded(events, before).write(tmp_path / "a.prlx")
    b = recorded(moved, after).write(tmp_path / "b.prlx")
    map_a, map_b = write_map(tmp_path / "a.json", before), write_map(tmp_path / "b.json", after)
    found = _core.run("diff", {"a": [str(a)], "b": [str(b)], "site_map": str(map_a), "site_map_b": str(map_b)})
    assert found["total_divergences"] == 0
    assert found["builds"]["only_b"] == 1
