"""Random sessions: the same document of the launches, byte for byte, broken recordings included."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from . import recordings
from .conftest import Oracle, Ours
from .recordings import COMPRESS, Event, Recording

KERNELS = ["matmul", "softmax", "größe", 'quo"te']


def recording(rng: random.Random, kernel: str) -> Recording:
    warps = tuple(recordings.program(rng, rng.choice([0, 3, 20])) for _ in range(rng.choice([1, 2])))
    return Recording(warps=warps, kernel=kernel, grid=(len(warps), 1, 1), flags=rng.choice([0, COMPRESS]))


def save(directory: Path, launches: list[tuple[int, Recording]], rng: random.Random, *, damage: float = 0.0) -> Path:
    """Write a session with its manifest; some recordings are missing, cut, or of another kernel."""
    directory.mkdir()
    rows: list[dict[str, Any]] = []
    for position, (number, one) in enumerate(launches):
        name = f"launch_{position}.prlx"
        rows.append(
            {"launch": number, "kernel": one.kernel, "file": name, "grid": one.grid, "block": one.block, "extra": 1}
        )
        data = one.encode()
        if rng.random() < damage:
            what = rng.choice(["missing", "cut", "short", "version", "magic", "zstd", "directory", "other"])
            if what == "missing":
                continue
            if what == "directory":
                (directory / name).mkdir()
                continue
            if what == "cut":
                data = data[: rng.randint(160, len(data) - 1)]
            elif what == "short":
                data = data[: rng.randint(0, 159)]
            elif what == "version":
                data = data[:8] + b"\x07" + data[9:]
            elif what == "magic":
                data = b"\x01" + data[1:]
            elif what == "zstd":
                data = replace(one, flags=0).encode()
                data = data[:12] + b"\x02" + data[13:]
            else:
                data = replace(one, kernel="other").encode()
        (directory / name).write_bytes(data)
    (directory / "session.json").write_text(json.dumps(rows))
    return directory


def edited(rng: random.Random, launches: list[tuple[int, Recording]]) -> list[tuple[int, Recording]]:
    out = list(launches)
    for _ in range(rng.choice([0, 1, 3])):
        at = rng.randint(0, max(0, len(out) - 1))
        match rng.choice(["insert", "delete", "change", "number", "grid"]):
            case "insert":
                out.insert(at, (at, recording(rng, rng.choice(KERNELS))))
            case "delete" if out:
                del out[at]
            case "change" if out:
                number, one = out[at]
                out[at] = (number, replace(one, warps=tuple(recordings.edited(rng, warp, 2, 5) for warp in one.warps)))
            case "number" if out:
                out[at] = (rng.randint(0, 3), out[at][1])
            case "grid" if out:
                out[at] = (out[at][0], replace(out[at][1], grid=(7, 1, 1)))
    return out


def asked(rng: random.Random) -> list[str]:
    out = ["--session"]
    for words in (
        ["--values"],
        ["--force"],
        ["--limit", "1"],
        ["--lookahead", "2"],
        ["--continue-after-path"],
        ["--max-allowed-divergences", rng.choice(["1", "4", "100"])],
        ["--ignore-active-mask"],
        ["--warps", "7"],
        ["--filter-kind", "Value"],
        ["--cross-gpu"],
    ):
        if rng.random() < 0.2:
            out += words
    return out


def at_first_sight(mine: Any, theirs: Any) -> str:
    """Our document; a launch whose headers disagree too is one whose events the binary could not inflate before it came to
    that. We look at the headers first.
    """
    for my, their in zip(mine["kernel_results"], theirs["kernel_results"], strict=True):
        if "mismatch" in my.get("error", "") and their.get("error") == "Failed to decompress zstd-compressed trace":
            my["error"] = their["error"]
    return json.dumps(mine, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("seed", range(60))
def test_sessions_give_the_same_document(seed: int, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    rng = random.Random(seed)
    launches = [(n, recording(rng, rng.choice(KERNELS))) for n in range(rng.choice([0, 1, 4, 9]))]
    damage = rng.choice([0.0, 0.0, 0.3])
    a = save(tmp_path / "a", launches, rng, damage=damage)
    b = save(tmp_path / "b", edited(rng, launches), rng, damage=damage)
    flags = asked(rng)
    theirs, mine = oracle(a, b, flags), ours(a, b, flags)
    assert at_first_sight(mine.document, theirs.document) == theirs.ordered
    assert json.dumps(mine.document, indent=2, ensure_ascii=False) == mine.text
    assert mine.passed == theirs.passed


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "{}",
        "[1]",
        "[{}]",
        "null",
        '[{"launch":-1,"kernel":"f","file":"a","grid":[1,1,1],"block":[1,1,1]}]',
        '[{"launch":0,"kernel":"f","file":"a","grid":[1,1],"block":[1,1,1]}]',
        '[{"launch":4294967296,"kernel":"f","file":"a","grid":[1,1,1],"block":[1,1,1]}]',
        '[{"launch":0,"kernel":"f","file":"a","grid":[1,1,1]}]',
        '[{"launch":0,"kernel":"f","grid":[1,1,1],"block":[1,1,1]}]',
        '[{"launch":0,"file":"a","grid":[1,1,1],"block":[1,1,1]}]',
        '[{"kernel":"f","file":"a","grid":[1,1,1],"block":[1,1,1]}]',
        '[{"launch":0.5,"kernel":"f","file":"a","grid":[1,1,1],"block":[1,1,1]}]',
        "[] []",
        "[",
    ],
)
def test_manifests_that_both_refuse(manifest: str, oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    good = save(tmp_path / "good", [(0, Recording(warps=((Event(1),),)))], random.Random(0))
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "session.json").write_text(manifest)
    for a, b in ((good, bad), (bad, good)):
        assert oracle(a, b, ["--session"]).refused
        assert ours(a, b, ["--session"]).why.startswith("TraceFormatError")


def test_recordings_outside_the_session_are_refused(oracle: Oracle, ours: Ours, tmp_path: Path) -> None:
    """A deliberate difference: the binary follows a manifest wherever it points."""
    good = save(tmp_path / "good", [(0, Recording(warps=((Event(1),),)))], random.Random(0))
    bad = save(tmp_path / "bad", [(0, Recording(warps=((Event(1),),)))], random.Random(0))
    row = json.loads((good / "session.json").read_text())[0]
    (bad / "session.json").write_text(json.dumps([row | {"file": "../good/launch_0.prlx"}]))
    assert oracle(good, bad, ["--session"]).document["status"] == "identical"
    result = ours(good, bad, ["--session"]).document["kernel_results"][0]
    assert result["status"] == "error"
    assert "not inside the session" in result["error"]
