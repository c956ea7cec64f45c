"""A program that knows nothing of prlx: Triton as it is, over whatever CUDA driver it finds. Prints what came out."""
# ruff: noqa: N803

from __future__ import annotations

import ctypes

import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")


def checked(code):
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{code}: {text.value.decode()}")


class OnDevice:
    """An array in memory of the device."""

    def __init__(self, array):
        self.like, self.dtype, self.nbytes, at = array, array.dtype.name, array.nbytes, ctypes.c_uint64()
        checked(cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(array.nbytes)))
        self.at = at.value
        checked(cuda.cuMemcpyHtoD_v2(at, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)))

    def data_ptr(self):
        return self.at

    def numpy(self):
        back = np.empty_like(self.like)
        n = ctypes.c_size_t(back.nbytes)
        checked(cuda.cuMemcpyDtoH_v2(back.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.at), n))
        return back


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def scaled(x, out, factor, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + i[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + j[None, :])
    tl.store(c + i[:, None] * N + j[None, :], tl.dot(left, right))


def main():
    draw = np.random.default_rng(7)
    x, y = draw.random((2, 1000), np.float32)
    out = OnDevice(np.zeros_like(x))
    add[(4,)](OnDevice(x), OnDevice(y), out, 1000, BLOCK=256)
    print("add", bool((out.numpy() == x + y).all()))
    scaled[(1,)](OnDevice(x), out, 1.5, 1000, BLOCK=1024)
    print("scaled", bool((out.numpy() == x * np.float32(1.5)).all()))
    a, b = (draw.integers(-4, 5, (32, 32)).astype(np.float16) for _ in range(2))
    c = OnDevice(np.zeros((32, 32), np.float32))
    product[(1,)](OnDevice(a), OnDevice(b), c, 32, 32, 32)
    print("product", bool((c.numpy() == a.astype(np.float32) @ b.astype(np.float32)).all()))
    try:
        add[(4,)](OnDevice(x), OnDevice(y), out, 1001, BLOCK=256)
    except RuntimeError as error:
        print(error)
    checked(cuda.cuMemFree_v2(ctypes.c_uint64(out.at)))
    try:
        add[(4,)](OnDevice(x), OnDevice(y), out, 1000, BLOCK=256)
    except (RuntimeError, ValueError) as error:
        print(error)


if __name__ == "__main__":
    main()
