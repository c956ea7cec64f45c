package simt

import (
	"strings"
	"testing"
)

// runSchedules runs a body with one block of 32 threads under several seeds, demands that nothing is found, and hands out the words
// that each left.
func runSchedules(t *testing.T, body string, threads uint32, words int, check func(seed uint64, got []uint32)) {
	t.Helper()
	for seed := range uint64(6) {
		data := make([]byte, 4*words)
		l := testLaunch(1, threads, data, 0)
		l.Options.ScheduleSeed, l.Options.MaxInstructions = seed, 10_000_000
		r := mustRun(t, entry(body), l)
		if len(r.Findings) != 0 {
			t.Fatalf("seed %d: findings %+v", seed, r.Findings)
		}
		check(seed, wordsOf(data))
	}
}

// One lane opens a door at which the others of its warp look again and again. It stands in the text before or behind them.
func TestALaneThatSpinsOnAnotherOfItsWarpGoesOn(t *testing.T) {
	open := "\tst.volatile.global.u32 [%rd1], 1;\n"
	look := "SPIN:\n\tld.volatile.global.u32 %r1, [%rd1];\n\tsetp.eq.u32 %p2, %r1, 0;\n\t@%p2 bra SPIN;\n"
	end := "DONE:\n" + addressOfThread + "\tactivemask.b32 %r2;\n\tst.global.u32 [%rd3+4], %r2;\n"
	for name, body := range map[string]string{
		"first": "\tsetp.ne.u32 %p1, %r31, 7;\n\t@%p1 bra OTHER;\n" + open + "\tbra DONE;\nOTHER:\n" + look + end,
		"last":  "\tsetp.eq.u32 %p1, %r31, 7;\n\t@%p1 bra OTHER;\n" + look + "\tbra DONE;\nOTHER:\n" + open + end,
	} {
		runSchedules(t, body, 32, 33, func(seed uint64, got []uint32) {
			for l, mask := range got[1:] {
				if mask != 0xffffffff {
					t.Fatalf("%s, seed %d: lane %d goes on with lanes %08x, want all: they wait for each other where the branch ends", name, seed, l, mask)
				}
			}
		})
	}
}

// Lanes that wait where a branch ends do so until those that spin have had a turn since another lane did something.
func TestLanesWaitForThoseWhoseWordWasWritten(t *testing.T) {
	body := addressOfThread + `	setp.ge.u32 %p1, %r31, 16;
	@%p1 bra WRITE;
	setp.ge.u32 %p1, %r31, 8;
	@%p1 bra JOIN;
SPIN:
	ld.volatile.global.u32 %r1, [%rd1+128];
	setp.eq.u32 %p2, %r1, 0;
	@%p2 bra SPIN;
JOIN:
	activemask.b32 %r2;
	st.global.u32 [%rd3], %r2;
	ret;
WRITE:
	st.volatile.global.u32 [%rd1+128], 1;
`
	runSchedules(t, body, 32, 33, func(seed uint64, got []uint32) {
		if got[0] != 0xffff || got[15] != 0xffff {
			t.Fatalf("seed %d: masks %08x and %08x behind the loop, want 0000ffff", seed, got[0], got[15])
		}
	})
}

// A lock that lanes of one warp take one after the other: whoever holds it is past the loop in which the others wait.
func TestALockInsideAWarp(t *testing.T) {
	body := `LOCK:
	atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra LOCK;
	ld.volatile.global.u32 %r2, [%rd1+4];
	add.s32 %r2, %r2, %r31;
	st.volatile.global.u32 [%rd1+4], %r2;
	membar.gl;
	atom.release.gpu.global.exch.b32 %r1, [%rd1], 0;
`
	runSchedules(t, body, 64, 2, func(seed uint64, got []uint32) {
		if got[0] != 0 || got[1] != 63*64/2 {
			t.Fatalf("seed %d: lock %d, sum %d; want 0 and %d", seed, got[0], got[1], 63*64/2)
		}
	})
}

// Lanes that looked at memory before a loop in which they only compute do not give way there: nor does it count what other lanes look at.
func TestLanesThatLookedAtMemoryBeforeALoopDoNotGiveWayInIt(t *testing.T) {
	look := "\tld.volatile.global.u32 %r9, [%rd1];\n"
	loop := "\tmov.u32 %r1, 0;\nLOOP:\n\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2, %r1, 30000;\n\t@%p2 bra LOOP;\n"
	branch := "\tsetp.ge.u32 %p1, %r31, 16;\n\t@%p1 bra DONE;\n\tsetp.gt.u32 %p1, %r31, 99;\n\t@%p1 bra NEVER;\n"
	end := "DONE:\n" + addressOfThread + "\tactivemask.b32 %r2;\n\tst.global.u32 [%rd3], %r2;\nNEVER:\n"
	for name, body := range map[string]string{"all": look + branch + loop + end, "these": branch + look + loop + end} {
		runSchedules(t, body, 32, 32, func(seed uint64, got []uint32) {
			if got[0] != 0xffffffff || got[31] != 0xffffffff {
				t.Fatalf("%s, seed %d: masks %08x and %08x behind the loop, want all lanes", name, seed, got[0], got[31])
			}
		})
	}
}

