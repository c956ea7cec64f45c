"""``prlx.simulate_ptx``: kernels that are given as PTX, whoever compiled them. Triton is not needed for most of this."""

from __future__ import annotations

import ctypes
import html
import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import prlx

from .conftest import HERE, ROOT, python, require
from .make_ptx import ABSENT

SAXPY = ROOT / "examples/ptx/saxpy.ptx"
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def saxpy(a=2.0, n=100, length=100, **more):
    x, y = np.arange(length, dtype=np.float32), np.ones(length, np.float32)
    return prlx.simulate_ptx(SAXPY, "saxpy", 1, 128, [a, x, y, n], **more), y


def entry(parameters: str, body: str, name: str = "f") -> str:
    registers = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>; .reg .f64 %e<4>;"
    return f".visible .entry {name}({parameters})\n{{\n{registers}\n{body}\nret;\n}}\n"


def test_the_results_are_in_the_arrays():
    done, y = saxpy()
    assert done.passed and done.kernel == "saxpy" and done.grid == (1, 1, 1)
    np.testing.assert_array_equal(y, 2 * np.arange(100, dtype=np.float32) + 1)
    assert done.global_bytes == 1200
    assert [row["line"] for row in done.document["lines"]] == [2, 4, 5, 6, 7]


def test_findings_are_at_the_lines_of_the_source():
    done, y = saxpy(n=101)
    assert [finding.check for finding in done.findings] == ["out-of-bounds"] * 3
    assert {finding.place for finding in done.findings} == {"saxpy.cu:6"}
    assert done.findings[0].document["access"]["nearest"] == "param_1" and y[99] == 199


def test_nothing_warns_and_stop_raises(recwarn):
    saxpy(n=101)
    assert not recwarn.list
    with pytest.raises(prlx.FindingError, match="out-of-bounds"):
        saxpy(n=101, machine={"stop": True})


@pytest.mark.parametrize(
    "text", [SAXPY, SAXPY.read_text(), SAXPY.read_bytes(), SAXPY.read_bytes() + b"\0", SAXPY.read_text() + "\0"]
)
def test_texts_of_every_kind(text):
    x = np.ones(4, np.float32)
    assert prlx.simulate_ptx(text, None, (1,), (4, 1), [1, x, x, 4]).passed
    assert x.tolist() == [2, 2, 2, 2]


def test_a_launch_is_recorded(tmp_path):
    recorded = [saxpy(a, output=tmp_path / f"{a}.prlx", outputs="1MiB")[0].recording for a in (2.0, 3.0)]
    assert prlx.read_trace(recorded[0]).header.kernel == "saxpy"
    compared = prlx.diff_traces(*recorded)
    assert compared.status != "same" and compared.document["outputs"] is not None
    with pytest.raises(prlx.FileAccessError, match="exists"):
        saxpy(output=tmp_path / "2.0.prlx")
    assert saxpy(output=tmp_path / "2.0.prlx", overwrite=True)[0].recording
    with pytest.raises(prlx.UsageError, match=r"\.prlx"):
        saxpy(output=tmp_path / "elsewhere")


def test_numbers_become_what_the_kernel_declares():
    text = HEAD + entry(
        ".param .f32 a, .param .f64 b, .param .u8 c, .param .s16 d, .param .u64 e, .param .b32 g, .param .u64 out",
        """
ld.param.f32 %f1, [a]; ld.param.f64 %e1, [b]; ld.param.u8 %r1, [c]; ld.param.s16 %r2, [d]; ld.param.u64 %d1, [e];
ld.param.b32 %r3, [g];
ld.param.u64 %d2, [out]; cvta.to.global.u64 %d3, %d2;
cvt.f64.f32 %e2, %f1; st.global.f64 [%d3], %e2; st.global.f64 [%d3+8], %e1; st.global.u32 [%d3+16], %r1;
st.global.s32 [%d3+20], %r2;
st.global.u64 [%d3+24], %d1; st.global.u32 [%d3+32], %r3;
""",
    )
    out = np.zeros(40, np.uint8)
    for given in (
        (3, 5, 7, -9, 2**64 - 1, 1.5),
        (3.0, np.float64(5), np.uint8(7), np.int16(-9), -1, np.float32(1.5)),
        (ctypes.c_float(3), 5.0, b"\x07", ctypes.c_short(-9), ctypes.c_uint64(2**64 - 1), struct.pack("<f", 1.5)),
        (True + 2, 5, np.int8(7), np.array(-9, np.int16)[()], b"\xff" * 8, 0x3FC00000),
    ):
        out[:] = 0
        assert prlx.simulate_ptx(text, args=[*given, out]).passed
        assert struct.unpack("<ddIiQf", out.tobytes()[:36]) == (3.0, 5.0, 7, -9, 2**64 - 1, 1.5), given


