"""What Pallas kernels do on the simulator, as JSON on stdout: `pallas_cases.py agree|faults|programs FOLDER`.

It takes a Python with JAX and Triton. agree: the kernels in JAX's wheel that lower to Triton, beside `interpret=True`. faults:
kernels with one mistake each; what was expected was written down before the first run. programs: what may stand around a
kernel, and what is refused.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu
from jax.experimental.pallas.ops.gpu import (
    attention,
    decode_attention,
    layer_norm,
    paged_attention,
    rms_norm,
    softmax,
)

import prlx
import prlx.jax

BLOCK = pl.BlockSpec((256,), lambda i: (i,))
WHOLE = pl.BlockSpec((1024,), lambda _: (0,))
FIRST = pl.BlockSpec((256,), lambda _: (0,))
NUMBERS = jnp.arange(1024, dtype=jnp.float32)


def normal(seed, *shape, dtype=jnp.float32):
    return jax.random.normal(jax.random.key(seed), shape, dtype)


def gradient(function):
    """All gradients of the sum of what a function returns."""

    def summed(*given):
        return function(*given).astype(jnp.float32).sum()

    return lambda *given: jax.grad(summed, argnums=tuple(range(len(given))))(*given)


def agree():
    """The largest difference between the simulator and JAX's interpreter, of numbers that are about 1, and what was found."""
    x, w, b = normal(1, 1, 64, 96), normal(2, 96), normal(3, 96)
    q, k, v = (normal(seed, 1, 128, 2, 32, dtype=jnp.float16) for seed in range(3))
    mha = partial(attention.mha, segment_ids=None)
    cached = normal(1, 2, 8, 64, dtype=jnp.float16), *(normal(i, 2, 128, 2, 64, dtype=jnp.float16) for i in (2, 3))
    pages = normal(1, 2, 16, 16, 64, dtype=jnp.float16)
    paged = (
        normal(0, 2, 8, 64, dtype=jnp.float16), pages, pages + 1,
        jnp.arange(8, dtype=jnp.int32).reshape(2, 4), jnp.array([60, 33], jnp.int32),
    )  # fmt: skip
    segments = jnp.array([[0] * 50 + [1] * 78], jnp.int32)
    cases = {
        "softmax": (softmax.softmax, (normal(0, 8, 100),)),
        "layer_norm": (layer_norm.layer_norm, (x, w, b)),
        "layer_norm, backward": (gradient, layer_norm.layer_norm, (x, w, b)),
        "rms_norm": (rms_norm.rms_norm, (x, w, b)),
        "rms_norm, backward": (gradient, rms_norm.rms_norm, (x, w, b)),
        "mha": (mha, (q, k, v)),
        "mha, causal": (partial(mha, causal=True), (q, k, v)),
        "mha, segments": (partial(attention.mha, segment_ids=segments), (q, k, v)),
        "mha, backward": (gradient, mha, (q, k, v)),
        "mha, causal, backward": (gradient, partial(mha, causal=True), (q, k, v)),
        "gqa": (partial(decode_attention.gqa, k_splits=2), cached),
        "mqa": (
            partial(decode_attention.mqa, k_splits=2),
            (normal(1, 2, 8, 64, dtype=jnp.float16), *(normal(i, 2, 128, 64, dtype=jnp.float16) for i in (2, 3))),
        ),
        "paged_attention": (
            partial(paged_attention.paged_attention, pages_per_compute_block=2, k_splits=1), paged,
        ),
        "paged_attention, splits": (
            partial(paged_attention.paged_attention, pages_per_compute_block=2, k_splits=2), paged,
        ),
    }  # fmt: skip
    for name, (*wrapped, given) in cases.items():
        function = wrapped[-1]
        interpreted = partial(function, interpret=True)
        if wrapped[0] is gradient:
            function, interpreted = gradient(function), gradient(interpreted)
        ran = prlx.jax.simulate(function, *given)
        wanted = jax.tree.leaves(jax.jit(interpreted)(*given))
        apart = [
            np.abs(np.asarray(a, "f8") - np.asarray(b, "f8")).max()
            for a, b in zip(jax.tree.leaves(ran.result), wanted, strict=True)
        ]
        half = any(one.dtype == jnp.float16 for one in wanted)
        yield {
            "name": name, "launches": ran.launches, "passed": ran.passed, "apart": float(max(apart)), "half": half,
            "findings": list(map(str, ran.findings)), "kernels": [one.kernel for one in ran.simulations],
            "files": sorted({Path(file).name for file in ran.lines["file"].tolist()}),
        }  # fmt: skip


def call(kernel, *, takes=BLOCK, leaves=BLOCK, out=1024, inputs=1, **others):
    shape = jax.ShapeDtypeStruct((out,), jnp.float32)
    return pl.pallas_call(kernel, out_shape=shape, grid=(4,), in_specs=[takes] * inputs, out_specs=leaves, **others)


def copied(x_ref, o_ref):
    o_ref[...] = x_ref[...]  # HERE copied


def next_one(x_ref, o_ref):
    first = pl.program_id(0) * 256
    o_ref[pl.ds(first, 256)] = x_ref[pl.ds(first + 1, 256)]  # HERE next_one


def one_later(x_ref, o_ref):
    first = pl.program_id(0) * 256
    o_ref[pl.ds(first + 1, 256)] = x_ref[pl.ds(first, 256)]  # HERE one_later


def summed(x_ref, o_ref):
    o_ref[...] += x_ref[...]  # HERE summed


def divided(x_ref, o_ref):
    o_ref[...] = (x_ref[...] - 7) / (x_ref[...] - 7)  # HERE divided


def doubled(x_ref, o_ref):
    x_ref[...] = x_ref[...] * 2  # HERE doubled
    o_ref[...] = x_ref[...]


