"""numba-cuda over the CUDA driver of the simulator: what its linker hands to the driver is PTX, and no machine code.

numba-cuda compiles to NVVM IR for link-time optimization, which nvJitLink links to a cubin. nvJitLink links the same to PTX as
well, which is what the simulator runs. What is PTX already (kernels with debug information, files of PTX) nvJitLink only links
to machine code: it is asked for that, so that its errors are those of a GPU, and the texts are handed on one behind the other.
Nothing else of numba-cuda is replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

DRIVER = "numba.cuda.cudadrv.driver"  # the module with the linker


def install() -> None:
    """Replace how links are completed. A numba-cuda whose linker is another one is left as it is."""
    linker = getattr(importlib.import_module(DRIVER), "_Linker", None)
    if linker is not None and hasattr(linker, "get_linked_ptx"):
        linker.complete = _completed(linker.complete)


def _completed(to_cubin: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def complete(linker: Any) -> Any:
        """What the linker made, as PTX in the place of a cubin: the image of a module ends with a zero."""
        added = linker._object_codes
        texts = [code for code in added if code.code_type == "ptx"]
        others = [code for code in added if code.code_type != "ptx"]
        images = [bytes(code.code) for code in texts]
        if texts:
            to_cubin(linker)
        if others:
            linker._object_codes = others
            try:
                images.append(bytes(linker.get_linked_ptx()))
            finally:
                linker._object_codes = added
        text = b"\n".join(image.rstrip(b"\0") for image in images)
        return importlib.import_module("cuda.core").ObjectCode.from_cubin(text + b"\0")

    return complete
