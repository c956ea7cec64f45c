"""How what happens in a kernel is learnt: by watching it, or by having it record itself."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _core
from ._errors import UsageError
from ._looked_up import reader
from ._units import parse_size
from ._version import __version__
from ._wanted import filter_parts, wanted

if TYPE_CHECKING:
    from ._target import Filter
    from .hooks.instrument import Rewriter
    from .hooks.launch import Launch

Capture: TypeAlias = Literal["observed", "instrumented"]
"""The simulator watches the clean kernel, or the kernel is compiled to record by itself."""

CAPTURES = ("observed", "instrumented")
_ARENA = 256 << 20  # bytes, unless PRLX_ARENA says otherwise
_LEAST = 4096

variables = reader("PRLX_HISTORY_DEPTH", "PRLX_SAMPLE_RATE", "PRLX_SNAPSHOT_DEPTH")
"""What the variables of ``kept`` say."""


def rewriter(
    capture: str,
    filter: Filter,
    extras: Mapping[str, Any] | None = None,
    mode: str = "control-flow",
    *,
    within_registers: bool = False,
) -> Rewriter | None:
    """What makes kernels record by themselves, None where they are observed. ``extras`` says what else is recorded.

    Raises
    ------
    UsageError
        There is no such capture, ``PRLX_ARENA`` is no size, or kernels that are observed are to keep to registers.
    """
    if capture not in CAPTURES:
        raise UsageError(f"capture: expected one of {', '.join(CAPTURES)}, got {capture!r}")
    if capture == "observed":
        if within_registers:
            raise UsageError(
                "within_registers: a kernel that is watched has the registers that it has",
                hint='choose capture="instrumented"',
            )
        for name in ("PRLX_HISTORY_DEPTH", "PRLX_SAMPLE_RATE", "PRLX_SNAPSHOT_DEPTH"):
            if os.environ.get(name):
                warnings.warn(f'{name} is for capture="instrumented": all is observed', stacklevel=4)
        return None
    from .hooks.instrument import Rewriter

    arena_bytes()
    depth = kept()["instrumented"]["depth"]
    digest = _core.call("recorder_digest", {})["digest"]
    asked = wanted(filter)
    events = [name for name in ("stores", "atomics", "barriers") if (extras or {}).get(name)]
    if mode == "values" or (depth and mode != "digest"):
        events.append("values")
    if mode == "digest":
        events.append("digest")
    choices = [*events, "registers"] if within_registers else events
    key = "-".join(filter_parts(",".join(("prlx", __version__, digest, *choices, asked.key))))
    made = Rewriter(partial(_rewrite, events), key=key, wanted=asked)
    made.hashes = mode == "digest"
    if within_registers:
        made.fewer = (partial(_rewrite, [*events, "fewer"]),)
    return made


def _rewrite(asked: Sequence[str], text: str, places: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    made = _core.call("instrument", {"text": text, "places": list(places), **dict.fromkeys(asked, True)})
    return made["text"], made["table"], made["warning"]


def arena_bytes() -> int:
    """How much memory the events of a launch may take: ``PRLX_ARENA``, else 256 MiB."""
    text = os.environ.get("PRLX_ARENA", "")
    if not text:
        return _ARENA
    try:
        return max(parse_size(text), _LEAST)
    except ValueError as error:
        raise UsageError(f"PRLX_ARENA: {error}") from None


def kept() -> dict[str, Any]:
    """Which events of a warp are kept where not all are: ``PRLX_HISTORY_DEPTH``, ``PRLX_SAMPLE_RATE``, ``PRLX_SNAPSHOT_DEPTH``.

    Raises
    ------
    UsageError
        One of them is no whole number above 0.
    """
    found: dict[str, Any] = {}
    for name, most in (
        ("PRLX_HISTORY_DEPTH", 1 << 20),
        ("PRLX_SAMPLE_RATE", 1 << 31),
        ("PRLX_SNAPSHOT_DEPTH", 1 << 20),
    ):
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        if not text.isdecimal() or not 0 < int(text) <= most:
            raise UsageError(f"{name}: expected a whole number from 1 to {most}, got {text!r}")
        found[name] = int(text)
    said: dict[str, Any] = {}
    if "PRLX_HISTORY_DEPTH" in found:
        said = {"events_per_warp": found["PRLX_HISTORY_DEPTH"]}
    rate, depth = found.get("PRLX_SAMPLE_RATE", 1), found.get("PRLX_SNAPSHOT_DEPTH", 0)
    return {**said, "instrumented": {"last": bool(said), "sample_rate": rate, "depth": depth}}


def window(text: str, capture: str) -> dict[str, Any]:
    """Around which event of each warp events are kept: ``SITE``, ``SITE:VISIT`` or ``SITE:VISIT:AFTER``.

    Raises
    ------
    UsageError
        It is none of these, or kernels do not record by themselves.
    """
    if capture != "instrumented":
        raise UsageError(
            "window: all events of a kernel that is watched are there", hint='choose capture="instrumented"'
        )
    site, *numbers = text.split(":")
    if not re.fullmatch(r"0x[0-9a-f]{16}", site) or len(numbers) > 2 or not all(n.isdecimal() for n in numbers):
        raise UsageError(
            f"window: expected SITE[:VISIT[:AFTER]], got {text!r}",
            hint="a site is a key such as 0x256fc8ef66887e2a, as recordings list them; visits count from 0",
        )
    visit, after = (int(n) for n in (*numbers, *("0", "16")[len(numbers) :]))
    if visit >= 1 << 32 or after >= 1 << 32:
        raise UsageError(f"window: {text!r} is beyond what is counted")
    return {"site": site, "occurrence": visit, "after": after}


def into_arena(launch: Launch, record: Mapping[str, Any]) -> tuple[Launch, dict[str, Any]]:
    """Give a launch of a kernel that records by itself an arena, and say so in what is recorded.

    Raises
    ------
    UsageError
        More is wanted than such a kernel leaves.
    """
    from .hooks.instrument import Arena
    from .hooks.launch import Storage

    asked = recorded(record, launch.table)
    scratch = launch.parameters[-1]
    arena = Arena(max(arena_bytes(), _LEAST))
    held = Storage(arena.data_ptr(), arena.size, scratch.name, keep=arena)
    parameters = (*launch.parameters[:-1], replace(scratch, value=arena.data_ptr(), storage=held))
    return replace(launch, parameters=parameters), asked


def recorded(record: Mapping[str, Any], table: str) -> dict[str, Any]:
    """What is recorded of a kernel that records by itself, as the core takes it; ``table`` says what its events mean.

    Raises
    ------
    UsageError
        More is wanted than such a kernel leaves.
    """
    if record.get("loads"):
        raise UsageError(
            "loads: kernels that record by themselves leave branches, switches, predicates, stores, atomics and barriers",
            hint='choose capture="observed"',
        )
    how = kept()
    how["instrumented"]["sites"] = table
    if "window" in record:
        how["instrumented"]["window"] = record["window"]
    how["instrumented"]["plan"] = not record.get("path")
    if how["instrumented"]["depth"] and record.get("mode") == "control-flow":
        how["mode"] = "values"
    rest = {name: value for name, value in record.items() if name != "window"}
    return {**rest, **how}
