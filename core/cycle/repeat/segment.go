package repeat

import (
	"cmp"
	"slices"
)

// Steps of several kinds in no fixed order: the sequence is cut in front of one token that every kind starts with. A cut is good when
// almost everything lies between cuts that recur, and there are few different ones.

// chooseCut returns a cut that may explain more than the runs do.
func (f *finder) chooseCut(s *sequence, runs []run) (*cut, bool) {
	enough := 2 * minSegment // symbols that runs leave over
	if s.pos == nil {
		enough = s.n / leftPart
	}
	if s.n-explained(s, runs) <= enough {
		return nil, false
	}
	var best *cut
	for _, t := range f.cutCandidates(s, runs) {
		if f.canceled() {
			return nil, false
		}
		if sample := s.sample(sampleTokens); sample != nil {
			c, nested := f.cutSequence(sample, t)
			if nested || len(c.pieces) >= samplePieces && 100*c.covered < samplePercent*(sample.at(len(sample.t))-sample.at(0)) {
				continue
			}
		}
		c := f.tryCut(s, t)
		if c != nil && 100*c.covered >= cutPercent*s.n && (best == nil || c.better(best)) {
			best = c
		}
	}
	if best == nil {
		return nil, false
	}
	if best.periodic(s.pos == nil, f.canceled) && s.pos == nil {
		return nil, false
	}
	return best, true
}

// explained is how many symbols the runs of one class explain.
func explained(s *sequence, runs []run) int {
	covered := map[uint64]int{}
	most := 0
	for _, r := range runs {
		var sum uint64 // the same for every rotation
		for _, t := range s.t[r.start : r.start+r.period] {
			sum += mix(uint64(t))
		}
		covered[sum] += s.at(r.start+(r.end-r.start)/r.period*r.period) - s.at(r.start)
		most = max(most, covered[sum])
	}
	return most
}

// periodic reports whether the kinds come in a fixed order: the pieces are then parts of a step, and the step itself has a period.
// Only where most of it stands beside others of its kind, as decode steps do, are they steps of a loop; pieces of single symbols are
// better explained by what repeats inside of them even then.
func (c *cut) periodic(single bool, canceled func() bool) bool {
	ids := map[uint64]uint32{}
	order := make([]uint32, 0, len(c.pieces))
	for _, p := range c.pieces {
		id, ok := ids[p.hash]
		if !ok {
			id = uint32(len(ids))
			ids[p.hash] = id
		}
		order = append(order, id)
	}
	beside, all := 0, 0 // symbols
	for i, id := range order {
		size := c.kinds[c.pieces[i].hash].symbols
		all += size
		if i > 0 && order[i-1] == id || i+1 < len(order) && order[i+1] == id {
			beside += size
		}
	}
	if !single {
		// Saying what is a step costs a name for each kind, and is worth it, the more the more of them stand beside their like.
		c.benefit = kindBits * float64(c.recur) * min(1, float64(100*beside)/float64(besidePercent*max(1, all)))
		if 100*beside >= besidePercent*all {
			return false
		}
	}
	runs := order[:0:0]
	for i, id := range order { // counts of neighbours that are equal, as symbols
		n := uint32(len(ids))
		for k := i; k < len(order) && (k == i || order[k] == order[k-1]) && order[k] == id; k++ {
			n++
		}
		if i == 0 || order[i-1] != id {
			runs = append(runs, id, n)
		}
	}
	found, _ := findRuns(runs, 1, canceled)
	covered := 0
	for _, r := range found {
		covered += r.end - r.start
	}
	return 100*covered >= orderPercent*len(runs)
}

