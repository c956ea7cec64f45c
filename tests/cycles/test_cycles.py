"""Cycles from Python and from the command line, on the shipped traces whose truth is known."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import prlx

ROOT = Path(__file__).resolve().parents[2]
BEFORE = ROOT / "examples/serving/before.json.gz"
AFTER = ROOT / "examples/serving/after.json.gz"
TRUTH = json.loads((ROOT / "examples/serving/truth.json").read_text())


@pytest.fixture(scope="module")
def cycles():
    return prlx.find_cycles(BEFORE, progress=False)


@pytest.fixture(scope="module")
def change():
    return prlx.compare_cycles(BEFORE, AFTER, progress=False)


def command(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "prlx", "cycles", *map(str, words)],
        cwd=cwd, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_the_truth_is_found(cycles):
    found = {(one.level_name, one.phase, one.period, one.count) for one in cycles}
    assert found == {(row["name"].split()[0], row["phase"], row["period"], row["count"]) for row in TRUTH}
    assert cycles.found
    assert cycles.coverage > 0.99
    assert [one.level_name for one in cycles] == ["step", "step", "layer", "layer"]


def test_a_class_of_one_kernel_is_in_the_singular(tmp_path):
    same = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5} for i in range(500)]
    trace = tmp_path / "one.json"
    trace.write_text(json.dumps({"traceEvents": same}))
    (one,) = prlx.find_cycles(trace, progress=False)
    assert str(one).startswith(f"{one.name}: 1 kernel x 500, ")


def test_results_are_tables(cycles):
    steps = cycles.steps.to_pandas()
    assert len(steps) == sum(row["count"] for row in TRUTH if row["name"].startswith("step"))
    assert steps.groupby("phase", observed=True).size().to_dict() == {"decode": 27, "prefill": 8}
    assert (steps.end_ns > steps.start_ns).all()
    repetitions = cycles.repetitions.to_pandas()
    assert len(repetitions) == sum(row["count"] for row in TRUTH)
    assert (repetitions.end > repetitions["first"]).all()
    frame = cycles.to_pandas()
    assert list(frame["count"]) == [one.count for one in cycles]
    assert len(cycles.to_polars()) == 4
    decode = cycles.level("step")[0]
    assert len(decode.kernels) == decode.period
    assert abs(sum(slot.share for slot in decode.kernels) - 1) < 1e-6
    assert cycles[decode.id] == cycles[decode.name] == decode


def test_the_stall_is_the_outlier(cycles):
    odd = [(one.name, row) for one in cycles.level("step") for row in one.document["outliers"]]
    assert [(name, row["slot"]) for name, row in odd] == [("prefill step", -1)]
    assert 28e6 < odd[0][1]["wall_ns"] - odd[0][1]["median_ns"] < 34e6


def test_cycles_show_themselves(cycles):
    assert repr(cycles).startswith("<Cycles: 27")
    page = cycles._repr_html_()
    assert "decode step" in page
    assert page.count("<tr>") == 5


@pytest.mark.parametrize("ending", ["json", "html", "md", "csv", "xlsx", "trace.json"])
def test_cycles_save_themselves(cycles, change, tmp_path, ending):
    target = tmp_path / f"c.{ending}"
    cycles.save(target)
    assert target.stat().st_size > 500
    with pytest.raises(prlx.FileAccessError):
        cycles.save(target)
    before = target.read_bytes()
    cycles.save(target, overwrite=True)
    assert ending == "xlsx" or target.read_bytes() == before
    if ending != "trace.json":
        change.save(tmp_path / f"d.{ending}")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_described_table(cycles, tmp_path):
    cycles.save(tmp_path / "c.csv")
    lines = (tmp_path / "c.csv").read_text().splitlines()
    assert lines[0] == "# Iterations,27"
    assert lines[1] == "# Kernels per cycle,259"
    assert lines[5].split(",")[:3] == ["index", "kernel_name", "avg_duration_us"]
    assert len(lines) == 6 + 259


def test_names_are_never_formulas(tmp_path):
    text = gzip.decompress(BEFORE.read_bytes()).decode().replace("vllm::rms_norm_kernel", "=HYPERLINK(1)")
    (tmp_path / "t.json").write_text(text)
    prlx.find_cycles(tmp_path / "t.json", progress=False).save(tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        sheets = "".join(book.read(name).decode() for name in book.namelist() if "worksheets/" in name)
        assert "HYPERLINK(1)" in book.read("xl/sharedStrings.xml").decode()
    assert "<f>" not in sheets
    assert "hyperlink" not in sheets


def test_a_slower_kernel_is_found_and_nothing_else(change):
    assert not change.same
    assert [cost["what"].split("<")[0] for cost in change.regressions] == ["vllm::paged_attention_v2_kernel"]
    assert abs(change.regressions[0]["relative"] - 0.6) < 0.01
    truth = 23 * 0.6 * 5_441  # layers, share, mean of the kernel in ns
    assert abs(change.regressions[0]["step_ns"] / truth - 1) < 0.03
    assert change.improvements == ()
    assert {row["kind"] for pair in change.document["pairs"] for row in pair["rows"]} == {"exact"}
    assert len(change.to_pandas()) == sum(len(pair["rows"]) for pair in change.document["pairs"])


def test_ranks_in_files_of_their_own_are_one_run(tmp_path):
    ran = command(BEFORE, AFTER, "--json", cwd=tmp_path)
    document = json.loads(ran.stdout)
    assert document["input"]["ranks"] == [0, 1]
    assert {row["count"] for row in document["levels"][-1]["classes"]} == {54, 16}
    slowest = {row["rank"]: row["slowest"] for row in document["rank_totals"]}
    assert slowest[1] >= 27  # its attention is slower, and only decode has it
    assert len(document["rank_steps"]) == 35
    assert "rank 1 is the slowest" in command(BEFORE, AFTER, cwd=tmp_path).stdout


def steps_of_a_run(path, steps, seed, pause_us=lambda _: 0.0):
    """Write a trace of steps of 20 kernels of 50 us with 1 % of noise."""
    draw = random.Random(seed)
    now, events = 0.0, []
    for step in range(steps):
        for kernel in range(20):
            dur = 50 * (1 + 0.01 * draw.gauss(0, 1))
            events.append({"ph": "X", "cat": "kernel", "name": f"k{kernel}", "pid": 0, "tid": 7, "ts": now, "dur": dur})
            now += dur + 0.3
        now += 40 + pause_us(step)
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_a_run_is_the_same_as_another_one_of_its_kind(tmp_path):
    a, b = (steps_of_a_run(tmp_path / f"{seed}.json", 40, seed) for seed in (1, 2))
    same = prlx.compare_cycles(a, b, progress=False)
    assert same.same
    assert bool(same)
    assert same.conclusion.outcome == "same"
    assert same.regressions == same.improvements == ()
    assert command("compare", a, b).returncode == 0


def test_steps_that_stall_are_a_difference(tmp_path):
    a = steps_of_a_run(tmp_path / "a.json", 40, 1)
    b = steps_of_a_run(tmp_path / "b.json", 40, 2, lambda step: 40_000.0 if step % 10 in (1, 4, 7) else 0.0)
    change = prlx.compare_cycles(a, b, progress=False)
    assert change.document["pairs"][0]["wall"]["by"] == "tails"
    assert not change
    assert change.regressions[0]["what"] == "time between kernels"
    assert command("compare", a, b).returncode == 1


def test_too_few_repetitions_are_neither_the_same_nor_different(cycles):
    few = prlx.compare_cycles(cycles, BEFORE, progress=False)  # 8 prefill steps, of which something follows 6 at once
    assert few.regressions == few.improvements == ()
    assert not few.same
    assert few.document["status"] == "inconclusive"
    assert "prefill step" in few.verdict
    with pytest.raises(prlx.InconclusiveError, match="prefill step"):
        bool(few)


def test_the_command_line(tmp_path):
    shutil.copy(BEFORE, tmp_path / "t.json.gz")
    ran = command("t.json.gz", "--html", "c.html", "--overlay", "o.trace.json", "--xlsx", "c.xlsx", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("27 ")
    assert "outlier: repetition 3 of prefill step" in ran.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"t.json.gz", "c.html", "o.trace.json", "c.xlsx"}
    tracks = json.loads((tmp_path / "o.trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "X" for event in tracks) == sum(row["count"] for row in TRUTH)
    document = json.loads(command("t.json.gz", "--json", cwd=tmp_path).stdout)
    assert document["schema"] == "prlx.cycles/1"
    assert document["input"]["path"] == "t.json.gz"  # as seen from here: documents hold on other machines
    assert str(tmp_path) not in (tmp_path / "c.html").read_text() + (tmp_path / "o.trace.json").read_text()
    assert "tables" not in document


def test_options_reach_the_core(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nmatch = '^nvjet.*'\nreplace = 'gemm'\n")
    ran = command(BEFORE, "--keys", "loose", "--rules", rules, "--max-levels", 1, "--edit-percent", 0, "--json")
    settings = json.loads(ran.stdout)["options"]
    assert (settings["keys"], settings["rules"], settings["max_levels"]) == ("loose", 1, 1)
    assert len(json.loads(ran.stdout)["levels"]) == 1
    late, early = (
        json.loads(command(BEFORE, "--phase-mode", mode, "--json").stdout)["selected"] for mode in ("decode", "prefill")
    )
    assert late != early
    compat = json.loads(command(BEFORE, "--compat-parameter", "outer-match=0.9", "--json").stdout)["options"]["compat"]
    assert (compat["outer_match"], compat["sub_match"]) == (0.9, 0.8)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "TRACE"),
        (("a", "b"), 3, "no such file"),
        (("compare", "a"), 2, "expected two traces"),
        (("nowhere.json",), 3, "no such file"),
        ((ROOT / "examples",), 2, "one per rank"),
        ((__file__,), 3, "test_cycles.py"),
        ((BEFORE, "--keys", "vague"), 2, "strict"),
        ((BEFORE, "--compat-parameter", "x"), 2, "NAME=NUMBER"),
        ((BEFORE, "--compat-parameter", "inner=1"), 2, "no parameter"),
        ((BEFORE, "--max-levels", 9), 2, "levels"),
        ((BEFORE, "--rules", ROOT / "README.md"), 3, "TOML"),
        ((BEFORE, "--html", BEFORE, "--overwrite"), 2, "is an input"),
        ((BEFORE, "--xlsx", "/nowhere/c.xlsx"), 3, "no such directory"),
        (("compare", BEFORE, AFTER, "--overlay", "x.trace.json"), 2, "--overlay"),
        (("compare", BEFORE, AFTER, "--min-change", "much"), 2, "expected a share"),
    ],
)
def test_mistakes_are_reported(words, code, said, tmp_path):
    ran = command(*words, cwd=tmp_path)
    assert ran.returncode == code, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())


def test_no_cycle_is_an_answer(tmp_path):
    events = [{"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": i, "dur": 1} for i in range(200)]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    found = prlx.find_cycles(tmp_path / "t.json", progress=False)
    assert not found.found
    assert found.classes == ()
    assert found.verdict.startswith("No cycle")
    with pytest.raises(prlx.InconclusiveError, match="nothing repeats"):
        bool(found)
    ran = command(tmp_path / "t.json")
    assert ran.returncode == 5
    assert ran.stdout.startswith("No cycle")
    for ending in ("html", "md", "csv", "xlsx", "trace.json"):
        found.save(tmp_path / f"c.{ending}")


def test_workers_do_not_change_a_byte():
    first, *others = (command(BEFORE, "--json", "--workers", workers).stdout for workers in (1, 2, 8))
    assert all(text == first for text in others)


def test_the_order_of_events_in_the_file_does_not_matter(tmp_path):
    import random

    document = json.loads(gzip.decompress(BEFORE.read_bytes()))
    texts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.json").write_text(json.dumps(document))
        texts.append(command("t.json", "--json", cwd=tmp_path / name).stdout)
        random.Random(4).shuffle(document["traceEvents"])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("option", ["--alpha", "--min-change"])
def test_options_of_a_comparison_need_one(option):
    done = command(BEFORE, option, "0.02")
    assert done.returncode == 2
    assert option in done.stderr
    assert "compare" in done.stderr


def test_one_file_is_not_two_ranks(tmp_path):
    link = tmp_path / "again.json.gz"
    link.symlink_to(BEFORE)
    for again in (BEFORE, link):
        with pytest.raises(prlx.UsageError, match="twice") as caught:
            prlx.find_cycles([BEFORE, again], progress=False)
        assert caught.value.path == str(again)


def test_sums_of_a_comparison_hold(change):
    account = change.account
    assert account["b_ns"] - account["a_ns"] == account["delta_ns"] == sum(p["delta_ns"] for p in account["parts"])
    for pair in change.document["pairs"]:
        parts = {part["part"]: part["delta_ns"] for part in pair["account"]["parts"]}
        assert sum(parts.values()) == pair["account"]["delta_ns"]
        for part in set(parts) - {"idle", "overlap"}:
            assert sum(row["delta_ns"] for row in pair["rows"] if row["part"] == part) == parts[part]
    text = command("compare", BEFORE, AFTER).stdout
    for part in account["parts"]:
        assert f"{part['delta_ns'] / 1000:+,.3f} us" in text
    assert set(change.table.to_pandas().part) <= {"changed", "insignificant", "untested"}


def test_readings_of_phases(cycles):
    for one in cycles:
        assert one.phase_readings[0] == (one.phase, one.phase_score)


def test_the_verdict_names_the_step_that_changed(change):
    """Steps of prefill take most of the time, and differ by chance only: a pause in one of them."""
    prefill, decode = change.document["pairs"][:2]
    assert prefill["a"]["phase"] == "prefill"
    assert prefill["wall"]["verdict"] == "not enough repetitions"
    assert decode["wall"]["verdict"] == "slower"
    assert change.verdict.startswith("Decode step: mean 1.9")


def test_numbers_that_mean_nothing_are_mistakes_and_not_defaults():
    for name, value in (("edit_percent", -1), ("edit_percent", 51), ("max_levels", 0), ("max_levels", 5)):
        with pytest.raises(prlx.UsageError, match=f"{name} is {value}"):
            prlx.find_cycles(BEFORE, **{name: value}, progress=False)
    for name, value in (("alpha", 0), ("min_change", 1), ("similarity", -0.5)):
        with pytest.raises(prlx.UsageError, match=f"{name} is {value}"):
            prlx.compare_cycles(BEFORE, AFTER, **{name: value}, progress=False)
    said = command(BEFORE, "--max-levels", "9")
    assert (said.returncode, said.stderr.splitlines()[0]) == (2, "prlx cycles: error: --max-levels is 9")


def test_a_length_tolerance_of_nothing_is_taken_as_such():
    exact = prlx.find_cycles(BEFORE, compat={"length_tolerance": 0}, progress=False)
    assert exact.document["options"]["compat"]["length_tolerance"] == 0
