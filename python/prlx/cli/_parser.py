"""Command lines to values: argparse underneath, our own help text and our own words for mistakes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from .._config import Config, did_you_mean
from .._errors import UsageError
from .._units import parse_size, parse_time_range
from ._command import Command, Option
from ._options import COMMON

HELP_WIDTH = 100
SCREEN = 44
_LEFT = 37


class _Parser(argparse.ArgumentParser):
    """argparse whose mistakes are exceptions that end as one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        told = message.removeprefix("argument ").replace("the following arguments are required: ", "missing: ")
        raise UsageError(told, hint=f"see {self.prog} --help")


def build(command: Command) -> argparse.ArgumentParser:
    """The parser of a command; every value left out is ``None``."""
    # A usage and a width of our own keep argparse from making them up for messages that are never shown.
    parser = _Parser(
        prog=command.program or f"prlx {command.name}",
        usage=command.usage,
        formatter_class=partial(argparse.HelpFormatter, width=HELP_WIDTH),
        add_help=False,
        allow_abbrev=False,
    )
    for option in (*command.options, *COMMON):
        _add(parser, option)
    for item in command.positionals:
        if item.count == "rest":
            continue  # see split
        count = {"one": None, "optional": "?", "some": "+", "any": "*"}[item.count]
        kind = _choice(item.choices, item.refused) if item.choices else str
        parser.add_argument(item.name.lower(), metavar=item.name, nargs=count, type=kind)
    return parser


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    flags = option.flags[::-1]
    if option.takes == "switch":
        parser.add_argument(*flags, dest=option.name, action="store_true", default=None)
        if option.off:
            parser.add_argument(option.off, dest=option.name, action="store_false", default=None)
    elif option.takes == "count":
        parser.add_argument(*flags, dest=option.name, action="count", default=0)
    elif option.takes == "texts":
        parser.add_argument(*flags, dest=option.name, action="append", required=option.required)
    elif option.takes == "paths":
        parser.add_argument(*flags, dest=option.name, action="extend", nargs="+", required=option.required)
    else:
        parser.add_argument(*flags, dest=option.name, type=_reader(option), required=option.required)


def _reader(option: Option) -> Callable[[str], Any]:
    if option.choices:
        return _choice(option.choices)
    if option.takes == "size":
        return _explained(parse_size)
    if option.takes == "range":
        return _explained(parse_time_range)
    if option.takes == "whole":
        return _explained(_whole)
    if option.takes == "number":
        return _explained(_number)
    if option.takes == "seconds":
        return _explained(_seconds)
    return str


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"expected a whole number, 0 or more, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"expected seconds, 0 or more, got {text!r}")
    return value


