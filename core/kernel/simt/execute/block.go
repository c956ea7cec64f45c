package execute

import (
	"context"
	"math/rand/v2"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/simt/code"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/kernel/simt/target"
)

// Block is one thread block that runs. It is used for one block after the other.
type Block struct {
	Running *Running
	Linear  uint64 // its number in the grid

	ctx     context.Context
	kernel  *code.Kernel
	code    []code.Inst
	counts  []count
	mem     *memory.Block
	found   *findings
	watcher BlockObserver
	warps   []*Warp
	order   []int
	random  *rand.Rand // nil: ascending order
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
	warps   []*Warp
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
func (b *Block) turn() bool {
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
func (b *Block) advance(budget uint64) (over bool, err error) {
	limit := b.steps + budget
	for b.alive > 0 && !b.ended && b.steps < limit {
		before := b.steps
		if !b.turn() && b.alive > 0 && !b.ended {
			b.deadlock()
		}
		if err := b.Running.spend(b.ctx, b.steps-before); err != nil {
			return true, err
		}
	}
	return b.alive == 0 || b.ended, b.err
}

// finish marks a warp whose lanes have all ended. Those that wait at a barrier may be all that is left.
func (b *Block) finish(w *Warp) {
	w.state = warpDone
	b.alive--
	b.mem.Exit(w.Index)
	for id := range b.arrived {
		if len(b.arrived[id].warps) > 0 {
			b.complete(&b.arrived[id])
		}
	}
}

// fail ends the block with an error.
func (b *Block) fail(err error) {
	if b.err == nil {
		b.err = err
	}
	b.ended = true
}

// diverge sends the lanes of a branch both ways.
func (b *Block) diverge(w *Warp, in *code.Inst, next int32, taken uint32) {
	p := w.pop()
	w.push(path{pc: in.Target, order: in.Arrive, depth: p.depth, lanes: taken})
	w.push(path{pc: next, order: b.code[next].Order, depth: p.depth, lanes: p.lanes &^ taken})
}

// control executes an instruction that changes where lanes go. The top of the stack already stands behind it.
func (b *Block) control(w *Warp, in *code.Inst, at int32, active, taken uint32) {
	if taken == 0 && in.Kind != code.KindSwitch {
		return
	}
	switch in.Kind {
	case code.KindReturn:
		w.leave(taken)
	case code.KindExit:
		w.end(taken)
	case code.KindTrap:
		b.report(CheckTrap, w, at, taken, "the kernel executed trap")
		b.ended = true
	case code.KindCall:
		if len(w.stack) >= maxPaths {
			b.fail(b.Running.limitError("calls are nested more than %d deep", maxPaths))
			return
		}
		if f := b.kernel.Frames[in.Detail]; f.Bytes > 0 {
			b.mem.ForgetLocal(w.Index, taken, f.First, f.Bytes)
		}
		depth := w.stack[len(w.stack)-1].depth
		w.stack = append(w.stack, path{pc: in.Target, depth: depth + 1, lanes: taken})
	case code.KindSwitch:
		b.sendAll(w, in, at, taken)
	case code.KindPrint:
		b.print(w, in, at, taken)
	case code.KindAssert:
		b.assert(w, in, at, taken)
		b.ended = true
	case code.KindBarrier:
		b.arrive(w, in, at, taken)
	}
}

// sendAll sends the lanes of an indexed jump to their labels. Lanes whose index is beyond the table stop the launch: the language
// leaves open where they go.
func (b *Block) sendAll(w *Warp, in *code.Inst, at int32, taken uint32) {
	targets := b.kernel.Switches[in.Detail]
	p := w.pop()
	if others := p.lanes &^ taken; others != 0 {
		w.push(path{pc: at + 1, order: b.code[at+1].Order, depth: p.depth, lanes: others})
	}
	for rest := taken; rest != 0; rest &= rest - 1 {
		l := first(rest)
		index := w.Regs.R32[in.Ops.A][l]
		if int64(index) >= int64(len(targets)) {
			b.fail(fault.New(fault.Format, "%s: index %d of a jump table with %d labels, block %v, warp %d, lane %d",
				b.kernel.Name, index, len(targets), b.index, w.Index, l))
			return
		}
		t := &targets[index]
		w.push(path{pc: t.At, order: t.Arrive, depth: p.depth, lanes: 1 << l})
	}
}
