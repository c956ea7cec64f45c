package dividing

import (
	"fmt"
	"math"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/straggler"
)

// unknownBoundNS is the bound of clocks that nothing relates: of them nothing is told.
const unknownBoundNS = int64(1) << 61

// clockedByProbes is what `joining` says of clocks that were measured: nothing else relates them better.
const clockedByProbes = "probes"

// kinds are what `straggler` calls the functions.
var kinds = map[string]string{
	"AllReduce": "all-reduce", "AllGather": "all-gather", "ReduceScatter": "reduce-scatter", "Broadcast": "broadcast", "Reduce": "reduce",
	"AlltoAll": "all-to-all", "Gather": "gather", "Scatter": "scatter", "Send": "send-recv", "SendRecv": "send-recv", "AllGatherV": "all-gather",
}

// StragglerJob makes a job for `straggler` of the operations whose members all began and ended. nil: there are none.
func StragglerJob(job *operation.Job, ext []operation.Extent) *straggler.Job {
	d := &division{job: job, ext: ext}
	out := &straggler.Job{}
	for i := range job.Ranks {
		r := &job.Ranks[i]
		one := straggler.Rank{ID: r.ID, Host: r.Host, Clock: r.Clock, FirstNS: math.MaxInt64}
		if r.World >= 0 {
			one.ID = "rank " + r.ID
		}
		if r.Recording >= 0 {
			one.FirstNS = job.Recordings[r.Recording].FirstNS
		}
		out.Ranks = append(out.Ranks, one)
	}
	by, all := slowest(job)
	out.Links = all
	for mi := range job.Matches {
		if w, ok := d.whole(int32(mi)); ok && job.Matches[mi].To-job.Matches[mi].From > 1 {
			d.addTo(out, &w)
			d.slowest(out, &job.Matches[mi], by)
		}
	}
	if len(out.Ops) == 0 {
		d.byDurations(out)
	}
	if len(out.Ops) == 0 {
		return nil
	}
	if job.Clocked != clockedByProbes {
		out.RelateByEnds()
	}
	out.FindSteps()
	return out
}

// slowest gives the operation that was added last the link that was the slowest in it.
func (d *division) slowest(out *straggler.Job, m *operation.Match, by map[opKey]straggler.Slow) {
	o := &out.Ops[len(out.Ops)-1]
	for i := m.From; i < m.To; i++ {
		p := &d.job.Parts[i]
		if s, ok := by[opKey{p.Recording, p.Op}]; ok && s.NS > 0 && (o.Slow == nil || s.NS > o.Slow.NS) {
			o.Slow = &s
		}
	}
}

// byDurations adds operations of which it is known how long each member's kernel took, and not when: all wait for all in them, so that they end together, and
// who came last stayed shortest. They are put one after the other, as far apart as fits the time that was recorded.
func (d *division) byDurations(out *straggler.Job) {
	free, longest, n := make([]int64, len(d.job.Ranks)), int64(0), int64(0)
	var usable []int32
	for mi := range d.job.Matches {
		m := &d.job.Matches[mi]
		if most, ok := d.lasted(m); ok {
			usable, longest, n = append(usable, int32(mi)), longest+most, n+1
		}
	}
	if n == 0 {
		return
	}
	from, to := int64(math.MaxInt64), int64(0)
	for _, r := range d.job.Recordings {
		from, to = min(from, r.FirstNS), max(to, r.LastNS)
	}
	gap := max((to-from-longest)/n, 1000)
	for r := range free {
		free[r] = max(from, 1)
	}
	for _, mi := range usable {
		m := &d.job.Matches[mi]
		end := int64(0)
		for i := m.From; i < m.To; i++ {
			p := &d.job.Parts[i]
			end = max(end, free[p.Rank]+gap+d.job.Op(p).TookNS)
		}
		at := len(out.Events)
		d.addTo(out, &whole{Match: mi, Last: m.From})
		for i := m.From; i < m.To; i++ {
			p, e := &d.job.Parts[i], &out.Events[at+int(i-m.From)]
			e.EnterNS, e.LeaveNS, e.EnterBoundNS, e.LeaveBoundNS, e.OwnBoundNS, e.LaunchNS = end-d.job.Op(p).TookNS, end, 0, 0, 0, 0
			free[p.Rank] = end
			out.Ranks[p.Rank].FirstNS = 0
		}
	}
	for r := range out.Ranks {
		out.Ranks[r].Clock = 0
	}
	out.ByDurations = true
}

