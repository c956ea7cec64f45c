package simt

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// Each lane allocates as many words as its number says and one more, fills them, and adds them up; before and behind them lie an array
// of fixed size and one of 64 bytes, which keep what they hold.
const sumOnStack = `
	.local .align 4 .b8 fixed[4];
	mov.u32 %r1, 1000;
	st.local.u32 [fixed], %r1;
	add.u32 %r2, %r31, 1;
	mul.wide.u32 %rd4, %r2, 4;
	alloca.u64 %rd5, %rd4, 16;
	alloca.u64 %rd6, 64;
	st.local.u32 [%rd6], %r1;
	mov.u32 %r3, 0;
	mov.u64 %rd7, %rd5;
FILL:
	st.local.u32 [%rd7], %r3;
	add.u64 %rd7, %rd7, 4;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p1, %r3, %r2;
	@%p1 bra FILL;
	cvta.local.u64 %rd7, %rd5;
	mov.u32 %r3, 0;
	mov.u32 %r4, 0;
SUM:
	ld.u32 %r5, [%rd7];
	add.u32 %r4, %r4, %r5;
	add.u64 %rd7, %rd7, 4;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p1, %r3, %r2;
	@%p1 bra SUM;
	ld.local.u32 %r5, [fixed];
	add.u32 %r4, %r4, %r5;
	ld.local.u32 %r5, [%rd6];
	add.u32 %r4, %r4, %r5;
	and.b64 %rd8, %rd5, 15;
	cvt.u32.u64 %r5, %rd8;
	add.u32 %r4, %r4, %r5;
`

