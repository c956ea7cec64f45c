"""200 random pairs of recordings under random flags: the same document, the same table, the same flamegraph."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from . import recordings
from .conftest import Oracle, Ours
from .recordings import Event, Recording

PAIRS = 200


def flags(rng: random.Random) -> list[str]:
    """Some of the flags that change the document."""
    out: list[str] = []

    def sometimes(chance: float, *words: str) -> None:
        if rng.random() < chance:
            out.extend(words)

    sometimes(0.4, "--values")
    sometimes(0.3, "--lookahead", rng.choice(["0", "1", "2", "5", "31", "33", "100", "1000"]))
    sometimes(0.2, "--limit", rng.choice(["1", "2", "10", "1000"]))
    sometimes(0.3, "--continue-after-path")
    sometimes(0.2, "--cross-gpu")
    sometimes(0.1, "--force")
    sometimes(0.3, "--ignore-active-mask")
    sometimes(0.3, "--max-allowed-divergences", rng.choice(["0", "1", "5", "100"]))
    sometimes(0.1, "--warps", rng.choice(["0-10,15", "1", "0,2-3,x", ""]))
    sometimes(0.1, "--filter-kind", rng.choice(["Branch", "path, ExtraEvents", "value", "bogus,ActiveMask"]))
    sometimes(0.1, "--filter-sites", rng.choice(["0x1000,1011", "1022", "zz"]))
    return out


def site_map(rng: random.Random, path: Path, rename: dict[int, int] | None = None) -> Path:
    """A site map of some of the generator's sites. A place that two sites of A share is left out: there the binary's hash table
    decides, differently from run to run.
    """
    rows = []
    for ordinal, site in enumerate(recordings.SITES):
        number = rename[site] if rename else site
        row: dict[str, Any] = {
            "site_id": number,
            "filename": rng.choice(["kernel.cu", "a,b.cu", 'quo"te.cu', "größe.cu"]),
            "function": f"f{ordinal % 3}",
            "line": rng.randint(0, 300),
            "column": rng.randint(0, 80),
            "event_type": ordinal % 2,
            "ordinal": ordinal,
        }
        if rng.random() < 0.1:
            del row["ordinal"]
        if rng.random() < 0.9:
            rows.append(row)
    path.write_text(json.dumps(rows))
    return path


def renamed(recording: Recording, rename: dict[int, int]) -> Recording:
    warps = tuple(tuple(replace(one, site=rename.get(one.site, one.site)) for one in warp) for warp in recording.warps)
    return replace(recording, warps=warps)


def grouped(path: Path) -> tuple[list[float], list[str], dict[str, list[dict[str, Any]]]]:
    """A flamegraph with what the binary's hash table decides taken out: times apart, slots by the site that they belong to."""
    events = json.loads(path.read_text())["traceEvents"]
    times = [event.pop("ts") for event in events]
    slots: dict[str, list[dict[str, Any]]] = {}
    others = []
    for event in events:
        if event["ph"] == "X":
            slots.setdefault(event["args"]["site_id"], []).append(event)
        else:
            others.append(json.dumps(event))
    return times, sorted(others), slots


def compare(oracle: Oracle, ours: Ours, a: Path, b: Path, asked: list[str]) -> int:
    """How many divergences both found."""
    where = a.parent
    files = {who: (where / f"{who}.csv", where / f"{who}.json") for who in ("theirs", "ours")}
    outputs = {who: ["--csv", str(csv), "--export-flamegraph", str(flame)] for who, (csv, flame) in files.items()}
    theirs, mine = oracle(a, b, [*asked, *outputs["theirs"]]), ours(a, b, [*asked, *outputs["ours"]])
    assert mine.refused == theirs.refused, (mine.why, theirs.why)
    if theirs.refused:
        return 0
    assert mine.text == theirs.ordered
    assert mine.passed == theirs.passed
    assert files["ours"][0].read_bytes() == files["theirs"][0].read_bytes()
    assert grouped(files["ours"][1]) == grouped(files["theirs"][1])
    return int(mine.document["total_divergences"])


