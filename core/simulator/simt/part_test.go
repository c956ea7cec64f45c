package simt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// addHalf is what LLVM makes of an atomic that adds n to 2 bytes at element %tid.x of out: a loop of compare-and-swap on the word.
// round rounds the pointer down, first loads the word, and before stands in front of the loop.
func addHalf(round, first, before string) string {
	return entry(`	mul.wide.u32 %rd2, %r31, 2;
	add.s64 %rd3, %rd1, %rd2;
	` + round + `
	cvt.u32.u64 %r1, %rd3;
	and.b32 %r2, %r1, 3;
	shl.b32 %r3, %r2, 3;
	mov.b32 %r4, 65535;
	shl.b32 %r5, %r4, %r3;
	not.b32 %r6, %r5;
	` + first + `
	` + before + `
$again:
	shr.u32 %r8, %r7, %r3;
	add.s32 %r9, %r8, %r30;
	and.b32 %r9, %r9, 65535;
	shl.b32 %r10, %r9, %r3;
	and.b32 %r11, %r7, %r6;
	or.b32 %r12, %r11, %r10;
	atom.relaxed.gpu.global.cas.b32 %r13, [%rd4], %r7, %r12;
	setp.ne.b32 %p1, %r13, %r7;
	mov.b32 %r7, %r13;
	@%p1 bra $again;`)
}

const (
	roundDown = "and.b64 %rd4, %rd3, -4;"
	loadWord  = "ld.relaxed.gpu.global.b32 %r7, [%rd4];"
)

// halves is a launch of a thread for each of n elements of 2 bytes that begin skip bytes into an array, with bytes of others around.
func halves(n, skip, threads int) (l *Launch, all []byte) {
	all = make([]byte, 8+2*n+8)
	for i := range all {
		all[i] = 0xee
	}
	own := all[8:][: 2*n : 2*n]
	clear(own)
	l = testLaunch(1, uint32(threads), own, 5)
	l.Memory[0].Host += uint64(skip)
	l.Params[0].Bits += uint64(skip)
	l.Options.MaxInstructions = 10000 // a loop that never ends is an error
	return l, all
}

func TestAtomicsOnAPartOfAWordStayInTheArray(t *testing.T) {
	for _, first := range []string{loadWord, "ld.global.b32 %r7, [%rd4];", "ld.volatile.global.u32 %r7, [%rd4];", "mov.b32 %r7, 0;"} {
		for n := 1; n <= 5; n++ {
			for _, skip := range []int{0, 2} {
				l, all := halves(n, skip, n)
				r := mustRun(t, addHalf(roundDown, first, ""), l)
				if len(r.Findings) != 0 {
					t.Errorf("%d elements, %d bytes in, %s: found %+v", n, skip, first, r.Findings)
				}
				want := strings.Repeat("\xee", 8) + strings.Repeat("\x05\x00", n) + strings.Repeat("\xee", 8)
				if string(all) != want {
					t.Errorf("%d elements, %d bytes in, %s: memory is % x, want % x", n, skip, first, all, want)
				}
			}
		}
	}
}

func TestAtomicsOnAPartOfAWordOutOfBounds(t *testing.T) {
	for _, add := range []uint64{5, 0} { // adding 0 changes nothing and is out of bounds all the same
		for n := 1; n <= 5; n++ {
			l, all := halves(n, 0, n+1)
			l.Params[1].Bits = add
			r := mustRun(t, addHalf(roundDown, loadWord, ""), l)
			if len(r.Findings) != 2 {
				t.Fatalf("%d elements: found %+v, want the load and the atomic", n, r.Findings)
			}
			for _, f := range r.Findings {
				if f.Check != "out-of-bounds" || f.Lanes != 1<<n {
					t.Errorf("%d elements: found %s in lanes %08x, want out-of-bounds in lane %d", n, f.Check, f.Lanes, n)
				}
			}
			want := strings.Repeat("\xee", 8) + strings.Repeat(fmt.Sprintf("%c\x00", rune(add)), n) + strings.Repeat("\xee", 8)
			if string(all) != want {
				t.Errorf("%d elements: memory is % x, want % x", n, all, want)
			}
		}
	}
}

func TestAWordThatIsNoPartOfALoopMustBeInBounds(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"a plain load":         {entry("\tld.global.u32 %r7, [%rd1];"), 1},
		"a rounded load":       {entry("\tand.b64 %rd4, %rd1, -4;\n\tld.global.u32 %r7, [%rd4];"), 1},
		"a plain swap":         {entry("\tatom.global.cas.b32 %r7, [%rd1], 0, 1;"), 1},
		"a store":              {entry("\tand.b64 %rd4, %rd1, -4;\n\tatom.global.cas.b32 %r7, [%rd4], 0, 0;\n\tst.global.u32 [%rd4], 7;"), 1},
		"another operation":    {entry("\tand.b64 %rd4, %rd1, -4;\n\tatom.global.cas.b32 %r7, [%rd4], 0, 0;\n\tatom.global.exch.b32 %r7, [%rd4], 7;"), 1},
		"bytes of others":      {entry("\tand.b64 %rd4, %rd1, -4;\n\tatom.global.cas.b32 %r7, [%rd4], 0, 65536;"), 1},
		"the next word":        {entry("\tand.b64 %rd4, %rd1, -4;\n\tatom.global.cas.b32 %r7, [%rd4+4], 0, 0;"), 1},
		"a pointer that moved": {addHalf(roundDown, loadWord, "add.s64 %rd3, %rd3, 0;"), 2},
	} {
		l, all := halves(1, 0, 1)
		r := mustRun(t, c.text, l)
		if len(r.Findings) != c.want {
			t.Errorf("%s: %d findings, want %d: %+v", name, len(r.Findings), c.want, r.Findings)
		}
		if want := strings.Repeat("\xee", 8) + "\x00\x00" + strings.Repeat("\xee", 8); string(all) != want {
			t.Errorf("%s: memory is % x, want % x", name, all, want)
		}
	}
}

func TestAtomicsOnAPartOfAReadOnlyWord(t *testing.T) {
	for n := 1; n <= 2; n++ {
		l, _ := halves(n, 0, 1)
		l.Memory[0].ReadOnly = true
		f := only(t, mustRun(t, addHalf(roundDown, loadWord, ""), l), "read-only-write")
		if f.Fault == nil || f.Fault.Nearest != "out" || f.Fault.Check != memory.ReadOnlyWrite {
			t.Errorf("%d elements: the finding is %+v", n, f)
		}
	}
}
