"""What a recording would take and lose, before anything is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._units import format_bytes, plural


@dataclass(frozen=True)
class Plan:
    """What a recording of one launch by the kernel itself would take; the launch counted its events.

    Attributes
    ----------
    kernel, launch
        Which one it is; launches count from 0.
    sites
        Places in the kernel that call the recorder.
    warps
        Warps that are wanted.
    warp_bytes
        What each of them takes whatever it passes: its entry and its sums.
    bytes
        An arena that keeps everything that is asked for.
    operand_bytes
        Of these, operands of every lane (``mode="values"``), one element an event.
    arena_bytes
        The arena that there is: ``PRLX_ARENA``.
    events, most_events
        Events that happen, and those of the warp that has most.
    not_asked_for
        Events that ``events_per_warp``, ``PRLX_HISTORY_DEPTH`` or ``PRLX_SAMPLE_RATE`` leaves out.
    lost_events
        Events for which there is no room, at most.
    lost_warps
        Warps for which there is none.
    lost_operands
        Events whose operands find none, at least.
    unseen
        Instructions that write global memory and are in no sum.
    warning
        What of the kernel is not recorded, ``""`` nothing.
    counted
        Whether the events of all warps could be counted: not where the arena is too small even for that.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> with prlx.enable(device="simulator", capture="instrumented", plan=True) as recording:
    ...     _ = softmax[(6,)](np.zeros_like(x), x, 200, 200, SLIP=0, BLOCK=256)
    softmax: ...
    >>> recording.plans[0].lost_events
    0
    """

    kernel: str
    launch: int
    sites: int
    warps: int
    warp_bytes: int
    bytes: int
    operand_bytes: int
    arena_bytes: int
    events: int
    most_events: int
    not_asked_for: int
    lost_events: int
    lost_warps: int
    lost_operands: int
    unseen: int
    warning: str
    counted: bool

    @property
    def loses(self) -> bool:
        """Whether a recording would not hold all that is asked for."""
        return bool(self.lost_events or self.lost_warps or self.lost_operands) or not self.counted

    def __str__(self) -> str:
        text = (
            f"{self.kernel}: {plural(self.sites, 'site')}, {plural(self.warps, 'warp')} of {format_bytes(self.warp_bytes)},"
            f" {plural(self.events, 'event')} ({self.most_events} of one warp); a launch takes {format_bytes(self.bytes)}"
            f" of {format_bytes(self.arena_bytes)}"
        )
        lost = [
            f"up to {plural(self.lost_events, 'event')}" if self.lost_events else "",
            plural(self.lost_warps, "warp") if self.lost_warps else "",
            f"operands of {plural(self.lost_operands, 'event')} or more" if self.lost_operands else "",
            "" if self.counted else "not all warps could be counted",
        ]
        text += "; lost: " + (", ".join(part for part in lost if part) or "nothing")
        if self.not_asked_for:
            text += f"; left out as asked: {plural(self.not_asked_for, 'event')}"
        return text + (f" ({self.warning})" if self.warning else "")


def planned(document: Mapping[str, Any]) -> Plan:
    """The plan of a launch, of what the core says of it."""
    found = dict(document["planned"])
    found["counted"] = found.pop("events_counted")
    found.pop("sum_bytes")
    return Plan(kernel=document["kernel"], launch=document["launch"], **found)


def sentences(plans: Iterable[Plan]) -> Iterator[str]:
    """One line for each kernel: its launch that takes most, and of how many that is."""
    most: dict[str, Plan] = {}
    count: dict[str, int] = {}
    for plan in plans:
        count[plan.kernel] = count.get(plan.kernel, 0) + 1
        if plan.kernel not in most or (plan.loses, plan.bytes) > (most[plan.kernel].loses, most[plan.kernel].bytes):
            most[plan.kernel] = plan
    for kernel, plan in most.items():
        yield f"{plan}" + (f"; the largest of {count[kernel]} launches" if count[kernel] > 1 else "")
