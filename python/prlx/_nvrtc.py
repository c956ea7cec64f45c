"""CUDA C in a string -> PTX, by NVRTC: NVIDIA's compiler as a library, which needs neither a GPU nor a toolkit."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ._errors import TraceFormatError, UsageError

PACKAGE = "nvidia-cuda-nvrtc"  # 58 MB, 142 MB unpacked
_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12")
_LOG_MOST = 4000  # characters of what the compiler says
_ERROR = re.compile(r"^(?P<file>.*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<said>.*)", re.MULTILINE)


def compiled(source: str, name: str, kernel: str | None, options: Sequence[str]) -> tuple[str, str | None]:
    """The PTX of a source, and the kernel's name in it where it names an instance of a template or is in a namespace.

    Raises
    ------
    TraceFormatError
        It does not compile; what the compiler said is in the message, and the line of its first error.
    UsageError
        NVRTC is not there, or does not take an option.
    """
    library = _library()
    program = ctypes.c_void_p()
    _asked(library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
    try:
        instance = kernel if kernel is not None and not kernel.isidentifier() else None
        if instance is not None:
            _asked(library.nvrtcAddNameExpression(program, instance.encode()))
        words = ["-arch=compute_80", "-lineinfo", "-std=c++17", *(f"-I{one}" for one in _headers()), *options]
        held = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
        if code := library.nvrtcCompileProgram(program, len(words), held):
            raise _refusal(library, code, _text(library, program, "ProgramLog"), name)
        lowered = ctypes.c_char_p()
        if instance is not None:
            _asked(library.nvrtcGetLoweredName(program, instance.encode(), ctypes.byref(lowered)))
        ptx = _text(library, program, "PTX").replace(
            f'"{Path.cwd() / name}"', f'"{name}"'
        )  # it names the directory, too
        return ptx, None if lowered.value is None else lowered.value.decode()
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def _library() -> ctypes.CDLL:
    """NVRTC, from the wheel where there is one, else where the system has it."""
    for path in [*_beside("libnvrtc.so.1[23]"), *_NAMES]:
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return library
    raise UsageError("NVRTC, which compiles CUDA C in a string, is not there", hint=f"pip install {PACKAGE} (58 MB)")


def _beside(name: str) -> Iterator[Path]:
    """Files of NVIDIA's wheels, the newest CUDA first."""
    for folder in dict.fromkeys(sys.path):
        yield from sorted(Path(folder or ".").glob(f"nvidia/*/lib/{name}"), reverse=True)


def _headers() -> list[Path]:
    """Where CUDA's own headers are, such as cuda_fp16.h, if their wheels are there."""
    found = [Path(folder or ".") / "nvidia" / "cu13" / "include" for folder in dict.fromkeys(sys.path)]
    return [path for folder in found if folder.is_dir() for path in (folder, folder / "cccl") if path.is_dir()]


def _asked(code: int) -> None:
    if code:
        raise UsageError(f"NVRTC: {_library().nvrtcGetErrorString(code).decode()}")


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    """A text that NVRTC holds."""
    size = ctypes.c_size_t()
    _asked(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    held = ctypes.create_string_buffer(size.value)
    _asked(getattr(library, f"nvrtcGet{what}")(program, held))
    return held.value.decode(errors="replace")


_INVALID_OPTION = 5


def _refusal(library: ctypes.CDLL, code: int, log: str, name: str) -> Exception:
    """Why a source does not compile."""
    said = log.strip() or library.nvrtcGetErrorString(code).decode()
    if code == _INVALID_OPTION:
        return UsageError(f"NVRTC: {said[:_LOG_MOST]}")
    first = _ERROR.search(log)
    line = int(first["line"]) if first is not None and first["file"].endswith(name) else None
    return TraceFormatError(f"does not compile: {said[:_LOG_MOST]}", path=name, line=line)
