"""Arrays that kernels may reach through pointers which they load: the core keeps their table, and a launch names it."""

from __future__ import annotations

import bisect
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace

from . import _core
from .hooks.arrays import merged
from .hooks.launch import Storage


class Standing:
    """Arrays of one device that stay from launch to launch, with their table in the core.

    Arrays that overlap are one piece, as ``merged`` makes them. A launch costs the same with few and with many: only what came
    or went since the one before is sent.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()  # of launches that use it
        self.registered: list[Storage] = []
        self._living: dict[tuple[int, int], Storage] = {}
        self._with_living: Standing | None = None
        self._pieces: list[Storage] = []  # as they should be in the core, ascending
        self._begins: list[int] = []
        self._sent: dict[int, Storage] = {}  # as they are there, by address
        self._changed = False  # since the pieces were made
        self._stale = False  # the core has not the pieces
        self._table = 0

    def __len__(self) -> int:
        return len(self.registered)

    def register(self, storages: Sequence[Storage]) -> None:
        """Arrays that stay."""
        self.registered += storages
        self._changed = True
        if self._with_living is not None:
            self._with_living.register(storages)

    def with_living(self, living: Iterable[Storage]) -> Standing:
        """A second table: these arrays, and those that are alive now, which it does not keep so. Others are gone."""
        if self._with_living is None:
            self._with_living = Standing()
            self._with_living.register(self.registered)
        both = self._with_living
        now = {(one.address, one.size): replace(one, keep=None) for one in living}
        if now.keys() != both._living.keys():
            both._living, both._changed = now, True
        return both

    def near(self, pieces: Iterable[tuple[int, int]]) -> list[Storage]:
        """The arrays that have some of these bytes, each given by its first address and the one behind its last."""
        self._arrange()
        found = []
        for begin, end in pieces:
            at = max(bisect.bisect_right(self._begins, begin) - 1, 0)
            while at < len(self._pieces) and self._begins[at] < max(end, begin + 1):
                if self._pieces[at].end > begin:
                    found.append(self._pieces[at])
                at += 1
        return list(dict.fromkeys(found))

    def table(self) -> int:
        """The number of the table in the core, which is up to date then; 0 while there are no arrays."""
        self._arrange()
        if self._stale:
            self._stale = False
            self._send({one.address: one for one in self._pieces})
        return self._table

    def _arrange(self) -> None:
        if self._changed:
            self._changed, self._stale = False, True
            self._pieces = merged([*self.registered, *self._living.values()])
            self._begins = [one.address for one in self._pieces]

    def _send(self, now: dict[int, Storage]) -> None:
        gone = [address for address, one in self._sent.items() if now.get(address) != one]
        new = [one for address, one in now.items() if self._sent.get(address) != one]
        if gone or new:
            request = {
                "table": self._table,
                "add": [
                    {"name": one.name, "address": one.address, "bytes": one.size, "read_only": one.read_only}
                    for one in new
                ],
                "remove": gone,
            }
            made: int = _core.call("simulate_arrays", request)["table"]
            if self._table == 0:
                weakref.finalize(self, _forget, made).atexit = False  # type: ignore[misc]
            self._table = made
        self._sent = now


def _forget(table: int) -> None:
    if _core.is_loaded():
        _core.call("simulate_forget", {"table": table})
