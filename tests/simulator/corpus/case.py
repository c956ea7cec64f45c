"""What a case of the corpus is: a Triton kernel, arguments that a seed makes, and the answer that NumPy gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Tolerance:
    """How far a result may be from NumPy's: ``|got - want| <= absolute + relative * |want|``, and why it may."""

    relative: float = 0.0
    absolute: float = 0.0
    why: str = ""


EXACT = Tolerance()


@dataclass(frozen=True)
class Case:
    """One kernel of the corpus.

    Attributes
    ----------
    arrays
        Makes the arrays of a launch, by the names of the kernel's arguments; the kernel changes them in place.
    expected
        The outputs by name, from the arrays before the launch. It is NumPy's own arithmetic, not the kernel's in another
        spelling, wherever NumPy has the operation.
    tolerance
        By output name; an output that is not named is compared exactly, NaN with NaN.
    """

    name: str
    kernel: Any
    grid: tuple[int, ...]
    arrays: Callable[[np.random.Generator], Arrays]
    expected: Callable[[Mapping[str, NDArray[Any]]], Arrays]
    scalars: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: dict[str, Tolerance] = field(default_factory=dict)

    def launch(self, arrays: Arrays) -> None:
        """Launch the kernel on arrays, as a user would."""
        self.kernel[self.grid](**arrays, **self.scalars, **self.constants, **self.options)

    def differences(self, before: Arrays, after: Arrays) -> list[str]:
        """Say which outputs are not what they should be, one line each; none when all is right."""
        wrong = []
        for name, want in self.expected(before).items():
            got, limit = after[name], self.tolerance.get(name, EXACT)
            line = difference(got, want, limit)
            if line:
                wrong.append(f"{self.name}.{name}: {line}")
        return wrong


def difference(got: NDArray[Any], want: NDArray[Any], limit: Tolerance) -> str:
    """Compare one output; an empty text when it is within the tolerance."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if limit == EXACT:
        same = got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")
        if got.dtype.kind not in "iub":
            same |= np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64))
            same |= (got == 0) & (want == 0)
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            same = (
                (np.abs(a - b) <= limit.absolute + limit.relative * np.abs(b)) | (a == b) | (np.isnan(a) & np.isnan(b))
            )
    if same.all():
        return ""
    first = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{int((~same).sum())} of {same.size} differ, first at {first}: {got[first]} instead of {want[first]}"


def random(
    shape: int | tuple[int, ...], rng: np.random.Generator, *, dtype: Any = np.float32, scale: float = 1.0
) -> NDArray[Any]:
    """Normal numbers of a type."""
    return (rng.standard_normal(shape) * scale).astype(dtype)


def whole(
    shape: int | tuple[int, ...], rng: np.random.Generator, low: int, high: int, *, dtype: Any = np.int32
) -> NDArray[Any]:
    """Whole numbers from low to high - 1."""
    return rng.integers(low, high, shape).astype(dtype)
