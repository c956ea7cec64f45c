"""Thirty pairs of runs of the same text with other arguments: which argument, and what B is given.

The kernels are those of refactorings.py and commits.py in their first form. They were written before the table of what was
given was, and are not changed to fit what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Change = Callable[[dict[str, Any]], Any]


def _as(kind: Any) -> Callable[[Any], Any]:
    return lambda value: value.astype(kind)


def _later(value: Any) -> Any:
    """A view that begins one element later, of an array that is one element longer."""
    flat = np.zeros(value.size + 1, value.dtype)
    flat[: value.size] = value.reshape(-1)
    return flat[1:]


# (kernel, argument, what B has in its place by what A has)
PAIRS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("renamed_variables", "x", _as(np.float16)),
    ("hoisted_expression", "x", _as(np.float16)),
    ("softmax_rows", "x", _as(np.float16)),
    ("rms_rows", "w", _as(np.float16)),
    ("doubled_by_addition", "out", _as(np.float16)),
    ("relu_by_maximum", "x", _as(np.float16)),
    ("rotary_rows", "cosines", _as(np.float16)),
    ("turned_comparison", "x", _later),
    ("split_loop", "x", _later),
    ("swapped_factors", "y", _later),
    ("layer_rows", "x", _later),
    ("gelu_flat", "x", _later),
    ("extracted_helper", "n", lambda n: n - 1),
    ("inlined_variable", "n", lambda n: n + 20),
    ("maximum_backwards", "n", lambda _: 1),
    ("ceiling_by_hand", "n", lambda _: 256),
    ("filled_afterwards", "n", lambda _: 96),
    ("peeled_tail", "n", lambda n: n - 3),
    ("turned_branches", "n", lambda _: 1),
    ("softmax_rows", "stride", lambda _: 1),
    ("hoisted_expression", "scale", lambda _: 0.25),
    ("layer_rows", "eps", lambda _: 0.5),
    ("attention_row", "scale", lambda _: 0.5),
    ("relu_by_maximum", "BLOCK", lambda _: 64),
    ("unrolled_loop", "STEPS", lambda _: 3),
    ("unpacked", "GROUP", lambda _: 64),
    ("counted_labels", "BINS", lambda _: 8),
    ("wide_offsets", "x", lambda x: x * 2),
    ("entropy_rows", "labels", lambda labels: labels[::-1].copy()),
    ("tile_product", "b", lambda b: -b),
]
