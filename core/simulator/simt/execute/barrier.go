package execute

import (
	"fmt"
	"math/bits"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// arrive brings a warp to a barrier. A warp whose lanes are not all there is a finding; it counts as arrived.
func (b *Block) arrive(w *Warp, in *code.Inst, at int32, taken uint32) {
	d := &b.kernel.Barriers[in.Detail]
	id := int32(0)
	if d.ID >= 0 {
		id = int32(w.Regs.R32[d.ID][first(taken)])
	}
	if id < 0 || id >= target.Barriers {
		b.report(checkBarrier, w, at, taken, fmt.Sprintf("barrier %d: a block has barriers 0 to %d", uint32(id), target.Barriers-1))
		return
	}
	gone := w.ending()
	if missing := w.live &^ taken &^ gone; missing != 0 && d.Aligned {
		b.report(checkBarrier, w, at, taken, fmt.Sprintf("lanes %08x of the warp are at the barrier and lanes %08x are elsewhere", taken, missing))
		gone |= missing // counts as arrived
	}
	g := &b.arrived[id]
	want := 0
	if d.Threads >= 0 {
		want = int(w.Regs.R32[d.Threads][first(taken)])
	}
	if g.threads == 0 {
		g.at, g.want, g.mixed, g.count, g.lanes = at, want, false, 0, 0
		g.full = 0
		clear(g.came[:])
	}
	if g.at != at && want == 0 {
		g.mixed = true
	}
	g.came[w.Index] |= taken
	whole := w.live&^gone&^g.came[w.Index] == 0
	g.threads += bits.OnesCount32(taken)
	if whole {
		g.full |= 1 << w.Index
		g.threads += lane.Lanes - bits.OnesCount32(g.came[w.Index])
	}
	if d.Reduce != code.ReduceNone {
		g.count += uint32(bits.OnesCount32(w.Regs.P[d.In.Index] & taken))
		g.lanes += uint32(bits.OnesCount32(taken))
	}
	if d.Arrive {
		b.mem.Arrive(int(id), w.Index)
	} else {
		g.waiting = append(g.waiting, arrival{w, at, taken})
		b.halt(w, taken, whole)
	}
	g.id = id
	b.complete(g)
}

// halt lets lanes of the path that runs wait at a barrier: the warp, when they are the last, and else they alone.
func (b *Block) halt(w *Warp, taken uint32, whole bool) {
	if whole && !w.partial {
		w.state = warpWaits
		return
	}
	w.partial, w.slow = true, true
	p := &w.paths[w.run]
	if others := p.lanes &^ taken; others != 0 {
		rest := *p
		p.lanes = taken
		p.state = pathBarrier
		rest.lanes = others
		w.place(rest)
		return
	}
	p.state = pathBarrier
	w.wake()
}

// complete lets the warps of a barrier go on when all that it waits for are there. Threads that have ended count as arrived where a
// barrier waits for the whole block, as on hardware since Volta: __syncthreads() asks for all threads of the block that have not exited.
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
	for _, a := range g.waiting {
		met |= 1 << a.w.Index
		a.w.state = warpReady
		b.reduced(a, g)
		if a.w.partial {
			a.w.resume(a.lanes)
		}
	}
	g.waiting, g.threads = g.waiting[:0], 0
	b.mem.Meet(int(g.id), met)
}

// resume lets lanes go on that waited at a barrier while others of their warp did not.
func (w *Warp) resume(lanes uint32) {
	partial := false
	for i := range w.paths {
		p := &w.paths[i]
		if p.state == pathBarrier && p.lanes&lanes != 0 {
			p.state = pathReady
		}
		partial = partial || p.state == pathBarrier
	}
	w.partial = partial
}

// left looks again at barriers to which a part of a warp has come when lanes of it end.
func (b *Block) left(w *Warp) {
	if !w.partial {
		return
	}
	gone := w.ending()
	for i := range b.arrived {
		g := &b.arrived[i]
		if came := g.came[w.Index]; g.threads > 0 && came != 0 && w.live != 0 && w.live&^gone&^came == 0 && g.full>>w.Index&1 == 0 {
			g.full |= 1 << w.Index
			g.threads += lane.Lanes - bits.OnesCount32(came)
			b.complete(g)
		}
	}
}

// checkGathering reports a barrier of the whole block whose warps came to it in different places.
func (b *Block) checkGathering(g *gathering) {
	if len(g.waiting) == 0 {
		return
	}
	a := g.waiting[0]
	if g.mixed && b.aligned(a.at) {
		for _, other := range g.waiting {
			if other.at != a.at {
				b.report(checkBarrier, a.w, a.at, a.lanes, fmt.Sprintf("warp %d waits at another barrier instruction: %s", other.w.Index, b.kernel.Text(other.at)))
				return
			}
		}
	}
}

// aligned reports whether all lanes of a warp must come to a barrier at once.
func (b *Block) aligned(at int32) bool { return b.kernel.Barriers[b.code[at].Detail].Aligned }

// reduced hands the result of bar.red to those that waited.
func (b *Block) reduced(a arrival, g *gathering) {
	d, r := &b.kernel.Barriers[b.code[a.at].Detail], &a.w.Regs
	switch d.Reduce {
	case code.ReducePopc:
		for l := range r.R32[d.Out.Index] {
			if a.lanes>>l&1 != 0 {
				r.R32[d.Out.Index][l] = g.count
			}
		}
	case code.ReduceAnd, code.ReduceOr:
		set := uint32(0)
		if d.Reduce == code.ReduceAnd && g.count == g.lanes || d.Reduce == code.ReduceOr && g.count > 0 {
			set = a.lanes
		}
		r.P[d.Out.Index] = r.P[d.Out.Index]&^a.lanes | set
	}
}

// deadlock ends a block of which every warp waits.
func (b *Block) deadlock() {
	b.ended = true
	var at *gathering
	var who arrival
	for i := range b.arrived {
		for _, a := range b.arrived[i].waiting {
			if at == nil || a.w.Index < who.w.Index {
				at, who = &b.arrived[i], a
			}
		}
	}
	if at == nil {
		return
	}
	want := b.alive * lane.Lanes
	if at.want > 0 {
		want = at.want
	}
	b.report(checkDeadlock, who.w, who.at, who.lanes, fmt.Sprintf("every warp of the block waits: at barrier %d are %d of %d threads", at.id, at.threads, want))
}
