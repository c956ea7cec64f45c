"""Dumps of PyTorch's Flight Recorder, made by real jobs on gloo: prlx finds what PyTorch's own reader finds, and who it was."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RANKS = 3
ODD = RANKS - 1
AT_LAST = 5  # the number of the operation that goes wrong, after three and a barrier
ALL = {"operation": "all_reduce", "group": "0 (default_pg)"}
CASES = {
    "clean": None,
    "missing": {"class": "never-arrived", "differs": "", "ranks": [ODD], **ALL},
    "operation": {"class": "mismatch", "differs": "operation", "ranks": [ODD], **ALL},
    "size": {"class": "mismatch", "differs": "size", "ranks": [ODD], **ALL},
    "type": {"class": "mismatch", "differs": "type", "ranks": [ODD], **ALL},
    "pair": {"class": "never-arrived", "differs": "", "ranks": [1], "operation": "all_reduce", "group": "1"},
}
THEIRS = {
    "operation": "COLLECTIVE_TYPE_MISMATCH",
    "size": "SIZE_OR_SYNTAX_MISMATCH",
    "type": "COLLECTIVE_DTYPE_MISMATCH",
}


@pytest.fixture(scope="module")
def torch_python() -> str:
    python = os.environ.get("PRLX_TORCH_PYTHON")
    if not python or shutil.which(python) is None:
        pytest.skip("PRLX_TORCH_PYTHON names no Python with PyTorch")
    return python


@pytest.fixture(scope="module", params=CASES)
def dumps(
    request: pytest.FixtureRequest, torch_python: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    directory = tmp_path_factory.mktemp(request.param)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [torch_python, HERE / "flight_rank.py"]
    ranks = [
        subprocess.Popen([*command, str(rank), str(RANKS), str(port), directory, request.param])
        for rank in range(RANKS)
    ]
    assert [rank.wait(timeout=180) for rank in ranks] == [0] * RANKS
    return request.param, directory


def only(directory: Path, prefix: str) -> list[Path]:
    found = sorted(directory.glob(f"{prefix}_*"))
    assert len(found) == RANKS
    return found


def test_the_culprit_is_who_it_was(prlx: Callable, dumps: tuple[str, Path]) -> None:
    case, directory = dumps
    want = CASES[case]
    done = prlx("nccl", "flight", *only(directory, "trace"), "--json", expect=0 if want is None else 1)
    found = json.loads(done.stdout)

    if want is None:
        assert found["status"] == "nothing"
        assert sum(group["matched"] for group in found["groups"]) == 5
        return
    assert found["status"] == "culprit"
    first = found["findings"][0]
    assert {key: first[key] for key in want} == want
    assert first["sequence"] == (2 if case == "pair" else AT_LAST)
    assert any(frame["file"].endswith("flight_rank.py") for frame in first["frames"])


def test_pytorchs_own_reader_finds_the_same(
    prlx: Callable, torch_python: str, dumps: tuple[str, Path], tmp_path: Path
) -> None:
    case, directory = dumps
    for path in only(directory, "trace"):
        shutil.copy(path, tmp_path)
    reader = subprocess.run(
        [torch_python, HERE / "readers" / "read_flight.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert reader.returncode == 0, reader.stderr[-4000:]
    theirs = json.loads(reader.stdout.splitlines()[-1])
    ours = json.loads(prlx("nccl", "flight", tmp_path, "--json", expect=0 if case == "clean" else 1).stdout)

    failed = {finding["group"].split(" ")[0]: finding for finding in ours["findings"]}
    assert set(theirs["failed"]) == set(failed)
    for group, their in theirs["failed"].items():
        our = failed[group]
        assert their["sequence"] == our["sequence"]
        if our["class"] == "never-arrived":
            assert their["missing"] == our["ranks"]
        else:
            assert set(their["mismatch"].values()) == {THEIRS[our["differs"]]}
            # It compares with whichever rank it reads first, and names those that differ from that one.
            named = set(map(int, their["mismatch"]))
            assert named in ({*our["ranks"]}, {*range(RANKS)} - {*our["ranks"]})


def test_dumps_as_gloo_writes_them_say_the_same(prlx: Callable, dumps: tuple[str, Path]) -> None:
    """Neither lists the members of groups: they are guessed, and that is said. What is pickled and what is JSON agree."""
    case, directory = dumps
    if case in ("size", "type"):
        pytest.skip("gloo aborts on these: they are changed in the other form alone")
    documents = []
    for form in ("raw", "json"):
        done = subprocess.run(
            [*prlx.command, "nccl", "flight", *only(directory, form), "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        document = json.loads(done.stdout)
        assert any("no dump lists the members" in warning for warning in document["warnings"])
        for finding in document["findings"]:  # JSON has no frames
            finding["frames"], finding["sentence"] = [], finding["sentence"].split(";")[0]
        documents.append((document["status"], document["findings"]))
    assert documents[0] == documents[1]
    if case == "operation":
        assert documents[0][1][0]["ranks"] == [ODD]