@pytest.mark.parametrize("seed", range(PAIRS))
def test_pairs_give_the_same_documents(seed: int, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    rng = random.Random(1000 + seed)
    a, b = recordings.pair(seed)
    asked = flags(rng)
    if rng.random() < 0.3:
        asked += ["--map", str(site_map(rng, tmp_path / "map.json"))]
    if rng.random() < 0.2:
        rename = dict(zip(recordings.SITES, rng.sample(range(0x900, 0x1200), len(recordings.SITES)), strict=True))
        b = renamed(b, rename)
        remap_a, remap_b = tmp_path / "a.json", tmp_path / "b.json"
        asked += ["--remap-a", str(site_map(rng, remap_a)), "--remap-b", str(site_map(rng, remap_b, rename))]
    compare(oracle, ours, a.write(tmp_path / "a.prlx"), b.write(tmp_path / "b.prlx"), asked)


def test_the_pairs_are_worth_comparing() -> None:
    differing = sum(a.warps != b.warps for a, b in map(recordings.pair, range(PAIRS)))
    flagged = {a.flags for a, _ in map(recordings.pair, range(PAIRS))}
    assert differing > PAIRS // 3
    assert len(flagged) >= 6


@pytest.mark.parametrize("seed", range(40))
def test_warps_of_other_sizes(seed: int, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    """Across architectures warps are paired by their first thread; the events of two narrow ones run one behind the other."""
    rng = random.Random(seed)
    a, b = recordings.pair(seed)
    shuffled = list(b.warps)
    rng.shuffle(shuffled)
    b = replace(
        b,
        warps=tuple(shuffled[: rng.randint(0, len(shuffled))]),
        arch=rng.choice([0, 90, 906, 0xFFF, 0x1000, 0x1100, 0xFFFFFFFF]),
        kernel=rng.choice([a.kernel, "another"]),
        grid=rng.choice([a.grid, (9, 2, 1)]),
        block=rng.choice([a.block, (64, 1, 1)]),
        warps_per_block=rng.choice([0, 1, 2]),
    )
    if rng.random() < 0.5:
        a, b = b, a
    asked = flags(rng)
    asked += [] if "--cross-gpu" in asked else ["--cross-gpu"]
    compare(oracle, ours, a.write(tmp_path / "a.prlx"), b.write(tmp_path / "b.prlx"), asked)


def test_a_long_pair(oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    """64 full buffers, loops of ten sites, a hundred edits per warp: thousands of divergences."""
    rng = random.Random(9)
    warps = [recordings.program(rng, 4096) for _ in range(64)]
    edited = [recordings.edited(rng, warp, 100, 60) for warp in warps]
    a = Recording(warps=tuple(warps), grid=(64, 1, 1), capacity=4096)
    b = replace(a, warps=tuple(edited))
    found = compare(
        oracle, ours, a.write(tmp_path / "a.prlx"), b.write(tmp_path / "b.prlx"), ["--values", "--continue-after-path"]
    )
    assert found > 10_000


def test_kinds_of_events_that_disagree(oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    """Only the kind on side A decides what is a branch, and directions other than 0 and 1 are compared like any."""
    kinds, directions = [0, 1, 2, 5, 6, 200], [0, 1, 2, 255]
    events = [
        Event(site=n, kind=kind, dir=way) for n, (kind, way) in enumerate((k, d) for k in kinds for d in directions)
    ]
    other = [
        replace(one, kind=kind, dir=way)
        for one, (kind, way) in zip(events, ((k, d) for d in directions for k in kinds), strict=True)
    ]
    a, b = Recording(warps=(tuple(events),)), Recording(warps=(tuple(other),))
    assert compare(oracle, ours, a.write(tmp_path / "a.prlx"), b.write(tmp_path / "b.prlx"), []) > 0


@pytest.mark.parametrize("flag", [None, "--force", "--cross-gpu"])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"kernel": "another"},
        {"name_hash": 7},
        {"grid": (2, 1, 1)},
        {"block": (32, 2, 1)},
        {"slots": 3},
        {"warps_per_block": 9},
        {"capacity": 9},
        {"arch": 90},
        {"sample_rate": 8},
    ],
    ids=lambda change: "-".join(change) or "nothing",
)
def test_what_belongs_together(
    change: dict[str, Any], flag: str | None, oracle: Oracle, ours: Ours, tmp_path: Path
) -> None:
    """Both refuse the same pairs, and ours says the same words."""
    first = Recording(warps=((Event(1), Event(2)),))
    a = first.write(tmp_path / "a.prlx")
    b = replace(first, warps=((Event(1), Event(2, dir=1)),), **change).write(tmp_path / "b.prlx")
    asked = [flag] if flag else []
    compare(oracle, ours, a, b, asked)
    theirs, mine = oracle(a, b, asked), ours(a, b, asked)
    if theirs.refused:
        assert mine.why.startswith("IncompatibleTracesError")
        assert theirs.why.splitlines()[0].removeprefix("Error: ") in mine.why
