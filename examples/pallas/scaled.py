"""Rows that are divided by their sum, by a Pallas kernel on the simulator: `scaled.py [FIRST]`.

FIRST is the row that the first program takes. It should be 0; from 1 the last program reads beyond the end.
"""

import sys

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import prlx.jax

FIRST = int(sys.argv[1]) if len(sys.argv) > 1 else 0


def scaled_kernel(x_ref, out_ref):
    """Divide one row by its sum."""
    row = x_ref[...]
    out_ref[...] = row / row.sum()


@jax.jit
def scaled(x):
    """Every row of a matrix divided by its sum."""
    rows, columns = x.shape
    return pl.pallas_call(
        scaled_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(rows,),
        in_specs=[pl.BlockSpec((None, columns), lambda row: (row + FIRST, 0))],
        out_specs=pl.BlockSpec((None, columns), lambda row: (row, 0)),
    )(x)


x = jnp.arange(1.0, 1025.0).reshape(8, 128)
ran = prlx.jax.simulate(scaled, x)
print(ran)
for found in ran.findings:
    print(found)
if ran.passed:
    print("every row sums to", {round(float(row.sum()), 5) for row in ran.result})
