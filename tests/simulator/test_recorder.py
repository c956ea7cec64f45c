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
from .partners import KEY, LINE, OTHER_VALUE

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


def test_machine_code_that_records_decides_as_the_clean_one(version: str, rows: dict[str, dict]) -> None:
    """The simulator watches both: each site of the clean kernel has one where every lane decides the same.

    It is at the same line, or has the same code at another.
    """
    assert sum(row["clean"] for row in rows.values()) >= 690
    assert all(row["recorder"] for row in rows.values()), "the kernel that was watched does not record"
    assert {name: row["gone"] for name, row in rows.items() if row["gone"]} == {}
    print(f"Triton {version}: {sum(row['clean'] for row in rows.values())} sites")


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


def test_every_event_that_is_watched_has_a_partner_or_a_reason(rows: dict[str, dict]) -> None:
    """Lanes, masks and values: not one event that no rule explains (``partners.py`` has the rules)."""
    assert {name: row["odd"] for name, row in rows.items() if row["odd"]} == {}
    for name, row in rows.items():
        others = row["found"].get(OTHER_VALUE, 0)
        assert sum(row["found"].values()) - others == row["watched"], name
    assert sum(row["watched"] for row in rows.values()) > 10_000


def test_the_page_says_what_partners_the_events_have(version: str, rows: dict[str, dict]) -> None:
    found = collections.Counter({"all": sum(row["watched"] for row in rows.values())})
    found["recorded in all"] = sum(row["events"] for row in rows.values())
    for row in rows.values():
        found.update(row["found"])
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
        assert set(row["found"]) <= {KEY, LINE}, row
        if version == NEWEST:  # before, the text has a compare more than the machine code
            assert row["watched"] == row["events"] == row["found"][KEY], row


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
