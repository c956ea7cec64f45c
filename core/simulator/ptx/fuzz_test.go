package ptx

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// FuzzRead: whatever the text, Read ends, and what it returns is whole: every number in it points to something.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		".entry k(.param .u64 .ptr .global .align 1 a) .reqntid 128 {\n.reg .pred %p<2>; .reg .b32 %r<4>;\nL: @%p1 bra L;\nsetp.eq.u32 %p1|_, %r1, 0x1;\nret;\n}",
		".extern .shared .align 16 .b8 s[];\n.global .f32 x[2][2] = {{1.0, 0f3F800000}, {2}};\n.func (.param .b32 r) f(.param .b32 a) { .reg .b32 t; { .param .b32 r; call (r), f, (r); } ld.param.b32 t, [r]; }",
		".entry k() {\n// begin inline asm\n.loc 1 2 3\n{ .reg .b32 t<2>; mov.b32 t1, {t0, _}; }\n// end inline asm\nL_brx: .branchtargets A, B;\n.reg .b32 %r1; A: brx.idx %r1, L_brx; B:\n}",
		".global .u64 t[3] = {f, 0, f};\n.func f() { ret; }\n.entry k() { .reg .b64 %rd1; mov.u64 %rd1, f; p: .callprototype _ (); call %rd1, (), p; ret; }",
		".entry k() {\n.loc 2 1 1, function_name $L+1, inlined_at 1 1 1 // a.py:1:1 @[ b.py:2:3 ]\nret; }\n.file 1 \"a.py\"\n.section .debug_str { $L: .b8 1, 2\n.b8 0 }",
	} {
		f.Add([]byte(".version 8.8\n.target sm_80\n.address_size 64\n" + text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Read(context.Background(), "k.ptx", text)
		if err != nil {
			switch kind := fault.Of(err).Kind; kind {
			case fault.Format, fault.Limit, fault.Incompatible:
			default:
				t.Fatalf("a %s error: %v", kind, err)
			}
			return
		}
		for i, l := range m.Locations {
			if int(l.File) < -1 || int(l.File) >= len(m.Files) || l.Inlined < -1 || int(l.Inlined) >= i {
				t.Fatalf("location %d: %+v", i, l)
			}
		}
		for i := range m.Variables {
			for _, at := range m.Variables[i].Pointers {
				if at.At+8 > uint64(len(m.Variables[i].Init)) {
					t.Fatalf("variable %d: a pointer at %d of %d", i, at.At, len(m.Variables[i].Init))
				}
			}
		}
		for _, fn := range m.Functions {
			checkFunction(t, m, fn)
		}
	})
}

func checkFunction(t *testing.T, m *Module, f *Function) {
	var check func(o *Operand)
	check = func(o *Operand) {
		if o.Kind == IsRegister && (o.Reg < 0 || int(o.Reg) >= len(f.Registers)) {
			t.Fatalf("%s: register %d", f.Name, o.Reg)
		}
		if o.Kind == Label && (o.Target < 0 || int(o.Target) > len(f.Insts)) {
			t.Fatalf("%s: label %d", f.Name, o.Target)
		}
		for i := range o.Elems {
			check(&o.Elems[i])
		}
	}
	at := int32(0)
	for i, b := range f.Blocks {
		if b.First != at || b.End <= b.First {
			t.Fatalf("%s: block %d: %+v", f.Name, i, b)
		}
		at = b.End
	}
	if int(at) != len(f.Insts) {
		t.Fatalf("%s: blocks end at %d of %d", f.Name, at, len(f.Insts))
	}
	for i := range f.Insts {
		in := &f.Insts[i]
		if in.Location < -1 || int(in.Location) >= len(m.Locations) || in.Guard < -1 || int(in.Guard) >= len(f.Registers) || in.Outputs > len(in.Operands) {
			t.Fatalf("%s: instruction %d: %+v", f.Name, i, in)
		}
		for k := range in.Operands {
			check(&in.Operands[k])
		}
	}
}
