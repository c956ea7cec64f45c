package straggler

import (
	"cmp"
	"slices"
)

// What would be gained? The job is replayed: each operation begins when those that it waits for have done what they did before, takes as long as it did once all are
// there, and a rank that is as fast as the median takes the median's time before each operation. What was waited for then comes out by itself.

// mostReplays is for how many ranks, beside those that are blamed, the job is replayed.
const mostReplays = 8

// replay is a job that can be replayed.
type replay struct {
	job    *Job
	before []int32
	order  []int32 // operations, as they became ready
	own    []int64 // by event: how long its rank took since it had left the operation before
	took   []int64 // by event: how long it stayed when all whom it waits for were there; less than 0 where clocks are off

	enter, leave, ready []int64
	done                []bool
	end                 int64 // of the job
}

func (j *Job) replay(before []int32) *replay {
	n := len(j.Events)
	r := &replay{job: j, before: before, own: make([]int64, n), took: make([]int64, n), enter: make([]int64, n), leave: make([]int64, n), ready: make([]int64, n), done: make([]bool, n)}
	entered := make([]int64, len(j.Ops))
	for e := range j.Events {
		x := &j.Events[e]
		if e == 0 || x.LeaveNS > r.end {
			r.end = x.LeaveNS
		}
		if b := before[e]; b >= 0 {
			r.own[e] = x.EnterNS - j.Events[b].LeaveNS
		}
		r.enter[e], r.ready[e] = x.EnterNS, x.EnterNS
		if entered[x.Op] == 0 || x.EnterNS > entered[x.Op] {
			entered[x.Op] = x.EnterNS
		}
	}
	members := r.members()
	for k := range j.Ops {
		r.meet(int32(k))
		for _, e := range members[k] {
			r.took[e] = j.Events[e].LeaveNS - r.ready[e]
		}
		r.order = append(r.order, int32(k))
	}
	slices.SortStableFunc(r.order, func(a, b int32) int { return cmp.Compare(entered[a], entered[b]) })
	return r
}

// members lists the events of each operation.
func (r *replay) members() [][]int32 {
	out := make([][]int32, len(r.job.Ops))
	for e := range r.job.Events {
		o := r.job.Events[e].Op
		out[o] = append(out[o], int32(e))
	}
	return out
}

// meet lets the members of an operation wait for each other: ready is when the last one has entered.
func (r *replay) meet(op int32) {
	for _, g := range r.job.Ops[op].Gates {
		if len(g.Givers) == 0 {
			continue
		}
		last := r.enter[g.Givers[0]]
		for _, e := range g.Givers {
			last = max(last, r.enter[e])
		}
		for _, e := range g.Receivers {
			r.ready[e] = max(r.ready[e], last)
		}
	}
}

// gain is by how much shorter the job is where each event's rank takes less before it by what less says.
func (r *replay) gain(members [][]int32, less func(e int32) int64) int64 {
	clear(r.done)
	end := int64(0)
	for i, op := range r.order {
		for _, e := range members[op] {
			x := &r.job.Events[e]
			r.enter[e] = x.EnterNS
			if b := r.before[e]; b >= 0 {
				left := r.job.Events[b].LeaveNS
				if r.done[b] {
					left = r.leave[b]
				}
				r.enter[e] = left + r.own[e] - less(e)
			}
			r.ready[e] = r.enter[e]
		}
		r.meet(op)
		for _, e := range members[op] {
			r.leave[e], r.done[e] = r.ready[e]+r.took[e], true
			if i == 0 && e == members[op][0] || r.leave[e] > end {
				end = r.leave[e]
			}
		}
	}
	return r.end - end
}

// replays fills what would be gained of the ranks that cost most, and of all that are blamed together.
func (f *finder) replays(m *measures) {
	if len(f.job.Events) == 0 {
		return
	}
	r := f.job.replay(f.before)
	members := r.members()
	as := func(fast []bool) int64 {
		return r.gain(members, func(e int32) int64 {
			x := &f.job.Events[e]
			if !fast[x.Rank] || !f.counts[x.Op] {
				return 0
			}
			ns, _ := m.excess(e)
			return min(ns, r.own[e])
		})
	}
	all := make([]bool, len(f.job.Ranks))
	blamed := 0
	for i, rank := range f.order {
		c := &f.doc.Ranks[i]
		if c.Blamed {
			all[rank] = true
			blamed++
		}
		if c.CostNS > 0 && i < mostReplays {
			one := make([]bool, len(f.job.Ranks))
			one[rank] = true
			ns := as(one)
			c.ReplayNS = &ns
		}
	}
	switch {
	case blamed == 1 && f.doc.Ranks[0].ReplayNS != nil:
		f.doc.GainNS = *f.doc.Ranks[0].ReplayNS
	case blamed > 0:
		f.doc.GainNS = as(all)
	}
}