def test_structures_of_any_size_are_passed_as_they_are():
    """A structure of 40 bytes: a pointer, floats by index, and what lies behind; as bytes, of ctypes and of NumPy."""

    class Job(ctypes.Structure):
        _fields_ = (("out", ctypes.c_void_p), ("scale", ctypes.c_float * 6), ("n", ctypes.c_int))

    text = HEAD + entry(
        ".param .align 8 .b8 job[40]",
        """
ld.param.u64 %d1, [job]; cvta.to.global.u64 %d2, %d1; ld.param.f32 %f1, [job+16]; ld.param.u32 %r1, [job+32];
mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, %r1; @%p1 bra DONE; mul.wide.u32 %d3, %r2, 4; add.s64 %d4, %d2, %d3;
st.global.f32 [%d4], %f1;
DONE:
""",
    )
    out = np.zeros(8, np.float32)
    job = Job(out.ctypes.data, (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6), 5)
    kind = np.dtype([("out", "<u8"), ("scale", "<f4", 6), ("n", "<i4"), ("rest", "<i4")])
    record = np.array((out.ctypes.data, [1, 2, 3, 4, 5, 6], 5, 0), kind)[()]
    for given in (job, bytes(job), record):
        out[:] = 0
        done = prlx.simulate_ptx(text, block=32, args=[given], memory=[out])
        assert done.passed, done.findings
        assert out.tolist() == [3] * 5 + [0] * 3
    with pytest.raises(prlx.UsageError, match="job has 39 bytes, the kernel takes 40"):
        prlx.simulate_ptx(text, block=32, args=[bytes(39)])


def test_an_address_in_registered_memory_is_a_pointer():
    _, inside = saxpy()
    x = np.ones(100, np.float32)
    done = prlx.simulate_ptx(SAXPY, "saxpy", 1, 128, [1, x, inside.ctypes.data, 100], memory=[inside])
    assert done.passed and inside[0] == 2
    done = prlx.simulate_ptx(SAXPY, "saxpy", 1, 128, [1, x, 0x1234567890, 100])
    assert done.findings and done.findings[0].check == "out-of-bounds"
    assert prlx.simulate_ptx(SAXPY, "saxpy", 1, 128, [1, x, None, 100]).findings[0].check == "null-pointer"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "nope"}, r"no kernel 'nope'\n.*it has saxpy"),
        ({"args": [1, 2]}, r"takes 4 arguments \(f32, u64, u64, u32\), given were 2"),
        ({"args": [2.0, 1, 2, 2**40]}, "param_3 is 1099511627776, the kernel takes 4 bytes"),
        ({"args": [2.0, 1, 3.5, 5]}, "param_2 is 3.5"),
        ({"args": [2.0, 1, b"123", 5]}, "param_2 has 3 bytes, the kernel takes 8"),
        ({"args": ["a", 1, 2, 5]}, "param_0 is a str"),
        ({"args": [2.0, 1, 2, np.ones(3)]}, "param_3 is an array, the kernel takes a number of 4 bytes"),
        ({"grid": 0}, "grid: expected a whole number from 1 on"),
        ({"grid": (1, 2, 3, 4)}, "grid is"),
        ({"block": "8"}, "block"),
        ({"block": 2048}, "block"),
        ({"shared_bytes": -1}, "shared_bytes"),
        ({"text": 3}, "text is a int"),
        ({"text": HEAD}, "no kernel"),
        ({"memory": [3]}, "memory: cannot tell the size"),
        ({"machine": {"sed": 3}}, "no option 'sed'"),
    ],
)
def test_what_does_not_fit_is_a_usage_error_that_says_what(changes, message):
    asked = {"text": SAXPY, "kernel": "saxpy", "grid": 1, "block": 32, "args": [1.0, 0, 0, 0]} | changes
    with pytest.raises(prlx.UsageError, match=message):
        prlx.simulate_ptx(**asked)


