"""Kernels that record by themselves: LLVM IR is rewritten between stages of Triton's compiler, and cached under its own key.

What is rewritten is decided once a compilation, when Triton asks for the hash of the source, so that the key in the cache and
the text that is kept under it always belong together. Trials of the autotuner, kernels that a filter leaves out, compilations
in a forked child (which may not enter the core): all are those of a clean compiler, under its keys.
"""

from __future__ import annotations

import functools
import mmap
import os
import threading
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .texts import functions_of

if TYPE_CHECKING:
    from .._wanted import Wanted
    from . import registers

TABLE = "prlx_table"  # in the metadata of a kernel: what its events mean
SCRATCH_BYTES = 16  # that a block asks for, so that a pointer arrives; the arena is as large as it is


class Rewriter:
    """Rewrites kernels while they are compiled.

    Parameters
    ----------
    rewrite
        Makes of the LLVM IR of a kernel and the places that are wanted its text that records, the table of its sites and what
        is to be said; the table is empty where nothing is recorded. No places are all.
    key
        Names what ``rewrite`` does: version, recorder, filter.
    wanted
        Which kernels are rewritten; None is all.
    """

    def __init__(
        self,
        rewrite: Callable[[str, Sequence[Mapping[str, Any]]], tuple[str, str, str]],
        *,
        key: str,
        wanted: Wanted | None = None,
    ) -> None:
        self._rewrite = rewrite
        self._wanted = wanted
        self._owner = os.getpid()
        self._decided = threading.local()
        self.key = key
        self.fewer: Sequence[Callable[[str, Sequence[Mapping[str, Any]]], registers.Rewritten]] = ()
        """What rewrites kernels that the recorder would push out of their registers: the first one that does not.

        The simulator has registers enough, and this costs a run of Triton's assembler: it is for who asks for it.
        """
        self.hashes = False
        """Whether what it rewrites leaves hashes and sums alone, and no events."""
        self.clean: Callable[[], bool] = lambda: False
        """Whether what is compiled now is to be left alone."""

    @property
    def device(self) -> int:
        """What sets the devices apart whose kernels record: Triton keeps kernels in memory by the number of a device."""
        return 1 + (zlib.crc32(f"{self.key} {self._wanted}".encode()) & 0xFFFF)

    def wants(self, source: Any) -> bool:
        """Whether a kernel that is compiled now is rewritten."""
        if os.getpid() != self._owner or self.clean():
            return False
        asked = self._wanted
        if asked is None or not asked.kernel(str(getattr(source, "name", "")).lstrip("@")):
            return asked is None
        if asked.places:
            functions = functions_of(source)
            self._decided.places = asked.within(functions)
            return asked.functions(functions)
        return True

    def hashed(self, old: Any) -> Any:
        """The hash of a source, which says what is made of it."""

        @functools.wraps(old)
        def hash(source: Any) -> str:
            plain = str(old(source))
            self._decided.places = ()
            self._decided.wanted = self.wants(source)
            return f"{plain}-{self.key}" if self._decided.wanted else plain

        return hash

    def staged(self, old: Any) -> Any:
        """The stages of the compiler, of which the one that prints LLVM IR is followed by ours."""

        @functools.wraps(old)
        def add_stages(backend: Any, stages: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            old(backend, stages, *args, **kwargs)
            before = stages.get("llir")
            if before is None or not getattr(self._decided, "wanted", False):
                return

            def llir(module: Any, metadata: dict[str, Any]) -> Any:
                return self._apply(before(module, metadata), metadata, stages)

            stages["llir"] = llir

        return add_stages

    def _apply(self, text: Any, metadata: dict[str, Any], stages: dict[str, Any]) -> Any:
        if not isinstance(text, str):
            warnings.warn("a kernel is not recorded: this Triton does not hand LLVM IR on as text", stacklevel=2)
            return text
        if metadata.get("profile_scratch_size"):
            warnings.warn("a kernel is not recorded: another tool uses its profile scratch", stacklevel=2)
            return text
        places = self._decided.places
        if self.fewer:
            from . import registers

            need = functools.partial(registers.usage, stages=_assembling(stages), metadata=metadata)
            ways = [lambda text, way=way: way(text, places) for way in (self._rewrite, *self.fewer)]
            _, (made, table, warning) = registers.fitting(text, ways, need)
        else:
            made, table, warning = self._rewrite(text, places)
        if warning:
            warnings.warn(warning, stacklevel=2)
        if table:
            metadata[TABLE] = table
            metadata["profile_scratch_size"], metadata["profile_scratch_align"] = SCRATCH_BYTES, 128
        return made


def _assembling(stages: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stages of a compiler, with its own last one where a device of ours put another there."""
    assembles = getattr(stages.get("cubin"), "assembles", None)
    return stages if assembles is None else {**stages, "cubin": assembles}


class Arena:
    """Zeroed memory of a process for one launch; pages that nobody touches take no room."""

    def __init__(self, size: int) -> None:
        import ctypes

        self.size = size
        self._memory = mmap.mmap(-1, size)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def data_ptr(self) -> int:
        """Where it begins."""
        return self._address
