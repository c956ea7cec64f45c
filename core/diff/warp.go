package diff

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/recording/script"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// warpDiff is how one warp differs. The sites of its rows are local numbers, of A and B.
type warpDiff struct {
	warp      uint64
	rows      []Row
	filtered  int64          // rows that were left out
	digest    [2]uint64      // of all rows: warps that differ in the same way have the same
	epoch     uint32         // barriers before the first row
	around    []pairSeen     // events around the first row
	kinds     [][2]site.Kind // of the events of rows
	lost      bool           // an end is missing on a side that lost events
	unlocated bool           // nothing but a hash differs, or how many events there were
	approx    bool           // the script is not proven minimal
	reordered bool           // every lane did the same
	moved     bool           // that is so because code of the other build moved
}

// worker compares one warp after another and keeps its memory.
type worker struct {
	opt    *Options
	sites  *siteMap
	budget script.Budget
	solver script.Solver
	pair   streams
	keysA  []uint32
	keysB  []uint32
	counts occurrences
	order  laneOrder
	warpA  warptrace.Warp
	warpB  warptrace.Warp
	filter rowFilter
	rows   []Row

	oneSided [2]kindsAsked // events that A alone and that B alone has, because nobody asked for the others

	known, coarse, fine script.Script // of finer
	wholeA, wholeB      []uint32
	others              []Row

	codedA, codedB warptrace.Coded
	shared         symbolMap
	translated     []uint32

	expected int // edits of the next script, 0: unknown
}

func (w *worker) keyA(i int) uint32 { return w.sites.keyA(w.pair.a.site(i)) }
func (w *worker) keyB(j int) uint32 { return w.sites.key(w.pair.b.site(j)) }

// compare says how the two streams of w.pair differ; nil when nothing does. With near, it gives up, with ok false, when that would
// take long.
func (w *worker) compare(warp uint64, near bool) (d *warpDiff, ok bool) {
	al, ok := w.align(near)
	if !ok {
		return nil, false
	}
	lost := w.rowsOf(warp, al)
	if n := differingPairs(w.rows); n >= fewDiffering && n > len(al.edits) {
		cost := costOf(al.edits)
		if al, ok = w.finer(al, n-1); ok {
			w.others = append(w.others[:0], w.rows...)
			w.rowsOf(warp, al)
			if costOf(al.edits)+int64(differingPairs(w.rows)) >= cost+int64(n) {
				al = w.restored(al)
				w.rows, w.others = w.others, w.rows
			}
		}
	}
	unlocated := len(w.rows) == 0 && w.otherCount()
	if len(w.rows) == 0 && !lost && !unlocated && al.minimal {
		return nil, true
	}
	d = &warpDiff{warp: warp, approx: !al.minimal, lost: lost, unlocated: unlocated}
	if len(w.rows) > 0 {
		w.finish(d, al)
	}
	return d, true
}

// otherCount reports whether the warps passed another number of events, where some of them are not in the recordings: what is there can be the
// same, and the warps did something else. Nothing is said where a side was not asked for some kind of event, or somebody leaves sites out.
func (w *worker) otherCount() bool {
	a, b := &w.pair.a.info, &w.pair.b.info
	lossy := a.Total > uint64(a.Events) || b.Total > uint64(b.Events)
	return lossy && a.Total != b.Total && !w.filter.active && len(w.oneSided[0])+len(w.oneSided[1]) == 0
}

// rowsOf makes the rows of an alignment, whose gaps are moved to where they belong, and reports whether an end was lost.
func (w *worker) rowsOf(warp uint64, al alignment) (lost bool) {
	p := &w.pair
	p.place(al.edits, w)
	w.rows = w.rows[:0]
	i, j := al.startA, al.startB
	if len(al.edits) == 0 || int(al.edits[0].A) >= al.head {
		i, j = max(i, al.head), max(j, al.head)
	}
	for k := range al.edits {
		e := &al.edits[k]
		if k > 0 || int(e.A) >= al.head {
			w.kept(warp, i, j, int(e.A)-i)
		}
		w.gap(warp, e)
		i, j = int(e.A+e.Del), int(e.B+e.Ins)
	}
	n := min(p.a.n-i, p.b.n-j)
	w.kept(warp, i, j, n-al.tail)
	return al.startA+al.startB > 0 || i+n < p.a.n || j+n < p.b.n
}

