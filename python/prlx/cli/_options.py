"""Flags that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from typing import cast

from .. import _options
from .._config import BY_KEY
from ._command import Option, Takes

_TAKES: dict[str, Takes] = {"choice": "text", "text": "text", "whole": "whole", "size": "size", "switch": "switch"}


def from_setting(key: str, help: str = "", *, name: str = "", off: str = "", metavar: str = "") -> Option:
    """The flag of a setting: it takes its choices, and its value when left out, from the table of settings.

    ``name`` is the flag of its argument, where the setting has another name.
    """
    setting = BY_KEY[key]
    own = "--" + key.rpartition(".")[2]
    return Option(
        (name, own) if name else (own,),
        help or setting.help,
        takes=_TAKES[setting.kind],
        metavar=metavar,
        choices=setting.choices,
        setting=key,
        off=off,
    )


def of(operation: str, *names: str) -> tuple[Option, ...]:
    """The flags of an operation, from the table of options: all of them, or those of some names."""
    options = _options.of(operation)
    return tuple(_flag(options[name]) for name in names or options if not options[name].flagless)


# How a flag takes what Python takes as a number, a name or several.
_TYPED: dict[str, Takes] = {
    "node": "text",
    "inputs": "paths",
    "recordings": "paths",
    "names": "texts",
    "allowed": "texts",
    "list": "text",
    "tolerance": "text",
    "warps": "text",
    "sites": "text",
}


def _flag(option: _options.Option) -> Option:
    flags = ("--" + option.name.replace("_", "-"), *([option.also] if option.also else []))
    left = f"; default: {option.left_out}" if option.left_out else ""
    return Option(
        flags,
        option.off_help or option.sentence.replace("`", "") + left,
        takes=_TYPED.get(option.takes) or cast(Takes, option.takes),
        metavar=option.metavar,
        choices=option.choices,
        setting=option.setting,
        off=option.off,
        brief=option.rare,
    )


OUTPUT = Option(
    ("--output", "-o"), "where to write; nothing is overwritten without --overwrite", takes="path", metavar="OUT"
)
OVERWRITE = Option(("--overwrite",), "replace an output that exists", takes="switch")
JSON = Option(("--json",), "print one JSON document on stdout", takes="switch")

COMMON = (
    Option(("--quiet", "-q"), "errors only", takes="switch"),
    Option(("--verbose", "-v"), "more detail; -vv also shows tracebacks", takes="count"),
    Option(("--no-color",), "no colour (also NO_COLOR; FORCE_COLOR forces it)", takes="switch"),
    Option(("--help", "-h"), "this text", takes="switch"),
)

SKIP_UNREADABLE = Option(("--skip-unreadable",), "leave out traces that cannot be read, and say which", takes="switch")
SALVAGE = Option(("--salvage",), "read the complete part of a trace that was cut off", takes="switch")
WORKERS = from_setting("workers", "parallel workers; the output is the same for any number", metavar="N")
MEMORY_LIMIT = from_setting("memory-limit", "memory that the job may take, such as 512MiB", metavar="SIZE")

SESSION = Option(("--session",), "A and B are sessions (directories always are)", takes="switch", brief=True)
