package collective

import "github.com/prlx-go/prlx/core/trace/event"

// NewPart, Keep and Finish do for tests outside of the package what extraction does.
func NewPart(limit int, wanted map[launch]bool) *Part {
	p := newPart(limit)
	p.wanted = wanted
	p.Ops = []Op{{Key: "step/reduce", Kind: event.AllReduce, Ranked: true}}
	return p
}

func (p *Part) Keep(s event.Span) { p.add(s) }

func (p *Part) Finish() { p.finish() }

type Launch = launch
