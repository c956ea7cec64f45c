package perfetto

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Slices are pairs of events, a begin and an end, which belong together by their order in time. Most recorders write them in this order, so
// that a stack is enough. Some write all begins of a kind first; for their tracks the ends are found by sorting the times.

// looked is what the times of a trace say.
type looked struct {
	firstNS int64
	seen    bool
	tracks  map[uint64]*trackOrder
	collect bool // the times of those that are to be sorted
}

// trackOrder is how the events of a track follow each other.
type trackOrder struct {
	lastNS      int64
	depth, most int  // of slices, in the order of the file
	unsorted    bool // an event lies before the one that precedes it
	marks       []mark
	ends        []int64 // by slice, in the order of the file; nil: a stack is enough
}

// mark is the begin of a slice or an end.
type mark struct {
	ns int64
	n  int32 // which slice begins, -1 an end
}

// notEnded stands for the end of a slice that has none.
const notEnded = math.MinInt64

// look goes through the times of a trace; a second time where some are to be sorted.
func (b *book) look(ctx context.Context) error {
	b.looking = &looked{tracks: map[uint64]*trackOrder{}}
	defer func() { b.looking = nil }()
	for {
		b.begin()
		if err := b.walk(ctx); err != nil {
			return err
		}
		l := b.looking
		if l.collect || !l.disorder() {
			l.pair()
			b.looked = l
			return nil
		}
		l.collect = true
	}
}

// disorder reports whether a track has slices that a stack would not pair. Slices that overlap and are written one by one, a begin and its
// end, are meant as they are written.
func (l *looked) disorder() bool {
	found := false
	for _, o := range l.tracks {
		o.unsorted = o.unsorted && o.most > 1
		found = found || o.unsorted
	}
	return found
}

// at takes the time of an event.
func (l *looked) at(body field, s *sequence, ns int64, ok bool) error {
	if ok && !l.seen {
		l.seen, l.firstNS = true, ns
	}
	if body.num != packetEvent {
		return nil
	}
	kind, uuid := uint64(0), s.track
	for rest := body.b; len(rest) > 0; {
		f, r, ok := next(rest)
		if !ok {
			return errDamaged
		}
		rest = r
		switch f.num {
		case 9:
			kind = f.v
		case 11:
			uuid = f.v
		}
	}
	if kind != sliceBegin && kind != sliceEnd {
		return nil
	}
	o := l.tracks[uuid]
	if o == nil {
		if len(l.tracks) >= maxTracks {
			return nil
		}
		o = &trackOrder{lastNS: math.MinInt64}
		l.tracks[uuid] = o
	}
	if l.collect {
		o.collect(kind, ns)
	} else {
		o.look(kind, ns, ok)
	}
	return nil
}

// look notes whether events are in order.
func (o *trackOrder) look(kind uint64, ns int64, ok bool) {
	if kind == sliceBegin {
		o.depth++
		o.most = max(o.most, o.depth)
	} else {
		o.depth = max(0, o.depth-1)
	}
	if !ok {
		return
	}
	o.unsorted = o.unsorted || ns < o.lastNS
	o.lastNS = max(o.lastNS, ns)
}

// collect keeps the time of an event that is to be sorted.
func (o *trackOrder) collect(kind uint64, ns int64) {
	if !o.unsorted {
		return
	}
	n := int32(-1)
	if kind == sliceBegin && len(o.ends) < math.MaxInt32 {
		n = int32(len(o.ends))
		o.ends = append(o.ends, notEnded)
	}
	o.marks = append(o.marks, mark{ns, n})
}

// pair finds the ends of slices of tracks that are not in order.
func (l *looked) pair() {
	for _, o := range l.tracks {
		slices.SortStableFunc(o.marks, func(a, b mark) int { return cmp.Compare(a.ns, b.ns) })
		var open []int32
		for _, m := range o.marks {
			switch {
			case m.n >= 0:
				open = append(open, m.n)
			case len(open) > 0:
				o.ends[open[len(open)-1]] = m.ns
				open = open[:len(open)-1]
			}
		}
		o.marks = nil
	}
}
