package sites

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/ptx"
)

// sitesOf reads a module and finds the sites of its kernel k.
func sitesOf(t *testing.T, text string) *List {
	t.Helper()
	m, err := ptx.Read(context.Background(), "test.ptx", []byte(".version 8.8\n.target sm_80\n.address_size 64\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Functions {
		if f.Name == "k" {
			return Find(m, f, []string{"x", "", "n"})
		}
	}
	t.Fatal("there is no kernel k")
	return nil
}

// spellOrigin writes where an operand comes from.
func spellOrigin(o *site.Operand) string {
	names := [...]string{"?", "const", "arg", "id", "load", "atomic", "carried", "lanes", "call", ""}
	text := names[o.Origin] + " " + o.Name
	if o.Site != 0 {
		text += "#"
	}
	parts := make([]string, len(o.Inputs))
	for i := range o.Inputs {
		parts[i] = spellOrigin(&o.Inputs[i])
	}
	if len(parts) > 0 {
		text += "(" + strings.Join(parts, ", ") + ")"
	}
	return strings.TrimSpace(text)
}

func spellSites(l *List) string {
	var b strings.Builder
	for i := range l.Sites {
		s := &l.Sites[i]
		fmt.Fprintf(&b, "%s %s", s.Kind, s.Text)
		if s.Compare != site.NoCompare {
			fmt.Fprintf(&b, " cmp %d", s.Compare)
		}
		for k := range s.Operands {
			o := &s.Operands[k]
			fmt.Fprintf(&b, "; %s %s %s", o.Role, o.Type, spellOrigin(o))
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

const registers = "\t.reg .pred %p<9>;\n\t.reg .b32 %r<99>;\n\t.reg .b64 %rd<99>;\n\t.reg .f32 %f<9>;\n"

const threeParams = ".visible .entry k(.param .u64 .ptr .global .align 1 k_0, .param .u64 .ptr .global .align 1 k_1, .param .u32 k_2)\n{\n"

func TestSitesOfAKernel(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a mask guards a load and a store": {`
	ld.param.b32 %r1, [k_2];
	ld.param.b64 %rd1, [k_0];
	mov.u32 %r2, %tid.x;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 ld.global.b32 { %r3 }, [ %rd1 + 0 ];
	add.s32 %r4, %r3, 1;
	@%p1 st.global.b32 [ %rd1 + 0 ], { %r4 };
	ret;`, `
predicate setp.lt.s32 cmp 40; lhs i32 id %tid.x; rhs i32 arg n
load ld.global.b32; address ptr arg x
global-store st.global.b32; address ptr arg x; value i32 add.s32(load ld.global.b32#, const 1)`},
		"a predicate is a site again where its register holds another value, and in another block": {`
	setp.eq.s32 %p1, %r1, 0;
	selp.b32 %r2, 1, 2, %p1;
	selp.b32 %r2, 1, 2, %p1;
	setp.eq.s32 %p1, %r1, 1;
	selp.b32 %r2, 1, 2, %p1;
	@%p1 bra NEXT;
	selp.b32 %r2, 1, 2, %p1;
NEXT:
	ret;`, `
predicate setp.eq.s32 cmp 32; lhs i32 ?; rhs i32 const 0
predicate setp.eq.s32 cmp 32; lhs i32 ?; rhs i32 const 1
branch setp.eq.s32 cmp 32; lhs i32 ?; rhs i32 const 1
predicate setp.eq.s32 cmp 32; lhs i32 ?; rhs i32 const 1`},
		"a predicate that two ways lead to is one of several": {`
	setp.eq.s32 %p1, %r1, 0;
	setp.eq.s32 %p2, %r1, 7;
	@%p2 bra NEXT;
	setp.eq.s32 %p1, %r1, 1;
NEXT:
	selp.b32 %r2, 1, 2, %p1;
	ret;`, `
branch setp.eq.s32 cmp 32; lhs i32 ?; rhs i32 const 7
predicate selp.b32; condition i1 one of several(setp.eq.s32(?, const 0), setp.eq.s32(?, const 1))`},
		"negations turn the compare around": {`
	setp.lt.u32 %p1|%p2, %r1, 5;
	@!%p1 bra A;
A:
	setp.lt.u32 %p3|%p4, %r1, 5;
	@%p4 bra B;
B:
	setp.gtu.f32 %p5, %f1, 0f40000000;
	not.pred %p6, %p5;
	@%p6 bra C;
C:
	setp.eq.f32 %p7, %f1, %f1;
	@!%p7 exit;
	@%p7 ret;
	ret;`, `
branch !setp.lt.u32 cmp 35; lhs i32 ?; rhs i32 const 5
branch setp.lt.u32 cmp 35; lhs i32 ?; rhs i32 const 5
branch setp.gtu.f32 cmp 5; lhs f32 ?; rhs f32 const 2
branch !setp.eq.f32 cmp 14; lhs f32 ?; rhs f32 ?
branch setp.eq.f32 cmp 1; lhs f32 ?; rhs f32 ?`},
		"masks that were joined are conditions": {`
	ld.param.b32 %r1, [k_2];
	mov.u32 %r2, %ctaid.y;
	setp.lt.s32 %p1, %r2, %r1;
	setp.ge.s32 %p2, %r2, 0;
	and.pred %p3, %p1, %p2;
	@%p3 st.shared.b32 [%r2+4], 7;
	ret;`, `
predicate and.pred; condition i1 and.pred(setp.lt.s32(id %ctaid.y, arg n), setp.ge.s32(id %ctaid.y, const 0))
shared-store st.shared.b32; address ptr id %ctaid.y; value i32 const 7`},
		"the counter of a loop is carried": {`
	ld.param.b32 %r1, [k_2];
	mov.b32 %r2, 0;
TOP:
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 bra TOP;
	mov.b32 %r3, 10;
DOWN:
	add.s32 %r4, %r3, -1;
	mov.b32 %r3, %r4;
	setp.ne.b32 %p2, %r4, 0;
	@%p2 bra DOWN;
	ret;`, `
branch setp.lt.s32 cmp 40; lhs i32 carried %r2 add 1(const 0); rhs i32 arg n
branch setp.ne.b32 cmp 33; lhs i32 carried %r3 add -1(const 10); rhs i32 const 0`},
		"other lanes, atomics, barriers, copies, tables": {`
	ld.param.b64 %rd1, [k_1];
	shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;
	atom.global.cas.b32 %r3, [%rd1], %r1, 5;
	red.global.add.f32 [%rd1], %f1;
	bar.sync 0;
	bar.warp.sync -1;
	cp.async.cg.shared.global [ %r5 ], [ %rd1 ], 16;
	ld.volatile.shared.v2.b32 {%r6, %r7}, [%r5+8];
	ld.local.b32 %r8, [%r5];
	setp.gt.s32 %p1, %r3, %r6;
	@%p1 bra A;
T: .branchtargets A, B;
	brx.idx %r3, T;
A:
B:
	ret;`, `
atomic atom.global.cas.b32; address ptr arg k_1; expected i32 lanes shfl.sync.bfly.b32(?, const 1, const 31, const -1); value i32 const 5
atomic red.global.add.f32; address ptr arg k_1; value f32 ?
barrier bar.sync
shared-store cp.async.cg.shared.global; address ptr ?; source ptr arg k_1
load ld.volatile.shared.v2.b32; address ptr ?
branch setp.gt.s32 cmp 38; lhs i32 atomic atom.global.cas.b32#; rhs i32 load ld.volatile.shared.v2.b32#
switch brx.idx; index i32 atomic atom.global.cas.b32#`},
	} {
		l := sitesOf(t, threeParams+registers+c.text+"\n}\n")
		if got, want := spellSites(l), strings.TrimSpace(c.want); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		checkKeys(t, l)
	}
}

// checkKeys: no two sites share a key, and every key is that of its place.
func checkKeys(t *testing.T, l *List) {
	t.Helper()
	seen := map[site.Key]bool{}
	for i := range l.Sites {
		s := &l.Sites[i]
		if seen[s.Key] || s.Key != site.KeyOf(s) {
			t.Errorf("site %d has key %x, taken before %t, want %x", i, s.Key, seen[s.Key], site.KeyOf(s))
		}
		seen[s.Key] = true
	}
}

func TestSitesOfCalledFunctionsFollow(t *testing.T) {
	l := sitesOf(t, `.func (.param .b32 r) helper(.param .b32 h_0);
.extern .func vprintf(.param .b64 a);
`+threeParams+registers+`
	.loc 1 10 3
	{ .param .b32 param0; .param .b32 retval0;
	st.param.b32 [param0], 4;
	call.uni (retval0), helper, (param0);
	ld.param.b32 %r1, [retval0]; }
	.loc 2 7 1, function_name $L__info_string0, inlined_at 1 10 3
	setp.eq.s32 %p1, %r1, 3;
	.loc 1 11 3
	@%p1 bra END;
END:
	ret;
}
.func (.param .b32 r) helper(.param .b32 h_0)
{`+registers+`
	.loc 1 20 5
	ld.param.b32 %r1, [h_0];
	setp.eq.s32 %p1, %r1, 3;
	@%p1 ret;
	ret;
}
.file 1 "a.py"
.file 2 "lib.py"
.section .debug_str { $L__info_string0: .b8 115
.b8 0 }
`)
	want := `branch setp.eq.s32 cmp 32; lhs i32 call helper; rhs i32 const 3
branch setp.eq.s32 cmp 32; lhs i32 arg h_0; rhs i32 const 3`
	if got := spellSites(l); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for i, want := range []string{"a.py:k:11:3", "a.py:helper:20:5"} {
		if got := site.FormatLocation(&l.Sites[i]); got != want {
			t.Errorf("site %d is at %s, want %s", i, got, want)
		}
	}
}

// TestAMaskBelongsToTheLineThatMakesIt: the guard of a load is a site where the compare stands, with the calls around it.
func TestAMaskBelongsToTheLineThatMakesIt(t *testing.T) {
	l := sitesOf(t, threeParams+registers+`
	.loc 2 7 1, function_name $L__info_string0, inlined_at 1 10 3
	setp.eq.s32 %p1, %r1, 3;
	.loc 1 12 3
	@%p1 ld.global.b32 %r2, [%rd1];
	ret;
}
.file 1 "a.py"
.file 2 "lib.py"
.section .debug_str { $L__info_string0: .b8 115
.b8 0 }
`)
	want := []site.Frame{{Function: "s", File: "lib.py", Line: 7, Column: 1}, {Function: "k", File: "a.py", Line: 10, Column: 3}}
	if got := l.Sites[0].Chain; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
	if got := site.FormatLocation(&l.Sites[1]); got != "a.py:k:12:3" {
		t.Errorf("the load is at %s", got)
	}
}

// TestOperandsThatMayChangeAreKept: a compare whose operands are written before it decides is not safe.
func TestOperandsThatMayChangeAreKept(t *testing.T) {
	l := sitesOf(t, threeParams+registers+`
	mov.b32 %r1, 0;
TOP:
	setp.lt.s32 %p1, %r1, 3;
	add.s32 %r1, %r1, 1;
	@%p1 bra TOP;
	setp.lt.s32 %p2, %r1, 9;
	@%p2 bra END;
END:
	ret;
}`)
	if l.Marks[0].Safe || !l.Marks[1].Safe {
		t.Errorf("safe %t, %t; want false, true", l.Marks[0].Safe, l.Marks[1].Safe)
	}
}

// FuzzSites: whatever was read has sites with keys of their own, and operands that name sites of the table.
func FuzzSites(f *testing.F) {
	for _, body := range []string{
		"\tsetp.lt.s32 %p1|%p2, %r1, %r2;\nA:\n\t@%p1 st.global.b32 [%rd1], %r1;\n\tadd.s32 %r1, %r1, 1;\n\t@!%p2 bra A;",
		"\tatom.global.add.u32 %r1, [%rd1], %r1;\n\tmov.b32 %r2, {%r1, _};\n\tnot.pred %p1, %p2;\n\tselp.b32 %r1, %r2, _, %p1;\n\tcp.async [%r1], [%rd1], 4;",
		"T: .branchtargets A, B;\n\tbrx.idx %r1, T;\nA: ld.shared.v2.f32 {%f1, %f2}, [%r1];\nB: bar.sync 0; setp; selp; ld; st; atom; red; call k;",
	} {
		f.Add([]byte(".version 8.8\n.target sm_80\n.address_size 64\n" + threeParams + registers + body + "\n}\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ptx.Read(context.Background(), "k.ptx", text)
		if err != nil {
			return
		}
		for _, entry := range m.Functions {
			l := Find(m, entry, nil)
			if len(l.Sites) != len(l.Marks) {
				t.Fatalf("%d sites, %d marks", len(l.Sites), len(l.Marks))
			}
			checkKeys(t, l)
			table := l.Table()
			var check func(operands []site.Operand)
			check = func(operands []site.Operand) {
				for i := range operands {
					if k := operands[i].Site; k != 0 {
						if _, ok := table.ByKey(k); !ok {
							t.Fatalf("an operand names site %x, which does not exist", k)
						}
					}
					check(operands[i].Inputs)
				}
			}
			for i := range l.Sites {
				check(l.Sites[i].Operands)
			}
		}
	})
}
