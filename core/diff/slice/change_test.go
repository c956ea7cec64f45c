package slice

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
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
		"sums of products in 16 bits": {
			"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6}, {%r3, %r4}, {%r5}, {%f1, %f1, %f1, %f1};",
			"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r6, %r7}, {%r3, %r4}, {%r5}, {%r1, %r1};\nmov.b32 %f3, %r6;",
			Rounding, "only B computes with 16 bits, or multiplies matrices with fewer than 32",
		},
		"products of fewer bits": {
			"fma.rn.f32 %f3, %f1, %f1, %f1;",
			"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f3, %f4, %f5, %f6}, {%r3, %r4}, {%r5}, {%f1, %f1, %f1, %f1};",
			Rounding, "only B computes with 16 bits, or multiplies matrices with fewer than 32",
		},
		"a whole number that wraps": {
			"mul.wide.s32 %rd3, %r1, 4097;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f3, [%rd4];",
			"mul.lo.s32 %r4, %r1, 4097;\ncvt.s64.s32 %rd3, %r4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f3, [%rd4];",
			Choice, "only A multiplies whole numbers in 64 bits there: what does not fit 32 wraps on the other side",
		},
		"another element": {
			"mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f3, [%rd4];",
			"mul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f3, [%rd4];",
			Choice, "which chooses elements and lanes",
		},
	} {
		a, b := kernelOf(t, c.a), kernelOf(t, c.b)
		compared := Compare(a, b, a.Writers(-1), b.Writers(-1))
		if compared.same() {
			t.Errorf("%s: both builds are the same", name)
		}
		got := compared.At(lines(6), lines(6))
		if got.Kind != c.kind || !strings.Contains(strings.Join(got.Texts, "; "), c.says) {
			t.Errorf("%s: got %q %q, want %q %q", name, got.Kind, got.Texts, c.kind, c.says)
		}
	}
}

// texts are the instructions that were found, by what they do.
func texts(c *Code, found []int32) (out []string) {
	for _, i := range found {
		out = append(out, strings.Join(append([]string{c.insts[i].in.Op.Name}, c.insts[i].in.Op.Mods...), "."))
	}
	return out
}

func TestSitesLeadToTheirInstructions(t *testing.T) {
	c := kernelOf(t, "ld.global.f32 %f2, [%rd2];\nadd.f32 %f3, %f1, %f2;\natom.global.add.f32 %f4, [%rd2], %f3;\nst.global.f32 [%rd2+4], %f3;")
	at := func(kind site.Kind, line, column uint32) *site.Site {
		return &site.Site{Kind: kind, Chain: []site.Frame{{Function: "k", File: "/k/kernel.py", Line: line, Column: column}}}
	}
	for name, one := range map[string]struct {
		site *site.Site
		want string
	}{
		"no place":                   {&site.Site{Kind: site.Load}, ""},
		"no line":                    {at(site.Load, 0, 0), ""},
		"a load":                     {at(site.Load, 6, 1), "ld.global.f32"},
		"a store":                    {at(site.GlobalStore, 6, 1), "st.global.f32"},
		"an atomic":                  {at(site.Atomic, 6, 1), "atom.global.add.f32"},
		"a load at another column":   {at(site.Load, 6, 7), "ld.global.f32"},
		"what the line has not":      {at(site.Atomic, 9, 1), "st.global.f32 st.global.b32 ret"},
		"a line without a line":      {at(site.Load, 7, 1), ""},
		"a line of another file":     {&site.Site{Kind: site.Load, Chain: []site.Frame{{File: "/k/other.py", Line: 6, Column: 1}}}, ""},
		"any instruction of a place": {at(site.Branch, 6, 1), "ld.global.f32 add.f32 atom.global.add.f32 st.global.f32"},
	} {
		if got := strings.Join(texts(c, c.Root(one.site)), " "); got != one.want {
			t.Errorf("%s: got %q, want %q", name, got, one.want)
		}
	}
}

func TestWritersAreThoseOfAnArray(t *testing.T) {
	c := kernelOf(t, "st.shared.f32 [room], %f1;\natom.global.add.f32 %f4, [%rd2], %f1;")
	for p, want := range map[int]string{-1: "atom.global.add.f32 st.global.f32 st.global.b32", 0: "st.global.f32 st.global.b32", 1: "atom.global.add.f32", 2: ""} {
		if got := strings.Join(texts(c, c.Writers(p)), " "); got != want {
			t.Errorf("parameter %d: got %q, want %q", p, got, want)
		}
	}
}

// What one build alone computes is a difference, whichever of them it is.
func TestOneSideMoreIsNotTheSame(t *testing.T) {
	plain, more := kernelOf(t, ""), kernelOf(t, "st.global.f32 [%rd2], %f1;")
	for _, pair := range [][2]*Code{{plain, more}, {more, plain}} {
		if Compare(pair[0], pair[1], pair[0].Writers(-1), pair[1].Writers(-1)).same() {
			t.Error("a store more is the same")
		}
	}
	if !Compare(more, more, more.Writers(-1), more.Writers(-1)).same() {
		t.Error("a build differs from itself")
	}
}

