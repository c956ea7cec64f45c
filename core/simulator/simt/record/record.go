// Package record observes a launch and hands over what each of its warps passed, as recordings hold it, and at the end what the launch
// wrote to global memory. plan.go decides what to look at, value.go and outputs.go look, written.go remembers which bytes of an array
// were written, arrays.go which arrays there are, ended.go puts it all together.
package record

import (
	"context"
	"math/bits"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// Request says what to observe. Warps arrive each once, block by block in the order of the schedule, which is ascending without a
// seed; the Warp is valid during the call.
type Request struct {
	Mode          warptrace.Mode
	Predicates    bool // guards of memory accesses and selects
	Stores        bool
	Atomics       bool
	Loads         bool
	Barriers      bool
	EventsPerWarp uint32         // 0: all
	Filter        observe.Filter // of sites that have events; what is written is summed everywhere
	Warps         observe.Warps  // that have events
	Warp          func(*warptrace.Warp) error

	// Written asks for what the launch wrote to global memory: Warp.Stores of each warp and, when the launch has ended, Outputs once,
	// then Contents of up to Keep bytes.
	Written  bool
	Only     bool          // that, and no events
	Leave    string        // functions whose names begin so write nothing of the program; "" none
	Apart    int           // the piece of memory of the launch, counted from 1, that is none of the program's; 0 none
	Arrays   func([]Place) // is called with the arrays of the launch before a block runs; nil: nobody asks
	Keep     uint64
	Outputs  func(*warptrace.Outputs) error
	Contents func(*warptrace.Contents) error
}

// recorder observes a launch and hands over what each warp passed. The warps of a block follow each other, and
// blocks come in the order in which the schedule starts them, whatever worker ran them, so that the recording does not depend on
// the number of workers and little waits in memory.
type recorder struct {
	request *Request
	plan    *recordPlan
	sites   *sites.List
	limit   int   // events of a warp
	most    int64 // bytes that may wait before workers wait too

	mu       sync.Mutex
	pointers *pointers         // of the launch, once a block began
	outputs  *outputs          // likewise; nil when nobody asked
	place    map[uint64]uint64 // of a block in the schedule, nil: its number
	next     uint64            // place of the block that is handed over next
	waiting  map[uint64]*blockRecorder
	held     int64 // bytes about that wait
	advanced chan struct{}
	free     []*blockRecorder
}

const (
	maxWarpEvents    = 1 << 22 // what a recording holds of one warp
	maxWarpSnapshots = 1 << 16
	heldMost         = 64 << 20
	heldLimit        = 1 << 30 // bytes that may wait where workers cannot
)

// eventBytes is about what an event takes while its block runs, columns that grow included.
const eventBytes = 96

// New prepares to record launches of a kernel with blocks of some size. When all warps of a block recorded as much as they may,
// that is half of the memory that the job may take (0: 4 GiB). Events beyond that are dropped and counted. The bound depends on the
// launch alone, so that a recording does not depend on the number of workers.
func New(k *code.Kernel, list *sites.List, request *Request, memory int64, block [3]uint32) execute.Observer {
	r := &recorder{
		request: request, plan: newRecordPlan(k, list, request), sites: list,
		limit: int(request.EventsPerWarp), most: heldMost, waiting: map[uint64]*blockRecorder{}, advanced: make(chan struct{}),
	}
	if memory == 0 {
		memory = 4 << 30
	}
	threads := min(uint64(block[0])*uint64(block[1])*uint64(block[2]), target.MaxThreads)
	warps := (int64(threads) + lane.Lanes - 1) / lane.Lanes
	most := int(min(maxWarpEvents, max(1024, memory/2/eventBytes/max(warps, 1))))
	if r.limit == 0 || r.limit > most {
		r.limit = most
	}
	return r
}

// Wants looks at instructions that are sites.
func (r *recorder) Wants(at int32) bool { return len(r.plan.steps[at]) > 0 }

// Open takes a block that begins.
func (r *recorder) Open(b *execute.Block) execute.BlockObserver {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pointers == nil {
		r.pointers = newPointers(b.Running)
		if order := b.Running.Order; order != nil {
			r.place = make(map[uint64]uint64, len(order))
			for i, n := range order {
				r.place[n] = uint64(i)
			}
		}
		if r.request.Written {
			r.outputs = newOutputs(b.Running, r.plan, r.request.Keep, r.place)
			if r.request.Arrays != nil {
				r.request.Arrays(r.outputs.places())
			}
		}
	}
	var o *blockRecorder
	if last := len(r.free) - 1; last >= 0 {
		o, r.free = r.free[last], r.free[:last]
	} else {
		o = &blockRecorder{recorder: r}
	}
	o.begin(b)
	return o
}

// Close takes a block that ended, and hands over all whose turn it is.
func (r *recorder) Close(ctx context.Context, b *execute.Block, seen execute.BlockObserver) error {
	o := seen.(*blockRecorder)
	place := b.Linear
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.place != nil {
		place = r.place[b.Linear]
	}
	if err := r.wait(ctx, place, b.Running.Kernel.Ordered); err != nil {
		return err
	}
	r.waiting[place] = o
	r.held += o.bytes()
	moved := false
	for o := r.waiting[r.next]; o != nil; o = r.waiting[r.next] {
		if err := r.hand(r.next, o); err != nil {
			return err
		}
		r.next++
		moved = true
	}
	if moved {
		close(r.advanced)
		r.advanced = make(chan struct{})
	}
	if r.held > heldLimit {
		return fault.New(fault.Limit, "the recording of %d blocks waits for block %d to end: more than %d bytes", len(r.waiting), r.next, int64(heldLimit)).
			WithHint("record fewer events of each warp")
	}
	return nil
}

// wait holds a worker back while much waits for others. The worker whose turn it is never waits, and where one worker runs all
// blocks it must go on.
func (r *recorder) wait(ctx context.Context, place uint64, alone bool) error {
	for r.held > r.most && place != r.next && !alone {
		advanced := r.advanced
		r.mu.Unlock()
		select {
		case <-advanced:
		case <-ctx.Done():
		}
		r.mu.Lock()
		if ctx.Err() != nil {
			return fault.Of(ctx.Err())
		}
	}
	return nil
}

// hand gives the warps of a block to whoever asked for them.
func (r *recorder) hand(place uint64, o *blockRecorder) error {
	delete(r.waiting, place)
	r.held -= o.bytes()
	for i := range o.warps {
		w := &o.warps[i]
		if r.outputs != nil {
			w.out.Stores = w.sums.list(w.out.Stores[:0], r.outputs)
		}
		if err := r.request.Warp(&w.out); err != nil {
			return err
		}
	}
	r.free = append(r.free, o)
	return nil
}

// Finish hands over what still waits, then what the launch wrote.
func (r *recorder) Finish(l *execute.Running, result *execute.Result) error {
	if err := r.handRest(); err != nil {
		return err
	}
	if r.request.Written {
		return r.written(l, result)
	}
	return nil
}

// handRest hands over what waits behind blocks that never ended.
func (r *recorder) handRest() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 {
		least := ^uint64(0)
		for place := range r.waiting {
			least = min(least, place)
		}
		if err := r.hand(least, r.waiting[least]); err != nil {
			return err
		}
	}
	return nil
}

