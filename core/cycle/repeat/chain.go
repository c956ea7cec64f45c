package repeat

import (
	"cmp"
	"slices"
	"sort"
)

// chain aligns what lies between repetitions with the classes of its level, outer levels first: an edited step is a step, and its
// layers are where the alignment puts them.
func (f *finder) chain() {
	if f.opt.EditPercent < 0 {
		return
	}
	height := 0
	for _, c := range f.classes {
		height = max(height, c.height)
		slices.SortFunc(c.blocks, func(a, b block) int { return cmp.Compare(a.start, b.start) })
	}
	var sealed []Span // exact repetitions of outer levels: nothing is missing inside
	for h := height; h >= 1; h-- {
		if f.canceled() {
			return
		}
		level := f.level(h)
		l := chainer{f: f, sealed: sealed, left: map[int32]int{}, a: aligner{budget: alignPerSymbol*len(f.in) + 1<<18}}
		l.gaps(level)
		f.limited = f.limited || l.a.budget <= 0
		sealed = mergeSpans(sealed, f.blocksOf(level))
	}
}

func (f *finder) level(height int) []int32 {
	var out []int32
	for i, c := range f.classes {
		if c.height == height && (len(c.blocks) > 0) {
			out = append(out, int32(i))
		}
	}
	return out
}

// stretch is a block of a class with its place, or an edited repetition.
type stretch struct {
	start, end int
	class      int32
}

func (f *finder) blocksOf(level []int32) []Span {
	var out []Span
	for _, c := range level {
		cl := f.classes[c]
		for _, b := range cl.blocks {
			out = append(out, Span{Start: b.start, End: b.start + b.count*int32(cl.period)})
		}
	}
	sortSpans(out)
	return out
}

