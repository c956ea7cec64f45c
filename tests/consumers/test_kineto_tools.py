"""HolisticTraceAnalysis and torch-tb-profiler load the merged JSON as they load the ranks it was made of."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import recordings

HTA_FILE = "facebookresearch+HolisticTraceAnalysis__"


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ranks")
    recordings.dlrm(directory)
    return directory


@pytest.fixture(scope="module", params=["merged.json", "merged.json.gz"])
def merged(
    request: pytest.FixtureRequest, prlx: Callable, ranks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A directory with nothing but the merged trace, under the name that TensorBoard asks for."""
    directory = tmp_path_factory.mktemp("merged")
    suffix = request.param.removeprefix("merged")
    prlx.combine(
        *sorted(ranks.glob("*.json")), "--no-align", "-o", directory / f"worker0.1694128201545.pt.trace{suffix}"
    )
    for report in directory.glob("*.alignment.json"):
        report.rename(directory.parent / report.name)  # HTA takes every JSON file of a directory for a trace
    return directory


def test_hta_finds_every_event_and_kernel(ask_kineto: Callable, ranks: Path, merged: Path) -> None:
    want, got = ask_kineto({"hta": ranks}, {"hta": merged})

    assert "error" not in got, got
    assert (got["rows"], got["kernels"]) == (want["rows"], want["kernels"])
    assert got["kernel_us"] == pytest.approx(want["kernel_us"], rel=1e-6)
    assert got["analyses"] == want["analyses"]
    assert set(got["analyses"].values()) == {"passed"}


def test_tensorboard_finds_every_kernel_and_operator_call(ask_kineto: Callable, ranks: Path, merged: Path) -> None:
    want, got = ask_kineto({"tensorboard": ranks}, {"tensorboard": merged})

    assert "error" not in got, got
    assert got["workers"] == ["worker0"]
    assert got["kernel_calls"] == want["kernel_calls"]
    assert got["operator_calls"] == want["operator_calls"]


def test_two_ranks_of_a_larger_job_load(
    prlx: Callable, ask_kineto: Callable, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw, out = tmp_path_factory.mktemp("raw"), tmp_path_factory.mktemp("out")
    for rank in (0, 1):
        name = f"sampled_rank-{rank}.json.gz"
        shutil.copy(recordings.directory() / "kineto" / f"{HTA_FILE}{name}", raw / name)
    prlx.combine(*sorted(raw.iterdir()), "--no-align", "-o", out / "worker0.1.pt.trace.json")
    for report in out.glob("*.alignment.json"):
        report.unlink()

    want, got = ask_kineto({"hta": raw}, {"hta": out})

    assert "error" not in got, got
    # Read one by one, HTA cuts a few kernels at the end of each rank's last step; side by side the later rank's step counts.
    assert want["rows"] <= got["rows"] <= want["rows"] + 20
    assert want["kernels"] <= got["kernels"] <= want["kernels"] + 20
