package combine

import (
	"fmt"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/job"
)

// judged is what the order of collectives says of the clocks, before and after.
type judged struct {
	whole       *matching           // all that was matched; nil for one node
	matched     *collective.Matched // of that what lies in the time range
	collectives *Collectives        // nil for one node
	explained   *Explanation        // of the node that was asked for
	said        remarks
}

// judge counts impossible orders before and after alignment, and explains the node that was asked for. found is what was found of collectives
// while the outputs were written; nil: nothing.
func judge(j *job.Job, in *inputs, c *clocks, found findings) (*judged, error) {
	out := &judged{}
	if len(in.parties) > 1 {
		var err error
		if out.whole = c.matched; out.whole == nil {
			if out.whole, out.said, err = match(j, in, found, wanting{programs: c.to.format == FormatChrome}); err != nil {
				return nil, err
			}
		}
		if err := out.count(j, c.clock(in), c.at.keep); err != nil {
			return nil, err
		}
	}
	var err error
	out.explained, err = explain(in, c, out.matched)
	return out, err
}

// count judges the collectives within a time range on the clocks as recorded and on those that were decided.
func (d *judged) count(j *job.Job, after collective.Clock, keep *align.Range) error {
	var within func(*collective.Matched) *collective.Matched
	d.matched = d.whole.Matched
	if keep != nil {
		within = func(m *collective.Matched) *collective.Matched { return m.Within(after, keep.FromNS, keep.ToNS) }
		d.matched = within(d.matched)
	}
	all, err := collective.CheckAll(j.Context(), d.whole.Matched, []collective.Clock{nil, after}, collective.CheckOptions{Within: within, Workers: j.Workers()})
	if err != nil {
		return err
	}
	was, is := verdicts(all.Verdicts[0]), verdicts(all.Verdicts[1])
	d.collectives = &Collectives{Groups: all.Groups, Unmatched: all.UnmatchedCount(), Before: was, After: is, Passed: is.passed()}
	if d.collectives.Passed == nil {
		d.said.warn("%s", nothingJudged(all.Groups, all.UnmatchedCount()))
	}
	noted := noteMatching(d.matched.Part, d.whole, all)
	d.said.add(noted.said)
	d.collectives.Unjudged = noted.unjudged
	return nil
}

// nothingJudged says that collectives neither support the alignment nor contradict it, and why.
func nothingJudged(groups, unmatched int) string {
	switch {
	case groups > 0:
		return fmt.Sprintf("none of the %d collectives could be judged: the clocks are not known well enough, or it is not recorded who gives to whom", groups)
	case unmatched > 0:
		return fmt.Sprintf("no collective could be judged: the partners of %d executions are in no other trace, or are unknown", unmatched)
	}
	return "no collective could be judged: the traces hold none that is recognised"
}

func verdicts(v *collective.Verdict) Verdicts {
	return Verdicts{Violated: v.Violated, Consistent: v.Consistent, Undecidable: v.Undecidable}
}

// noted is what is said of what was matched, and how many executions are beyond the limit.
type noted struct {
	said     remarks
	unjudged int64
}

// noteMatching says what was assumed to match, and what was not looked at. p is the part that was judged.
func noteMatching(p *collective.Part, m *matching, all *collective.Judged) (n noted) {
	n.said.notes = append(n.said.notes, all.Assumptions...)
	n.said.warnings = append(n.said.warnings, p.Warnings...)
	if d := p.Thinned; d > 0 {
		shortest := ""
		if m.shortest > 0 {
			shortest = fmt.Sprintf(", and %d that were the shortest of their operation and time somewhere", m.shortest)
		}
		drawn := fmt.Sprintf("one launch in %d, over the whole time%s", uint64(1)<<p.Halvings, shortest)
		switch {
		case all.Rest == 0:
			n.said.note("%s, was looked at: %d executions of collectives are beyond the limit of %d", drawn, d, mostSpans)
		case m.forClocks:
			n.said.note("the clocks rest on %s: %d executions of collectives are beyond the limit of %d, and verdicts alone look at them", drawn, d, mostSpans)
		}
	}
	if d := p.Dropped; d > 0 {
		n.said.warn("%d executions of collectives are beyond the limit and were not judged", d)
		n.unjudged = d
	}
	return n
}
