"""What a launch was given, kept beside its recording: its numbers, and its arrays as they were before it ran.

A file of inputs is a zip archive: ``launch.json`` (``prlx.inputs/1``) and the bytes of each piece of memory, ``0``, ``1``, ...
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import TraceFormatError

if TYPE_CHECKING:
    from .hooks.launch import Launch

SCHEMA = "prlx.inputs/1"
SUFFIX = ".inputs"
_SCRATCH = ("global_scratch", "profile_scratch")
_MOST_HEAD = 16 << 20  # bytes of launch.json
_MOST_BYTES = 8 << 30  # of all arrays of a launch that are read


@dataclass(frozen=True)
class Inputs:
    """What one launch was given."""

    head: Mapping[str, Any]
    pieces: tuple[bytes, ...]


def beside(recording: Path) -> Path:
    """Where the inputs of a recorded launch are."""
    return recording.with_suffix(SUFFIX)


def keep(path: Path, launch: Launch, limit: int) -> None:
    """Write what a launch is given, before it runs; arrays of more than ``limit`` bytes together are named and left out."""
    import ctypes

    from .hooks.arrays import in_order

    params = [p for p in launch.parameters if p.name not in _SCRATCH]
    pieces = in_order([p.storage for p in params if p.storage is not None])
    rows = []
    for p in params:
        row: dict[str, Any] = {"name": p.name, "type": p.type, "piece": -1, "offset": 0}
        if p.is_pointer:
            at = next((i for i, one in enumerate(pieces) if one.address <= p.value < max(one.end, one.address + 1)), -1)
            row |= {"piece": at, "offset": int(p.value) - pieces[at].address if at >= 0 else 0}
        elif p.data is None:
            row["value"] = p.value if isinstance(p.value, (int, float)) else str(p.value)
        rows.append(row)
    total = sum(one.size for one in pieces)
    head = {
        "schema": SCHEMA,
        "kernel": launch.function.name,
        "grid": list(launch.grid),
        "cluster": launch.cluster,
        "params": rows,
        "pieces": [{"bytes": one.size, "odd": one.address % 16} for one in pieces],
        "texts": None if launch.texts is None else launch.texts(),
        "bytes": total,
        "kept": total <= limit,
    }
    import zipfile  # most runs keep no inputs

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("launch.json", json.dumps(head))
        for i, one in enumerate(pieces if total <= limit else ()):
            file.writestr(str(i), ctypes.string_at(one.address, one.size))


def read(path: Path) -> Inputs | None:
    """What a launch was given; None where that was not kept.

    Raises
    ------
    TraceFormatError
        The file is damaged, or another one.
    """
    if not path.is_file():
        return None
    import zipfile

    try:
        with zipfile.ZipFile(path) as file:
            if file.getinfo("launch.json").file_size > _MOST_HEAD:
                raise ValueError("launch.json is too long")
            head = json.loads(file.read("launch.json"))
            sizes = [int(one["bytes"]) for one in head["pieces"]]
            if head["schema"] != SCHEMA or min(sizes, default=0) < 0 or sum(sizes) > _MOST_BYTES:
                raise ValueError(f"it is no {SCHEMA}")
            _check(head)
            if not head["kept"]:
                return Inputs(head, ())
            for i, size in enumerate(sizes):
                if file.getinfo(str(i)).file_size != size:
                    raise ValueError(f"array {i} has not the size that is said")
            return Inputs(head, tuple(file.read(str(i)) for i in range(len(sizes))))
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise TraceFormatError(f"is not a file of inputs: {error}", path=str(path), hint="record it again") from None


def _check(head: Mapping[str, Any]) -> None:
    """What everybody who takes inputs relies on."""
    grid = head["grid"]
    if len(grid) != 3 or not all(isinstance(n, int) and 0 < n < 1 << 31 for n in grid):
        raise ValueError("the grid is none")
    for one in (head["texts"] or {"functions": ()})["functions"]:
        if not all(isinstance(one[key], str) for key in ("file", "function", "text")) or not isinstance(
            one["first_line"], int
        ):
            raise ValueError("a function has no text")
    for row in head["params"]:
        if not isinstance(row["name"], str) or not isinstance(row["type"], str):
            raise ValueError("an argument has no name or no type")
        at = row["piece"]
        if not isinstance(at, int) or at >= len(head["pieces"]):
            raise ValueError("an argument points to no array")
        if at >= 0 and not 0 <= row["offset"] <= head["pieces"][at]["bytes"]:
            raise ValueError("an argument points beside its array")