// cutCandidates are the most frequent tokens that occur once in the word of a run, or, above single symbols, that occur there at all, in
// order of frequency and first occurrence. Where there are no runs, all symbols are.
func (f *finder) cutCandidates(s *sequence, runs []run) []uint32 {
	may := make([]bool, int(f.base)+len(f.nodes))
	var out []uint32
	admit := func(t uint32) {
		if !may[t] {
			may[t] = true
			out = append(out, t)
		}
	}
	var last []uint32
	words := 0
	for _, r := range runs {
		w := s.t[r.start : r.start+r.period]
		if slices.Equal(w, last) {
			continue
		}
		last = w
		if words++; words > wordsOfKinds*maxSegments {
			break
		}
		seen := map[uint32]int{}
		for _, t := range w {
			seen[t]++
		}
		for _, t := range w {
			if seen[t] == 1 || s.pos != nil && t < f.base {
				admit(t)
			}
		}
	}
	if len(runs) == 0 {
		for _, t := range s.t { // above single symbols all tokens are: requests may start with a kind of steps
			if t < f.base || s.pos != nil {
				admit(t)
			}
		}
	}
	count, first := make([]int32, len(may)), make([]int32, len(may))
	for i, t := range s.t {
		if may[t] {
			if count[t] == 0 {
				first[t] = int32(i)
			}
			count[t]++
		}
	}
	slices.SortFunc(out, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(first[a], first[b]))
	})
	return out[:min(len(out), maxCuts)]
}

// cut is what cutting at a token gives.
type cut struct {
	at      uint32
	benefit float64 // bits by which the description may be longer
	pieces  []piece // in order; they fill the sequence from the first cut on
	kinds   map[uint64]*kind
	covered int // symbols in pieces that recur
	often   int // kinds that recur
	recur   int // those that are not part of another one
	mains   int // pieces of such kinds
	tokens  int // of those
	weight  int64
}

type piece struct {
	start, end int // tokens
	hash       uint64
}

type kind struct {
	count, tokens, symbols, first int
	often                         bool // enough not to be an edited other one
	main                          bool // and is no part of another one
}

func (c *cut) better(o *cut) bool {
	return cmp.Or(cmp.Compare(c.covered, o.covered), cmp.Compare(o.recur, c.recur), cmp.Compare(c.weight, o.weight)) > 0
}

// sample is the middle of a long sequence, nil for a short one: most candidates can be turned down by it.
func (s *sequence) sample(tokens int) *sequence {
	if len(s.t) < 2*tokens {
		return nil
	}
	from := (len(s.t) - tokens) / 2
	out := &sequence{t: s.t[from : from+tokens], n: s.at(from + tokens)}
	if s.pos != nil {
		out.pos = s.pos[from : from+tokens]
	} else {
		out.n = tokens
	}
	return out
}

// tryCut cuts at a token; nil where the pieces are no steps.
func (f *finder) tryCut(s *sequence, at uint32) *cut {
	c, nested := f.cutSequence(s, at)
	if nested || c.recur < 2 || c.recur > maxSegments || c.mains < mainPieces*c.recur {
		return nil
	}
	return c
}

func (f *finder) cutSequence(s *sequence, at uint32) (c *cut, nested bool) {
	c = &cut{at: at, kinds: map[uint64]*kind{}}
	start, pieces := -1, 0
	for _, t := range s.t {
		if t == at {
			pieces++
		}
	}
	c.pieces = make([]piece, 0, pieces)
	var h uint64
	flush := func(end int) {
		if start < 0 {
			return
		}
		c.pieces = append(c.pieces, piece{start, end, h})
		k := c.kinds[h]
		if k == nil {
			k = &kind{tokens: end - start, symbols: s.at(end) - s.at(start), first: start}
			c.kinds[h] = k
		}
		k.count++
		if f.opt.Weight != nil {
			c.weight += f.opt.Weight(s.at(start))
		}
	}
	for i, t := range s.t {
		if t == at {
			flush(i)
			start, h = i, 0
		}
		h = mix(h ^ uint64(t))
	}
	flush(len(s.t))
	c.recount(f, s)
	return c, c.often <= maxSegments && c.nested(s)
}