// blockRecorder records the warps of one block.
type blockRecorder struct {
	recorder *recorder
	code     []code.Inst    // of the launch
	copies   []memory.Copy  // of the kernel
	global   *memory.Global // of the launch
	warps    []warpRecorder
	address  [lane.Lanes]uint64 // of the access that is under way
	operand  [lane.Lanes]uint64
	swapped  [lane.Lanes]uint64 // where the compare-and-swap that is under way goes
	expected [lane.Lanes]uint64 // and what it compares with
	parts    uint32             // lanes of it that swap a part of a word
	place    uint64             // of the block in the schedule
	lanes    arena
}

// warpRecorder is one warp, with the operands of compares that must be kept until they decide.
type warpRecorder struct {
	out  warptrace.Warp
	left bool // out: what it passes is no event
	kept [][2][lane.Lanes]uint64
	sums storeSums
}

func (o *blockRecorder) begin(b *execute.Block) {
	o.code, o.copies, o.global = b.Running.Code, b.Running.Kernel.Copies, b.Running.Global
	o.lanes.reset()
	if out := o.recorder.outputs; out != nil {
		o.place = out.place(b.Linear)
	}
	warps := b.Running.Warps
	for len(o.warps) < warps {
		o.warps = append(o.warps, warpRecorder{kept: make([][2][lane.Lanes]uint64, o.recorder.plan.kept)})
	}
	o.warps = o.warps[:warps]
	for i := range o.warps {
		w := &o.warps[i].out
		w.WarpInfo = warptrace.WarpInfo{Warp: b.Linear*uint64(warps) + uint64(i)}
		w.Site, w.Kind, w.Dir, w.Aux = w.Site[:0], w.Kind[:0], w.Dir[:0], w.Aux[:0]
		w.Active, w.Taken, w.Value, w.Type = w.Active[:0], w.Taken[:0], w.Value[:0], w.Type[:0]
		w.Snapshots = w.Snapshots[:0]
		o.warps[i].sums.begin(len(o.recorder.plan.statements))
		o.warps[i].left = !o.recorder.request.Warps.Has(w.Warp)
		w.HasRolling = o.recorder.request.Mode == warptrace.ModeDigest && !o.warps[i].left
	}
}

