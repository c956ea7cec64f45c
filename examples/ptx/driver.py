"""A program that knows nothing of prlx: it launches a kernel over the CUDA driver API, on the driver that it finds."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

cuda = ctypes.CDLL("libcuda.so.1")


def checked(code: int) -> None:
    """End the program where a call of the driver failed."""
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        sys.exit(f"CUDA error {code}: {(text.value or b'').decode()}")


def on_device(values: ctypes.Array[ctypes.c_float]) -> ctypes.c_uint64:
    """Memory of the device with a copy of an array."""
    at, size = ctypes.c_uint64(), ctypes.c_size_t(ctypes.sizeof(values))
    checked(cuda.cuMemAlloc_v2(ctypes.byref(at), size))
    checked(cuda.cuMemcpyHtoD_v2(at, values, size))
    return at


n = int(sys.argv[1]) if len(sys.argv) > 1 else 100  # of arrays of 100
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
checked(cuda.cuInit(0))
checked(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
checked(cuda.cuCtxSetCurrent(context))
checked(cuda.cuModuleLoadData(ctypes.byref(module), (Path(__file__).parent / "saxpy.ptx").read_bytes() + b"\0"))
checked(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"saxpy"))
x = (ctypes.c_float * 100)(*range(100))
y = (ctypes.c_float * 100)(*[1] * 100)
arguments = [ctypes.c_float(2), on_device(x), on_device(y), ctypes.c_int(n)]
pointers = (ctypes.c_void_p * 4)(*[ctypes.cast(ctypes.pointer(one), ctypes.c_void_p) for one in arguments])
checked(cuda.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, None, pointers, None))
checked(cuda.cuMemcpyDtoH_v2(y, arguments[2], ctypes.c_size_t(ctypes.sizeof(y))))
print(list(y[:3]))
