package session

import (
	"cmp"
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
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
	c.open(&e)
	for k, s := range []struct {
		name string
		side *Side
	}{{"A", &d.A}, {"B", &d.B}} {
		if n, why := c.unreadable(k); n > 0 {
			e.Missed("launches of "+s.name, n, "their recordings cannot be read: "+why)
		}
		if s.side.Partial {
			e.Lacks("launches of "+s.name+" behind its last one", "recording of the session did not come to its end")
		}
	}
	switch {
	case d.Status == StatusDiverged && d.Passed, d.Status == StatusSameResults && d.Passed && d.CountedDivergences > 0:
		return e.Check(false, fmt.Sprintf("%d divergences count, %d are allowed", d.CountedDivergences, d.Threshold))
	case d.Status == StatusDiverged, d.Status == StatusSameResults && !d.Passed:
		return e.Compare(true, d.Verdict)
	}
	return e.Compare(false, d.Verdict)
}

// unreadable are the launches of a side that have no partner because nobody knows what they are: their recordings cannot be read.
func (c *comparison) unreadable(side int) (n int64, why string) {
	s, only := c.a, c.matching.OnlyA
	if side == 1 {
		s, only = c.b, c.matching.OnlyB
	}
	for _, i := range only {
		if l := &s.Launches[i]; l.Problem != nil {
			n++
			why = cmp.Or(why, told(fault.Of(l.Problem)))
		}
	}
	return n, why
}

// surely reports whether a side has launches that the other lacks, and not only because recordings cannot be read: one that cannot may be
// the launch that the other side seems to have alone.
func (c *comparison) surely(only int64, side int) bool {
	own, _ := c.unreadable(side)
	others, _ := c.unreadable(1 - side)
	return only-own > others
}

// openShown is how many launches that stay open are named.
const openShown = 5

// open adds the launches of which it is not known whether they differ, the first with the reason.
func (c *comparison) open(e *verdict.Evidence) {
	shown := int64(0)
	for i := range c.doc.KernelResults {
		l := &c.doc.KernelResults[i]
		if l.Status != StatusInconclusive {
			continue
		}
		if shown++; shown > openShown {
			e.Missed("launches", c.doc.Totals.Inconclusive-openShown, "too little was recorded to say whether they differ")
			return
		}
		why := "too little was recorded to say whether it differs"
		if c.concluded[i] != "" {
			why = c.concluded[i]
		}
		e.Missed(fmt.Sprintf("%s (launch %d)", l.Kernel, l.Launch), 1, why)
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
