"""What a launch is made of: a kernel, its parameters, and the memory that they may touch.

The modules that enter Triton load this one when a kernel is launched, not before: dataclasses are dear to import.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Storage:
    """The memory behind an argument. A view's storage is that of the array it is a view of.

    Attributes
    ----------
    address, size
        Where it begins, and its bytes.
    name
        What the kernel calls it.
    read_only
        Whether writing to it is a mistake.
    keep
        What must stay alive while the address is used.
    told
        Whether the argument itself says so, as a tensor does; else it is what somebody else knows of its address.
    """

    address: int
    size: int
    name: str = ""
    read_only: bool = False
    keep: object = field(default=None, repr=False, compare=False)
    told: bool = True

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size


@dataclass(frozen=True)
class Parameter:
    """One ``.param`` of a kernel.

    Attributes
    ----------
    name, type
        The argument's, in Triton's spelling: ``x``, ``*fp32``.
    value
        A number; of a pointer the address.
    storage
        The memory that the pointer may touch; None for numbers, null and bare addresses.
    data
        The bytes of a structure that has more than eight; the type is then empty, and there is no value.
    special
        What the compiler took for granted of the argument, such as ``divisible by 16``; "" nothing.
    """

    name: str
    type: str
    value: int | float
    storage: Storage | None = None
    data: bytes | None = None
    special: str = ""

    @property
    def is_pointer(self) -> bool:
        """Whether it is an address."""
        return self.type.startswith("*")

    @property
    def bits(self) -> int:
        """The value as the bits that the kernel finds."""
        return 0 if self.data is not None else _bits(self.type, self.value)


class Function:
    """A kernel's PTX; what Triton takes for the handle of a function on the device.

    Attributes
    ----------
    name
        The kernel's.
    text
        The PTX of its module.
    loaded
        What whoever runs launches has made of it, by a name of theirs.
    """

    def __init__(self, name: str, text: bytes) -> None:
        self.name = name
        self.text = text
        self.loaded: dict[str, Any] = {}


@dataclass(frozen=True)
class Launch:
    """One launch, complete: what to run, how wide, on what."""

    function: Function
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: int
    shared: int
    parameters: Sequence[Parameter]
    keep: object = field(default=None, repr=False)
    """What the addresses belong to."""
    texts: Callable[[], dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    """The text of the kernel, as recordings hold it."""
    table: str = field(default="", repr=False)
    """What the events of a kernel mean that records by itself; "" for others."""
    called: str = ""
    """What people call the kernel; "": as the PTX does."""
    origin: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    """The part of a graph that the kernel computes, where a compiler of graphs made it."""


_FLOATS = {"fp64": ("<d", "<Q"), "fp32": ("<f", "<I"), "f32": ("<f", "<I"), "fp16": ("<e", "<H")}
_WIDTHS = {"i1": 8, "u1": 8}  # a bool takes a byte


def _bits(ty: str, value: int | float) -> int:
    if ty in _FLOATS:
        pack, unpack = _FLOATS[ty]
        return int(struct.unpack(unpack, _packed(pack, float(value)))[0])
    if ty == "bf16":
        wide = int(struct.unpack("<I", _packed("<f", float(value)))[0])
        if wide & 0x7FFFFFFF > 0x7F800000:  # a NaN stays one
            return wide >> 16 | 0x40
        return (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    width = 64 if ty.startswith("*") else _WIDTHS.get(ty) or int(ty[1:])
    return int(value) & ((1 << width) - 1)


def _packed(format: str, value: float) -> bytes:
    """A float of fewer bits; what is beyond its range is infinite, as a conversion in C makes it."""
    try:
        return struct.pack(format, value)
    except OverflowError:
        return struct.pack(format, float("inf") if value > 0 else float("-inf"))
