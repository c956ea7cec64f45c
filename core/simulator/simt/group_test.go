package simt

import (
	"testing"
)

// Lanes of several groups exchange values in both arms of a branch. Each group waits for the lanes that it names, not for those of
// the others that stand at the same instruction.
func TestGroupsExchangeValuesInBothArms(t *testing.T) {
	body := `	and.b32 %r1, %r31, 3;
	match.any.sync.b32 %r2, %r1, -1;
	add.s32 %r3, %r31, 1;
	setp.lt.u32 %p1, %r31, 16;
	@%p1 bra LOW;
	redux.sync.add.u32 %r4, %r3, %r2;
	bra DONE;
LOW:
	redux.sync.add.u32 %r4, %r3, %r2;
DONE:
` + addressOfThread + "\tst.global.u32 [%rd3], %r4;\n"
	runSchedules(t, body, 32, 32, func(seed uint64, got []uint32) {
		for l, v := range got {
			want := uint32(0)
			for o := l & 3; o < 32; o += 4 {
				want += uint32(o + 1)
			}
			if v != want {
				t.Fatalf("seed %d: lane %d has %d, want %d", seed, l, v, want)
			}
		}
	})
}

// A group that is whole goes on although another one, at the same instruction, still waits for a lane that waits for the first.
func TestAGroupDoesNotWaitForAnother(t *testing.T) {
	body := `	setp.lt.u32 %p1, %r31, 16;
	selp.b32 %r2, 0x0000ffff, 0xffff0000, %p1;
	setp.eq.u32 %p2, %r31, 31;
	@%p2 bra LAST;
	bra MEET;
LAST:
	ld.volatile.global.u32 %r1, [%rd1];
	setp.eq.u32 %p3, %r1, 0;
	@%p3 bra LAST;
MEET:
	bar.warp.sync %r2;
	st.volatile.global.u32 [%rd1], 1;
`
	runSchedules(t, body, 32, 1, func(seed uint64, got []uint32) {
		if got[0] != 1 {
			t.Fatalf("seed %d: %d", seed, got[0])
		}
	})
}

// Two groups come to one vote, each without lanes that end elsewhere: they vote among themselves. This is what seed 21529 of the
// structured programs comes to, in which the slow twin let them vote with each other.
func TestGroupsAtOneVoteKeepToThemselves(t *testing.T) {
	body := `	and.b32 %r1, %r31, 1;
	match.any.sync.b32 %r2, %r1, -1;
	and.b32 %r3, %r31, 8;
	setp.ne.u32 %p2, %r3, 0;
	setp.ge.u32 %p1, %r31, 16;
	@%p1 bra LATE;
	vote.sync.ballot.b32 %r4, %p2, %r2;
` + addressOfThread + `	st.global.u32 [%rd3], %r4;
	exit;
LATE:
	@%p1 exit;
	bar.warp.sync 1;
`
	runSchedules(t, body, 32, 32, func(seed uint64, got []uint32) {
		for l, v := range got {
			if want := []uint32{0x5500, 0xaa00}[l&1]; l < 16 && v != want || l >= 16 && v != 0 {
				t.Fatalf("seed %d: lane %d has %08x, want %08x in the first half", seed, l, v, want)
			}
		}
	})
}

// Lanes that wait for one that ends later go on then, although another one goes round a loop until they do.
func TestAGroupWhoseLastLaneEndsGoesOn(t *testing.T) {
	for name, way := range map[string]string{
		"ends":   "\t@%p1 exit;\n\tbar.warp.sync 1;\n",
		"leaves": "\t@%p1 bra DONE;\n\tbar.warp.sync 1;\n",
	} {
		body := `	setp.eq.u32 %p1, %r31, 0;
	@%p1 bra ENDS;
	setp.eq.u32 %p2, %r31, 1;
	@%p2 bra LOOKS;
	st.volatile.global.u32 [%rd1+4], 1;
	bar.warp.sync 0xfffffffd;
	st.volatile.global.u32 [%rd1], 1;
	exit;
LOOKS:
	ld.volatile.global.u32 %r1, [%rd1];
	setp.eq.u32 %p3, %r1, 0;
	@%p3 bra LOOKS;
	exit;
ENDS:
	ld.volatile.global.u32 %r1, [%rd1+4];
	setp.eq.u32 %p3, %r1, 0;
	@%p3 bra ENDS;
` + way + "DONE:\n"
		runSchedules(t, body, 32, 3, func(seed uint64, got []uint32) {
			if got[0] != 1 {
				t.Fatalf("%s, seed %d: %d", name, seed, got[0])
			}
		})
	}
}

// A mask may name lanes that have ended, but must name those that pass it, and a lane that has ended holds nothing to read.
func TestMasksThatNameLanesWhichHaveEnded(t *testing.T) {
	for instruction, found := range map[string]bool{
		"vote.sync.ballot.b32 %r1, %p1, 0xffffff00;":       false,
		"vote.sync.ballot.b32 %r1, %p1, 0xffff0000;":       true,
		"shfl.sync.idx.b32 %r1, %r31, 9, 31, 0xffffff00;":  false,
		"shfl.sync.idx.b32 %r1, %r31, 20, 31, 0xffffff00;": true,
	} {
		body := "\tsetp.ge.u32 %p1, %r31, 16;\n\t@%p1 exit;\n\tsetp.lt.u32 %p2, %r31, 8;\n\t@%p2 bra DONE;\n\t" +
			instruction + "\nDONE:\n\tbar.warp.sync 0xffff;\n"
		r := mustRun(t, entry(body), testLaunch(1, 32, make([]byte, 4), 0))
		if found != (len(r.Findings) == 1 && r.Findings[0].Check == "bad-shuffle") || !found && len(r.Findings) > 0 {
			t.Errorf("%s: findings %+v", instruction, r.Findings)
		}
	}
}
