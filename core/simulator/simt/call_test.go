package simt

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// withFunctions is a module of functions and a kernel k(out, n) with one parameter and one result of calls, p0 and r0.
func withFunctions(functions, body string) string {
	return preamble + functions + strings.TrimPrefix(entry("\t.param .b32 p0;\n\t.param .b32 r0;\n"+body), preamble)
}

const storeR4 = "\tmul.wide.u32 %rd2, %r31, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n\tst.global.u32 [%rd3], %r4;"

// sumTo(n) is n + sumTo(n-1), which each lane calls as often as its number says; what it adds it holds in a register meanwhile.
const sumTo = `
.func (.param .b32 result) sumTo(.param .b32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.param .b32 p0;
	.param .b32 r0;
	ld.param.u32 %r1, [n];
	mov.u32 %r2, 0;
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra DONE;
	sub.u32 %r3, %r1, 1;
	st.param.b32 [p0], %r3;
	call (r0), sumTo, (p0);
	ld.param.u32 %r4, [r0];
	ld.param.u32 %r5, [n];
	add.u32 %r2, %r4, %r5;
DONE:
	st.param.b32 [result], %r2;
	ret;
}
`

func TestFunctionsCallThemselves(t *testing.T) {
	text := withFunctions(sumTo, "\tst.param.b32 [p0], %r31;\n\tcall (r0), sumTo, (p0);\n\tld.param.u32 %r4, [r0];\n"+storeR4)
	for seed := range uint64(3) {
		data := make([]byte, 4*64)
		l := testLaunch(1, 64, data, 0)
		l.Options.ScheduleSeed = seed
		if r := mustRun(t, text, l); len(r.Findings) != 0 {
			t.Fatalf("findings %v", r.Findings)
		}
		for i, v := range wordsOf(data) {
			if want := uint32(i * (i + 1) / 2); v != want {
				t.Errorf("the sum to %d is %d, want %d", i, v, want)
			}
		}
	}
}

func TestTwoFunctionsCallEachOther(t *testing.T) {
	half := func(name, other, end string) string {
		return ".func (.param .b32 result) " + name + "(.param .b32 n)\n{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<9>;\n\t.param .b32 p0;\n\t.param .b32 r0;\n\tld.param.u32 %r1, [n];\n" +
			"\tst.param.b32 [result], " + end + ";\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 ret;\n\tsub.u32 %r2, %r1, 1;\n\tst.param.b32 [p0], %r2;\n\tcall (r0), " + other + ", (p0);\n" +
			"\tld.param.u32 %r3, [r0];\n\tst.param.b32 [result], %r3;\n\tret;\n}\n"
	}
	functions := ".func (.param .b32 result) odd(.param .b32 n);\n" + half("even", "odd", "1") + half("odd", "even", "0")
	data := make([]byte, 128)
	r := mustRun(t, withFunctions(functions, "\tst.param.b32 [p0], %r31;\n\tcall (r0), even, (p0);\n\tld.param.u32 %r4, [r0];\n"+storeR4), testLaunch(1, 32, data, 0))
	for i, v := range wordsOf(data) {
		if v != uint32(1-i%2) || len(r.Findings) > 0 {
			t.Errorf("even(%d) is %d; findings %v", i, v, r.Findings)
		}
	}
}

// count(n, p) has a local variable of its own in every call, and the innermost writes those of all others through the pointers that they pass.
const counts = `
.func (.param .b32 result) count(.param .b32 n, .param .b64 p)
{
	.local .align 8 .b8 frame[24];
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.param .b32 p0;
	.param .b64 p1;
	.param .b32 r0;
	ld.param.u32 %r1, [n];
	ld.param.u64 %rd1, [p];
	mov.u64 %rd2, frame;
	cvta.local.u64 %rd3, %rd2;
	st.local.u32 [%rd2], %r1;
	st.local.u64 [frame+8], %rd1;
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra WRITE;
	sub.u32 %r2, %r1, 1;
	st.param.b32 [p0], %r2;
	st.param.b64 [p1], %rd3;
	call (r0), count, (p0, p1);
	ld.param.u32 %r3, [r0];
	ld.local.u32 %r4, [%rd2];
	add.u32 %r5, %r3, %r4;
	st.param.b32 [result], %r5;
	ret;
WRITE:
	setp.eq.u64 %p2, %rd1, 0;
	@%p2 bra DONE;
	ld.u32 %r6, [%rd1];
	add.u32 %r6, %r6, 100;
	st.u32 [%rd1], %r6;
	ld.u64 %rd1, [%rd1+8];
	bra WRITE;
DONE:
	st.param.b32 [result], 0;
	ret;
}
`

