package lane

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

func TestWhatTritonPrintsIsKnown(t *testing.T) {
	text, err := os.ReadFile("testdata/survey.ptx")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Read(context.Background(), "survey.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	fn := m.Functions[0]
	for i := range fn.Insts[:len(fn.Insts)-1] {
		in := &fn.Insts[i]
		f, err := Decode(in, fn)
		if err != nil {
			t.Errorf("line %d: %v", in.Line, err)
			continue
		}
		if (f.Lanewise == nil) == (f.Warp == nil) {
			t.Errorf("%s: it must be lanewise or of the warp", in.Op.Full)
		}
		if operands := flatten(in.Operands); operands != len(f.Out)+len(f.In) {
			t.Errorf("%s has %d operands and a form of %d", in.Op.Full, operands, len(f.Out)+len(f.In))
		}
	}
}

func flatten(list []ptx.Operand) (n int) {
	for _, o := range list {
		if o.Kind == ptx.Vector || o.Kind == ptx.Pair {
			n += len(o.Elems)
		} else {
			n++
		}
	}
	return n
}

func TestUnknownFormsAreRefusedByName(t *testing.T) {
	for _, text := range []string{
		"add.s8 %r0, %r1, %r2;", "add.f32.wild %f0, %f1, %f2;", "add.rna.f32 %f0, %f1, %f2;", "mul.s32 %r0, %r1, %r2;", "wgmma.fence.sync.aligned;", "cvt.rzi.f32.f64 %f0, %g1;",
		"cvt.f32 %f0, %f1;", "setp.xx.s32 %p0, %r1, %r2;", "setp.hi.s32 %p0, %r1, %r2;", "set.lt.f16x2.f32 %r0, %f1, %f2;", "shfl.bfly.b32 %r0, %r1, 1, 31;", "vote.all.pred %p0, %p1;",
		"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};",
		"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};",
		"lop3.b32 %r0, %r1, %r2, %r3, %r4;", "mov.b32 {%h0, %h1, %h2}, %r1;", "mov.b128 %d0, %d1;", "sin.f32 %f0, %f1;", "tanh.approx.f64 %g0, %g1;", "abs.u32 %r0, %r1;", "redux.sync.add.b32 %r0, %r1, -1;",
		"cvta.shared.u64 %d0, %d1;", "testp.odd.f32 %p0, %f1;", "min.b32 %r0, %r1, %r2;",
	} {
		in, fn := instruction(t, text)
		_, err := Decode(in, fn)
		if !fault.Is(err, fault.Incompatible) || !strings.Contains(err.Error(), in.Op.Name) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFamiliesSayWhatTheyKnow(t *testing.T) {
	for _, f := range Families() {
		if f.Forms == "" {
			t.Errorf("%s says nothing", f.Name)
		}
	}
	in, fn := instruction(t, "ex2.approx.f32 %f0, %f1;")
	if f, _ := Decode(in, fn); f.Approx == "" || f.Family != "ex2" {
		t.Errorf("ex2.approx is %q, %q", f.Family, f.Approx)
	}
	for text, want := range map[string]bool{"sqrt.rn.f32 %f0, %f1;": false, "div.full.f32 %f0, %f1, %f2;": true, mmaTests()[0].text(): true, mmaTests()[8].text(): false} {
		in, fn = instruction(t, text)
		if f, _ := Decode(in, fn); (f.Approx != "") != want {
			t.Errorf("%s is approximate: %q", text, f.Approx)
		}
	}
}

// FuzzDecode decodes any instruction that the reader takes, and runs what fits.
func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("testdata/survey.ptx")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ";") && !strings.HasPrefix(line, ".") {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		module := ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n" + declared + "\n" + line + "\nret;\n}\n"
		m, err := ptx.Read(context.Background(), "fuzz", []byte(module))
		if err != nil || len(m.Functions) == 0 {
			return
		}
		for i := range m.Functions[0].Insts {
			in := &m.Functions[0].Insts[i]
			form, err := Decode(in, m.Functions[0])
			if err != nil {
				continue
			}
			if (form.Lanewise == nil) == (form.Warp == nil) {
				t.Fatalf("%s: it must be lanewise or of the warp", in.Op.Full)
			}
			if len(form.Out)+len(form.In) != flatten(in.Operands) || !form.UsesVec && (len(form.Out) > 2 || len(form.In) > 4) {
				continue
			}
			b := benchOf(form)
			for n, r := range b.in {
				for l := range Lanes {
					b.put(r, l, uint64(l*n)*0x9e3779b97f4a7c15)
				}
			}
			_ = b.run() // what the program did wrong
		}
	})
}
