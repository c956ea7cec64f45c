"""``prlx simulate --selftest``: a GPU beside the simulator, through stand-ins for its driver."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import prlx as package
from prlx import _gpu, _simulate_selftest
from prlx._microkernels import BLOCK, THREADS, microkernels

NAMES = ("add.s32", "shfl.sync.bfly", "mma.m16n8k16.f16", "ex2.approx.f32", "add.rn.f64")
FEW = tuple(kernel for kernel in microkernels() if kernel.name in NAMES)


ROW = {"name": "masked", "exact": True, "events": 64, "slower": {"digest": 3.0}, "problem": ""}


class Gpu:
    """Stands in for a driver with a GPU: runs the kernel on the simulator, then changes one result of one kernel."""

    name, capability, version = "stand-in", (9, 0), 13000
    spoiled, bits = "", 0

    def launch(self, text, entry, grid, block, values, arrays):
        package.simulate_ptx(text, entry, grid, block, [arrays[value] for value in values])
        if entry == self.spoiled:
            list(arrays.values())[-1][401] ^= self.bits


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few kernels: all of them take seconds, and those of Triton run in tests/driver."""
    monkeypatch.setattr(_simulate_selftest, "recorded_rows", lambda driver: ([] if driver is None else [dict(ROW)], ""))
    monkeypatch.setattr(_simulate_selftest, "microkernels", lambda: FEW)


@pytest.fixture
def gpu(monkeypatch):
    made = type("Gpu", (Gpu,), {})
    monkeypatch.setattr(_simulate_selftest, "Driver", made)
    return made


def no_gpu():
    raise _gpu.NoDeviceError("there is no libcuda.so.1")


def test_without_a_gpu_nothing_is_compared_and_the_exit_code_says_so(prlx, tmp_path, monkeypatch):
    monkeypatch.setattr(_simulate_selftest, "Driver", no_gpu)
    file = tmp_path / "it.json"
    ran = prlx("simulate", "--selftest", "--output", str(file))
    assert ran.code == 5
    assert "not run: there is no libcuda.so.1" in ran.out
    assert "nothing was compared" in ran.out
    document = json.loads(file.read_text())
    assert (document["outcome"], document["gpu"], document["problems"]) == ("not run", None, [])
    assert [row["name"] for row in document["kernels"]] == [kernel.name for kernel in FEW]
    again = prlx("simulate", "--selftest", "--output", str(file))
    assert again.code == 3
    assert "exists" in again.err


@pytest.mark.usefixtures("gpu")
def test_the_same_results_pass():
    tested = package.selftest_simulator()
    assert tested.passed, tested.problems
    assert tested.sentence == (
        "passed: stand-in: 4 of 4 kernels write the same bits as the simulator; of 1 with approximate instructions, 1 are as "
        "near as allowed; 1 of 1 kernel of Triton record what they record on the simulator"
    )


@pytest.mark.usefixtures("gpu")
def test_without_triton_it_is_incomplete(monkeypatch, prlx, tmp_path):
    monkeypatch.setattr(_simulate_selftest, "recorded_rows", lambda _: ([], "Triton is not installed"))
    ran = prlx("simulate", "--selftest", "--output", str(tmp_path / "it.json"))
    assert ran.code == 5
    assert ran.out.startswith("incomplete: stand-in: 4 of 4 kernels")
    assert "none recorded, Triton is not installed" in ran.out


@pytest.mark.usefixtures("gpu")
def test_a_kernel_that_records_something_else_fails(monkeypatch):
    row = {**ROW, "problem": "digest: it writes something else when it records"}
    monkeypatch.setattr(_simulate_selftest, "recorded_rows", lambda _: ([row], ""))
    tested = package.selftest_simulator()
    assert tested.outcome == "failed"
    assert tested.problems == ("masked: digest: it writes something else when it records",)


@pytest.mark.parametrize(
    ("kernel", "bits", "outcome"),
    [
        ("add.s32", 1 << 31, "failed"),
        ("shfl.sync.bfly", 1, "failed"),
        ("mma.m16n8k16.f16", 1, "failed"),
        ("ex2.approx.f32", 2, "passed"),
        ("ex2.approx.f32", 1 << 22, "failed"),
    ],
)
def test_one_result_that_differs_is_named(gpu, kernel, bits, outcome):
    gpu.spoiled = next(one.entry for one in microkernels() if one.name == kernel)
    gpu.bits = bits
    tested = package.selftest_simulator()
    assert tested.outcome == outcome
    (row,) = (row for row in tested.document["kernels"] if row["name"] == kernel)
    assert row["differ"] == 1
    if outcome == "failed":
        assert len(tested.problems) == 1
        assert tested.problems[0].startswith(f"{kernel}: 1 result of 512 differ; thread 401 has ")