// alignment is a script over a pair of warps. What lies before the start, and what one side has left at the end, was lost by the
// other side.
type alignment struct {
	edits          script.Script
	startA, startB int
	minimal        bool
	head, tail     int // pairs at the ends that are known to be the same
}

// align finds the script of the pair. Equal ends are cut off as bytes where that is possible.
func (w *worker) align(near bool) (al alignment, ok bool) {
	p := &w.pair
	tails := p.openTails()
	heads := script.Open{A: p.b.info.Before > 0, B: p.a.info.Before > 0}
	whole := heads == script.Open{} && tails == script.Open{}
	if near && !whole {
		return al, false
	}
	head, tail := 0, 0
	if (p.coded() || p.raw() && w.sites.identity) && heads == (script.Open{}) {
		head = p.prefix()
		if whole {
			tail = p.suffix(min(p.a.n, p.b.n) - head)
		}
	}
	al.head, al.tail = head, tail
	if near && p.raw() && w.sites.identity && w.sites.merged == nil {
		al.edits, w.expected, ok = w.solver.NearRuns(p.siteRuns(head, tail))
		al.minimal = true
		al.shift(head)
		return al, ok
	}
	if p.coded() && whole {
		if al.edits, w.expected, ok = w.solver.NearRuns(w.codedRuns(head, tail)); ok {
			al.minimal = true
			al.shift(head)
			return al, true
		}
	}
	w.keysA = p.a.appendSites(w.keysA[:0], head, p.a.n-tail)
	w.keysB = p.b.appendSites(w.keysB[:0], head, p.b.n-tail)
	w.sites.translateA(w.keysA)
	w.sites.translate(w.keysB)
	al.minimal = true
	var cost script.Cost
	switch {
	case near:
		if al.edits, w.expected, ok = w.solver.Near(w.keysA, w.keysB); !ok {
			return al, false
		}
		cost.Minimal = true
	case heads != script.Open{}:
		al, cost = w.alignBackwards(heads)
	default:
		budget := w.budget
		budget.Expected = w.expected
		al.edits, cost = w.solver.Open(w.keysA, w.keysB, tails, budget)
		w.expected = 0
	}
	al.minimal = cost.Minimal
	al.shift(head)
	return al, true
}

// shift moves the edits behind the head.
func (al *alignment) shift(head int) {
	for k := range al.edits {
		al.edits[k].A += int32(head)
		al.edits[k].B += int32(head)
	}
}

// openTails says which side has an end that the other one may have lost.
func (p *streams) openTails() script.Open {
	return script.Open{A: p.b.info.Dropped > p.b.info.Before, B: p.a.info.Dropped > p.a.info.Before}
}

// alignBackwards aligns from the end, for warps of which the beginning was lost.
func (w *worker) alignBackwards(heads script.Open) (alignment, script.Cost) {
	slices.Reverse(w.keysA)
	slices.Reverse(w.keysB)
	edits, cost := w.solver.Open(w.keysA, w.keysB, heads, w.budget)
	al := alignment{edits: edits, startA: len(w.keysA), startB: len(w.keysB)}
	slices.Reverse(edits)
	for k := range edits {
		e := &edits[k]
		e.A, e.B = int32(len(w.keysA))-e.A-e.Del, int32(len(w.keysB))-e.B-e.Ins
	}
	if len(edits) > 0 {
		al.startA, al.startB = int(edits[0].A), int(edits[0].B)
	}
	n := min(al.startA, al.startB)
	al.startA, al.startB = al.startA-n, al.startB-n
	return al, cost
}

