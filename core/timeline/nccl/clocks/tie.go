package clocks

import (
	"cmp"
	"context"
	"slices"

	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/nccl/operation"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// Tied is what collectives show of the clocks of hosts.
type Tied struct {
	Clocks   []TiedClock // as Job.Clocks
	Meetings int         // operations that were used
	Silent   int         // that say nothing: members of one clock, or nothing bounds when they were left
	Warnings []string
}

// TiedClock is the clock of one host.
type TiedClock struct {
	Map      *clock.Map // to the first clock's; nil where nothing ties it
	OffsetNS int64      // how far it is ahead, in the middle of what was recorded
	DriftPPM float64
	Bound    offsets.Bounds
}

// Tie finds the clocks of a job's hosts by its matched operations: nobody whom an operation needs others for leaves it before those have entered
// it. Instants of recordings are on the clocks of their hosts, kernels as Apply left them.
func Tie(ctx context.Context, j *operation.Job) (*Tied, error) {
	t := &Tied{Clocks: make([]TiedClock, len(j.Clocks))}
	if len(j.Clocks) == 0 {
		return t, nil
	}
	reference := offsets.Clock{}
	t.Clocks[0].Map = &clock.Map{}
	if len(j.Clocks) == 1 {
		return t, nil
	}
	graph := offsets.NewGraph()
	for i := range j.Clocks {
		graph.Mention(offsets.Clock{Node: i})
	}
	graph.Meet(t.meetings(j), reference)
	s, err := graph.Solve(ctx, reference, offsets.Options{MaxDriftPPM: 500})
	if err != nil {
		return nil, err
	}
	t.Warnings = s.Warnings
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Node > 0 && n.Node < len(t.Clocks) {
			t.Clocks[n.Node] = TiedClock{n.Map, n.OffsetNS, n.DriftPPM, n.Bound}
		}
	}
	return t, nil
}

const (
	// meetingShift makes stretches of 67 ms, of which the operations are used that leave the clocks the least room.
	meetingShift = 26
	meetingsOf   = 8
	mostMeetings = 1 << 15
)

// meeting is an operation with what its members saw of it.
type meeting struct {
	at, room int64
	members  []offsets.Presence
}

// meetings lists the operations that say most of clocks.
func (t *Tied) meetings(j *operation.Job) *offsets.Meetings {
	out := &offsets.Meetings{}
	var all []meeting
	var list []offsets.Presence
	for i := range j.Matches {
		list = presences(j, &j.Matches[i], out, list[:0])
		if len(list) < 2 {
			t.Silent++
			continue
		}
		m := meeting{at: list[0].EnterNS, room: list[0].LeftNS - list[0].EnterNS}
		for _, p := range list[1:] {
			m.room = min(m.room, p.LeftNS-p.EnterNS)
		}
		m.members = slices.Clone(list)
		if all = append(all, m); len(all) >= 2*mostMeetings {
			all = tightestOf(all, meetingShift)
		}
	}
	shift := uint(meetingShift)
	for kept := all; ; shift++ {
		if kept = tightestOf(all, shift); len(kept) <= mostMeetings || shift > 60 {
			all = kept
			break
		}
	}
	for i := range all {
		out.Add(all[i].members)
	}
	t.Meetings = len(all)
	return out
}

// tightestOf keeps of each stretch of time the meetings that leave the least room, and returns them by time.
func tightestOf(all []meeting, shift uint) []meeting {
	slices.SortStableFunc(all, func(a, b meeting) int {
		return cmp.Or(cmp.Compare(a.at>>shift, b.at>>shift), cmp.Compare(a.room, b.room), cmp.Compare(a.at, b.at))
	})
	kept := all[:0:0]
	for i, n := 0, 0; i < len(all); i++ {
		if i > 0 && all[i].at>>shift != all[i-1].at>>shift {
			n = 0
		}
		if n++; n <= meetingsOf {
			kept = append(kept, all[i])
		}
	}
	slices.SortStableFunc(kept, func(a, b meeting) int { return cmp.Compare(a.at, b.at) })
	return kept
}

// presences lists the clocks that took part in an operation, ascending.
func presences(j *operation.Job, m *operation.Match, numbers *offsets.Meetings, list []offsets.Presence) []offsets.Presence {
	parts := j.Of(m)
	for i := range parts {
		p := &parts[i]
		r := &j.Ranks[p.Rank]
		if r.Clock < 0 || int(r.Clock) >= len(j.Clocks) {
			continue
		}
		gives, takes := roles(j, m, i, p)
		if !gives && !takes {
			continue
		}
		enter, left := stay(j.Recordings[p.Recording], j.Op(p))
		if enter <= 0 || left < enter {
			continue
		}
		list = append(list, offsets.Presence{
			Clock: numbers.Clock(offsets.Clock{Node: int(r.Clock)}), Gives: gives, Takes: takes, EnterNS: enter, LeftNS: left,
		})
	}
	slices.SortStableFunc(list, func(a, b offsets.Presence) int { return cmp.Compare(a.Clock, b.Clock) })
	n := 0
	for i, p := range list {
		if i > 0 && list[n-1].Clock == p.Clock {
			list[n-1] = joined(list[n-1], p)
			continue
		}
		list[n] = p
		n++
	}
	return binding(list[:n])
}

// binding returns the list where somebody waits for somebody else in it, nil else.
func binding(list []offsets.Presence) []offsets.Presence {
	for i, a := range list {
		for k, b := range list {
			if i != k && a.Gives && b.Takes {
				return list
			}
		}
	}
	return nil
}

// joined makes one presence of two GPUs of one host: the last that gives, the first that leaves.
func joined(p, o offsets.Presence) offsets.Presence {
	switch {
	case p.Gives && o.Gives:
		p.EnterNS = max(p.EnterNS, o.EnterNS)
	case o.Gives:
		p.EnterNS = o.EnterNS
	}
	switch {
	case p.Takes && o.Takes:
		p.LeftNS = min(p.LeftNS, o.LeftNS)
	case o.Takes:
		p.LeftNS = o.LeftNS
	}
	p.Gives, p.Takes = p.Gives || o.Gives, p.Takes || o.Takes
	return p
}

// roles says whether others wait for a member, and whether it waits for others.
func roles(j *operation.Job, m *operation.Match, nth int, p *operation.Part) (gives, takes bool) {
	op := j.Op(p)
	switch {
	case m.Kind == operation.Send:
		return nth == 0, nth > 0
	case m.Kind != operation.Collective:
		return false, false
	}
	switch m.Func {
	case "AllReduce", "AllGather", "ReduceScatter", "AlltoAll":
		return true, true
	case "Broadcast", "Scatter":
		return op.Peer == p.Seat, op.Peer != p.Seat
	case "Reduce", "Gather":
		return op.Peer != p.Seat, op.Peer == p.Seat
	}
	return false, false
}

// stay bounds when a member was in an operation: it entered no earlier than at the first instant and left no later than at the second. 0: nothing says it.
func stay(r *operation.Recording, op *operation.Op) (enter, left int64) {
	kernels := r.Kernels[op.KernelFrom:op.KernelTo]
	for i := range kernels {
		k := &kernels[i]
		from := k.StartNS - k.BoundNS
		if k.BoundNS < 0 {
			from = launchOf(r, k)
		}
		to := k.StopNS + max(k.BoundNS, 0)
		if !k.Stopped || from <= 0 || to <= 0 {
			return 0, 0
		}
		if enter == 0 || from < enter {
			enter = from
		}
		left = max(left, to)
	}
	return enter, left
}
