"""What a default recording notices: mistakes that change no branch, other ways to the same results, and no false alarm."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import prlx

from .conftest import HERE, python, require

BUGS = [
    "swapped_axes",
    "missing_store_mask",
    "offset_overflow",
    "wrong_row_stride",
    "missing_rescale",
    "half_accumulator",
    "missing_other",
    "lost_epsilon",
    "causal_off_by_one",
    "wrong_identity",
    "mean_of_block",
    "bias_of_rows",
    "truncated_not_rounded",
    "counted_twice",
    "same_random_numbers",
]
WAYS = [
    "unrolled",
    "early_return",
    "select_for_branch",
    "loop_split",
    "steps_of_two",
    "peeled_mask",
    "clamp_by_where",
    "two_masks_in_one",
    "nested_for_flat",
    "through_a_helper",
    "stored_in_two_steps",
    "zeroed_before",
    "backwards",
    "guarded_block",
    "count_down",
]
# Nothing that is recorded differs: not even the way.
ALIKE = ["mask_computed_another_way", "reordered_loads", "while_for_loop"]
EQUAL = ["partly_written", "split_k", "pointers", "histogram", "softmax_rows"]
NOISY = ["lost_updates", "exchanged"]
FULL = 40  # seeds of each kernel with PRLX_FULL_SWEEP: 200 pairs of equal runs


@functools.cache
def folder() -> Path:
    """Where the recordings are, until the tests end."""
    kept = tempfile.TemporaryDirectory()
    folder.kept = kept  # type: ignore[attr-defined]
    return Path(kept.name)


@functools.cache
def said(seeds: int = 1) -> dict[str, list[dict]]:
    """What the comparisons said, by kind."""
    ran = python(require("3.9.0"), HERE / "run_pairs.py", folder(), str(seeds))
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {
        kind: [row for row in rows if row["kind"] == kind]
        for kind in ("bug", "found", "noisy", "untold", "way", "equal")
    }


def recordings(name: str) -> tuple[str, str]:
    """The two recordings of a pair."""
    said()
    return str(folder() / f"{name}_0.prlx"), str(folder() / f"{name}_1.prlx")


def command(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``prlx`` without settings of the person who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRLX_")}
    return subprocess.run(
        [sys.executable, "-m", "prlx", *words], cwd=folder(),
        env={**kept, "NO_COLOR": "1", **more}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def row(kind: str, name: str) -> dict:
    return next(row for row in said()[kind] if row["name"] == name)


@pytest.mark.parametrize("name", BUGS)
def test_a_mistake_is_noticed_by_a_default_recording(name):
    found = row("bug", name)
    assert found["status"] == "diverged"
    assert not found["passed"]
    assert "output out differs" in found["verdict"]
    assert "pairs.py:" in found["verdict"]
    assert found["first"]["store"]["warp"] is not None


@pytest.mark.parametrize("name", BUGS)
def test_with_contents_the_first_element_and_its_thread_are_named(name):
    first = row("bug", name)["kept"]
    assert first["element"] is not None
    assert first.get("value_a") != first.get("value_b")
    writer = first.get("writer_b") or first["writer_a"]
    assert {"block", "warp_of_block", "lane"} <= set(writer)
    assert Path(writer["source_location"].split(":")[0]).name == "pairs.py"


@pytest.mark.parametrize("name", NOISY)
def test_the_same_operands_of_another_operation_are_not_noise(name):
    found = row("noisy", name)
    assert found["equal"] == "identical"
    assert found["status"] == "diverged"
    assert "output out differs" in found["verdict"]
    assert "pairs.py:" in found["verdict"]
    assert "every store and every operand of an atomic is the same" not in found["alone"]
    assert "pairs.py:" in found["alone"]


@pytest.mark.parametrize("name", NOISY)
def test_a_sum_that_begins_with_something_else_is_not_noise(name):
    found = row("noisy", name)
    assert found["order"].count("is the same: atomics in another order;") == 1
    assert "output out differs" in found["dirty"]
    assert "its atomics found other contents there" in found["dirty"]


def test_what_compare_and_swaps_bring_to_a_noisy_array_is_judged_by_what_it_holds():
    found = row("untold", "swapped_in")
    assert found["status"] == "diverged"
    assert "output out differs" in found["verdict"]


@pytest.mark.parametrize("name", WAYS)
def test_a_different_path_to_the_same_results_is_reported_and_has_no_cause(name):
    found = row("way", name)
    assert found["status"] == "same-results"
    assert found["verdict"].startswith("same results; ")
    assert not found["passed"]
    assert found["outputs"], "it passes where outputs alone must agree"
    assert found["cause"] == ""


@pytest.mark.parametrize("name", ALIKE)
def test_code_that_does_the_same_is_the_same(name):
    found = row("way", name)
    assert found["status"] == "identical"
    assert found["passed"]


@pytest.mark.parametrize("name", EQUAL)
def test_equal_runs_are_the_same_beyond_declared_noise(name):
    found = row("equal", name)
    assert found["status"] == "identical", found["verdict"]
    assert found["passed"]
    assert found["coverage"]["outputs"]["agrees"] == ("noise" if found["noise"] else "yes")


def test_no_pair_is_left_out():
    names = {kind: sorted(row["name"] for row in rows) for kind, rows in said().items()}
    assert names == {
        "bug": sorted(BUGS),
        "found": ["reads_beyond"],
        "noisy": sorted(NOISY),
        "untold": ["swapped_in"],
        "way": sorted(WAYS + ALIKE),
        "equal": sorted(EQUAL),
    }


def test_what_the_simulator_finds_belongs_to_the_recording():
    found = row("found", "reads_beyond")
    assert found["status"] == "diverged"
    assert "out-of-bounds at" in found["verdict"]
    assert [(one["check"], one["count_a"]) for one in found["findings"]] == [("out-of-bounds", 0)]
    assert not found["outputs"], "it does not pass where outputs alone must agree, either"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 1),
        (("--require", "outputs"), 0),
        (("--require", "outputs", "--strict"), 0),
        (("--require", "control-flow"), 1),
        (("--require", "outputs,values", "--strict"), 5),
    ],
)
def test_require_says_what_must_agree(words, code):
    pair = recordings("early_return")
    for verb in ("diff", "assert"):
        ran = command(verb, *pair, *words)
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert ("SAME RESULTS: same results; control flow differs at" in ran.stdout) == (verb == "diff" or code == 1)
        assert "a loop that" not in ran.stdout


def test_the_setting_require_is_read_from_the_environment():
    pair = recordings("early_return")
    assert command("diff", *pair, PRLX_DIFF_REQUIRE="outputs").returncode == 0
    wrong = command("diff", *pair, "--require", "output")
    assert wrong.returncode == 2
    assert "did you mean outputs" in wrong.stderr


def test_the_text_names_what_was_written_and_what_records_more():
    ran = command("diff", *recordings("lost_epsilon"))
    assert ran.returncode == 1
    for words in (
        "first output that differs: out[0..255]",
        "pairs.py:",
        "in lost_epsilon",
        "outputs=",
        "1 store and 1 array by digest",
    ):
        assert words in ran.stdout


def test_asserting_says_what_differs_among_outputs():
    with pytest.raises(AssertionError, match="output out differs") as caught:
        prlx.assert_same(*recordings("lost_epsilon"))
    assert caught.value.diff.status == "diverged"
    assert caught.value.diff.outputs["first"]["array"] == "out"
    assert caught.value.diff.findings == ()
    same = prlx.assert_same(*recordings("early_return"), require="outputs")
    assert same.status == "same-results"
    assert same.explain() is None
    assert not same.identical
    assert "3 arrays" not in same.coverage["text"]
    assert "1 array by digest" in same.coverage["text"]
    with pytest.raises(AssertionError, match="same results; control flow differs"):
        prlx.assert_same(*recordings("early_return"))
    with pytest.raises(AssertionError, match="values not recorded on both sides"):
        prlx.assert_same(*recordings("partly_written"), strict=True, require=["control-flow", "values"])


def test_a_session_says_which_launches_took_a_different_path(tmp_path):
    for side in (0, 1):
        session = tmp_path / "ab"[side]
        session.mkdir()
        for k, name in enumerate(("partly_written", "early_return")):
            (session / f"{k:04d}_{name}.prlx").write_bytes(Path(recordings(name)[side]).read_bytes())
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    found = prlx.diff_traces(a, b, progress=False)
    assert found.status == "same-results"
    assert [launch["status"] for launch in found.document["kernel_results"]] == ["identical", "same-results"]
    assert found.document["coverage"]["outputs"] == 2
    assert not found.passed
    assert found.explain() is None
    assert command("session", "diff", a, b).returncode == 1
    assert command("session", "diff", a, b, "--require", "outputs").returncode == 0
    assert "launches of both sessions have the same results" in command("session", "diff", a, b).stdout


@pytest.mark.skipif(
    not os.environ.get("PRLX_FULL_SWEEP"), reason="200 pairs take a minute; PRLX_FULL_SWEEP=1 runs them"
)
def test_two_hundred_pairs_of_equal_runs_have_no_false_alarm():
    rows = said(FULL)["equal"]
    assert len(rows) == FULL * len(EQUAL)
    assert [row for row in rows if row["status"] != "identical" or not row["passed"]] == []
