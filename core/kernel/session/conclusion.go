package session

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/kernel/diff"
	"github.com/prlx-go/prlx/core/verdict"
)

// conclusion is what two sessions come to: what was looked at, and what was not and could have changed the answer.
func (c *comparison) conclusion() verdict.Verdict {
	var e verdict.Evidence
	d, t := c.doc, &c.doc.Totals
	e.Looked("launches", t.Identical+t.SameResults+t.Diverged)
	if t.Errors > 0 {
		e.Missed("launches", t.Errors, "could not be compared: "+c.firstProblem())
	}
	if t.Inconclusive > 0 {
		e.Missed("launches", t.Inconclusive, "too little was recorded to say whether they differ")
	}
	for _, s := range []struct {
		name string
		side *Side
	}{{"A", &d.A}, {"B", &d.B}} {
		if s.side.Partial {
			e.Lacks("launches of "+s.name+" behind its last one", "recording of the session did not come to its end")
		}
	}
	c.lostEvents(&e)
	switch {
	case d.Status == StatusDiverged && d.Passed, d.Status == StatusSameResults && d.Passed && d.CountedDivergences > 0:
		return e.Check(false, fmt.Sprintf("%d divergences count, %d are allowed", d.CountedDivergences, d.Threshold))
	case d.Status == StatusDiverged, d.Status == StatusSameResults && !d.Passed:
		return e.Compare(true, d.Verdict)
	}
	return e.Compare(false, d.Verdict)
}

// lostEvents adds what was lost of launches in which nothing was found, where what they wrote does not tell that it does not matter.
func (c *comparison) lostEvents(e *verdict.Evidence) {
	for i := range c.doc.KernelResults {
		l := &c.doc.KernelResults[i]
		cover := c.coverage[i]
		if l.Losses == nil || cover == nil || l.Status != StatusIdentical || cover.Outputs.Agrees == diff.Agrees {
			continue
		}
		name := fmt.Sprintf("events of %s (launch %d)", l.Kernel, l.Launch)
		switch n := l.Losses.DroppedA + l.Losses.DroppedB; {
		case n > 0:
			e.Missed(name, n, "dropped because a buffer was full")
		case l.Losses.PartialA || l.Losses.PartialB:
			e.Lacks(name, "the recording ends before its end")
		default:
			e.Lacks(name, "only some of the events were kept")
		}
	}
}

// firstProblem is why the first launch that could not be compared was not.
func (c *comparison) firstProblem() string {
	for i := range c.doc.KernelResults {
		if l := &c.doc.KernelResults[i]; l.Status == StatusError {
			return l.Error
		}
	}
	return "not known"
}

// comparable refuses sessions of which no launch could be compared, as recordings are refused that do not belong together: neither that
// they are the same nor that they differ would be true. Two sessions without any launch are inconclusive.
func (c *comparison) comparable() error {
	t := &c.doc.Totals
	if t.Matched > t.Errors || len(c.a.Launches)+len(c.b.Launches) == 0 {
		return nil
	}
	if c.problem != nil {
		f := *fault.Of(c.problem)
		f.Msg = fmt.Sprintf("no launch could be compared, of %d the first could not because %s", t.Matched, f.Msg)
		return &f
	}
	return fault.New(fault.Incompatible, "no launch could be compared: A has %s, B has %s, and no kernel is launched in both",
		plural(int64(len(c.a.Launches)), "launch"), plural(int64(len(c.b.Launches)), "launch")).WithPath(c.b.Dir).
		WithHint("prlx session inspect lists the launches of a session")
}