// bytes is about what the recording of the block needs.
func (o *blockRecorder) bytes() int64 {
	n := int64(0)
	for i := range o.warps {
		n += 40*int64(o.warps[i].out.Len()) + 96*int64(len(o.warps[i].out.Snapshots)) + 512
	}
	return n + o.lanes.bytes()
}

// steps are what is to be done at an instruction. Those that sum what is written come last, and are all that a warp has that is left out.
func (o *blockRecorder) steps(w *execute.Warp, at int32) []step {
	steps := o.recorder.plan.steps[at]
	if o.warps[w.Index].left {
		for i := range steps {
			if s := steps[i].what; s == stepWrite || s == stepSwap {
				return steps[i:]
			}
		}
		return nil
	}
	return steps
}

// Before sees an instruction before it is executed.
func (o *blockRecorder) Before(b *execute.Block, w *execute.Warp, at int32, active, taken uint32) {
	steps := o.steps(w, at)
	for i := range steps {
		switch s := &steps[i]; s.what {
		case stepDecide:
			o.decide(w, s, active, taken)
		case stepSelect:
			o.decide(w, s, active, w.Regs.P[s.predicate]&active)
		case stepSwitch:
			o.choose(w, s, active)
		case stepBarrier:
			if taken != 0 {
				o.event(w, s, taken, taken, 0, 0, warptrace.TypeNone)
			}
		case stepStore, stepCopy:
			o.store(w, s, taken)
		case stepLoad, stepAtomic:
			o.addresses(w, s, taken)
			if s.what == stepAtomic {
				o.read(&o.operand, w, s.rhs, taken, s.width)
			}
		case stepWrite:
			o.write(w, s, at, taken)
		case stepSwap:
			o.expect(w, at)
		}
	}
}

// After sees an instruction after it was executed.
func (o *blockRecorder) After(b *execute.Block, w *execute.Warp, at int32, active, taken uint32) {
	steps := o.steps(w, at)
	for i := range steps {
		switch s := &steps[i]; s.what {
		case stepKeep:
			kept := &o.warps[w.Index].kept[s.keep]
			o.readInto(&kept[0], w, s.lhs, taken, s.width)
			o.readInto(&kept[1], w, s.rhs, taken, s.width)
		case stepLoad:
			o.load(w, s, taken)
		case stepAtomic:
			o.atomic(w, s, taken)
		case stepSwap:
			o.swap(w, s, at, taken)
		}
	}
}

