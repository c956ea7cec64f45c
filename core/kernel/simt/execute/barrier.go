package execute

import (
	"fmt"
	"math/bits"

	"github.com/prlx-go/prlx/core/kernel/simt/code"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/target"
)

// arrive brings a warp to a barrier. A warp whose lanes are not all there is a finding; it counts as arrived.
func (b *Block) arrive(w *Warp, in *code.Inst, at int32, taken uint32) {
	d := &b.kernel.Barriers[in.Detail]
	id := int32(0)
	if d.ID >= 0 {
		id = int32(w.Regs.R32[d.ID][first(taken)])
	}
	if id < 0 || id >= target.Barriers {
		b.report(CheckBarrier, w, at, taken, fmt.Sprintf("barrier %d: a block has barriers 0 to %d", uint32(id), target.Barriers-1))
		return
	}
	if missing := w.live &^ taken &^ w.ending(); missing != 0 && d.Aligned {
		b.report(CheckBarrier, w, at, taken, fmt.Sprintf("lanes %08x of the warp are at the barrier and lanes %08x are elsewhere", taken, missing))
	}
	g := &b.arrived[id]
	want := 0
	if d.Threads >= 0 {
		want = int(w.Regs.R32[d.Threads][first(taken)])
	}
	if g.threads == 0 {
		g.at, g.want, g.mixed, g.count, g.lanes = at, want, false, 0, 0
	}
	if g.at != at && want == 0 {
		g.mixed = true
	}
	g.threads += lane.Lanes
	if d.Reduce != code.ReduceNone {
		g.count += uint32(bits.OnesCount32(w.Regs.P[d.In.Index] & taken))
		g.lanes += uint32(bits.OnesCount32(taken))
	}
	if d.Arrive {
		b.mem.Arrive(int(id), w.Index)
	} else {
		w.state, w.waits, w.at, w.arrived = warpWaits, id, at, taken
		g.warps = append(g.warps, w)
	}
	g.id = id
	b.complete(g)
}

// complete lets the warps of a barrier go on when all that it waits for are there. Warps that have ended count as arrived, as on
// hardware; that the barrier could not count on them is a finding.
func (b *Block) complete(g *gathering) {
	if g.threads == 0 {
		return
	}
	if g.want > 0 {
		if g.threads < g.want {
			return
		}
	} else {
		if g.threads < b.alive*lane.Lanes {
			return
		}
		b.checkGathering(g)
	}
	var met uint32
	for _, w := range g.warps {
		met |= 1 << w.Index
		w.state = warpReady
		b.reduced(w, g)
	}
	g.warps, g.threads = g.warps[:0], 0
	b.mem.Meet(int(g.id), met)
}

// checkGathering reports a barrier of the whole block that not the whole block came to.
func (b *Block) checkGathering(g *gathering) {
	if len(g.warps) == 0 {
		return
	}
	w := g.warps[0]
	if gone := len(b.warps) - b.alive; gone > 0 {
		b.report(CheckBarrier, w, w.at, w.arrived, fmt.Sprintf("%d of the %d warps of the block have ended and never come to the barrier", gone, len(b.warps)))
		return
	}
	if ended := w.born&^w.live | w.ending(); ended != 0 {
		b.report(CheckBarrier, w, w.at, w.arrived, fmt.Sprintf("lanes %08x of the warp have ended and never come to the barrier", ended))
		return
	}
	if g.mixed {
		for _, other := range g.warps {
			if other.at != w.at {
				b.report(CheckBarrier, w, w.at, w.arrived, fmt.Sprintf("warp %d waits at another barrier instruction: %s", other.Index, b.kernel.Text(other.at)))
				return
			}
		}
	}
}

// reduced hands the result of bar.red to a warp.
func (b *Block) reduced(w *Warp, g *gathering) {
	d := &b.kernel.Barriers[b.code[w.at].Detail]
	switch d.Reduce {
	case code.ReducePopc:
		for l := range w.Regs.R32[d.Out.Index] {
			if w.arrived>>l&1 != 0 {
				w.Regs.R32[d.Out.Index][l] = g.count
			}
		}
	case code.ReduceAnd, code.ReduceOr:
		set := uint32(0)
		if d.Reduce == code.ReduceAnd && g.count == g.lanes || d.Reduce == code.ReduceOr && g.count > 0 {
			set = w.arrived
		}
		w.Regs.P[d.Out.Index] = w.Regs.P[d.Out.Index]&^w.arrived | set
	}
}

// deadlock ends a block of which every warp waits.
func (b *Block) deadlock() {
	for _, w := range b.warps {
		if w.state != warpWaits {
			continue
		}
		g := &b.arrived[w.waits]
		have, want := g.threads, b.alive*lane.Lanes
		if g.want > 0 {
			want = g.want
		}
		b.report(CheckDeadlock, w, w.at, w.arrived, fmt.Sprintf("every warp of the block waits: at barrier %d are %d of %d threads", w.waits, have, want))
		break
	}
	b.ended = true
}
