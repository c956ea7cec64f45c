"""What goes wrong is one or two lines with a cure, and an exit code that says which kind it was."""

from __future__ import annotations

import pytest

import prlx as package
from prlx import _core


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["combin"], "did you mean combine?"),
        (["dcotor"], "did you mean doctor?"),
        (["combine", "a", "--metod", "probes"], "unknown option --metod (did you mean --method?)"),
        (["combine", "a", "--reprot=x.html"], "unknown option --reprot (did you mean --report?)"),
        (["combine", "a", "--method", "prob"], "(did you mean probes?)"),
        (["completion", "bsh"], "(did you mean bash?)"),
        (["inspect", "a", "--jsn"], "(did you mean --json?)"),
    ],
)
def test_a_wrong_name_suggests_the_near_one(prlx, words, near):
    ran = prlx(*words)
    assert ran.code == 2
    assert not ran.out
    assert near in ran.err
    assert len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["combine"], "INPUT"),
        (["combine", "a", "--workers", "0"], "expected a whole number above 0, got '0'"),
        (["combine", "a", "--memory-limit", "lots"], "expected a size such as 512MiB or 2GB, got 'lots'"),
        (["combine", "a", "--time-range", "3s:1s"], "expected the end after the start"),
        (["combine", "a", "--time-range", "5"], "expected A:B"),
        (["combine", "a", "--time-range", "1parsec:"], "expected a unit of ns, us"),
        (["combine", "a", "-o"], "expected one argument"),
        (["config", "list"], "expected one of show"),
        (["version", "now"], "unexpected argument 'now'"),
        (["solve", "--reference", "0"], "FILE"),
    ],
)
def test_a_wrong_value_says_what_was_expected(prlx, words, expected):
    ran = prlx(*words)
    assert ran.code == 2
    assert expected in ran.err
    assert ran.err.startswith(f"prlx {words[0]}: error: ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (package.UsageError("x"), 2),
        (package.TraceFormatError("x"), 3),
        (package.FileAccessError("x"), 3),
        (package.LimitError("x"), 3),
        (package.ArrayMemoryError("x"), 3),
        (package.IncompatibleTracesError("x"), 4),
        (package.AlignmentError("x"), 4),
        (package.PartialResultError("x"), 5),
        (package.InternalError("x"), 70),
        (package.CancelledError("x"), 130),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("x"), 70),
        (FileNotFoundError(2, "No such file or directory", "a.pb"), 3),
    ],
)
def test_each_kind_of_error_has_its_exit_code(prlx, core, error, code):
    core.replies["inspect"] = error
    assert prlx("inspect", "a.pb").code == code


def test_an_error_says_what_where_and_what_to_do(prlx, core):
    core.replies["inspect"] = package.TraceFormatError(
        "field 3 ends after the file", path="a.pb", offset=88213, hint="copy the file again"
    )
    ran = prlx("inspect", "a.pb")
    assert not ran.out
    assert ran.err.splitlines() == [
        "prlx inspect: error: a.pb: field 3 ends after the file (at byte 88213)",
        "  copy the file again",
    ]


@pytest.mark.parametrize(("flag", "shown"), [("-v", False), ("-vv", True)])
def test_a_traceback_comes_with_vv_only(prlx, core, flag, shown):
    core.replies["inspect"] = RuntimeError("broken")
    ran = prlx("inspect", "a.pb", flag)
    assert ran.code == 70
    assert "internal error: RuntimeError: broken" in ran.err
    assert ("Traceback" in ran.err) is shown


def test_the_stack_of_the_core_comes_with_vv(prlx, core):
    core.replies["inspect"] = package.InternalError("index out of range", stack="goroutine 7 [running]:\nxspace.go:12")
    assert "xspace.go:12" in prlx("inspect", "a.pb", "-vv").err
    assert "xspace.go:12" not in prlx("inspect", "a.pb").err


def test_inputs_that_an_option_swallowed_are_explained(prlx):
    ran = prlx("combine", "-o", "run", "--probes", "p0", "p1", "node0/")
    assert ran.code == 2
    assert "--probes takes every word up to the next option: name the inputs first" in ran.err


def test_files_may_stand_between_flags(prlx, core):
    assert prlx("combine", "a.pb", "-o", "out", "b.pb", "--json").code == 5
    assert [one["path"].rpartition("/")[2] for one in core.request["inputs"]] == ["a.pb", "b.pb"]


@pytest.mark.usefixtures("core")
def test_common_flags_may_stand_before_the_command(prlx):
    ran = prlx("-q", "--no-color", "combine", "a.pb")
    assert ran.code == 5  # the example is degraded
    assert not ran.err


def test_a_missing_core_is_named_with_its_cure(prlx, monkeypatch):
    def unavailable(*_args, **_keywords):
        raise package.CoreUnavailableError("the core of prlx cannot be loaded", hint="run `make build`")

    monkeypatch.setattr(_core, "run", unavailable)
    ran = prlx("inspect", "a.pb")
    assert ran.code == 70
    assert ran.err.splitlines()[1] == "  run `make build`"


@pytest.mark.parametrize("words", [["combine", ""], ["combine", "a", "-o", ""], ["inspect", ""], ["align", ""]])
def test_an_empty_word_is_not_the_current_directory(prlx, words):
    ran = prlx(*words)
    assert ran.code == 2
    assert "a path is empty" in ran.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"workers": 0}, "0 workers are asked for, expected 1 to"),
        ({"memory_limit": 0}, "the memory limit is 0 bytes, expected at least"),
        ({"workers": "two"}, "workers is a string, expected a whole number"),
        ({"time_range": (0.5, 1.5)}, "time_range is a number 0.5, expected a whole number"),
    ],
)
def test_a_wrong_argument_is_named_as_its_caller_knows_it(given, said, tmp_path):
    with pytest.raises(package.UsageError, match=said):
        package.combine_traces("a.pb", output=tmp_path / "out", progress=False, **given)


@pytest.mark.parametrize("flag", ["offsets", "declared", "snapshots"])
def test_clock_readings_of_another_kind_say_which_flag_takes_them(prlx, data, tmp_path, flag):
    job = data / "jax_skew" / "p2"
    probes = job / "probes_node0.jsonl"
    ran = prlx("combine", *sorted(job.glob("node*.xplane.pb")), f"--{flag}", probes, "-o", tmp_path / "run")
    assert ran.code == 2
    assert "holds stamps, expected " in ran.err
    assert "such a file is given by --probes" in ran.err
