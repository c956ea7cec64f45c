"""The driver of a GPU through ctypes: libcuda alone, no toolkit, no torch. ``_hip`` has AMD's, as far as it differs."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ._errors import PrlxError


class NoDeviceError(Exception):
    """There is no GPU, or no driver; the text says which."""


class DriverError(PrlxError):
    """The driver refused a call, or a kernel failed on the GPU.

    Attributes
    ----------
    status
        The driver's number of the error.
    """

    status = 0


_AT, _SIZE, _NAME = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
_TYPES: dict[str, Sequence[Any]] = {
    "cuCtxGetCurrent": (_NAME,),
    "cuMemcpyHtoDAsync_v2": (_AT, _NAME, _SIZE, _NAME),
    "cuMemcpyDtoHAsync_v2": (_NAME, _AT, _SIZE, _NAME),
    "cuMemsetD8Async": (_AT, ctypes.c_ubyte, _SIZE, _NAME),
    "cuMemGetAddressRange_v2": (_NAME, _NAME, _AT),
    "cuStreamIsCapturing": (_NAME, _NAME),
    "cuStreamSynchronize": (_NAME,),
    "cuEventRecord": (_NAME, _NAME),
    "cuLaunchKernel": (_NAME, *[ctypes.c_uint] * 7, _NAME, _NAME, _NAME),
    "cuEventSynchronize": (_NAME,),
}


class _Here(threading.local):
    """Where the driver writes what a thread asks it: making these for each call takes longer than the call."""

    def __init__(self) -> None:
        self.number, self.address, self.size = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_size_t()
        self.to_number, self.to_address, self.to_size = map(ctypes.addressof, (self.number, self.address, self.size))


class Cuda:
    """As much of the CUDA driver as prlx needs, whichever library of that name the process finds.

    Parameters
    ----------
    path
        The library; by its name alone unless somebody knows where it is.
    initialize
        Whether to initialise the driver. A process that is forked afterwards cannot use it: whoever only waits for launches
        leaves that to the program.

    Attributes
    ----------
    library
        Its functions, by CUDA's names.
    names
        What functions are called in the library where that is not CUDA's name.
    runs_ptx
        Whether it takes PTX.

    Raises
    ------
    NoDeviceError
        There is none, or it has no device.
    """

    soname = "libcuda.so.1"
    names: ClassVar[Mapping[str, str]] = {}
    runs_ptx = True

    def __init__(self, path: str = "", *, initialize: bool = True) -> None:
        try:
            self.library = self._loaded(ctypes.CDLL(path or self.soname))
        except OSError:
            raise NoDeviceError(f"there is no {self.soname}") from None
        except AttributeError as error:
            raise NoDeviceError(f"{self.soname} is too old: {error}") from None
        # They never wait, so another thread needs no chance to run meanwhile, and to give it one takes longer than they do.
        quick = self._loaded(ctypes.PyDLL(path or self.soname))
        self._current, self._capturing = quick.cuCtxGetCurrent, quick.cuStreamIsCapturing
        self._here = _Here()
        if not initialize:
            return
        count = ctypes.c_int()
        if self.library.cuInit(0) != 0 or self.library.cuDeviceGetCount(ctypes.byref(count)) != 0 or not count.value:
            raise NoDeviceError(f"{self.soname.partition('.')[0]} finds no device")

    def _loaded(self, library: ctypes.CDLL) -> ctypes.CDLL:
        for ours, theirs in self.names.items():
            setattr(library, ours, library[theirs])
        for name, types in _TYPES.items():
            getattr(library, name).argtypes = types
        return library

    def call(self, function: str, *arguments: Any) -> None:
        """Call the driver, or raise what it said."""
        status = getattr(self.library, function)(*arguments)
        if status != 0:
            raise self.error(function, status)

    def error(self, function: str, status: int) -> DriverError:
        """What the driver says of a number that a function returned."""
        text = ctypes.c_char_p()
        self.library.cuGetErrorString(status, ctypes.byref(text))
        made = DriverError(
            f"{self.names.get(function, function)}: {text.value.decode(errors='replace') if text.value else status}"
        )
        made.status = status
        return made

    def context(self, device: Callable[[], int]) -> int:
        """The context of this thread; where there is none, the primary one of a device, as Triton's launchers do it."""
        here = self._here
        status = self._current(here.to_address)
        if status:
            raise self.error("cuCtxGetCurrent", status)
        found = here.address.value
        if not found:
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(here.address), device())
            found = here.address.value
            self.enter(found)
        return found

    def enter(self, context: int) -> None:
        """Make a context that of this thread."""
        self.call("cuCtxSetCurrent", ctypes.c_void_p(context))

    @contextlib.contextmanager
    def beside_captures(self) -> Iterator[None]:
        """Let this thread allocate and free while another one captures a graph: the driver would end that capture otherwise.

        Nothing of what is done is on the stream that is captured.
        """
        mode = ctypes.c_int(2)  # CU_STREAM_CAPTURE_MODE_RELAXED
        exchange = self.library.cuThreadExchangeStreamCaptureMode
        exchange(ctypes.byref(mode))  # says which mode it was
        try:
            yield
        finally:
            exchange(ctypes.byref(mode))

    def allocate(self, size: int) -> int:
        """Memory of the device, in the context of this thread."""
        at = ctypes.c_uint64()
        with self.beside_captures():
            self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        return at.value

    def free(self, at: int) -> None:
        """Give memory of the device back. An error is none: the context may be gone."""
        with self.beside_captures():
            self.library.cuMemFree_v2(ctypes.c_uint64(at))

    def allocate_pinned(self, size: int) -> int:
        """Memory of the host that the device copies to while the process does something else."""
        at = ctypes.c_void_p()
        with self.beside_captures():
            self.call("cuMemHostAlloc", ctypes.byref(at), ctypes.c_size_t(size), 0)
        return at.value or 0

    def free_pinned(self, at: int) -> None:
        """Give such memory back."""
        with self.beside_captures():
            self.library.cuMemFreeHost(ctypes.c_void_p(at))

    def to_device(self, to: int, source: int, size: int, stream: int) -> None:
        """Copy from pinned memory when the stream gets there."""
        self.call("cuMemcpyHtoDAsync_v2", to, source, size, stream)

    def to_host(self, to: int, source: int, size: int, stream: int) -> None:
        """Copy to pinned memory when the stream gets there."""
        self.call("cuMemcpyDtoHAsync_v2", to, source, size, stream)

    def clear(self, at: int, size: int, stream: int) -> None:
        """Fill memory of the device with zeros when the stream gets there."""
        self.call("cuMemsetD8Async", at, 0, size, stream)

    def new_stream(self) -> int:
        """A stream of our own, which waits for no other (CU_STREAM_NON_BLOCKING)."""
        made = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(made), 1)
        return made.value or 0

    def wait_for_stream(self, stream: int) -> None:
        """Wait until all that was put on a stream is done."""
        self.call("cuStreamSynchronize", stream)

    def is_capturing(self, stream: int) -> bool:
        """Whether what is put on a stream becomes a graph instead of being done."""
        here = self._here
        status = self._capturing(stream, here.to_number)
        if status:
            raise self.error("cuStreamIsCapturing", status)
        return here.number.value != 0

    def new_event(self) -> int:
        """An event that takes no time (CU_EVENT_DISABLE_TIMING)."""
        made = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(made), 2)
        return made.value or 0

    def mark(self, event: int, stream: int) -> None:
        """Put an event on a stream."""
        self.call("cuEventRecord", event, stream)

    def wait_for_event(self, event: int) -> None:
        """Wait until a stream got to an event."""
        self.call("cuEventSynchronize", event)

    def range_of(self, at: int) -> tuple[int, int] | None:
        """Where the allocation begins that has an address, and its bytes; None where none has it."""
        here = self._here
        if self.library.cuMemGetAddressRange_v2(here.to_address, here.to_size, at):
            return None
        return here.address.value, here.size.value
