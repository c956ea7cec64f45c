"""Kernels that record by themselves and Triton's caches: what is compiled for one is never served to the other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import prlx
from prlx import _capture

from .conftest import HERE, NEEDED, VERSIONS, python, require

MODES = ("off", "on", "filtered", "off", "on")
# The oldest and the newest in every run, all of them in make corpus.
MATRIX = sorted(VERSIONS) if os.environ.get("PRLX_TRITON_ALL") else (NEEDED[0], NEEDED[-1])
RECORDED = {"off": (), "on": ("plain", "tuned"), "filtered": ("tuned",)}
Rows = list[dict[str, Any]]


def launched(version: str, folder: Path, *modes: str, **more: str) -> list[dict[str, Any]]:
    cache = folder / "cache"
    ran = python(
        require(version), HERE / "run_capture.py", folder / "runs", *modes, TRITON_CACHE_DIR=str(cache), **more
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module", params=MATRIX)
def processes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Rows]:
    """Two processes, the second with what the first left in the cache."""
    folder = tmp_path_factory.mktemp(f"capture-{request.param}")
    return [launched(request.param, folder, *MODES) for _ in range(2)]


def test_a_kernel_records_where_it_is_asked_to_and_nowhere_else(processes: list[Rows]) -> None:
    for rows in processes:
        for row in rows[:-1]:
            means = {"off": "observed"}.get(row["mode"], "instrumented")
            wanted = [(name, means) for name in RECORDED[row["mode"]] or RECORDED["on"]] * 2  # from memory and disk
            assert [(one["kernel"], one["means"]) for one in row["rows"]] == wanted
            assert all(one["events"] == 8 for one in row["rows"])
            assert row["sum"] == 6800


def test_no_kernel_that_records_is_served_where_none_is_asked_for(processes: list[Rows]) -> None:
    """Of every way to a kernel: from memory, chosen by the autotuner, from disk, in another process."""
    for rows in processes:
        for row in rows[:-1]:
            assert [(one["way"], one["kernel"]) for one in row["served"]] == [
                (way, kernel) for way in ("memory", "disk") for kernel in ("plain", "tuned")
            ]
            for one in row["served"]:
                assert one["records"] == (one["kernel"] in RECORDED[row["mode"]]), (row["mode"], one)


def test_a_kernel_that_is_left_out_keeps_its_text_and_its_key(processes: list[Rows]) -> None:
    kernels: dict[tuple[str, bool], set[tuple[str, str]]] = {}
    for rows in processes:
        for row in rows[:-1]:
            for one in row["served"]:
                kernels.setdefault((one["kernel"], one["records"]), set()).add((one["key"], one["text"]))
    assert sorted(kernels) == [("plain", False), ("plain", True), ("tuned", False), ("tuned", True)]
    assert all(len(found) == 1 for found in kernels.values()), "one key and one text, in both processes"
    for name in ("plain", "tuned"):
        assert not kernels[name, False] & kernels[name, True]


def test_what_is_not_recorded_is_the_clean_kernel(processes: list[Rows]) -> None:
    for rows in processes:
        off, on, filtered, again, on_again = (row["cost"] for row in rows[:-1])
        assert off == again
        assert on == on_again
        assert filtered["plain"] == off["plain"]
        assert on["plain"][0] > off["plain"][0]
        assert off["tuned"][0] in on["tuned"], "the trials of the autotuner are clean"
        assert len(on["tuned"]) == len(off["tuned"]) + 1


def test_hooks_of_another_tool_are_called_and_everything_is_put_back(processes: list[Rows]) -> None:
    for rows in processes:
        assert rows[-1] == {"restored": [True] * len(MODES)}
        for row in rows[:-1]:
            heard = row["heard"]
            assert heard["enter"] == heard["exit"] == 6, "two trials and four launches"
            assert heard["before"] == heard["behind"] == heard.get("compiled", 0) + heard.get("from disk", 0)
            if "stages" in heard:  # this Triton knows such hooks
                assert heard["stages"] == heard.get("compiled", 0)
    compiled = [[row["heard"].get("compiled", 0) for row in rows[:-1]] for rows in processes]
    assert compiled == [[3, 2, 0, 0, 0], [0] * 5], "each text once, whatever was on before"


@pytest.mark.parametrize("size", ["4KB", "8KB", "64KB"])
def test_a_small_arena_loses_events_and_says_so(tmp_path: Path, size: str) -> None:
    script = tmp_path / "small.py"
    script.write_text(SMALL)
    ran = python(require("3.9.0"), script, PRLX_ARENA=size, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr[-2000:]
    row = json.loads(ran.stdout.splitlines()[-1])
    assert row["same"], "results do not depend on the arena"
    assert row["findings"] == []
    assert (row["kept"] < row["all"]) == (size != "64KB"), row
    assert bool(row["notes"]) == (size != "64KB"), row


def test_an_arena_that_is_no_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL)
    ran = python(require("3.9.0"), tmp_path / "small.py", PRLX_ARENA="much", cwd=tmp_path)
    assert ran.returncode == 1
    assert "PRLX_ARENA" in ran.stderr


def test_scratch_of_another_tool_is_left_alone(tmp_path: Path) -> None:
    script = tmp_path / "small.py"
    script.write_text(OTHER + SMALL)
    ran = python(require("3.9.0"), script, cwd=tmp_path)
    assert ran.returncode == 1
    assert "another tool allocates profile scratch" in ran.stderr


@pytest.mark.parametrize("asked", ["loads=True"])
def test_what_such_kernels_do_not_leave_is_refused(tmp_path: Path, asked: str) -> None:
    (tmp_path / "small.py").write_text(SMALL.replace('capture="instrumented"', f'capture="instrumented", {asked}'))
    ran = python(require("3.9.0"), tmp_path / "small.py", cwd=tmp_path)
    assert ran.returncode == 1
    assert "leave branches, switches, predicates, stores, atomics and barriers" in ran.stderr


@pytest.mark.parametrize(
    ("asked", "variables", "keeps", "events"),
    [
        ("", {"PRLX_HISTORY_DEPTH": "9"}, "last", 8 * 9),
        ("", {"PRLX_SAMPLE_RATE": "4"}, "first", None),
        ("stores=True", {}, "first", None),
    ],
)
def test_what_is_kept_is_said(
    tmp_path: Path, asked: str, variables: dict[str, str], keeps: str, events: int | None
) -> None:
    (tmp_path / "small.py").write_text(SMALL.replace('capture="instrumented"', f'capture="instrumented", {asked}'))
    ran = python(require("3.9.0"), tmp_path / "small.py", cwd=tmp_path, **variables)
    assert ran.returncode == 0, ran.stderr[-2000:]
    row = json.loads(ran.stdout.splitlines()[-1])
    assert row["same"]
    assert row["findings"] == []
    rate = int(variables.get("PRLX_SAMPLE_RATE", "1"))
    assert (row["keeps"], row["rate"]) == (keeps, rate)
    if events is not None:
        assert row["kept"] == events
        assert row["dropped"] == row["happened"] - events
    else:
        assert row["dropped"] == 0
    if rate > 1:
        assert row["kept"] * rate >= row["happened"] > row["kept"]
    assert bool(row["stored"]) == bool(asked)


@pytest.mark.parametrize("name", ["PRLX_HISTORY_DEPTH", "PRLX_SAMPLE_RATE", "PRLX_SNAPSHOT_DEPTH"])
def test_a_depth_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for wrong in ("few", "0", "-3", "1e3", str(1 << 40)):
        monkeypatch.setenv(name, wrong)
        with pytest.raises(prlx.UsageError, match=name):
            _capture.kept()


OTHER = """
from triton.runtime import _allocation
_allocation._profile_allocator.set(lambda size, align, stream: None)
"""
SMALL = """
import json, warnings
import numpy as np
import triton
import triton.language as tl
import prlx

warnings.simplefilter("ignore")

@triton.jit
def many(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for k in range(n):
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

def run(**options):
    x = np.zeros(256, np.float32)
    with prlx.enable(device="simulator", overwrite=True, progress=False, **options) as seen:
        many[(2,)](x, 20, BLOCK=128)
    return x, [str(one) for one in seen.findings]

a, _ = run(output="a.prlx")
b, findings = run(output="b.prlx", capture="instrumented")
recorded = prlx.read_trace("b.prlx")
print(json.dumps({
    "same": a.tobytes() == b.tobytes(), "findings": findings, "kept": recorded.total_events,
    "all": prlx.read_trace("a.prlx").total_events, "notes": [str(note) for note in recorded.losses.notes],
    "keeps": recorded.header.document["keep"], "rate": recorded.header.document["sample_rate"],
    "dropped": recorded.losses.dropped, "happened": int(recorded.warps.column("total").values.sum()),
    "stored": len([kind for kind in recorded.sites.column("kind").dictionary() if kind == "global-store"])
    and int(sum(recorded.events.column("kind").dictionary()[code] == "global-store"
                for code in recorded.events.column("kind").values.tolist())),
}))
"""