// A loop in which a counter runs while lanes wait, as one with a time-out has it, comes to its end by the counter alone.
func TestLanesThatCountAreNotTakenForWaiting(t *testing.T) {
	body := `	setp.ge.u32 %p1, %r31, 16;
	@%p1 bra DONE;
	mov.u32 %r1, 0;
LOOP:
	add.s32 %r1, %r1, 1;
	setp.lt.u32 %p2, %r1, 30000;
	@%p2 bra LOOP;
DONE:
` + addressOfThread + "\tactivemask.b32 %r2;\n\tst.global.u32 [%rd3], %r2;\n"
	runSchedules(t, body, 32, 32, func(seed uint64, got []uint32) {
		if got[0] != 0xffffffff || got[31] != 0xffffffff {
			t.Fatalf("seed %d: masks %08x and %08x behind the branch, want all lanes", seed, got[0], got[31])
		}
	})
}

// Lanes exchange values from both arms of a branch: the manual lets them wait for each other by the mask alone.
func TestShufflesInBothArmsExchangeValues(t *testing.T) {
	for _, c := range []struct{ name, first, second string }{
		{"one register", "\tshfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\n", "\tshfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\n"},
		{"two registers", "\tadd.s32 %r3, %r1, 0;\n\tshfl.sync.bfly.b32 %r3, %r3, 16, 31, -1;\n\tmov.u32 %r2, %r3;\n", "\tmov.u32 %r4, %r1;\n\tmov.u32 %r3, 5;\n\tshfl.sync.bfly.b32 %r2, %r4, 16, 31, -1;\n"},
	} {
		body := "\tadd.s32 %r1, %r31, 100;\n\tsetp.lt.u32 %p1, %r31, 16;\n\t@%p1 bra LOW;\n" + c.first + "\tadd.s32 %r2, %r2, 1000;\n\tbra DONE;\nLOW:\n" +
			c.second + "DONE:\n" + addressOfThread + "\tst.global.u32 [%rd3], %r2;\n"
		runSchedules(t, body, 32, 32, func(seed uint64, got []uint32) {
			for l, v := range got {
				want := uint32(l^16) + 100
				if l >= 16 {
					want += 1000
				}
				if v != want {
					t.Fatalf("%s, seed %d: lane %d has %d, want %d", c.name, seed, l, v, want)
				}
			}
		})
	}
}

// bar.warp.sync orders what lanes of a warp do in different arms of a branch.
func TestWarpBarriersInBothArms(t *testing.T) {
	body := `	setp.lt.u32 %p1, %r31, 16;
	@%p1 bra LOW;
	bar.warp.sync -1;
	ld.volatile.global.u32 %r1, [%rd1];
	bra DONE;
LOW:
	st.volatile.global.u32 [%rd1], 5;
	mov.u32 %r1, 0;
	bar.warp.sync -1;
DONE:
` + addressOfThread + "\tst.global.u32 [%rd3+4], %r1;\n"
	runSchedules(t, body, 32, 33, func(seed uint64, got []uint32) {
		if got[1] != 0 || got[32] != 5 {
			t.Fatalf("seed %d: lane 0 has %d, lane 31 has %d; want 0 and 5", seed, got[1], got[32])
		}
	})
}

// Lanes of a warp may come to a barrier that is not aligned in groups and in different places.
func TestBarriersThatAreNotAlignedInBothArms(t *testing.T) {
	body := `	.shared .align 4 .b8 tile[256];
	mov.u32 %r1, tile;
	shl.b32 %r2, %r31, 2;
	add.s32 %r3, %r1, %r2;
	xor.b32 %r4, %r2, 252;
	add.s32 %r4, %r1, %r4;
	and.b32 %r5, %r31, 1;
	setp.eq.u32 %p1, %r5, 0;
	@%p1 bra EVEN;
	st.shared.u32 [%r3], %r31;
	barrier.sync 0;
	ld.shared.u32 %r6, [%r4];
	bra DONE;
EVEN:
	st.shared.u32 [%r3], %r31;
	barrier.sync 0;
	ld.shared.u32 %r6, [%r4];
DONE:
` + addressOfThread + "\tst.global.u32 [%rd3], %r6;\n"
	runSchedules(t, body, 64, 64, func(seed uint64, got []uint32) {
		for l, v := range got {
			if v != uint32(63-l) {
				t.Fatalf("seed %d: thread %d has %d, want %d", seed, l, v, 63-l)
			}
		}
	})
}

