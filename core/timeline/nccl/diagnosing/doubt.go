package diagnosing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/nccl/operation"
	"github.com/prlx-go/prlx/core/verdict"
)

// A recording that is damaged shows what is in it. What is not in it says nothing: neither that its rank called no more, nor that something has not
// begun or ended. So it is with a rank of which there is no recording. Findings rest on what sound recordings show.

// doubts notes which recordings are damaged. When the job was last heard of is told by the others.
func (d *diagnosis) doubts() {
	d.doubt = make([]bool, len(d.job.Recordings))
	damaged := int64(0)
	for i, r := range d.job.Recordings {
		if d.doubt[i] = r.Doubted(); d.doubt[i] {
			d.doubted, damaged = true, max(damaged, r.LastNS)
			continue
		}
		d.end = max(d.end, r.LastNS)
	}
	if d.end == 0 {
		d.end = damaged
	}
}

// sound are the parts of an operation that are of recordings which are not damaged.
func (d *diagnosis) sound(m *operation.Match) []operation.Part {
	if !d.doubted {
		return d.job.Of(m)
	}
	return slices.DeleteFunc(slices.Clone(d.job.Of(m)), func(p operation.Part) bool { return d.doubt[p.Recording] })
}

// unsure is how many members of an operation may have done anything: of them there is no sound recording.
func (d *diagnosis) unsure(m *operation.Match) (n int) {
	for _, seat := range d.members(m) {
		if r := d.job.Comms[m.Comm].Seats[seat].Recording; r < 0 || d.doubt[r] {
			n++
		}
	}
	return n
}

// rests takes back the certainty of findings about ranks whose recordings are damaged.
func (d *diagnosis) rests() {
	if !d.doubted {
		return
	}
	doubted := map[string]bool{}
	for i := range d.job.Ranks {
		if r := &d.job.Ranks[i]; r.Recording >= 0 && d.doubt[r.Recording] {
			doubted[r.ID] = true
		}
	}
	for i := range d.doc.Findings {
		f := &d.doc.Findings[i]
		if f.Certain && (doubted[f.Peer] || slices.ContainsFunc(f.Ranks, func(id string) bool { return doubted[id] })) {
			f.Certain = false
			f.Detail = append(f.Detail, "it rests on a recording that is damaged")
		}
	}
}

// evidence is what was looked at, and what could have changed the answer and was not.
func (d *diagnosis) evidence() *verdict.Evidence {
	e := &verdict.Evidence{}
	d.rankEvidence(e)
	l := &d.doc.Looked
	e.Looked("operations", int64(l.Operations))
	for i, r := range d.job.Recordings {
		if d.doubt[i] {
			e.Lacks("records of "+d.whose(int32(i)), "the file is damaged: "+strings.Join(r.Loss.Harm, ", "))
		}
		if n := r.Loss.Lost; n > 0 {
			e.Missed("records of "+d.whose(int32(i)), int64(n), "they found no room")
		}
	}
	for _, o := range d.job.Others {
		if !o.Before {
			e.Missed("recordings", int64(len(o.Recordings)), "they are of another job that ran at the same time: name its files")
		}
	}
	if d.partial {
		e.Lacks("operations that do not come to an end", "these recordings hold operations that have ended")
	}
	if l.Stalls == lookedUnknown && !d.partial {
		e.Lacks("whether operations ended", "it is not recorded at level 0")
	}
	return e
}

// stalling are the classes of findings that say that an operation does not come to an end.
var stalling = []string{ClassNeverArrived, ClassEnded, ClassUnrecorded, ClassNotStarted, ClassDeadlock, ClassStage, ClassStuck}

// progress says whether the job goes on.
func (d *diagnosis) progress() {
	e, l := d.evidence(), &d.doc.Looked
	for i := range d.doc.Findings {
		if f := &d.doc.Findings[i]; slices.Contains(stalling, f.Class) {
			d.doc.Progress = e.Check(true, capital(f.Sentence))
			return
		}
	}
	d.doc.Progress = e.Check(false, fmt.Sprintf("%d operations, the job goes on", l.Operations))
}

// rankEvidence says how many ranks were recorded, of how many.
func (d *diagnosis) rankEvidence(e *verdict.Evidence) {
	recorded, missing, told := int64(0), 0, len(d.job.Comms) > 0
	for i := range d.job.Ranks {
		if d.job.Ranks[i].Recording >= 0 {
			recorded++
		}
	}
	for i := range d.job.Comms {
		c := &d.job.Comms[i]
		told = told && c.Told
		for _, seat := range c.Unrecorded() {
			if r := d.seatRank(int32(i), seat); !c.World && r >= 0 && d.job.Ranks[r].Recording < 0 {
				continue // the communicator of all has said it
			}
			missing++
			e.Missed("recording of "+d.seatName(int32(i), seat), 1, "no file of it could be read")
		}
	}
	switch {
	case !told:
		e.Looked("ranks", recorded)
		e.Lacks("other ranks", fmt.Sprintf("%d seen, total unknown: not every communicator says how many it has", recorded))
	case missing > 0:
		e.Looked("ranks", recorded)
	default:
		e.LookedOf("ranks", recorded, recorded)
		return // all are there: what else lies in the folder is of nobody who is missing
	}
	for _, u := range d.job.Unread {
		e.Missed("file", 1, u.Why)
	}
}

// whose names the ranks of a recording.
func (d *diagnosis) whose(recording int32) string {
	var names []string
	for i := range d.job.Ranks {
		if d.job.Ranks[i].Recording == recording {
			names = append(names, d.nameOf(int32(i)))
		}
	}
	return strings.Join(names, ", ")
}

// conclude says what the diagnosis comes to, and what that rests on. Its status and verdict agree with it.
func (d *diagnosis) conclude() {
	doc, e := d.doc, d.evidence()
	if doc.Looked.Stragglers == lookedUnknown {
		e.Lacks("who was late", "too few operations of several ranks have kernels that are recorded")
	}
	d.progress()
	switch doc.Status {
	case StatusCulprit:
		doc.Conclusion = e.Check(true, doc.Verdict)
	case StatusNothing:
		if doc.Conclusion = e.Check(false, doc.Verdict); doc.Conclusion.Outcome == verdict.Inconclusive {
			doc.Status, doc.Verdict = StatusInconclusive, doc.Conclusion.Why
		}
	default:
		doc.Conclusion = e.Open(doc.Verdict)
	}
}
