"""The corpus: Triton kernels that between them use every instruction that Triton prints for sm_80, with NumPy's answers.

Import it where Triton is importable. ``CASES`` maps names to cases; ``kernel[grid](...)`` of each runs on whatever driver is
active, so the same corpus checks the simulator and, where there is one, a GPU.
"""

from . import atomics, blocks, elementwise, products
from .case import Case, Tolerance

CASES: dict[str, Case] = {
    case.name: case for module in (elementwise, blocks, products, atomics) for case in module.CASES
}

__all__ = ["CASES", "Case", "Tolerance"]
