package record

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/compile"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// slowFirstBlock is a kernel whose first block goes around its loop 1000 times as often as the others.
const slowFirstBlock = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
	.reg .pred %p<3>;
	.reg .b32 %r<3>;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r1, 20;
	setp.eq.u32 %p2, %r2, 0;
	@%p2 mov.u32 %r1, 20000;
TOP:
	add.s32 %r1, %r1, -1;
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra TOP;
	ret;
}
`

// TestWorkersWaitForABlockThatTakesLong: while the first block runs the others wait to be handed over, and where little may wait
// their workers do.
func TestWorkersWaitForABlockThatTakesLong(t *testing.T) {
	const blocks = 64
	m, err := ptx.Read(context.Background(), "k.ptx", []byte(slowFirstBlock))
	if err != nil {
		t.Fatal(err)
	}
	k, err := compile.Kernel(target.SM80, "k.ptx", m, m.Functions[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 4} {
		next := uint64(0)
		r := Request{Mode: warptrace.ModeControlFlow, Warp: func(w *warptrace.Warp) error {
			if w.Warp != next {
				t.Errorf("%d workers: warp %d came where %d was due", workers, w.Warp, next)
			}
			next++
			return nil
		}}
		l := &execute.Launch{Kernel: "k", Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{32, 1, 1}, Options: execute.Options{Workers: workers}}
		rec := New(k, sites.Find(m, m.Functions[0], nil), &r, 0, l.Block).(*recorder)
		rec.most = 1
		if _, err := execute.Run(job.New(context.Background(), job.Options{Workers: workers}), k, &execute.Variables{}, l, rec); err != nil {
			t.Fatal(err)
		}
		if next != blocks || rec.held != 0 {
			t.Errorf("%d workers: %d warps of %d came, %d bytes are held", workers, next, blocks, rec.held)
		}
	}
}

// Half of the memory that a job may take is for what the warps of one block recorded, in events of 96 bytes.
func TestTheMemoryOfAJobBoundsItsRecording(t *testing.T) {
	m, err := ptx.Read(context.Background(), "k.ptx", []byte(slowFirstBlock))
	if err != nil {
		t.Fatal(err)
	}
	k, err := compile.Kernel(target.SM80, "k.ptx", m, m.Functions[0])
	if err != nil {
		t.Fatal(err)
	}
	list := sites.Find(m, m.Functions[0], nil)
	for _, tc := range []struct {
		asked  uint32
		memory int64
		block  [3]uint32
		want   int
	}{
		{0, 96 << 20, [3]uint32{32, 1, 1}, 1 << 19},
		{0, 96 << 20, [3]uint32{32, 2, 2}, 1 << 17},
		{0, 96 << 20, [3]uint32{33, 1, 1}, 1 << 18},
		{500, 96 << 20, [3]uint32{32, 1, 1}, 500},
		{1 << 20, 96 << 20, [3]uint32{32, 1, 1}, 1 << 19},
		{0, 1, [3]uint32{1024, 1, 1}, 1024},
		{0, 1 << 40, [3]uint32{32, 1, 1}, maxWarpEvents},
		{0, 0, [3]uint32{32, 1, 1}, maxWarpEvents},
	} {
		r := New(k, list, &Request{EventsPerWarp: tc.asked}, tc.memory, tc.block).(*recorder)
		if r.limit != tc.want {
			t.Errorf("%d asked for in %d bytes, blocks of %v: %d events per warp, want %d", tc.asked, tc.memory, tc.block, r.limit, tc.want)
		}
	}
}
