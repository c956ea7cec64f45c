"""Help is short, begins with examples, and agrees with the parser."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from prlx.cli import _parser, _table
from prlx.cli.align import XPROF, xprof_main

NAMES = list(_table.COMMANDS)


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_on_a_screen_and_shows_examples_before_options(prlx, name):
    ran = prlx(name, "--help")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert not ran.err
    assert len(lines) <= 44
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(f"usage: prlx {name}")
    assert lines.index("examples:") < lines.index("options:")


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_in_the_help(prlx, name):
    text = prlx(name, "-h").out
    command = _table.load(name)
    for option in command.listed:
        assert (option.off or option.flags[0]) in text
        for word in option.choices:
            assert word in text


@pytest.mark.parametrize("name", NAMES)
def test_help_explains_every_option_without_the_pages_which_are_not_in_the_wheel(prlx, name):
    short, full = prlx(name, "--help").out, prlx(name, "--help", "-v").out
    assert "docs/" not in short + full
    assert "explained by" not in full
    assert ("explained by" not in short) or f"also, explained by prlx {name} --help -v:" in short
    said = " ".join(full.split())
    for option in _table.load(name).listed:
        assert " ".join(option.help.split()) in said


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_a_command_line_that_parses(name):
    command = _table.load(name)
    for line, _ in command.examples:
        typed = re.split(r" [|>] ", line)[0].removeprefix('eval "$(').removesuffix(')"')
        words = [word for word in shlex.split(typed) if "=" not in word or word[:1] != "P"]
        assert words[:2] == ["prlx", name]
        _parser.parse(command, words[2:])


def test_help_of_run_speaks_of_recordings_and_no_page(prlx):
    text = prlx("run", "--help").out
    assert "replace the recordings that are there" in text
    assert "--no-contents-after" in text
    assert "page" not in text


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_the_overview_lists_every_command(prlx, words):
    ran = prlx(*words)
    assert ran.code == 0
    assert len(ran.out.splitlines()) <= 40
    assert len(_table.COMMANDS) - len(_table.SECOND) == 15
    for name, summary in _table.COMMANDS.items():
        if name in _table.SECOND:
            assert re.search(rf"^  also: .*\b{name}\b", ran.out, re.MULTILINE)
        else:
            assert f"  {name}" in ran.out
            assert summary in ran.out


def test_no_command_shows_the_overview_as_a_mistake(prlx):
    ran = prlx()
    assert ran.code == 2
    assert not ran.out
    assert ran.err.startswith("usage: prlx COMMAND")


def test_help_of_a_command_is_also_spelled_help_command(prlx):
    assert prlx("help", "combine").out == prlx("combine", "--help").out


def test_flags_of_the_interface_are_there():
    flags = set(_parser.spellings(_table.load("combine")))
    assert flags >= {
        "--format",
        "--snapshots",
        "--offsets",
        "--probes",
        "--declared",
        "--method",
        "--policy",
        "--reference",
        "--naming",
        "--timebase",
        "--time-range",
        "--no-align",
        "--workers",
        "--memory-limit",
        "--report",
        "--json",
        "-o",
        "--output",
        "--overwrite",
        "-q",
        "-v",
        "--no-color",
    }


def test_xprof_trace_align_has_the_flags_of_the_document(capsys):
    assert xprof_main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: xprof_trace_align --trace FILE --output FILE")
    assert len(text.splitlines()) <= 40
    assert set(_parser.spellings(XPROF)) >= {"--trace", "--snapshot_pairs", "--offsets", "--output"}


def test_python_m_prlx_is_prlx_and_loads_no_core():
    code = (
        "import sys, runpy; sys.argv = ['prlx', 'combine', '--help']\n"
        "try: runpy.run_module('prlx', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert 'prlx._prlx' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: prlx combine")


@pytest.mark.parametrize("words", [["version"], ["--version"], ["completion", "bash"], ["config", "show"], ["--help"]])
def test_commands_that_need_no_core_load_none(words):
    code = f"import sys; from prlx.cli import main; assert main({words!r}) == 0; assert 'prlx._prlx' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("combine compare a.json b.json", "combine --compare a.json b.json"),
        ("nccl compare --json before after", "nccl report --compare --json before after"),
        ("simulate compare --html p before.py after.py -n 1", "simulate --html p --compare before.py after.py -n 1"),
        ("pytorch compare before.py after.py", "pytorch run --compare before.py after.py"),
    ],
)  # fmt: skip
def test_compare_is_the_form_of_every_comparison(typed, meant):
    name, *words = typed.split()
    command = _table.load(name)
    assert _parser.parse(command, words) == _parser.parse(command, meant.split()[1:])


def test_a_comparison_of_one_script_is_refused(prlx):
    ran = prlx("simulate", "compare", "after.py")
    assert ran.code == 2
    assert "compare takes two scripts" in ran.err


@pytest.mark.parametrize("words", [["nccl", "plugin"], ["config", "show"], ["completion", "bash"]])
def test_quiet_prints_errors_alone(prlx, words):
    ran = prlx(*words, "-q")
    assert (ran.out, ran.err) == ("", "")
