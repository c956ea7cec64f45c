"""``prlx completion``: what a shell offers after Tab, written from the same tables as ``--help``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from . import _options as options
from . import _table
from ._command import Command, Option, Positional
from ._parser import spellings

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

SHELLS = ("bash", "zsh", "fish")
_FILES = ("path", "paths")


def run(values: argparse.Namespace, ui: UI) -> int:
    """Print the script; nothing is loaded and nothing is written."""
    ui.show({"bash": _bash, "zsh": _zsh, "fish": _fish}[values.shell]())
    return 0


def _commands() -> list[Command]:
    return [_table.load(name) for name in _table.COMMANDS]


def _all_options(command: Command) -> tuple[Option, ...]:
    return (*command.listed, *options.COMMON)


def _words(command: Command) -> tuple[str, ...]:
    """What can stand first behind the command, besides files: its sub-commands, shells, verbs."""
    first = command.positionals[0] if command.positionals else None
    return (*first.choices, *first.verbs) if first else ()


def _files_first(command: Command) -> bool:
    """Whether a file can stand first behind the command."""
    return bool(command.positionals) and not command.positionals[0].choices


def _files_later(command: Command) -> bool:
    """Whether files can follow what stands first."""
    more = command.positionals[1:]
    return any(not item.choices for item in more) or (
        _files_first(command) and command.positionals[0].count in ("some", "any", "rest")
    )


def _bash() -> Iterator[str]:
    yield '# bash completion of prlx: eval "$(prlx completion bash)"'
    yield "_prlx() {"
    yield "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= given=0 word"
    yield "    [[ $cur == = ]] && cur="
    yield "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}"
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield "        [[ $word == -* ]] && continue"
    yield "        [[ -n $command ]] && given=$((given+1))"
    yield "        command=${command:-$word}"
    yield "    done"
    yield "    COMPREPLY=()"
    yield "    case $command in"
    for command in _commands():
        yield from _bash_command(command)
    yield f"    help) [[ $given == 0 ]] && {_bash_words(_table.COMMANDS)} ;;"
    yield f"    *) {_bash_words([*_table.COMMANDS, 'help', '--help', '--version'])} ;;"
    yield "    esac"
    yield "}"
    yield "_prlx_files() {"
    yield "    local IFS=$'\\n'"
    yield "    compopt -o filenames 2>/dev/null"
    yield '    COMPREPLY=($(compgen -f -- "$1"))'
    yield "}"
    yield "complete -F _prlx prlx"


def _bash_command(command: Command) -> Iterator[str]:
    yield f"    {command.name})"
    yield "        case $prev in"
    for option in _all_options(command):
        flags = "|".join(option.flags)
        if option.choices:
            yield f"        {flags}) {_bash_words(option.choices)}; return ;;"
        elif option.takes in _FILES:
            yield f'        {flags}) _prlx_files "$cur"; return ;;'
        elif option.takes not in ("switch", "count"):
            yield f"        {flags}) return ;;"
    yield "        esac"
    yield f"        if [[ $cur == -* ]]; then {_bash_words(spellings(command))}; return; fi"
    yield f"        if [[ $given == 0 ]]; then {_bash_first(command)}; else {_bash_files(_files_later(command))}; fi"
    yield "        ;;"


def _bash_first(command: Command) -> str:
    words = _words(command)
    files = _bash_files(_files_first(command))
    return f"{files}; {_bash_words(words).replace('=(', '+=(', 1)}" if words else files


def _bash_files(offered: bool) -> str:
    return '_prlx_files "$cur"' if offered else ":"


def _bash_words(words: Iterable[str]) -> str:
    return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(words))} -- "$cur"))'


def _zsh() -> Iterator[str]:
    yield "#compdef prlx"
    yield '# zsh completion of prlx: prlx completion zsh > "${fpath[1]}/_prlx"'
    for command in _commands():
        if any(item.verbs for item in command.positionals):
            words = " ".join(_words(command))
            yield f"_prlx_{command.name}_first() {{ _alternative 'verbs:verb:({words})' 'files:file:_files' }}"
    yield "_prlx() {"
    yield "    local context state line"
    yield "    typeset -A opt_args"
    yield "    _arguments -C '1:command:->command' '*::argument:->argument'"
    yield "    case $state in"
    yield "    command)"
    yield "        local -a commands=("
    for name, summary in _table.COMMANDS.items():
        yield f"            {_single(f'{name}:{summary}')}"
    yield "        )"
    yield "        _describe command commands ;;"
    yield "    argument)"
    yield "        case $words[1] in"
    yield f"        help) _arguments {_single(f'1:command:({chr(32).join(_table.COMMANDS)})')} ;;"
    for command in _commands():
        yield f"        {command.name})"
        specs = [spec for option in _all_options(command) for spec in _zsh_option(option)]
        specs += _zsh_positionals(command)
        yield "            _arguments \\"
        for number, spec in enumerate(specs):
            yield f"                {_single(spec)}{' ;;' if number == len(specs) - 1 else ' ' + chr(92)}"
    yield "        esac ;;"
    yield "    esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = _prlx ]; then _prlx "$@"; else compdef _prlx prlx; fi'


def _zsh_option(option: Option) -> Iterator[str]:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "")
    value = ""
    if option.choices:
        value = f":{option.metavar or 'word'}:({' '.join(option.choices)})"
    elif option.takes in _FILES:
        value = ":file:_files"
    elif option.takes not in ("switch", "count"):
        value = f":{option.metavar or 'value'}:"
    repeat = "*" if option.takes in ("paths", "texts", "count") else ""
    for flag in option.flags if not option.off else (*option.flags, option.off):
        yield f"{repeat}{flag}[{text}]{value}"


def _zsh_positionals(command: Command) -> Iterator[str]:
    for number, item in enumerate(command.positionals, 1):
        name = item.name.lower()
        many = item.count in ("some", "any", "rest")
        if item.verbs:
            yield f"{number}:{name}:_prlx_{command.name}_first"
        if item.choices:
            yield f"{number}:{name}:({' '.join(item.choices)})"
        elif many or not item.verbs:
            yield f"{'*' if many else number}:{name}:_files"


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish() -> Iterator[str]:
    yield "# fish completion of prlx: prlx completion fish > ~/.config/fish/completions/prlx.fish"
    yield "complete -c prlx -f"
    for name, summary in _table.COMMANDS.items():
        yield f"complete -c prlx -n __fish_use_subcommand -a {name} -d {_single(summary)}"
    yield f"complete -c prlx -n '__fish_seen_subcommand_from help' -a {_single(' '.join(_table.COMMANDS))}"
    for command in _commands():
        seen = f"__fish_seen_subcommand_from {command.name}"
        inside = f"complete -c prlx -n '{seen}'"
        words = _words(command)
        if words:
            first = f"__fish_seen_subcommand_from {' '.join(words)}"
            yield f"complete -c prlx -n '{seen}; and not {first}' -a {_single(' '.join(words))}"
            if _files_later(command) and not _files_first(command):
                yield f"complete -c prlx -n '{seen}; and {first}' -F"
        if _files_first(command):
            yield f"{inside} -F"
        for option in _all_options(command):
            yield f"{inside} {_fish_flags(option)} -d {_single(option.help)}"
            if option.off:
                yield f"{inside} -l {option.off[2:]} -d {_single(option.help)}"


def _fish_flags(option: Option) -> str:
    words = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    if option.choices:
        words.append(f"-x -a {_single(' '.join(option.choices))}")
    elif option.takes in _FILES:
        words.append("-r -F")
    elif option.takes not in ("switch", "count"):
        words.append("-x")
    return " ".join(words)


COMMAND = Command(
    name="completion",
    run=run,
    examples=(
        ('eval "$(prlx completion bash)"', "in ~/.bashrc"),
        ('prlx completion zsh > "${fpath[1]}/_prlx"', "then start a new shell"),
        ("prlx completion fish > ~/.config/fish/completions/prlx.fish", ""),
    ),
    positionals=(Positional("SHELL", "which shell", "one", SHELLS),),
)
