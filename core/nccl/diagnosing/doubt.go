package diagnosing

import (
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/verdict"
)

// A recording that is damaged shows what is in it. What is not in it says nothing: neither that its rank called no more, nor that something has not
// begun or ended. So it is with a rank of which there is no recording. Findings rest on what sound recordings show.

// doubts says which recordings are damaged, and when the job was last heard of: the others tell that.
func doubts(job *operation.Job) (doubt []bool, end int64) {
	doubt = make([]bool, len(job.Recordings))
	damaged := int64(0)
	for i, r := range job.Recordings {
		if doubt[i] = r.Doubted(); doubt[i] {
			damaged = max(damaged, r.LastNS)
			continue
		}
		end = max(end, r.LastNS)
	}
	if end == 0 {
		end = damaged
	}
	return doubt, end
}

// sound are the parts of an operation that are of recordings which are not damaged.
func (d *dossier) sound(m *operation.Match) []operation.Part {
	if !d.doubted {
		return d.job.Of(m)
	}
	return slices.DeleteFunc(slices.Clone(d.job.Of(m)), func(p operation.Part) bool { return d.doubt[p.Recording] })
}

// unsure is how many members of an operation may have done anything: of them there is no sound recording.
func (d *dossier) unsure(m *operation.Match) (n int) {
	for _, seat := range d.members(m) {
		if r := d.job.Comms[m.Comm].Seats[seat].Recording; r < 0 || d.doubt[r] {
			n++
		}
	}
	return n
}

// unsettle takes back the certainty of findings about ranks whose recordings are damaged.
func (d *dossier) unsettle(findings []Finding) {
	if !d.doubted {
		return
	}
	doubted := map[string]bool{}
	for i := range d.job.Ranks {
		if r := &d.job.Ranks[i]; r.Recording >= 0 && d.doubt[r.Recording] {
			doubted[r.ID] = true
		}
	}
	for i := range findings {
		f := &findings[i]
		if f.Certain && (doubted[f.Peer] || slices.ContainsFunc(f.Ranks, func(id string) bool { return doubted[id] })) {
			f.Certain = false
			f.Detail = append(f.Detail, "it rests on a recording that is damaged")
		}
	}
}

// evidence is what was looked at, and what could have changed the answer and was not.
func (d *dossier) evidence(l *Looked) *verdict.Evidence {
	e := &verdict.Evidence{}
	d.job.Evidence(e)
	e.Looked("operations", int64(l.Operations))
	if d.partial {
		e.Lacks("operations that do not come to an end", "these recordings hold operations that have ended")
	}
	if l.Stalls == lookedUnknown && !d.partial {
		e.Lacks("whether operations ended", "it is not recorded at level 0")
	}
	return e
}

// stalling are the classes of findings that say that an operation does not come to an end.
var stalling = []string{classNeverArrived, classEnded, classUnrecorded, classNotStarted, ClassDeadlock, classStage, classStuck}

// progress says whether the job goes on.
func (d *Document) progress(e *verdict.Evidence) verdict.Verdict {
	l := &d.Looked
	if l.Operations == 0 {
		e.Lacks("operations", "none of several ranks is in the recordings")
	}
	for i := range d.Findings {
		if f := &d.Findings[i]; slices.Contains(stalling, f.Class) {
			return e.Check(true, capital(f.Sentence))
		}
	}
	return e.Check(false, fmt.Sprintf("%d operations, the job goes on", l.Operations))
}

// conclude says what the diagnosis comes to, and what that rests on. Its status and verdict agree with it.
func (d *Document) conclude(e *verdict.Evidence) {
	if d.Looked.Stragglers == lookedUnknown {
		e.Lacks("who was late", "too few operations of several ranks have kernels that are recorded")
	}
	switch d.Status {
	case StatusCulprit:
		d.Conclusion = e.Check(true, d.Verdict)
	case StatusNothing:
		if d.Conclusion = e.Check(false, d.Verdict); d.Conclusion.Outcome == verdict.Inconclusive {
			d.Status, d.Verdict = statusInconclusive, d.Conclusion.Why
		}
	default:
		d.Conclusion = e.Open(d.Verdict)
	}
}
