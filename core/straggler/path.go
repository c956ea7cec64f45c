package straggler

import (
	"cmp"
	"slices"
)

// lateness is a place on the critical path: a rank that the others waited for at an operation, because it took longer than usual
// before it, or an operation that took longer than usual when all were there.
type lateness struct {
	event    int32 // of the rank that was late, or that left the operation last
	op       int32
	transfer bool
	costNS   int64 // the part of its late arrival, against the median of the others, that its own slower work explains
	gainNS   int64 // by how much the operation would have begun earlier, were it as fast as usual
	handed   bool  // more than half of the lateness came from elsewhere: that the rank is on the chain is not its own doing
	work     int32 // what took longer than usual, place in Job.Names; -1 unknown
	givers   []int32
}

// hop is a piece of the chain, by places in Job.Events: what its rank had left before, what was entered then and waited for, and what was left.
type hop struct{ before, entered, left int32 }

// walk follows the critical path from the end of the job to its beginning: from the rank that leaves last to the one that it
// waited for, to what that one did before, and so on.
func (j *Job) walk(gate []passage, before []int32, m *measures, usual map[string]int64) (out []lateness, chain []hop) {
	if len(j.Events) == 0 {
		return nil, nil
	}
	at := int32(0)
	for i := range j.Events {
		if j.Events[i].LeaveNS > j.Events[at].LeaveNS {
			at = int32(i)
		}
	}
	opened := make([]int32, len(j.Events)) // one of those that waited for it; -1: nobody did
	for i := range opened {
		opened[i] = -1
	}
	for i := range gate {
		if last := gate[i].last; last >= 0 {
			opened[last] = int32(i)
		}
	}
	seen := make([]bool, len(j.Events))
	for at >= 0 && !seen[at] {
		seen[at] = true
		x, p := &j.Events[at], &gate[at]
		if p.last < 0 && opened[at] >= 0 { // it waited for nobody, and others for it
			p = &gate[opened[at]]
		}
		last := at
		if p.last >= 0 && p.last != at && j.Events[p.last].EnterNS > x.EnterNS {
			last = p.last
		}
		if over := j.transferOf(at, p) - usual[j.Ops[x.Op].Class]; over > x.LeaveBoundNS+j.Events[last].EnterBoundNS && p.last >= 0 {
			out = append(out, lateness{event: at, op: x.Op, transfer: true, costNS: over, gainNS: over, work: between, givers: p.givers})
		}
		if last != at {
			seen[last] = true
		}
		lead, margin, bound := j.Events[last].EnterNS-p.second, p.marginNS, p.boundNS
		if p.last >= 0 && p.last != last { // it entered after those whom it needed: they had nothing to wait for, and what they gave had
			lead, bound = x.EnterNS-j.Events[p.last].EnterNS, j.between(at, p.last)
			margin = lead
		}
		switch {
		case p.last >= 0 && lead > bound:
			out = m.charge(out, lateness{event: last, op: x.Op, givers: p.givers}, margin-bound, lead-bound)
		case p.last == last:
			out = m.oneOfTheLast(out, x.Op, p)
		}
		chain = append(chain, hop{left: at, entered: last, before: before[last]})
		at = before[last]
	}
	return out, chain
}

// charge adds a lateness, of a rank that took longer than usual: no more than that is its cost and its gain.
func (m *measures) charge(out []lateness, l lateness, costNS, gainNS int64) []lateness {
	excess, work := m.excess(l.event)
	if excess <= 0 {
		return out
	}
	l.costNS, l.gainNS, l.work, l.handed = max(min(excess, costNS), 0), max(min(excess, gainNS), 0), work, 2*excess < costNS
	return append(out, l)
}

// oneOfTheLast adds the latenesses of those that may have been last, as far as the bounds tell: several ranks can be late together, and which of them was last
// is chance. What they took longer themselves must explain half of it: lateness that was handed to them is not theirs.
func (m *measures) oneOfTheLast(out []lateness, op int32, p *passage) []lateness {
	j := m.job
	last := j.Events[p.last].EnterNS
	for _, e := range p.givers {
		enter := j.Events[e].EnterNS
		certain := enter - (last - p.marginNS) - p.boundNS
		if certain <= 0 || last-enter > j.between(e, p.last) {
			continue
		}
		if excess, _ := m.excess(e); 2*excess >= certain {
			out = m.charge(out, lateness{event: e, op: op, givers: p.givers}, certain, 0)
		}
	}
	return out
}

// transferOf is how long an operation took for an event after all were there.
func (j *Job) transferOf(e int32, p *passage) int64 {
	x := &j.Events[e]
	from := x.EnterNS
	if p.last >= 0 {
		from = max(from, j.Events[p.last].EnterNS)
	}
	return max(x.LeaveNS-from, 0)
}

// usualTransfers is the median of that for each class.
func (j *Job) usualTransfers(gate []passage) map[string]int64 {
	all := map[string][]int64{}
	for e := range j.Events {
		class := j.Ops[j.Events[e].Op].Class
		all[class] = append(all[class], j.transferOf(int32(e), &gate[e]))
	}
	out := map[string]int64{}
	for class, list := range all {
		slices.Sort(list)
		out[class] = list[len(list)/2]
	}
	return out
}

// link is two ranks, or one communicator of more, that exchanged something.
type link struct {
	a, b     int32 // ranks, ascending; b -1: a communicator
	group    string
	directed bool // what a sends to b
}

// linkOf is the link of an operation.
func (j *Job) linkOf(op int32) link {
	first, second := int32(-1), int32(-1)
	for _, g := range j.Ops[op].Gates {
		for _, list := range [2][]int32{g.Givers, g.Receivers} {
			for _, e := range list {
				switch r := j.Events[e].Rank; {
				case first < 0 || r == first:
					first = r
				case second < 0 || r == second:
					second = r
				default:
					return link{a: -1, b: -1, group: j.Ops[op].Group}
				}
			}
		}
	}
	return link{a: min(first, second), b: max(first, second)}
}

func (l link) compare(o link) int {
	return cmp.Or(cmp.Compare(l.a, o.a), cmp.Compare(l.b, o.b), cmp.Compare(l.group, o.group), boolean(l.directed)-boolean(o.directed))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// linkFor is the link of a transfer that took longer than usual: that one whose data did, by half of it at least, else that of its operation.
func (j *Job) linkFor(op int32, ns int64) link {
	if s := j.Ops[op].Slow; s != nil && 2*s.NS >= ns {
		return link{a: s.From, b: s.To, directed: true}
	}
	return j.linkOf(op)
}