// recount finds the kinds that recur. One that is rare and has nothing that a much more frequent one has not is no kind.
func (c *cut) recount(f *finder, s *sequence) {
	least := (len(c.pieces) + rareShare - 1) / rareShare
	var often []*kind
	for _, k := range c.kinds {
		if k.often = k.count >= max(2, least) && k.symbols >= minSegment; k.often {
			often = append(often, k)
		}
	}
	c.often = len(often)
	for _, k := range c.kinds {
		if k.main = k.often || k.count > 2 && k.symbols >= minSegment; !k.main {
			continue
		}
		for _, o := range often {
			if len(often) <= maxSegments && rareTimes*k.count <= o.count && f.partOf(s, k, o) {
				k.main = false
				break
			}
		}
		if k.main {
			c.recur++
			c.covered += k.count * k.symbols
			c.mains += k.count
			c.tokens += k.count * k.tokens
		}
	}
}

// partOf reports whether a kind has no symbols but those of another one and a few more: it is a piece of that one, or that one edited.
func (f *finder) partOf(s *sequence, k, o *kind) bool {
	limit := allowed(o.symbols, f.opt.EditPercent)
	counts := map[uint32]int{}
	add := func(k *kind, sign int) {
		text := s.t[k.first : k.first+k.tokens]
		if s.pos != nil { // tokens stand for symbols: what one kind has as a layer another has with an edit
			text = f.in[s.at(k.first):s.at(k.first+k.tokens)]
		}
		for _, t := range text {
			counts[t] += sign
		}
	}
	add(k, 1)
	add(o, -1)
	more := 0
	for _, n := range counts {
		more += max(0, n)
	}
	return more <= limit
}

// nested reports whether a kind is another one with something put in between: the pieces are then layers, and the longer ones layers
// with the end of one step and the beginning of the next.
func (c *cut) nested(s *sequence) bool {
	var kinds []*kind
	for _, k := range c.kinds {
		if k.often {
			kinds = append(kinds, k)
		}
	}
	for _, k := range kinds {
		long := s.t[k.first : k.first+k.tokens]
		for _, o := range kinds {
			if o.tokens < k.tokens && within(s.t[o.first:o.first+o.tokens], long) {
				return true
			}
		}
	}
	return false
}

// within reports whether long is short with one piece inserted.
func within(short, long []uint32) bool {
	i, j := 0, 0
	for i < len(short) && short[i] == long[i] {
		i++
	}
	for j < len(short)-i && short[len(short)-1-j] == long[len(long)-1-j] {
		j++
	}
	return i+j == len(short)
}

// cutAt replaces every piece that recurs by a token of its class.
func (f *finder) cutAt(s *sequence, c *cut) *sequence {
	out := collapser{f: f, s: s}
	out.grow(len(s.t) - c.tokens + c.mains)
	done, height := 0, 0
	classes := map[uint64]int32{}
	for _, p := range c.pieces {
		if !c.kinds[p.hash].main {
			continue
		}
		cl, ok := classes[p.hash]
		if !ok {
			cl = f.pieceClass(s.t[p.start:p.end])
			classes[p.hash] = cl
			height = max(height, f.classes[cl].height)
		}
		out.loose(done, p.start)
		out.emit(cl, p.start, 1)
		done = p.end
	}
	out.loose(done, len(s.t))
	for _, cl := range classes { // kinds of one thing stand on one level
		f.classes[cl].height = height
		f.classes[cl].kind = true
	}
	return out.sequence()
}

func (f *finder) pieceClass(w []uint32) int32 {
	keys := make([]uint64, len(w))
	for i, t := range w {
		keys[i] = uint64(t)
	}
	canon := leastRotation(keys)
	hash := hashFrom(keys, canon)
	for _, c := range f.byKey[hash] {
		if slices.Equal(f.classes[c].word, w) {
			return c
		}
	}
	c := f.addClass(slices.Clone(w), hash)
	f.classes[c].rotation = (len(w) - canon) % len(w)
	return c
}
