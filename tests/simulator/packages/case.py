"""What a case of a package is: a function that runs its kernels on small inputs and yields what to compare.

A case is a function of a module ``cases_*.py`` of this folder whose name begins with ``case_``. It takes a seeded generator and
yields ``Compared`` values: what the package's kernels computed beside what its own reference says, or the formula that it
documents, in plain torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Compared:
    """One result beside its reference; ``tolerance`` bounds the norm of the difference over the norm of the reference."""

    what: str
    got: torch.Tensor
    want: torch.Tensor
    tolerance: float = 1e-4

    @property
    def problem(self) -> str | None:
        """What is wrong, or None."""
        got, want = self.got.detach().cpu(), self.want.detach().cpu()
        if got.shape != want.shape:
            return f"{self.what}: shape {tuple(got.shape)} instead of {tuple(want.shape)}"
        if not got.is_floating_point() and not want.is_floating_point():
            wrong = int((got != want).sum())
            return f"{self.what}: {wrong} of {got.numel()} differ" if wrong else None
        got, want = got.double(), want.double()
        same = (got == want) | (got.isnan() & want.isnan())
        got, want = torch.where(same, 0.0, got), torch.where(same, 0.0 * want.nan_to_num(0, 0, 0), want)
        scale = self.want.detach().cpu().double().nan_to_num(0, 0, 0).norm().item()
        error = (got - want).norm().item()
        if error <= self.tolerance * max(scale, 1e-3):
            return None
        return f"{self.what}: off by {error / max(scale, 1e-3):.2e} of the norm, {self.tolerance:.0e} is allowed"


def normal(generator: torch.Generator, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Any:
    """Normal numbers."""
    return (torch.randn(*shape, generator=generator) * scale).to(dtype)


def forward_and_backward(
    ours: Callable[..., Any], reference: Callable[..., Any], inputs: dict[str, Any], tolerance: float = 1e-4
) -> Iterator[Compared]:
    """Compare outputs, and gradients of every floating input, under the same upstream gradients."""
    results, gradients = [], []
    for function in (ours, reference):
        given = {name: _leaf(value) for name, value in inputs.items()}
        found = function(**{name: _unleaf(value) for name, value in given.items()})
        outputs = [one for one in (found if isinstance(found, (tuple, list)) else (found,)) if one is not None]
        results.append(outputs)
        upstream = torch.Generator().manual_seed(7)
        loss = 0.0
        for output in outputs:
            if output.requires_grad:
                loss = loss + (output.double() * torch.randn(output.shape, generator=upstream)).sum()
        if isinstance(loss, torch.Tensor):
            loss.backward()
        gradients.append({name: getattr(value, "grad", None) for name, value in given.items()})
    for number, (got, want) in enumerate(zip(*results, strict=True)):
        yield Compared(f"output {number}", got, want, tolerance)
    for name, want in gradients[1].items():
        if want is not None:
            got = gradients[0][name]
            yield Compared(f"gradient of {name}", torch.zeros_like(want) if got is None else got, want, tolerance)


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.is_floating_point())
    return value


def _unleaf(value: Any) -> Any:
    """A tensor that is not a leaf: some functions write into what they are given."""
    return value * 1.0 if isinstance(value, torch.Tensor) and value.is_floating_point() else value