def gathered(x_ref, i_ref, o_ref):
    o_ref[...] = x_ref[i_ref[...]]  # HERE gathered


def counted(x_ref, o_ref):
    o_ref[0] = o_ref[0] + x_ref[0]  # HERE counted


def lines():
    """The line of each mark."""
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    return {line.split("# HERE ")[1]: number for number, line in enumerate(text, 1) if "# HERE " in line}


def faults():
    """The first finding of kernels with one mistake each."""
    shifted = pl.BlockSpec((256,), lambda i: (i + 1,))
    places = jnp.arange(1024, dtype=jnp.int32).at[700].set(1024)
    whole_and_block = {"in_specs": [WHOLE, BLOCK], "out_specs": BLOCK, "grid": (4,)}
    gather = pl.pallas_call(gathered, out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32), **whole_and_block)
    started = call(counted, takes=WHOLE, leaves=WHOLE, input_output_aliases={0: 0})
    cases = {
        "a block beyond the end": (copied, "out-of-bounds", call(copied, takes=shifted), {}),
        "a load beyond the end": (next_one, "out-of-bounds", call(next_one, takes=WHOLE, leaves=WHOLE), {}),
        "a store beyond the end": (one_later, "out-of-bounds", call(one_later, takes=WHOLE, leaves=WHOLE), {}),
        "a place beyond the end": (gathered, "out-of-bounds", lambda x: gather(x, places), {}),
        "all programs write one block": (
            copied,
            "global-race",
            call(copied, leaves=FIRST, out=256),
            {"global_races": True},
        ),
        "a sum that nobody began": (summed, "uninitialised-global", call(summed), {}),
        "a sum without an atomic": (counted, "global-race", started, {"global_races": True}),
        "a division of 0 by 0": (divided, "nan", call(divided), {"nan": True}),
        "an input is written": (doubled, "read-only-write", call(doubled), {}),
    }
    at = lines()
    for name, (kernel, check, function, machine) in cases.items():
        ran = prlx.jax.simulate(
            function, NUMBERS + (function is started), machine=machine
        )  # of zeros nobody sees the sum
        found = [(one.check, Path(one.file or "").name, one.line, one.kernel) for one in ran.findings]
        wanted = [check, Path(__file__).name, at[kernel.__name__], kernel.__name__]
        yield {"name": name, "wanted": wanted, "found": found, "texts": list(map(str, ran.findings))}


def programs():
    """What may stand around a kernel, beside `interpret=True` there, and what is refused."""

    def within(interpret):
        kernel = call(copied, interpret=interpret)

        def scanned(x):
            return jax.lax.scan(lambda sum, row: (sum + kernel(row), kernel(row * 2)), jnp.zeros(1024), x)

        def reversed_scan(x):
            return jax.lax.scan(lambda sum, row: (sum * 2 + kernel(row), sum + x[0]), jnp.zeros(1024), x, reverse=True)

        def looped(x):
            return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, kernel(s[1]) * 2), (0, x))

        def chosen(x):
            return jax.lax.cond(x[0] > 0, lambda x: kernel(x), lambda x: kernel(x) + 1, x)

        @jax.jit
        def jitted(x):
            return {"twice": kernel(kernel(x)) * 2, "as it is": x}

        many = jnp.stack([NUMBERS, NUMBERS + 1, NUMBERS * 3])
        return {
            "scan": (scanned, many), "scan, reversed": (reversed_scan, many),
            "while_loop": (looped, NUMBERS), "cond": (chosen, NUMBERS), "jit": (jitted, NUMBERS),
            "vmap": (jax.vmap(kernel), many), "checkpoint": (jax.checkpoint(lambda x: kernel(x) + 1), NUMBERS),
        }  # fmt: skip

    compiled, interpreted = within(False), within(True)
    for name, (function, given) in compiled.items():
        ran = prlx.jax.simulate(function, given)
        wanted = jax.jit(interpreted[name][0])(given)
        same = all(
            np.array_equal(a, b) for a, b in zip(jax.tree.leaves(ran.result), jax.tree.leaves(wanted), strict=True)
        )
        tree = jax.tree.structure(ran.result) == jax.tree.structure(wanted)
        yield {"name": name, "same": same and tree, "launches": ran.launches}
    mosaic = call(copied, compiler_params=mosaic_gpu.CompilerParams())
    refused = {
        "Mosaic GPU": lambda: prlx.jax.simulate(mosaic, NUMBERS),
        "no function": lambda: prlx.jax.simulate(NUMBERS),
        "stop": lambda: prlx.jax.simulate(call(summed), NUMBERS, machine={"stop": True}),
    }
    for name, run in refused.items():
        try:
            run()
            yield {"name": name, "error": None}
        except Exception as error:
            yield {"name": name, "error": type(error).__name__, "message": str(error)}
    both = prlx.jax.simulate(lambda x: call(copied)(x) + call(doubled, interpret=True)(x), NUMBERS)
    yield {
        "name": "interpreted beside",
        "outcome": both.conclusion.outcome,
        "why": both.conclusion.why,
        "launches": both.launches,
    }
    none = prlx.jax.simulate(lambda x: x + 1, NUMBERS)
    yield {"name": "no kernel", "outcome": none.conclusion.outcome, "why": none.conclusion.why}
    folder = Path(sys.argv[2]) / "recorded"
    ran = prlx.jax.simulate(*compiled["scan"], output=folder)
    launches = list(prlx.open(folder))
    yield {"name": "recorded", "launches": ran.launches, "recordings": len(launches), "session": str(ran.session)}


print(json.dumps(list({"agree": agree, "faults": faults, "programs": programs}[sys.argv[1]]())))
