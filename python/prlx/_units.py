"""Numbers as people write and read them: durations, sizes, counts.

Everything inside prlx is an integer of nanoseconds, picoseconds or bytes; this module is where those meet text. Parsing is
exact (no float ever holds a time), formatting keeps four significant digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

_SIZE = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZE |= {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_TIME = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
# Units of durations with where they end; 999.95 us and more would print as 1000.0 us.
_STEPS = (
    ("ns", 1, 999.5),
    ("us", 10**3, 999.95e3),
    ("ms", 10**6, 999.95e6),
    ("s", 10**9, 600e9),
    ("min", 60 * 10**9, 7200e9),
    ("h", 3600 * 10**9, float("inf")),
)
_NUMBER = r"([+-]?[0-9_]*\.?[0-9_]+)\s*([a-zA-Zµ]*)"

_ABSOLUTE = 10**15  # ns; smaller ones count from the start of the output, as in core/combine

TimeRange = tuple[int | None, int | None]


def parse_size(text: str) -> int:
    """Bytes of a size such as ``512MiB``, ``2GB`` or ``1000000``; a bare K, M, G or T is binary.

    Raises
    ------
    ValueError
        With what was expected.
    """
    number, unit = _split(text, "a size such as 512MiB or 2GB")
    factor = _SIZE.get(unit.lower())
    if factor is None:
        raise ValueError(f"expected a size in B, kB, MB, GB, KiB, MiB or GiB, got {text!r}")
    value = number * factor
    if value != int(value) or value <= 0:
        raise ValueError(f"expected a whole, positive number of bytes, got {text!r}")
    return int(value)


def parse_duration(text: str) -> int:
    """Nanoseconds of a time such as ``90s``, ``10min`` or ``1.5h``; a bare number is seconds.

    Raises
    ------
    ValueError
        With what was expected.
    """
    expected = "a time such as 90s, 10min or 1h"
    number, unit = _split(text, expected)
    value = number * _TIME.get(unit or "s", 0)
    if value <= 0 or value != int(value) or value >= _ABSOLUTE * 10**3:
        raise ValueError(f"expected {expected}, got {text!r}")
    return int(value)


def parse_time_range(text: str) -> TimeRange:
    """The two ends of ``A:B`` in nanoseconds; an end left out is open.

    ``1.5s:2s`` and ``:300ms`` count from the start of the output; numbers of 1e15 and more are nanoseconds since 1970, which is
    also how the core tells the two apart.

    Raises
    ------
    ValueError
        With what was expected.
    """
    expected = "A:B, such as 1.5s:2s from the start, or two times in ns since 1970"
    first, colon, second = text.partition(":")
    if not colon or ":" in second or not (first.strip() or second.strip()):
        raise ValueError(f"expected {expected}, got {text!r}")
    start, stop = (_instant(part.strip(), expected) for part in (first, second))
    if start is not None and stop is not None and stop <= start and (start < _ABSOLUTE or stop >= _ABSOLUTE):
        raise ValueError(f"expected the end after the start, got {text!r}")
    return start, stop


def _instant(text: str, expected: str) -> int | None:
    if not text:
        return None
    number, unit = _split(text, expected)
    if unit not in ("", *_TIME):
        raise ValueError(f"expected a unit of {', '.join(_TIME)}, got {text!r}")
    value = number * _TIME.get(unit, 1)
    if value != int(value):
        raise ValueError(f"expected whole nanoseconds, got {text!r}")
    if unit and value >= _ABSOLUTE:
        raise ValueError(f"expected a time below 11 days from the start, got {text!r}")
    return int(value)


def _split(text: str, expected: str) -> tuple[Decimal, str]:
    from decimal import Decimal, InvalidOperation  # only when a size or a time is read

    match = re.fullmatch(_NUMBER, text.strip())
    if match is None:
        raise ValueError(f"expected {expected}, got {text!r}")
    try:
        return Decimal(match[1].replace("_", "")), match[2]
    except InvalidOperation:
        raise ValueError(f"expected {expected}, got {text!r}") from None


def format_ns(ns: int | float | None, *, sign: bool = False) -> str:
    """A duration with four significant digits: ``37.00 ms``; ``-`` when unknown."""
    if ns is None:
        return "-"
    unit, factor = next((unit, factor) for unit, factor, below in _STEPS if abs(ns) < below)
    number = f"{ns:{'+' if sign else ''}.0f}" if factor == 1 else _significant(ns / factor, sign)
    return f"{number} {unit}"


def one_unit(times: Iterable[int | float | None]) -> Callable[..., str]:
    """What formats every time of a table alike: in the unit of the smallest, or where the largest would be too long, of that.

    The function takes ``sign=True``, as ``format_ns`` does.
    """
    sizes = [abs(ns) for ns in times if ns]
    if not sizes:
        return format_ns
    units = [(unit, factor) for unit, factor, _ in _STEPS]
    small, large = (next(i for i, step in enumerate(_STEPS) if size < step[2]) for size in (min(sizes), max(sizes)))
    unit, factor = units[max(small, large - 1)]

    def shown(ns: int | float | None, *, sign: bool = False) -> str:
        if ns is None:
            return "-"
        return f"{ns / factor:{'+' if sign else ''},.{0 if factor == 1 else 3}f} {unit}"

    return shown


def _significant(value: float, sign: bool) -> str:
    digits = max(0, 4 - len(str(int(abs(value)))))
    return f"{value:{'+' if sign else ''}.{digits}f}"


def format_bytes(count: int | None) -> str:
    """A size with decimal units: ``126 kB``; ``-`` when unknown."""
    if count is None:
        return "-"
    size = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(size) < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{count} B" if unit == "B" else f"{size:.3g} {unit}" if size < 100 else f"{size:.0f} {unit}"


def format_count(count: int | None) -> str:
    """A number of things with thousands separated: ``10,403``; ``-`` when unknown."""
    return "-" if count is None else f"{count:,}"


def plural(count: int, noun: str) -> str:
    """``1 node``, ``4 nodes``, ``2 boundaries``."""
    if count == 1:
        return f"{count} {noun}"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def format_instant(ns: int) -> str:
    """An absolute time in UTC to the microsecond: ``2026-11-21 03:54:35.450624 UTC``; small ones are not dates."""
    seconds, rest = divmod(ns, 10**9)
    if not 10**8 < seconds < 10**11:
        return format_ns(ns)
    from datetime import datetime, timezone

    date = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return f"{date:%Y-%m-%d %H:%M:%S}.{rest // 1000:06d} UTC"


def node_name(node: str) -> str:
    """``node 3`` for ``3``; ids that say what they are stand for themselves."""
    return f"node {node}" if node.isdecimal() else node
