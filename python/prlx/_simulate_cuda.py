"""Launching a kernel of CUDA C that is given as a string, in a notebook or a test: compiled by NVRTC, run on the simulator."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import FileAccessError, UsageError
from ._nvrtc import compiled
from ._simulate_ptx import Extent, Given, run_text

if TYPE_CHECKING:
    from ._simulation import Simulation
    from ._target import Mode

_NAME = "kernel.cu"  # of a string


def simulate_cuda(
    source: str | os.PathLike[str],
    kernel: str | None = None,
    grid: Extent = 1,
    block: Extent = 1,
    args: Sequence[Any] = (),
    *,
    options: Sequence[str] = (),
    name: str | None = None,
    shared_bytes: int = 0,
    memory: Iterable[Any] = (),
    output: str | os.PathLike[str] | None = None,
    mode: Mode = "control-flow",
    outputs: int | str | None = None,
    overwrite: bool = False,
    machine: Mapping[str, Any] | None = None,
) -> Simulation:
    """Compile CUDA C and launch a kernel of it on the simulator, once; return what it did and what the checks found.

    NVRTC compiles it, which needs neither a GPU nor a CUDA toolkit: ``pip install nvidia-cuda-nvrtc`` (58 MB). The kernel
    works in the memory of the arrays. Findings and counts have the line numbers of the string.

    Parameters
    ----------
    source
        The text, or the path of a file (``pathlib.Path``).
    kernel
        The kernel: its name, or an instance of a template such as ``"scaled<float>"``. None where there is only one.
    grid, block, args, shared_bytes, memory, output, mode, outputs, overwrite, machine
        As for ``simulate_ptx``. A structure is passed as a structure of ``ctypes`` or a record of NumPy.
    options
        More words for NVRTC, such as ``"-DN=4"``, ``"--use_fast_math"`` or ``"-Iinclude"``. It always gets
        ``-arch=compute_80 -lineinfo -std=c++17``, and finds CUDA's headers where their wheels are installed.
    name
        What findings call the text; ``kernel.cu`` without it, and a file as it is called.

    Returns
    -------
    Simulation
        Its ``passed`` says whether nothing was found.

    Raises
    ------
    TraceFormatError
        The source does not compile; the message has what the compiler said.
    UsageError
        NVRTC is not there, there is no such kernel, or an argument does not fit its parameter.
    SimulationError
        The kernel has something that the simulator does not execute, or was launched as no GPU can.

    Examples
    --------
    >>> import numpy as np
    >>> source = '''__global__ void doubled(float *x, int n) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i <= n) x[i] *= 2;
    ... }'''
    >>> x = np.ones(100, np.float32)
    >>> done = prlx.simulate_cuda(source, "doubled", 1, 128, [x, 100])
    >>> x.sum(), [str(one)[:47] for one in done.findings][:1]
    (np.float32(200.0), ['kernel.cu:3: out-of-bounds in doubled, block (0'])
    """
    text, called = _read(source, name)
    ptx, lowered = compiled(text, called, kernel, options)
    _remember(called, text)
    given = Given(
        ptx, lowered or kernel, grid, block, args, shared_bytes=shared_bytes, memory=memory,
        called=kernel or _only(ptx), names=_arguments(text, kernel or _only(ptx)), texts=lambda: held_text(called, text),
    )  # fmt: skip
    return run_text(given, output, mode, outputs, overwrite, machine or {})


def _read(source: str | os.PathLike[str], name: str | None) -> tuple[str, str]:
    """The text, and what it is called."""
    if isinstance(source, str):
        return source, name or _NAME
    if not isinstance(source, os.PathLike):
        raise UsageError(f"source is a {type(source).__name__}", hint="CUDA C as str, or the path of a file")
    try:
        return Path(source).read_text(encoding="utf-8"), name or os.fspath(source)
    except OSError as error:
        raise FileAccessError(error.strerror or "cannot be read", path=os.fspath(source)) from None


def _only(ptx: str) -> str:
    """The only kernel as people call it; "" where there are several."""
    found = re.findall(r"\.entry\s+(\w+)", ptx)
    plain = re.match(r"_Z(\d+)(\w+)", found[0]) if len(found) == 1 else None
    return "" if plain is None else plain[2][: int(plain[1])]


def _arguments(text: str, kernel: str) -> tuple[str, ...]:
    """The names of a kernel's arguments, as its source declares them; nothing where it is not plain which those are."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    name = re.escape(kernel.partition("<")[0].rpartition("::")[2])
    found = re.findall(rf"__global__[^;{{}}]*?\b{name}\s*\(([^()]*)\)\s*[;{{]", plain) if name else []
    if len(set(found)) != 1:
        return ()
    declared = re.sub(r"<[^<>]*>", "", found[0]).split(",")
    names = [re.search(r"(\w+)\s*(?:\[\w*\])?\s*$", one) for one in declared]
    return tuple(one[1] for one in names if one is not None)


def held_text(name: str, text: str) -> dict[str, Any]:
    """The text as results and recordings hold it."""
    held = {"file": name, "function": Path(name).name, "first_line": 1, "text": text}
    return {"functions": [held], "constants": []}


def _remember(name: str, text: str) -> None:
    """Let whoever shows a line of the text find it, as of a cell of a notebook."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
