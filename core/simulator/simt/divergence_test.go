package simt

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/job"
)

// divergentLoop parts every warp n times, once within a branch that parted it already.
const divergentLoop = `	and.b32 %r1, %r31, 1;
	and.b32 %r6, %r31, 2;
	setp.eq.s32 %p1, %r1, 0;
	setp.eq.s32 %p3, %r6, 0;
	mov.u32 %r2, 0;
	mov.u32 %r3, 0;
AGAIN:
	@%p1 bra EVEN;
	add.s32 %r3, %r3, 3;
	@%p3 bra NEXT;
	add.s32 %r3, %r3, 7;
	bra.uni NEXT;
EVEN:
	add.s32 %r3, %r3, 5;
NEXT:
	add.s32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, %r30;
	@%p2 bra AGAIN;
`

func TestDivergentBranchesAllocateNothing(t *testing.T) {
	p := mustLoad(t, entry(divergentLoop+addressOfThread+"\tst.global.u32 [%rd3], %r3;"))
	j := job.New(context.Background(), job.Options{Workers: 1})
	allocations := func(rounds uint64) float64 {
		data := make([]byte, 4*64)
		l := testLaunch(1, 64, data, rounds)
		made := testing.AllocsPerRun(3, func() {
			if r, err := p.Run(j, l); err != nil || len(r.Findings) > 0 {
				t.Fatal(r, err)
			}
		})
		for lane, want := range []uint32{5, 3, 5, 10} {
			if got := wordsOf(data)[lane]; got != want*uint32(rounds) {
				t.Errorf("lane %d has %d, want %d", lane, got, want*uint32(rounds))
			}
		}
		return made
	}
	few, many := allocations(2), allocations(2000)
	if many > few+2 {
		t.Errorf("2000 rounds allocate %.0f times, 2 rounds %.0f times", many, few)
	}
}
