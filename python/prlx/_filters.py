"""Which warps, sites and kinds: what people say, as the core takes it."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Iterable
from typing import SupportsIndex, TypeAlias

from . import _config
from ._errors import UsageError
from ._lines import location as place_of

Warps: TypeAlias = int | str | Iterable[int]
"""Which warps: a number, a text like ``"0-10,15"``, or numbers."""

Sites: TypeAlias = int | str | Iterable[int | str]
"""Which sites: ids (a number, ``"0x1a2b3c4d"``), ``"softmax.py:41"``, ``"func:softmax*"`` or ``"kind:atomic"``; or several."""

Kinds: TypeAlias = int | str | Iterable[int | str]
"""Which kinds of sites: names (``branch``, ``atomic``, ...) or the numbers of format v1."""

KINDS = (
    "branch",
    "shared-store",
    "atomic",
    "entry",
    "exit",
    "switch",
    "global-store",
    "predicate",
    "load",
    "barrier",
    "value",
)


def is_site(wanted: str, site: str, kind: str | None, location: str | None) -> bool:
    """Whether a site is meant, as patterns of the command line say it."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", wanted):
        return int(wanted, 16) == int(site, 16)
    if wanted.startswith("kind:"):
        return fnmatch.fnmatchcase(kind or "", wanted.removeprefix("kind:"))
    if not location:
        return False
    file, function, line, _ = place_of(location)
    if wanted.startswith("func:"):
        return fnmatch.fnmatchcase(function, wanted.removeprefix("func:"))
    head, _, tail = wanted.rpartition(":")
    pattern = head if head and tail.isdecimal() else wanted
    if pattern != wanted and line != tail:
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for name in (file, file.rpartition("/")[2]))


def kind_names(given: Kinds) -> list[str]:
    """Kinds by name.

    Raises
    ------
    UsageError
        There is no such kind; with the near name.
    """
    several = [given] if isinstance(given, (int, str)) else list(given)
    words = (part for one in several for part in str(one).split(","))
    return [_kind_name(word) for word in words]


def _kind_name(given: str) -> str:
    if given.strip().isdecimal():
        number = int(given)
        return KINDS[number] if 0 <= number < len(KINDS) else f"kind-{number}"
    name = given.strip().lower().replace("_", "-")
    if name not in KINDS and not name.startswith("kind-"):
        raise UsageError(f"no kind of site {given!r}{_config.did_you_mean(name, KINDS)}", hint=", ".join(KINDS))
    return name


def site_texts(given: Sites) -> list[str]:
    """Sites as the core takes them: ids as ``0x...``, locations as they are."""
    several = [given] if isinstance(given, (int, str)) else list(given)
    return [f"0x{one:x}" if isinstance(one, SupportsIndex) else str(one).strip() for one in several]


def warp_text(given: Warps) -> str:
    """Warps as ranges in text: ``0-10,15``.

    Raises
    ------
    UsageError
        It is not a list of numbers and ranges.
    """
    if isinstance(given, SupportsIndex):  # NumPy's whole numbers, too
        given = [operator.index(given)]
    if isinstance(given, str):
        ranges(given)
        return given
    text: list[str] = []
    last: int | None = None
    for warp in sorted({int(one) for one in given}):
        if last is not None and warp == last + 1:
            text[-1] = f"{text[-1].partition('-')[0]}-{warp}"
        else:
            text.append(str(warp))
        last = warp
    if not text:
        raise UsageError("warps: none is named", hint="leave it out for all")
    joined = ",".join(text)
    ranges(joined)
    return joined


def ranges(text: str) -> list[tuple[int, int]]:
    """First and last of every range of ``0-10,15``.

    Raises
    ------
    UsageError
        It is not a list of numbers and ranges.
    """
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"warps: expected numbers and ranges such as 0-10,15, got {text!r}")
        found.append((int(match[1]), int(match[2] or match[1])))
    return found
