package simt

import (
	"context"
	"math/rand/v2"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/kernel/simt/target"
)

// block is one thread block that runs. It is used for one block after the other.
type block struct {
	launch  *launch
	ctx     context.Context
	kernel  *kernel
	code    []inst
	counts  []count
	mem     *memory.Block
	found   *findings
	watcher blockObserver
	warps   []*warp
	order   []int
	random  *rand.Rand // nil: ascending order
	linear  uint64
	index   [3]uint32
	rounds  uint64
	alive   int
	ended   bool // by a trap, a deadlock, the first finding or an error
	err     error
	arrived [target.Barriers]gathering
	output  *output
	steps   uint64 // instructions of all its warps
}

// gathering is the state of one numbered barrier.
type gathering struct {
	warps   []*warp
	threads int // that have arrived, in whole warps
	want    int // 0: all of the block
	id      int32
	at      int32  // instruction of the first that came
	mixed   bool   // the warps came to different instructions
	count   uint32 // of a reduction
	lanes   uint32
}

const (
	quantumAscending = 8192 // instructions of a warp before the next has its turn
	quantumLeast     = 64   // the same with a seed: between this and
	quantumMost      = 2048 // this
)

// turn lets every warp of the block that can run do so once, and reports whether any did.
func (b *block) turn() bool {
	ran := false
	if b.random != nil {
		b.random.Shuffle(len(b.order), func(i, j int) { b.order[i], b.order[j] = b.order[j], b.order[i] })
	}
	for _, i := range b.order {
		w := b.warps[i]
		if w.state != warpReady || b.ended {
			continue
		}
		quantum := quantumAscending
		if b.random != nil {
			quantum = quantumLeast + b.random.IntN(quantumMost-quantumLeast)
		}
		ran = true
		b.steps += uint64(b.run(w, quantum))
	}
	b.rounds++
	return ran
}

// advance runs the block for about budget instructions and reports whether it is over.
func (b *block) advance(budget uint64) (over bool, err error) {
	limit := b.steps + budget
	for b.alive > 0 && !b.ended && b.steps < limit {
		before := b.steps
		if !b.turn() && b.alive > 0 && !b.ended {
			b.deadlock()
		}
		if err := b.launch.spend(b.ctx, b.steps-before); err != nil {
			return true, err
		}
	}
	return b.alive == 0 || b.ended, b.err
}

// finish marks a warp whose lanes have all ended. Those that wait at a barrier may be all that is left.
func (b *block) finish(w *warp) {
	w.state = warpDone
	b.alive--
	b.mem.Exit(w.index)
	for id := range b.arrived {
		if len(b.arrived[id].warps) > 0 {
			b.complete(&b.arrived[id])
		}
	}
}

// fail ends the block with an error.
func (b *block) fail(err error) {
	if b.err == nil {
		b.err = err
	}
	b.ended = true
}

// diverge sends the lanes of a branch both ways.
func (b *block) diverge(w *warp, in *inst, next int32, taken uint32) {
	p := w.pop()
	w.push(path{pc: in.target, order: in.arrive, depth: p.depth, lanes: taken})
	w.push(path{pc: next, order: b.code[next].order, depth: p.depth, lanes: p.lanes &^ taken})
}

// control executes an instruction that changes where lanes go. The top of the stack already stands behind it.
func (b *block) control(w *warp, in *inst, at int32, active, taken uint32) {
	if taken == 0 && in.kind != kindSwitch {
		return
	}
	switch in.kind {
	case kindReturn:
		w.leave(taken)
	case kindExit:
		w.end(taken)
	case kindTrap:
		b.report(CheckTrap, w, at, taken, "the kernel executed trap")
		b.ended = true
	case kindCall:
		if len(w.stack) >= maxPaths {
			b.fail(b.launch.limitError("calls are nested more than %d deep", maxPaths))
			return
		}
		if f := b.kernel.frames[in.detail]; f.bytes > 0 {
			b.mem.ForgetLocal(w.index, taken, f.first, f.bytes)
		}
		depth := w.stack[len(w.stack)-1].depth
		w.stack = append(w.stack, path{pc: in.target, depth: depth + 1, lanes: taken})
	case kindSwitch:
		b.sendAll(w, in, at, taken)
	case kindPrint:
		b.print(w, in, at, taken)
	case kindAssert:
		b.assert(w, in, at, taken)
		b.ended = true
	case kindBarrier:
		b.arrive(w, in, at, taken)
	}
}

// sendAll sends the lanes of an indexed jump to their labels. Lanes whose index is beyond the table stop the launch: the language
// leaves open where they go.
func (b *block) sendAll(w *warp, in *inst, at int32, taken uint32) {
	targets := b.kernel.switches[in.detail]
	p := w.pop()
	if others := p.lanes &^ taken; others != 0 {
		w.push(path{pc: at + 1, order: b.code[at+1].order, depth: p.depth, lanes: others})
	}
	for rest := taken; rest != 0; rest &= rest - 1 {
		l := first(rest)
		index := w.regs.R32[in.ops.A][l]
		if int64(index) >= int64(len(targets)) {
			b.fail(fault.New(fault.Format, "%s: index %d of a jump table with %d labels, block %v, warp %d, lane %d",
				b.kernel.name, index, len(targets), b.index, w.index, l))
			return
		}
		t := &targets[index]
		w.push(path{pc: t.at, order: t.arrive, depth: p.depth, lanes: 1 << l})
	}
}
