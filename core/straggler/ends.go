package straggler

import (
	"cmp"
	"maps"
	"slices"
)

// Clocks that nothing but the operations relates are known to within about the time that the shortest operation took: too little to say who was late by
// less. But whoever waits for all leaves when all are there and the data has come: ends coincide, nearly, and by as much as they do not the
// method is off. So the clock of each host is moved until the ends that it shows are those that the middle one of all shows.

const (
	endsNear   = 16   // operations before and after whose ends say how a clock is off; a clock needs twice as many
	endsTimes  = 2    // the bound is so many times what
	endsWithin = 0.75 // this share of the ends are off by at most
	endsRounds = 8    // in which communicators that share ranks pull each other
)

// RelateByEnds moves the clocks of ranks until operations end at one time on all, where bounds are wider than what is left then. It returns the widest bound that
// it gives; 0: no clock has ends in common with others.
func (j *Job) RelateByEnds() (boundNS int64) {
	seen := j.ends()
	maps.DeleteFunc(seen, func(_ int32, list []end) bool { return len(list) < 2*endsNear })
	if len(seen) < 2 {
		return 0
	}
	off := make(map[int32][]int64, len(seen)) // by clock, what is to be taken off each of its ends
	for c, list := range seen {
		off[c] = make([]int64, len(list))
	}
	for range endsRounds {
		if !j.pull(seen, off) {
			break
		}
	}
	left := j.residuals(seen, off)
	for c, list := range left {
		for i := range list {
			list[i] = max(list[i], -list[i])
		}
		slices.Sort(list)
		bound := endsTimes * list[int(endsWithin*float64(len(list)-1))]
		j.shift(c, seen[c], off[c], bound)
		boundNS = max(boundNS, bound)
	}
	j.byEnds = !slices.ContainsFunc(j.Ranks, func(r Rank) bool { return seen[r.Clock] == nil })
	return boundNS
}

// end is when the last rank of a clock left an operation.
type end struct {
	op int32
	ns int64
}

// ends lists by clock when operations ended in which all wait for all, in time. Empty: no two clocks have one in common.
func (j *Job) ends() map[int32][]end {
	last := make([]map[int32]int64, len(j.Ops))
	for e := range j.Events {
		x := &j.Events[e]
		if !j.Ops[x.Op].mutual() {
			continue
		}
		if last[x.Op] == nil {
			last[x.Op] = map[int32]int64{}
		}
		c := j.Ranks[x.Rank].Clock
		if had, ok := last[x.Op][c]; !ok || x.LeaveNS > had {
			last[x.Op][c] = x.LeaveNS
		}
	}
	out := map[int32][]end{}
	for k := range last {
		if len(last[k]) > 1 {
			for c, ns := range last[k] {
				out[c] = append(out[c], end{int32(k), ns})
			}
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b end) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.op, b.op)) })
	}
	return out
}

// mutual reports whether all wait for all.
func (o *Op) mutual() bool {
	return len(o.Gates) == 1 && len(o.Gates[0].Givers) > 1 && slices.Equal(o.Gates[0].Givers, o.Gates[0].Receivers)
}

// residuals are by how much each end is later than the middle one of its operation, by clock.
func (j *Job) residuals(seen map[int32][]end, off map[int32][]int64) map[int32][]int64 {
	at := make([][]int64, len(j.Ops))
	for c, list := range seen {
		for i, x := range list {
			at[x.op] = append(at[x.op], x.ns-off[c][i])
		}
	}
	mid := make([]int64, len(j.Ops))
	for k := range at {
		if len(at[k]) > 0 {
			slices.Sort(at[k])
			n := len(at[k])
			mid[k] = at[k][(n-1)/2] + (at[k][n/2]-at[k][(n-1)/2])/2
		}
	}
	out := make(map[int32][]int64, len(seen))
	for c, list := range seen {
		own := make([]int64, len(list))
		for i, x := range list {
			own[i] = x.ns - off[c][i] - mid[x.op]
		}
		out[c] = own
	}
	return out
}

// pull moves each clock by the median of what is left near each of its ends, and reports whether that moved any by more than a hair.
func (j *Job) pull(seen map[int32][]end, off map[int32][]int64) bool {
	moved := int64(0)
	var near []int64
	for c, left := range j.residuals(seen, off) {
		for i := range left {
			near = append(near[:0], left[max(i-endsNear, 0):min(i+endsNear+1, len(left))]...)
			ns := middle(near)
			off[c][i] += ns
			moved = max(moved, ns, -ns)
		}
	}
	return moved > 1000
}

// shift moves the events of a clock, where their bounds are wider than the new one.
func (j *Job) shift(clock int32, seen []end, off []int64, bound int64) {
	at := func(ns int64) int64 {
		i, _ := slices.BinarySearchFunc(seen, ns, func(x end, t int64) int { return cmp.Compare(x.ns, t) })
		return off[min(i, len(off)-1)]
	}
	wide := false
	for e := range j.Events {
		x := &j.Events[e]
		wide = wide || j.Ranks[x.Rank].Clock == clock && x.EnterBoundNS > bound
	}
	if !wide {
		return
	}
	for e := range j.Events {
		x := &j.Events[e]
		if j.Ranks[x.Rank].Clock != clock {
			continue
		}
		ns := at(x.LeaveNS)
		ns = min(max(ns, -x.LeaveBoundNS), x.LeaveBoundNS) // as far as what is known of the clock allows
		x.EnterNS, x.LeaveNS = x.EnterNS-ns, x.LeaveNS-ns
		if x.LaunchNS != 0 {
			x.LaunchNS -= ns
		}
		least := max(bound, x.OwnBoundNS)
		x.EnterBoundNS, x.LeaveBoundNS = min(x.EnterBoundNS, least), min(x.LeaveBoundNS, least)
	}
	for r := range j.Ranks {
		if k := &j.Ranks[r]; k.Clock == clock && k.FirstNS != 1<<63-1 && len(off) > 0 {
			k.FirstNS -= off[0]
		}
	}
}
