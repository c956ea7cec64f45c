"""How often Python's collector looks for cycles: a tenth of a start is its work, and it finds nothing there."""

from __future__ import annotations

import gc

_usual = gc.get_threshold()


def rarely() -> None:
    """Each 20,000 objects, in a process that is ours."""
    gc.set_threshold(20_000, *_usual[1:])


def as_usual() -> None:
    """As often as before, for code that is not ours."""
    gc.set_threshold(*_usual)
