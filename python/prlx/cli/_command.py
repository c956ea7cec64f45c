"""What a command is: its options, its examples and the function that runs it.

Parsing, ``--help`` and shell completion all read these two dataclasses, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import argparse

    from ._ui import UI

Takes = Literal[
    "switch", "count", "text", "texts", "whole", "number", "seconds", "size", "range", "path", "paths", "outputs"
]


@dataclass(frozen=True)
class Option:
    """One flag.

    Attributes
    ----------
    flags
        Its spellings, the long one first.
    takes
        ``switch`` and ``count`` take nothing; ``paths`` takes one or more files and may be repeated, ``texts`` takes one text
        and may be repeated; ``whole`` is above 0, ``number`` may be 0, ``seconds`` may have a fraction.
    choices
        The words it accepts; empty means any.
    setting
        The key in the table of settings that supplies the value when the flag is left out.
    off
        The spelling that turns a switch off.
    required
        Whether the command refuses to run without it.
    brief
        Whether ``--help`` only names it, in a line with others, where it would not fit on a screen; ``--help -v`` explains it.
    refused
        Whether it is only taken to say what to do instead: neither help nor completion lists it.
    """

    flags: tuple[str, ...]
    help: str
    takes: Takes = "text"
    metavar: str = ""
    choices: tuple[str, ...] = ()
    setting: str = ""
    off: str = ""
    required: bool = False
    brief: bool = False
    refused: bool = False

    @property
    def name(self) -> str:
        """The attribute that the parsed value gets."""
        return self.flags[0].lstrip("-").replace("-", "_")


@dataclass(frozen=True)
class Positional:
    """Words without a flag: files, or one of a few words.

    Attributes
    ----------
    count
        How many; ``rest`` is all behind the others, flags too: another program's.
    choices
        The words it accepts; empty means any.
    refused
        Further words that are only taken to say what to do instead: neither help nor completion lists them.
    verbs
        Words that have a meaning in the first place, where files may stand too.
    """

    name: str
    help: str
    count: Literal["one", "optional", "some", "any", "rest"] = "some"
    choices: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """A verb of ``prlx``.

    Attributes
    ----------
    examples
        Command lines with what they do, shown first by ``--help``.
    run
        Does the work and returns the exit code; errors are raised.
    notes
        Sentences after the options, such as the exit codes that differ.
    summary
        What it does; the table of commands supplies it.
    program
        Its name where it is installed as a program of its own.
    comparing
        Where ``prlx NAME compare A B`` is what a flag ``--compare`` asks for: the words before that flag.
    """

    name: str
    run: Callable[[argparse.Namespace, UI], int]
    examples: tuple[tuple[str, str], ...]
    positionals: tuple[Positional, ...] = ()
    options: tuple[Option, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""
    program: str = ""
    comparing: tuple[str, ...] | None = None

    @property
    def listed(self) -> tuple[Option, ...]:
        """The options that help and completion show."""
        return tuple(option for option in self.options if not option.refused)

    @property
    def usage(self) -> str:
        """``prlx combine INPUT... [options]``."""
        words = [self.program or f"prlx {self.name}"]
        for item in self.positionals:
            word = "|".join(item.choices) if item.choices else item.name
            many = f"[{word}...]"
            words.append(
                {"one": word, "optional": f"[{word}]", "some": f"{word}...", "any": many, "rest": many}[item.count]
            )
        required = [f"{option.flags[0]} {option.metavar}" for option in self.options if option.required]
        if any(item.count == "rest" for item in self.positionals):  # our options stand before another program's
            return " ".join([words[0], *required, "[options]", *words[1:]])
        return " ".join([*words, *required, "[options]"])
