"""What a kernel of this folder is launched with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arguments = Callable[[np.random.Generator], dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A kernel in two forms, its grid, and what makes its arguments of random numbers."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: Arguments
    options: dict[str, Any] = field(default_factory=dict)
    second: dict[str, Any] = field(default_factory=dict)  # arguments of the second form, where the caller is wrong
    second_grid: tuple[int, ...] | None = None

    @property
    def id(self) -> str:
        return str(getattr(self.kernel, "fn", self.kernel).__name__)


def floats(rng: np.random.Generator, *shape: int, kind: Any = np.float32) -> Any:
    return rng.standard_normal(shape).astype(kind)


def zeros(*shape: int, kind: Any = np.float32) -> Any:
    return np.zeros(shape, kind)


def rising(count: int, kind: Any = np.int32) -> Any:
    return np.arange(count).astype(kind)
