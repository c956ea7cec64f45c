"""Variables of the environment that are looked up for each launch."""

from __future__ import annotations

import os
from collections.abc import Callable


def reader(*names: str) -> Callable[[], tuple[object, ...]]:
    """Makes what says the values of variables now: texts, or bytes where the environment has them as such; None for none.

    ``os.environ`` takes a microsecond to look one up, and more where the caches are cold, for it raises and catches where
    there is none. The dictionary behind it, where it has one, takes a twentieth of that.
    """
    keys = tuple(map(os.fsencode, names))

    def read() -> tuple[object, ...]:
        data = getattr(os.environ, "_data", None)
        return tuple(map(os.environ.get, names)) if data is None else tuple(map(data.get, keys))

    return read