func TestLanesAllocateOnTheirStacks(t *testing.T) {
	data := make([]byte, 4*64)
	if r := mustRun(t, entry(sumOnStack+storeR4), testLaunch(1, 64, data, 0)); len(r.Findings) != 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	for i, v := range wordsOf(data) {
		if want := uint32(i*(i+1)/2 + 2000); v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

// keepsOnStack returns its argument, which it keeps on the stack meanwhile.
const keepsOnStack = `.func (.param .b32 result) f(.param .b32 x)
{
	.reg .b32 %r<4>;
	ld.param.u32 %r1, [x];
	alloca.u32 %r2, 4096;
	st.local.u32 [%r2+4092], %r1;
	ld.local.u32 %r3, [%r2+4092];
	st.param.b32 [result], %r3;
	ret;
}
`

// A function gives back what it allocated, and a loop what it allocated since it saved the stack: both need 4 KiB each time, of 16.
func TestStackIsGivenBack(t *testing.T) {
	const loop = "\tmov.u32 %r1, 0;\nAGAIN:\n\tBODY\n\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p1, %r1, 100;\n\t@%p1 bra AGAIN;\n"
	for name, body := range map[string]string{
		"a call": "st.param.b32 [p0], %r31;\n\tcall (r0), f, (p0);\n\tld.param.u32 %r4, [r0];",
		"stackrestore": "stacksave.u64 %rd4;\n\talloca.u64 %rd5, 4096;\n\tst.local.u32 [%rd5], %r31;\n\tld.local.u32 %r4, [%rd5];\n\t" +
			"stackrestore.u64 %rd4;",
		"stackrestore of 32 bits": "stacksave.u32 %r5;\n\talloca.u32 %r6, 4096, 4096;\n\tst.local.u32 [%r6], %r31;\n\tld.local.u32 %r4, [%r6];\n\tstackrestore.u32 %r5;",
	} {
		data := make([]byte, 4*32)
		r := mustRun(t, withFunctions(keepsOnStack, strings.Replace(loop, "BODY", body, 1)+storeR4), testLaunch(1, 32, data, 0))
		if len(r.Findings) != 0 {
			t.Errorf("%s: findings %+v", name, r.Findings)
		}
		for i, v := range wordsOf(data) {
			if v != uint32(i) {
				t.Errorf("%s: thread %d has %d", name, i, v)
			}
		}
	}
}

// A function that calls itself keeps what each of its calls allocated.
func TestNestedCallsAllocate(t *testing.T) {
	text := strings.Replace(sumTo, "sub.u32 %r3, %r1, 1;", "sub.u32 %r3, %r1, 1;\n\talloca.u32 %r6, 16;\n\tst.local.u32 [%r6], %r1;", 1)
	text = strings.Replace(text, "ld.param.u32 %r5, [n];", "ld.local.u32 %r5, [%r6];", 1)
	text = withFunctions(text, "\tst.param.b32 [p0], %r31;\n\tcall (r0), sumTo, (p0);\n\tld.param.u32 %r4, [r0];\n"+storeR4)
	data := make([]byte, 4*32)
	if r := mustRun(t, text, testLaunch(1, 32, data, 0)); len(r.Findings) != 0 {
		t.Fatalf("findings %+v", r.Findings)
	}
	for i, v := range wordsOf(data) {
		if want := uint32(i * (i + 1) / 2); v != want {
			t.Errorf("the sum to %d is %d, want %d", i, v, want)
		}
	}
}

func TestStackMistakesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		body, says string
		check      execute.Check
		lanes      uint32
	}{
		"too much": {
			"mul.wide.u32 %rd4, %r31, 1024;\n\talloca.u64 %rd5, %rd4;", "the stack of a thread has 16384 bytes: 0 are in use and 17408 more are needed",
			"stack-overflow", 0xfffe0000,
		},
		"too much in all":      {"alloca.u64 %rd5, 16384;\n\talloca.u64 %rd5, 1;", "16384 are in use and 1 more", "stack-overflow", 0xffffffff},
		"aligned beyond":       {"alloca.u64 %rd5, 8, 8388608;\n\talloca.u64 %rd5, 8, 8388608;", "aligned to 8388608", "stack-overflow", 0xffffffff},
		"no stacksave":         {"mov.u64 %rd4, 77;\n\tstackrestore.u64 %rd4;", "set to 0x4d, which no stacksave has said", "stack-overflow", 0xffffffff},
		"nobody wrote it":      {"alloca.u64 %rd5, 16;\n\tld.local.u32 %r4, [%rd5+4];", "has not written", "uninitialised-local", 0xffffffff},
		"read when given back": {"stacksave.u64 %rd4;\n\talloca.u64 %rd5, 16;\n\tst.local.u32 [%rd5], %r31;\n\tstackrestore.u64 %rd4;\n\tld.local.u32 %r4, [%rd5];", "has not written", "uninitialised-local", 0xffffffff},
		"allocated again":      {"stacksave.u64 %rd4;\n\talloca.u64 %rd5, 16;\n\tst.local.u32 [%rd5], %r31;\n\tstackrestore.u64 %rd4;\n\talloca.u64 %rd5, 16;\n\tld.local.u32 %r4, [%rd5];", "has not written", "uninitialised-local", 0xffffffff},
	} {
		f := only(t, mustRun(t, entry("\t"+c.body), testLaunch(1, 32, make([]byte, 4*32), 0)), c.check)
		if !strings.Contains(f.Message, c.says) || f.Lanes != c.lanes {
			t.Errorf("%s: lanes %08x, %s", name, f.Lanes, f.Message)
		}
	}
}

// What a call left on the stack is not what the next one to allocate there has written.
func TestStackOfACallIsUnwrittenForTheNext(t *testing.T) {
	body := "\tst.param.b32 [p0], %r31;\n\tcall (r0), f, (p0);\n\talloca.u32 %r2, 4096;\n\tld.local.u32 %r4, [%r2+4092];\n"
	only(t, mustRun(t, withFunctions(keepsOnStack, body+storeR4), testLaunch(1, 32, make([]byte, 4*32), 0)), "uninitialised-local")
}
