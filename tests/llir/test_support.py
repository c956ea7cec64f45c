"""What is recorded where: the tables of ``docs/concepts/recording-support.md`` are what was found.

The newest Triton in ``make test``, and of its targets two; with ``PRLX_TRITON_ALL`` all of them.
``PRLX_UPDATE_TABLES=1`` writes what is found.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from simulator.conftest import HERE as SIMULATOR
from simulator.conftest import ROOT, VERSIONS, python, require

from .cases import ALL as TARGETS

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs/concepts/recording-support.md"
WHOLE = bool(os.environ.get("PRLX_TRITON_ALL"))
NEWEST = "3.9.0"
KERNELS = ("masked_add", "branches", "counts")
WAYS = ("all sites", "branches alone", "clean")
SAMPLE = ("sm_90", "gfx942")


def rows(heading: str) -> list[list[str]]:
    """The cells of a table of the page, the heading first."""
    found = re.search(rf"^## {heading}\n.*?((?:^\|[^\n]*\n)+)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    return [lines[0], *lines[2:]]


def written(heading: str, cells: dict[tuple[str, str], str]) -> None:
    """Hold cells, by their row and column, against a table of the page; or put them there."""
    head, *lines = rows(heading)
    if os.environ.get("PRLX_UPDATE_TABLES"):
        for (row, column), text in cells.items():
            next(line for line in lines if line[0] == row)[head.index(column)] = text
        made = [head, ["---"] * len(head), *lines]
        text = "".join(f"| {' | '.join(line)} |\n" for line in made)
        whole = PAGE.read_text()
        PAGE.write_text(
            re.sub(rf"(^## {heading}\n.*?)(?:^\|[^\n]*\n)+", lambda m: m[1] + text, whole, count=1, flags=re.M | re.S)
        )
        return
    wrong = {
        at: (next(line for line in lines if line[0] == at[0])[head.index(at[1])], text)
        for at, text in cells.items()
        if next(line for line in lines if line[0] == at[0])[head.index(at[1])] != text
    }
    assert not wrong, f"{PAGE.name} says, and what is found (PRLX_UPDATE_TABLES=1 writes it): {wrong}"


@pytest.mark.parametrize("version", VERSIONS if WHOLE else (NEWEST,))
def test_what_recordings_hold_by_capture(version: str) -> None:
    ran = python(require(version), SIMULATOR / "run_support.py")
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [row["capture"] for row in found] == ["observed", "instrumented"]
    short = version.rpartition(".")[0]
    cells = {(what, f"{short} {row['capture']}"): text for row in found for what, text in row["found"].items()}
    assert len(cells) >= 26
    written("On the simulator", cells)


@pytest.mark.parametrize("version", VERSIONS if WHOLE else (NEWEST,))
def test_kernels_that_record_assemble_for_gpus(version: str, tmp_path: Path) -> None:
    triton, short = require(version), version.rpartition(".")[0]
    targets, kernels = (TARGETS, KERNELS) if WHOLE else (SAMPLE, KERNELS[:1])
    words = ("--only", ",".join(kernels), "--targets", ",".join(targets))
    cache = str(ROOT / "build/llir/cache")
    made = python(triton, HERE / "compile.py", "--every", *words, tmp_path, TRITON_CACHE_DIR=cache)
    compiled = [json.loads(line) for line in made.stdout.splitlines() if line.startswith("{")]
    assert len(compiled) == len(targets) * len(kernels), made.stderr[-2000:]
    refused = {(row["case"], row["target"]) for row in compiled if "error" in row}
    ran = python(triton, HERE / "assemble.py", *words, tmp_path)
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert len(found) == len(compiled) - len(refused), ran.stderr[-2000:]
    cells = {}
    for target in targets:
        said = {WAYS[row["way"]] if "error" not in row else "refused" for row in found if row["target"] == target}
        said |= {"not compiled" for case, at in refused if at == target}
        cells[target, short] = ", ".join(sorted(said))
    written("For GPUs", cells)


def test_every_version_and_target_has_its_cells() -> None:
    """None is forgotten, and no cell is empty: what was not found is said."""
    head, *lines = rows("On the simulator")
    assert head[1:] == [
        f"{v} {capture}" for v in ("3.5", "3.6", "3.7", "3.8", "3.9") for capture in ("observed", "instrumented")
    ]
    assert all(cell in ("yes", "no", "refused") for line in lines for cell in line[1:])
    head, *lines = rows("For GPUs")
    assert (head[1:], [line[0] for line in lines]) == (["3.5", "3.6", "3.7", "3.8", "3.9"], list(TARGETS))
    assert all(cell and cell != "?" for line in lines for cell in line[1:])