def test_what_is_no_ptx_is_a_format_error():
    for text in ("", "hello", "\0" * 9, "\x7fELF"):
        with pytest.raises(prlx.TraceFormatError):
            prlx.simulate_ptx(text)
    with pytest.raises(prlx.FileAccessError):
        prlx.simulate_ptx(Path("no/such.ptx"))


def test_one_of_several_kernels_is_named():
    names = ("_Z3addPf", "_Z3addPi", "_ZN2my5scaleEPf", "plain")
    text = HEAD + "".join(entry("", "", name) for name in names)
    with pytest.raises(prlx.UsageError, match=r"4 kernels: _Z3addPf, "):
        prlx.simulate_ptx(text)
    with pytest.raises(prlx.UsageError, match="'add' can be _Z3addPf, _Z3addPi"):
        prlx.simulate_ptx(text, "add")
    assert prlx.simulate_ptx(text, "scale").kernel == "_ZN2my5scaleEPf"
    assert prlx.simulate_ptx(text, "plain").kernel == "plain"
    with pytest.raises(prlx.UsageError, match="no kernel 'lain'"):
        prlx.simulate_ptx(text, "lain")


def test_lanes_are_looked_at():
    seen = []
    done, _ = saxpy(machine={"breaks": ["saxpy.cu:6:5", "saxpy.cu:4"], "on_stop": seen.append})
    assert list(done.stops) == seen and len(seen) == 8
    stop = next(stop for stop in seen if stop.line == 6)
    assert stop.active == (5,) and stop.block == (0, 0, 0) and "lane 5" in stop.who
    loads = [value for value in stop.values if value.origin == "load"]
    assert [(value.source, value.values, value.type) for value in loads] == [
        ("param_1", (5.0,), "f32"),
        ("param_2", (1.0,), "f32"),
    ]
    assert "param_1+20" in [value.values[0] for value in stop.values]
    first = next(stop for stop in seen if stop.line == 4)
    assert first.active == tuple(range(32))
    with pytest.raises(prlx.UsageError, match="is no line"):
        saxpy(machine={"breaks": ["saxpy.cu"]})
    with pytest.raises(prlx.UsageError, match="lanes 0 to 31"):
        saxpy(machine={"breaks": ["saxpy.cu:6:32"]})


def test_names_come_from_the_source(tmp_path):
    source = ROOT / "examples/ptx/saxpy.cu"
    text = SAXPY.read_text().replace('"saxpy.cu"', f'"{source}"')
    x = np.ones(8, np.float32)
    done = prlx.simulate_ptx(
        text, "saxpy", 1, 8, [1.0, x, x.copy(), 8], machine={"breaks": ["saxpy.cu:6"], "touched": True}
    )
    (found,) = done.stops[0].named("i")
    assert found.values == tuple(range(8)) and found.line == 4 and not found.made
    page = html.unescape(done.save(tmp_path / "saxpy.html").read_text())
    assert "y[i] = a * x[i] + y[i];" in page and 'aria-label="param_1, read"' in page


