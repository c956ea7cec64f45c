"""Proton's Chrome trace: an object a stream, one behind another, events without a process, scopes beside kernels.

No real file was found: these are written as the producer's own code writes them (``TraceData.cpp`` of Triton).
"""

from __future__ import annotations

import json

import pytest

import prlx

LAYERS, STEPS = 6, 20


def proton(path, *, slow=1.0):
    """Steps of layers on stream 0, and copies of an output on stream 7."""
    streams = {0: [], 7: []}
    now = 0

    def kernel(stream, name, ns, scopes):
        nonlocal now
        streams[stream].append({
            "name": name, "cat": "kernel", "ph": "X", "ts": now / 1000, "dur": ns / 1000, "tid": stream,
            "args": {"call_stack": ["ROOT", *scopes, name]},
        })  # fmt: skip
        now += ns + 700

    for step in range(STEPS):
        for layer in range(LAYERS):
            around = ["forward", f"layer_{layer}"]
            kernel(0, "attention_kernel", int((9000 + 31 * (step % 5)) * slow), [*around, "attention"])
            kernel(0, "matmul_kernel", 14000 + 17 * (step % 7), [*around, "mlp"])
            kernel(0, "silu_kernel", 3000 + 3 * (step % 3), [*around, "mlp"])
        kernel(0, "argmax_kernel", 2500, ["sample"])
        kernel(7, "copy_kernel", 1500, ["sample"])
        now += 40_000
    path.write_text("".join(
        json.dumps({"displayTimeUnit": "us", "traceEvents": events}) + "\n" for events in streams.values()
    ))  # fmt: skip
    return path


@pytest.fixture
def trace(tmp_path):
    """A file of Proton's."""
    return proton(tmp_path / "proton.chrome_trace")


def test_kernels_of_all_streams_are_on_one_clock(trace):
    cycles = prlx.find_cycles(trace, progress=False)
    about = cycles.document["input"]
    assert about["kernels"] == STEPS * (3 * LAYERS + 2)
    assert about["devices"] == 1
    (step,) = cycles.level("step")
    assert (step.count, step.period) in {(STEPS, 3 * LAYERS + 1), (STEPS, 3 * LAYERS + 2)}
    each = LAYERS * (9000 + 14000 + 3000 + 3 * 700) + 2500 + 1500 + 2 * 700 + 40_000
    assert step.wall_ns == pytest.approx(each, rel=0.02)


def test_scopes_are_what_kernels_belong_to(trace):
    cycles = prlx.find_cycles(trace, modules=True, progress=False)
    (step,) = cycles.level("step")
    found = {(slot.name, slot.document.get("module")) for slot in step.kernels}
    assert ("matmul_kernel", "forward / layer[3] / mlp") in found
    assert ("attention_kernel", "forward / layer[0] / attention") in found
    assert ("argmax_kernel", "sample") in found


def test_a_comparison_names_the_scope(tmp_path):
    before, after = proton(tmp_path / "a.json"), proton(tmp_path / "b.json", slow=1.3)
    change = prlx.compare_cycles(before, after, modules=True, fail_on="kernel:attention*>10%", progress=False)
    assert change.gate.outcome == "failed"
    assert {cost["module"].split(" / ")[-1] for cost in change.regressions} == {"attention"}
