package simt

import (
	"fmt"
	"strings"
	"testing"
)

// Kernels whose blocks wait for each other by words from 4096 on. REL, ACQ and BOTH stand for the order of an access, BEFORE and AFTER for
// fences, SCOPE for the scope of the accesses; BAR1 and BAR2 for barriers of the block. %p1 is set in all threads but the first of a block.
const (
	// lock counts blocks in a word that a lock guards.
	lock = `
	@%p1 bra DONE;
LOCK:
	atom.ACQ.SCOPE.global.cas.b32 %r1, [%rd1+4096], 0, 1;
	setp.ne.u32 %p2, %r1, 0;
	@%p2 bra LOCK;
	AFTER
	ld.global.u32 %r2, [%rd1];
	add.u32 %r2, %r2, 1;
	st.global.u32 [%rd1], %r2;
	BEFORE
	atom.REL.SCOPE.global.exch.b32 %r3, [%rd1+4096], 0;
DONE:
`
	// splitK lets the block that comes last add up what all blocks left.
	splitK = `
	.shared .b32 turn;
	mad.lo.u32 %r1, %r20, %r21, %r31;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], 1;
	BEFORE
	BAR1
	@%p1 bra WAIT;
	atom.BOTH.SCOPE.global.add.u32 %r2, [%rd1+4096], 1;
	st.shared.u32 [turn], %r2;
WAIT:
	BAR2
	AFTER
	ld.shared.u32 %r3, [turn];
	add.u32 %r3, %r3, 1;
	setp.ne.u32 %p2, %r3, %r22;
	@%p2 bra DONE;
	xor.b32 %r4, %r31, 33;
	rem.u32 %r4, %r4, %r21;
	mov.u32 %r5, 0;
	mov.u32 %r6, 0;
SUM:
	mad.lo.u32 %r7, %r5, %r21, %r4;
	mul.wide.u32 %rd2, %r7, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r8, [%rd3];
	add.u32 %r6, %r6, %r8;
	add.u32 %r5, %r5, 1;
	setp.lt.u32 %p2, %r5, %r22;
	@%p2 bra SUM;
	@%p1 bra DONE;
	st.global.u32 [%rd1+8188], %r6;
DONE:
`
	// lookBack adds to the sum of the block before, when that one says that it is there.
	lookBack = `
	@%p1 bra DONE;
	mul.wide.u32 %rd2, %r20, 4;
	add.s64 %rd3, %rd1, %rd2;
	mov.u32 %r1, 0;
	setp.eq.u32 %p2, %r20, 0;
	@%p2 bra WRITE;
LOOK:
	ld.ACQ.SCOPE.global.u32 %r2, [%rd3+4092];
	setp.eq.u32 %p3, %r2, 0;
	@%p3 bra LOOK;
	AFTER
	ld.global.u32 %r1, [%rd3+-4];
WRITE:
	add.u32 %r1, %r1, 1;
	st.global.u32 [%rd3], %r1;
	BEFORE
	st.REL.SCOPE.global.u32 [%rd3+4096], 1;
DONE:
`
	// serial lets all threads of one block after the other add to the same words.
	serial = `
	mul.wide.u32 %rd2, %r31, 4;
	add.s64 %rd3, %rd1, %rd2;
	@%p1 bra ALL;
LOOK:
	ld.ACQ.SCOPE.global.u32 %r2, [%rd1+4096];
	setp.ne.u32 %p3, %r2, %r20;
	@%p3 bra LOOK;
ALL:
	BAR1
	AFTER
	ld.global.u32 %r1, [%rd3];
	add.u32 %r1, %r1, 1;
	st.global.u32 [%rd3], %r1;
	BEFORE
	BAR2
	@%p1 bra DONE;
	add.u32 %r4, %r20, 1;
	st.REL.SCOPE.global.u32 [%rd1+4096], %r4;
DONE:
`
)

// orders are the ways in which such a kernel is right, and those in which it is not.
var orders = map[string]struct {
	words []string
	right bool
}{
	"release and acquire": {[]string{"BOTH", "acq_rel", "ACQ", "acquire", "REL", "release", "SCOPE", "gpu", "BEFORE", "", "AFTER", ""}, true},
	"of the system":       {[]string{"BOTH", "acq_rel", "ACQ", "acquire", "REL", "release", "SCOPE", "sys", "BEFORE", "", "AFTER", ""}, true},
	"fences":              {[]string{"BOTH", "relaxed", "ACQ", "relaxed", "REL", "relaxed", "SCOPE", "gpu", "BEFORE", "membar.gl;", "AFTER", "membar.gl;"}, true},
	"fence.acq_rel":       {[]string{"BOTH", "relaxed", "ACQ", "relaxed", "REL", "relaxed", "SCOPE", "gpu", "BEFORE", "fence.acq_rel.gpu;", "AFTER", "fence.sc.sys;"}, true},
	"relaxed":             {[]string{"BOTH", "relaxed", "ACQ", "relaxed", "REL", "relaxed", "SCOPE", "gpu", "BEFORE", "", "AFTER", ""}, false},
	"no acquire":          {[]string{"BOTH", "release", "ACQ", "relaxed", "REL", "release", "SCOPE", "gpu", "BEFORE", "", "AFTER", ""}, false},
	"no release":          {[]string{"BOTH", "acquire", "ACQ", "acquire", "REL", "relaxed", "SCOPE", "gpu", "BEFORE", "", "AFTER", ""}, false},
	"scope of the block":  {[]string{"BOTH", "acq_rel", "ACQ", "acquire", "REL", "release", "SCOPE", "cta", "BEFORE", "", "AFTER", ""}, false},
	"fence of the block":  {[]string{"BOTH", "relaxed", "ACQ", "relaxed", "REL", "relaxed", "SCOPE", "gpu", "BEFORE", "membar.cta;", "AFTER", "membar.gl;"}, false},
}

