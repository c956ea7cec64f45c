"""The HIP runtime of AMD's GPUs through ctypes: CUDA's driver under other names, but for contexts and kernels of ours."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ._cuda import Cuda, DriverError, NoDeviceError


class Hip(Cuda):
    """As much of the HIP runtime as prlx needs: what ``Cuda`` says of its driver holds here.

    Each function takes what CUDA's takes, and the flags that prlx passes have the same numbers. There are no contexts: the
    device of the thread, a number, stands for one.
    """

    soname = "libamdhip64.so"
    names: ClassVar[Mapping[str, str]] = {
        "cuInit": "hipInit",
        "cuDeviceGetCount": "hipGetDeviceCount",
        "cuDeviceGetName": "hipDeviceGetName",
        "cuDriverGetVersion": "hipDriverGetVersion",
        "cuGetErrorString": "hipDrvGetErrorString",
        "cuCtxGetCurrent": "hipGetDevice",
        "cuCtxSetCurrent": "hipSetDevice",
        "cuMemAlloc_v2": "hipMalloc",
        "cuMemFree_v2": "hipFree",
        "cuMemHostAlloc": "hipHostMalloc",
        "cuMemFreeHost": "hipHostFree",
        "cuMemGetAddressRange_v2": "hipMemGetAddressRange",
        "cuMemcpyHtoDAsync_v2": "hipMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync_v2": "hipMemcpyDtoHAsync",
        "cuMemsetD8Async": "hipMemsetD8Async",
        "cuStreamCreate": "hipStreamCreateWithFlags",
        "cuStreamDestroy_v2": "hipStreamDestroy",
        "cuStreamSynchronize": "hipStreamSynchronize",
        "cuStreamIsCapturing": "hipStreamIsCapturing",
        "cuThreadExchangeStreamCaptureMode": "hipThreadExchangeStreamCaptureMode",
        "cuEventCreate": "hipEventCreateWithFlags",
        "cuEventDestroy_v2": "hipEventDestroy",
        "cuEventRecord": "hipEventRecord",
        "cuEventSynchronize": "hipEventSynchronize",
        "cuModuleLoadData": "hipModuleLoadData",
        "cuModuleUnload": "hipModuleUnload",
        "cuModuleGetFunction": "hipModuleGetFunction",
        "cuLaunchKernel": "hipModuleLaunchKernel",
    }
    runs_ptx = False

    def context(self, device: Callable[[], int]) -> int:
        """The number of the device of this thread, which each thread has."""
        del device
        status = self._current(self._here.to_number)
        if status:
            raise self.error("cuCtxGetCurrent", status)
        return self._here.number.value


def describe() -> dict[str, Any] | None:
    """The HIP runtime that a program finds, and its first GPU; None where there is none. Nothing is imported for it."""
    path = os.environ.get("TRITON_LIBHIP_PATH", "") or _of_torch()
    name, version = ctypes.create_string_buffer(100), ctypes.c_int()
    try:
        hip = Hip(path)
        hip.call("cuDeviceGetName", name, 100, 0)
        hip.call("cuDriverGetVersion", ctypes.byref(version))
    except (NoDeviceError, DriverError):
        return None
    said = {"name": name.value.decode(errors="replace"), "version": version.value, "path": path or Hip.soname}
    return {**said, "runtime": "HIP"}


def _of_torch() -> str:
    """The runtime that torch's own wheels bring along; "" where they do not."""
    torch = importlib.util.find_spec("torch")
    beside = Path((torch and torch.origin) or "").parent / "lib" / Hip.soname
    return str(beside) if beside.is_file() else ""
