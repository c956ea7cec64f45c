// Package diagnosing says what is wrong in a job, of the recordings of its ranks: who holds everybody up, and why.
//
// It looks for operations that do not come to an end, and follows who waits for whom to a root: a rank that never arrived, a process that
// died, a stage of a proxy step that holds, a cycle. It compares what members passed to one operation. Of jobs that do come to an end it says
// who is late, which `straggler` computes, and which links are slow. It says what it looked at, and at which level more could be seen.
package diagnosing

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/nccl/operation"
)

// Options are what is asked for.
type Options struct {
	StallNS int64 // an operation that has not moved for so long does not come to an end by itself; 0: 5 s
	Limit   int   // findings that are listed, 0: 20
}

// stallNS is Options.StallNS, where it is 0.
const stallNS = 5_000_000_000

// Diagnose looks at a job.
func Diagnose(job *operation.Job, opt Options) (*Document, error) {
	if opt.StallNS == 0 {
		opt.StallNS = stallNS
	}
	if opt.Limit == 0 {
		opt.Limit = 20
	}
	if opt.StallNS < 0 || opt.Limit < 0 {
		return nil, fault.Usagef("stall of %d ns and limit of %d findings, expected positive numbers", opt.StallNS, opt.Limit)
	}
	d := newDossier(job, opt)
	slow, err := lookForSlowness(d)
	if err != nil {
		return nil, err
	}
	return document(d, lookForMismatches(d), lookForStalls(d), slow), nil
}

// dossier is what is known of a job before anybody looks for what is wrong. Nobody changes it afterwards.
type dossier struct {
	job     *operation.Job
	opt     Options
	end     int64              // the last sign of life of anybody
	ext     []operation.Extent // by part
	last    [][]int32          // by communicator and seat: the last match that the member executed, by place; -1 none
	partial bool               // a recording holds operations that have ended only: of those that did not nothing is known
	doubt   []bool             // by recording: it is damaged, and nothing follows from what it lacks
	doubted bool               // one is
	implied int                // operations that must have ended, whatever their records say
}

func newDossier(job *operation.Job, opt Options) *dossier {
	d := &dossier{job: job, opt: opt, ext: make([]operation.Extent, len(job.Parts))}
	d.partial = slices.ContainsFunc(job.Recordings, func(r *operation.Recording) bool { return r.EndedOnly })
	d.doubt, d.end = doubts(job)
	d.doubted = slices.Contains(d.doubt, true)
	for i := range job.Comms {
		last := make([]int32, len(job.Comms[i].Seats))
		for k := range last {
			last[k] = -1
		}
		d.last = append(d.last, last)
	}
	for i := range job.Parts {
		p := &job.Parts[i]
		d.ext[i] = job.Recordings[p.Recording].Extent(job.Op(p))
	}
	for mi := range job.Matches {
		m := &job.Matches[mi]
		for i := m.From; i < m.To; i++ {
			d.last[m.Comm][job.Parts[i].Seat] = int32(mi)
		}
	}
	d.implied = implied(job, d.ext)
	return d
}

// found is what one look at a job brings to light.
type found struct {
	findings []Finding
	advice   []string // what to record to know more
	notes    []string
}

// add lists a finding unless one says the same of the same ranks: what comes later follows from it.
func (o *found) add(f *Finding) {
	for i := range o.findings {
		had := &o.findings[i]
		if had.Class == f.Class && slices.Equal(had.Ranks, f.Ranks) && had.Peer == f.Peer && had.Stage == f.Stage {
			for _, w := range f.Waiting {
				if !slices.Contains(had.Waiting, w) {
					had.Waiting = append(had.Waiting, w)
				}
			}
			return
		}
	}
	o.findings = append(o.findings, *f)
}

// advise says once what to record.
func (o *found) advise(what string) {
	if !slices.Contains(o.advice, what) {
		o.advice = append(o.advice, what)
	}
}

// together is what several looks bring to light, in their order.
func together(of ...*found) (all found) {
	for _, o := range of {
		for i := range o.findings {
			all.add(&o.findings[i])
		}
		for _, what := range o.advice {
			all.advise(what)
		}
		all.notes = append(all.notes, o.notes...)
	}
	return all
}

