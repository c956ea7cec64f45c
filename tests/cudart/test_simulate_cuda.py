"""``prlx.simulate_cuda``: CUDA C in a string, compiled by NVRTC, checked, counted and recorded by the lines of the string."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cudart import compilers

import prlx

SOURCE = """\
template <typename T> struct Pair { T a, b; };

__global__ void doubled(float *x, /* how many */ int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] *= 2;  // one too many
}

namespace more {
template <typename T> __global__ void scaled(T *values, T factor) { values[threadIdx.x] *= factor; }
}

__global__ void added(Pair<double> *to, Pair<double> what) { to->a += what.a, to->b += what.b; }
"""


@pytest.fixture(autouse=True)
def nvrtc(monkeypatch):
    if not compilers.nvrtc():
        pytest.skip("no NVRTC (make build/nvrtc/.ready)")
    for folder in compilers.NVRTC:
        monkeypatch.syspath_prepend(folder)


def test_what_the_page_shows_runs():
    page = Path(__file__).resolve().parents[2] / "docs/commands/simulate.md"
    (program,) = re.findall(r"```py\n(.*?)```", page.read_text(), re.DOTALL)
    shown = {"prlx": prlx}
    exec(program, shown)
    place, message = re.search(r'# (\S+), "\.\.\. (.*)"', program).groups()
    first = shown["done"].findings[0]
    assert first.place == place
    assert first.message.endswith(message)


def test_a_finding_names_the_line_of_the_string_and_the_argument():
    x = np.ones(100, np.float32)
    done = prlx.simulate_cuda(SOURCE, "doubled", 1, 128, [x, 100])
    assert x.tolist() == [2.0] * 100
    load, store = done.findings
    assert (load.check, load.place, load.kernel, load.lane) == ("out-of-bounds", "kernel.cu:5", "doubled", 4)
    assert load.message.endswith("4 bytes beyond the end of x (400 bytes)")
    assert store.message.startswith("a store of 4 bytes")
    assert set(done.lines["file"]) == {"kernel.cu"}
    assert prlx.simulate_cuda(SOURCE, "doubled", 1, 128, [x, 99]).passed


def test_templates_namespaces_and_structures():
    x = np.arange(32, dtype=np.float64)
    done = prlx.simulate_cuda(SOURCE, "more::scaled<double>", 1, 32, [x, 2.0])
    assert (done.kernel, x[31]) == ("more::scaled<double>", 62.0)
    pair = np.zeros(1, np.dtype([("a", "f8"), ("b", "f8")]))
    assert prlx.simulate_cuda(SOURCE, "added", 1, 1, [pair, (ctypes.c_double * 2)(3, 4)]).passed
    assert pair[0].tolist() == (3.0, 4.0)


def test_the_page_and_the_recording_have_the_string(tmp_path):
    x = np.ones(64, np.float32)
    for name, factor in (("a", 3), ("b", 0)):
        text = f"__global__ void odd(float *x) {{\n  if (threadIdx.x % 4 == {factor})\n    x[threadIdx.x] += 1;\n}}"
        done = prlx.simulate_cuda(text, grid=1, block=64, args=[x], output=tmp_path / f"{name}.prlx")
    assert "if (threadIdx.x % 4 == 0)" in done.save(tmp_path / "page.html").read_text()
    difference = prlx.diff_traces(tmp_path / "a.prlx", tmp_path / "b.prlx")
    assert difference.status == "diverged"
    assert "kernel.cu:2" in difference.verdict
    assert done.kernel == "odd"


def test_a_file_and_options(tmp_path):
    file = tmp_path / "set.cu"
    (tmp_path / "value.h").write_text("#define VALUE 5\n")
    file.write_text('#include "value.h"\n__global__ void set(int *x) { x[threadIdx.x] = VALUE * SCALE; }\n')
    x = np.zeros(8, np.int32)
    done = prlx.simulate_cuda(file, block=8, args=[x], options=["-DSCALE=2", f"-I{tmp_path}"], name="set.cu")
    assert x.tolist() == [10] * 8
    assert set(done.lines["file"]) == {"set.cu"}


@pytest.mark.parametrize(
    ("source", "kernel", "options", "error", "said"),
    [
        ("\n__global__ void f() { y = 1; }", "f", (), prlx.TraceFormatError, 'identifier "y" is undefined'),
        ("__global__ void f() {}", "g", (), prlx.UsageError, "no kernel 'g'"),
        ("__global__ void f() {}", "n::g<int>", (), prlx.TraceFormatError, "must be a class or namespace name"),
        ("__global__ void f() {}", "f", ("--no-such",), prlx.UsageError, "unrecognized option"),
        (7, "f", (), prlx.UsageError, "source is a int"),
    ],
)
def test_what_cannot_be_compiled_says_why(source, kernel, options, error, said):
    with pytest.raises(error, match=said) as raised:
        prlx.simulate_cuda(source, kernel, options=options)
    assert raised.value.line == (2 if "y = 1" in str(source) else None)


def test_without_nvrtc_it_says_what_to_install():
    code = "import prlx\ntry: prlx.simulate_cuda('')\nexcept prlx.UsageError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install nvidia-cuda-nvrtc (58 MB)" in done.stdout
