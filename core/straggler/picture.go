package straggler

import (
	"cmp"
	"slices"
)

// drawSteps fills Document.Pictures with the steps in which lateness cost most.
func (f *finder) drawSteps(late []lateness, chain []hop) {
	costs := make([]int64, len(f.steps))
	because := map[int32]*lateness{}
	for i := range late {
		l := &late[i]
		if l.transfer || l.costNS == 0 {
			continue
		}
		because[l.event] = l
		if s := f.job.Ops[l.op].Step; s >= 0 {
			costs[s] += l.costNS
		}
	}
	hops := map[int32][]hop{}
	for i := len(chain) - 1; i >= 0; i-- { // it was followed from its end
		if o := f.job.Events[chain[i].left].Op; f.counts[o] {
			hops[f.job.Ops[o].Step] = append(hops[f.job.Ops[o].Step], chain[i])
		}
	}
	f.doc.Pictures = []Picture{}
	steps := make([]int32, 0, len(costs))
	for s, ns := range costs {
		if ns > 0 {
			steps = append(steps, int32(s))
		}
	}
	slices.SortStableFunc(steps, func(a, b int32) int { return cmp.Compare(costs[b], costs[a]) })
	steps = steps[:min(len(steps), PictureSteps)]
	events := map[int32][]int32{}
	for e := range f.job.Events {
		if o := f.job.Events[e].Op; f.counts[o] && slices.Contains(steps, f.job.Ops[o].Step) {
			events[f.job.Ops[o].Step] = append(events[f.job.Ops[o].Step], int32(e))
		}
	}
	for _, s := range steps {
		f.doc.Pictures = append(f.doc.Pictures, f.drawStep(s, events[s], hops[s], because))
	}
}

// drawStep draws one step: of the ranks that cost most in it, those through which the chain runs, and others.
func (f *finder) drawStep(step int32, events []int32, chain []hop, because map[int32]*lateness) Picture {
	j, st := f.job, &f.steps[step]
	slices.SortFunc(events, func(a, b int32) int {
		return cmp.Or(cmp.Compare(j.Events[a].EnterNS, j.Events[b].EnterNS), cmp.Compare(a, b))
	})
	cost := map[int32]int64{}
	for _, e := range events {
		if l := because[e]; l != nil {
			cost[j.Events[e].Rank] += l.costNS
		}
	}
	onChain := map[int32]int{}
	for _, h := range chain {
		onChain[j.Events[h.entered].Rank], onChain[j.Events[h.left].Rank] = 1, 1
	}
	shown := slices.Clone(f.order)
	slices.SortStableFunc(shown, func(a, b int32) int {
		return cmp.Or(cmp.Compare(cost[b], cost[a]), cmp.Compare(onChain[b], onChain[a]))
	})
	p := Picture{Step: st.Name, FromNS: st.FromNS, ToNS: st.ToNS, Operations: []string{}, Rows: []PictureRow{}, Chain: []PictureHop{}, RanksLeftOut: max(len(shown)-PictureRanks, 0)}
	row := map[int32]int{}
	for _, r := range shown[:min(len(shown), PictureRanks)] {
		row[r] = len(p.Rows)
		p.Rows = append(p.Rows, PictureRow{Rank: j.Ranks[r].ID, CostNS: cost[r], Spans: []PictureSpan{}})
	}
	ops, n := map[int32]int{}, 0
	for _, e := range events {
		i, ok := row[j.Events[e].Rank]
		if !ok {
			continue
		}
		if n++; n > PictureEvents {
			p.SpansLeftOut++
			continue
		}
		op, seen := ops[j.Events[e].Op]
		if !seen {
			op = len(p.Operations)
			ops[j.Events[e].Op], p.Operations = op, append(p.Operations, j.Ops[j.Events[e].Op].Key)
		}
		p.Rows[i].Spans = append(p.Rows[i].Spans, f.pictured(e, op, because[e]))
	}
	for _, h := range chain[:min(len(chain), PictureEvents)] {
		p.Chain = append(p.Chain, f.hopOf(h, because[h.entered]))
	}
	return p
}

// hopOf is a piece of the chain in a picture, and the lateness that it is charged with, if any.
func (f *finder) hopOf(h hop, late *lateness) PictureHop {
	j := f.job
	entered, left := &j.Events[h.entered], &j.Events[h.left]
	out := PictureHop{Operation: j.Ops[left.Op].Key, Rank: j.Ranks[entered.Rank].ID, BeganNS: j.Ranks[entered.Rank].FirstNS, EnteredNS: entered.EnterNS, LeftBy: j.Ranks[left.Rank].ID, LeftNS: left.LeaveNS}
	if h.before >= 0 {
		out.BeganNS = j.Events[h.before].LeaveNS
	}
	out.BeganNS = min(out.BeganNS, out.EnteredNS)
	if late != nil {
		out.CostNS = late.costNS
		if late.work >= 0 {
			out.Cause = j.Names[late.work].Name
		}
	}
	return out
}

// pictured is one execution in a picture, and the lateness that it is charged with, if any.
func (f *finder) pictured(e int32, op int, late *lateness) PictureSpan {
	j := f.job
	x := &j.Events[e]
	s := PictureSpan{Operation: op, EnterNS: x.EnterNS, ReadyNS: x.EnterNS, LeaveNS: x.LeaveNS}
	if last := f.gate[e].last; last >= 0 && last != e && j.Events[last].EnterNS > x.EnterNS {
		s.ReadyNS, s.For = min(j.Events[last].EnterNS, x.LeaveNS), j.Ranks[j.Events[last].Rank].ID
	}
	if late == nil {
		return s
	}
	s.CostNS = late.costNS
	if late.work >= 0 {
		s.Cause = j.Names[late.work].Name
	}
	return s
}