def _explained(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def reader(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return reader


def _choice(words: Sequence[str], refused: Sequence[str] = ()) -> Callable[[str], str]:
    def reader(text: str) -> str:
        if text not in words and text not in refused:
            known = ", ".join(words)
            raise argparse.ArgumentTypeError(f"expected one of {known}, got {text!r}{did_you_mean(text, list(words))}")
        return text

    return reader


def parse(command: Command, words: Sequence[str]) -> argparse.Namespace:
    """The values of a command line, flags only.

    Raises
    ------
    UsageError
        With the near name when a flag is unknown.
    """
    parser = build(command)
    words, others = split(command, _with_flag(command, words))
    try:
        values, rest = parser.parse_known_intermixed_args(list(words))
    except UsageError as error:
        raise _explain(error, command, words) from None
    for word in rest:
        if word.startswith("-") and word != "-":
            flag = word.partition("=")[0]
            parser.error(f"unknown option {flag}{did_you_mean(flag, list(spellings(command)))}")
        parser.error(f"unexpected argument {word!r}")
    for item in command.positionals:
        if item.count == "rest":
            setattr(values, item.name.lower(), others)
    return values


def _with_flag(command: Command, words: Sequence[str]) -> Sequence[str]:
    """The words of ``prlx NAME compare A B`` with the flag in place of the verb; of scripts the flag takes the first one."""
    if words[:1] != ["compare"] or command.comparing is None:
        return words
    words = [*command.comparing, *words[1:]]
    if next(option.takes for option in command.options if option.name == "compare") == "switch":
        return [*words, "--compare"]
    own, rest = split(command, words)
    if not rest:
        raise UsageError("compare takes two scripts", hint=f"prlx {command.name} compare BEFORE AFTER")
    return [*own[:-1], "--compare", own[-1], *rest]


def split(command: Command, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are the command's own, and those of the program that it runs: all behind its name.

    Before the name stand flags, and one word for each positional that the command has before it.
    """
    own = next((i for i, item in enumerate(command.positionals) if item.count == "rest"), None)
    if own is None:
        return list(words), []
    takes = {flag: option.takes for option in (*command.options, *COMMON) for flag in option.flags}
    at = 0
    while at < len(words):
        if not words[at].startswith("-") or words[at] == "-":
            own -= 1
            if own == 0:
                break
            at += 1
            continue
        if words[at] == "--":
            end = at + 1 + own
            return [*words[:at], *words[at + 1 : end]], list(words[end:])
        at += 1 if "=" in words[at] or takes.get(words[at], "switch") in ("switch", "count") else 2
    return list(words[: at + 1]), list(words[at + 1 :])


def _explain(error: UsageError, command: Command, words: Sequence[str]) -> UsageError:
    """Say why inputs are missing when an option that takes several files has swallowed them."""
    greedy = [flag for option in command.options if option.takes == "paths" for flag in option.flags if flag in words]
    if greedy and error.message.startswith("missing: "):
        error.advice = f"{greedy[-1]} takes every word up to the next option: name the inputs first"
    return error


def spellings(command: Command) -> Iterable[str]:
    """Every flag of a command that it lists, as it may be typed."""
    for option in (*command.listed, *COMMON):
        yield from option.flags
        if option.off:
            yield option.off


def fill(values: argparse.Namespace, command: Command, config: Config) -> None:
    """Give every flag left out the value that the environment, the configuration file or the default has for it."""
    for option in command.options:
        if option.setting and getattr(values, option.name) is None:
            setattr(values, option.name, config.get(option.setting).value)


def given(values: argparse.Namespace, call: Callable[..., object]) -> dict[str, Any]:
    """The values that a function takes by name, which is the name of the flag; not those that were left out.

    Parameters
    ----------
    values
        The flags of a command line.
    call
        What they are for.
    """
    import inspect

    parameters = inspect.signature(call).parameters.values()
    names = {each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
    names |= getattr(call, "accepts", frozenset())
    return {name: value for name, value in vars(values).items() if name in names and value is not None}


def naming_flags(message: str, command: Command) -> str:
    """What an operation says of an argument (``max_levels is 9``), as whoever typed a flag reads it (``--max-levels is 9``)."""
    import re  # a command that runs does not need it, a mistake does

    named = re.match(r"([a-z_]+)(?= is |: )", message)
    flag = named and next((option.flags[0] for option in command.listed if option.name == named[1]), None)
    return flag + message[named.end() :] if named and flag else message


def render_help(command: Command, *, full: bool = False) -> str:
    """The help text: usage, what it does, examples, options. It fits on a screen, unless it is to be full."""
    lines = [f"usage: {command.usage}", "", command.summary[:1].upper() + command.summary[1:] + ".", "", "examples:"]
    width = max((len(line) for line, meaning in command.examples if meaning), default=0)
    lines += [f"  {line:<{width}}  {meaning}".rstrip() for line, meaning in command.examples]
    lines += ["", "options:"]
    lines += [line for item in command.positionals for line in _columns("|".join(item.choices) or item.name, item.help)]
    shown = [line for option in (*command.listed, *COMMON) for line in _row(option)]
    notes = ["", *command.notes] if command.notes else []
    if not full and len(lines) + len(shown) + len(notes) > SCREEN:
        shown = [line for option in (*command.listed, *COMMON) if not option.brief for line in _row(option)]
        shown += _brief([option for option in command.listed if option.brief], command)
    lines += shown + notes
    return "\n".join(lines) + "\n"


def _brief(options: Sequence[Option], command: Command) -> list[str]:
    """Options that are only named, and what explains them."""
    if not options:
        return []
    spelled = [f"{option.off or option.flags[0]} {'|'.join(option.choices) or option.metavar}" for option in options]
    named = [text.rstrip().replace(" ", "\xa0") for text in spelled]
    import textwrap

    text = textwrap.wrap(", ".join(named), HELP_WIDTH - 2, break_on_hyphens=False)
    head = f"also, explained by {command.program or f'prlx {command.name}'} --help -v:"
    return ["", head, *(f"  {line}".replace("\xa0", " ") for line in text)]


def _row(option: Option) -> list[str]:
    spelled = ", ".join(sorted(option.flags, key=len))
    if option.off:
        spelled = option.off
    if option.choices:
        spelled += " " + "|".join(option.choices)
    elif option.metavar:
        spelled += f" {option.metavar}{'...' if option.takes == 'paths' else ''}"
    return _columns(spelled, option.help)


def _columns(left: str, right: str) -> list[str]:
    head = f"  {left:<{_LEFT}}  "
    import textwrap

    wrapped = textwrap.wrap(right, HELP_WIDTH - len(head)) or [""]
    return [head + wrapped[0], *(" " * len(head) + more for more in wrapped[1:])]
