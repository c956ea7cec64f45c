# mypy: disable-error-code="import-not-found, misc"
"""Called from kernels whose text notes what its expressions compute: a hash of their bits, pass by pass and program by program.

Programs must run one after the other, in one order; of a program the one thread that stores a scalar also loads it.
Needs Triton; the text that calls this is written by ``_values``.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

_INTEGERS = {8: tl.int8, 16: tl.int16, 32: tl.int32, 64: tl.int64}


@tl.core.builtin
def is_number(value: Any, _semantic: Any = None) -> Any:
    """Whether something is a number or a block of numbers, when it is compiled."""
    held = tl.core._unwrap_if_constexpr(value)
    is_tensor = isinstance(held, tl.tensor)
    return tl.constexpr(not held.type.scalar.is_ptr() if is_tensor else isinstance(held, (int, float)))


@tl.core.builtin
def is_pointer(value: Any, _semantic: Any = None) -> Any:
    """Whether something is an address or a block of addresses, when it is compiled."""
    held = tl.core._unwrap_if_constexpr(value)
    return tl.constexpr(isinstance(held, tl.tensor) and held.type.scalar.is_ptr())


@tl.core.builtin
def distance(value: Any, base: Any, name: Any, _semantic: Any = None) -> Any:
    """How many bytes addresses are behind that of an argument, which counts, too: arrays lie elsewhere in each run."""
    one, first = (_semantic.cast(each, tl.int64) for each in (value, base))
    number = int(tl.core._unwrap_if_constexpr(name)) << 32
    return bits(one.__sub__(first, _semantic=_semantic), _semantic=_semantic).__xor__(number, _semantic=_semantic)


@tl.core.builtin
def bits(value: Any, _semantic: Any = None) -> Any:
    """The bits of a number, or of each of a block, as whole numbers in which their type counts, too."""
    one = _semantic.to_tensor(value)
    kind = one.type.scalar
    if kind.is_floating():
        one = _semantic.bitcast(one, _INTEGERS[kind.primitive_bitwidth])
    one = _semantic.cast(one, tl.int64)
    if not one.type.is_block():
        one = _semantic.splat(one, [1])
    return one.__xor__(sum(ord(letter) << 8 * (i % 7) for i, letter in enumerate(str(kind))), _semantic=_semantic)


@tl.core.builtin
def form(value: Any, _semantic: Any = None) -> Any:
    """A number for the shape of a block."""
    code = 1
    for one in value.shape:
        code = code * 65537 + int(tl.core._unwrap_if_constexpr(one))
    return tl.constexpr(code % (1 << 40))


@triton.jit
def note(sums, slot, value):  # type: ignore[no-untyped-def]
    """Take what a pass of a program computed into what is noted in a slot; what the pass before computed counts once."""
    flat = tl.reshape(value, [value.numel])
    program = tl.program_id(0) * 31 + tl.program_id(1) * 1009 + tl.program_id(2) * 65003
    mixed = flat ^ ((tl.arange(0, value.numel) + program * 7919).to(tl.int64) * 2862933555777941757)
    mixed = (mixed ^ (mixed >> 31)) * 3202034522624059733
    mixed = (mixed ^ (mixed >> 29)) * 3935559000370003845
    now = tl.sum(mixed ^ (mixed >> 32), 0)
    at = sums + slot * 3
    if now != tl.load(at + 2):
        tl.store(at, tl.load(at) * 6364136223846793005 + now)
        tl.store(at + 1, tl.load(at + 1) * 6364136223846793005 + form(value))
        tl.store(at + 2, now)
