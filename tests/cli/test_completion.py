"""What a shell offers after Tab, asked of real shells."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from prlx.cli import _table

DRIVER = """
source "$1"
COMP_WORDS=({words})
COMP_CWORD={last}
_prlx
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The completion script of a shell, in a file."""

    def write(shell):
        import contextlib
        import io

        from prlx.cli import main

        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            assert main(["completion", shell]) == 0
        path = tmp_path_factory.mktemp("completion") / f"prlx.{shell}"
        path.write_text(text.getvalue())
        return path

    return write


@pytest.fixture(scope="module")
def complete(script):
    """Ask bash what it offers for the last word of a command line."""
    path = script("bash")

    def ask(*words):
        quoted = " ".join(f"'{word}'" for word in ("prlx", *words))
        done = subprocess.run(
            ["bash", "--norc", "-c", DRIVER.format(words=quoted, last=len(words)), "bash", str(path)],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout.split()

    return ask


def test_sub_commands_come_first_and_files_behind_them(complete, tmp_path):
    assert complete("session", "") == ["inspect", "diff"]
    assert complete("session", "d") == ["diff"]
    assert complete("config", "") == ["show"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]
    assert "compare" in complete("cycles", "com")
    (tmp_path / "run_a").mkdir()
    assert complete("session", "inspect", str(tmp_path / "run")) == [str(tmp_path / "run_a")]
    assert complete("session", "diff", str(tmp_path / "run_a"), str(tmp_path / "run")) == [str(tmp_path / "run_a")]
    assert complete("cycles", "compare", str(tmp_path / "run")) == [str(tmp_path / "run_a")]
    assert complete("config", "show", str(tmp_path / "run")) == []
    assert complete("-v", "session", "--values", "") == ["inspect", "diff"]
    assert complete("help", "com") == ["combine", "completion"]
    assert complete("help", "combine", "") == []


def test_bash_offers_commands(complete):
    assert set(complete("")) >= set(_table.COMMANDS)
    assert complete("comb") == ["combine"]
    assert complete("-q", "sol") == ["solve"]


def test_bash_offers_the_options_of_the_command(complete):
    assert complete("combine", "--me") == ["--method", "--memory-limit"]
    assert complete("combine", "--no-a") == ["--no-align"]
    assert complete("validate", "--naming") == []


def test_bash_offers_the_words_that_an_option_takes(complete):
    assert complete("combine", "--naming", "") == ["viewer", "document", "tagged", "rocm"]
    assert complete("combine", "x", "--method", "pro") == ["probes"]
    assert complete("combine", "--naming", "=", "ro") == ["rocm"]
    assert complete("combine", "--workers", "") == []
    assert complete("completion", "z") == ["zsh"]
    assert complete("config", "") == ["show"]


def test_bash_offers_files_where_files_go(complete, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.pb").touch()
    assert complete("inspect", "tr") == ["trace.pb"]
    assert complete("combine", "--offsets", "tr") == ["trace.pb"]
    assert complete("doctor", "tr") == []


def test_bash_loads_by_eval():
    code = 'eval "$("$0" -m prlx completion bash)"; complete -p prlx'
    import sys

    done = subprocess.run(["bash", "--norc", "-c", code, sys.executable], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "complete -F _prlx prlx\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_accept_their_scripts(script, shell):
    path = script(shell)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_fish_offers_words_and_options(script):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")

    def ask(line):
        code = f"source {script('fish')}; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True, timeout=600)
        assert not done.stderr
        return [offer.split("\t")[0] for offer in done.stdout.splitlines()]

    assert ask("prlx comb") == ["combine"]
    assert sorted(ask("prlx combine --naming ")) == ["document", "rocm", "tagged", "viewer"]
    assert ask("prlx combine --time-r") == ["--time-range"]
    assert ask("prlx config s") == ["show"]
    assert sorted(ask("prlx session ")) == ["diff", "inspect"]
    assert "diff" not in ask("prlx session inspect ")
    assert ask("prlx cycles comp") == ["compare"]
    assert ask("prlx help comb") == ["combine"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_knows_every_command_and_option(script, shell):
    text = script(shell).read_text()
    for name in _table.COMMANDS:
        assert re.search(rf"\b{name}\b", text)
        for option in _table.load(name).listed:
            flag = option.flags[0].lstrip("-")
            assert re.search(rf"(--|-l ){flag}\b", text), flag
