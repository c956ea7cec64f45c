package slice

import (
	"strings"
	"testing"
)

// kernelOf is a kernel of two arrays and a number whose line 6 is a text; lines 5 and 9 load and store.
func kernelOf(t *testing.T, six string) *Code {
	t.Helper()
	return readSmall(t, `.version 8.7
.target sm_80
.address_size 64
.visible .entry k(
.param .u64 .ptr .global .align 4 k_param_0,
.param .u64 .ptr .global .align 4 k_param_1,
.param .u32 k_param_2
)
{
.reg .pred %p<4>;
.reg .b16 %h<9>;
.reg .b32 %r<9>;
.reg .f32 %f<9>;
.reg .b64 %rd<9>;
.shared .align 4 .b8 room[256];
.loc 1 5 1
ld.param.b64 %rd1, [k_param_0];
ld.param.b64 %rd2, [k_param_1];
ld.param.b32 %r1, [k_param_2];
ld.global.f32 %f1, [%rd1];
mov.f32 %f3, %f1;
mov.b32 %r3, 0;
.loc 1 6 1
`+strings.TrimSpace(six)+`
.loc 1 9 1
st.global.f32 [%rd1+64], %f3;
st.global.b32 [%rd1+128], %r3;
ret;
}
.file 1 "/k/kernel.py"
`)
}

func TestWhatALineDoesOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		kind Kind
		says string
	}{
		"A in one step": {
			"atom.global.add.f32 %f2, [%rd2], %f1;", "ld.global.f32 %f2, [%rd2];\nadd.f32 %f2, %f2, %f1;\nst.global.f32 [%rd2], %f2;",
			LostAtomic, "A updates memory in one step (atomic add), the other loads and stores",
		},
		"B in one step": {
			"ld.global.f32 %f2, [%rd2];\nadd.f32 %f2, %f2, %f1;\nst.global.f32 [%rd2], %f2;", "atom.global.add.f32 %f2, [%rd2], %f1;",
			LostAtomic, "B updates memory in one step (atomic add), the other loads and stores",
		},
		"another step": {
			"atom.global.add.f32 %f3, [%rd2], %f1;", "atom.global.exch.b32 %f3, [%rd2], %f1;",
			OtherStep, "A does atomic add, B does atomic exch",
		},
		"the same step of something else": {
			"mul.f32 %f2, %f1, %f1;\natom.global.add.f32 %f3, [%rd2], %f2;", "add.f32 %f2, %f1, %f1;\natom.global.add.f32 %f3, [%rd2], %f2;",
			Formula, "A computes mul.f32, B add.f32",
		},
		"A reads another array": {
			"ld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f1, %f2;", "add.f32 %f3, %f1, %f1;",
			Formula, "only A reads k_param_1 there",
		},
		"B reads another array": {
			"add.f32 %f3, %f1, %f1;", "ld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f1, %f2;",
			Formula, "only B reads k_param_1 there",
		},
		"one barrier more": {"bar.sync 0;\nbar.sync 0;", "bar.sync 0;", Barrier, "A has 1 barriers there that the other build has not"},
		"another rounding to whole numbers": {
			"cvt.rni.s32.f32 %r3, %f1;", "cvt.rzi.s32.f32 %r3, %f1;", Rounding, "both turn it into whole numbers",
		},
		"other limits of whole numbers": {
			"min.f32 %f2, %f1, 0f42FE0000;\ncvt.rni.s32.f32 %r3, %f2;", "min.f32 %f2, %f1, 0f437F0000;\ncvt.rni.s32.f32 %r3, %f2;",
			Rounding, "both turn it into whole numbers",
		},
		"whole numbers of something else": {
			"mul.f32 %f2, %f1, %f1;\ncvt.rni.s32.f32 %r3, %f2;", "add.f32 %f2, %f1, %f1;\ncvt.rni.s32.f32 %r3, %f2;",
			Formula, "A computes mul.f32, B add.f32",
		},
		"A rounds to 16 bits": {
			"cvt.rn.f16.f32 %h1, %f1;\ncvt.f32.f16 %f2, %h1;\nmul.f32 %f3, %f2, %f2;", "mul.f32 %f3, %f1, %f1;",
			Rounding, "only A rounds to 16 bits",
		},
		"B computes with 16 bits": {
			"mul.f32 %f3, %f1, %f1;", "cvt.rn.f16.f32 %h1, %f1;\nmul.f16 %h2, %h1, %h1;\ncvt.f32.f16 %f3, %h2;",
			Rounding, "only B computes with 16 bits",
		},
		"another element": {
			"mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f3, [%rd4];",
			"mul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f3, [%rd4];",
			Choice, "which chooses elements and lanes",
		},
	} {
		a, b := kernelOf(t, c.a), kernelOf(t, c.b)
		compared := Compare(a, b, a.Writers(-1), b.Writers(-1))
		if compared.Same() {
			t.Errorf("%s: both builds are the same", name)
		}
		got := compared.At(lines(6), lines(6))
		if got.Kind != c.kind || !strings.Contains(strings.Join(got.Texts, "; "), c.says) {
			t.Errorf("%s: got %q %q, want %q %q", name, got.Kind, got.Texts, c.kind, c.says)
		}
	}
}
