"""Makes a kernel with a tool that is not prlx's: ``make_ptx.py nvrtc|numba|pallas FILE``.

It runs in the Python that ``PRLX_PTX_PYTHON`` names, where nvidia-cuda-nvrtc, numba-cuda or jax is installed; none of
them needs a GPU for this. NVRTC and Numba leave PTX. Pallas leaves Triton's IR as bytecode, which Triton compiles.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

SOURCE = b"""
struct line { float slope, offset; };
__device__ float at(const line &l, float x) { return l.slope * x + l.offset; }
template <class T> __global__ void straight(line l, const T *x, T *y, int n)
{
    extern __shared__ T tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : T(0);
    __syncthreads();
    T other = tile[blockDim.x - 1 - threadIdx.x];
    if (i < n)
        y[i] = at(l, other);
}
template __global__ void straight<float>(line, const float *, float *, int);
"""


def nvrtc() -> bytes:
    """A template with a structure as an argument, and dynamic shared memory."""
    found = importlib.util.find_spec("nvidia")
    assert found is not None and found.submodule_search_locations is not None
    libraries = (path for place in found.submodule_search_locations for path in Path(place).rglob("libnvrtc.so*"))
    library = ctypes.CDLL(str(next(path for path in libraries if "builtins" not in path.name)))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"straight.cu", 0, None, None) == 0
    options = [b"-arch=compute_80", b"-lineinfo"]
    assert library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
    library.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library.nvrtcGetPTX(program, text)
    return text.raw[: size.value]  # with the zero at its end


def numba() -> bytes:
    """A kernel on two arrays."""
    from numba import cuda, float32

    def scale(factor, x, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            y[i] = factor * x[i]

    text, _ = cuda.compile_ptx(scale, (float32, float32[::1], float32[::1]), cc=(8, 0), lineinfo=True)
    return text.encode()


def pallas() -> bytes:
    """A softmax over rows, lowered for an A100 that is not there."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton as plt
    from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

    def softmax(x_ref, o_ref):
        x = x_ref[...]
        e = jnp.exp(x - x.max())
        o_ref[...] = e / e.sum()

    rows = pl.BlockSpec((None, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    device = AbstractDevice(device_kind="NVIDIA A100-SXM4-40GB", num_cores=None, platform="cuda")
    call = pl.pallas_call(
        softmax, out_shape=shape, grid=(16,), in_specs=[rows], out_specs=rows, name="softmax",
        compiler_params=plt.CompilerParams(num_warps=4, num_stages=1),
    )  # fmt: skip
    with use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device)):
        lowered = jax.jit(call).trace(shape).lower(lowering_platforms=("cuda",))
    return next(_bytecode(lowered.compiler_ir("stablehlo").operation))


def _bytecode(operation):
    """The bytecode of kernels below an operation."""
    for region in operation.regions:
        for block in region:
            for one in block:
                attributes = one.operation.attributes
                if "mhlo.backend_config" in attributes:
                    config = attributes["mhlo.backend_config"]
                    found = {entry.name: entry.attr for entry in config} if not hasattr(config, "keys") else config
                    yield found["ir"].value_bytes
                yield from _bytecode(one.operation)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes({"nvrtc": nvrtc, "numba": numba, "pallas": pallas}[sys.argv[1]]())
