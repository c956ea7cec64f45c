// Package execute runs a compiled kernel over blocks, warps and lanes: launch.go checks a launch and lays out its memory, run.go hands
// blocks to workers, block.go gives the warps of a block their turns, loop.go executes a warp until it waits, path.go knows where its
// lanes are, choose.go which of them go on, meet.go what they do together. What the checks find is gathered in finding.go. Who wants to see what warps pass is an Observer.
package execute

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Run executes one launch of a kernel. What the kernel did wrong is in Result.Findings; an error says that the launch could not run
// or did not end: a usage error, the limit of instructions, a cancelled job. Memory is changed in place, also by a launch that
// fails. who, if anybody, observes it.
func Run(j *job.Job, k *code.Kernel, v *Variables, l *Launch, who Observer) (*Result, error) {
	r, err := prepare(j, k, v, l, who)
	if err != nil {
		return nil, err
	}
	result, err := r.execute()
	if l.Standing != nil {
		r.keepPointers()
	}
	return result, err
}

// worker runs one block after the other. Where blocks wait for each other, it runs several in turn.
type worker struct {
	launch   *Running
	ctx      context.Context
	next     *atomic.Uint64
	counts   []count
	found    *findings
	output   *output
	sight    *memory.Sight // where several workers look for races in global memory; else nil
	resident []*Block
	free     []*Block
	most     int // blocks that may be resident
}

const (
	turnBudget    = 1 << 20 // instructions of a block before another is started, where blocks may wait for each other
	residentBytes = 1 << 30 // what resident blocks may need together unless the job says less
	togetherBytes = 2 << 30 // likewise, those of a cooperative grid, which are resident all at once
)

