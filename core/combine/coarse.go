package combine

import (
	"fmt"
	"slices"
)

// sayCoarse says of how many nodes the clock is known too badly to be of use: the bound is wider than most of what it should put in order. That
// is most executions of collectives, for nobody enters one later than the others leave it; without any, half of the trace.
func (t *task) sayCoarse() {
	if t.doc.NotAligned != "" || len(t.nodes) < 2 {
		return
	}
	usual := t.usualCollective()
	coarse, widest := 0, int64(0)
	for k, n := range t.nodes {
		b := n.Result.BoundNS
		if k == t.ref || b.Unknown || n.Result.Events == 0 || n.Result.Method == MethodWall || n.Result.Method == MethodNone {
			continue
		}
		least := usual
		if first, last, ok := n.spanNS(); least == 0 && ok {
			least = (last - first) / 2
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
	if usual > 0 {
		than = fmt.Sprintf("most collectives (%s us)", microseconds(usual))
	}
	t.doc.beside = append(t.doc.beside, fmt.Sprintf("too coarse to compare %s with others: bounds up to %s us, wider than %s", plural(coarse, "node"), microseconds(widest), than))
	t.warn("the clocks of %s are known too coarsely to say who was late: their bounds (up to %s us) are wider than %s", plural(coarse, "node"), microseconds(widest), than)
}

// usualCollective is the median length of what the traces hold of collectives, ns; 0: they hold none.
func (t *task) usualCollective() int64 {
	if t.found == nil || len(t.found.Part.Spans) == 0 {
		return 0
	}
	spans := t.found.Part.Spans
	lengths := make([]int64, len(spans))
	for i := range spans {
		lengths[i] = spans[i].EndNS - spans[i].StartNS
	}
	slices.Sort(lengths)
	return max(1, lengths[len(lengths)/2])
}
