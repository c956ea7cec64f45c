"""Where a command talks: data to stdout, everything else to stderr."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from .._config import Config

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


_STYLE = "|".join(_CODES.values())
_STYLES = re.compile(rf"(\x1b\[(?:0|(?:{_STYLE})(?:;(?:{_STYLE}))*)m)")
# Control characters but those that end a line or a column, and what turns the direction of text.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_WHOLE = 1 << 20  # columns


@dataclass(frozen=True)
class Stream:
    """An output with what it can show: colour, width, characters beyond ASCII."""

    file: TextIO
    color: bool
    width: int
    unicode: bool

    def style(self, text: str, *names: str) -> str:
        """The text in a colour or weight, or as it is where there is no colour."""
        if not self.color or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def line(self, text: str = "") -> None:
        """Write a line of text for people: whatever a file says in it, a terminal sees no codes but those of ``style``."""
        if not text.isprintable():
            parts = _STYLES.split(text) if self.color else [text]
            parts[::2] = [_UNFIT.sub("\ufffd", part) for part in parts[::2]]
            text = "".join(parts)
        self.raw(text)

    def raw(self, text: str) -> None:
        """Write a line as it is; characters that the encoding lacks become ``?``, never an exception."""
        encoding = getattr(self.file, "encoding", None) or "utf-8"
        self.file.write(text.encode(encoding, "replace").decode(encoding) + "\n")


@dataclass(frozen=True)
class UI:
    """What a command sees of the terminal and of the settings."""

    out: Stream
    err: Stream
    config: Config = field(repr=False)
    quiet: bool = False
    verbose: int = 0
    json: bool = False
    terminal: bool = False
    """Whether stderr is a terminal: progress is shown only there."""

    def say(self, text: str, *, detail: int = 0) -> None:
        """A line of talk on stderr, from verbosity ``detail`` on."""
        if not self.quiet and self.verbose >= detail:
            self.err.line(text)

    def warn(self, text: str) -> None:
        """A warning on stderr."""
        self.say(f"{self.err.style('warning:', 'yellow', 'bold')} {text}")

    def show(self, lines: Iterable[str]) -> None:
        """Text output on stdout, unless errors alone are wanted."""
        for line in () if self.quiet else lines:
            self.out.line(line)

    def emit(self, document: Mapping[str, Any]) -> None:
        """The one JSON document on stdout."""
        import json

        self.out.raw(json.dumps(document, indent=2, ensure_ascii=not self.out.unicode))

    @property
    def progress(self) -> bool:
        """Whether a long job shows how far it is."""
        return self.terminal and not self.quiet


def open_ui(config: Config, *, no_color: bool, quiet: bool, verbose: int, json: bool) -> UI:
    """The streams of this process with what flags, settings, ``NO_COLOR`` and ``FORCE_COLOR`` say about colour."""
    out, err = (_stream(file, config, no_color) for file in (sys.stdout, sys.stderr))
    return UI(out, err, config, quiet, verbose, json, _is_terminal(sys.stderr))


def _stream(file: TextIO, config: Config, no_color: bool) -> Stream:
    encoding = (getattr(file, "encoding", None) or "ascii").lower().replace("-", "")
    terminal = _is_terminal(file)
    # Names are cut to fit a terminal, never in a pipe, unless COLUMNS says how wide it shall be.
    width = _columns() if terminal or "COLUMNS" in os.environ else _WHOLE
    return Stream(file, _wants_color(config, no_color, terminal), max(40, width), encoding.startswith("utf"))


def _columns() -> int:
    """The columns of the terminal, as ``shutil`` finds them; importing that costs milliseconds."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # no stdout, closed, no terminal
        return 80


def _wants_color(config: Config, no_color: bool, terminal: bool) -> bool:
    if no_color:
        return False
    found = config.get("color")
    if not config.is_set_in_environment("color"):
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
    if found.value != "auto":
        return found.value == "always"
    return terminal and os.environ.get("TERM") != "dumb"


def _is_terminal(file: TextIO) -> bool:
    try:
        return file.isatty()
    except (AttributeError, ValueError):
        return False