// mergeSpans joins two sorted lists of spans into disjoint ones.
func mergeSpans(a, b []Span) []Span {
	all := append(slices.Clone(a), b...)
	sortSpans(all)
	var out []Span
	for _, s := range all {
		if k := len(out) - 1; k >= 0 && s.Start <= out[k].End {
			out[k].End = max(out[k].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

type chainer struct {
	f      *finder
	sealed []Span
	left   map[int32]int // edits that a class may still have
	a      aligner
	back   []uint32
	level  []int32
	try    []int32
	// taken are the repetitions that were entered last, journal the class of every one that was entered since it was emptied.
	taken   []Span
	journal []int32
}

// gaps goes through what lies between the repetitions of a level.
func (l *chainer) gaps(level []int32) {
	f := l.f
	level = l.absorb(level)
	l.level = level
	var all []stretch
	for _, c := range level {
		cl := f.classes[c]
		covered := 0
		for _, b := range cl.blocks {
			all = append(all, stretch{int(b.start), int(b.start) + int(b.count)*cl.period, c})
			covered += int(b.count) * cl.period
		}
		for _, s := range cl.edited { // put there by an outer level
			all = append(all, stretch{int(s.Start), int(s.End), c})
		}
		l.left[c] = covered * f.opt.EditPercent / 100
	}
	sort.Slice(all, func(i, j int) bool { return all[i].start < all[j].start })
	end, before := 0, int32(-1)
	for _, s := range all {
		if s.start > end {
			l.gap(end, s.start, before, s.class)
		}
		if s.end > end {
			end, before = s.end, s.class
		}
	}
	if end < len(f.in) {
		l.gap(end, len(f.in), before, -1)
	}
	for _, c := range level {
		sortSpans(f.classes[c].edited)
	}
}

// absorb takes the repetitions of classes away that are a common other one of the level with the same edits twice by chance.
func (l *chainer) absorb(level []int32) []int32 {
	f := l.f
	count := func(c int32) int {
		n := 0
		for _, b := range f.classes[c].blocks {
			n += int(b.count)
		}
		return n
	}
	if len(level) > maxSegments {
		return level
	}
	return slices.DeleteFunc(slices.Clone(level), func(c int32) bool {
		mine := count(c)
		for _, o := range level {
			if o != c && mine <= max(2, count(o)/rareShare) && count(o) > commonTimes*mine && l.alike(c, o) {
				f.classes[c].blocks = nil
				return true
			}
		}
		return false
	})
}

// alike reports whether two words are made of the same symbols but for a few, as one and the same with edits are.
func (l *chainer) alike(c, o int32) bool {
	limit := l.limit(l.f.classes[o].period, 1)
	if off := l.f.classes[c].period - l.f.classes[o].period; max(off, -off) > limit {
		return false
	}
	counts := map[uint32]int{}
	for _, s := range l.f.flatten(c) {
		counts[s]++
	}
	for _, s := range l.f.flatten(o) {
		counts[s]--
	}
	differ := 0
	for _, n := range counts {
		differ += max(n, -n)
	}
	return differ <= limit
}

// inside reports whether [start, end) lies in one stretch of exact repetitions of an outer level.
func (l *chainer) inside(start, end int) bool {
	i := sort.Search(len(l.sealed), func(i int) bool { return int(l.sealed[i].End) > start })
	return i < len(l.sealed) && int(l.sealed[i].Start) <= start && end <= int(l.sealed[i].End)
}

func (l *chainer) limit(period, times int) int {
	one := allowed(period, l.f.opt.EditPercent)
	return 2 * one * times // a replaced symbol is one inserted and one missing
}

func (l *chainer) gap(start, end int, before, after int32) {
	if l.inside(start, end) {
		return
	}
	for start < end {
		if before >= 0 && after >= 0 && l.whole(start, end, before) >= 0 { // both ends are borders
			return
		}
		switch s, c := l.forward(start, end, before); {
		case s > start:
			start, before = s, c
		default:
			e, c := l.backward(start, end, after)
			if e >= end {
				return
			}
			end, after = e, c
		}
	}
}

// whole aligns the whole gap with one class, that of the neighbour before it first, then any of the level, and returns it.
func (l *chainer) whole(start, end int, before int32) int32 {
	best, bestTimes, bestCost := int32(-1), 0, 0
	for _, c := range l.candidates(before) {
		period := l.f.classes[c].period
		times := (end - start + period/2) / period
		if times < 1 || times > maxTimes {
			continue
		}
		limit := min(l.limit(period, times), maxEdits)
		if off := end - start - times*period; max(off, -off) > limit {
			continue
		}
		if _, ok := l.a.align(l.f.in[start:end], l.f.flatten(c), times, limit, false); ok {
			if cost := l.cost(); best < 0 || cost < bestCost {
				best, bestTimes, bestCost = c, times, cost
			}
		}
	}
	if best < 0 {
		return -1
	}
	period := l.f.classes[best].period
	l.a.align(l.f.in[start:end], l.f.flatten(best), bestTimes, min(l.limit(period, bestTimes), maxEdits), false)
	if !l.take(best, start, end, bestTimes) {
		return -1
	}
	return best
}

// cost is the number of edits of the last alignment, as Myers counts them.
func (l *chainer) cost() int { return len(l.a.snakes) - 1 }

// candidates are the classes of the level, the neighbour first.
func (l *chainer) candidates(first int32) []int32 {
	l.try = l.try[:0]
	if first >= 0 {
		l.try = append(l.try, first)
	}
	if len(l.level) <= maxSegments {
		for _, c := range l.level {
			if c != first {
				l.try = append(l.try, c)
			}
		}
	}
	return l.try
}

// forward puts one more repetition at the start of the gap: of the class before it, or of any other.
func (l *chainer) forward(start, end int, before int32) (int, int32) {
	for _, c := range l.candidates(before) {
		period := l.f.classes[c].period
		limit := min(l.limit(period, 1), maxEdits)
		text := l.f.in[start:min(end, start+period+limit)]
		if len(text) < period-limit {
			continue
		}
		if used, ok := l.a.align(text, l.f.flatten(c), 1, limit, true); ok && used > 0 && l.take(c, start, start+used, 1) {
			return start + used, c
		}
	}
	return start, before
}

// backward puts one more repetition at the end of the gap.
func (l *chainer) backward(start, end int, after int32) (int, int32) {
	for _, c := range l.candidates(after) {
		period := l.f.classes[c].period
		limit := min(l.limit(period, 1), maxEdits)
		from := max(start, end-period-limit)
		if end-from < period-limit {
			continue
		}
		l.back = append(append(l.back[:0], l.f.in[from:end]...), l.f.flatten(c)...)
		text, word := l.back[:end-from], l.back[end-from:]
		slices.Reverse(text)
		slices.Reverse(word)
		used, ok := l.a.align(text, word, 1, limit, true)
		if !ok || used == 0 {
			continue
		}
		if _, ok := l.a.align(l.f.in[end-used:end], l.f.flatten(c), 1, limit, false); ok && l.take(c, end-used, end, 1) {
			return end - used, c
		}
	}
	return end, after
}

// take enters the repetitions of the last alignment, and what lies inside of them.
func (l *chainer) take(c int32, start, end, times int) bool {
	cl := l.f.classes[c]
	if l.cutOff(start, end, times*cl.period) {
		return false
	}
	total := l.a.edits(0, times*cl.period, end-start, times*cl.period)
	if total > l.left[c] || l.partial(start, end, times*cl.period, total) {
		return false
	}
	n := len(cl.edited)
	at := 0
	for k := range times {
		to := end - start
		if k < times-1 {
			to = l.a.place((k+1)*cl.period, end-start)
		}
		edits := l.a.edits(k*cl.period, (k+1)*cl.period, end-start, times*cl.period)
		if one := allowed(cl.period, l.f.opt.EditPercent); edits > one || to <= at {
			cl.edited = cl.edited[:n]
			return false
		}
		cl.edited = append(cl.edited, Span{int32(start + at), int32(start + to), int32(edits)})
		at = to
	}
	l.left[c] -= total
	l.taken = cl.edited[n:]
	for range times {
		l.journal = append(l.journal, c)
	}
	for k := range times {
		for _, p := range cl.inside {
			l.inner(p, k*cl.period+int(p.offset), start, end-start, times*cl.period)
		}
	}
	return true
}

// cutOff reports whether the last alignment misses the first or last symbols because the input starts or ends there: a repetition that
// was not recorded whole is none.
func (l *chainer) cutOff(start, end, wordEnd int) bool {
	matched := slices.DeleteFunc(slices.Clone(l.a.snakes), func(s snake) bool { return s.n == 0 })
	if len(matched) == 0 {
		return true
	}
	last := matched[len(matched)-1]
	return start == 0 && matched[0].y > 0 || end == len(l.f.in) && last.y+last.n < wordEnd
}

// partial reports whether all edits of the last alignment are at the start of the input, or all at its end, or more than a few in a
// repetition that stands there: what was not recorded whole looks like that, where symbols beside it fit by chance.
func (l *chainer) partial(start, end, wordEnd, edits int) bool {
	slack := l.limit(wordEnd, 1)
	first := l.a.edits(0, min(2*edits, wordEnd), end-start, wordEnd)
	last := l.a.edits(max(0, wordEnd-2*edits), wordEnd, end-start, wordEnd)
	atStart, atEnd := start <= slack, end >= len(l.f.in)-slack
	return edits > 0 && (atStart && first == edits || atEnd && last == edits || (atStart || atEnd) && edits > 2*few(wordEnd))
}

// inner enters a class inside an edited repetition, unless it is known there already.
func (l *chainer) inner(p place, y, start, length, wordEnd int) {
	cl := l.f.classes[p.class]
	from, to := l.a.place(y, length), length
	if y+cl.period < wordEnd {
		to = l.a.place(y+cl.period, length)
	}
	if to <= from {
		return
	}
	s := Span{int32(start + from), int32(start + to), int32(l.a.edits(y, y+cl.period, length, wordEnd))}
	if int(s.Edits) > max(allowed(cl.period, l.f.opt.EditPercent), min(cl.period/innerPart, innerEdits)) {
		var ok bool
		if s, ok = l.shrunk(s, p.class); !ok {
			return
		}
	}
	if overlapsBlocks(cl, s) {
		return
	}
	cl.edited = append(cl.edited, s)
	l.journal = append(l.journal, p.class)
}

// shrunk is the repetition without edits at either end of a span: what an outer repetition has more may stand beside an inner one.
func (l *chainer) shrunk(s Span, c int32) (Span, bool) {
	word := l.f.flatten(c)
	n := int32(len(word))
	if n > s.End-s.Start {
		return s, false
	}
	for _, at := range []int32{s.Start, s.End - n} {
		if slices.Equal(l.f.in[at:at+n], word) {
			return Span{Start: at, End: at + n}, true
		}
	}
	return s, false
}

func overlapsBlocks(cl *class, s Span) bool {
	i := sort.Search(len(cl.blocks), func(i int) bool { b := cl.blocks[i]; return b.start+b.count*int32(cl.period) > s.Start })
	return i < len(cl.blocks) && cl.blocks[i].start < s.End
}
