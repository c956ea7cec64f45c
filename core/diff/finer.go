package diff

import "github.com/prlx-go/prlx/core/recording/script"

// fewDiffering is how many pairs may differ before another script of the same cost is looked for.
const fewDiffering = 8

// finer looks for another script that costs no more and pairs fewer events that differ. Scripts are the shortest in terms of sites;
// among loops there are many of those, and sliding single gaps (place) does not find the best one where a run of arbitrary events was
// put in or taken out. So whole events are aligned first (site, decision, lanes, and values where they count), and what lies between
// equal events by sites. The result counts only when it costs what the shortest script costs. Where a side lost its end, the shortest
// script is no measure, because it may leave as much at the end as it likes: there edits and differing pairs are weighed together, and
// slack is how many edits more are worth a look.
func (w *worker) finer(al alignment, slack int) (alignment, bool) {
	p := &w.pair
	if p.openTails() == (script.Open{}) {
		slack = 0
	}
	if p.a.info.Before+p.b.info.Before > 0 || !al.minimal {
		return al, false
	}
	cost := costOf(al.edits)
	w.known = append(w.known[:0], al.edits...) // the solver's script is valid until its next call
	toA, toB := p.a.n-al.tail, p.b.n-al.tail
	w.wholeA, w.wholeB = w.wholeA[:0], w.wholeB[:0]
	for i := al.head; i < toA; i++ {
		w.wholeA = append(w.wholeA, p.whole(&p.a, i, w.keyA(i)))
	}
	for j := al.head; j < toB; j++ {
		w.wholeB = append(w.wholeB, p.whole(&p.b, j, w.keyB(j)))
	}
	coarse, found := w.solver.Open(w.wholeA, w.wholeB, p.openTails(), w.budget)
	if !found.Minimal {
		return w.restored(al), false
	}
	w.coarse = append(w.coarse[:0], coarse...)
	w.fine = w.fine[:0]
	spent := int64(0)
	for _, e := range w.coarse {
		if spent += w.between(e, al.head); spent > cost+int64(slack) {
			return w.restored(al), false
		}
	}
	if spent > cost+int64(slack) || !w.pairsSites(w.fine, al) {
		return w.restored(al), false
	}
	al.edits = w.fine
	return al, true
}

// between aligns by sites what one edit of whole events replaces, appends the edits and returns what they cost.
func (w *worker) between(e script.Edit, head int) int64 {
	a, b := int(e.A)+head, int(e.B)+head
	if e.Del == 0 || e.Ins == 0 {
		w.fine = append(w.fine, script.Edit{A: int32(a), B: int32(b), Del: e.Del, Ins: e.Ins})
		return int64(e.Del + e.Ins)
	}
	w.keysA, w.keysB = w.keysA[:0], w.keysB[:0]
	for i := range int(e.Del) {
		w.keysA = append(w.keysA, w.keyA(a+i))
	}
	for j := range int(e.Ins) {
		w.keysB = append(w.keysB, w.keyB(b+j))
	}
	inner, found := w.solver.Shortest(w.keysA, w.keysB, w.budget)
	for _, x := range inner {
		w.fine = append(w.fine, script.Edit{A: x.A + int32(a), B: x.B + int32(b), Del: x.Del, Ins: x.Ins})
	}
	return found.Edits
}

// restored gives an alignment its own edits back.
func (w *worker) restored(al alignment) alignment {
	al.edits = w.known
	return al
}

// pairsSites reports whether a script pairs nothing but events of equal sites: two events can have one hash by chance.
func (w *worker) pairsSites(edits script.Script, al alignment) bool {
	i, j := al.head, al.head
	run := func(to int) bool {
		for ; i < to; i, j = i+1, j+1 {
			if w.keyA(i) != w.keyB(j) {
				return false
			}
		}
		return true
	}
	for _, e := range edits {
		if !run(int(e.A)) || j != int(e.B) {
			return false
		}
		i, j = i+int(e.Del), j+int(e.Ins)
	}
	return run(i + min(w.pair.a.n-i, w.pair.b.n-j) - al.tail)
}

// whole is a hash over what makes two events equal.
func (p *streams) whole(s *stream, i int, key uint32) uint32 {
	h := mix(uint64(key)<<8|uint64(s.kind(i))) + s.active(i)
	if p.a.taken && p.b.taken {
		h = mix(h) + s.takenOf(i)&s.active(i)
	} else if decides(s.kind(i)) {
		h = mix(h) + uint64(s.dir(i))
	}
	if p.values {
		v, t := s.value(i)
		h = mix(h) + v + uint64(t)<<56
	}
	return uint32(mix(h) >> 32)
}

func costOf(edits script.Script) int64 {
	n := int64(0)
	for _, e := range edits {
		n += int64(e.Del) + int64(e.Ins)
	}
	return n
}

// differingPairs counts the rows of pairs.
func differingPairs(rows []Row) int {
	n := 0
	for k := range rows {
		if rows[k].Kind <= RowValue {
			n++
		}
	}
	return n
}
