"""NumPy arrays and tensors as kernels take them, and the memory that a pointer into one may touch."""

from __future__ import annotations

import bisect
import gc
import operator
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from .launch import Storage

_array_type: type[Any] | None = None
_ADDRESSES = 1 << 56  # processes have no more
_MOST_OWNERS = 1000  # of an array, one behind the other; real chains have a few


def _make_array_type() -> type[Any]:
    import numpy as np

    class Array(np.ndarray[Any, Any]):
        """The memory of an ndarray with what Triton, its autotuner and descriptors ask of a tensor."""

        def data_ptr(self) -> int:
            """The address of the first element."""
            return int(self.ctypes.data)

        def element_size(self) -> int:
            """The bytes of an element."""
            return self.itemsize

        def stride(self, dim: int | None = None) -> Any:
            """The strides in elements."""
            strides = tuple(step // self.itemsize for step in self.strides)
            return strides if dim is None else strides[dim]

        def zero_(self) -> Array:
            """Fill with zeros (the autotuner's ``reset_to_zero``)."""
            self[...] = 0
            return self

        def clone(self) -> Array:
            """A copy (the autotuner's ``restore_value``)."""
            return self.copy()

        def copy_(self, other: Any) -> Array:
            """Take over the values of another array."""
            self[...] = other
            return self

    return Array


def as_tensor(array: np.ndarray[Any, Any]) -> Any:
    """The same memory with ``data_ptr()``, as Triton's binder asks for it."""
    global _array_type
    if _array_type is None:
        _array_type = _make_array_type()
    return array.view(_array_type)


def is_plain_array(value: object) -> bool:
    """Whether a value is an ndarray as NumPy makes it; what has ``data_ptr()`` already is left alone."""
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ in ("ndarray", "memmap")


def converted(value: Any) -> Any:
    """An argument as Triton takes it: ndarrays, also inside of tuples, get ``data_ptr()``; the rest is as it was."""
    if is_plain_array(value):
        return as_tensor(value)
    if isinstance(value, tuple):
        items = [converted(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def storage(value: Any, name: str, *, anywhere: bool = False) -> Storage | None:
    """The memory that a pointer argument may touch; None when that is not known, as for a bare address.

    ``anywhere`` takes tensors on other devices, too.

    Raises
    ------
    UsageError
        It is a tensor on a device whose memory the simulator cannot see, or says what cannot be.
    """
    if value is None or isinstance(value, int):
        return None
    value = _unwrapped(value, name)
    if isinstance(value, _ndarray()):
        return _of_array(value, name)
    if hasattr(value, "untyped_storage"):
        return _of_torch(value, name, anywhere=anywhere)
    size = _size(value) if hasattr(value, "data_ptr") else None  # a NumPy scalar has bytes and no address
    return None if size is None else _claimed(value, size, name)


def _unwrapped(value: Any, name: str) -> Any:
    """The tensor that ``triton.reinterpret`` gave another type."""
    for _ in range(_MOST_OWNERS):
        if type(value).__name__ != "TensorWrapper" or not hasattr(value, "base"):
            return value
        value = value.base
    raise UsageError(f"the argument {name} is wrapped more than {_MOST_OWNERS} times")


def _claimed(value: Any, size: int, name: str) -> Storage:
    """The memory that an object of a class that nobody knows says it has: at least it must be possible."""
    from .launch import Storage

    said = value.data_ptr()
    try:
        address = operator.index(said)
    except TypeError:
        address = -1
    if not 0 <= address < _ADDRESSES:
        raise UsageError(f"the argument {name}: its data_ptr() is {said!r}, which is not an address")
    if size < 0 or size > 0 == address or address + size > _ADDRESSES:
        raise UsageError(f"the argument {name}: {size} bytes at address {address:#x} are not a piece of memory")
    return Storage(address, size, name, keep=value)


def _ndarray() -> Any:
    numpy = sys.modules.get("numpy")
    return () if numpy is None else numpy.ndarray


def _of_array(array: Any, name: str) -> Storage:
    from .launch import Storage

    low, high = _owned(array, name)
    return Storage(low, high - low, name, not array.flags.writeable, array)


def _owned(array: Any, name: str) -> tuple[int, int]:
    """The first byte of the memory behind an array and the byte behind its last.

    That is what the owner of the memory says: shape and strides of a view can say anything (``as_strided``). Where no owner is
    known, or the array does not begin in what the owner has, nothing but shape and strides is left.
    """
    kind, root = _ndarray(), array
    for _ in range(_MOST_OWNERS):
        owner = root.base
        if owner is None:
            break
        if not isinstance(owner, kind):
            found = _of_torch(owner, name) if hasattr(owner, "untyped_storage") else _buffer(owner)
            if found is not None:
                return (found.address, found.end) if found.address <= root.ctypes.data <= found.end else _bounds(root)
            owner = _held(owner)
            if not isinstance(owner, kind):
                break
            low, high = _bounds(owner)
            if not low <= root.ctypes.data <= high:
                break
        root = owner
    return _bounds(root)


def _held(owner: object) -> object:
    """The array that something without a buffer keeps for a view, as that which ``as_strided`` puts between them."""
    try:
        return getattr(owner, "base", None)
    except Exception:  # a property of a class that nobody knows
        return None


def _buffer(base: object) -> Storage | None:
    """The whole buffer that an array was made on (bytes, a memory map, shared memory)."""
    import numpy as np

    from .launch import Storage

    try:
        whole = np.frombuffer(base, np.uint8)  # type: ignore[call-overload]
    except (TypeError, ValueError, BufferError):
        return None
    return Storage(int(whole.ctypes.data), whole.nbytes)


def _bounds(array: Any) -> tuple[int, int]:
    """The first byte of an array's elements and the byte behind the last."""
    low = high = int(array.ctypes.data)
    if array.size == 0:
        return low, low
    for length, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            low += (length - 1) * step
        else:
            high += (length - 1) * step
    return low, high + array.itemsize


def _of_torch(tensor: Any, name: str, *, anywhere: bool = False) -> Storage:
    from .launch import Storage

    device = str(getattr(tensor, "device", "cpu"))
    if not anywhere and not device.startswith("cpu"):
        raise UsageError(
            f"the argument {name} is a tensor on {device}, and the simulator works in the memory of the CPU",
            hint='make it with device="cpu", or enable the simulator with map_cuda=True before tensors are made',
        )
    whole = tensor.untyped_storage()
    return Storage(whole.data_ptr(), whole.nbytes(), name, keep=tensor)


def view_of(piece: Storage) -> tuple[int, int] | None:
    """Where the elements of the view that was passed begin and end, as its shape and strides say; None where nobody knows."""
    value: Any = piece.keep
    if isinstance(value, _ndarray()):
        return _bounds(value)
    if not hasattr(value, "untyped_storage"):
        return None
    begin, size = value.data_ptr(), value.element_size()
    if value.numel() == 0:
        return begin, begin
    steps = zip(value.shape, value.stride(), strict=True)
    return begin, begin + sum((length - 1) * step for length, step in steps) * size + size


def _size(value: Any) -> int | None:
    """The bytes of something that has an address, as it says itself."""
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size
    try:
        return int(value.numel()) * int(value.element_size())
    except (AttributeError, TypeError):
        return None


def living_tensors() -> list[Storage]:
    """The memory of every torch CPU tensor of the process: where the rows of a table of pointers can lie."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    found: dict[tuple[int, int], Storage] = {}
    for one in gc.get_objects():
        if not issubclass(type(one), torch.Tensor):
            continue
        try:
            if one.device.type == "cpu":
                piece = _of_torch(one, "a tensor")
                found.setdefault((piece.address, piece.size), piece)
        except Exception:  # a tensor without memory of its own, such as a sparse or a fake one
            continue
    return [piece for piece in found.values() if piece.size and piece.address]  # others say a size and have no memory


def merged(storages: Iterable[Storage]) -> list[Storage]:
    """Distinct pieces of memory in ascending order; what overlaps, as views of one buffer can, becomes one piece."""
    pieces: list[Storage] = []
    for piece in sorted(storages, key=lambda one: (one.address, one.size)):
        last = pieces[-1] if pieces else None
        if last is not None and (piece.address < last.end or (piece.address, piece.size) == (last.address, last.size)):
            pieces[-1] = _joined(last, piece)
        else:
            pieces.append(piece)
    return pieces


def in_order(storages: Sequence[Storage]) -> list[Storage]:
    """The pieces of ``merged`` in the order of the arguments: where the process has its arrays must not show in a result."""
    pieces = merged(storages)
    begins = [piece.address for piece in pieces]
    order: dict[int, Storage] = {}
    for one in storages:
        at = bisect.bisect_right(begins, one.address) - 1
        order.setdefault(at, pieces[at])
    return list(order.values())


def _joined(a: Storage, b: Storage) -> Storage:
    from .launch import Storage

    names = a.name.split("/")
    name = a.name if b.name in names else f"{a.name}/{b.name}"
    both = a.read_only and b.read_only
    return Storage(a.address, max(a.end, b.end) - a.address, name, both, (a.keep, b.keep))
