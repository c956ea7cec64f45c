"""Where two trainings first computed something else: the harms of ``harms.py``, and pairs without one."""

from __future__ import annotations

import json
import subprocess

import pytest

import prlx

EQUAL = 50


@pytest.fixture(scope="module")
def tapes(train_in, tmp_path_factory):
    """The folder with the tapes of all harms, and their answers."""
    folder = tmp_path_factory.mktemp("harms")
    train_in(folder, "harms.tapes")
    return folder, train_in(folder, "harms.expected")


def test_every_harm_is_named_where_it_begins(tapes):
    folder, answers = tapes
    wrong = []
    for name, answer in answers.items():
        diff = prlx.diff_traces(folder / "clean.tape", folder / f"{name}.tape", progress=False)
        first = diff.first
        got = first and [first.kind, first.step, first.phase, first.module, first.operator]
        if got != answer or diff.conclusion.outcome != "differs":
            wrong.append(f"{name}: got {got}, want {answer}: {diff.verdict}")
    assert len(answers) >= 20
    assert not wrong, "\n".join(wrong)


def test_threads_are_said_first_and_nan_has_its_maker(tapes):
    folder, _ = tapes
    threads = prlx.diff_traces(folder / "clean.tape", folder / "threads.tape", progress=False)
    assert threads.facts == {"threads": ("1", "2")}
    nan = prlx.diff_traces(folder / "clean.tape", folder / "fp16-overflow.tape", progress=False)
    made = nan.document["ranks"][0]["not_finite_b"]
    assert (made["at"]["step"], made["at"]["operator"], made["inf"]) == (2, "aten.mul.Tensor", 7)
    assert nan.document["ranks"][0]["not_finite_a"] is None


def test_a_second_cause_is_not_taken_for_a_follower(tapes):
    folder, _ = tapes
    diff = prlx.diff_traces(folder / "clean.tape", folder / "kernel.tape", progress=False)
    own = [each.step for each in diff.differences if not each.follows]
    assert own[0] == 2
    assert {each.kind for each in diff.differences if not each.follows} == {"output"}


def test_what_equal_runs_differ_in_is_noise(tapes, command):
    folder, _ = tapes
    clean, kernel, bit = (folder / f"{name}.tape" for name in ("clean", "kernel", "optimizer-state-bit"))
    alone = prlx.diff_traces(clean, clean, baseline=kernel, progress=False)
    assert (alone.conclusion.outcome, alone.document["noise"], alone.document["baseline"]) == ("same", 0, 1)
    noisy = folder / "noisy.tape"
    noisy.write_bytes(kernel.read_bytes())
    diff = prlx.diff_traces(clean, noisy, baseline=[kernel], progress=False)
    assert (diff.conclusion.outcome, diff.first) == ("inconclusive", None)
    assert diff.document["noise"] > 10
    done = command("diff", clean, bit, "--baseline", kernel)
    assert (done.returncode, "aten.mul_.Tensor of 0.weight" in done.stdout) == (1, True), done
    itself = command("diff", clean, bit, "--baseline", clean)
    assert (itself.returncode, "is A itself" in itself.stderr) == (2, True), itself


def test_equal_trainings_are_the_same(train_in, tmp_path):
    train_in(tmp_path, "harms.equal", EQUAL)
    outcomes = [
        prlx.diff_traces(tmp_path / f"a{seed}.tape", tmp_path / f"b{seed}.tape", progress=False).conclusion.outcome
        for seed in range(EQUAL)
    ]
    assert outcomes == ["same"] * EQUAL
    assert prlx.diff_traces(tmp_path / "a1.tape", tmp_path / "b2.tape", progress=False).conclusion.outcome == "differs"


def test_the_command(tapes, command):
    folder, _ = tapes
    same = command("diff", folder / "clean.tape", folder / "again.tape")
    assert (same.returncode, same.stdout.splitlines()[0][:5]) == (0, "same:")
    page = folder / "page.html"
    other = command("diff", folder / "clean.tape", folder / "seed.tape", "--html", page)
    assert other.returncode == 1
    assert "drew other random numbers: seed 1 in A, seed 5 in B" in " ".join(other.stdout.split())
    assert "aten.bernoulli_.float" in page.read_text()
    told = command("diff", folder / "clean.tape", folder / "seed.tape", "--json")
    assert json.loads(told.stdout)["schema"] == "prlx.steps-diff/1"
    (folder / "saved.json").write_text(told.stdout)
    assert command("report", folder / "saved.json", "-o", folder / "again.html").returncode == 1
    assert (folder / "again.html").read_text() == page.read_text()


def test_what_is_missing_is_inconclusive(tapes, command, tmp_path):
    folder, _ = tapes
    whole = (folder / "again.tape").read_bytes()
    (tmp_path / "cut.tape").write_bytes(whole[: len(whole) * 3 // 4])
    done = command("diff", folder / "clean.tape", tmp_path / "cut.tape")
    assert done.returncode == 5
    assert "the end of B" in done.stdout


def test_other_files_and_options_are_refused(tapes, command, tmp_path):
    folder, _ = tapes
    clean = folder / "clean.tape"
    assert command("diff", clean, "examples/two_runs/a.prlx").returncode == 3
    done = command("diff", clean, clean, "--values")
    assert (done.returncode, "--values is about recordings of kernels" in done.stderr) == (2, True)
    (tmp_path / "empty").mkdir()
    assert command("diff", clean, tmp_path / "empty").returncode == 3


def test_modules_do_not_compare_with_operators(train, command, tmp_path):
    train("plain", "a.tape")
    train("plain", "b.tape", "modules")
    train("plain", "c.tape", "modules")
    assert command("diff", tmp_path / "a.tape", tmp_path / "b.tape").returncode == 4
    assert command("diff", tmp_path / "b.tape", tmp_path / "c.tape").returncode == 0


def test_ranks_of_two_directories(tapes, tmp_path, command):
    folder, _ = tapes
    for side, second in (("a", "clean"), ("b", "seed")):
        (tmp_path / side).mkdir()
        subprocess.run(["cp", folder / f"{second}.tape", tmp_path / side / "run.tape"], check=True)
    assert command("diff", tmp_path / "a", tmp_path / "b").returncode == 1


def test_logs_of_debug_mode(train, command, tmp_path):
    train("debug_mode", "a.json", 0.1)
    train("debug_mode", "b.json", 0.1)
    train("debug_mode", "c.json", 0.2)
    same = command("diff", tmp_path / "a.json", tmp_path / "b.json")
    assert (same.returncode, same.stdout[:13]) == (5, "inconclusive:"), same
    assert "DebugMode do not see" in " ".join(same.stdout.split())
    diff = prlx.diff_traces(tmp_path / "a.json", tmp_path / "c.json", progress=False)
    assert (diff.first.operator, diff.first.module) == ("aten.bernoulli_.float", "Sequential.1.2")
