"""Which tensors a program believes to be on the device, so that moving one makes a copy where a GPU would.

All memory is the CPU's. If ``x.cuda()`` were ``x``, a kernel that writes to the one would change the other, and a program that
compares them would be told something false. Memory made for the device, or from what is there, is noted; views, Parameters and
gradients follow.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable, Iterator
from typing import Any


class Places:
    """The storages that are on the device, as the program sees it.

    Parameters
    ----------
    torch
        The module.
    """

    def __init__(self, torch: Any) -> None:
        self._tensor = torch.Tensor
        self._shares = {getattr(torch, name, None) for name in ("as_tensor", "asarray")}
        self._there: dict[int, weakref.ref[Any]] = {}

    def moved(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, *, to: str) -> Any:
        """What a function returns on a machine with a GPU.

        Parameters
        ----------
        function, args, kwargs
            What was called, and with what.
        result
            What it returned here.
        to
            The device that the arguments name: ``"cuda"``, ``"cpu"`` or nothing.
        """
        inputs = [value for value in _flat((args, tuple(kwargs.values()))) if isinstance(value, self._tensor)]
        came = any(self.has(value) for value in inputs)
        if to == "cpu":
            return result.clone() if came and any(result is value for value in inputs) else result
        if to == "cuda":
            same = any(result is value for value in inputs)
            if (same and not self.has(result)) or (function in self._shares and not came):
                result = result.clone()
            self._note(result)
        elif came:
            self._note([value for value in _flat((result,)) if not any(value is other for other in inputs)])
        return result

    def has(self, tensor: Any) -> bool:
        """Whether a tensor is on the device."""
        storage = self._storage(tensor)
        known = None if storage is None else self._there.get(id(storage))
        return known is not None and known() is storage

    def _note(self, result: Any) -> None:
        for value in _flat((result,)):
            storage = self._storage(value) if isinstance(value, self._tensor) else None
            if storage is not None and id(storage) not in self._there:
                self._there[id(storage)] = weakref.ref(storage, functools.partial(_forget, self._there, id(storage)))

    def _storage(self, tensor: Any) -> Any:
        try:
            return tensor.untyped_storage()
        except Exception:  # a sparse or a fake tensor has none
            return None


def _forget(there: dict[int, weakref.ref[Any]], number: int, gone: weakref.ref[Any]) -> None:
    if there.get(number) is gone:
        del there[number]


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Values, also inside of lists and tuples."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value
