package dividing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/verdict"
)

// conclude says whether B takes no longer than A, and what that rests on: slower is failed, the same and faster are passed. The status and the sentence agree with
// it.
func (c *comparer) conclude() {
	d, e := c.doc, &verdict.Evidence{}
	e.Looked("operations of A", int64(d.A.Compared))
	e.Looked("operations of B", int64(d.B.Compared))
	c.a.rests(e, " in A")
	c.b.rests(e, " in B")
	for i, list := range [][]Lone{d.OnlyA, d.OnlyB} {
		n, of := 0, [...]int{d.A.Operations, d.B.Operations}[i]
		for k := range list {
			n += list[k].Count
		}
		if n > 0 && float64(n) >= d.LeastShare*float64(of) {
			e.Missed("operations of "+[...]string{"A", "B"}[i], int64(n), fmt.Sprintf("of %d, the other run has none of their kind that can be compared", of))
		}
	}
	switch d.Status {
	case statusSlower:
		if d.Conclusion = e.Check(true, d.Verdict); c.a.holes(d.LeastShare) || c.b.holes(d.LeastShare) {
			d.Conclusion = e.Open(d.Verdict)
			d.Status, d.Verdict = statusInconclusive, d.Conclusion.Why
		}
	case statusSame, statusFaster:
		if d.Conclusion = e.Check(false, d.Verdict); !d.Conclusion.Good() {
			d.Status, d.Verdict = statusInconclusive, d.Conclusion.Why
		}
	default:
		d.Conclusion = e.Open(d.Verdict)
	}
}

// rests adds what of a run is not in its recordings; run is how the run is called behind what is missing.
func (d *division) rests(e *verdict.Evidence, run string) {
	told := len(d.job.Comms) > 0
	for i := range d.job.Comms {
		c := &d.job.Comms[i]
		told = told && c.Told
		if n := len(c.Unrecorded()); n > 0 {
			e.Missed("ranks of "+c.Name+run, int64(n), fmt.Sprintf("of %d, no recording of them", c.Ranks))
		}
	}
	if e.Looked("ranks"+run, int64(len(d.job.Ranks))); !told && len(d.job.Ranks) > 0 {
		e.Lacks("other ranks"+run, fmt.Sprintf("%d seen, total unknown: not every communicator says how many it has", len(d.job.Ranks)))
	}
	for i, r := range d.job.Recordings {
		if r.Doubted() {
			e.Lacks("records of "+d.whose(int32(i))+run, "the file is damaged: "+strings.Join(r.Loss.Harm, ", "))
		}
		if n := r.Loss.Lost; n > 0 {
			e.Missed("records of "+d.whose(int32(i))+run, int64(n), "they found no room")
		}
	}
	for _, u := range d.job.Unread {
		e.Missed("file"+run, 1, u.Why)
	}
	for _, o := range d.job.Others {
		if !o.Before {
			e.Missed("recordings"+run, int64(len(o.Recordings)), "they are of another job that ran at the same time: name its files")
		}
	}
}

// holes reports whether so much of a recording is gone that a change may come from that: an operation of which one rank's end is lost seems to
// hold the others for longer.
func (d *division) holes(share float64) bool {
	return slices.ContainsFunc(d.job.Recordings, func(r *operation.Recording) bool {
		return r.Doubted() || float64(r.Loss.Lost) >= share*float64(uint64(r.Loss.Records)+r.Loss.Lost) && r.Loss.Lost > 0
	})
}

// whose names the ranks of a recording.
func (d *division) whose(recording int32) string {
	var names []string
	for i := range d.job.Ranks {
		if r := &d.job.Ranks[i]; r.Recording == recording {
			names = append(names, nameOf(r))
		}
	}
	return strings.Join(names, ", ")
}

// nameOf is how a rank is called in sentences.
func nameOf(r *operation.Rank) string {
	if r.World >= 0 {
		return "rank " + r.ID
	}
	return r.ID
}