// event appends an event, and reports whether there was room for it.
func (o *blockRecorder) event(w *execute.Warp, s *step, active, taken uint32, dir uint8, value uint64, t warptrace.ValueType) bool {
	if o.warps[w.Index].left {
		return false
	}
	out := &o.warps[w.Index].out
	out.Total++
	if out.HasRolling {
		out.Rolling = roll(out.Rolling, s.key, uint64(active)|uint64(taken)<<32, value)
		return false
	}
	if len(out.Site) >= o.recorder.limit || len(out.Snapshots)+s.snapshots > maxWarpSnapshots {
		out.Dropped++
		return false
	}
	out.Events++
	out.Site = append(out.Site, s.site)
	out.Kind = append(out.Kind, s.kind)
	out.Dir = append(out.Dir, dir)
	out.Aux = append(out.Aux, 0)
	out.Active = append(out.Active, uint64(active))
	out.Taken = append(out.Taken, uint64(taken))
	out.Value = append(out.Value, value)
	out.Type = append(out.Type, t)
	return s.snapshots > 0
}

// roll adds an event to the hash of a warp.
func roll(h, key, lanes, value uint64) uint64 {
	for _, v := range [...]uint64{key, lanes, value} {
		h = bits.RotateLeft64(h^v*0x9e3779b97f4a7c15, 29) * 0xbf58476d1ce4e5b9
	}
	return h
}

// snapshot appends what every lane held at the last event.
func (o *blockRecorder) snapshot(w *execute.Warp, s *step, active uint32, role warptrace.SnapshotRole, t warptrace.ValueType, lhs, rhs *[lane.Lanes]uint64) {
	out := &o.warps[w.Index].out
	snap := warptrace.Snapshot{
		Site: s.site, Event: int32(len(out.Site) - 1), Seq: uint32(len(out.Snapshots)), Active: uint64(active), Compare: s.compare, Role: role,
		Type: t, Lhs: o.lanes.take(lhs, active),
	}
	if rhs != nil {
		snap.Rhs = o.lanes.take(rhs, active)
	}
	out.Snapshots = append(out.Snapshots, snap)
}

// decide records a branch or predicate: the value is the left operand of the leader, the lowest active lane.
func (o *blockRecorder) decide(w *execute.Warp, s *step, active, taken uint32) {
	if active == 0 {
		return
	}
	leader := lowest(active)
	dir := uint8(taken >> leader & 1)
	if s.lhs.Bank == noBank {
		o.event(w, s, active, taken, dir, 0, warptrace.TypeNone)
		return
	}
	var value uint64
	kept := (*[2][lane.Lanes]uint64)(nil)
	if s.keep >= 0 {
		kept = &o.warps[w.Index].kept[s.keep]
		value = kept[0][leader]
	} else {
		value = lanesOf(w, s.lhs).at(leader) & widthMask(s.width)
	}
	if !o.event(w, s, active, taken, dir, value, s.types) {
		return
	}
	if kept != nil {
		o.snapshot(w, s, active, warptrace.RoleCompare, s.types, &kept[0], &kept[1])
		return
	}
	o.read(&o.address, w, s.lhs, active, s.width)
	o.read(&o.operand, w, s.rhs, active, s.width)
	o.snapshot(w, s, active, warptrace.RoleCompare, s.types, &o.address, &o.operand)
}

// choose records an indexed jump: taken are the lanes that go where the leader goes.
func (o *blockRecorder) choose(w *execute.Warp, s *step, active uint32) {
	if active == 0 {
		return
	}
	index := lanesOf(w, s.lhs)
	leader := lowest(active)
	value := index.at(leader)
	var taken uint32
	for rest := active; rest != 0; rest &= rest - 1 {
		if l := lowest(rest); index.at(l) == value {
			taken |= 1 << l
		}
	}
	if o.event(w, s, active, taken, uint8(value), value, warptrace.TypeI32) {
		o.read(&o.address, w, s.lhs, active, 4)
		o.snapshot(w, s, active, warptrace.RoleValue, warptrace.TypeI32, &o.address, nil)
	}
}