// execute runs all blocks and joins what the workers found.
func (r *Running) execute() (*Result, error) {
	r.job.Progress().SetStage("simulate")
	r.job.Progress().SetTotal(int64(r.Blocks))
	workers, release, err := r.hire()
	if err != nil {
		return nil, err
	}
	defer func() { release() }()
	err = r.runAll(workers)
	if r.mustRepeat(workers) {
		release()
		if workers, release, err = r.again(); err != nil {
			release = func() {}
			return nil, err
		}
		err = r.runAll(workers)
	}
	if err != nil {
		return nil, err
	}
	first := workers[0]
	for _, x := range workers[1:] {
		sumCounts(first.counts, x.counts)
		first.found.merge(x.found)
		for b, texts := range x.output.blocks {
			first.output.blocks[b] = texts
		}
	}
	result := r.result(first)
	if r.observer != nil {
		if err := r.observer.Finish(r, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// runAll lets workers run all blocks. The first of them is whoever called: one that is to wake up comes late to a short launch.
func (r *Running) runAll(workers []*worker) error {
	parent, cancel := context.WithCancel(r.job.Context())
	defer cancel()
	group, ctx := safe.NewGroup(parent)
	for _, x := range workers {
		x.ctx = ctx
	}
	for _, x := range workers[1:] {
		group.Go(x.work)
	}
	err := safe.Call(workers[0].work)
	if err != nil {
		cancel()
	}
	others := group.Wait()
	if err == nil || others != nil && errors.Is(err, context.Canceled) {
		return others
	}
	return err
}

// hire makes as many workers as blocks, options and the memory budget allow.
func (r *Running) hire() (workers []*worker, release func(), err error) {
	n := r.options.Workers
	if n <= 0 {
		n = r.job.Workers()
	}
	most := 1
	bytes := r.blockBytes()
	limit := int64(residentBytes)
	if l := r.job.Budget().Limit(); l > 0 {
		limit = min(limit, l)
	}
	if bytes > limit {
		return nil, nil, fault.New(fault.Limit, "kernel %s needs about %d bytes of registers, shared and local memory for a block, %d may be held",
			r.Kernel.Name, bytes, limit).WithHint("raise the memory limit (--memory-limit)")
	}
	if r.Kernel.Ordered {
		n, most = 1, int(max(1, min(uint64(limit/2/bytes), uint64(r.Kernel.Target.ResidentBlocks), r.Blocks)))
	}
	if r.Kernel.Cooperative {
		whole := int64(togetherBytes)
		if l := r.job.Budget().Limit(); l > 0 {
			whole = min(whole, l)
		}
		if most = int(r.Blocks); int64(most) > whole/bytes {
			return nil, nil, fault.New(fault.Limit, "kernel %s needs about %d bytes for the %d blocks of its cooperative grid, %d may be held",
				r.Kernel.Name, bytes*int64(most), most, whole).WithHint("raise the memory limit (--memory-limit), or launch fewer blocks")
		}
	}
	if r.options.StopAtFirst {
		n = 1
	}
	n = int(min(uint64(n), max(r.Blocks, 1)))
	n = int(max(1, min(int64(n), limit/bytes))) // of a cooperative grid there is one
	held := bytes * int64(n*most)
	tries := r.options.GlobalRaces && (n > 1 || r.blind())
	if tries {
		undo, ok := r.racesApart(limit - held)
		if tries = ok; ok {
			held += undo
		} else {
			n, held = 1, bytes*int64(most)
		}
	}
	if err := r.job.Budget().Acquire(r.job.Context(), held); err != nil {
		return nil, nil, err
	}
	next := new(atomic.Uint64)
	for range n {
		x := &worker{
			launch: r, next: next, most: most, counts: make([]count, len(r.Code)), found: newFindings(),
			output: &output{blocks: map[uint64][]string{}},
		}
		if r.options.GlobalRaces && n > 1 {
			x.sight = r.Global.Sight()
		}
		workers = append(workers, x)
	}
	if tries {
		r.undo = r.Global.Keep(r.storesTo())
		if n == 1 {
			r.Global.WatchBlindly()
		}
	}
	return workers, func() { r.job.Budget().Release(held) }, nil
}

// blockBytes is about what one resident block needs.
func (r *Running) blockBytes() int64 {
	k := r.Kernel
	registers := int64(k.Registers[lane.R32])*4*lane.Lanes + int64(k.Registers[lane.R64])*8*lane.Lanes + int64(k.Registers[lane.P])*4
	shared := int64(k.Shared+r.Request.SharedBytes) * 8
	return int64(r.Warps)*(registers+int64(k.Local)*2*lane.Lanes+1<<13) + shared + 1<<14
}

// work runs blocks until there are none left. Each has a turn in every round, but those for which nothing has changed. For each block that
// rests another one starts.
func (x *worker) work() error {
	starts := 1
	for {
		for ; starts > 0 && len(x.resident) < x.most; starts-- {
			if err := x.start(); err != nil {
				return err
			}
		}
		if len(x.resident) == 0 {
			return nil
		}
		starts = 1
		awake := false
		for i := 0; i < len(x.resident); i++ {
			b := x.resident[i]
			if b.resting.sleeps(b) {
				starts++
				continue
			}
			awake = true
			over, err := b.advance(turnBudget)
			if err != nil {
				return err
			}
			if b.resting.rested {
				starts++
			}
			if !over {
				continue
			}
			if err := x.over(b); err != nil {
				return err
			}
			x.resident = append(x.resident[:i], x.resident[i+1:]...)
			i--
			if x.launch.options.StopAtFirst && x.found.total > 0 {
				return nil
			}
		}
		if !awake && (len(x.resident) >= x.most || x.next.Load() >= x.launch.Blocks) {
			x.hang()
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
	}
}

// over is what there is to do when a block has ended.
func (x *worker) over(b *Block) error {
	b.stopFollowing()
	if b.watcher != nil {
		if err := x.launch.observer.Close(x.ctx, b, b.watcher); err != nil {
			return err
		}
	}
	x.launch.job.Progress().Add(1)
	x.free = append(x.free, b)
	return nil
}

// start makes the next block resident, if there is one.
func (x *worker) start() error {
	r := x.launch
	n := x.next.Add(1) - 1
	if n >= r.Blocks {
		return nil
	}
	if r.Order != nil {
		n = r.Order[n]
	}
	var b *Block
	if last := len(x.free) - 1; last >= 0 {
		b, x.free = x.free[last], x.free[:last]
	} else {
		var err error
		if b, err = r.newBlock(x); err != nil {
			return err
		}
	}
	b.begin(n)
	if r.observer != nil {
		b.watcher = r.observer.Open(b)
	}
	x.resident = append(x.resident, b)
	return nil
}

// newBlock makes room for a block and fills the registers that are the same for every block.
func (r *Running) newBlock(x *worker) (*Block, error) {
	k := r.Kernel
	b := &Block{Running: r, ctx: x.ctx, kernel: k, code: r.Code, counts: x.counts, found: x.found, output: x.output}
	mem, err := memory.NewBlock(r.Global, memory.Shape{
		Warps: r.Warps, Shared: k.Shared + r.Request.SharedBytes, Local: uint64(k.Local), Checks: !r.options.NoRaces,
	})
	if err != nil {
		return nil, err
	}
	b.mem = mem
	if x.sight != nil {
		mem.See(x.sight)
	}
	threads := int(r.Request.Block[0] * r.Request.Block[1] * r.Request.Block[2])
	for i := range r.Warps {
		w := &Warp{Index: i, born: math.MaxUint32}
		if rest := threads - i*lane.Lanes; rest < lane.Lanes {
			w.born = 1<<rest - 1
		}
		if leave := r.options.Lanes; leave != 0 {
			w.born &= leave
		}
		w.Regs = lane.Regs{
			R32: make([][lane.Lanes]uint32, k.Registers[lane.R32]),
			R64: make([][lane.Lanes]uint64, k.Registers[lane.R64]),
			P:   make([]uint32, k.Registers[lane.P]),
		}
		for j := range k.Constants {
			r.fill(w, &k.Constants[j], [3]uint32{}, 0)
		}
		b.warps = append(b.warps, w)
		b.order = append(b.order, i)
	}
	return b, nil
}

// fill puts a constant into its register.
func (r *Running) fill(w *Warp, c *code.Constant, index [3]uint32, linear uint64) {
	for l := range lane.Lanes {
		var bits uint64
		if c.From == code.FromLane || c.From == code.FromWarp {
			bits = r.laneBits(c.Number, w.Index, l)
		} else {
			bits = r.constantBits(c, index, linear)
		}
		switch c.Bank {
		case lane.R32:
			w.Regs.R32[c.Slot][l] = uint32(bits)
		case lane.R64:
			w.Regs.R64[c.Slot][l] = bits
		case lane.P:
			w.Regs.P[c.Slot] &^= 1 << l
			w.Regs.P[c.Slot] |= uint32(bits&1) << l
		}
	}
}

// begin sets a block up to run as the one with a linear number.
func (b *Block) begin(linear uint64) {
	r, k := b.Running, b.kernel
	b.Linear, b.index = linear, r.blockIndex(linear)
	b.alive, b.ended, b.err, b.steps = len(b.warps), false, nil, 0
	b.resting, b.rounds = resting{}, 0
	clear(b.arrived[:])
	b.patience = patience
	b.mem.Reset()
	b.mem.Number(uint32(linear))
	for i := range b.order {
		b.order[i] = i
	}
	b.random = nil
	if seed := r.options.ScheduleSeed; seed != 0 {
		b.random = rand.New(rand.NewPCG(seed^linear*0x9e3779b97f4a7c15, seedWarps))
		b.patience = patienceLeast + b.random.Uint64N(patience-patienceLeast)
	}
	if n := r.options.Patience; n != 0 {
		b.patience = n
	}
	for _, w := range b.warps {
		w.live, w.state, w.steps, w.since, w.stood = w.born, warpReady, 0, 0, 0
		w.slow, w.partial = false, false
		w.looked, w.passes, w.doubts, w.writes, w.poll = ring{}, 0, 0, 0, poll{}
		w.paths = append(w.paths[:0], path{lanes: w.born})
		if w.born == 0 {
			w.state, w.paths = warpDone, w.paths[:0]
			b.alive--
			b.mem.Exit(w.Index)
		}
		w.clear(k)
		for i := range k.Constants {
			if k.Constants[i].From == code.FromBlock {
				r.fill(w, &k.Constants[i], b.index, linear)
			}
		}
	}
}

// clear zeroes the registers that may be read before they are written.
func (w *Warp) clear(k *code.Kernel) {
	if k.ClearAll {
		clear(w.Regs.R32[:k.Written[lane.R32]])
		clear(w.Regs.R64[:k.Written[lane.R64]])
		clear(w.Regs.P[:k.Written[lane.P]])
		return
	}
	for _, i := range k.Clear[lane.R32] {
		w.Regs.R32[i] = [lane.Lanes]uint32{}
	}
	for _, i := range k.Clear[lane.R64] {
		w.Regs.R64[i] = [lane.Lanes]uint64{}
	}
	for _, i := range k.Clear[lane.P] {
		w.Regs.P[i] = 0
	}
}

// result is what the workers, joined in one, found and counted.
func (r *Running) result(x *worker) *Result {
	out := &Result{Blocks: r.Blocks, Warps: r.Blocks * uint64(r.Warps)}
	for i := range r.Code {
		if r.Code[i].Hidden {
			continue
		}
		out.Instructions += x.counts[i].issued
		out.LaneInstructions += x.counts[i].lanes
	}
	if !r.options.NoCounts {
		out.Lines = linesOf(r.Kernel, x.counts)
	}
	out.Fidelity = fidelity(r.Kernel, x.counts)
	out.Findings, out.MoreFindings = x.found.list(r.options.MaxFindings)
	out.Output, out.OutputCut = x.output.text()
	return out
}
