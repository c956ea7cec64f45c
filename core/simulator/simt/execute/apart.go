package execute

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Several workers look for races in global memory as one would. Each sees the blocks that it runs; that is all there is to see where no block
// touches what another one writes, which shows when all have run. Where some do, memory is put back, and one worker runs all blocks in
// their order. So findings and results are those of one worker, always.
//
// Atomics and fences order the warps of different blocks, which is dear to follow and rarely matters: most kernels with atomics only add
// up by them. So one worker runs such a kernel without, unless it polls. Where accesses race then, memory is put back, too, and it
// runs once more with all that orders them.

// racesApart reports whether workers may try that, and what it needs. Those who observe a launch have seen it when it is over.
func (r *Running) racesApart(limit int64) (bytes int64, ok bool) {
	bytes, ok = r.Global.MayUndo(r.loadsPointers(), r.storesTo())
	return bytes, ok && bytes <= limit && r.observer == nil
}

// blind reports whether one worker tries the launch without what orders blocks.
func (r *Running) blind() bool {
	if !r.Kernel.Ordered || r.Kernel.Cooperative || r.Kernel.Loops != nil || r.once {
		return false
	}
	for i := range r.Code {
		if k := r.Code[i].Kind; k == code.KindMalloc || k == code.KindFree {
			return false
		}
	}
	return true
}

// storesTo are the parameters to whose arrays the kernel stores, as bits.
func (r *Running) storesTo() (set uint64) {
	for i := range r.Code {
		in := &r.Code[i]
		if in.Mem == nil || in.Kind != code.KindStore && in.Kind != code.KindAtomic || in.Mem.Space == ptx.Shared || in.Mem.Space == ptx.Local {
			continue
		}
		if in.Mem.Legal == 0 {
			return ^uint64(0)
		}
		set |= in.Mem.Legal
	}
	return set
}

// mustRepeat reports whether what workers found may not be all, or too much.
func (r *Running) mustRepeat(workers []*worker) bool {
	switch {
	case r.undo == nil || r.job.Context().Err() != nil:
		return false
	case len(workers) > 1:
		return !workersApart(workers)
	}
	for at := range workers[0].found.byPlace {
		if at.check == checkGlobalRace {
			return true
		}
	}
	return false
}

// loadsPointers reports whether an access may lead anywhere.
func (r *Running) loadsPointers() bool {
	for i := range r.Code {
		if m := r.Code[i].Mem; m != nil && m.Legal == 0 && m.Space != ptx.Shared && m.Space != ptx.Local {
			return true
		}
	}
	for i := range r.copies {
		if r.copies[i].From.Legal == 0 {
			return true
		}
	}
	return false
}

// workersApart reports whether no block touched what another one wrote.
func workersApart(workers []*worker) bool {
	var sights []*memory.Sight
	for _, x := range workers {
		sights = append(sights, x.sight)
	}
	return memory.Apart(sights)
}

// again hires one worker for a launch that several have run, and makes memory what it was.
func (r *Running) again() (workers []*worker, release func(), err error) {
	r.Global.Restore(r.undo)
	r.undo, r.once = nil, true
	r.job.Progress().SetStage("simulate") // from its beginning
	r.job.Progress().SetTotal(int64(r.Blocks))
	r.spent.Store(0)
	r.options.Workers = 1
	return r.hire()
}