def case(name: str, tmp_path: Path) -> bytes:
    """What a tool made; skipped where the tool is not there."""
    tool = os.environ.get("PRLX_PTX_PYTHON")
    if not tool:
        pytest.skip("PRLX_PTX_PYTHON names no Python with nvidia-cuda-nvrtc, nvidia-cuda-nvcc, numba-cuda and jax")
    out = tmp_path / f"{name}.out"
    for one in tool.split(os.pathsep):
        made = subprocess.run(
            [one, "-W", "ignore", HERE / "make_ptx.py", name, out], capture_output=True, text=True, check=False
        )
        if made.returncode == 0:
            return out.read_bytes()
        assert made.returncode == ABSENT, made.stderr
    pytest.skip(f"{name} is not there: {made.stderr.strip().splitlines()[-1]}")


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc", "clang"])
def test_cuda_by(compiler, tmp_path):
    """A template with a structure as an argument and dynamic shared memory, and the line of a mistake in its launch."""
    text = case(compiler, tmp_path)
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    line = struct.pack("<ff", 2, 1)
    done = prlx.simulate_ptx(text, "straight", 2, 64, [line, x, y, 100], shared_bytes=256)
    assert done.passed, done.findings
    padded = np.concatenate([x, np.zeros(28, np.float32)]).reshape(2, 64)[:, ::-1].ravel()[:100]
    np.testing.assert_array_equal(y, 2 * padded + 1)
    short = prlx.simulate_ptx(text, "straight", 2, 64, [line, x, y[:99].copy(), 100], shared_bytes=256)
    assert [finding.place for finding in short.findings] == ["straight.cu:12"]
    assert short.findings[0].check == "out-of-bounds" and short.findings[0].count == 1
    before = prlx.simulate_ptx(text, "straight", 2, 64, [line, x, y, 100], shared_bytes=256, output=tmp_path / "a.prlx")
    more = prlx.simulate_ptx(text, "straight", 2, 64, [line, x, y, 90], shared_bytes=256, output=tmp_path / "b.prlx")
    compared = prlx.diff_traces(before.recording, more.recording)
    assert compared.status == "diverged" and "straight.cu" in compared.verdict, compared.verdict


def test_numba(tmp_path):
    text = case("numba", tmp_path)
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)

    def array(a):
        """An array as Numba passes it: who holds it, elements, bytes of one, data, shape, strides."""
        return None, None, a.size, a.itemsize, a, a.shape[0], a.strides[0]

    done = prlx.simulate_ptx(text, "scale", 1, 128, [np.float32(3), *array(x), *array(y)])
    assert done.passed, done.findings
    np.testing.assert_array_equal(y, 3 * x)


PALLAS = """
import sys, pathlib, triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
target, out = GPUTarget("cuda", 80, 32), pathlib.Path(sys.argv[1])
context = ir.context()
ir.load_dialects(context)
make_backend(target).load_dialects(context)
text = out.with_suffix(".ttir")
text.write_text(str(ir.parse_mlir_module(str(out), context)))
done = triton.compile(str(text), target=target, options={"num_warps": 4, "num_stages": 1})
out.with_suffix(".ptx").write_text(done.asm["ptx"])
print(done.metadata.shared)
"""


def test_pallas(tmp_path):
    case("pallas", tmp_path)
    made = python(require("3.9.0"), "-W", "ignore", "-c", PALLAS, tmp_path / "pallas.out")
    assert made.returncode == 0, made.stderr[-2000:]
    x = np.random.default_rng(1).standard_normal((16, 128)).astype(np.float32)
    out = np.zeros_like(x)
    done = prlx.simulate_ptx(
        tmp_path / "pallas.ptx",
        None,
        16,
        128,
        [x, out, None, None],
        shared_bytes=int(made.stdout),
        machine={"touched": True},
    )
    assert done.passed, done.findings
    want = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, want / want.sum(1, keepdims=True), rtol=2e-6)
    written = next(array["write"] for array in done.touched["arrays"] if array["write"])
    assert [written["first"][row * written["width"]] for row in range(16)] == list(range(16))


@pytest.mark.parametrize(("heap", "given"), [(None, True), (1 << 19, False), (1 << 24, True)])
def test_malloc_in_a_kernel_takes_from_the_heap(heap, given):
    text = f"""// {heap}: a module has one heap
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 a);
.visible .entry k(.param .u64 out)
{{
    .reg .b64 %rd<3>;
    .param .b64 size;
    .param .b64 memory;
    ld.param.u64 %rd1, [out];
    st.param.b64 [size], 1048576;
    call.uni (memory), malloc, (size);
    ld.param.b64 %rd2, [memory];
    st.global.u64 [%rd1], %rd2;
    ret;
}}
"""
    out = np.zeros(1, np.uint64)
    prlx.simulate_ptx(text, "k", 1, 1, [out], machine={"heap": heap, "progress": False})
    assert (out[0] != 0) == given
