package simt

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/simt/lane"
	"github.com/prlx-go/prlx/core/kernel/simt/memory"
	"github.com/prlx-go/prlx/core/safe"
)

// run executes one launch of a kernel. What the kernel did wrong is in Result.Findings; an error says that the launch could not run
// or did not end: a usage error, the limit of instructions, a cancelled job. Memory is changed in place, also by a launch that
// fails. who, if anybody, observes it.
func run(j *job.Job, k *kernel, v *Variables, l *Launch, who observer) (*Result, error) {
	r, err := prepare(j, k, v, l, who)
	if err != nil {
		return nil, err
	}
	return r.execute()
}

// worker runs one block after the other. Where blocks wait for each other, it runs several in turn.
type worker struct {
	launch   *launch
	ctx      context.Context
	next     *atomic.Uint64
	counts   []count
	found    *findings
	output   *output
	resident []*block
	free     []*block
	most     int // blocks that may be resident
}

const (
	turnBudget    = 1 << 20 // instructions of a block before another is started, where blocks may wait for each other
	residentBytes = 1 << 30 // what resident blocks may need together unless the job says less
)

// execute runs all blocks and joins what the workers found.
func (r *launch) execute() (*Result, error) {
	r.job.Progress().SetStage("simulate")
	r.job.Progress().SetTotal(int64(r.blocks))
	workers, release, err := r.hire()
	if err != nil {
		return nil, err
	}
	defer release()
	group, ctx := safe.NewGroup(r.job.Context())
	for _, x := range workers {
		x.ctx = ctx
		group.Go(x.work)
	}
	if err := group.Wait(); err != nil {
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
	if r.watching != nil {
		if err := r.watching.finish(r, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// hire makes as many workers as blocks, options and the memory budget allow.
func (r *launch) hire() (workers []*worker, release func(), err error) {
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
			r.kernel.name, bytes, limit).WithHint("raise the memory limit (--memory-limit)")
	}
	if r.kernel.ordered {
		n, most = 1, int(max(1, min(uint64(limit/2/bytes), uint64(r.kernel.target.ResidentBlocks), r.blocks)))
	}
	if r.options.StopAtFirst || r.options.GlobalRaces {
		n = 1
	}
	n = int(min(uint64(n), max(r.blocks, 1)))
	n = int(max(1, min(int64(n), limit/bytes)))
	held := bytes * int64(n*most)
	if err := r.job.Budget().Acquire(r.job.Context(), held); err != nil {
		return nil, nil, err
	}
	next := new(atomic.Uint64)
	for range n {
		workers = append(workers, &worker{
			launch: r, next: next, most: most, counts: make([]count, len(r.code)), found: newFindings(),
			output: &output{blocks: map[uint64][]string{}},
		})
	}
	return workers, func() { r.job.Budget().Release(held) }, nil
}

// blockBytes is about what one resident block needs.
func (r *launch) blockBytes() int64 {
	k := r.kernel
	registers := int64(k.registers[lane.R32])*4*lane.Lanes + int64(k.registers[lane.R64])*8*lane.Lanes + int64(k.registers[lane.P])*4
	shared := int64(k.shared+r.request.SharedBytes) * 8
	return int64(r.warps)*(registers+int64(k.local)*2*lane.Lanes+1<<13) + shared + 1<<14
}

// work runs blocks until there are none left.
func (x *worker) work() error {
	for {
		if len(x.resident) < x.most {
			if err := x.start(); err != nil {
				return err
			}
		}
		if len(x.resident) == 0 {
			return nil
		}
		for i := 0; i < len(x.resident); i++ {
			b := x.resident[i]
			over, err := b.advance(turnBudget)
			if err != nil {
				return err
			}
			if !over {
				continue
			}
			if b.watcher != nil {
				if err := x.launch.watching.close(x.ctx, b, b.watcher); err != nil {
					return err
				}
			}
			x.launch.job.Progress().Add(1)
			x.resident = append(x.resident[:i], x.resident[i+1:]...)
			x.free = append(x.free, b)
			i--
			if x.launch.options.StopAtFirst && x.found.total > 0 {
				return nil
			}
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
	}
}

// start makes the next block resident, if there is one.
func (x *worker) start() error {
	r := x.launch
	n := x.next.Add(1) - 1
	if n >= r.blocks {
		return nil
	}
	if r.order != nil {
		n = r.order[n]
	}
	var b *block
	if last := len(x.free) - 1; last >= 0 {
		b, x.free = x.free[last], x.free[:last]
	} else {
		var err error
		if b, err = r.newBlock(x); err != nil {
			return err
		}
	}
	b.begin(n)
	if r.watching != nil {
		b.watcher = r.watching.open(b)
	}
	x.resident = append(x.resident, b)
	return nil
}

// newBlock makes room for a block and fills the registers that are the same for every block.
func (r *launch) newBlock(x *worker) (*block, error) {
	k := r.kernel
	b := &block{launch: r, ctx: x.ctx, kernel: k, code: r.code, counts: x.counts, found: x.found, output: x.output}
	mem, err := memory.NewBlock(r.global, memory.Shape{
		Warps: r.warps, Shared: k.shared + r.request.SharedBytes, Local: uint64(k.local), Checks: !r.options.NoRaces,
	})
	if err != nil {
		return nil, err
	}
	b.mem = mem
	threads := int(r.request.Block[0] * r.request.Block[1] * r.request.Block[2])
	for i := range r.warps {
		w := &warp{index: i, born: math.MaxUint32}
		if rest := threads - i*lane.Lanes; rest < lane.Lanes {
			w.born = 1<<rest - 1
		}
		if leave := r.options.Lanes; leave != 0 {
			w.born &= leave
		}
		w.regs = lane.Regs{
			R32: make([][lane.Lanes]uint32, k.registers[lane.R32]),
			R64: make([][lane.Lanes]uint64, k.registers[lane.R64]),
			P:   make([]uint32, k.registers[lane.P]),
		}
		for j := range k.constants {
			r.fill(w, &k.constants[j], [3]uint32{}, 0)
		}
		b.warps = append(b.warps, w)
		b.order = append(b.order, i)
	}
	return b, nil
}

// fill puts a constant into its register.
func (r *launch) fill(w *warp, c *constant, index [3]uint32, linear uint64) {
	for l := range lane.Lanes {
		var bits uint64
		if c.from == fromLane || c.from == fromWarp {
			bits = r.laneBits(c.number, w.index, l)
		} else {
			bits = r.constantBits(c, index, linear)
		}
		switch c.bank {
		case lane.R32:
			w.regs.R32[c.slot][l] = uint32(bits)
		case lane.R64:
			w.regs.R64[c.slot][l] = bits
		case lane.P:
			w.regs.P[c.slot] &^= 1 << l
			w.regs.P[c.slot] |= uint32(bits&1) << l
		}
	}
}

// begin sets a block up to run as the one with a linear number.
func (b *block) begin(linear uint64) {
	r, k := b.launch, b.kernel
	b.linear, b.index = linear, r.blockIndex(linear)
	b.alive, b.ended, b.err, b.steps = len(b.warps), false, nil, 0
	clear(b.arrived[:])
	b.mem.Reset()
	b.mem.Number(uint32(linear))
	for i := range b.order {
		b.order[i] = i
	}
	b.random = nil
	if seed := r.options.ScheduleSeed; seed != 0 {
		b.random = rand.New(rand.NewPCG(seed^linear*0x9e3779b97f4a7c15, seedWarps))
	}
	for _, w := range b.warps {
		w.live, w.state, w.steps = w.born, warpReady, 0
		w.stack = append(w.stack[:0], path{lanes: w.born})
		if w.born == 0 {
			w.state, w.stack = warpDone, w.stack[:0]
			b.alive--
			b.mem.Exit(w.index)
		}
		w.clear(k)
		for i := range k.constants {
			if k.constants[i].from == fromBlock {
				r.fill(w, &k.constants[i], b.index, linear)
			}
		}
	}
}

// clear zeroes the registers that may be read before they are written.
func (w *warp) clear(k *kernel) {
	if k.clearAll {
		clear(w.regs.R32[:k.variable[lane.R32]])
		clear(w.regs.R64[:k.variable[lane.R64]])
		clear(w.regs.P[:k.variable[lane.P]])
		return
	}
	for _, i := range k.clear[lane.R32] {
		w.regs.R32[i] = [lane.Lanes]uint32{}
	}
	for _, i := range k.clear[lane.R64] {
		w.regs.R64[i] = [lane.Lanes]uint64{}
	}
	for _, i := range k.clear[lane.P] {
		w.regs.P[i] = 0
	}
}

// result is what the workers, joined in one, found and counted.
func (r *launch) result(x *worker) *Result {
	out := &Result{Blocks: r.blocks, Warps: r.blocks * uint64(r.warps)}
	for i := range r.code {
		if r.code[i].hidden {
			continue
		}
		out.Instructions += x.counts[i].issued
		out.LaneInstructions += x.counts[i].lanes
	}
	if !r.options.NoCounts {
		out.Lines = linesOf(r.kernel, x.counts)
	}
	out.Findings, out.MoreFindings = x.found.list(r.options.MaxFindings)
	out.Output, out.OutputCut = x.output.text()
	return out
}
