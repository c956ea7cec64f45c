package collective

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/trace/hlo"
)

// Numbers of a communicator's operations are what matching trusts most. They are what they should be where its devices count the same operations:
// each counts on by one, and a number names one operation everywhere. A counter that a process shares among its communicators does neither.

// numbered is a number of a communicator's operation on a device.
type numbered struct {
	chain string
	run   int64
	slot  Slot
	op    int32
}

// misnumbered returns why the numbers of communicators cannot be trusted, by chain.
func misnumbered(part *Part) map[string]string {
	var list []numbered
	for i := range part.Spans {
		s := &part.Spans[i]
		if o := &part.Ops[s.Op]; s.HasRun && o.Chain != "" && o.Phase == hlo.Whole {
			list = append(list, numbered{o.Chain, s.Run, Slot{s.Node, s.Device}, s.Op})
		}
	}
	slices.SortFunc(list, func(a, b numbered) int {
		return cmp.Or(strings.Compare(a.chain, b.chain), cmp.Compare(a.run, b.run), compareSlots(a.slot, b.slot), strings.Compare(part.Ops[a.op].Key, part.Ops[b.op].Key))
	})
	out := map[string]string{}
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].chain == list[i].chain {
			j++
		}
		if reason := distrust(part, list[i:j]); reason != "" {
			out[list[i].chain] = reason
		}
		i = j
	}
	return out
}

const (
	// fewestNumbers is how many numbers a device must have for the gaps between them to mean anything.
	fewestNumbers = 8
	// widestNumbers: over how many times as many may they range.
	widestNumbers = 2
)

// distrust looks at the numbers of one communicator, by number and device.
func distrust(part *Part, list []numbered) string {
	type reach struct{ first, last, count int64 }
	seen := map[Slot]reach{}
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].run == list[i].run {
			j++
		}
		var first []numbered // of the first device that has the number
		for k := i; k < j; {
			l := k
			for l < j && list[l].slot == list[k].slot {
				l++
			}
			if first == nil {
				first = list[k:l]
			}
			shared := slices.ContainsFunc(list[k:l], func(n numbered) bool {
				return slices.ContainsFunc(first, func(o numbered) bool { return part.Ops[n.op].Key == part.Ops[o.op].Key })
			})
			if !shared {
				return reasonNamesake
			}
			r, ok := seen[list[k].slot]
			if !ok {
				r.first = list[k].run
			}
			r.last = list[k].run
			r.count++
			seen[list[k].slot] = r
			k = l
		}
		i = j
	}
	if part.Halvings > 0 { // those that were left out make gaps of their own
		return ""
	}
	for _, r := range seen {
		if r.count >= fewestNumbers && uint64(r.last)-uint64(r.first) > uint64(widestNumbers*r.count) {
			return reasonGaps
		}
	}
	return ""
}