def test_a_kernel_that_the_gpu_refuses_is_a_problem(gpu, monkeypatch, prlx, tmp_path):
    def refuses(*_):
        raise _gpu.DriverError("cuModuleLoadData: invalid PTX")

    monkeypatch.setattr(gpu, "launch", refuses)
    ran = prlx("simulate", "--selftest", "--output", str(tmp_path / "it.json"))
    assert ran.code == 1
    assert "add.s32: cuModuleLoadData: invalid PTX" in ran.out


def test_an_old_gpu_is_none(gpu):
    gpu.capability = (7, 5)
    assert package.selftest_simulator().outcome == "not run"


def test_the_inputs_have_odd_numbers_and_every_kernel_does_something():
    for kernel in microkernels():
        inputs = _simulate_selftest._inputs(kernel)
        assert all(array.size == THREADS and array.itemsize == kernel.bytes for array in inputs)
        if kernel.kind == "f32":
            assert np.isnan(inputs[0].view(np.float32)).any()
            assert np.isinf(inputs[1].view(np.float32)).any()
        out = np.zeros_like(inputs[0])
        done = package.simulate_ptx(kernel.text, kernel.entry, THREADS // BLOCK, BLOCK, [*inputs, out])
        assert not done.findings, (kernel.name, done.findings)
        assert np.unique(out).size > 1, f"{kernel.name} writes one value"


def test_an_assembler_accepts_the_microkernels(tmp_path, root):
    ptxas = Path(os.environ.get("PRLX_TRITON", root / "build/triton")) / "3.9.0/triton/backends/nvidia/bin/ptxas"
    if not ptxas.is_file():
        pytest.skip(f"no {ptxas}")
    texts = [kernel.text for kernel in microkernels()]
    file = tmp_path / "all.ptx"
    file.write_text(texts[0] + "".join(text.partition(".address_size 64\n")[2] for text in texts[1:]))
    done = subprocess.run([ptxas, "-arch=sm_80", file, "-o", tmp_path / "all.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class Library:
    """Stands in for libcuda: memory is the process's; a launch adds the second parameter to the words of the first."""

    def __init__(self):
        self.calls, self.memory = [], {}
        self.answers = {
            "cuDeviceGetCount": self.count, "cuDeviceGetAttribute": self.attribute,
            "cuMemAlloc_v2": self.allocate, "cuMemcpyHtoD_v2": self.copy,
            "cuMemcpyDtoH_v2": self.copy, "cuLaunchKernel": self.launch, "cuGetErrorString": self.explain,
            "cuModuleGetFunction": lambda *given: 0 if given[2] == b"k" else 500,
        }  # fmt: skip

    def __getattr__(self, name):
        def call(*given):
            self.calls.append(name)
            return self.answers.get(name, lambda *_: 0)(*given) or 0

        return call

    def count(self, out):
        out._obj.value = 1

    def attribute(self, out, which, _):
        out._obj.value = {75: 9, 76: 0}[which]

    def allocate(self, out, size):
        buffer = ctypes.create_string_buffer(size.value)
        out._obj.value = ctypes.addressof(buffer)
        self.memory[out._obj.value] = buffer

    def copy(self, there, here, size):
        ctypes.memmove(there.value, here.value, size.value)

    def launch(self, *given):
        assert given[1:8] == (2, 1, 1, 4, 1, 1, 0)
        first, second = (ctypes.c_uint64.from_address(given[9][place]).value for place in (0, 1))
        words = (ctypes.c_uint32 * 8).from_address(first)
        for place in range(8):
            words[place] += second

    def explain(self, _, out):
        out._obj.value = b"named symbol not found"


def test_the_driver_copies_there_and_back(monkeypatch):
    library = Library()
    for loads in ("CDLL", "PyDLL"):
        monkeypatch.setattr(_gpu.ctypes, loads, lambda _: library)
    driver = _gpu.Driver()
    assert driver.capability == (9, 0)
    array = np.arange(8, dtype=np.uint32)
    driver.launch(b"text", "k", (2, 1, 1), (4, 1, 1), [array.ctypes.data, 5], {array.ctypes.data: array})
    assert array.tolist() == [5, 6, 7, 8, 9, 10, 11, 12]
    assert library.calls.count("cuMemFree_v2") == 1
    assert library.calls[-1] == "cuModuleUnload"
    with pytest.raises(_gpu.DriverError, match="cuModuleGetFunction: named symbol not found"):
        driver.launch(b"text", "other", (2, 1, 1), (4, 1, 1), [], {})
    assert library.calls[-1] == "cuModuleUnload"


def test_no_library_is_no_device(monkeypatch):
    def missing(_):
        raise OSError

    monkeypatch.setattr(_gpu.ctypes, "CDLL", missing)
    with pytest.raises(_gpu.NoDeviceError, match=r"libcuda\.so\.1"):
        _gpu.Driver()
