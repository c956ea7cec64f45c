"""Makes a kernel with a tool that is not prlx's: ``make_ptx.py nvrtc|nvcc|clang|numba|pallas FILE``.

It runs in the Python that ``PRLX_PTX_PYTHON`` names, where nvidia-cuda-nvrtc, nvidia-cuda-nvcc, numba-cuda or jax is installed;
none of them needs a GPU for this. clang is looked for in PATH. All of these but Pallas leave PTX.
Pallas leaves Triton's IR as bytecode, which Triton compiles.
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ABSENT = 5  # exit code: the tool is not there


class AbsentError(Exception):
    """The tool is not there, or not in a version that can be used."""


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


# What CUDA's headers say to clang, as far as the kernel needs it.
CLANG_HEAD = b"""
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
struct where { int x; };
#define threadIdx where{(int)__nvvm_read_ptx_sreg_tid_x()}
#define blockIdx where{(int)__nvvm_read_ptx_sreg_ctaid_x()}
#define blockDim where{(int)__nvvm_read_ptx_sreg_ntid_x()}
#define __syncthreads __syncthreads_here
__device__ inline void __syncthreads_here() { asm volatile("bar.sync 0;" ::: "memory"); }
#line 1
"""


def nvcc() -> bytes:
    """The same by nvcc, as pip installs it."""
    compiler = _first("nvcc", (path for place in _nvidia() for path in Path(place).rglob("bin/nvcc")))
    return _compiled(SOURCE, compiler, "-arch=sm_80", "-O2", "-lineinfo", "-ptx")


def clang() -> bytes:
    """The same by clang, without CUDA's headers."""
    names = ("clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang")
    compiler = _first("clang", map(shutil.which, names))
    options = ("-xcuda", "--cuda-gpu-arch=sm_80", "--cuda-device-only", "-nocudainc", "-nocudalib", "-O2", "-g", "-S")
    return _compiled(CLANG_HEAD + SOURCE, compiler, *options)


def _compiled(source: bytes, compiler: Path, *options: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "straight.cu").write_bytes(source)
        subprocess.run([compiler, *options, "straight.cu", "-o", "straight.ptx"], cwd=folder, check=True)
        return (Path(folder) / "straight.ptx").read_bytes()


def _nvidia() -> list[str]:
    found = importlib.util.find_spec("nvidia")
    return list((found and found.submodule_search_locations) or ())


def _first(tool: str, paths: Iterable[Path | str | None]) -> Path:
    for path in filter(None, paths):
        return Path(path)
    raise AbsentError(f"no {tool}")


def nvrtc() -> bytes:
    """A template with a structure as an argument, and dynamic shared memory."""
    libraries = (path for place in _nvidia() for path in Path(place).rglob("libnvrtc.so*"))
    library = ctypes.CDLL(str(_first("NVRTC", (path for path in libraries if "builtins" not in path.name))))
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


JAX = (0, 12)


def pallas() -> bytes:
    """A softmax over rows, lowered for an A100 that is not there."""
    import jax
    import jax.numpy as jnp

    if tuple(map(int, jax.__version__.split(".")[:2])) < JAX:
        raise AbsentError(f"jax {jax.__version__} makes a bytecode that Triton 3.9 does not read")
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
    makers = {"nvrtc": nvrtc, "nvcc": nvcc, "clang": clang, "numba": numba, "pallas": pallas}
    try:
        made = makers[sys.argv[1]]()
    except (ImportError, AbsentError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(ABSENT)
    Path(sys.argv[2]).write_bytes(made)
