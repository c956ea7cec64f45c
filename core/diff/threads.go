package diff

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// threads compares recordings of different wave sizes: thread by thread, since a warp of 64 lanes has the threads of two warps of
// 32. What a thread did is the events in which its lane was active. Rows carry the number of the wider warp; their events are
// positions in the warp that the thread belongs to on each side, and their lanes those of the wider warp that differ alike.
type threads struct {
	w          *worker
	a, b       *warptrace.Trace
	side       [2]threadSide // A, B
	groupLanes int           // of the wider warp
}

// threadSide is how one recording cuts a block's threads into warps.
type threadSide struct {
	trace    *warptrace.Trace
	wave     int
	perBlock uint64
	loaded   [2]warptrace.Warp // those that hold the threads of a group
	lanes    []laneHash
}

// laneHash is what one thread did, in short.
type laneHash struct{ did mixer }

func compareThreads(j *job.Job, a, b *warptrace.Trace, g *gathering) error {
	t := &threads{w: g.newWorker(j.Context()), a: a, b: b, groupLanes: max(a.Header().WaveSize, b.Header().WaveSize)}
	groups := map[uint64]struct{}{}
	for k, trace := range []*warptrace.Trace{a, b} {
		h := trace.Header()
		s := &t.side[k]
		s.trace, s.wave, s.lanes = trace, max(h.WaveSize, 1), make([]laneHash, t.groupLanes)
		if s.perBlock = uint64(h.WarpsPerBlock); s.perBlock == 0 {
			n := uint64(h.Block[0]) * uint64(max(h.Block[1], 1)) * uint64(max(h.Block[2], 1))
			s.perBlock = max((n+uint64(s.wave)-1)/uint64(s.wave), 1)
		}
		index, err := trace.Index(j.Context())
		if err != nil {
			return err
		}
		for i := range index {
			groups[t.groupOf(s, index[i].Warp)] = struct{}{}
		}
		if s.wave*2 < t.groupLanes {
			return fault.New(fault.Incompatible, "warps of %d and %d lanes cannot be compared by thread, only of 32 and 64", s.wave, t.groupLanes).WithPath(trace.Path())
		}
		*[]*int64{&g.r.Stats.WarpsA, &g.r.Stats.WarpsB}[k] = int64(len(index))
		if err := g.lossesOf(j, trace, k == 0); err != nil {
			return err
		}
	}
	order := make([]uint64, 0, len(groups))
	for group := range groups {
		if g.opt.Warps.Has(group) {
			order = append(order, group)
		}
	}
	slices.Sort(order)
	g.r.Stats.WarpsCompared = int64(len(order))
	for _, group := range order {
		if err := j.Context().Err(); err != nil {
			return err
		}
		d, err := t.compare(j, group)
		if err != nil {
			return err
		}
		if d != nil {
			g.add(d)
		}
	}
	return nil
}

// lossesOf takes the totals of one recording.
func (g *gathering) lossesOf(j *job.Job, t *warptrace.Trace, isA bool) error {
	l, err := t.Losses(j.Context())
	if err != nil {
		return err
	}
	if isA {
		g.r.LossesA, g.r.Stats.EventsA = l, l.Events
	} else {
		g.r.LossesB, g.r.Stats.EventsB = l, l.Events
	}
	return nil
}

// groupOf is the wide warp that a side's warp belongs to.
func (t *threads) groupOf(s *threadSide, warp uint64) uint64 {
	return warp/s.perBlock*t.wide() + warp%s.perBlock/uint64(t.groupLanes/s.wave)
}

// wide is the number of wide warps of a block.
func (t *threads) wide() uint64 {
	for _, trace := range []*warptrace.Trace{t.a, t.b} {
		h := trace.Header()
		if h.WaveSize != t.groupLanes {
			continue
		}
		if h.WarpsPerBlock > 0 {
			return uint64(h.WarpsPerBlock)
		}
		n := uint64(h.Block[0]) * uint64(max(h.Block[1], 1)) * uint64(max(h.Block[2], 1))
		return max((n+uint64(t.groupLanes)-1)/uint64(t.groupLanes), 1)
	}
	return 1
}

