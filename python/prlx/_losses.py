"""What is missing from a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._result import Brief


@dataclass(frozen=True, repr=False)
class Losses(Brief):
    """What is missing from a recording, and so limits what can be said of it.

    Attributes
    ----------
    events
        Events that are in the file.
    dropped
        Events that were lost because a buffer was full, and which share that is of all.
    warps_with_drops
        Warps that lost some.
    sample_rate
        One in so many events was kept; 1 means every one.
    truncated
        The file ends before its end.
    notes
        The same in sentences.
    """

    events: int
    dropped: int
    dropped_share: float
    warps_with_drops: int
    sample_rate: int
    truncated: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Losses:
        """The losses that a document describes."""
        return cls(
            events=document["events"],
            dropped=document["dropped"],
            dropped_share=document["dropped_share"],
            warps_with_drops=document["warps_with_drops"],
            sample_rate=document["sample_rate"],
            truncated=document["truncated"],
            notes=tuple(document.get("notes") or ()),
        )

    def __bool__(self) -> bool:
        """Whether anything is missing."""
        return self.dropped > 0 or self.sample_rate > 1 or self.truncated
