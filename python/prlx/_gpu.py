"""An NVIDIA GPU through its driver alone: libcuda with ctypes, no toolkit, no torch. PTX runs on copies of arrays."""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _hip
from ._cuda import Cuda, DriverError, NoDeviceError

__all__ = ["Driver", "DriverError", "NoDeviceError"]

_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_STATIC_SHARED_BYTES = 48 << 10  # a kernel has these without asking
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


class Driver(Cuda):
    """As much of the CUDA driver as launching a kernel takes.

    Attributes
    ----------
    name
        The GPU's.
    capability
        Its compute capability, as ``(8, 0)``.
    version
        The newest CUDA that the driver knows, as ``13000``.

    Raises
    ------
    NoDeviceError
        There is none.
    """

    def __init__(self) -> None:
        super().__init__()
        device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
        major, minor, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDeviceGetName", name, 100, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(major), _MAJOR, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), _MINOR, device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.name = name.value.decode(errors="replace")
        self.capability = (major.value, minor.value)
        self.version = version.value

    @contextlib.contextmanager
    def loaded(self, text: bytes, name: str, shared_bytes: int = 0) -> Iterator[ctypes.c_void_p]:
        """A kernel of a PTX text, for the block.

        Raises
        ------
        DriverError
            The driver does not take the text.
        """
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text + b"\0")
        try:
            self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            if shared_bytes > _STATIC_SHARED_BYTES:
                self.call("cuFuncSetAttribute", function, _MOST_SHARED, shared_bytes)
            yield function
        finally:
            self.library.cuModuleUnload(module)

    def place(self, array: Any) -> int:
        """A copy of a NumPy array on the GPU."""
        at = self.allocate(max(array.nbytes, 1))
        source = ctypes.c_void_p(array.ctypes.data)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(at), source, ctypes.c_size_t(array.nbytes))
        return at

    def bring(self, array: Any, at: int) -> None:
        """Copy what is on the GPU to a NumPy array."""
        to = ctypes.c_void_p(array.ctypes.data)
        self.call("cuMemcpyDtoH_v2", to, ctypes.c_uint64(at), ctypes.c_size_t(array.nbytes))

    def begin(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[int | None],
        shared_bytes: int,
    ) -> None:
        """Launch a kernel and wait for it; ``values`` are the bits of each parameter."""
        self._launch(function, grid, block, values, shared_bytes)
        self.call("cuCtxSynchronize")

    def timed(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[int | None],
        shared_bytes: int,
    ) -> float:
        """How long a launch takes by events of the GPU, ms."""
        before, after, ms = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (before, after):
            self.call("cuEventCreate", ctypes.byref(event), 0)
        try:
            self.call("cuEventRecord", before, None)
            self._launch(function, grid, block, values, shared_bytes)
            self.call("cuEventRecord", after, None)
            self.call("cuCtxSynchronize")
            self.call("cuEventElapsedTime", ctypes.byref(ms), before, after)
        finally:
            for event in (before, after):
                self.library.cuEventDestroy_v2(event)
        return ms.value

    def _launch(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[int | None],
        shared_bytes: int,
    ) -> None:
        given = [ctypes.c_uint64(value or 0) for value in values]
        pointers = (ctypes.c_void_p * len(given))(*(ctypes.addressof(value) for value in given))
        self.call("cuLaunchKernel", function, *grid, *block, shared_bytes, None, pointers, None)

    def launch(
        self,
        text: bytes,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        values: Sequence[int | None],
        arrays: Mapping[int, Any],
        shared_bytes: int = 0,
    ) -> None:
        """Launch a kernel of a PTX text and wait for it.

        Parameters
        ----------
        text, name
            The PTX, and the kernel in it.
        grid, block
            Three numbers each.
        values
            The bits of each parameter; what is an address in ``arrays`` becomes the address of the copy on the GPU.
        arrays
            NumPy arrays by their address: copied there before, and back afterwards.
        shared_bytes
            Dynamic shared memory of a block.

        Raises
        ------
        DriverError
            The driver does not take the text, or the kernel failed.
        """
        there: dict[int, int] = {}
        with self.loaded(text, name, shared_bytes) as function:
            try:
                for address, array in arrays.items():
                    there[address] = self.place(array)
                moved = [value if value is None else there.get(value, value) for value in values]
                self.begin(function, grid, block, moved, shared_bytes)
                for address, array in arrays.items():
                    self.bring(array, there[address])
            finally:
                for at in there.values():
                    self.free(at)


def describe() -> dict[str, Any]:
    """The driver that this process finds, and its first GPU (AMD's where ``runtime`` is HIP); ``why`` there is none."""
    try:
        found = Driver()
    except (NoDeviceError, DriverError) as error:
        return _hip.describe() or {"why": str(error)}
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.is_file() else []
    path = next((line.split(maxsplit=5)[5] for line in lines if "/libcuda.so" in line), "libcuda.so.1")
    return {"name": found.name, "capability": found.capability, "version": found.version, "path": path}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(describe()) + "\n")