// load reads the warps of one side that hold the threads of a group, and hashes what each did.
func (t *threads) load(j *job.Job, s *threadSide, group uint64, keys func(uint32) uint32) error {
	per := uint64(t.groupLanes / s.wave)
	block, within := group/t.wide(), group%t.wide()
	for i := range per {
		w := &s.loaded[i]
		if number := within*per + i; number < s.perBlock {
			if err := s.trace.ReadWarp(j.Context(), block*s.perBlock+number, w); err != nil {
				return err
			}
		} else {
			*w = warptrace.Warp{}
		}
		lanes := s.lanes[int(i)*s.wave:][:s.wave]
		clear(lanes)
		taken := s.trace.Header().Taken
		for e := range w.Len() {
			key := uint64(keys(w.Site[e])) << 16
			for active := w.Active[e]; active != 0; active &= active - 1 {
				lane := bits.TrailingZeros64(active)
				if lane >= s.wave {
					break
				}
				lanes[lane].did.add(key | uint64(decision(w, e, lane, taken)))
			}
		}
	}
	return nil
}

// What a lane decided at an event.
const (
	decidedNo = iota
	decidedYes
	decidedUnknown
	decidedCase // and the number of the case, of a switch
)

// decision is what a lane decided: by the taken mask, else for the leader by the direction. The taken lanes of a switch are those that
// go where the leader goes, which is another lane in warps of another size: the others are known to go elsewhere, not where.
func decision(w *warptrace.Warp, e, lane int, taken bool) int {
	switch {
	case w.Kind[e] == site.Switch:
		if taken && w.Taken[e]>>lane&1 != 0 || leader(w.Active[e]) == lane {
			return decidedCase + int(w.Dir[e])
		}
	case taken:
		return int(w.Taken[e] >> lane & 1)
	case decides(w.Kind[e]) && leader(w.Active[e]) == lane:
		return int(w.Dir[e] & 1)
	}
	return decidedUnknown
}

// compare says how the threads of a group differ.
func (t *threads) compare(j *job.Job, group uint64) (*warpDiff, error) {
	a, b := &t.side[0], &t.side[1]
	if err := t.load(j, a, group, func(l uint32) uint32 { return l }); err != nil {
		return nil, err
	}
	if err := t.load(j, b, group, t.w.sites.key); err != nil {
		return nil, err
	}
	d := &warpDiff{warp: group}
	type alike struct{ a, b laneHash }
	lanesOf := map[alike]uint64{}
	var order []alike
	for lane := range t.groupLanes {
		if a.lanes[lane] == b.lanes[lane] {
			continue
		}
		way := alike{a.lanes[lane], b.lanes[lane]}
		if lanesOf[way] == 0 {
			order = append(order, way)
		}
		lanesOf[way] |= 1 << lane
	}
	for _, way := range order {
		t.lane(d, leader(lanesOf[way]), lanesOf[way])
	}
	if len(d.rows) == 0 {
		if d.approx || d.lost || d.filtered > 0 {
			return d, nil
		}
		return nil, nil
	}
	t.sort(d)
	return d, nil
}

func (t *threads) sort(d *warpDiff) {
	order := make([]int, len(d.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(d.rows[x].EventA, d.rows[y].EventA), cmp.Compare(d.rows[x].EventB, d.rows[y].EventB),
			cmp.Compare(d.rows[x].Lanes, d.rows[y].Lanes))
	})
	rows, kinds := make([]Row, len(order)), make([][2]site.Kind, len(order))
	for k, i := range order {
		rows[k], kinds[k] = d.rows[i], d.kinds[i]
		rows[k].Follows = k > 0
	}
	d.rows, d.kinds = rows, kinds
	d.digest = digestRows(rows)
}

// laneEvents are the events of one thread: their positions in the warp, and their keys.
type laneEvents struct {
	w    *warptrace.Warp
	lane int
	at   []int32
	keys []uint32
}

