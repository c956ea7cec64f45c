package diff

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Stores, atomics, loads, barriers and predicates have events only where somebody asked for them while recording. What one recording was
// not asked for it lacks, whatever its kernel did: that is not a difference.

// kindsAsked are kinds of sites whose events were asked for.
type kindsAsked []site.Kind

func (k kindsAsked) text() string {
	names := make([]string, len(k))
	for i, kind := range k {
		names[i] = kind.String()
	}
	return strings.Join(names, ", ")
}

// eventsOfOneSide are the kinds that A alone and that B alone was asked for. Recordings that do not say what they hold were asked for all
// that is in them.
func eventsOfOneSide(a, b *warptrace.Outputs) (only [2]kindsAsked) {
	if a == nil || b == nil || a.Coverage.Rolling || b.Coverage.Rolling {
		return only
	}
	for _, x := range []struct {
		a, b  bool
		kinds kindsAsked
	}{
		{a.Coverage.StoreEvents, b.Coverage.StoreEvents, kindsAsked{site.GlobalStore, site.SharedStore}},
		{a.Coverage.AtomicEvents, b.Coverage.AtomicEvents, kindsAsked{site.Atomic}},
		{a.Coverage.LoadEvents, b.Coverage.LoadEvents, kindsAsked{site.Load}},
		{a.Coverage.BarrierEvents, b.Coverage.BarrierEvents, kindsAsked{site.Barrier}},
		{a.Coverage.Predicates, b.Coverage.Predicates, kindsAsked{site.Predicate}},
	} {
		switch {
		case x.a && !x.b:
			only[0] = append(only[0], x.kinds...)
		case x.b && !x.a:
			only[1] = append(only[1], x.kinds...)
		}
	}
	return only
}

// oneSidedGap reports whether a gap is nothing but events that one recording was not asked for.
func (w *worker) oneSidedGap(e *script.Edit) bool {
	for side, part := range [2]struct {
		s       *stream
		from, n int
	}{{&w.pair.a, int(e.A), int(e.Del)}, {&w.pair.b, int(e.B), int(e.Ins)}} {
		for i := range part.n {
			if !slices.Contains(w.oneSided[side], part.s.kind(part.from+i)) {
				return false
			}
		}
	}
	return true
}
