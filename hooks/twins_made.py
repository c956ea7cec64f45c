"""Twins of torch's CUDA operators that the CPU has no kernel of: what they compute, by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def _mm(torch: Any, a: Any, b: Any, dtype: Any) -> Any:
    return torch.mm(a.float(), b.float()).to(dtype)


def _bmm(torch: Any, a: Any, b: Any, dtype: Any) -> Any:
    return torch.bmm(a.float(), b.float()).to(dtype)


def _addmm(torch: Any, c: Any, a: Any, b: Any, dtype: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    return torch.addmm(c.float(), a.float(), b.float(), beta=beta, alpha=alpha).to(dtype)


def _baddbmm(torch: Any, c: Any, a: Any, b: Any, dtype: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    return torch.baddbmm(c.float(), a.float(), b.float(), beta=beta, alpha=alpha).to(dtype)


def _lstm_cell(torch: Any, inputs: Any, hidden: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """One step of an LSTM, of gates that were multiplied; the last result is what its backward takes."""
    gates = inputs.float() + hidden.float()
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias.float()
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * cx.float() + i * g
    of = inputs.dtype
    return (o * c.tanh()).to(of), c.to(of), torch.cat((i, f, g, o), 1).to(of)


def _lstm_cell_backward(
    torch: Any, grad_hy: Any, grad_cy: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool
) -> Any:
    i, f, g, o = workspace.float().chunk(4, 1)
    c = cy.float()
    along = c.tanh()
    of_c = (0 if grad_hy is None else grad_hy.float() * o * (1 - along**2)) + (
        0 if grad_cy is None else grad_cy.float()
    )
    of_o = torch.zeros_like(o) if grad_hy is None else grad_hy.float() * along
    gates = torch.cat(
        (of_c * g * i * (1 - i), of_c * cx.float() * f * (1 - f), of_c * i * (1 - g**2), of_o * o * (1 - o)), 1
    )
    of = workspace.dtype
    return gates.to(of), (of_c * f).to(of), gates.sum(0).to(of) if has_bias else None


def _gru_cell(torch: Any, inputs: Any, hidden: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """One step of a GRU, likewise."""
    a = inputs.float() if input_bias is None else inputs.float() + input_bias.float()
    b = hidden.float() if hidden_bias is None else hidden.float() + hidden_bias.float()
    (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
    r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
    n = (an + r * bn).tanh()
    of = inputs.dtype
    return (n + z * (hx.float() - n)).to(of), torch.cat((r, z, n, hx.float(), bn), 1).to(of)


def _gru_cell_backward(torch: Any, grad: Any, workspace: Any, has_bias: bool) -> Any:
    r, z, n, hx, bn = workspace.float().chunk(5, 1)
    g = grad.float()
    of_n = g * (1 - z) * (1 - n**2)
    of_r, of_z = of_n * bn * r * (1 - r), g * (hx - n) * z * (1 - z)
    inputs, hidden = torch.cat((of_r, of_z, of_n), 1), torch.cat((of_r, of_z, of_n * r), 1)
    of = workspace.dtype
    biases = (inputs.sum(0).to(of), hidden.sum(0).to(of)) if has_bias else (None, None)
    return (inputs.to(of), hidden.to(of), (g * z).to(of), *biases)


def _fused_dropout(torch: Any, x: Any, p: float, generator: Any = None) -> Any:
    """``p`` is the part that stays."""
    mask = torch.empty(x.shape).bernoulli_(p, generator=generator)
    return (x * mask / p).to(x.dtype), mask.to(torch.uint8)


def _masked_scale(torch: Any, x: Any, mask: Any, scale: float) -> Any:
    del torch
    return (x * mask * scale).to(x.dtype)


MADE: Mapping[str, Callable[..., Any]] = {
    "mm.dtype": _mm,
    "bmm.dtype": _bmm,
    "addmm.dtype": _addmm,
    "baddbmm.dtype": _baddbmm,
    "_thnn_fused_lstm_cell.default": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl.default": _lstm_cell_backward,
    "_thnn_fused_gru_cell.default": _gru_cell,
    "_thnn_fused_gru_cell_backward.default": _gru_cell_backward,
    "_fused_dropout.default": _fused_dropout,
    "_masked_scale.default": _masked_scale,
}
