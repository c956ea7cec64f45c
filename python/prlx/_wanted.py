"""What of which kernels is recorded: patterns of their names, lines and functions of their source."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import UsageError

VARIABLE = "PRLX_FILTER"
_LINES = re.compile(r"(?P<file>[^:]*):(?P<first>\d+)(?:-(?P<last>\d+))?")
_MOST = (1 << 32) - 1
_HINT = "a name with * and ?, FILE:LINE, FILE:FROM-TO or func:NAME"


@dataclass(frozen=True)
class Wanted:
    """What a filter lets through.

    Attributes
    ----------
    kernels
        Patterns of names; none is every kernel.
    places
        Lines and functions, as the core takes them; none is everywhere.
    """

    kernels: tuple[str, ...] = ()
    places: tuple[Mapping[str, Any], ...] = ()

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.kernels and not self.places

    @property
    def key(self) -> str:
        """Names the places: kernels that record elsewhere are others."""
        return f"{zlib.crc32(json.dumps(self.places, sort_keys=True).encode()):08x}" if self.places else ""

    def kernel(self, name: str) -> bool:
        """Whether a kernel of this name is wanted."""
        return not self.kernels or any(named(pattern, name) for pattern in self.kernels)

    def within(self, functions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The places in a kernel with these functions, as the core takes them: compilers forget what they have inlined.

        Files are named by their last part: a kernel from a cache names the folder in which it was compiled.
        """
        known = [
            {
                "file": _slashed(one["file"]).rpartition("/")[2],
                "function": "",
                "first": one["first_line"],
                "last": _end(one),
            }
            for one in functions
            if any(place["function"] and named(place["function"], one["function"]) for place in self.places)
        ]
        return [*self.places, *known]

    def functions(self, functions: Iterable[Mapping[str, Any]]) -> bool:
        """Whether one of the functions of a kernel has a place that is wanted.

        Parameters
        ----------
        functions
            Of the user, each with ``file``, ``function``, ``first_line`` and ``text``. Where none is known, all is wanted.
        """
        known = list(functions)
        if not self.places or not known:
            return True
        return any(_holds(place, one) for place in self.places for one in known)

    def __str__(self) -> str:
        spelled = [f"func:{p['function']}" if p["function"] else f"{p['file']}:{_lines(p)}" for p in self.places]
        return ",".join((*self.kernels, *spelled))


def wanted(filter: str | Iterable[str] | None) -> Wanted:
    """What a filter asks for; where there is none, what ``PRLX_FILTER`` says.

    Each text may hold several with commas: a name of kernels with ``*`` and ``?`` (one without is also found inside of names),
    ``FILE:LINE``, ``FILE:FROM-TO``, or ``func:NAME``.

    Raises
    ------
    UsageError
        A text is none of these.
    """
    if isinstance(filter, Wanted):
        return filter
    if filter is None:
        filter = os.environ.get(VARIABLE) or ()
    texts = [filter] if isinstance(filter, str) else list(filter)
    kernels: list[str] = []
    places: list[Mapping[str, Any]] = []
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"filter: expected a text, got {text!r}", hint=_HINT)
        for part in filter_parts(text):
            place = _place(part)
            kernels += [part] if place is None else []
            places += [] if place is None else [place]
    return Wanted(tuple(kernels), tuple(places))


def filter_parts(text: str) -> Sequence[str]:
    """The parts of a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def named(pattern: str, name: str) -> bool:
    """Whether a pattern fits a name: with ``*`` and ``?`` as a whole, without them also inside of it.

    ``core/recording/observe`` does the same, and a test compares them.
    """
    literal = pattern.replace("[", "[[]")
    return fnmatch.fnmatchcase(name, literal) or (not set("*?") & set(pattern) and pattern in name)


def _place(part: str) -> Mapping[str, Any] | None:
    if part.startswith("func:"):
        if not part[5:]:
            raise UsageError(f"filter: {part!r} names no function", hint=_HINT)
        return {"file": "", "function": part[5:], "first": 0, "last": 0}
    if ":" not in part:
        return None
    found = _LINES.fullmatch(part)
    first = int(found["first"]) if found else 0
    last = int(found["last"]) if found and found["last"] else first
    if found is None or not 0 < first <= last <= _MOST:
        raise UsageError(f"filter: {part!r} is no line of a file", hint=_HINT)
    return {"file": found["file"], "function": "", "first": first, "last": last}


def _lines(place: Mapping[str, Any]) -> str:
    return str(place["first"]) if place["first"] == place["last"] else f"{place['first']}-{place['last']}"


def _holds(place: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    if place["function"]:
        return named(place["function"], one["function"])
    file, asked = _slashed(one["file"]), place["file"]
    if asked and file != asked and not file.endswith(f"/{asked}"):
        return False
    return bool(place["first"] <= _end(one) and one["first_line"] <= place["last"])


def _slashed(file: str) -> str:
    return str(file).replace("\\", "/")


def _end(one: Mapping[str, Any]) -> int:
    """The last line of a function."""
    return int(one["first_line"]) + str(one["text"]).rstrip("\n").count("\n")
