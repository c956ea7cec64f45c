package collective

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// together reports whether starts and dones without numbers, of which some were left out, were as many before.
func (p *Part) together(start, done *event.Span) bool {
	if start.HasRun || p.Halvings == 0 {
		return true
	}
	a, b := p.Turns[Seat{start.Op, Slot{start.Node, start.Device}}], p.Turns[Seat{done.Op, Slot{done.Node, done.Device}}]
	return a.Count == b.Count && !a.Jumbled && !b.Jumbled
}

// finish joins each start with its done: the collective lasts from the start of the one to the end of the other. Within a
// device and a launch, the k-th start belongs to the k-th done; where their numbers differ none is joined.
func (p *Part) finish() {
	if p.short != nil {
		p.Shortest = p.short.list()
	}
	type half struct {
		key  int32 // op of the start
		done bool
		event.Span
	}
	starts := map[string][]int32{}
	for i := range p.Ops {
		if p.Ops[i].Phase == hlo.Start {
			starts[p.Ops[i].Key] = append(starts[p.Ops[i].Key], int32(i))
		}
	}
	halves := make([]half, 0, len(p.paired))
	lost := map[string]int{}
	for _, s := range p.paired {
		o := &p.Ops[s.Op]
		if o.Phase == hlo.Start {
			halves = append(halves, half{s.Op, false, s})
			continue
		}
		found := false
		for _, i := range starts[o.Start] {
			if p.Ops[i].Variant == o.Variant && p.Ops[i].Sends == o.Sends && p.sameOrigin(i, s.Op) {
				halves, found = append(halves, half{i, true, s}), true
				break
			}
		}
		if !found {
			lost[o.Key]++
		}
	}
	p.paired = nil
	run := func(h half) int64 {
		if h.HasRun {
			return h.Run
		}
		return 0
	}
	order := func(a, b half) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Device, b.Device), cmp.Compare(run(a), run(b)))
	}
	slices.SortFunc(halves, func(a, b half) int {
		done := 0
		if a.done != b.done {
			done = 1
			if b.done {
				done = -1
			}
		}
		return cmp.Or(order(a, b), done, cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(a.EndNS, b.EndNS))
	})
	for i := 0; i < len(halves); {
		j, n := i, 0
		for j < len(halves) && order(halves[i], halves[j]) == 0 {
			if !halves[j].done {
				n++
			}
			j++
		}
		if 2*n != j-i || !p.together(&halves[i].Span, &halves[j-1].Span) {
			lost[p.Ops[halves[i].key].Key] += j - i
			i = j
			continue
		}
		for k := i; k < i+n; k++ {
			s := halves[k].Span
			s.EndNS = max(s.EndNS, halves[k+n].EndNS)
			p.Spans = append(p.Spans, s)
		}
		i = j
	}
	keys := make([]string, 0, len(lost))
	for k := range lost {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		p.warn(fmt.Sprintf("%s: %d starts and dones have no partner on their device and are left out", k, lost[k]))
	}
}
