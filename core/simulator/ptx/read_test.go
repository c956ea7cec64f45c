package ptx

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/fault"
)

const head = ".version 8.8\n.target sm_80\n.address_size 64\n"

func read(t *testing.T, text string) *Module {
	t.Helper()
	m, err := Read(context.Background(), "test.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// body reads the body of a kernel that has every kind of register.
func body(t *testing.T, text string) *Function {
	t.Helper()
	m := read(t, head+".visible .func f(.param .b32 f_0);\n.global .align 4 .b8 table[16];\n.visible .entry k(\n\t.param .u64 .ptr .global .align 1 k_0\n)\n{\n"+
		"\t.reg .pred %p<9>;\n\t.reg .b16 %rs<9>;\n\t.reg .b32 %r<99>;\n\t.reg .b64 %rd<9>;\n\t.reg .f32 %f<9>;\n"+text+"\n}\n")
	return m.Functions[len(m.Functions)-1]
}

// spell writes operands in one canonical way.
func spell(f *Function, o *Operand) string {
	list := func(open, shut, between string) string {
		parts := make([]string, len(o.Elems))
		for i := range o.Elems {
			parts[i] = spell(f, &o.Elems[i])
		}
		return open + strings.Join(parts, between) + shut
	}
	text := ""
	switch o.Kind {
	case IsRegister:
		text = f.Registers[o.Reg].Name
	case Immediate:
		text = fmt.Sprintf("%#x/%d", o.Bits, o.Float)
	case Vector:
		text = list("{", "}", ",")
	case Arguments:
		text = list("(", ")", ",")
	case Pair:
		text = list("", "", "|")
	case Address:
		base := o.Symbol
		if o.Reg >= 0 {
			base = f.Registers[o.Reg].Name
		}
		text = fmt.Sprintf("[%s%+d]", base, o.Offset)
	case IsSymbol:
		text = fmt.Sprintf("&%s%+d", o.Symbol, o.Offset)
	case Label:
		text = fmt.Sprintf("@%d", o.Target)
	case Special:
		text = o.Symbol
	case Sink:
		text = "_"
	}
	if o.Not {
		text = "!" + text
	}
	if o.Neg {
		text = "-" + text
	}
	return text
}

func spellInst(f *Function, in *Inst) string {
	var b strings.Builder
	if in.Guard >= 0 {
		fmt.Fprintf(&b, "@%s%s ", strings.Repeat("!", map[bool]int{true: 1}[in.GuardNot]), f.Registers[in.Guard].Name)
	}
	b.WriteString(in.Op.Full)
	for i := range in.Operands {
		if i == in.Outputs && i > 0 {
			b.WriteString(" <-")
		}
		b.WriteString(" " + spell(f, &in.Operands[i]))
	}
	return b.String()
}

func TestReadsEverySpellingOfOperands(t *testing.T) {
	for text, want := range map[string]string{
		"mov.u32 %r1, %tid.x;":                                   "mov.u32 %r1 <- %tid.x",
		"mov.u32 %r1, %laneid;":                                  "mov.u32 %r1 <- %laneid",
		"mov.u32 %r1, %lanemask_lt;":                             "mov.u32 %r1 <- %lanemask_lt",
		"mov.u64 %rd1, %clock64;":                                "mov.u64 %rd1 <- %clock64",
		"mov.u32 %r1, WARP_SZ;":                                  "mov.u32 %r1 <- WARP_SZ",
		"mov.b32 %r1, -8388608;":                                 "mov.b32 %r1 <- 0xffffffffff800000/0",
		"mov.b32 %r1, 0xfffefffe;":                               "mov.b32 %r1 <- 0xfffefffe/0",
		"mov.b32 %r1, 017;":                                      "mov.b32 %r1 <- 0xf/0",
		"mov.b32 %r1, 0b1011;":                                   "mov.b32 %r1 <- 0xb/0",
		"mov.u32 %r1, 12U;":                                      "mov.u32 %r1 <- 0xc/0",
		"mov.b64 %rd1, 18446744073709551615;":                    "mov.b64 %rd1 <- 0xffffffffffffffff/0",
		"mul.f32 %f1, %f2, 0f3FB8AA3B;":                          "mul.f32 %f1 <- %f2 0x3fb8aa3b/32",
		"mov.f32 %f1, 0d3FF0000000000000;":                       "mov.f32 %f1 <- 0x3ff0000000000000/64",
		"mov.f32 %f1, 1.5;":                                      "mov.f32 %f1 <- 0x3ff8000000000000/64",
		"mov.f32 %f1, -1.5e+1;":                                  "mov.f32 %f1 <- 0xc02e000000000000/64",
		"createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;":  "createpolicy.fractional.L2::evict_last.b64 %rd1 <- 0x3ff0000000000000/64",
		"ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];": "ld.global.v4.b32 {%r1,%r2,%r3,%r4} <- [%rd1+0]",
		"ld.global.b32 %r1, [%rd1+-16];":                         "ld.global.b32 %r1 <- [%rd1-16]",
		"ld.global.b32 %r1, [%rd1-16];":                          "ld.global.b32 %r1 <- [%rd1-16]",
		"ld.param.b64 %rd1, [k_0];":                              "ld.param.b64 %rd1 <- [k_0+0]",
		"ld.global.b32 %r1, [table+8];":                          "ld.global.b32 %r1 <- [table+8]",
		"ld.global.b32 %r1, [256];":                              "ld.global.b32 %r1 <- [+256]",
		"mov.b64 %rd1, table;":                                   "mov.b64 %rd1 <- &table+0",
		"mov.b64 %rd1, table+4;":                                 "mov.b64 %rd1 <- &table+4",
		"mov.b32 %r1, {%rs1, %rs2};":                             "mov.b32 %r1 <- {%rs1,%rs2}",
		"mov.b32 {%rs1, _}, %r1;":                                "mov.b32 {%rs1,_} <- %r1",
		"setp.lt.and.s32 %p1|%p2, %r1, 3, !%p3;":                 "setp.lt.and.s32 %p1|%p2 <- %r1 0x3/0 !%p3",
		"shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;":               "shfl.sync.up.b32 %r1|%p1 <- %r2 0x1/0 0x0/0 0xffffffffffffffff/0",
		"shfl.sync.idx.b32 _|%p1, %r2, 1, 31, -1;":               "shfl.sync.idx.b32 _|%p1 <- %r2 0x1/0 0x1f/0 0xffffffffffffffff/0",
		"@!%p1 st.global.v2.b32 [ %rd1 + 8 ], { %r1, %r2 };":     "@!%p1 st.global.v2.b32 [%rd1+8] {%r1,%r2}",
		"@%p1 ld.global.L1::evict_first.L2::cache_hint.b32 { %r1 }, [ %rd1 + 0 ], %rd2;": "@%p1 ld.global.L1::evict_first.L2::cache_hint.b32 {%r1} <- [%rd1+0] %rd2",
		"cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;":                "cp.async.cg.shared.global [%r1+0] [%rd1+0] 0x10/0 %r2",
		"cp.async.commit_group;":                                  "cp.async.commit_group",
		"atom.global.gpu.acq_rel.add.f32 %r1, [ %rd1 + 0 ], %r2;": "atom.global.gpu.acq_rel.add.f32 %r1 <- [%rd1+0] %r2",
		"red.global.gpu.relaxed.add.u64 [%rd1], %rd2;":            "red.global.gpu.relaxed.add.u64 [%rd1+0] %rd2",
		"bar.sync 0;":                        "bar.sync 0x0/0",
		"bar.red.popc.u32 %r1, 0, %p1;":      "bar.red.popc.u32 %r1 <- 0x0/0 %p1",
		"activemask.b32 %r1;":                "activemask.b32 %r1",
		"vote.sync.ballot.b32 %r1, %p1, -1;": "vote.sync.ballot.b32 %r1 <- %p1 0xffffffffffffffff/0",
		"and.b32 %r1, %r2, -%r3;":            "and.b32 %r1 <- %r2 -%r3",
		"{ // callseq 3, 0\n.param .b32 param0;\nst.param.b32 [param0], %r1;\ncall.uni f, (param0);\n} // callseq 3": "st.param.b32 [param0+0] %r1\ncall.uni &f+0 (&param0+0)",
		"{ .param .b32 p0; .param .b32 retval0;\ncall.uni (retval0), f, (p0);\nld.param.b32 %r1, [retval0]; }":       "call.uni (&retval0+0) <- &f+0 (&p0+0)\nld.param.b32 %r1 <- [retval0+0]",
		"mov.u32 %r1, 1; /* two\nlines */ mov.u32 %r2, 2; // three":                                                  "mov.u32 %r1 <- 0x1/0\nmov.u32 %r2 <- 0x2/0",
		"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;":                                                  "mbarrier.try_wait.parity.shared::cta.b64 %p1 <- [%r1+0] %r2",
		".pragma \"nounroll\";": "",
	} {
		f := body(t, text)
		got := make([]string, len(f.Insts))
		for i := range f.Insts {
			got[i] = spellInst(f, &f.Insts[i])
		}
		if all := strings.Join(got, "\n"); all != want {
			t.Errorf("%s\n got %s\nwant %s", text, all, want)
		}
	}
}

func TestReadsDeclarations(t *testing.T) {
	m := read(t, `//
// Generated
//
.version 8.7
.target sm_90a, debug
.address_size 64
	// .globl	k                       // -- Begin function k
.extern .shared .align 16 .b8 global_smem[];
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.extern .func __assertfail (.param .b64 a) .noreturn;
.global .align 1 .b8 text[6] = {104, 105, 0x21};
.global .align 8 .u16 halves[2][3] = {{1, 2}, {-1}};
.const .align 4 .f32 numbers[] = {0f3F800000, 2.5, -1};
.visible .global .u32 counter = 7, other;
.weak .func (.param .align 4 .b8 r[8]) helper(.param .b32 x);
.visible .entry k(
	.param .u64 .ptr .global .align 16 k_0,
	.param .align 8 .b8 k_1[24],
	.param .f32 k_2,
	.param .u64 .ptr k_3
)
.maxntid 128, 2
.reqntid 64
.minnctapersm 1
{
	.local .align 8 .b8 	__local_depot0[24];
	.shared .align 4 .f32 tile[4][8];
	.reg .b64 	%SP;
	ret;
}
.weak .func (.param .align 4 .b8 r[8]) helper(.param .b32 x)
{
	ret;
}
`)
	if m.Version != "8.7" || m.Target != "sm_90a" || m.AddressSize != 64 {
		t.Errorf("version %q, target %q, %d bits", m.Version, m.Target, m.AddressSize)
	}
	wantVariables := []Variable{
		{Name: "global_smem", Space: Shared, Type: B8, Align: 16, Extern: true},
		{Name: "text", Space: Global, Type: B8, Bytes: 6, Align: 1, Init: []byte{104, 105, 0x21}},
		{Name: "halves", Space: Global, Type: U16, Bytes: 12, Align: 8, Init: []byte{1, 0, 2, 0, 0, 0, 255, 255}},
		{Name: "numbers", Space: Const, Type: F32, Bytes: 12, Align: 4, Init: []byte{0, 0, 0x80, 0x3f, 0, 0, 0x20, 0x40, 0, 0, 0x80, 0xbf}},
		{Name: "counter", Space: Global, Type: U32, Bytes: 4, Align: 4, Init: []byte{7, 0, 0, 0}},
	}
	if got := m.Variables[:5]; !reflect.DeepEqual(got, wantVariables) {
		t.Errorf("variables\n got %+v\nwant %+v", got, wantVariables)
	}
	var names []string
	for _, f := range m.Functions {
		names = append(names, fmt.Sprintf("%s entry=%t extern=%t line=%d params=%d results=%d", f.Name, f.Entry, f.Extern, f.Line, len(f.Params), len(f.Results)))
	}
	if got, want := strings.Join(names, "\n"), `vprintf entry=false extern=true line=9 params=2 results=1
__assertfail entry=false extern=true line=15 params=1 results=0
helper entry=false extern=false line=36 params=1 results=1
k entry=true extern=false line=21 params=4 results=0`; got != want {
		t.Errorf("functions\n%s\nwant\n%s", got, want)
	}
	k := m.Functions[3]
	if k.MaxNTID != [3]uint32{128, 2, 1} || k.ReqNTID != [3]uint32{64, 1, 1} {
		t.Errorf("extents %v, %v", k.MaxNTID, k.ReqNTID)
	}
	wantParams := []Variable{
		{Name: "k_0", Space: Param, Type: U64, Bytes: 8, Align: 8, Pointer: true, Points: Global},
		{Name: "k_1", Space: Param, Type: B8, Bytes: 24, Align: 8},
		{Name: "k_2", Space: Param, Type: F32, Bytes: 4, Align: 4},
		{Name: "k_3", Space: Param, Type: U64, Bytes: 8, Align: 8, Pointer: true},
	}
	if !reflect.DeepEqual(k.Params, wantParams) {
		t.Errorf("parameters\n got %+v\nwant %+v", k.Params, wantParams)
	}
	wantLocals := []Variable{
		{Name: "__local_depot0", Space: Local, Type: B8, Bytes: 24, Align: 8},
		{Name: "tile", Space: Shared, Type: F32, Bytes: 128, Align: 4},
	}
	if !reflect.DeepEqual(k.Variables, wantLocals) {
		t.Errorf("variables of the kernel\n got %+v\nwant %+v", k.Variables, wantLocals)
	}
}

func TestScopesOfInlineAssemblyHideNames(t *testing.T) {
	f := body(t, `
	// begin inline asm
	{ .reg .b32 t; shl.b32 t, %r1, 3; add.u32 %r2, t, %r1; }
	// end inline asm
	// begin inline asm
	{ .reg .b32 t, a<2>; .reg .pred p;
	setp.eq.u32 p, %r1, 0;
	mov.u32 a1, 5;
	@!p bra DONE;
	{ .reg .b64 t; .shared .b32 table[4]; mov.u64 t, 1; mov.u64 t, table; }
	mov.u32 t, 2;
	DONE: }
	// end inline asm
	{ .reg .pred p; @p bra DONE; DONE: }
	mov.u64 %rd1, table;`)
	var names []string
	for _, r := range f.Registers {
		names = append(names, fmt.Sprintf("%s:%d", r.Name, r.Type))
	}
	want := fmt.Sprintf("t:%d %%r1:%d %%r2:%d t:%d p:%d a1:%d t:%d p:%d %%rd1:%d", B32, B32, B32, B32, Pred, B32, B64, Pred, B64)
	if got := strings.Join(names, " "); got != want {
		t.Errorf("registers %s, want %s", got, want)
	}
	if target := f.Insts[4].Operands[0].Target; target != 8 {
		t.Errorf("the first DONE is %d, want 8", target)
	}
	if target := f.Insts[8].Operands[0].Target; target != 9 {
		t.Errorf("the second DONE is %d, want 9", target)
	}
	inner, outer := f.Insts[6].Operands[1].Symbol, f.Insts[9].Operands[1].Symbol
	if inner == "table" || outer != "table" || f.Variables[0].Name != inner {
		t.Errorf("the table inside is called %s, that outside %s, the variable %s", inner, outer, f.Variables[0].Name)
	}
	for i, want := range []int32{0, 0, 1, 1, 1, 1, 1, 1, -1, -1} {
		if f.Insts[i].Asm != want {
			t.Errorf("instruction %d stands in statement %d, want %d", i, f.Insts[i].Asm, want)
		}
	}
}

// frames spells the chain of locations of an instruction.
func frames(m *Module, in *Inst) string {
	var parts []string
	for at := in.Location; at >= 0; at = m.Locations[at].Inlined {
		l := m.Locations[at]
		parts = append(parts, fmt.Sprintf("%s:%d:%d:%s", m.Files[l.File], l.Line, l.Column, l.Function))
	}
	return strings.Join(parts, " < ")
}

func TestLinesInsideInlineAssemblyAreNotBelieved(t *testing.T) {
	m := read(t, head+`.visible .entry k() {
	.reg .b32 %r<9>;
	mov.u32 %r1, 0;
	.loc	1 8 9                          // a.py:8:9
	// begin inline asm
	.loc	1 8 9                          // a.py:8:9
	mov.u32 %r2, 0x0;
	.loc	1 11 9                         // a.py:11:9
	mov.u32 %r3, 0x0;
	// end inline asm
	mov.u32 %r4, 1;
	.loc 2 7 1, function_name $L__info_string0, inlined_at 1 8 9
	.loc 3 6 2, function_name $L__info_string1+2, inlined_at 2 7 1
	mov.u32 %r5, 1;
	.loc 2 168 27 // standard.py:168:27 @[ other.py:5:6 @[ a.py:15:19 ] ]
	mov.u32 %r6, 1;
	ret;
	}
	.file	1 "/home/u/a.py"
	.file	2 "/lib/standard.py"
	.file	3 "/lib" "deep.py"
	.section	.debug_abbrev
	{
.b8 1                                   // a brace } in a comment
.b32 $L__x-$L__y
	}
	.section	.debug_str
	{
$L__info_string0:
.b8 115                                 // string offset=0 ; sum
.b8 117
.b8 109, 0
$L__info_string1:
.b8 95
.b8 95
.b8 100
.b8 0
	}
	.section	.debug_macinfo	{	}
`)
	f := m.Functions[0]
	for i, want := range []string{
		"",
		"/home/u/a.py:8:9:", "/home/u/a.py:8:9:", "/home/u/a.py:8:9:",
		"/lib/deep.py:6:2:d < /lib/standard.py:7:1:sum < /home/u/a.py:8:9:",
		"/lib/standard.py:168:27: < other.py:5:6: < /home/u/a.py:15:19:",
	} {
		if got := frames(m, &f.Insts[i]); got != want {
			t.Errorf("instruction %d: %q, want %q", i, got, want)
		}
	}
}

func TestRefusalsNameTheLine(t *testing.T) {
	kernel := func(body string) string {
		return head + ".entry k() {\n.reg .b32 %r<4>; .reg .pred %p<2>;\n" + body + "\n}\n"
	}
	for text, want := range map[string]string{
		"":                                       "no .version",
		"hello":                                  `x.ptx:1: expected a directive outside of functions, got "hello"`,
		head + ".tex .u32 x;":                    "directive .tex is not read",
		head + ".entry k(":                       "expected .param",
		head + ".entry k() { ret;":               "has no end",
		head + ".entry k() {} .entry k() {}":     "defined twice",
		head + ".global .b8 x[4] = {1,2,3,4,5};": "has 4 bytes and initial values of 5",
		head + ".global .u64 x = generic(k);":    "only numbers and functions are read",
		head + ".global .b8 x[99999999999999];":  "too large",
		head + ".global .b8 x[2147483647] = {1};.global .align 3 .b8 y;": "alignment of 3",
		head + ".global .b8 x; .global .b8 x;":                           "declared twice",
		head + ".address_size 16":                                        "expected 32 or 64",
		head + "/* open":                                                 "comment has no end",
		head + ".section .debug_info {":                                  "has no end",
		kernel("mov.u32 %r1, %r4;"):                                      "x.ptx:6: register %r4 is not declared",
		kernel("mov.u32 %r1, %r01;"):                                     "register %r01 is not declared",
		kernel("mov.u32 %r1, nobody;"):                                   "nothing is declared with the name nobody",
		kernel("bra nowhere;"):                                           "there is no label nowhere",
		kernel("@%r1 bra x; x:"):                                         "is not a predicate",
		kernel("mov.u32 %r1"):                                            "expected ';' after the operands of mov",
		kernel("mov.u32 %r1, 0f12;"):                                     "is not a number that fits",
		kernel("mov.u32 %r1, 99999999999999999999;"):                     "is not a number that fits",
		kernel("mov.u32 %r1, %r2.x;"):                                    "elements of vector registers",
		kernel(".reg .v4 .f32 x;"):                                       "registers of vectors",
		kernel("mov..u32 %r1, 1;"):                                       "is not an instruction",
		kernel(".loc 1 x 2"):                                             ".loc needs",
		kernel(strings.Repeat("{", 100)):                                 "more than 16 deep",
		kernel("mov.u32 %r1, " + strings.Repeat("{", 100)):               "more than 4 deep",
		kernel("brx.idx %r1, nothing;"):                                  "there is no label nothing",
		kernel("?"):                                                      `got "?"`,
	} {
		_, err := Read(context.Background(), "x.ptx", []byte(text))
		if err == nil {
			t.Errorf("%.80q was read", text)
			continue
		}
		if f := fault.Of(err); f.Kind == fault.Internal || f.Path != "x.ptx" || f.Line == 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, line %d, want %q", text, err, f.Line, want)
		}
	}
}

// TestTimeGrowsWithTheText reads texts of some megabytes that are built to be slow.
func TestTimeGrowsWithTheText(t *testing.T) {
	many := func(n int, line string) string { return strings.Repeat(line, n) }
	var labels, deep strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&labels, "L%d: @%%p1 bra L%d;\n", i, (i*7919)%30_000)
		fmt.Fprintf(&deep, "D%d: @%%p1 bra E%d;\nbra D%d; E%d:\n", i, i, max(0, i-1), i)
	}
	open := head + ".entry k() {\n.reg .pred %p<2>; .reg .b32 %r<4000000000>;\n"
	for name, text := range map[string]string{
		"labels":    open + labels.String() + "}",
		"loops":     open + deep.String() + "}",
		"asm":       open + many(50_000, "// begin inline asm\n{ .reg .b32 t; mov.u32 t, 1; }\n// end inline asm\n") + "}",
		"jumps out": open + many(14, "{") + many(20_000, "bra END;\n") + many(14, "}") + "END: }",
		"lines":     open + many(100_000, ".loc 1 1 1 // a @["+many(20, " x:1:1 @[")+"\n")[:4<<20] + "\n}",
		"linking":   head + many(500_000, ".visible "),
		"braces":    head + ".global .b8 x[4] = " + many(500_000, "{"),
	} {
		begin := time.Now()
		_, err := Read(context.Background(), name, []byte(text))
		if took := time.Since(begin); took > 2*time.Minute {
			t.Errorf("%s: %v for %d bytes (%v)", name, took, len(text), err)
		}
	}
}

func TestReadCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, "k", []byte(head+".entry k() { ret; }")); !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v, want cancelled", err)
	}
}