// Lanes that end while others of their warp wait at a barrier are not waited for.
func TestABarrierDoesNotWaitForLanesThatEnd(t *testing.T) {
	body := `	setp.lt.u32 %p1, %r31, 8;
	@%p1 bra WAITS;
	st.global.u32 [%rd1+4], 7;
	exit;
WAITS:
	barrier.sync 0, 64;
	st.global.u32 [%rd1], 9;
`
	data := make([]byte, 8)
	l := testLaunch(1, 64, data, 0)
	mustRun(t, strings.Replace(entry(body), "setp.lt.u32 %p1, %r31, 8", "and.b32 %r1, %r31, 31;\n\tsetp.lt.u32 %p1, %r1, 8", 1), l)
	if got := wordsOf(data); got[0] != 9 || got[1] != 7 {
		t.Errorf("words %v, want 9 and 7", got)
	}
}

// A block that two arms of a divergent branch enter, of which one has a way to the end around it: no way out of the branch leads to
// it for sure, so a GPU does not wait there and executes it in parts (triton #11153).
const threaded = `	and.b32 %r1, %r31, 1;
	setp.eq.u32 %p1, %r1, 0;
	setp.ne.u32 %p2, %r30, 0;
	@%p1 bra EVEN;
	st.global.u32 [%rd1], %r31;
	bra JOIN;
EVEN:
	@%p2 bra DONE;
JOIN:
	CONVERGENT
DONE:
`

func TestAConvergentInstructionBeforeThePlaceWhereABranchEnds(t *testing.T) {
	for instruction, found := range map[string]bool{
		"bar.sync 0;": false, // counts lanes as they come
		"bar.sync 0;\n\tmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};":                             true,
		"bar.warp.sync -1;\n\tmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};":                       false,
		"shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n\tmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};": false,
		"bar.warp.sync %r9;\n\tmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};":                      true, // of a few lanes
		"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};":                                            true,
		".shared .align 16 .b8 tile[512];\n\tldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [tile];":                                      true,
		"shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;":    false,
		"vote.sync.ballot.b32 %r2, %p1, 0xffffffff;": false,
		"barrier.sync 0;": false,
	} {
		body := "\tshl.b32 %r9, 1, %r31;\n" + strings.Replace(threaded, "CONVERGENT", instruction, 1)
		text := strings.Replace(entry(body), "{\n", "{\n\t.reg .f64 %d<8>;\n", 1)
		l := testLaunch(1, 32, make([]byte, 4), 0)
		l.Options.NoRaces = true
		r := mustRun(t, text, l)
		said := len(r.Findings) == 1 && r.Findings[0].Check == "convergence" && strings.Contains(r.Findings[0].Message, "different ways")
		if said != found || !found && len(r.Findings) > 0 {
			t.Errorf("%s: findings %+v", instruction, r.Findings)
		}
		l.Options.NoConvergence = true
		if r := mustRun(t, text, l); len(r.Findings) != 0 {
			t.Errorf("%s: findings %+v, but the check is off", instruction, r.Findings)
		}
	}
}

// The same block without the way around it: the branch ends there.
func TestAConvergentInstructionWhereABranchEnds(t *testing.T) {
	const product = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};"
	body := strings.NewReplacer("@%p2 bra DONE", "st.global.u32 [%rd1], %r30", "CONVERGENT", product).Replace(threaded)
	text := strings.Replace(entry(body), "{\n", "{\n\t.reg .f64 %d<8>;\n", 1)
	if r := mustRun(t, text, testLaunch(1, 32, make([]byte, 4), 0)); len(r.Findings) != 0 {
		t.Errorf("findings %+v", r.Findings)
	}
}

