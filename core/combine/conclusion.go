package combine

import (
	"fmt"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/verdict"
)

// concluded is what combining comes to: passed where every clock is known over its whole trace, nothing is missing and no collective
// is left in an impossible order. degraded says it of the clock of each node.
func (d *Document) concluded(degraded []bool) verdict.Verdict {
	var e verdict.Evidence
	known := int64(0)
	for k := range d.Nodes {
		if d.NotAligned == "" && !degraded[k] && !d.Nodes[k].BoundNS.Unknown {
			known++
		}
	}
	e.Looked("clocks", known)
	if c := d.Collectives; c != nil {
		e.Looked("collectives", int64(c.After.Consistent+c.After.Violated))
	}
	switch d.NotAligned {
	case becauseMergeOnly:
		return e.Open("alignment was not asked for")
	case becauseAlone:
		return d.lookedAtDevices()
	}
	d.Files.missing(&e)
	d.Ranks.missing(&e)
	if c := d.Collectives; c != nil && c.Unjudged > 0 {
		e.Missed("executions of collectives", c.Unjudged, "beyond the limit")
	}
	for k := range d.Nodes {
		n := &d.Nodes[k]
		switch s := n.Salvaged; {
		case s != nil:
			e.Lacks("a part of the trace of "+n.ID, s.Sentence())
		case d.NotAligned == "" && degraded[k]:
			e.Lacks("the clock of "+n.ID, n.reason())
		}
	}
	if d.NotAligned != "" {
		e.Lacks("the clocks", "not aligned, "+d.NotAligned)
	}
	if c := d.Collectives; c != nil && c.After.Violated > 0 {
		return e.Check(true, fmt.Sprintf("%d of %s in an impossible order", c.After.Violated, plural(c.Groups, "collective")))
	}
	return e.Check(false, d.Verdict)
}

// lookedAtDevices is what looking at the devices of one trace comes to: passed where no kernel is left before its launch or behind a wait for it.
func (d *Document) lookedAtDevices() verdict.Verdict {
	var e verdict.Evidence
	impossible := 0
	for i := range d.Nodes {
		for _, c := range d.Nodes[i].DeviceClocks {
			e.Looked("launches and waits of "+c.Process, int64(c.Launches+c.Waits))
			left := c.After
			if !c.Moved {
				left = c.Before
			}
			impossible += left.BeforeLaunch + left.AfterWait
		}
	}
	return e.Check(impossible > 0, fmt.Sprintf("%d kernels run before their launch, or after a call that waited for them", impossible))
}

// reason is why a node's clock is not known over its whole trace.
func (r *NodeResult) reason() string {
	if n := len(r.Warnings); n > 0 {
		return r.Warnings[n-1]
	}
	return "it is not known over the whole trace"
}

// conclusionOf is what validating comes to: passed where some collective is in a possible order and none in an impossible one.
func conclusionOf(in *inputs, r *related, d *ValidateDocument, m *collective.Matched, unjudged int64) verdict.Verdict {
	var e verdict.Evidence
	e.Looked("collectives", int64(d.Consistent+d.Violated))
	d.Files.missing(&e)
	d.Ranks.missing(&e)
	for _, s := range d.Salvaged {
		e.Lacks("a part of the trace of "+s.ID, s.Sentence())
	}
	if unjudged > 0 {
		e.Missed("executions of collectives", unjudged, "beyond the limit")
	}
	for k, n := range in.nodes {
		if !n.absolute && !in.alone() {
			e.Lacks("the clock of "+n.ID, "the trace does not say when it was recorded, so nothing places its times beside those of others")
		}
		if r.nodes[k].degraded {
			e.Lacks("the clock of "+n.ID, "it is not on the clock of the others, or not known over the whole trace")
		}
	}
	switch {
	case d.Passed == nil:
		e.Lacks("the order of collectives", nothingJudged(d.Groups, d.Unmatched))
	case untimed(m):
		e.Lacks("times of collectives", "each begins and ends at the same instant on every node: their times were not recorded")
	}
	return e.Check(d.Violated > 0, d.Verdict)
}

// untimed reports whether no execution of the groups lasts any time: then it was not measured, and any order is possible.
func untimed(m *collective.Matched) bool {
	for i := range m.Groups {
		for _, member := range m.Groups[i].Members {
			if s := &m.Part.Spans[member.Span]; s.EndNS > s.StartNS {
				return false
			}
		}
	}
	return true
}
