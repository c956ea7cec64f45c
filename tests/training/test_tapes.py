"""Tapes of training steps: what is in them, and that the training does not notice."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import prlx
from prlx._timeline import inspect_files

from .conftest import HERE


def described(path):
    """What ``prlx inspect`` knows of a tape."""
    return inspect_files([str(path)], progress=False)["files"][0]["tape"]


def test_training_computes_the_same_and_everything_is_taken(train, tmp_path):
    done = train("plain", "a.tape")
    tape = described(tmp_path / "a.tape")
    assert done["equal"]
    assert done["operators"] == tape["operators"] > 300
    assert (tape["steps"], tape["first_step"], tape["last_step"], tape["whole"]) == (3, 0, 2, True)
    assert tape["random"] == 12 + 1 + 9, "parameters, the batch, and a dropout in each of three blocks, three times"
    assert tape["unread"] == 0
    assert tape["not_finite"] == 0
    assert tape["skipped"]["views"] > 0
    facts = {each["name"]: each["value"] for each in tape["run"]["facts"]}
    assert (facts["threads"], facts["torch"][:2]) == ("1", "2.")
    modules = {(each["module"], each["class"]) for each in tape["modules"]}
    assert {("0.0", "Linear"), ("2.2", "Dropout"), ("1.4", "LayerNorm"), ("2.3.weight", "")} <= modules


def test_modules_are_taken_without_their_operators(train, tmp_path):
    done = train("plain", "a.tape", "modules")
    tape = described(tmp_path / "a.tape")
    modules = {each["module"]: each["operators"] for each in tape["modules"]}
    assert done["equal"]
    assert modules["1.0"] == 6, "forward and gradient, in each of three steps"
    assert modules["1.0.weight"] == 6, "gradient and parameter, in each of three steps"


def test_a_module_that_gets_something_else_than_was_made_is_no_maker(train, tmp_path):
    train("between", "a.tape")
    tape = described(tmp_path / "a.tape")
    assert tape["operators"] == 3
    made, carried = tape["first_maker"], tape["first_carrier"]
    assert carried["at"]["module"] == "second"
    assert made["at"]["class"] == "Between"


def test_a_tensor_is_looked_at_again_where_torch_changed_it(train):
    assert train("spared") == {
        "new": [False],
        "again": [True, True],
        "view": [False],
        "changed": [False],
        "twice": [True],
        "next step": [False],
        "inference": [False, False],
    }


def test_one_step_in_so_many_and_the_last_ones(train, tmp_path):
    train("plain", "a.tape", "operators", 11, 5)
    tape = described(tmp_path / "a.tape")
    assert (tape["steps"], tape["first_step"], tape["last_step"]) == (3, 0, 10)
    every = tape["operators"] / 3
    train("plain", "b.tape", "operators", 7, 1, 2)
    tape = described(tmp_path / "b.tape")
    assert (tape["steps"], tape["first_step"], tape["last_step"]) == (2, 5, 6)
    assert tape["operators"] == pytest.approx(2 * every, rel=0.1)


def test_nothing_is_left_behind(train):
    seen = train("nothing_is_left", "a.tape")
    assert set(seen["during"].values()) == {1}
    assert set(seen["before"].values()) == set(seen["after"].values()) == set(seen["failed"].values()) == {0}


def test_a_killed_run_leaves_what_it_took(torch_environment, tmp_path):
    words = [sys.executable, str(HERE / "programs.py"), "killed", "a.tape", "4"]
    done = subprocess.run(words, cwd=tmp_path, env=torch_environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    tape = described(tmp_path / "a.tape")
    assert (tape["steps"], tape["whole"]) == (4, False)
    assert "killed" in tape["ends"] or "cut" in tape["ends"]


def test_a_full_disk_ends_the_tape_and_not_the_training(train, tmp_path):
    done = train("full", "a.tape")
    assert done["equal"]
    (_,) = [text for text in done["warned"] if "the training goes on" in text]  # torch has warnings of its own
    tape = described(tmp_path / "a.tape")
    assert tape["operators"] > 100
    assert not tape["whole"]


@pytest.mark.parametrize("name", ["by_hand", "two_optimizers"])
def test_steps_of_two_optimizers(train, tmp_path, name):
    assert train(name, "a.tape")["number"] == 2
    assert described(tmp_path / "a.tape")["steps"] == 3


def test_inspect_names_the_maker_of_nan(train, tmp_path):
    assert train("not_finite", "a.tape") == 1.0
    made = described(tmp_path / "a.tape")["first_maker"]
    assert (made["at"]["step"], made["at"]["module"], made["at"]["class"]) == (2, "2", "Log")
    assert (made["at"]["operator"], made["at"]["phase"]) == ("aten.log.default", "forward")
    assert made["line"] == line_of("# makes NaN\n")
    assert made["text"].endswith(f"called at {made['line']}")


def line_of(comment):
    """The line of the programs that ends in a comment, as tapes name it: they run elsewhere."""
    text = (HERE / "programs.py").read_text()
    return f"{HERE / 'programs.py'}:{text[: text.index(comment)].count(chr(10)) + 1}"


def test_a_step_whose_loss_the_optimizer_asks_for(train, tmp_path):
    assert train("by_closure", "a.tape", "operators") == {"number": 2}
    tape = described(tmp_path / "a.tape")
    assert (tape["steps"], tape["first_step"], tape["last_step"]) == (3, 0, 2)
    made = tape["first_maker"]
    assert (made["at"]["step"], made["at"]["phase"], made["line"]) == (1, "forward", line_of("# makes NaN too"))
    modules = {each["module"]: each["operators"] for each in tape["modules"]}
    assert modules["1.0.weight"] >= 3 * 5, "the optimizer's operators are of their parameters"
    train("by_closure", "b.tape", "modules")
    modules = {each["module"]: each["operators"] for each in described(tmp_path / "b.tape")["modules"]}
    assert modules["1.0.weight"] == 6, "gradient and parameter, in each of three steps"


def test_arguments_that_make_no_sense_are_refused(tmp_path):
    for asked in ({"every": 0}, {"ring": 0}, {"level": "lines"}):
        with pytest.raises(prlx.UsageError):
            prlx.torch.steps(tmp_path / "a.tape", **asked)
