"""numba-cuda over the CUDA driver of the simulator: what its linker hands to the driver is PTX, and no machine code.

numba-cuda compiles to NVVM IR for link-time optimization, which nvJitLink links to a cubin. nvJitLink links the same to PTX as well, which
is what the simulator runs. Nothing else of numba-cuda is replaced.
"""

from __future__ import annotations

import importlib
from typing import Any

DRIVER = "numba.cuda.cudadrv.driver"  # the module with the linker


def install() -> None:
    """Replace how links are completed. A numba-cuda whose linker is another one is left as it is."""
    linker = getattr(importlib.import_module(DRIVER), "_Linker", None)
    if linker is not None and hasattr(linker, "get_linked_ptx"):
        linker.complete = _complete


def _complete(linker: Any) -> Any:
    """What the linker made, as PTX in the place of a cubin: the image of a module ends with a zero."""
    text = bytes(linker.get_linked_ptx()).rstrip(b"\0")
    return importlib.import_module("cuda.core").ObjectCode.from_cubin(text + b"\0")
