package execute

import (
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Several workers look for races in global memory as one would. Each sees the blocks that it runs; that is all there is to see where no block
// touches what another one writes, which shows when all have run. Where some do, memory is put back, and one worker runs all blocks in
// their order. So findings and results are those of one worker, always.

// racesApart reports whether workers may try that, and what it needs. Those who observe a launch have seen it when it is over.
func (r *Running) racesApart(limit int64) (bytes int64, ok bool) {
	bytes, ok = r.Global.MayUndo(r.loadsPointers())
	return bytes, ok && bytes <= limit && r.observer == nil
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
	r.undo = nil
	r.job.Progress().SetStage("simulate") // from its beginning
	r.job.Progress().SetTotal(int64(r.Blocks))
	r.spent.Store(0)
	r.options.Workers = 1
	return r.hire()
}
