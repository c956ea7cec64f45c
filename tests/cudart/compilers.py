"""Compilers of CUDA, as ``make build/clang/.ready`` brings them: programs of both, and what they embed of device code."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BUILD = Path(__file__).parents[2] / "build"
CUDA = BUILD / "nvcc" / "nvidia" / "cu13"
CLANG = BUILD / "clang"
NAMES = ("nvcc", "clang")


NVRTC = (BUILD / "nvrtc", BUILD / "nvcc")  # where its wheel is, and that of CUDA's headers


def nvrtc() -> bool:
    """Whether the compiler for strings can be had."""
    return any(NVRTC[0].glob("nvidia/*/lib/libnvrtc.so.1?"))


def there(compiler: str) -> bool:
    """Whether a compiler can be had; clang takes NVIDIA's headers, and its program that packs device code."""
    return (CUDA / "bin" / "nvcc").is_file() and (
        compiler == "nvcc" or (CLANG / "usr" / "bin" / "clang++-22").is_file()
    )


def compiled(compiler: str, source: Path, out: Path, *more: str) -> Path:
    """Compile a program; ``more`` are words for either compiler, such as -D."""
    if compiler == "nvcc":
        words = [CUDA / "bin" / "nvcc", "-arch=sm_80", "-std=c++17", "-lineinfo", "-cudart", "shared", "-o", out, *more]
        _run([*words, source])
        return out
    libraries = os.pathsep.join(str(CLANG / "usr" / "lib" / one) for one in ("x86_64-linux-gnu", "llvm-22/lib"))
    words = [
        CLANG / "usr" / "bin" / "clang++-22",
        "-x",
        "cuda",
        f"--cuda-path={CLANG / 'root'}",
        "-isystem",
        CLANG / "extra",
    ]
    words += ["-isystem", CUDA / "include" / "cccl"]
    words += ["--cuda-gpu-arch=sm_80", "--cuda-include-ptx=all", "-Wno-unknown-cuda-version", "-std=c++17", "-O2", "-g"]
    _run([*words, "-c", "-o", f"{out}.o", *more, source], LD_LIBRARY_PATH=libraries)
    _run(["g++", "-o", out, f"{out}.o", f"-L{CUDA / 'lib'}", "-lcudart"])
    return out


def _run(words: list[object], **environment: str) -> None:
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
