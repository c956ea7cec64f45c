"""Digests of what the memory behind arguments holds before and after a launch: one small kernel for all of them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._cuda import Cuda
from ._errors import PrlxError

if TYPE_CHECKING:
    from .hooks.gpu import Kernel
    from .hooks.launch import Parameter

ROW = 64
"""Bytes of a row: where memory is, and what came out."""

MOST_ROWS = 128
BEFORE, AFTER = 32, 48
"""Where in a row the results are of the launch before the kernel that records, and of the one after it."""

_THREADS = 256
_MOST_BLOCKS = 512  # of a row; each goes on where the others end
_INTEGERS = ("*i64", "*u64")  # what addresses may be among
_ROW = struct.Struct("<8Q")


class Rows:
    """The memory behind the arguments of a launch, as the kernel of digests takes it.

    Attributes
    ----------
    content
        The rows as they are before the launch.
    count
        How many they are.
    blocks
        Blocks of the kernel for each of them.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        found: dict[tuple[int, int], bool] = {}
        self._arguments: list[tuple[int, tuple[int, int], bool]] = []  # id, memory, whether addresses may be in it
        for i, p in enumerate(parameters):
            if p.storage is None or not p.storage.told:
                continue
            key = p.storage.address, p.storage.size
            if key not in found and len(found) == MOST_ROWS:
                continue
            integers = p.type in _INTEGERS or p.type.startswith("**")
            found[key] = found.get(key, False) or integers
            self._arguments.append((i, key, integers))
        self._place = {key: i for i, key in enumerate(found)}
        self.content = b"".join(_ROW.pack(at, size, integers, 0, 0, 0, 0, 0) for (at, size), integers in found.items())
        self.count = len(found)
        pieces = max((size for _, size in found), default=0) // 8 + 1
        self.blocks = min((pieces + _THREADS - 1) // _THREADS, _MOST_BLOCKS)

    def held(self, filled: bytes) -> Iterator[dict[str, int]]:
        """What the memory held, as ``arena_collect`` takes it, of rows that came home."""
        rows = list(_ROW.iter_unpack(filled))
        for id, key, integers in self._arguments:
            _, size, _, _, before, addresses_before, after, addresses_after = rows[self._place[key]]
            counts = (addresses_before, addresses_after) if integers else (0, 0)
            yield {
                "id": id,
                "bytes": size,
                "before": before,
                "addresses_before": counts[0],
                "after": after,
                "addresses_after": counts[1],
            }


class Digester:
    """The kernel of digests on the devices of a process: a module for each context."""

    def __init__(self, cuda: Cuda) -> None:
        self._launch = cuda.library.cuLaunchKernel
        self._cuda = cuda
        self._functions: dict[int, tuple[int, int]] = {}  # module and function
        self._refused: dict[int, str] = {}

    def why_not(self, context: int, kernel: Kernel) -> str:
        """Why there are no digests in a context, which is that of this thread; "" where there are.

        ``kernel`` is one that is launched there: its GPU is that of the context.
        """
        if context not in self._functions and context not in self._refused:
            try:
                self._functions[context] = self._loaded(kernel)
            except PrlxError as error:  # of the driver, or of Triton
                self._refused[context] = str(error.args[0]).partition("\n")[0]
        return self._refused.get(context, "")

    def _loaded(self, of: Kernel) -> tuple[int, int]:
        kernel = _core.call("contents_kernel", {})
        image = kernel["code"].encode() if self._cuda.runs_ptx else of.code_object(kernel["amd"], kernel["name"])
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._cuda.call("cuModuleLoadData", ctypes.byref(module), image + b"\0")
        self._cuda.call("cuModuleGetFunction", ctypes.byref(function), module, kernel["name"].encode())
        return module.value or 0, function.value or 0

    def launch(self, context: int, rows: Rows, parameters: Any, stream: int) -> None:
        """Add up what the memory of rows holds when the stream gets there; ``parameters`` are those of ``Places``."""
        status = self._launch(
            self._functions[context][1], rows.blocks, rows.count, 1, _THREADS, 1, 1, 0, stream, parameters, None
        )
        if status:
            raise self._cuda.error("cuLaunchKernel", status)

    def close(self) -> None:
        """Unload the modules; their contexts may be gone."""
        for context, (module, _) in self._functions.items():
            self._cuda.library.cuCtxSetCurrent(ctypes.c_void_p(context))
            self._cuda.library.cuModuleUnload(ctypes.c_void_p(module))
        self._functions.clear()


class Places:
    """The parameters of the kernel of digests for one arena: where the rows begin is set for each launch, all else stays."""

    def __init__(self) -> None:
        self._begin = ctypes.c_uint64()
        self._into = ctypes.c_uint32(BEFORE), ctypes.c_uint32(AFTER)
        begin = ctypes.addressof(self._begin)
        self.before, self.after = ((ctypes.c_void_p * 2)(begin, ctypes.addressof(into)) for into in self._into)

    def begin(self, at: int) -> None:
        """Say where the rows of a launch begin."""
        self._begin.value = at