// implied counts operations, and completes their extents, that must have ended, whatever their records say: NCCL executes those of a communicator one after the other, so when
// a later one has begun, the stop of an earlier one was lost. Those of one group are one kernel.
func implied(job *operation.Job, ext []operation.Extent) (n int) {
	type seat struct{ comm, seat int32 }
	by := map[seat]*[]int32{}
	for mi := range job.Matches {
		m := &job.Matches[mi]
		for i := m.From; i < m.To; i++ {
			k := seat{m.Comm, job.Parts[i].Seat}
			if by[k] == nil {
				by[k] = &[]int32{}
			}
			*by[k] = append(*by[k], i)
		}
	}
	for _, all := range by {
		list := *all
		slices.SortFunc(list, func(x, y int32) int { return cmp.Compare(job.Parts[y].Op, job.Parts[x].Op) }) // last first
		begun := operation.None                                                                              // the group of a later operation that has begun
		for _, i := range list {
			p, e := &job.Parts[i], &ext[i]
			group := operation.None
			if api := job.Op(p).API; api >= 0 {
				group = job.Recordings[p.Recording].APIs[api].Group
			}
			if begun >= 0 && group >= 0 && begun != group && (e.Progress == operation.Running || e.Progress == operation.Queued) {
				e.Progress = operation.Finished
				n++
			}
			if e.Kernels && begun < 0 {
				begun = group
			}
		}
	}
	return n
}

// members are the seats that an operation needs.
func (d *dossier) members(m *operation.Match) []int32 {
	if m.Kind == operation.Send {
		var out []int32
		for i := m.From; i < m.To; i++ {
			p := &d.job.Parts[i]
			for _, seat := range []int32{p.Seat, d.job.Op(p).Peer} {
				if !slices.Contains(out, seat) && seat >= 0 && int(seat) < len(d.job.Comms[m.Comm].Seats) {
					out = append(out, seat)
				}
			}
		}
		return out
	}
	out := make([]int32, len(d.job.Comms[m.Comm].Seats))
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// missing are the seats that an operation needs and that have no part in it.
func (d *dossier) missing(m *operation.Match) []int32 {
	if m.Kind != operation.Send && int(m.To-m.From) >= len(d.job.Comms[m.Comm].Seats) {
		return nil
	}
	here := map[int32]bool{}
	for i := m.From; i < m.To; i++ {
		here[d.job.Parts[i].Seat] = true
	}
	if m.Kind == operation.Send && m.To-m.From == 2 {
		return nil
	}
	return slices.DeleteFunc(d.members(m), func(s int32) bool { return here[s] })
}

// before reports whether a seat may have executed what its recording does not hold: it holds something of the communicator that came after
// it, and lacks records.
func (d *dossier) before(m *operation.Match, seat int32) bool {
	last := d.last[m.Comm][seat]
	if last < 0 || d.job.Matches[last].Place <= m.Place {
		return false
	}
	r := d.job.Recordings[d.job.Comms[m.Comm].Seats[seat].Recording]
	return r.Loss.Lost+r.Loss.Overwritten > 0 || len(r.Masks) > 1
}

// movedNS is when anything was last heard of an operation.
func (d *dossier) movedNS(m *operation.Match) int64 {
	moved := int64(0)
	for i := m.From; i < m.To; i++ {
		moved = max(moved, d.ext[i].MovedNS)
	}
	return moved
}

// seatRank is the place in Job.Ranks of a seat; -1 where nobody recorded it and it has no name, or the communicator has no such seat: whom
// a proxy names as its peer is what a file says.
func (d *dossier) seatRank(comm, seat int32) int32 {
	if seats := d.job.Comms[comm].Seats; seat >= 0 && int(seat) < len(seats) {
		return seats[seat].Rank
	}
	return operation.None
}

// rank is the rank of a seat; nil as of seatRank.
func (d *dossier) rank(comm, seat int32) *operation.Rank {
	if r := d.seatRank(comm, seat); r >= 0 {
		return &d.job.Ranks[r]
	}
	return nil
}

// inOrder sorts matches by when they were first called.
func (d *dossier) inOrder(matches []int32) {
	first := func(mi int32) int64 {
		m, at := &d.job.Matches[mi], int64(0)
		for i := m.From; i < m.To; i++ {
			if e := d.ext[i].CalledNS; at == 0 || e < at {
				at = e
			}
		}
		return at
	}
	slices.SortStableFunc(matches, func(x, y int32) int { return cmp.Compare(first(x), first(y)) })
}
