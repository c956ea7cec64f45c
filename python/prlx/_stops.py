"""What lanes held at a line of the source: ``prlx simulate --break`` and ``breaks=`` of ``prlx.enable``."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._errors import UsageError
from ._lines import lane_text
from ._result import Brief

_LANES = 32
_FORMATS = {"f32": ("<I", "<f"), "f64": ("<Q", "<d"), "f16": ("<H", "<e")}


@dataclass(frozen=True, repr=False)
class StopValue(Brief):
    """What the lanes of a warp held in one register at a stop.

    Attributes
    ----------
    name
        Of the variable in the source, where one is found: the name of an argument, or what the line that made the value assigns
        to. Empty where none is found. Several registers can hold parts of one variable.
    register
        As the PTX calls it.
    type
        ``s32``, ``f32``, ``ptr``, ``pred``, ...; ``b32`` where nothing says more.
    origin
        ``argument``, ``load``, ``atomic``, ``lanes`` (of other lanes), ``arith``, ``carried`` (written at several places, as
        around a loop), ``program-id``, ``constant``, ``variable``, ``call``, ``unset``.
    source
        The argument, the array that was loaded from, the special register; empty where none is known.
    file, line
        Where it was made.
    made
        Whether the line of the stop made it; else it came from elsewhere.
    lanes, values
        The lanes and what each held: numbers, ``True`` and ``False``, pairs of numbers, and of an address the array with the
        offset in bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256, machine={"breaks": ["softmax.py:21"]})
    >>> loaded = next(value for value in done.stops[0].values if value.origin == "load")
    >>> loaded.source, loaded.type, loaded.values[0]
    ('x', 'f32', 1.0)
    """

    name: str
    register: str
    type: str
    origin: str
    source: str
    file: str
    line: int
    made: bool
    lanes: tuple[int, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StopValue:
        """The value that a document describes.

        Examples
        --------
        >>> document = {"register": "%r1", "made": False, "results": None, "type": "f32", "origin": "argument", "name": "scale",
        ...             "where": None, "array": "", "bits": [1065353216], "lanes": [0]}
        >>> prlx.StopValue.of(document).values
        (1.0,)
        """
        where = document["where"] or {"file": "", "line": 0}
        return cls(
            name=document.get("variable") or (document["name"] if document["origin"] == "argument" else ""),
            register=document["register"],
            type=document["type"],
            origin=document["origin"],
            source=document["name"],
            file=where["file"],
            line=where["line"],
            made=document["made"],
            lanes=tuple(document["lanes"]),
            values=tuple(_decoded(document["type"], bits, document["array"]) for bits in document["bits"]),
        )

    def __str__(self) -> str:
        source = f" {self.source}" if self.source and self.source != self.name else ""
        place = f" at {Path(self.file).name}:{self.line}" if self.line else ""
        name = self.name or self.register or "?"
        return f"{name}: {self.type}, {self.origin}{source}{place}: {self._held()}"

    def _held(self) -> str:
        shown = [_spelled(value) for value in self.values]
        return shown[0] if len(set(shown)) == 1 else " ".join(shown)


@dataclass(frozen=True, repr=False)
class Stop(Brief):
    """A warp that passed a line which was asked for with ``breaks``.

    Attributes
    ----------
    file, line
        The line.
    kernel
        The kernel's name.
    block, warp
        Who: the block and the warp in it.
    number
        How often this warp had passed the line before.
    active
        The lanes that did.
    values
        What the line took from elsewhere and what it made, in the order of the instructions.
    document
        Everything, as in ``prlx.simulation/1``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmax import softmax  # examples/laptop/softmax.py
    >>> x = np.ones((6, 200), np.float32)
    >>> out = np.zeros_like(x)
    >>> seen = []
    >>> machine = {"breaks": ["softmax.py:21:3"], "on_stop": seen.append}
    >>> done = prlx.simulate(softmax, (6,), out, x, 200, 200, SLIP=0, BLOCK=256, machine=machine)
    >>> seen[0].place, seen[0].active, seen == list(done.stops)
    ('softmax.py:21', (3,), True)
    """

    file: str
    line: int
    kernel: str
    block: tuple[int, int, int]
    warp: int
    number: int
    active: tuple[int, ...]
    values: tuple[StopValue, ...]
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, document: Mapping[str, Any], kernel: str) -> Stop:
        """The stop that a document describes.

        Examples
        --------
        >>> document = {"file": "a.py", "line": 3, "block": [0, 0, 0], "warp": 1, "pass": 0, "active": [0], "values": []}
        >>> prlx.Stop.of(document, "f").who
        'block (0, 0, 0), warp 1, lane 0'
        """
        return cls(
            file=document["file"],
            line=document["line"],
            kernel=kernel,
            block=tuple(document["block"]),
            warp=document["warp"],
            number=document["pass"],
            active=tuple(document["active"]),
            values=tuple(StopValue.of(value) for value in document["values"]),
            document=document,
        )

    @property
    def place(self) -> str:
        """``softmax.py:21``."""
        return f"{Path(self.file).name}:{self.line}"

    @property
    def who(self) -> str:
        """``block (4, 0, 0), warp 3, lanes 8-31``."""
        many = "s" if len(self.active) > 1 else ""
        return f"block {self.block}, warp {self.warp}, lane{many} {lane_text(self.active)}"

    def named(self, name: str) -> tuple[StopValue, ...]:
        """The values of a variable: one for each register that holds a part of it; none where none was found.

        Examples
        --------
        >>> document = {"file": "a.py", "line": 3, "block": [0, 0, 0], "warp": 1, "pass": 0, "active": [0], "values": []}
        >>> prlx.Stop.of(document, "f").named("x")
        ()
        """
        return tuple(value for value in self.values if value.name == name)

    def __str__(self) -> str:
        return "\n".join(self.text())

    def text(self) -> Iterator[str]:
        """The stop as lines of text.

        Examples
        --------
        >>> document = {"file": "a.py", "line": 3, "block": [0, 0, 0], "warp": 1, "pass": 2, "active": [0], "values": []}
        >>> list(prlx.Stop.of(document, "f").text())
        ['a.py:3 in f, block (0, 0, 0), warp 1, lane 0, pass 2']
        """
        yield f"{self.place} in {self.kernel}, {self.who}, pass {self.number}"
        for value in self.values:
            yield f"  {'=' if value.made else '<'} {value}"


def places(breaks: Iterable[str]) -> list[dict[str, Any]]:
    """Lines as the core takes them, of texts ``FILE:LINE`` or ``FILE:LINE:LANE``.

    Raises
    ------
    UsageError
        One is no line of a file.
    """
    if isinstance(breaks, str):
        breaks = (breaks,)
    return [_place(text) for text in breaks]


def _place(text: str) -> dict[str, Any]:
    found = re.fullmatch(r"(.+?):(\d+)(?::(\d+))?", text) if isinstance(text, str) else None
    if found is None or not 0 < int(found[2]) < 1 << 32:
        raise UsageError(
            f"{text!r} is no line to stop at", hint="FILE:LINE, or FILE:LINE:LANE for one lane of each warp"
        )
    lane = None if found[3] is None else int(found[3])
    if lane is not None and lane >= _LANES:
        raise UsageError(f"no lane to stop at in {text!r}: a warp has the lanes 0 to {_LANES - 1}")
    file = str(Path(found[1]).resolve()) if found[1].startswith("..") else found[1]
    return {"file": file, "line": int(found[2]), "lane": lane}


def _decoded(kind: str, bits: int, array: str) -> Any:
    if kind == "ptr":
        return f"{array}+{bits}"
    if kind == "pred":
        return bool(bits)
    if kind in _FORMATS:
        pack, unpack = _FORMATS[kind]
        return struct.unpack(unpack, struct.pack(pack, bits))[0]
    if kind == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    if kind in ("f16x2", "bf16x2"):
        return tuple(_decoded(kind[:-2], part, "") for part in (bits & 0xFFFF, bits >> 16))
    if kind[0] == "s":
        width = int(kind[1:])
        return bits - (1 << width) if bits >> (width - 1) else bits
    return bits


def _spelled(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)
