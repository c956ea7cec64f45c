"""prlx.simulate_ptx: kernels from PTX that others made, without Triton."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import prlx

# As nvcc and NVRTC print it: types of parameters, a line table, a kernel with a mangled name, one with everything else.
SCALE = """
.version 8.0
.target sm_80
.address_size 64

.visible .entry _Z5scalePffi(
	.param .u64 _Z5scalePffi_param_0, // x
	.param .f32 _Z5scalePffi_param_1,
	.param .u32 _Z5scalePffi_param_2
)
{
	.reg .pred %p<2>;
	.reg .f32 %f<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<5>;
	.loc 1 3 0
	ld.param.u64 %rd1, [_Z5scalePffi_param_0];
	ld.param.f32 %f1, [_Z5scalePffi_param_1];
	ld.param.u32 %r2, [_Z5scalePffi_param_2];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r1, %r3, %r4, %r5;
	.loc 1 4 5
	setp.ge.s32 %p1, %r1, %r2;
	@%p1 bra DONE;
	mul.wide.s32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	.loc 1 5 9
	ld.global.f32 %f2, [%rd4];
	mul.f32 %f3, %f2, %f1;
	st.global.f32 [%rd4], %f3;
DONE:
	ret;
}

.visible .entry kinds(
	.param .u64 .ptr .global .align 8 kinds_out,
	.param .b32 kinds_bits,
	.param .f64 kinds_wide,
	.param .s64 kinds_long,
	.param .align 4 .b8 kinds_pair[8],
	.param .u64 kinds_null
)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<6>;
	.reg .f64 %d<2>;
	ld.param.u64 %rd1, [kinds_out];
	ld.param.b32 %r1, [kinds_bits];
	ld.param.f64 %d1, [kinds_wide];
	ld.param.s64 %rd2, [kinds_long];
	ld.param.b64 %rd3, [kinds_pair];
	ld.param.u64 %rd4, [kinds_null];
	st.global.b32 [%rd1], %r1;
	st.global.f64 [%rd1+8], %d1;
	st.global.b64 [%rd1+16], %rd2;
	st.global.b64 [%rd1+24], %rd3;
	st.global.b64 [%rd1+32], %rd4;
	ret;
}
.file 1 "scale.cu"
"""

IR = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @negated(ptr addrspace(1) %x, double %by) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr double, ptr addrspace(1) %x, i32 %t
  %v = load double, ptr addrspace(1) %p
  %n = fneg double %v
  %m = fmul double %n, %by
  store double %m, ptr addrspace(1) %p
  ret void
}
"""


def test_numbers_become_what_the_text_declares():
    x = np.arange(1000, dtype=np.float32)
    done = prlx.simulate_ptx(SCALE, "_Z5scalePffi", 4, 256, [x, 0.5, 1000])
    assert done.passed
    assert done.grid == (4, 1, 1)
    assert (x == np.arange(1000, dtype=np.float32) / 2).all()
    assert done.lines.to_pandas()["line"].max() == 5


def test_every_kind_of_argument():
    out = np.zeros(5, np.uint64)
    pair = np.array([7, 9], np.int32).tobytes()
    prlx.simulate_ptx(SCALE, "kinds", (1,), (1, 1), [out, np.float32(1.5), 2.25, -3, pair, None])
    assert out[0] == np.float32(1.5).view(np.uint32)
    assert out[1:2].view(np.float64)[0] == 2.25
    assert out[2:3].view(np.int64)[0] == -3
    assert out[3] == 7 + (9 << 32)
    assert out[4] == 0


def test_findings_have_the_lines_of_the_text():
    x = np.zeros(500, np.float32)
    done = prlx.simulate_ptx(SCALE, "_Z5scalePffi", 2, 256, [x, 1, 512])
    assert {finding.check for finding in done.findings} == {"out-of-bounds"}
    assert {finding.line for finding in done.findings} == {5}
    with pytest.raises(prlx.FindingError):
        prlx.simulate_ptx(SCALE, "_Z5scalePffi", 2, 256, [x, 1, 512], machine={"stop": True})


def test_launches_are_recorded_and_compared(tmp_path):
    for name, length in (("a", 300), ("b", 290)):
        x = np.ones(512, np.float32)
        done = prlx.simulate_ptx(SCALE, "_Z5scalePffi", 2, 256, [x, 2.0, length], output=tmp_path / f"{name}.prlx")
        assert done.trace().header.kernel_name == "_Z5scalePffi"
    diff = prlx.diff_traces(tmp_path / "a.prlx", tmp_path / "b.prlx")
    assert diff.status == "diverged"
    with pytest.raises(prlx.FileAccessError):
        prlx.simulate_ptx(SCALE, "_Z5scalePffi", 2, 256, [x, 2.0, 1], output=tmp_path / "a.prlx")


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "args", "said"),
    [
        (None, 1, 1, [], "2 kernels"),
        ("scale", 1, 1, [], "no kernel 'scale'"),
        ("_Z5scalePffi", 1, 1, [None], "3 parameters, got 1"),
        ("_Z5scalePffi", 1, 1, [1.5, 1, 1], "_param_0 is declared .u64, got 1.5"),
        ("_Z5scalePffi", 1, 1, [None, "1", 1], "_param_1 is declared .f32, got str"),
        ("_Z5scalePffi", 1, 1, [None, 1, np.zeros(1)], "no address fits"),
        ("_Z5scalePffi", 1, 1, [None, 1, 1 << 32], "declared .u32"),
        ("kinds", 1, 1, [None, 1, 1, 1, b"123", None], "3 bytes for a parameter of 8"),
        ("_Z5scalePffi", 0, 1, [None, 1, 1], "grid"),
        ("_Z5scalePffi", 1, (32, 64), [None, 1, 1], "2,048 threads"),
        ("_Z5scalePffi", (1, 1, 1, 1), 1, [None, 1, 1], "grid"),
    ],
)
def test_what_cannot_be_is_refused(kernel, grid, block, args, said):
    with pytest.raises(prlx.UsageError, match=said):
        prlx.simulate_ptx(SCALE, kernel, grid, block, args)


def test_what_is_no_ptx_is_refused():
    with pytest.raises(prlx.PrlxError):
        prlx.simulate_ptx("int main() { return 0; }", None, 1, 1, [])


@pytest.mark.skipif(shutil.which("llc") is None, reason="no llc")
def test_ptx_of_llvm():
    words = ["llc", "-march=nvptx64", "-mcpu=sm_80", "-o", "-"]
    made = subprocess.run(words, input=IR, capture_output=True, text=True)
    if made.returncode:  # up to LLVM 15
        made = subprocess.run([*words, "-opaque-pointers"], input=IR, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"this llc does not take the module: {made.stderr.splitlines()[0]}")
    x = np.arange(32.0)
    done = prlx.simulate_ptx(made.stdout, None, 1, 32, [x, 2.0])
    assert done.passed
    assert (x == -2 * np.arange(32.0)).all()
