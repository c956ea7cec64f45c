"""Numbers as people write and read them: durations, sizes, counts.

Everything inside prlx is an integer of nanoseconds, picoseconds or bytes; this module is where those meet text. Parsing is
exact (no float ever holds a time), formatting keeps four significant digits.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation

_SIZE = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZE |= {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_TIME = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_NUMBER = re.compile(r"([+-]?[0-9_]*\.?[0-9_]+)\s*([a-zA-Zµ]*)")

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


def parse_time_range(text: str) -> tuple[TimeRange, bool]:
    """The two ends of ``A:B`` in nanoseconds, and whether they count from the start of the trace.

    ``1.5s:2s`` and ``:300ms`` count from the start; whole numbers without a unit are absolute nanoseconds since 1970. An end
    left out is open. The two forms do not mix.

    Raises
    ------
    ValueError
        With what was expected.
    """
    expected = "A:B, such as 1.5s:2s from the start of the trace or two absolute times in ns"
    first, colon, second = text.partition(":")
    if not colon or ":" in second or not (first.strip() or second.strip()):
        raise ValueError(f"expected {expected}, got {text!r}")
    ends: list[int | None] = []
    relative: set[bool] = set()
    for part in (first.strip(), second.strip()):
        if not part:
            ends.append(None)
            continue
        number, unit = _split(part, expected)
        if unit not in ("", *_TIME):
            raise ValueError(f"expected a unit of {', '.join(_TIME)}, got {part!r}")
        value = number * _TIME.get(unit, 1)
        if value != int(value):
            raise ValueError(f"expected whole nanoseconds, got {part!r}")
        relative.add(bool(unit))
        ends.append(int(value))
    if len(relative) > 1:
        raise ValueError(f"expected both ends with a unit (from the start) or both without (absolute ns), got {text!r}")
    start, stop = ends
    if start is not None and stop is not None and stop <= start:
        raise ValueError(f"expected the end after the start, got {text!r}")
    return (start, stop), relative == {True}


def _split(text: str, expected: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(text.strip())
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
    size = abs(ns)
    for unit, factor, limit in (("ns", 1, 10**3), ("us", 10**3, 10**6), ("ms", 10**6, 10**9), ("s", 10**9, 600 * 10**9)):
        if size < limit * 0.99995 or unit == "s" and size < limit:
            break
    else:
        unit, factor = ("h", 3600 * 10**9) if size >= 7200 * 10**9 else ("min", 60 * 10**9)
    number = f"{ns:{'+' if sign else ''}.0f}" if factor == 1 else _significant(ns / factor, sign)
    return f"{number} {unit}"


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
    date = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return f"{date:%Y-%m-%d %H:%M:%S}.{rest // 1000:06d} UTC"
