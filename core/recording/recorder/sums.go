package recorder

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// sums are those of one warp, ascending by statement and array.
func (a *Arena) sums(into []warptrace.StoreSum, w *arena.Warp) []warptrace.StoreSum {
	known, arrays := uint64(len(a.Table.Sums)), uint64(len(a.Plan.Arrays))
	for _, sum := range w.Sums {
		one := warptrace.StoreSum{Count: sum.Count, Hash: sum.Hash}
		var of observe.Sum
		if sum.Slot < known {
			of = a.Table.Sums[sum.Slot]
			one.Array = uint32(of.Array)
		} else {
			k := sum.Slot - known
			if arrays == 0 || k/arrays >= uint64(len(a.Table.Sought)) {
				continue // the kernel wrote over the header of its arena
			}
			of = a.Table.Sought[k/arrays]
			one.Array = a.Plan.Arrays[k%arrays].ID
		}
		one.Site = of.Site
		a.total(one, of.Swaps, &sum)
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
		a.totals[[2]uint32{into[i].Site, into[i].Array}].Warps++
	}
	return into[:n]
}

// total adds the sum of a warp to that of all. What a compare-and-swap brings depends on the order, and is in no sum of values.
func (a *Arena) total(one warptrace.StoreSum, swaps bool, of *arena.Sum) {
	if a.totals == nil {
		a.totals = map[[2]uint32]*warptrace.StoreTotal{}
	}
	t := a.totals[[2]uint32{one.Site, one.Array}]
	if t == nil {
		t = &warptrace.StoreTotal{StoreSum: warptrace.StoreSum{Site: one.Site, Array: one.Array}, Values: &warptrace.ValueSums{}}
		a.totals[[2]uint32{one.Site, one.Array}] = t
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

// Stored adds to what a launch wrote what its kernel summed, and says of both what was looked at. It comes after Collect.
func (a *Arena) Stored(o *warptrace.Outputs) {
	c, digest := &o.Coverage, a.mode == warptrace.ModeDigest
	c.ControlFlow, c.Predicates, c.Rolling, c.Stores = !digest, !digest, digest, true
	c.StoreEvents, c.AtomicEvents, c.BarrierEvents = a.Table.Stores && !digest, a.Table.Atomics && !digest, a.Table.Barriers && !digest
	statements := map[uint32]bool{}
	for _, sum := range slices.Concat(a.Table.Sums, a.Table.Sought) {
		statements[sum.Site] = true
	}
	c.StoreSites, c.InNoSum = uint64(len(statements)), a.inNoSum
	o.Stores = o.Stores[:0]
	for _, key := range slices.SortedFunc(maps.Keys(a.totals), func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) }) {
		o.Stores = append(o.Stores, *a.totals[key])
	}
	if n := len(o.Stores); n > warptrace.MaxStoreTotals {
		o.Stores = o.Stores[:warptrace.MaxStoreTotals]
		c.RowsDropped += uint64(n - warptrace.MaxStoreTotals)
	}
}
