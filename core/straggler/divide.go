package straggler

import (
	"cmp"
	"slices"
)

// passage is what a gate says of one event.
type passage struct {
	last     int32 // the event that it waited for, -1: nobody gives to it
	second   int64 // when the next to last giver entered
	marginNS int64 // by how much the last was later than the middle one of the other givers
	boundNS  int64 // how far off the lead of the last over the next to last can be
	givers   []int32
}

// told reports whether it is known who was last.
func (p *passage) told(lastNS int64) bool { return lastNS-p.second > p.boundNS }

// gates finds for each event whom it waited for: of several gates the last one that opened.
func (j *Job) gates() []passage {
	out := make([]passage, len(j.Events))
	for i := range out {
		out[i].last = -1
	}
	var entered []int64
	for k := range j.Ops {
		for _, g := range j.Ops[k].Gates {
			if len(g.Givers) == 0 {
				continue
			}
			byTime := func(a, b int32) int {
				return cmp.Or(cmp.Compare(j.Events[a].EnterNS, j.Events[b].EnterNS), cmp.Compare(j.Events[b].Rank, j.Events[a].Rank))
			}
			last := slices.MaxFunc(g.Givers, byTime)
			p := passage{last: last, givers: g.Givers}
			entered = entered[:0]
			next := int32(-1)
			for _, list := range [2][]int32{g.Givers, g.Receivers} {
				for _, e := range list {
					if e != last && (next < 0 || byTime(e, next) > 0) {
						next = e
					}
					if e != last {
						entered = append(entered, j.Events[e].EnterNS)
					}
				}
				if next >= 0 { // others who give count before those who only wait
					break
				}
			}
			if next >= 0 {
				p.second, p.boundNS = j.Events[next].EnterNS, j.between(last, next)
				slices.Sort(entered)
				p.marginNS = j.Events[last].EnterNS - entered[len(entered)/2]
			}
			for _, e := range g.Receivers {
				if had := out[e].last; had < 0 || byTime(last, had) > 0 {
					out[e] = p
				}
			}
		}
	}
	return out
}

// between is how far off the difference of two entries can be.
func (j *Job) between(a, b int32) int64 {
	x, y := &j.Events[a], &j.Events[b]
	if j.Ranks[x.Rank].Clock == j.Ranks[y.Rank].Clock {
		return x.OwnBoundNS + y.OwnBoundNS
	}
	return x.EnterBoundNS + y.EnterBoundNS
}

// divide divides the time of one event. first says whether the one that it waited for had been recorded doing nothing before.
func (j *Job) divide(e int32, p *passage, first bool) (out Parts) {
	x := &j.Events[e]
	took := max(x.LeaveNS-x.EnterNS, 0)
	if p.last < 0 {
		return Parts{TransferNS: took}
	}
	wait, bound := int64(0), int64(0)
	if p.last == e {
		bound = max(p.boundNS-(x.EnterNS-p.second), 0)
	} else {
		wait, bound = max(j.Events[p.last].EnterNS-x.EnterNS, 0), j.between(e, p.last)
	}
	sure := min(max(wait-bound, 0), took)
	out.UntoldNS = min(wait+bound, took) - sure
	out.TransferNS = took - sure - out.UntoldNS
	if r := &j.Ranks[j.Events[p.last].Rank]; first && p.last != e {
		out.ProfilerNS = min(max(r.FirstNS-x.EnterNS-bound, 0), sure)
	}
	if l := j.Events[p.last].LaunchNS; l != 0 && p.last != e {
		out.LaunchNS = max(min(l-x.EnterNS-bound, sure)-out.ProfilerNS, 0)
	}
	out.WaitingNS = sure - out.ProfilerNS - out.LaunchNS
	return out
}

// sequence lists the events of each rank by when they were entered, and for each event the one that its rank had left last before; -1: none.
func (j *Job) sequence() (byRank [][]int32, before []int32) {
	byRank, before = make([][]int32, len(j.Ranks)), make([]int32, len(j.Events))
	for i := range j.Events {
		byRank[j.Events[i].Rank] = append(byRank[j.Events[i].Rank], int32(i))
	}
	for _, list := range byRank {
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(j.Events[a].EnterNS, j.Events[b].EnterNS) })
		left := slices.Clone(list)
		slices.SortStableFunc(left, func(a, b int32) int { return cmp.Compare(j.Events[a].LeaveNS, j.Events[b].LeaveNS) })
		n := 0
		last := int32(-1)
		for _, e := range list {
			for n < len(left) && j.Events[left[n]].LeaveNS <= j.Events[e].EnterNS && left[n] != e {
				last = left[n]
				n++
			}
			before[e] = last
		}
	}
	return byRank, before
}