func TestTheKernelIsFoundBehindOthers(t *testing.T) {
	text := strings.Replace(strings.ReplaceAll(small, "STEP", "1"), ".visible .entry k(", ".visible .entry first(\n)\n{\nret;\n}\n.func helper()\n{\nret;\n}\n.visible .entry k(", 1)
	if c := readSmall(t, text); len(c.insts) != len(readSmall(t, strings.ReplaceAll(small, "STEP", "1")).insts) {
		t.Errorf("%d instructions", len(c.insts))
	}
}

// What is stored differs where instructions, operands, guards or what was stored before differ, and not where they are only written
// otherwise.
func TestBuildsDifferWhereTheyCompute(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"operands that commute":        {"add.f32 %f3, %f1, 0f3F800000;", "add.f32 %f3, 0f3F800000, %f1;", true},
		"operands that do not":         {"sub.f32 %f3, %f1, 0f3F800000;", "sub.f32 %f3, 0f3F800000, %f1;", false},
		"other names":                  {"mul.f32 %f2, %f1, %f1;\nmov.f32 %f3, %f2;", "mul.f32 %f3, %f1, %f1;", true},
		"another number":               {"add.f32 %f3, %f1, 0f3F800000;", "add.f32 %f3, %f1, 0f40000000;", false},
		"an integer, not a float":      {"mov.b32 %r3, 1065353216;", "mov.b32 %r3, 0f3F800000;", false},
		"another place":                {"ld.global.f32 %f3, [%rd2];", "ld.global.f32 %f3, [%rd2+4];", false},
		"another array":                {"ld.global.f32 %f3, [%rd2];", "ld.global.f32 %f3, [%rd1];", false},
		"the other of two results":     {"ld.global.v2.f32 {%f3, %f4}, [%rd2];", "ld.global.v2.f32 {%f4, %f3}, [%rd2];", false},
		"the opposite guard":           {"setp.lt.u32 %p1, %r1, 4;\n@%p1 mov.f32 %f3, 0f3F800000;", "setp.lt.u32 %p1, %r1, 4;\n@!%p1 mov.f32 %f3, 0f3F800000;", false},
		"a guard":                      {"setp.lt.u32 %p1, %r1, 4;\n@%p1 mov.f32 %f3, 0f3F800000;", "mov.f32 %f3, 0f3F800000;", false},
		"another test of a guard":      {"setp.lt.u32 %p1, %r1, 4;\n@%p1 mov.f32 %f3, 0f3F800000;", "setp.lt.u32 %p1, %r1, 5;\n@%p1 mov.f32 %f3, 0f3F800000;", false},
		"what nothing uses":            {"add.f32 %f5, %f1, %f1;", "mul.f32 %f5, %f1, %f1;", true},
		"what went through shared":     {"add.f32 %f5, %f1, %f1;\nst.shared.f32 [room], %f5;\nld.shared.f32 %f3, [room];", "mul.f32 %f5, %f1, %f1;\nst.shared.f32 [room], %f5;\nld.shared.f32 %f3, [room];", false},
		"what went through global":     {"add.f32 %f5, %f1, %f1;\nst.global.f32 [%rd2], %f5;\nld.global.f32 %f3, [%rd2];", "mul.f32 %f5, %f1, %f1;\nst.global.f32 [%rd2], %f5;\nld.global.f32 %f3, [%rd2];", false},
		"a test that leads to nothing": {"setp.lt.u32 %p1, %r1, 4;", "setp.gt.u32 %p1, %r1, 4;", true},
	} {
		a, b := kernelOf(t, c.a), kernelOf(t, c.b)
		for _, pair := range [][2]*Code{{a, b}, {b, a}} {
			if got := Compare(pair[0], pair[1], pair[0].Writers(0), pair[1].Writers(0)).same(); got != c.same {
				t.Errorf("%s: same is %v, want %v", name, got, c.same)
			}
		}
	}
}

// A store in a loop reaches the loads of later passes, those that stand before it in the text, too; a store to another array reaches none.
func TestStoresReachLoadsAroundALoop(t *testing.T) {
	loop := func(array, value string) *Code {
		return kernelOf(t, "AGAIN:\nld.global.f32 %f3, [%rd2];\nadd.f32 %f4, %f1, "+value+";\nst.global.f32 ["+array+"+256], %f4;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra AGAIN;")
	}
	one, two := loop("%rd2", "0f3F800000"), loop("%rd2", "0f40000000")
	if root := one.Writers(0)[:1]; Compare(one, two, root, two.Writers(0)[:1]).same() {
		t.Error("what an earlier pass stored does not count")
	}
	one, two = loop("%rd1", "0f3F800000"), loop("%rd1", "0f40000000")
	last := func(c *Code) []int32 { w := c.Writers(0); return w[len(w)-2 : len(w)-1] }
	if !Compare(one, two, last(one), last(two)).same() {
		t.Error("what was stored to another array counts")
	}
}
