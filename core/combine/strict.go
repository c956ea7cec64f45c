package combine

import (
	"slices"

	"github.com/prlx-go/prlx/core/fault"
)

// Strict is nil for a result that is wholly aligned and that collectives, where there are any, could judge; else it says what is
// missing. output is what was written, which stays.
func (d *Document) Strict(output string) error {
	const hint = "the output was written; leave out strict to accept it"
	lost := func(n NodeResult) bool { return n.Salvaged != nil }
	switch c := d.Collectives; {
	case len(d.Skipped) > 0 || slices.ContainsFunc(d.Nodes, lost):
		return fault.New(fault.Partial, "the result lacks what could not be read: %s", d.Verdict).WithPath(output).WithHint(hint)
	case d.Status != StatusAligned:
		return fault.New(fault.Partial, "the result is %s: %s", d.Status, d.firstReason()).WithPath(output).WithHint(hint)
	case c != nil && c.Passed == nil:
		return fault.New(fault.Partial, "no collective could be judged: nothing confirms the alignment").WithPath(output).WithHint(hint)
	}
	return nil
}

func (d *Document) firstReason() string {
	for _, n := range d.Nodes {
		if len(n.Warnings) > 0 {
			return "node " + n.ID + ": " + n.Warnings[len(n.Warnings)-1]
		}
	}
	if len(d.Warnings) > 0 {
		return d.Warnings[0]
	}
	return "no clock data was given"
}