// A loop out of which some lanes may break in one arm of a branch, but none does, or all that are left do at once: every lane comes to
// the barrier in every pass, so it is a correct program, although the way out lets the branch end only behind the loop. A product there
// is what triton #11153 computes wrongly.
func TestABarrierBehindABranchWithAWayOutOfTheLoop(t *testing.T) {
	const loop = `	mov.u32 %r1, 0;
	and.b32 %r2, %r31, 1;
	setp.eq.u32 %p1, %r2, 0;
	setp.eq.u32 %p3, %r30, 77;
LOOP:
	@%p1 bra SKIP;
	@%p3 bra OUT;
	add.s32 %r3, %r3, 1;
SKIP:
	CONVERGENT
	add.s32 %r1, %r1, 1;
	setp.lt.u32 %p2, %r1, 5;
	@%p2 bra LOOP;
OUT:
`
	for instruction, found := range map[string]bool{
		"bar.sync 0;":                   false,
		"bar.red.popc.u32 %r3, 0, %p1;": false,
		"barrier.sync.aligned 0;":       false,
		"barrier.sync 0;":               false,
		"@%p1 bar.sync 0;":              true,
		"setp.eq.u32 %p4, %r31, 3;\n\t@%p4 bra OUT;\n\tbar.sync 0;":                             true,
		"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};": true,
	} {
		text := strings.Replace(entry(strings.Replace(loop, "CONVERGENT", instruction, 1)), "{\n", "{\n\t.reg .f64 %d<8>;\n", 1)
		if r := mustRun(t, text, testLaunch(1, 64, make([]byte, 4), 0)); (len(r.Findings) > 0) != found {
			t.Errorf("%s: findings %+v", instruction, r.Findings)
		}
	}
}

// Matrix instructions that a part of a warp executes, or all that is left of one.
func TestMatrixInstructionsNeedTheWholeWarp(t *testing.T) {
	const product = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};\n"
	for name, c := range map[string]struct{ body, says string }{
		"branch": {"\tsetp.lt.u32 %p1, %r31, 8;\n\t@%p1 bra DONE;\n\t" + product + "DONE:\n", "lanes ffffff00 are here, lanes 000000ff are elsewhere"},
		"guard":  {"\tsetp.lt.u32 %p1, %r31, 8;\n\t@%p1 " + product, "lanes 000000ff are here, lanes ffffff00 are elsewhere"},
		"ended":  {"\tsetp.lt.u32 %p1, %r31, 8;\n\t@%p1 exit;\n\t" + product, "lanes 000000ff have ended"},
		"whole":  {"\t" + product, ""},
	} {
		text := strings.Replace(entry(c.body), "{\n", "{\n\t.reg .f64 %d<8>;\n", 1)
		r := mustRun(t, text, testLaunch(1, 32, make([]byte, 4), 0))
		switch {
		case c.says == "" && len(r.Findings) != 0:
			t.Errorf("%s: findings %+v", name, r.Findings)
		case c.says != "" && !strings.Contains(only(t, r, "convergence").Message, c.says):
			t.Errorf("%s: message %q, want %q", name, r.Findings[0].Message, c.says)
		}
	}
}

// Lanes that go on to the next pass of a loop wait at its head until the others have come there. Those that enter the loop in the meantime
// go on with them, as all lanes do that are at one instruction while some of the warp wait elsewhere: lanes 24 to 31 do so until the end.
func TestLanesThatContinueGoOnWithThoseThatEnterTheLoop(t *testing.T) {
	body := addressOfThread + `	setp.lt.u32 %p1, %r31, 24;
	@%p1 bra EARLY;
	bar.warp.sync 0xffff0000;
	ret;
EARLY:
	setp.lt.u32 %p1, %r31, 16;
	@%p1 bra ENTER;
	bar.warp.sync 0x00ff00ff;
	setp.gt.u32 %p1, %r31, 99;
	@%p1 bra LATE;
ENTER:
	mov.u32 %r1, 0;
HEAD:
	add.s32 %r1, %r1, 1;
	activemask.b32 %r2;
	setp.eq.u32 %p1, %r1, 3;
	@%p1 bra OUT;
	st.global.u32 [%rd3], %r2;
	add.s64 %rd3, %rd3, 128;
	setp.ge.u32 %p1, %r31, 8;
	@%p1 bra HEAD;
	setp.eq.u32 %p1, %r1, 2;
	@%p1 bra HEAD;
	bar.warp.sync 0x00ff00ff;
	bra HEAD;
OUT:
	setp.ge.u32 %p1, %r31, 16;
	@%p1 bra LATE;
	ret;
LATE:
	bar.warp.sync 0xffff0000;
`
	want := [2][4]uint32{{0x0000ffff, 0x0000ffff, 0x00ffff00}, {0x00ffffff, 0x00ffff00, 0x00ffffff}} // of eight lanes each, by their pass
	runSchedules(t, body, 32, 64, func(seed uint64, got []uint32) {
		for i, mask := range got {
			if want := want[i/32][i%32/8]; mask != want {
				t.Fatalf("seed %d: lane %d is in its pass %d with lanes %08x, want %08x", seed, i%32, i/32, mask, want)
			}
		}
	})
}