// lasted is how long the member of an operation took that took longest, where that is known of all and all wait for all.
func (d *division) lasted(m *operation.Match) (most int64, ok bool) {
	if m.Kind != operation.Collective || int(m.To-m.From) < max(d.needed(m), 2) {
		return 0, false
	}
	for i := m.From; i < m.To; i++ {
		p := &d.job.Parts[i]
		gives, takes := operation.Role(m, d.job.Op(p), p.Seat)
		took := d.job.Op(p).TookNS
		if !gives || !takes || took == 0 {
			return 0, false
		}
		most = max(most, took)
	}
	return most, true
}

// addTo adds one operation.
func (d *division) addTo(out *straggler.Job, w *whole) {
	m := &d.job.Matches[w.Match]
	c := &d.job.Comms[m.Comm]
	first := &d.job.Parts[m.From]
	op := d.job.Op(first)
	at, from := int32(len(out.Ops)), int32(len(out.Events))
	o := straggler.Op{Group: c.Name, Step: -1, Occurrence: int(m.Sequence), Name: m.Func, Kind: kinds[m.Func], Members: int(c.Ranks), Bytes: d.bytes(m)}
	o.Key = c.Name + "/" + m.Func
	o.Class = fmt.Sprintf("%s of %d", o.Key, op.Bytes)
	if m.Kind == operation.Send {
		o.Members, o.Occurrence = 2, int(m.Occurrence)
		o.Key = fmt.Sprintf("%s %d to %d", o.Key, first.Seat, op.Peer)
		o.Class = fmt.Sprintf("Send of %d", op.Bytes)
	}
	var gives, takes []int32
	for i := m.From; i < m.To; i++ {
		p, e := &d.job.Parts[i], &d.ext[i]
		bound := d.boundOf(i)
		if bound < 0 {
			bound = unknownBoundNS
		}
		event := straggler.Event{Rank: p.Rank, Op: at, EnterNS: e.BeganNS, LeaveNS: max(e.EndedNS, e.BeganNS), EnterBoundNS: bound, LeaveBoundNS: bound, OwnBoundNS: d.ownBoundOf(i)}
		if r := d.job.Recordings[p.Recording]; d.job.Op(p).Launch >= 0 && d.job.Op(p).Occurrence == 0 {
			event.LaunchNS = r.Launch[d.job.Op(p).Launch].StopNS
		}
		g, t := operation.Role(m, d.job.Op(p), p.Seat)
		if g {
			gives = append(gives, from+i-m.From)
		}
		if t {
			takes = append(takes, from+i-m.From)
		}
		out.Events = append(out.Events, event)
	}
	if len(gives) > 0 && len(takes) > 0 {
		o.Gates = append(o.Gates, straggler.Gate{Givers: gives, Receivers: takes})
		if m.Kind == operation.Send { // a send waits for its receive as well
			o.Gates = append(o.Gates, straggler.Gate{Givers: takes, Receivers: gives})
		}
	}
	out.Ops = append(out.Ops, o)
}

// bytes is the size of an operation as nccl-tests counts it: what one member gets in all, or gives; 0 unknown. NCCL counts AllGather and
// ReduceScatter by member.
func (d *division) bytes(m *operation.Match) int64 {
	n := d.job.Op(&d.job.Parts[m.From]).Bytes
	switch m.Func {
	case "AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter":
		n *= int64(d.job.Comms[m.Comm].Ranks)
	}
	return n
}
