package combine

import (
	"fmt"
	"slices"
)

// sayCoarse says of how many nodes the clock is known too badly to be of use: the bound is wider than most of what it should put in order. That
// is most executions of collectives, for nobody enters one later than the others leave it; without any, half of the trace.
func (d *Document) sayCoarse(nodes []ending, by closing) {
	if d.NotAligned != "" || len(nodes) < 2 {
		return
	}
	coarse, widest := 0, int64(0)
	for k := range nodes {
		r := &nodes[k].row
		b := r.BoundNS
		if k == by.ref || b.Unknown || r.Events == 0 || r.Method == MethodWall || r.Method == MethodNone {
			continue
		}
		least := by.usualNS
		if least == 0 {
			least = nodes[k].lengthNS / 2
		}
		if least > 0 && b.P50 > least {
			coarse++
			widest = max(widest, b.P50)
		}
	}
	if coarse == 0 {
		return
	}
	than := "half of the trace"
	if by.usualNS > 0 {
		than = fmt.Sprintf("most collectives (%s us)", microseconds(by.usualNS))
	}
	d.beside = append(d.beside, fmt.Sprintf("too coarse to compare %s with others: bounds up to %s us, wider than %s", plural(coarse, "node"), microseconds(widest), than))
	d.warn("the clocks of %s are known too coarsely to say who was late: their bounds (up to %s us) are wider than %s", plural(coarse, "node"), microseconds(widest), than)
}

// usual is the median length of what the traces hold of collectives, ns; 0: they hold none.
func (m *matching) usual() int64 {
	if m == nil || len(m.Part.Spans) == 0 {
		return 0
	}
	spans := m.Part.Spans
	lengths := make([]int64, len(spans))
	for i := range spans {
		lengths[i] = spans[i].EndNS - spans[i].StartNS
	}
	slices.Sort(lengths)
	return max(1, lengths[len(lengths)/2])
}

// sayClaimed says how many clocks rest on what their systems say: nothing has measured them so well.
func (d *Document) sayClaimed() {
	claimed := 0
	for k := range d.Nodes {
		if d.Nodes[k].Method == methodSystem {
			claimed++
		}
	}
	if claimed == 0 || d.NotAligned != "" {
		return
	}
	d.beside = append(d.beside, fmt.Sprintf("bounds of %s rest on what their systems claim", plural(claimed, "node")))
	d.warn("the bounds of %s rest on what their systems say of their own clocks, which nothing here has measured: where a daemon is wrong, so is the bound", plural(claimed, "node"))
}
