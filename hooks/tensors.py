"""The tensors of an operator as a tape needs them: type, shape and strides, and where their elements lie.

A training waits while its tensors are looked at, so an ordinary tensor costs a few attributes here, and whatever follows from
its type, shape and strides alone is for whoever keeps records that are alike together.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

INPUT, OUTPUT, MUTATED = range(3)
UNINITIALIZED, UNREADABLE = 1, 2  # in place of an address: why nobody looks at the elements
UNCHANGED = 1 << 62  # in an address: it was looked at in this step, and torch did not change it since

# Role, name, type, shape and strides. A sixth says that the address is already that of a contiguous copy.
Slot = (
    tuple[int, str, Any, tuple[int, ...], tuple[int, ...]]
    | tuple[int, str, Any, tuple[int, ...], tuple[int, ...], bool]
)


@dataclass(slots=True)
class Record:
    """One operator that ran: where, and its tensors."""

    module: str
    cls: str
    operator: str
    phase: int
    line: str = ""  # of the program
    scalars: str = ""
    slots: list[Slot] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)  # that lie there; they live until they were looked at
    held: int = 0  # so many of the first slots were looked at before the call; the lists of tensors begin behind them
    traced: bool = False  # one of them has no contents, because somebody traces a graph


class Tensors:
    """Adds tensors to records."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._strided = torch.strided
        self.plain = frozenset((torch.Tensor, torch.nn.Parameter))
        self.unwritten: set[int] = set()  # storages that nobody has written yet
        self._seen: dict[int, tuple[Any, int]] = {}  # tensors that were looked at in this step, with their versions
        complex_types = (torch.complex32, torch.complex64, torch.complex128)
        types = {each for each in vars(torch).values() if isinstance(each, torch.dtype)}
        self._simple = frozenset(types.difference(complex_types))
        self._names: dict[str, list[str]] = {}

    def within(self, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        """The tensors in an argument or a result, with their names."""
        kind = type(value)
        if kind in self.plain:
            return ((name or "0", value),)
        if (kind is list or kind is tuple) and self.plain.issuperset(map(type, value)):
            return () if not value else zip(self._numbered(name, len(value)), value, strict=False)
        return list(self._within(name, value))

    def _within(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, self._torch.Tensor):
            yield name or "0", value
        elif isinstance(value, (tuple, list)):
            for number, each in enumerate(value):
                yield from self._within(f"{name}[{number}]" if name else str(number), each)
        elif isinstance(value, dict):
            for key, each in value.items():
                yield from self._within(f"{name}[{key}]" if name else str(key), each)

    def _numbered(self, name: str, count: int) -> list[str]:
        """At least so many names of the elements of a list."""
        names = self._names.setdefault(name, [])
        for number in range(len(names), count):
            names.append(f"{name}[{number}]" if name else str(number))
        return names

    def add(self, record: Record, role: int, named: Iterable[tuple[str, Any]]) -> None:
        """Add tensors to a record."""
        slots, addresses, tensors = record.slots, record.addresses, record.tensors
        plain, strided, simple = self.plain, self._strided, self._simple
        unwritten = self.unwritten if role == INPUT else ()
        for name, tensor in named:
            kind = tensor.dtype
            if (
                type(tensor) in plain
                and tensor.is_cpu
                and tensor.layout is strided
                and kind in simple
                and not tensor.is_neg()
            ):
                slots.append((role, name, kind, tensor.shape, tensor.stride()))
                addresses.append(tensor.data_ptr())
                tensors.append(tensor)
            else:
                self._add_other(record, role, name, tensor)
            if unwritten and storage(tensor) in unwritten:
                addresses[-1] = UNINITIALIZED

    def forget(self) -> None:
        """Look at all tensors again: a step begins."""
        self._seen.clear()

    def spare(self, record: Record) -> None:
        """Mark the tensors of a record that torch did not change since they were looked at.

        What goes around torch is not seen by that: NumPy, a kernel of somebody's.
        """
        seen, plain = self._seen, self.plain
        for number, tensor in enumerate(record.tensors):
            if type(tensor) not in plain or len(record.slots[number]) != 5 or tensor.is_inference():
                continue
            known = seen.get(id(tensor))
            if known is None or known[0]() is not tensor or known[1] != tensor._version:
                seen[id(tensor)] = (weakref.ref(tensor), tensor._version)
            elif record.addresses[number] > UNREADABLE:
                record.addresses[number] |= UNCHANGED

    def _add_other(self, record: Record, role: int, name: str, tensor: Any) -> None:
        """Add a tensor of a subclass, on a device, of complex numbers, or of another layout."""
        if type(tensor).__name__ in ("FakeTensor", "FunctionalTensor") or tensor.device.type == "meta":
            record.traced = True
            return
        shape: tuple[int, ...] = ()
        stride: tuple[int, ...] = ()
        address, copied = UNREADABLE, None
        try:
            copied = getattr(tensor, "_local_tensor", tensor).detach()  # the shard of a DTensor
            copied = copied.resolve_conj().resolve_neg().cpu().contiguous()
            address = copied.data_ptr()
        except Exception:  # sparse, nested, quantized, or of a kind that nobody knows
            copied = None
        with contextlib.suppress(Exception):  # nested tensors have no shape, sparse ones no strides
            shape = tuple(map(int, (tensor if copied is None else copied).shape))
            stride = tuple(map(int, tensor.stride()))
        record.slots.append((role, name + _division(tensor), tensor.dtype, shape, stride, True))
        record.addresses.append(address)
        record.tensors.append(copied)


def _division(tensor: Any) -> str:
    """How a tensor is divided among ranks, behind its name; empty where each rank has all of it."""
    placements = [each for each in getattr(tensor, "placements", ()) if not each.is_replicate()]
    texts = [f"{type(each).__name__}({getattr(each, 'dim', '')})" for each in placements]
    return f" @ {', '.join(texts)}" if texts else ""


def storage(tensor: Any) -> int:
    """The number of the storage that a tensor is a view of; 0 where it has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except Exception:  # of sparse tensors and of subclasses
        return 0


@dataclass(frozen=True, slots=True)
class Layout:
    """What follows from the slots of a record, whatever lies in its tensors."""

    sizes: list[int]  # bytes of each
    uneven: list[int]  # those whose elements do not lie one after the other

    @classmethod
    def of(cls, slots: Iterable[Slot]) -> Layout:
        """The layout of slots."""
        sizes, uneven = [], []
        for number, slot in enumerate(slots):
            count = 1
            dense = True
            for length, step in zip(reversed(slot[3]), reversed(slot[4]), strict=False):
                dense = dense and (length == 1 or step == count)
                count *= length
            sizes.append(count * slot[2].itemsize)
            if not dense and count and len(slot) == 5:
                uneven.append(number)
        return cls(sizes, uneven)

    def settle(self, record: Record) -> None:
        """Replace tensors whose elements do not lie one after the other by copies."""
        for number in self.uneven:
            if record.addresses[number] > UNREADABLE:
                record.tensors[number] = copied = record.tensors[number].detach().contiguous()
                record.addresses[number] = copied.data_ptr()


def type_name(kind: Any) -> str:
    """How a type of elements is called."""
    return str(kind).removeprefix("torch.")
