"""How far apart outputs are, through the command line and from Python, on recordings that the simulator made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prlx

from .conftest import HERE, python, require

X = np.arange(1, 513, dtype=np.float32)
THIRD = X / np.float32(3)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions of the same program: as it is, with another number, in half precision, and without contents."""
    folder, triton = tmp_path_factory.mktemp("distances"), require("3.9.0")
    for name, kept, words in (
        ("single", "1MiB", ()),
        ("more", "1MiB", ("--add", "0.25")),
        ("half", "1MiB", ("--type", "float16")),
        ("front", "1KiB", ("--add", "0.25")),
        ("digests", "", ("--add", "0.25")),
        ("halfdigests", "", ("--type", "float16")),
    ):
        keep = ("--outputs", kept) if kept else ()
        program = ("-m", "prlx", "simulate", "--record", folder / name, *keep, HERE / "run_distances.py", *words)
        done = python(triton, *program, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def file_of(session: Path) -> Path:
    """The recording of the first launch."""
    (found,) = session.glob("*_third.prlx")
    return found


def diff(a: Path, b: Path, *words: str | Path, document: bool = False) -> tuple[int, Any]:
    """The exit code of ``prlx diff``, and its document or text."""
    done = python(require("3.9.0"), "-m", "prlx", "diff", a, b, *words, *(["--json"] if document else []))
    return done.returncode, json.loads(done.stdout) if document else done.stdout


def test_a_file_says_how_far_apart(runs: Path, tmp_path: Path) -> None:
    a, b = file_of(runs / "single"), file_of(runs / "more")
    wrong = THIRD.copy()
    wrong[9::10] += np.float32(0.25)
    gap = np.abs(wrong.astype(float) - THIRD)
    code, found = diff(a, b, document=True)
    (array,) = found["outputs"]["arrays"]
    distance = array["distance"]
    assert code == 1
    assert (distance["elements"], distance["compared"], distance["mismatched"]) == (512, 512, 51)
    assert distance["share"] == pytest.approx(51 / 512)
    assert distance["absolute"]["is"] == gap.max()
    assert distance["relative"]["is"] == pytest.approx((gap / np.maximum(wrong, THIRD)).max())
    ulps = np.abs(wrong.view(np.int32).astype(np.int64) - THIRD.view(np.int32))
    assert (distance["ulps"]["is"], distance["ulps"]["element"]) == (ulps.max(), ulps.argmax())
    code, text = diff(a, b, "--html", tmp_path / "x.html", "--markdown", tmp_path / "x.md")
    for shown in (text, (tmp_path / "x.html").read_text(), (tmp_path / "x.md").read_text()):
        assert "51 of 512 elements differ (9.96 %)" in " ".join(shown.replace("\\", "").split())
    assert prlx.diff_traces(a, b).outputs["arrays"][0]["distance"] == distance  # type: ignore[index]


def test_of_the_front_alone_it_is_said_of_how_many(runs: Path) -> None:
    _, found = diff(file_of(runs / "single"), file_of(runs / "front"), document=True)
    distance = found["outputs"]["arrays"][0]["distance"]
    assert (distance["compared"], distance["elements"], distance["mismatched"]) == (256, 512, 25)
    assert "contents were kept of no more than these of 512" in found["outputs"]["arrays"][0]["distance_text"]


def test_digests_alone_are_no_distance(runs: Path) -> None:
    for name, said in (
        ("digests", "how far apart is not known: contents were not recorded in B"),
        (
            "halfdigests",
            "fp32 in A, fp16 in B; whether the values differ is not known: contents were not recorded in B",
        ),
    ):
        code, found = diff(file_of(runs / "single"), file_of(runs / name), document=True)
        (array,) = found["outputs"]["arrays"]
        assert (code, array["distance"], array["distance_text"]) == (1, None, said)
        code, text = diff(file_of(runs / "single"), file_of(runs / name))
        assert said in " ".join(text.split())


def test_another_type_is_compared_by_value(runs: Path) -> None:
    a, b = file_of(runs / "single"), file_of(runs / "half")
    code, found = diff(a, b, document=True)
    (array,) = found["outputs"]["arrays"]
    rounded = THIRD.astype(np.float16)
    differ = int((rounded.astype(np.float32) != THIRD).sum())
    assert (code, array["type"], array["type_b"]) == (1, "*fp32", "*fp16")
    assert (array["distance"]["mismatched"], array["distance"]["rounded"]) == (differ, differ)
    assert array["distance"]["absolute"]["is"] == np.abs(rounded.astype(float) - THIRD).max()
    assert "of values that are equal once rounded to f16" in found["verdict"]
    for tolerance, code, outcome in (
        ("rel=1e-3", 0, "same"),
        ("rel=1e-5", 1, "differs"),
        ("f16:ulp=1", 0, "same"),
        ("f32:rel=1", 1, "differs"),
    ):
        got, found = diff(a, b, "--tolerance", tolerance, document=True)
        assert (got, found["conclusion"]["outcome"]) == (code, outcome), tolerance
    got, found = diff(a, file_of(runs / "halfdigests"), "--tolerance", "rel=1e-3", document=True)
    assert (got, found["conclusion"]["outcome"]) == (5, "inconclusive")
    assert "were not recorded, and a tolerance needs them" in found["conclusion"]["why"]


def test_a_session_says_it_of_each_launch(runs: Path, tmp_path: Path) -> None:
    for name, said in (
        ("more", "51 of 512 elements differ (9.96 %)"),
        ("digests", "how far apart is not known: contents were not recorded in B"),
        ("half", "all of them equal once rounded to f16"),
    ):
        page = tmp_path / f"{name}.html"
        code, text = diff(runs / "single", runs / name, "--html", page)
        assert code == 1
        assert said in " ".join(text.split())
        assert said in " ".join(page.read_text().split())
        _, found = diff(runs / "single", runs / name, document=True)
        rows = {row["kernel"]: row for row in found["kernel_results"]}
        assert said in rows["third"]["arrays"][0]["distance_text"]
        assert "arrays" not in rows["copied"]
    table = prlx.diff_traces(runs / "single", runs / "more")
    assert table.document["kernel_results"][0]["arrays"][0]["distance"]["mismatched"] == 51
