package execute

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// Block is one thread block that runs. It is used for one block after the other. Every instruction of every warp goes through its methods:
// what they read and write lies in one struct so that the loop over instructions follows no further pointer. So it has many.
type Block struct {
	Running *Running
	Linear  uint64 // its number in the grid

	ctx    context.Context
	kernel *code.Kernel
	code   []code.Inst
	counts []count

	patterns []*memory.Pattern // of addresses, by instruction; nil: nothing is known
	mem      *memory.Block
	found    *findings
	watcher  BlockObserver
	warps    []*Warp
	order    []int
	random   *rand.Rand // nil: ascending order
	index    [3]uint32
	rounds   uint64
	alive    int
	ended    bool // by a trap, a deadlock, the first finding or an error
	err      error
	arrived  [target.Barriers]gathering
	output   *output
	steps    uint64 // instructions of all its warps

	patience uint64 // of lanes that go round a loop while others of their warp wait
	shares   []share
	resting  resting
}

// gathering is the state of one numbered barrier.
type gathering struct {
	waiting []arrival
	threads int // that have arrived; those of a warp that have ended count with the last of it
	want    int // 0: all of the block
	id      int32
	at      int32  // instruction of the first that came
	mixed   bool   // the warps came to different instructions
	count   uint32 // of a reduction
	lanes   uint32
	full    uint32                                 // warps of which no lane is still to come
	came    [target.MaxThreads / lane.Lanes]uint32 // lanes of each warp that have arrived
}

// arrival is a set of lanes of a warp that wait at a barrier.
type arrival struct {
	w     *Warp
	at    int32 // the instruction
	lanes uint32
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
		if w.state == warpRests {
			w.state = warpReady
		}
		if w.state != warpReady || b.ended {
			continue
		}
		w.passes = 0
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
		if err := b.Running.spend(b.ctx, b.steps-before, b.placed); err != nil {
			return true, err
		}
		if b.resting.rests(b) {
			return false, b.err
		}
	}
	if b.steps >= limit {
		for _, w := range b.warps {
			w.doubts = doubtsBefore
		}
	}
	return b.alive == 0 || b.ended, b.err
}

// placed says in words at which line the first warp of the block is that can run.
func (b *Block) placed() string {
	for _, w := range b.warps {
		if w.state != warpReady || w.run >= len(w.paths) {
			continue
		}
		for pc := w.paths[w.run].pc; pc >= 0; pc-- { // what a compiler added has no line: that before it does
			if where := b.kernel.Where(pc); len(where) > 0 && where[0].Line > 0 {
				return fmt.Sprintf(": it is at %s:%d", where[0].File, where[0].Line)
			}
		}
	}
	return ""
}

// finish marks a warp whose lanes have all ended. Those that wait at a barrier may be all that is left.
func (b *Block) finish(w *Warp) {
	w.state = warpDone
	b.alive--
	b.mem.Exit(w.Index)
	for id := range b.arrived {
		if len(b.arrived[id].waiting) > 0 {
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

// control executes an instruction that changes where lanes go. The top of the stack already stands behind it.
func (b *Block) control(w *Warp, in *code.Inst, at int32, active, taken uint32) {
	if taken == 0 && in.Kind != code.KindSwitch {
		return
	}
	switch in.Kind {
	case code.KindReturn:
		w.leave(taken)
		b.left(w)
	case code.KindExit:
		w.end(taken)
		b.left(w)
	case code.KindTrap:
		b.report(checkTrap, w, at, taken, "the kernel executed trap")
		b.ended = true
	case code.KindCall:
		b.call(w, in, at, taken)
	case code.KindSwitch:
		b.sendAll(w, in, at, taken)
	case code.KindPrint:
		b.changed()
		b.print(w, in, at, taken)
	case code.KindAssert:
		b.assert(w, in, at, taken)
		b.ended = true
	case code.KindBarrier:
		b.arrive(w, in, at, taken)
	}
}

// call sends lanes into a function. The others wait behind the call.
func (b *Block) call(w *Warp, in *code.Inst, at int32, taken uint32) {
	if in.Detail < 0 {
		b.callPointers(w, in, at, taken)
		return
	}
	if b.kernel.Frames[in.Detail].Dynamic {
		b.callDynamic(w, at, taken, in.Detail)
		return
	}
	p := w.take()
	if depthOf(p.frame) >= maxDepth {
		b.fail(b.Running.limitError("calls are nested more than %d deep", maxDepth))
		return
	}
	if f := b.kernel.Frames[in.Detail]; f.Bytes > 0 {
		b.mem.ForgetLocal(w.Index, taken, f.First, f.Bytes)
	}
	back := b.code[at+1].Order
	if others := p.lanes &^ taken; others != 0 {
		rest := p
		rest.pc, rest.order, rest.lanes = at+1, back, others
		w.place(rest)
	}
	p.frame = w.frameOf(p.frame, at+1, back, in.Detail)
	p.pc, p.order, p.lanes, p.ending = in.Target, b.code[in.Target].Order, taken, 0
	w.place(p)
}

// frameOf is a call from one place: that of lanes which are still in it, if there are such.
func (w *Warp) frameOf(parent *frame, back, order, function int32) *frame {
	depth := depthOf(parent) + 1
	for i := range w.paths {
		f := w.paths[i].frame
		for depthOf(f) > depth {
			f = f.parent
		}
		if f != nil && f.depth == depth && f.parent == parent && f.back == back && f.function == function {
			return f
		}
	}
	var f *frame
	if last := len(w.frames) - 1; last >= 0 {
		f, w.frames = w.frames[last], w.frames[:last]
	} else {
		f = new(frame)
	}
	*f = frame{parent: parent, back: back, order: order, depth: depth, function: function}
	return f
}

// freeFrame keeps the room of a call that lanes have left, if they were the last.
func (w *Warp) freeFrame(f *frame) {
	for i := range w.paths {
		for g := w.paths[i].frame; depthOf(g) >= f.depth; g = g.parent {
			if g == f {
				return
			}
		}
	}
	w.frames = append(w.frames, f)
}

// sendAll sends the lanes of an indexed jump to their labels. Lanes whose index is beyond the table stop the launch: the language
// leaves open where they go.
func (b *Block) sendAll(w *Warp, in *code.Inst, at int32, taken uint32) {
	targets := b.kernel.Switches[in.Detail]
	var to [32]uint32 // lanes by the first lane that goes to their place
	var index [32]*code.Label
	ways := 0
	for rest := taken; rest != 0; rest &= rest - 1 {
		l := first(rest)
		i := w.Regs.R32[in.Ops.A][l]
		if int64(i) >= int64(len(targets)) {
			b.fail(fault.New(fault.Format, "%s: index %d of a jump table with %d labels, block %v, warp %d, lane %d",
				b.kernel.Name, i, len(targets), b.index, w.Index, l))
			return
		}
		way := 0
		for way < ways && index[way].At != targets[i].At {
			way++
		}
		if way == ways {
			index[way] = &targets[i]
			ways++
		}
		to[way] |= 1 << l
	}
	p := w.take()
	p.ending = 0
	others := p.lanes &^ taken
	divided := (ways > 1 || ways == 1 && others != 0) && w.divide(&p, in.Join)
	if others != 0 {
		rest := p
		rest.pc, rest.order, rest.lanes = at+1, b.code[at+1].Order, others
		w.place(rest)
	}
	for way := range ways {
		t := p
		t.pc, t.order, t.lanes = index[way].At, index[way].Arrive, to[way]
		if divided {
			t.side = uint8(way + 1)
		}
		w.place(t)
	}
}