// kept adds the rows of n pairs of events.
func (w *worker) kept(warp uint64, i, j, n int) {
	p := &w.pair
	for n > 0 {
		k := p.next(i, j, n)
		if i, j, n = i+k, j+k, n-k; n == 0 {
			return
		}
		how := p.differ(i, j)
		for kind := RowBranch; kind <= RowValue; kind++ {
			if how>>kind&1 != 0 {
				w.row(warp, i, j, kind)
			}
		}
		i, j, n = i+1, j+1, n-1
	}
}

// row adds the row of a pair of events.
func (w *worker) row(warp uint64, i, j int, kind RowKind) {
	p := &w.pair
	r := Row{
		Warp: warp, EventA: int32(i), EventB: int32(j), Kind: kind, SiteA: int32(p.a.site(i)), SiteB: int32(p.b.site(j)), Count: 1, CountB: 1,
		DirA: p.a.dir(i), DirB: p.b.dir(j), ActiveA: p.a.active(i), ActiveB: p.b.active(j), TakenA: p.a.takenOf(i), TakenB: p.b.takenOf(j),
	}
	r.ValueA, r.Type = p.a.value(i)
	r.ValueB, _ = p.b.value(j)
	switch {
	case kind == RowActiveMask:
		r.Lanes = r.ActiveA ^ r.ActiveB
	case kind == RowBranch && p.a.taken && p.b.taken:
		r.Lanes = (r.TakenA ^ r.TakenB) & r.ActiveA & r.ActiveB
	}
	w.rows = append(w.rows, r)
}

// gap adds the row of events that one side has, or that are replaced.
func (w *worker) gap(warp uint64, e *script.Edit) {
	if w.oneSidedGap(e) {
		return
	}
	p := &w.pair
	r := Row{
		Warp: warp, EventA: e.A, EventB: e.B, Kind: RowPath, SiteA: None, SiteB: None, Count: uint32(e.Del), CountB: uint32(e.Ins),
	}
	if e.Del == 0 || e.Ins == 0 {
		r.Kind = RowExtraEvents
	}
	if e.Del > 0 {
		i := int(e.A)
		r.SiteA, r.DirA, r.ActiveA, r.TakenA = int32(p.a.site(i)), p.a.dir(i), p.a.active(i), p.a.takenOf(i)
		r.ValueA, r.Type = p.a.value(i)
	}
	if e.Ins > 0 {
		j := int(e.B)
		r.SiteB, r.DirB, r.ActiveB, r.TakenB = int32(p.b.site(j)), p.b.dir(j), p.b.active(j), p.b.takenOf(j)
		r.ValueB, r.Type = p.b.value(j)
	}
	w.rows = append(w.rows, r)
}

// finish filters the rows of a warp and fills in what needs all of them.
func (w *worker) finish(d *warpDiff, al alignment) {
	p := &w.pair
	if d.reordered = w.order.same(p, w, al, w.rows, nil); !d.reordered && len(w.sites.moved) > 0 {
		d.moved = w.order.same(p, w, al, w.rows, w.sites.moved)
		d.reordered = d.moved
	}
	w.rows, d.filtered = w.filter.keep(w.rows, p)
	if len(w.rows) == 0 {
		return
	}
	switch {
	case p.coded():
		fillRanks(w.rows, p.a.coded, p.b.coded)
	case !w.sites.identity || d.filtered > 0 || !w.counts.fillNear(w.rows, &p.a, &p.b):
		w.counts.fill(w.rows, &p.a, &p.b)
	}
	d.rows = append([]Row(nil), w.rows...)
	d.kinds = make([][2]site.Kind, len(d.rows))
	for k := range d.rows {
		r := &d.rows[k]
		r.Follows, r.Reordered = k > 0, d.reordered
		if r.Count > 0 {
			d.kinds[k][0] = p.a.kind(int(r.EventA))
		}
		if r.CountB > 0 {
			d.kinds[k][1] = p.b.kind(int(r.EventB))
		}
		addSnapshotLanes(&d.rows[k], p)
	}
	d.digest = digestRows(d.rows)
	if w.sites.barriers {
		for i := range int(d.rows[0].EventA) {
			if p.a.kind(i) == site.Barrier {
				d.epoch++
			}
		}
	}
	if w.opt.Context > 0 {
		d.around = around(p, al, &d.rows[0], w.opt.Context)
	}
}