func (s *threadSide) eventsOf(lane int, key func(uint32) uint32) laneEvents {
	l := laneEvents{w: &s.loaded[lane/s.wave], lane: lane % s.wave}
	for e := range l.w.Len() {
		if l.w.Active[e]>>l.lane&1 != 0 {
			l.at = append(l.at, int32(e))
			l.keys = append(l.keys, key(l.w.Site[e]))
		}
	}
	return l
}

// lane adds the rows of one thread, which stands for several that differ alike.
func (t *threads) lane(d *warpDiff, lane int, alike uint64) {
	a := t.side[0].eventsOf(lane, func(l uint32) uint32 { return l })
	b := t.side[1].eventsOf(lane, t.w.sites.key)
	edits, cost := t.w.solver.Shortest(a.keys, b.keys, t.w.budget)
	d.approx = d.approx || !cost.Minimal
	i, j := 0, 0
	for _, e := range edits {
		t.lanePairs(d, &a, &b, i, j, int(e.A)-i, alike)
		t.laneRow(d, &a, &b, int(e.A), int(e.B), int(e.Del), int(e.Ins), RowPath, alike)
		i, j = int(e.A+e.Del), int(e.B+e.Ins)
	}
	t.lanePairs(d, &a, &b, i, j, len(a.at)-i, alike)
}

func (t *threads) lanePairs(d *warpDiff, a, b *laneEvents, i, j, n int, alike uint64) {
	takenA, takenB := t.a.Header().Taken, t.b.Header().Taken
	for k := range n {
		x, y := decision(a.w, int(a.at[i+k]), a.lane, takenA), decision(b.w, int(b.at[j+k]), b.lane, takenB)
		if x != y && x != decidedUnknown && y != decidedUnknown {
			t.laneRow(d, a, b, i+k, j+k, 1, 1, RowBranch, alike)
		}
	}
}

func (t *threads) laneRow(d *warpDiff, a, b *laneEvents, i, j, del, ins int, kind RowKind, alike uint64) {
	if kind == RowPath && (del == 0 || ins == 0) {
		kind = RowExtraEvents
	}
	r := Row{
		Warp: d.warp, Kind: kind, SiteA: None, SiteB: None, Count: uint32(del), CountB: uint32(ins), Lanes: alike,
		EventA: a.position(i), EventB: b.position(j),
	}
	var kinds [2]site.Kind
	ok := t.w.opt.Kinds.has(kind)
	if del > 0 {
		e := int(a.at[i])
		r.SiteA, r.DirA, r.ActiveA, r.TakenA, kinds[0] = int32(a.w.Site[e]), a.w.Dir[e], a.w.Active[e], a.w.Taken[e], a.w.Kind[e]
		r.OccurrenceA = a.occurrence(i)
		v := t.w.filter.verdict(t.w.filter.a, t.a, a.w.Site[e])
		ok = ok && !v.ignored && (v.wanted || len(t.w.opt.SiteFilter) == 0)
	}
	if ins > 0 {
		e := int(b.at[j])
		r.SiteB, r.DirB, r.ActiveB, r.TakenB, kinds[1] = int32(b.w.Site[e]), b.w.Dir[e], b.w.Active[e], b.w.Taken[e], b.w.Kind[e]
		r.OccurrenceB = b.occurrence(j)
	}
	if !ok {
		d.filtered++
		return
	}
	d.rows = append(d.rows, r)
	d.kinds = append(d.kinds, kinds)
}

// position is where event i of the thread stands in its warp; beyond the last, the warp's end.
func (l *laneEvents) position(i int) int32 {
	if i < len(l.at) {
		return l.at[i]
	}
	return int32(l.w.Len())
}

// occurrence is how often the thread had passed the site of its event i before.
func (l *laneEvents) occurrence(i int) uint32 {
	var n uint32
	for _, key := range l.keys[:i] {
		if key == l.keys[i] {
			n++
		}
	}
	return n
}
