"""Triton operations of mamba-ssm beside the references in the same modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from case import Compared, forward_and_backward, normal
from stand_ins import bare

bare("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton", "mamba_ssm.ops.triton.mamba3", "mamba_ssm.utils")
Cases = Iterator[Compared]
BATCH, LENGTH, HEADS, WIDTH, STATE, CHUNK = 1, 128, 4, 16, 16, 64


def _scanned(generator: Any) -> dict[str, Any]:
    return {
        "x": normal(generator, BATCH, LENGTH, HEADS, WIDTH),
        "dt": F.softplus(normal(generator, BATCH, LENGTH, HEADS) - 3),
        "A": -torch.rand(HEADS, generator=generator) - 0.5,
        "B": normal(generator, BATCH, LENGTH, 2, STATE),
        "C": normal(generator, BATCH, LENGTH, 2, STATE),
    }


def _norm(generator: Any, kind: str, **options: Any) -> Cases:
    from mamba_ssm.ops.triton import layer_norm

    ours, reference = getattr(layer_norm, f"{kind}_fn"), getattr(layer_norm, f"{kind}_ref")
    inputs = {"x": normal(generator, 6, 200), "weight": normal(generator, 200), "bias": normal(generator, 200)}
    more = {name: normal(generator, *shape) for name, shape in options.items()}
    yield from forward_and_backward(
        lambda **given: ours(**given, prenorm=True), lambda **given: reference(**given, prenorm=True),
        {**inputs, **more},
    )  # fmt: skip


def case_layer_norm(generator: Any) -> Cases:
    yield from _norm(generator, "layer_norm", residual=(6, 200))


def case_rms_norm(generator: Any) -> Cases:
    yield from _norm(generator, "rms_norm", residual=(6, 200))


def case_layer_norm_of_two(generator: Any) -> Cases:
    yield from _norm(generator, "layer_norm", x1=(6, 200), weight1=(200,), bias1=(200,))


def case_gated_norm(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.layernorm_gated import rms_norm_ref, rmsnorm_fn

    for before in (True, False):
        yield from forward_and_backward(
            lambda x, weight, z, before=before: rmsnorm_fn(x, weight, None, z, 1e-6, 64, before),
            lambda x, weight, z, before=before: rms_norm_ref(x, weight, None, z, 1e-6, 64, before),
            {"x": normal(generator, 6, 128), "weight": normal(generator, 128), "z": normal(generator, 6, 128)},
        )


def case_swiglu(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.k_activations import swiglu

    yield from forward_and_backward(
        swiglu, lambda xy: F.silu(xy.chunk(2, -1)[0]) * xy.chunk(2, -1)[1], {"xy": normal(generator, 6, 200)}
    )


def case_selective_state_update(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.selective_state_update import selective_state_update, selective_state_update_ref

    state = normal(generator, 2, HEADS, WIDTH, STATE)
    given = {
        "x": normal(generator, 2, HEADS, WIDTH),
        "dt": normal(generator, 2, HEADS, WIDTH),
        "A": -torch.rand(HEADS, WIDTH, STATE, generator=generator),
        "B": normal(generator, 2, 2, STATE),
        "C": normal(generator, 2, 2, STATE),
        "D": normal(generator, HEADS, WIDTH),
        "z": normal(generator, 2, HEADS, WIDTH),
        "dt_bias": normal(generator, HEADS, WIDTH),
    }
    ours, theirs = state.clone(), state.clone()
    got = selective_state_update(ours, **given, dt_softplus=True)
    want = selective_state_update_ref(theirs, **given, dt_softplus=True)
    yield Compared("output", got, want)
    yield Compared("state", ours, theirs)


def case_chunk_scan_combined(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined, ssd_chunk_scan_combined_ref

    inputs = {
        **_scanned(generator),
        "D": normal(generator, HEADS),
        "z": normal(generator, BATCH, LENGTH, HEADS, WIDTH),
        "dt_bias": normal(generator, HEADS, scale=0.1) - 3,  # the reference's gradients overflow with longer steps
    }
    yield from forward_and_backward(
        lambda **given: mamba_chunk_scan_combined(**given, chunk_size=CHUNK, dt_softplus=True),
        lambda **given: ssd_chunk_scan_combined_ref(**given, chunk_size=CHUNK, dt_softplus=True),
        inputs,
        5e-3,
    )


def case_chunk_scan_plain(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined, ssd_chunk_scan_combined_ref

    yield from forward_and_backward(
        lambda **given: mamba_chunk_scan_combined(**given, chunk_size=CHUNK),
        lambda **given: ssd_chunk_scan_combined_ref(**given, chunk_size=CHUNK),
        _scanned(generator),
        5e-3,
    )


def _chunks(generator: Any) -> dict[str, Any]:
    given = _scanned(generator)
    dt = given["dt"].view(BATCH, -1, CHUNK, HEADS).permute(0, 3, 1, 2).contiguous()
    given.update(dt=dt, dA_cumsum=(dt * given.pop("A")[:, None, None]).cumsum(-1))
    return given


def case_chunk_state(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.ssd_chunk_state import chunk_state, chunk_state_ref

    inputs = _chunks(generator)
    inputs.pop("C")
    yield from forward_and_backward(
        lambda **given: chunk_state(**given), lambda **given: chunk_state_ref(**given), inputs, 5e-3
    )


def case_chunk_scan(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.ssd_chunk_scan import chunk_scan, chunk_scan_ref

    inputs = {**_chunks(generator), "prev_states": normal(generator, BATCH, 2, HEADS, WIDTH, STATE)}
    yield from forward_and_backward(
        lambda **given: chunk_scan(**given), lambda **given: chunk_scan_ref(**given), inputs, 5e-3
    )


def case_state_passing(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.ssd_state_passing import state_passing, state_passing_ref

    inputs = {
        "states": normal(generator, BATCH, 3, HEADS, 100),
        "dA_chunk_cumsum": -torch.rand(BATCH, HEADS, 3, generator=generator),
        "initial_states": normal(generator, BATCH, HEADS, 100),
    }
    yield from forward_and_backward(
        lambda **given: state_passing(**given), lambda **given: state_passing_ref(**given), inputs
    )


def case_rotary_step(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.mamba3 import mamba3_mimo_rotary_step as module

    q, k = normal(generator, 2, 2, 8, 32), normal(generator, 2, 2, 8, 32)
    rest = normal(generator, 2, 8, 8), normal(generator, 2, 8, 8), normal(generator, 2, 8)
    bias = {"bias_q": normal(generator, 2, 8, 32), "bias_k": normal(generator, 2, 8, 32)}
    for pairs in (True, False):
        got = module.apply_rotary_qk_inference_fwd(q, k, *rest, **bias, rotate_pairwise=pairs)
        want = module.apply_rotary_qk_inference_reference(q, k, *rest, **bias, rotate_pairwise=pairs)
        for number, (one, other) in enumerate(zip(got, want, strict=True)):
            yield Compared(f"output {number}", one, other, 1e-3)


def case_mimo_backward(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.mamba3 import mamba3_mimo_utils as module

    length, chunk = 64, 16
    steps = [normal(generator, 2, 2, length, scale=0.1) for _ in range(4)]
    matrix = normal(generator, 2, 2, length // chunk, chunk, chunk)
    blocks = steps[2].view(2, 2, -1, chunk)
    got = module.bwd_dadt_fused_triton(matrix, blocks[..., None] - blocks[..., None, :], *steps, chunk)
    want = (
        module.bwd_segsum_ddt_from_dSSdA_ref(matrix.clone(), steps[2].clone(), chunk)
        + module.bwd_ddt_from_ddA_cs_rev_ref(steps[1].clone(), steps[3].clone(), chunk)
        + module.bwd_ddt_from_ddA_cs_ref(steps[0].clone(), steps[2].clone(), chunk)
    )
    yield Compared("steps", got * -1.4426950408889634, want)
    trap, dt = torch.rand(2, 2, length, generator=generator).half(), F.softplus(normal(generator, 2, 2, length) - 3)
    found = module.bwd_dtrap_ddt_triton(trap, dt, steps[0], steps[1], chunk)
    for number, (one, other) in enumerate(
        zip(found, module.compute_dtrap_ddt_ref(steps[0], steps[1], trap, dt), strict=True)
    ):
        yield Compared(f"trapezoid {number}", one, other, 1e-3)


def case_mimo_sums(generator: Any) -> Cases:
    from mamba_ssm.ops.triton.mamba3 import mamba3_mimo_utils as module

    da = -F.softplus(normal(generator, 1, 4, 90) - 3)
    ends = torch.tensor([0, 0, 7, 39, 58, 58, 74, 90], dtype=torch.int32)
    got = module.compute_dacs_segsum_triton_varlen(da, 16, ends)
    want = module.compute_dacs_segsum_ref_varlen(da, 16, ends, 7)
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        yield Compared(f"ragged {number}", one, other)
    da = da[..., :64].contiguous()
    for number, (one, other) in enumerate(
        zip(module.compute_dacs_segsum_triton(da, 16), module.compute_dacs_segsum_ref(da, 16), strict=True)
    ):
        yield Compared(f"even {number}", one, other)
