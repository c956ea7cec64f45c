"""What kernels belong to: modules, named ranges, operators and collectives, from launches."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import prlx

LAYERS = 8
STEPS = 12


class Writer:
    """A small trace as PyTorch's profiler writes it: a host thread, a thread of gradients, a stream."""

    def __init__(self, slow: str = "", times: float = 1.0):
        self.events, self.now, self.gpu, self.correlation = [], 1000.0, 1500.0, 0
        self.slow, self.times = slow, times

    def event(self, cat, name, tid, ts, dur, **args):
        """One complete event."""
        pid = 0 if cat == "kernel" else 77
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
        )

    def launch(self, kernel, us, tid=77, **args):
        """A call and what it launches."""
        self.correlation += 1
        self.now += 1
        us = us * self.times if kernel == self.slow else us
        self.event("cuda_runtime", "cudaLaunchKernel", tid, self.now, 2, correlation=self.correlation)
        self.gpu = max(self.gpu + 1, self.now + 5)
        self.event("kernel", kernel, 7, self.gpu, us, correlation=self.correlation, device=0, stream=7, **args)
        self.gpu += us
        self.now += 4

    def around(self, cat, name, inside, tid=77, **args):
        """A range around what a function does."""
        start = self.now
        self.now += 0.5
        inside()
        self.now += 0.5
        self.event(cat, name, tid, start, self.now - start, **args)

    def save(self, path):
        """Write the trace, gradients in front: where an event stands in the file does not matter."""
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": self.events[::-1]}))
        return path


def training(path, slow="", times=1.0, calls_of_two_threads=False):
    """Steps of a model of layers: two linear modules and a norm each, their gradients, an all-reduce."""
    w = Writer(slow, times)
    sequence = [0]

    def linear(number, kernel):
        def operator():
            sequence[0] += 1
            w.around("cpu_op", "aten::linear", lambda: w.around("cpu_op", "aten::mm", lambda: w.launch(kernel, 30)),
                     **{"Sequence number": sequence[0], "Fwd thread id": 0})  # fmt: skip

        w.around("python_function", f"nn.Module: Linear_{number}", operator)

    def layer(n):
        def inside():
            def attention():
                linear(2 * n + 10, "gemm_q")
                linear(2 * n + 11, "gemm_o")

            w.around("python_function", f"nn.Module: Attention_{n}", attention)
            w.around(
                "user_annotation",
                "residual",
                lambda: w.around("cpu_op", "aten::add", lambda: w.launch("add_kernel", 5)),
            )

        w.around("python_function", f"nn.Module: Layer_{n}", inside)

    def model():
        w.around("python_function", "nn.Module: Model_0", lambda: [layer(n) for n in range(LAYERS)])

    def gradient(number):
        name = "autograd::engine::evaluate_function: MmBackward0"
        inside = lambda: w.around("cpu_op", "aten::mm", lambda: w.launch("gemm_gradient", 25, tid=88), tid=88)  # noqa: E731
        w.around("cpu_op", name, inside, tid=88, **{"Sequence number": number, "Fwd thread id": 1})

    for _ in range(STEPS):
        first = sequence[0]
        w.around("python_function", "torch/nn/modules/module.py(1): _call_impl", model)
        for number in range(sequence[0], first, -1):  # as autograd does, the last one first
            gradient(number)
        said = {
            "Collective name": "allreduce", "Group size": 8, "Process Group Description": "data",
            "In msg nelems": 1 << 20, "dtype": "Float",
        }  # fmt: skip
        w.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, **said)
        w.now = max(w.now, w.gpu) + 200
    if calls_of_two_threads:
        w.event("cuda_runtime", "cudaLaunchKernel", 99, 1, 2, correlation=1)
    return w.save(path)


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The training, with what its kernels belong to."""
    return prlx.find_cycles(training(tmp_path_factory.mktemp("m") / "t.json"), modules=True, progress=False)


def owners(cycles, level):
    """What the kernels of the class of a level belong to."""
    (one,) = cycles.level(level)
    return [(slot.document.get("module"), slot.document.get("operator")) for slot in one.kernels]


def test_a_step_knows_module_range_and_operator(steps):
    (step,) = steps.level("step")
    found = {
        (slot.name, slot.document.get("module"), slot.document.get("operator"), slot.document.get("collective"))
        for slot in step.kernels
    }
    for n in range(LAYERS):
        layer = f"Model / Layer[{n}]"
        assert ("gemm_q", f"{layer} / Attention / Linear[0]", "aten::mm", None) in found
        assert ("gemm_o", f"{layer} / Attention / Linear[1]", "aten::mm", None) in found
        assert ("add_kernel", f"{layer} / residual", "aten::add", None) in found
        assert ("gemm_gradient", f"{layer} / Attention / Linear[1] (backward)", "aten::mm", None) in found
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    assert (nccl, None, None, "allreduce of 8 ranks (data), 4.0 MiB") in found
    assert len(step.kernels) == 5 * LAYERS + 1


def test_layers_are_one_module(steps):
    layers = [one for one in steps if one.level_name != "step"]
    modules = {slot.document.get("module") for one in layers for slot in one.kernels}
    assert "Model / Layer / Attention / Linear[0]" in modules


def test_nothing_is_said_unless_asked_for(tmp_path):
    plain = prlx.find_cycles(training(tmp_path / "t.json"), progress=False)
    assert not any(key in slot.document for one in plain for slot in one.kernels for key in ("module", "operator"))


def test_tables_have_them(steps):
    frame = steps.kernels.to_pandas()
    assert set(frame[frame.name == "add_kernel"].operator) == {"aten::add"}


def test_the_command_shows_time_by_module(tmp_path):
    path = training(tmp_path / "t.json")
    words = [
        sys.executable,
        "-m",
        "prlx",
        "cycles",
        path,
        "--modules",
        "--markdown",
        tmp_path / "m.md",
        "--html",
        tmp_path / "m.html",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 5), done.stderr
    assert "modules of " in done.stdout
    assert "Attention / Linear[0]" in done.stdout
    assert "**What its modules cost:**" in (tmp_path / "m.md").read_text()
    assert "aten::mm" in (tmp_path / "m.html").read_text()


def test_a_comparison_names_the_module(tmp_path):
    before, after = training(tmp_path / "a.json"), training(tmp_path / "b.json", "gemm_o", 1.5)
    change = prlx.compare_cycles(before, after, modules=True, progress=False)
    modules = {cost.get("module") for cost in change.regressions}
    assert all(module and module.endswith("Attention / Linear[1]") for module in modules), modules
    assert modules


def test_stdin_is_read_once(tmp_path):
    text = training(tmp_path / "t.json").read_bytes()
    words = [sys.executable, "-m", "prlx", "cycles", "-", "--modules"]
    done = subprocess.run(words, input=text, capture_output=True, timeout=600, check=False)
    assert done.returncode == 2
    assert b"can be read only once" in done.stderr


def test_numbers_of_two_launches_are_not_guessed(tmp_path):
    cycles = prlx.find_cycles(training(tmp_path / "t.json", calls_of_two_threads=True), modules=True, progress=False)
    assert any("share the number of their launch" in warning for warning in cycles.warnings)
