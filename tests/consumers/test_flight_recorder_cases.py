"""Small dumps of two ranks: what PyTorch's own reader of its Flight Recorder finds in them, and what prlx finds.

One for each thing that PyTorch's tests of that reader (test_fr_analysis.py) look at. Where both differ, the table says why.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).parent
SQUARE = [[4, 4]]
WIDER = [[5, 4]]


def called(name: str, given: list, taken: list, state: str = "completed", number: int = 1, **more: Any) -> dict:
    """An operation of the group of both ranks, as a dump has it."""
    return {
        "profiling_name": f"nccl:{name}",
        "state": state,
        "process_group": ("0", "default_pg"),
        "input_sizes": given,
        "output_sizes": taken,
        "input_dtypes": ["Float"] * len(given),
        "output_dtypes": ["Float"] * len(taken),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "time_created_ns": number,
        "frames": [],
        "is_p2p": False,
        "retired": state == "completed",
        **more,
    }


class Case(NamedTuple):
    """What two ranks called, and what is found."""

    first: dict
    second: dict
    theirs: str
    """"" where it passes, else the state that it names."""
    ours: tuple[str, ...]
    """Class and what differs, of the first finding; empty where nothing is wrong."""
    why: str = ""
    """Where both are not the same."""


ALIKE = called("all_reduce", SQUARE, SQUARE)
CASES = {
    "alike": Case(ALIKE, ALIKE, "", ()),
    "other operation": Case(
        ALIKE, called("all_gather", SQUARE, SQUARE), "COLLECTIVE_TYPE_MISMATCH", ("mismatch", "operation")
    ),
    "other input": Case(ALIKE, called("all_reduce", WIDER, SQUARE), "SIZE_OR_SYNTAX_MISMATCH", ("mismatch", "size")),
    "other output": Case(ALIKE, called("all_reduce", SQUARE, WIDER), "SIZE_OR_SYNTAX_MISMATCH", ("mismatch", "size")),
    "input is not the output": Case(
        called("all_reduce", SQUARE, WIDER),
        called("all_reduce", SQUARE, WIDER),
        "SIZE_OR_SYNTAX_MISMATCH",
        ("mismatch", "size"),
    ),
    "one has not come out": Case(
        called("all_reduce", SQUARE, SQUARE, "started"), ALIKE, "COLLECTIVE_STATE_MISMATCH", ("stuck", "")
    ),
    "other type": Case(
        ALIKE,
        called("all_reduce", SQUARE, SQUARE, input_dtypes=["Half"], output_dtypes=["Half"]),
        "COLLECTIVE_DTYPE_MISMATCH",
        ("mismatch", "type"),
    ),
    "a root gathers": Case(called("gather", SQUARE, [[4, 4], [4, 4]]), called("gather", SQUARE, [[]]), "", ()),
    "all gather": Case(called("all_gather", SQUARE, [[32]]), called("all_gather", SQUARE, [[32]]), "", ()),
    "all gather too little": Case(
        called("all_gather", SQUARE, SQUARE),
        called("all_gather", SQUARE, SQUARE),
        "SIZE_OR_SYNTAX_MISMATCH",
        ("mismatch", "size"),
    ),
    "reduce scatter": Case(called("reduce_scatter", [[32]], SQUARE), called("reduce_scatter", [[32]], SQUARE), "", ()),
    "barrier": Case(called("barrier", [[1]], [[1]]), called("barrier", [[1]], [[1]]), "", ()),
    "uneven all to all": Case(
        called("all_to_all", [[10]], [[12]]),
        called("all_to_all", [[12]], [[10]]),
        "",
        (),
        "it does not decide on these",
    ),
}


@pytest.fixture(scope="module")
def torch_python() -> str:
    python = os.environ.get("PRLX_TORCH_PYTHON")
    if not python or shutil.which(python) is None:
        pytest.skip("PRLX_TORCH_PYTHON names no Python with PyTorch")
    return python


def written(case: Case, directory: Path) -> Path:
    group = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    for rank, entry in enumerate((case.first, case.second)):
        dump = {
            "version": "2.10",
            "pg_config": group,
            "pg_status": {},
            "rank": rank,
            "entries": [{"record_id": 0, **entry}],
        }
        (directory / f"trace_{rank}").write_bytes(pickle.dumps(dump, protocol=2))
    return directory


@pytest.mark.parametrize("name", CASES)
def test_prlx_finds(prlx: Callable, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    done = subprocess.run(
        [*prlx.command, "nccl", "flight", written(case, tmp_path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    first = found["findings"][0] if found["findings"] else None
    assert (() if first is None else (first["class"], first["differs"])) == case.ours, found["verdict"]
    assert done.returncode == (1 if case.ours else 0) or found["status"] == "inconclusive"


@pytest.mark.parametrize("name", CASES)
def test_pytorchs_own_reader_finds(torch_python: str, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    reader = subprocess.run(
        [torch_python, HERE / "readers" / "read_flight.py", written(case, tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert reader.returncode == 0, reader.stderr[-4000:]
    theirs = json.loads(reader.stdout.splitlines()[-1])
    states = {state for group in theirs["failed"].values() for state in group["mismatch"].values()}
    assert states == ({case.theirs} if case.theirs else set()), theirs