func TestEveryCallHasLocalMemoryOfItsOwn(t *testing.T) {
	body := "\t.param .b64 p1;\n\tand.b32 %r3, %r31, 7;\n\tst.param.b32 [p0], %r3;\n\tst.param.b64 [p1], 0;\n\tcall (r0), count, (p0, p1);\n\tld.param.u32 %r4, [r0];\n" + storeR4
	data := make([]byte, 4*32)
	if r := mustRun(t, withFunctions(counts, body), testLaunch(1, 32, data, 0)); len(r.Findings) != 0 {
		t.Fatalf("findings %v", r.Findings)
	}
	for i, v := range wordsOf(data) {
		n := uint32(i & 7)
		if want := n*(n+1)/2 + 100*n; v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

// tableOfFunctions are functions that a table names.
const tableOfFunctions = `
.func (.param .b32 result) twice(.param .b32 n)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [n];
	shl.b32 %r2, %r1, 1;
	st.param.b32 [result], %r2;
	ret;
}
.func (.param .b32 result) plus9(.param .b32 n)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [n];
	add.u32 %r2, %r1, 9;
	st.param.b32 [result], %r2;
	ret;
}
.func (.param .b32 result) nothing(.param .b32 n)
{
	st.param.b32 [result], 77;
	ret;
}
.global .align 8 .u64 table[4] = {twice, plus9, 0, nothing};
`

const callTable = `
	mov.u64 %rd5, table;
	and.b32 %r1, %r31, MASK;
	add.u32 %r1, %r1, FIRST;
	mul.wide.u32 %rd6, %r1, 8;
	add.s64 %rd7, %rd5, %rd6;
	ld.global.u64 %rd8, [%rd7];
	st.param.b32 [p0], %r31;
	shape : .callprototype (.param .b32 _) _ (.param .b32 _);
	call (r0), %rd8, (p0), shape;
	ld.param.u32 %r4, [r0];
	vote.sync.ballot.b32 %r5, 1, -1;
	setp.ne.u32 %p1, %r5, -1;
	@%p1 trap;
`

func TestLanesCallDifferentFunctionsThroughATable(t *testing.T) {
	data := make([]byte, 128)
	text := withFunctions(tableOfFunctions, strings.NewReplacer("MASK", "1", "FIRST", "0").Replace(callTable)+storeR4)
	if r := mustRun(t, text, testLaunch(1, 32, data, 0)); len(r.Findings) != 0 {
		t.Fatalf("findings %v", r.Findings)
	}
	for i, v := range wordsOf(data) {
		if want := uint32([2]int{2 * i, i + 9}[i&1]); v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
	text = withFunctions(tableOfFunctions, "\tmov.u64 %rd8, nothing;\n\tst.param.b32 [p0], %r31;\n\tshape : .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (r0), %rd8, (p0), shape;\n\tld.param.u32 %r4, [r0];\n"+storeR4)
	if mustRun(t, text, testLaunch(1, 32, data, 0)); wordsOf(data)[31] != 77 {
		t.Errorf("the address of a function in the text leads to %d, want 77", wordsOf(data)[31])
	}
}

func TestCallsThatCannotBe(t *testing.T) {
	forever := strings.Replace(sumTo, "setp.eq.u32 %p1, %r1, 0;", "setp.eq.u32 %p1, %r1, 5000;", 1)
	large := strings.Replace(counts, "frame[24]", "frame[4096]", 1)
	for name, c := range map[string]struct {
		text  string
		check execute.Check
		says  string
	}{
		"no function": {
			withFunctions(tableOfFunctions, strings.NewReplacer("MASK", "3", "FIRST", "0").Replace(callTable)), "bad-call", "a call through 0x0, where no function is",
		},
		"no such function": {
			withFunctions(tableOfFunctions, "\t.reg.b64 %rdest;\n\tmov.u64 %rd8, nothing;\n\t.param .b64 p1;\n\tst.param.b32 [p0], 5;\n\tst.param.b64 [p1], 0;\n"+
				"\tshape : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);\n\tcall (r0), %rd8, (p0, p1), shape;"), "bad-call",
			"where no function is that the module calls through pointers with these arguments",
		},
		"no end": {
			withFunctions(forever, "\tst.param.b32 [p0], 4999;\n\tcall (r0), sumTo, (p0);"), "stack-overflow", "nested more than 256 deep",
		},
		"no stack": {
			withFunctions(large, "\t.param .b64 p1;\n\tst.param.b32 [p0], 5;\n\tst.param.b64 [p1], 0;\n\tcall (r0), count, (p0, p1);"), "stack-overflow",
			"has more than 16384 bytes: 16384 are in use and 4096 more are needed",
		},
	} {
		f := only(t, mustRun(t, c.text, testLaunch(1, 32, make([]byte, 128), 0)), c.check)
		if !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %q does not say %q", name, f.Message, c.says)
		}
	}
}
