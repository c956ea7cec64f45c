package simt

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatAnApproximationReaches: each kernel begins with an ex2 of the thread's number in %r5, of which %r6 is the whole part.
func TestWhatAnApproximationReaches(t *testing.T) {
	const begin = "\tcvt.rn.f32.u32 %r4, %r31;\n\tmin.f32 %r4, %r4, 0f40000000;\n\tex2.approx.ftz.f32 %r5, %r4;\n\tcvt.rzi.u32.f32 %r6, %r5;\n\tand.b32 %r6, %r6, 3;\n\tmov.u32 %r7, 1;\n"
	const shared = "\t.shared .b32 tile[64];\n"
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"a value only":      {"\tst.global.u32 [%rd1], %r6;", "[]"},
		"an address":        {"\tmul.wide.u32 %rd2, %r6, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.u32 [%rd3], %r7;", "[address]"},
		"a branch":          {"\tsetp.gt.u32 %p1, %r6, 1;\n\t@%p1 bra L;\n\tst.global.u32 [%rd1], %r7;\nL:", "[branch]"},
		"a predicate":       {"\tsetp.gt.f32 %p1, %r5, 0f3F800000;\n\t@%p1 st.global.u32 [%rd1], %r7;", "[predicate]"},
		"a barrier":         {"\tsetp.gt.f32 %p1, %r5, 0f00000000;\n\tbar.red.popc.u32 %r8, 0, %p1;", "[barrier]"},
		"a selection":       {"\tsetp.gt.f32 %p1, %r5, 0f00000000;\n\tselp.u32 %r8, 4, 8, %p1;\n\tst.global.u32 [%rd1], %r8;", "[]"},
		"through memory":    {shared + "\tst.shared.u32 [tile], %r6;\n\tld.shared.u32 %r8, [tile];\n\tsetp.eq.u32 %p1, %r8, 9;\n\t@%p1 bra L;\nL:", "[branch]"},
		"through an array":  {"\tst.global.u32 [%rd1], %r6;\n\tld.global.u32 %r8, [%rd1+4];\n\tsetp.eq.u32 %p1, %r8, 9;\n\t@%p1 bra L;\nL:", "[branch]"},
		"another value":     {"\tsetp.eq.u32 %p1, %r7, 1;\n\t@%p1 bra L;\nL:\n\tst.global.u32 [%rd1], %r6;", "[]"},
		"a way not gone":    {"\tbra OVER;\n\tsetp.gt.u32 %p1, %r6, 1;\n\t@%p1 bra OVER;\nOVER:", "[]"},
		"a shuffle between": {"\tshfl.sync.idx.b32 %r8, %r6, 0, 31, -1;\n\tsetp.eq.u32 %p1, %r8, 1;\n\t@%p1 bra L;\nL:", "[branch]"},
	} {
		r := mustRun(t, entry(begin+c.body), testLaunch(1, 32, make([]byte, 64), 0))
		var uses []string
		for _, d := range r.Fidelity.Decides {
			uses = append(uses, d.Use)
			if fmt.Sprint(d.From) != "[ex2.approx.ftz.f32]" || d.Count == 0 {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if fmt.Sprint(uses) != c.want {
			t.Errorf("%s: decides %v, want %s", name, uses, c.want)
		}
		if a := r.Fidelity.Approximated; len(a) != 1 || a[0].Text != "ex2.approx.ftz.f32" || a[0].Count != 1 || !strings.Contains(a[0].How, "ulp") {
			t.Errorf("%s: approximated is %+v", name, a)
		}
	}
}

func TestFidelityOfSumsAndOfExactKernels(t *testing.T) {
	for text, want := range map[string]string{
		"\tadd.f32 %r1, %r2, %r3;\n\tdiv.rn.f32 %r1, %r2, %r3;\n\tatom.global.add.u32 %r1, [%rd1], 1;":                      "",
		"\tatom.global.add.f32 %r1, [%rd1], %r2;":                                                                           "atom.global.add.f32: the order of the additions",
		"\tred.global.max.u32 [%rd1], %r2;":                                                                                 "",
		"\tdiv.full.f32 %r1, %r2, %r3;":                                                                                     "div.full.f32: .full and .approx are rounded correctly",
		"\tmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7}, {%r1, %r2, %r3, %r4};": "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: f16, bf16",
		"\tmma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r5}, {%r7}, {%r1, %r2};":                            "",
	} {
		r := mustRun(t, entry(text), testLaunch(1, 32, make([]byte, 64), 0))
		said := ""
		for _, a := range r.Fidelity.Approximated {
			said += a.Text + ": " + a.How
		}
		if !strings.HasPrefix(said, want) || want == "" && said != "" {
			t.Errorf("%s: %q, want %q", strings.TrimSpace(text), said, want)
		}
	}
}
