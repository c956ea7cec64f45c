package simulation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
)

// stored puts together what a kernel that records by itself wrote: its own sums of each warp and statement, and what the host sees of
// arrays, which bytes were written and what is in them.
type stored struct {
	recorder *recorder
	table    *observe.Table
	plan     *arena.Plan
	memory   []byte // of the arena

	err     error
	numbers []uint32 // of the sites of the machine code: their numbers in the table
	outputs *warptrace.Outputs
	totals  map[[2]uint32]*warptrace.StoreTotal
	crowded uint64 // operands that a recording has no room for
	inNoSum uint64 // stores that are in no sum, at least
}

// ours begins the names of the functions of the recorder.
const ours = "prlx_"

// recording asks the simulator for what it sees of arrays, and tells the kernel where they are.
func (s *stored) recording() *simt.Recording {
	r := s.recorder
	return &simt.Recording{
		Mode: r.mode, Written: !r.request.NoWritten, Only: true, Leave: ours, Keep: r.request.Outputs, Warp: func(*warptrace.Warp) error { return nil },
		Arrays: func(places []simt.Place) {
			s.plan.Arrays = arraysOf(places)
			s.err = arena.Prepare(s.memory, *s.plan)
		},
		Outputs: func(o *warptrace.Outputs) error {
			s.outputs = o
			return cmp.Or(s.err, s.collect(), s.written())
		},
		Contents: func(c *warptrace.Contents) error {
			for i := range c.Writers {
				c.Writers[i].Site = s.numberOf(c.Writers[i].Site)
			}
			return r.writer.AddContents(c)
		},
	}
}

// arraysOf are the arrays of a launch as an arena has them.
func arraysOf(places []simt.Place) []arena.Array {
	list := make([]arena.Array, len(places))
	for i, p := range places {
		list[i] = arena.Array{ID: p.ID, Base: p.Base, Width: p.ElementBytes, Pieces: []arena.Piece{{From: p.At[0], Bytes: p.Size}}}
		if p.At[1] != 0 {
			list[i].Pieces = append(list[i].Pieces, arena.Piece{From: p.At[1], Bytes: p.Size})
		}
	}
	return list
}

// observers learns the sites of the machine code.
func (s *stored) observers(_ *code.Kernel, list *sites.List, who execute.Observer) execute.Observer {
	by := make(map[site.Key]uint32, len(s.table.Sites))
	for i := range s.table.Sites {
		by[s.table.Sites[i].Key] = uint32(i)
	}
	s.numbers = make([]uint32, len(list.Sites))
	for i := range list.Sites {
		n, ok := by[list.Sites[i].Key]
		if s.numbers[i] = n; !ok {
			s.numbers[i] = warptrace.NoSite
		}
	}
	return who
}

func (s *stored) numberOf(machine uint32) uint32 {
	if int(machine) < len(s.numbers) {
		return s.numbers[machine]
	}
	return warptrace.NoSite
}

// finish takes what is in the arena where nobody asked for what was written.
func (s *stored) finish() error {
	if s.outputs != nil {
		return nil
	}
	return cmp.Or(s.err, s.collect())
}

// sums are those of one warp, ascending by statement and array.
func (s *stored) sums(into []warptrace.StoreSum, w *arena.Warp) []warptrace.StoreSum {
	known, arrays := uint64(len(s.table.Sums)), uint64(len(s.plan.Arrays))
	for _, sum := range w.Sums {
		one := warptrace.StoreSum{Count: sum.Count, Hash: sum.Hash}
		var of observe.Sum
		if sum.Slot < known {
			of = s.table.Sums[sum.Slot]
			one.Array = uint32(of.Array)
		} else {
			k := sum.Slot - known
			if arrays == 0 || k/arrays >= uint64(len(s.table.Sought)) {
				continue // the kernel wrote over the header of its arena
			}
			of = s.table.Sought[k/arrays]
			one.Array = s.plan.Arrays[k%arrays].ID
		}
		one.Site = of.Site
		s.total(one, of.Swaps, &sum)
		into = append(into, one)
	}
	slices.SortFunc(into, func(a, b warptrace.StoreSum) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Array, b.Array))
	})
	n := 0
	for i := range into { // an array may be known to one access of a statement and looked for by another
		if n > 0 && into[n-1].Site == into[i].Site && into[n-1].Array == into[i].Array {
			into[n-1].Count += into[i].Count
			into[n-1].Hash += into[i].Hash
			continue
		}
		into[n] = into[i]
		n++
	}
	for i := range into[:n] {
		s.totals[[2]uint32{into[i].Site, into[i].Array}].Warps++
	}
	return into[:n]
}

// total adds the sum of a warp to that of all. What a compare-and-swap brings depends on the order, and is in no sum of values.
func (s *stored) total(one warptrace.StoreSum, swaps bool, of *arena.Sum) {
	if s.totals == nil {
		s.totals = map[[2]uint32]*warptrace.StoreTotal{}
	}
	t := s.totals[[2]uint32{one.Site, one.Array}]
	if t == nil {
		t = &warptrace.StoreTotal{StoreSum: warptrace.StoreSum{Site: one.Site, Array: one.Array}, Values: &warptrace.ValueSums{}}
		s.totals[[2]uint32{one.Site, one.Array}] = t
	}
	t.Count += one.Count
	t.Hash += one.Hash
	t.Swaps = t.Swaps || swaps
	switch {
	case of.Overflown:
		t.Values = nil
	case t.Values != nil && !swaps:
		t.Values.Plus(&of.Values)
	}
}

// written writes what the launch wrote.
func (s *stored) written() error {
	o, c := s.outputs, &s.outputs.Coverage
	digest := s.recorder.mode == warptrace.ModeDigest
	c.ControlFlow, c.Predicates, c.Rolling = !digest, !digest, digest
	c.StoreEvents, c.AtomicEvents, c.BarrierEvents = s.table.Stores && !digest, s.table.Atomics && !digest, s.table.Barriers && !digest
	statements := map[uint32]bool{}
	for _, sum := range slices.Concat(s.table.Sums, s.table.Sought) {
		statements[sum.Site] = true
	}
	c.StoreSites, c.InNoSum = uint64(len(statements)), s.inNoSum
	o.Stores = o.Stores[:0]
	for _, key := range slices.SortedFunc(maps.Keys(s.totals), func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) }) {
		o.Stores = append(o.Stores, *s.totals[key])
	}
	if n := len(o.Stores); n > warptrace.MaxStoreTotals {
		o.Stores = o.Stores[:warptrace.MaxStoreTotals]
		c.RowsDropped += uint64(n - warptrace.MaxStoreTotals)
	}
	for i := range o.Findings {
		o.Findings[i].Site = s.numberOf(o.Findings[i].Site)
	}
	return s.recorder.outputs(o)
}