func orderedText(kernel string, words []string, bars ...string) string {
	body := strings.NewReplacer(append(words, bars...)...).Replace(kernel)
	return entry("\tmov.u32 %r20, %ctaid.x;\n\tmov.u32 %r21, %ntid.x;\n\tmov.u32 %r22, %nctaid.x;\n\tsetp.ne.u32 %p1, %r31, 0;\n" + body)
}

// TestKernelsWhoseBlocksWaitForEachOther: 4 kernels, 1 and 3 warps, 4 orders that are right and 5 that are not, 3 schedules.
func TestKernelsWhoseBlocksWaitForEachOther(t *testing.T) {
	kernels := map[string]struct {
		text string
		at   int
		want uint32
	}{"lock": {lock, 0, 4}, "split-K": {splitK, 2047, 4}, "look-back": {lookBack, 3, 4}, "serial": {serial, 0, 4}}
	right := 0
	for name, kernel := range kernels {
		for how, o := range orders {
			for _, threads := range []uint32{32, 96} {
				found := false
				for seed := range uint64(3) {
					data := make([]byte, 8192)
					l := testLaunch(4, threads, data, 0)
					l.Options = Options{ScheduleSeed: seed, GlobalRaces: true, MaxInstructions: 1 << 22}
					r := mustRun(t, orderedText(kernel.text, o.words, "BAR1", "bar.sync 0;", "BAR2", "bar.sync 0;"), l)
					found = found || len(r.Findings) > 0
					if o.right && len(r.Findings) > 0 {
						t.Errorf("%s, %s, %d threads, seed %d: %v", name, how, threads, seed, r.Findings)
					}
					for _, f := range r.Findings {
						if f.Check != "global-race" {
							t.Errorf("%s, %s: %v", name, how, f)
						}
					}
					if got := wordsOf(data)[kernel.at]; got != kernel.want {
						t.Errorf("%s, %s, %d threads, seed %d: word %d is %d, want %d", name, how, threads, seed, kernel.at, got, kernel.want)
					}
				}
				if right += map[bool]int{true: 1}[o.right]; !o.right && !found {
					t.Errorf("%s, %s, %d threads: nothing was found", name, how, threads)
				}
			}
		}
	}
	if right < 20 {
		t.Errorf("%d correct kernels, want 20", right)
	}
}

func TestBarriersThatOrderTheWarpsOfABlock(t *testing.T) {
	for _, c := range []struct{ kernel, without string }{{splitK, "BAR1"}, {serial, "BAR1"}, {serial, "BAR2"}} {
		for _, how := range []string{"release and acquire", "fences"} {
			bars := []string{"BAR1", "bar.sync 0;", "BAR2", "bar.sync 0;"}
			if bars[1] = ""; c.without == "BAR2" {
				bars = []string{"BAR1", "bar.sync 0;", "BAR2", ""}
			}
			found := false
			for seed := range uint64(4) {
				l := testLaunch(4, 96, make([]byte, 8192), 0)
				l.Options = Options{ScheduleSeed: seed, GlobalRaces: true, MaxInstructions: 1 << 22}
				r := mustRun(t, orderedText(c.kernel, orders[how].words, bars...), l)
				for _, f := range r.Findings {
					found = found || f.Check == "global-race"
				}
			}
			if !found {
				t.Errorf("without %s, %s: nothing was found", c.without, how)
			}
		}
	}
}

func TestACooperativeGridIsOrderedByItsBarrier(t *testing.T) {
	body := func(before, release string) string {
		return "\tmov.u32 %r20, %ctaid.x;\n\tmad.lo.u32 %r21, %r20, 64, %r31;\n\tmul.wide.u32 %rd6, %r21, 4;\n\tadd.s64 %rd7, %rd1, %rd6;\n\tst.global.u32 [%rd7], %r21;\n" + before +
			strings.Replace(gridBarrier, "add.release.gpu", "add."+release+".gpu", 1) + "\txor.b32 %r22, %r21, 224;\n\tmul.wide.u32 %rd8, %r22, 4;\n\tadd.s64 %rd9, %rd1, %rd8;\n\tld.global.u32 %r23, [%rd9];\n"
	}
	for _, c := range []struct {
		before, release string
		right           bool
	}{{"\tbar.sync 0;\n", "release", true}, {"", "release", false}, {"\tbar.sync 0;\n", "relaxed", false}, {"\tmembar.gl;\n\tbar.sync 0;\n", "relaxed", true}} {
		l := testLaunch(4, 64, make([]byte, 1024), 0)
		l.Options.GlobalRaces = true
		if r := mustRun(t, entry(body(c.before, c.release)), l); (len(r.Findings) == 0) != c.right {
			t.Errorf("%q, %s: findings %v", c.before, c.release, fmt.Sprint(r.Findings))
		}
	}
}
