"""What the arguments of a launch become: one parameter for most, none for constants, several for tuples and descriptors."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arrays import storage

if TYPE_CHECKING:
    from .launch import Parameter, Storage

Find = Callable[[Any, str], "Storage | None"]
"""The memory behind an argument, by its name."""


class Signature:
    """What a kernel takes, as Triton compiled it.

    Parameters
    ----------
    source, metadata
        What Triton compiled, and to what.
    tma
        Makes the parameters of a descriptor that the TMA reads; it may refuse.
    find
        The memory behind an argument.
    """

    def __init__(
        self,
        source: Any,
        metadata: Any,
        tma: Callable[[str, Any], Iterator[Parameter]],
        find: Find = storage,
    ) -> None:
        self._types = list(source.signature.items())
        self._special = specialised(source)
        self._descriptors = list(getattr(metadata, "tensordesc_meta", None) or ())
        self._tma = tma
        self._find = find

    def parameters(self, args: Sequence[Any]) -> list[Parameter]:
        """The parameters that the arguments of a launch become, with what the compiler took for granted of each."""
        from dataclasses import replace

        made: list[Parameter] = []
        descriptors = list(self._descriptors)
        for (name, ty), value in zip(self._types, args, strict=False):
            made += self._flatten(name, ty, value, descriptors)
        return [replace(one, special=self._special[one.name]) if one.name in self._special else one for one in made]

    def _flatten(self, name: str, ty: Any, value: Any, descriptors: list[Any]) -> Iterator[Parameter]:
        """The parameters of an argument: none of a constexpr (and 1, and None), several of tuples and descriptors."""
        from .launch import Parameter

        if ty == "constexpr":
            return
        if isinstance(ty, tuple):
            for i, (inner, item) in enumerate(zip(ty, value, strict=True)):
                yield from self._flatten(f"{name}.{i}", inner, item, descriptors)
        elif ty.startswith("tensordesc"):
            if descriptors and descriptors.pop(0) is not None:
                yield from self._tma(name, value)
            else:
                yield from self._descriptor(name, ty, value)
        elif ty.startswith("*"):
            yield self._pointer(name, ty, value)
        else:
            yield Parameter(name, ty, value)

    def _pointer(self, name: str, ty: str, value: Any) -> Parameter:
        from .launch import Parameter

        address = 0 if value is None else value if isinstance(value, int) else value.data_ptr()
        return Parameter(name, ty, address, self._find(value, name))

    def _descriptor(self, name: str, ty: str, value: Any) -> Iterator[Parameter]:
        """A tensor descriptor of the host: an sm_80 gets its base, shape, strides and flags, then shape and strides again."""
        import re

        from .launch import Parameter

        make = importlib.import_module("triton.backends.nvidia.driver").make_tensordesc_arg
        values = make(value, None, *([None] * (make.__code__.co_argcount - 2)))  # a third parameter came later
        rank, found = len(value.shape), re.match(r"tensordesc(?:_im2col)?<(\w+)", ty)
        head = [f"*{found[1] if found else 'i8'}"] + ["i64"] * (2 * rank)
        types = head + ["i1"] * (len(values) - len(head) - 2 * rank) + ["i32"] * rank + ["i64"] * rank
        for i, (inner, item) in enumerate(zip(types, values, strict=True)):
            label = name if i == 0 else f"{name}.{i}"
            yield self._pointer(label, inner, item) if inner.startswith("*") else Parameter(label, inner, item)


def specialised(source: Any) -> dict[str, str]:
    """What Triton took for granted of arguments when it compiled a source, by parameter: that they are divisible by 16.

    A number that is 1 is no parameter any more: it is among the constants.
    """
    names = list(source.signature)
    found: dict[str, str] = {}
    attributes = getattr(source, "attrs", None)
    for path, given in attributes.items() if isinstance(attributes, Mapping) else ():
        place = path if isinstance(path, tuple) else (path,)
        words = [f"divisible by {one[1]}" for one in given or () if tuple(one)[:1] == ("tt.divisibility",)]
        if words and isinstance(place[0], int) and place[0] < len(names):
            found[".".join(map(str, (names[place[0]], *place[1:])))] = ", ".join(words)
    return found