// digestRows is a hash over what makes warps differ in the same way: everything but the warp and values.
func digestRows(rows []Row) [2]uint64 {
	h := mixer{0x243f6a8885a308d3, 0x13198a2e03707344}
	for k := range rows {
		r := &rows[k]
		h.add(uint64(r.Kind)<<32 | uint64(r.DirA)<<8 | uint64(r.DirB))
		h.add(uint64(uint32(r.SiteA))<<32 | uint64(uint32(r.SiteB)))
		h.add(uint64(uint32(r.EventA))<<32 | uint64(uint32(r.EventB)))
		h.add(uint64(r.Count)<<32 | uint64(r.CountB))
		h.add(uint64(r.OccurrenceA)<<32 | uint64(r.OccurrenceB))
		h.add(r.ActiveA)
		h.add(r.ActiveB)
		h.add(r.TakenA)
		h.add(r.TakenB)
	}
	return h
}

// mixer is a hash of 128 bits, not meant to withstand somebody who looks for collisions.
type mixer [2]uint64

func (h *mixer) add(v uint64) {
	high, low := bits.Mul64(h[0]^v, 0x9e3779b97f4a7c15)
	h[0], h[1] = bits.RotateLeft64(h[1], 29)+low, h[1]^high^v*0xd6e8feb86659fd93
}

// mix is a bijection that spreads every bit over all of them (the finalizer of SplitMix64).
func mix(v uint64) uint64 {
	v ^= v >> 30
	v *= 0xbf58476d1ce4e5b9
	v ^= v >> 27
	v *= 0x94d049bb133111eb
	return v ^ v>>31
}

const occurrenceSlots = 1 << 12

// occurrences counts how often a warp had passed the sites of its rows before.
type occurrences struct {
	slots [occurrenceSlots]occurrenceCount
	taken [occurrenceSlots]bool
	full  map[uint32]uint32 // sites whose slot is another's
	used  []uint16
}

// occurrenceCount counts the events of a site in turn in two numbers, because events of one site follow each other: a processor waits for a
// number that it has just written.
type occurrenceCount struct{ site, even, odd uint32 }

func occurrenceSlot(local uint32) uint16 { return uint16(local * 0x9e3779b1 >> 20) }

// fillNear is fill for streams of the same site numbers that are near each other: what is counted in a holds for b, but for the
// events of gaps. With more gaps than that is worth it reports false.
func (o *occurrences) fillNear(rows []Row, a, b *stream) bool {
	inGaps := 0
	for k := range rows {
		if rows[k].Kind > RowValue {
			inGaps += int(rows[k].Count) + int(rows[k].CountB)
		}
	}
	if inGaps*len(rows) > 512 {
		return false
	}
	o.watch(rows, func(r *Row) (uint32, bool) { return uint32(r.SiteA), r.Count > 0 })
	o.watchMore(rows, func(r *Row) (uint32, bool) { return uint32(r.SiteB), r.CountB > 0 })
	at := 0
	for k := range rows {
		r := &rows[k]
		o.pass(a, at, int(r.EventA))
		if at = int(r.EventA); r.Count > 0 {
			r.OccurrenceA = o.count(uint32(r.SiteA))
		}
		if r.CountB == 0 {
			continue
		}
		r.OccurrenceB = o.count(uint32(r.SiteB))
		for g := range rows[:k] {
			if gap := &rows[g]; gap.Kind > RowValue {
				r.OccurrenceB -= countSite(a, uint32(r.SiteB), int(gap.EventA), int(gap.EventA)+int(gap.Count))
				r.OccurrenceB += countSite(b, uint32(r.SiteB), int(gap.EventB), int(gap.EventB)+int(gap.CountB))
			}
		}
	}
	return true
}

