"""Every command and flag that pages, help, hints and messages name is there, and is one that the reader can use."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator

import pytest

from prlx._errors import UsageError
from prlx.cli import _parser, _table, main
from prlx.cli._command import Command
from prlx.cli.align import XPROF

from .reading import ROOT, fences, pages, without_blocks

FLAG = re.compile(r"(?<![\w(/{-])--[a-z][\w-]*")
COMMAND = re.compile(r"\bprlx ([a-z][\w-]*)")
# Flags of other programs that our texts name, those of scripts that the simulator runs among them.
OTHERS = {
    "--logdir",
    "--prlx-update-golden",
    "--force-reinstall",
    "--slip",
    "--steps",
    "--before",
    "--equal",
    "--cuda-include-ptx",
    "--run",  # of the process of a device
    "--type",  # of nsys export
    "--cuda-graph-trace",  # of nsys profile
    "--trace",
    "--kernel-trace",  # of rocprofv3
    "--output-format",
    "--use_fast_math",
}
# Pages about another tool's flags: they say which of them are refused.
ABOUT_OTHERS = {"docs/compat.md", "CHANGELOG.md"}
COMMANDS: dict[str, Command] = {name: _table.load(name) for name in _table.COMMANDS}
EVERY = {"--version"} | {flag for command in (*COMMANDS.values(), XPROF) for flag in _parser.spellings(command)}


def typed(text: str) -> Iterator[tuple[Command, list[str], str]]:
    """The command lines of prlx in a block or span: the command, its words, and the line."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"\|\|?|&&|;|(?<!\S)[12]?>", line.removeprefix("$ ")):
            part = re.sub(r"^\s*(- run: |(\w+=\S+ )+)", "", part).strip()
            first, _, rest = part.partition(" ")
            if first == "xprof_trace_align":
                yield XPROF, words(rest), part
            elif first == "prlx" and (found := COMMAND.match(part)):
                name = found[1]
                assert name in COMMANDS, f"no command {name}: {part}"
                yield COMMANDS[name], words(part)[2:], part


def words(text: str) -> list[str]:
    """The words of a line, without the comment behind it."""
    return shlex.split(text, comments=True)


def complete(given: list[str]) -> bool:
    """Whether a line shows all that the command needs: no dots, no options in brackets."""
    return bool(given) and not any(word in ("...", "…") or word.startswith("[") for word in given)


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in pages()])
def test_command_lines_of_pages_parse(page):
    wrong = []
    for language, body in fences(ROOT / page):
        if language in ("console", "sh", "yaml", ""):
            shown = "".join(line for line in body.splitlines(True) if language != "console" or line.startswith("$ "))
            for command, given, line in typed(shown):
                try:
                    if complete(given):
                        _parser.parse(command, given)
                except UsageError as error:
                    wrong.append(f"{line}: {error.message}")
    assert not wrong, f"{page}: {wrong}"


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in pages()])
def test_flags_of_pages_exist(page):
    if page in ABOUT_OTHERS:
        return
    wrong: list[tuple[str, str]] = []
    for span in re.findall(r"`([^`\n]+)`", without_blocks((ROOT / page).read_text(encoding="utf-8"))):
        lines = list(typed(span))
        for command, _, _ in lines:
            wrong += [(span, flag) for flag in FLAG.findall(span) if flag not in _parser.spellings(command)]
        if not lines and span.startswith("-"):
            wrong += [(span, flag) for flag in FLAG.findall(span) if flag not in EVERY | OTHERS]
    assert not wrong, f"{page}: {wrong}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_lists_the_flags_of_its_command_and_no_other(name):
    text = (ROOT / f"docs/commands/{name}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`-[^|]*(?:\\\|[^|]*)*) \|[^|\n]*(?:\\\|[^|\n]*)*\|$", text, re.MULTILINE)  # of two columns
    shown = {flag for row in rows for flag in FLAG.findall(row)}
    assert shown <= set(_parser.spellings(COMMANDS[name]))
    assert not [option.flags[0] for option in COMMANDS[name].listed if f"`{option.off or option.flags[0]}" not in text]


def literals() -> Iterator[tuple[str, str]]:
    """Every text that a user can meet: string literals of Go and of Python, with where they stand."""
    for path in sorted((ROOT / "core").rglob("*.go")):
        if path.name.endswith("_test.go") or "testdata" in path.parts:
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            code = re.sub(r"(^|\s)//.*", "", line)
            for found in re.findall(r'"((?:[^"\\]|\\.)*)"|`([^`]*)`', code):
                yield str(path.relative_to(ROOT)), found[0] or found[1]
    for path in sorted([*(ROOT / "python").rglob("*.py"), *(ROOT / "hooks").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield str(path.relative_to(ROOT)), node.value


def test_flags_and_commands_in_messages_exist():
    wrong, seen = [], 0
    for where, text in literals():
        flags = [flag for flag in FLAG.findall(text) if f"{flag}:" not in text and flag not in OTHERS]
        seen += len(flags)
        wrong += [(where, text, flag) for flag in flags if flag not in EVERY and flag not in refused()]
        named = [COMMANDS[name] for name in COMMAND.findall(text) if name in COMMANDS]
        if len(named) == 1 and text.lstrip().startswith("prlx "):
            known = {*_parser.spellings(named[0]), *OTHERS}
            wrong += [(where, text, flag) for flag in flags if flag not in known]
        behind = re.findall(r"\bprlx ([a-z][\w-]*) (?:--?[a-z]|[A-Z]{2,}\b|%[sq]|\{)", text)
        wrong += [(where, text, name) for name in behind if name not in COMMANDS]
    assert seen > 100
    assert not wrong


def refused() -> set[str]:
    """Flags that are taken for their hint alone."""
    options = [option for command in COMMANDS.values() for option in command.options if option.refused]
    return {flag for option in options for flag in option.flags}


def test_refused_options_answer_and_are_not_listed(capsys):
    def prlx(*given):
        return main(given), *capsys.readouterr()

    assert refused() == {"--tui"}
    shown = [prlx(name, "--help")[1] for name in COMMANDS]
    shown += [prlx("completion", shell)[1] for shell in ("bash", "zsh", "fish")]
    shown += [page.read_text() for page in pages() if str(page.relative_to(ROOT)) not in ABOUT_OTHERS]
    assert not [text for text in shown if "--tui" in text or "l tui" in text]
    for given in (["diff", "a", "b", "--tui"], ["session", "diff", "a", "b", "--tui"]):
        code, _, said = prlx(*given)
        assert code == 2
        assert len(said.splitlines()) == 2  # and what to do instead
