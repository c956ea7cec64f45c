"""Kernels that record by themselves, against the same kernels watched: results bit for bit, decisions lane by lane."""

from __future__ import annotations

import collections
import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import HERE, ROOT, VERSIONS, python, require

NEWEST = "3.9.0"
SOME = VERSIONS if os.environ.get("PRLX_TRITON_ALL") else (NEWEST,)
PAGE = ROOT / "docs/concepts/recording.md"
# Kernels without any decision.
NO_DECISION = {"casts", "inline_asm", "bf16_f64", "noinline"}


@functools.cache
def compared(version: str, folder: Path) -> dict[str, dict]:
    """Every kernel of the corpus, watched and recording by itself, with one Triton."""
    ran = python(require(version), HERE / "run_recorder.py", folder)
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {row["case"]: row for row in rows}


@pytest.fixture(
    scope="module", params=[pytest.param(v, marks=() if v == NEWEST else pytest.mark.nightly) for v in VERSIONS]
)
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(version: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the recordings of one Triton are."""
    return tmp_path_factory.mktemp(f"recorder-{version}")


@pytest.fixture(scope="module")
def rows(version: str, folder: Path) -> dict[str, dict]:
    return compared(version, folder)


@pytest.mark.parametrize("version", [NEWEST])
def test_warps_pass_the_barriers_that_the_watched_kernel_has(version: str, tmp_path: Path) -> None:
    ran = python(require(version), HERE / "run_barriers.py", tmp_path)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert len(found) >= 37
    assert [row["case"] for row in found if row["watched"] != row["recorded"]] == []
    assert sum(len(lanes) for row in found for lanes in row["recorded"].values()) >= 1300


@pytest.mark.parametrize("version", SOME)
@pytest.mark.skipif(shutil.which("go") is None, reason="no Go: its test traps the recorder")
def test_every_call_of_the_recorder_is_in_the_arena(version: str, tmp_path: Path) -> None:
    """Go runs each launch again and notes what every call hands to the recorder: sites, active and taken lanes, values."""
    ran = python(require(version), HERE / "dump_launches.py", tmp_path, PRLX_ARENA="32MB")
    assert ran.returncode == 0, ran.stderr[-2000:]
    words = ["go", "test", "-count=1", "-v", "-run", "RecordedLaunchesHoldEveryCall", "./core/simulator/simulation"]
    environment = {**os.environ, "PRLX_RECORDED_LAUNCHES": str(tmp_path)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    found = re.search(r"trapped: (\d+) launches, (\d+) events of \d+ lanes", done.stdout)
    assert found is not None, done.stdout[-2000:]
    assert int(found[1]) >= 37
    assert int(found[2]) >= 45_000
    print(f"Triton {version}: {found[0]}")


# The masks of the loads and of the store are two compares that the clean machine code joins, and that are asked one by
# one where they are recorded.
JOINED = {"matmul": 3}


@pytest.mark.parametrize("version", SOME)
def test_machine_code_that_records_decides_as_the_clean_one(version: str, tmp_path: Path) -> None:
    """The simulator watches both: each site of the clean kernel has one at its line where every lane decides the same."""
    ran = python(require(version), HERE / "run_clean.py", tmp_path)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert len(found) >= 37
    assert sum(row["sites"] for row in found) >= 690
    assert all(row["recorder"] for row in found), "the kernel that was watched does not record"
    gone = {row["case"]: row["gone"] for row in found if row["gone"]}
    print(f"Triton {version}: {sum(row['sites'] for row in found)} sites, gone {gone}")
    assert {name: len(sites) for name, sites in gone.items()} == JOINED


def test_results_are_those_of_the_clean_kernel(rows: dict[str, dict]) -> None:
    assert len(rows) >= 37
    assert [row for row in rows.values() if "error" in row] == []
    assert [name for name, row in rows.items() if not row["same"]] == []


def test_the_recorder_touches_nothing_that_it_should_not(rows: dict[str, dict]) -> None:
    assert {name: row["findings"] for name, row in rows.items() if row["findings"]} == {}


# Atomics of this GPU on halves are loops of compare-and-swaps in PTX, and one addition in the text that is made to record.
# Triton 3.5 and 3.6 name another column of the line.
OTHER_IN_PTX = {"atom64": {f"atomic atomics.py:atom64:41:{column} halves" for column in (5, 31)}}


def test_what_warps_store_is_summed_as_the_watched_kernel_has_it(rows: dict[str, dict]) -> None:
    for name, row in rows.items():
        if row["means"] != "instrumented":
            continue
        assert set(row["stored"]) <= OTHER_IN_PTX.get(name, set()), (name, row["stored"])
        assert row["arrays"], name
    assert sum(row["stores"] for row in rows.values()) >= 60


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go: its test reads the sums")
def test_values_that_warps_store_are_summed_as_the_watched_kernel_has_them(rows: dict[str, dict], folder: Path) -> None:
    """Every sum without places is the same, bit for bit, but for statements that are others in PTX."""
    words = ["go", "test", "-count=1", "-v", "-run", "RecordedPairsHaveTheSameValues", "./core/simulator/simulation"]
    environment = {**os.environ, "PRLX_RECORDED_PAIRS": str(folder)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    found = re.search(r"values: (\d+) pairs, (\d+) sums are the same", done.stdout)
    assert found is not None, done.stdout[-2000:]
    assert int(found[1]) == len(rows)
    assert int(found[2]) >= 70
    others = set(re.findall(r"^other: (\S+) (.*?) array \d+: ", done.stdout, re.MULTILINE))
    allowed = {(name, one.rpartition(" ")[0]) for name, statements in OTHER_IN_PTX.items() for one in statements}
    assert others <= allowed, done.stdout[-4000:]


def test_kernels_record_by_themselves(rows: dict[str, dict]) -> None:
    watched = {name for name, row in rows.items() if row["means"] != "instrumented"}
    assert watched == set()
    assert all(row["events"] > 0 for name, row in rows.items() if name not in watched | NO_DECISION)


def test_lanes_decide_as_the_watched_kernel_has_it(version: str, rows: dict[str, dict]) -> None:
    """What the simulator sees in the clean kernel is in the recording; and so is what the PTX joins or drops.

    Of the events of Triton before 3.8, 96.6 to 98.1 % have a partner: its LLVM joins more compares on the way to PTX, and
    makes compares of some minima and maxima, which decide nothing in the text.
    """
    watched = sum(row["watched"] for row in rows.values())
    paired = sum(row["by_key"] + row["by_place"] for row in rows.values())
    lost = sum(row["more"] for row in rows.values())
    assert watched > 10_000
    assert lost <= (0.015 if version == NEWEST else 0.035) * watched, {
        name: row["more"] for name, row in rows.items() if row["more"]
    }
    assert sum(row["by_key"] for row in rows.values()) >= (0.98 if version == NEWEST else 0.93) * watched
    assert sum(row["by_mask"] for row in rows.values()) >= 0.99 * paired


def test_sites_with_one_key_decide_alike(version: str, rows: dict[str, dict]) -> None:
    """But for those that the text asks more often than the machine code, at one place and with one code."""
    false = {name: row["other"] for name, row in rows.items() if row["other"]}
    print(f"events under a key of both that are not alike: {false}")
    assert sum(false.values()) <= (0.01 if version == NEWEST else 0.02) * sum(
        row["watched"] for row in rows.values()
    ), false


def test_the_page_says_which_events_have_no_partner_under_their_key(version: str, rows: dict[str, dict]) -> None:
    found = collections.Counter({"all": sum(row["watched"] for row in rows.values())})
    found["under their key"] = sum(row["by_key"] for row in rows.values())
    for row in rows.values():
        found.update(row["causes"])
    whole = PAGE.read_text()
    table = re.search(r"^\| events that are watched \|.*\n(?:\|.*\n)+", whole, re.MULTILINE)
    assert table is not None
    head, rule, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines())
    column = head.index(version.rpartition(".")[0])
    told = {line[0]: line[column] for line in lines}
    made = {line[0]: f"{found.pop(line[0], 0):,}" for line in lines}
    assert not found, f"causes that the page does not have: {found}"
    if os.environ.get("PRLX_UPDATE_TABLES"):
        for line in lines:
            line[column] = made[line[0]]
        PAGE.write_text(whole.replace(table[0], "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))))
        return
    assert told == made, f"{PAGE.name} says, and what is found (PRLX_UPDATE_TABLES=1 writes it)"


def test_simple_kernels_record_exactly_what_is_watched(version: str, rows: dict[str, dict]) -> None:
    for name in ("add", "dropout", "softmax", "cumsum", "whileloop"):
        row = rows[name]
        assert row["watched"] == row["by_key"] + row["by_place"] == row["by_mask"] == row["by_value"], row
        if version == NEWEST:  # before, the text has a compare more than the machine code
            assert row["watched"] == row["events"] == row["by_key"], row


def test_sites_have_one_hash_in_both_languages(rows: dict[str, dict], version: str) -> None:
    """Of what is watched in PTX and made to record in LLVM IR; the rest is what the last stages of the compiler make."""
    sites, agree = (sum(row[name] for row in rows.values() if "sites" in row) for name in ("sites", "agree"))
    left = [(name, *one) for name, row in rows.items() for one in row.get("codes_left", ())]
    print(f"Triton {version}: the code of {agree} of {sites} watched sites is that of a site that records")
    assert sites >= 900
    # Triton 3.7 hands compares on as text that its last stages make others of, in sorts most of all.
    assert agree >= {NEWEST: 0.97, "3.7.1": 0.92}.get(version, 0.94) * sites, left
    nowhere = [one for one in left if one[-1] == "no such site"]
    assert len(left) - len(nowhere) <= (0.075 if version == "3.7.1" else 0.05) * sites, left