// countSite counts the events of one site.
func countSite(s *stream, local uint32, from, to int) uint32 {
	var n uint32
	for i := from; i < to; i++ {
		if s.site(i) == local {
			n++
		}
	}
	return n
}

// fill sets the occurrences of rows, which ascend on both sides.
func (o *occurrences) fill(rows []Row, a, b *stream) {
	o.watch(rows, func(r *Row) (uint32, bool) { return uint32(r.SiteA), r.Count > 0 })
	at := 0
	for k := range rows {
		r := &rows[k]
		o.pass(a, at, int(r.EventA))
		if at = int(r.EventA); r.Count > 0 {
			r.OccurrenceA = o.count(uint32(r.SiteA))
		}
	}
	o.watch(rows, func(r *Row) (uint32, bool) { return uint32(r.SiteB), r.CountB > 0 })
	at = 0
	for k := range rows {
		r := &rows[k]
		o.pass(b, at, int(r.EventB))
		if at = int(r.EventB); r.CountB > 0 {
			r.OccurrenceB = o.count(uint32(r.SiteB))
		}
	}
}

// watch forgets all counts and counts the sites of one side of rows from now on.
func (o *occurrences) watch(rows []Row, of func(*Row) (local uint32, has bool)) {
	for _, s := range o.used {
		o.taken[s] = false
	}
	o.used = o.used[:0]
	clear(o.full)
	o.watchMore(rows, of)
}

func (o *occurrences) watchMore(rows []Row, of func(*Row) (local uint32, has bool)) {
	for k := range rows {
		local, has := of(&rows[k])
		if !has {
			continue
		}
		h := occurrenceSlot(local)
		switch s := &o.slots[h]; {
		case !o.taken[h]:
			*s, o.taken[h] = occurrenceCount{site: local}, true
			o.used = append(o.used, h)
		case s.site != local:
			if o.full == nil {
				o.full = make(map[uint32]uint32)
			}
			o.full[local] = 0
		}
	}
}

// pass counts the events from <= i < to.
func (o *occurrences) pass(s *stream, from, to int) {
	if to <= from {
		return
	}
	if s.w != nil {
		for _, local := range s.w.Site[from:to] {
			o.see(local)
		}
		return
	}
	const size = warptrace.V1EventBytes
	b := s.raw[from*size : to*size]
	for ; len(b) >= 2*size; b = b[2*size:] {
		e := (*[2 * size]byte)(b)
		one, two := binary.LittleEndian.Uint32(e[:]), binary.LittleEndian.Uint32(e[size:])
		even, odd := &o.slots[occurrenceSlot(one)&(occurrenceSlots-1)], &o.slots[occurrenceSlot(two)&(occurrenceSlots-1)]
		if even.site != one || odd.site != two {
			o.see(one)
			o.see(two)
			continue
		}
		even.even++
		odd.odd++
	}
	if len(b) >= size {
		o.see(binary.LittleEndian.Uint32(b))
	}
}

func (o *occurrences) see(local uint32) {
	slot := &o.slots[occurrenceSlot(local)&(occurrenceSlots-1)]
	if slot.site == local {
		slot.even++ // of a slot that is not used, too: nobody asks for it
	} else if len(o.full) > 0 {
		o.seeFull(local)
	}
}

func (o *occurrences) seeFull(local uint32) {
	if n, is := o.full[local]; is {
		o.full[local] = n + 1
	}
}

func (o *occurrences) count(local uint32) uint32 {
	h := occurrenceSlot(local)
	if slot := &o.slots[h]; o.taken[h] && slot.site == local {
		return slot.even + slot.odd
	}
	return o.full[local]
}
