"""Memory of arrays that are gone: what a pointer that a kernel loads may still lead to."""

from __future__ import annotations

import sys
import threading
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .launch import Storage

_MOST = 4096  # pieces that are remembered; the oldest is forgotten
_MOST_OWNERS = 64


@dataclass(frozen=True)
class _Seen:
    name: str
    launch: int
    is_gone: Callable[[], bool]


class Freed:
    """The memory that launches were passed, and which of it was freed since.

    It is known of NumPy arrays that own their memory and of torch's storages; of other memory nothing is claimed.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[int, int], _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, pieces: Sequence[Storage], launch: int) -> None:
        """Note memory that a launch was passed."""
        with self._lock:
            for piece in pieces:
                key = (piece.address, piece.size)
                known = self._seen.get(key)
                if piece.size == 0 or (known is not None and not known.is_gone()):
                    continue
                gone = _when_gone(piece.keep)
                if gone is None:
                    continue
                self._seen[key] = _Seen(piece.name, launch, gone)
                self._seen.move_to_end(key)
                if len(self._seen) > _MOST:
                    self._seen.popitem(last=False)

    def gone(self, pieces: Sequence[Storage]) -> list[dict[str, Any]]:
        """What was freed, as the core takes it: latest first, without memory that pieces or arrays of other launches have."""
        with self._lock:
            rows = [(address, size, seen, seen.is_gone()) for (address, size), seen in self._seen.items()]
        held = [(p.address, p.end) for p in pieces] + [(at, at + size) for at, size, _, gone in rows if not gone]
        begins, ends = _joined(held)
        return [
            {"name": f"{seen.name} of launch {seen.launch}", "address": address, "bytes": size}
            for address, size, seen, gone in reversed(rows)
            if gone and bisect_right(ends, address) == bisect_left(begins, address + size)
        ]


def _joined(ranges: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Where the union of ranges begins and ends, ascending."""
    begins: list[int] = []
    ends: list[int] = []
    for begin, end in sorted(ranges):
        if ends and begin <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        elif begin < end:
            begins.append(begin)
            ends.append(end)
    return begins, ends


def _when_gone(keep: Any) -> Callable[[], bool] | None:
    """Asks whether the memory behind an array was freed; None where nobody knows."""
    if hasattr(keep, "untyped_storage"):
        try:
            from torch.multiprocessing.reductions import StorageWeakRef

            expired: Callable[[], bool] = StorageWeakRef(keep.untyped_storage()).expired
        except (ImportError, AttributeError, RuntimeError):
            return None
        return expired
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(keep, numpy.ndarray):
        return None
    for _ in range(_MOST_OWNERS):
        if keep.base is None:
            break
        keep = keep.base
        if not isinstance(keep, numpy.ndarray):
            return None
    if not keep.flags.owndata:
        return None
    owner = weakref.ref(keep)
    return lambda: owner() is None


FREED = Freed()
"""That of this process."""
