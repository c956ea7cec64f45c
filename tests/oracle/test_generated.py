"""The recordings of bench/gentrace, written by the core: 500 files and 200 pairs with site maps, and sessions of launches."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prlx import _core

from .conftest import ROOT, Oracle, Ours
from .test_pairs import compare, flags


@pytest.fixture(scope="module")
def gentrace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None:
        pytest.skip("go is not there to build bench/gentrace")
    binary = tmp_path_factory.mktemp("bin") / "gentrace"
    subprocess.run(["go", "build", "-o", binary, "./bench/gentrace"], cwd=ROOT, check=True)
    return binary


@pytest.fixture(scope="module")
def many(gentrace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("many")
    subprocess.run([gentrace, "many", "-out", out, "-files", "500", "-pairs", "200"], check=True, capture_output=True)
    return out


def manifest(many: Path) -> dict[str, list[dict[str, Any]]]:
    (path,) = many.glob("*.json")
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text())
    return found


def test_generated_files_are_read_or_refused_alike(many: Path, oracle: Oracle, ours: Ours) -> None:
    wrong, refused = [], 0
    files = sorted((many / "files").glob("*.prlx"))
    for path in files:
        theirs, mine = oracle(path, path), ours(path, path)
        refused += theirs.refused
        if mine.refused != theirs.refused or (not mine.refused and mine.text != theirs.ordered):
            wrong.append((path.name, mine.why, theirs.why))
    assert wrong == []
    assert len(files) == 500
    assert 0 < refused < 250


def test_the_generator_knows_what_is_readable(many: Path, oracle: Oracle) -> None:
    rows = manifest(many)["files"]
    for row in rows[::5]:
        path = many / row["file"]
        assert oracle(path, path).refused == (not row["readable"]), row


def test_generated_pairs_give_the_same_documents(many: Path, oracle: Oracle, ours: Ours) -> None:
    rng = random.Random(4)
    found = []
    pairs = sorted((many / "pairs").glob("*_a.prlx"))
    for a in pairs:
        stem = a.name.removesuffix("_a.prlx")
        asked = flags(rng)
        if (sites := a.with_name(f"{stem}_sites.json")).exists():
            asked += ["--map", str(sites)]
        found.append(compare(oracle, ours, a, a.with_name(f"{stem}_b.prlx"), asked))
    assert len(found) == 200
    assert sum(n > 0 for n in found) > 50


@pytest.mark.parametrize("seed", range(4))
def test_generated_sessions_give_the_same_documents(
    seed: int, gentrace: Path, oracle: Oracle, ours: Ours, tmp_path: Path
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    line = ["session", "-format", "v1", "-out-a", a, "-out-b", b, "-seed", str(seed), "-inserted", "2", "-changed", "3"]
    subprocess.run([gentrace, *line], check=True, capture_output=True)
    theirs, mine = oracle(a, b, ["--session"]), ours(a, b, ["--session"])
    assert mine.text == theirs.ordered
    assert mine.document["kernel_results"] or mine.document["unmatched_a"]


@pytest.mark.parametrize("form", ["v1", "v2"])
@pytest.mark.parametrize("seed", range(6))
def test_our_own_matching_of_launches_is_the_truth(seed: int, form: str, gentrace: Path, tmp_path: Path) -> None:
    """Where original prlx 0.5 unmatches everything behind an inserted launch, alignment finds every pair and who differs."""
    a, b, truth = tmp_path / "a", tmp_path / "b", tmp_path / "truth.json"
    counts = {"-launches": 40, "-inserted": seed % 4, "-missing": seed % 3, "-changed": 1 + seed, "-seed": seed}
    line = [
        "session",
        "-format",
        form,
        "-manifest",
        "prlx" if seed % 2 else "v1",
        "-out-a",
        a,
        "-out-b",
        b,
        "-truth",
        truth,
    ]
    numbers = [str(word) for item in counts.items() for word in item]
    subprocess.run([gentrace, *line, *numbers], check=True, capture_output=True)
    pairs = json.loads(truth.read_text())["pairs"]
    found = _core.run("session_diff", {"a": [str(a)], "b": [str(b)]})
    assert [(row["index_a"], row["index_b"]) for row in found["kernel_results"]] == [
        (one["a"], one["b"]) for one in pairs
    ]
    differing = [row["index_a"] for row in found["kernel_results"] if row["status"] == "diverged"]
    assert differing == [one["a"] for one in pairs if one["differs"]]
    assert found["first"]["index_a"] == differing[0]
