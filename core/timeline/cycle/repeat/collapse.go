package repeat

import (
	"math"
	"slices"
)

// maxRounds bounds how often the sequence is collapsed. Small repetitions inside a layer take rounds of their own.
const maxRounds = 8

// sequence is the input after some rounds: tokens, and where each starts in the input.
type sequence struct {
	t     []uint32
	pos   []int32 // nil while tokens are symbols
	edits []int32 // inside of each token; nil where there are none
	n     int     // symbols of the input
}

// edited is the number of edits inside of tokens [i, j).
func (s *sequence) edited(i, j int) int {
	sum := 0
	if s.edits != nil {
		for _, e := range s.edits[i:j] {
			sum += int(e)
		}
	}
	return sum
}

func (s *sequence) at(i int) int {
	switch {
	case s.pos == nil:
		return i
	case i == len(s.t):
		return s.n
	}
	return int(s.pos[i])
}

// rounds finds classes from the inside out, and returns how long the description is that they give (describe.go).
func (f *finder) rounds(s *sequence, round, choices int) float64 {
	for ; round < maxRounds; round++ {
		runs, limited := findRuns(s.t, round, f.canceled)
		f.limited = f.limited || limited
		if len(runs) == 0 || f.canceled() {
			break
		}
		cut, ok := f.chooseCut(s, runs)
		if !ok {
			next := f.collapse(s, runs)
			if len(next.t) >= len(s.t) {
				break
			}
			s = next
			continue
		}
		if choices == 0 {
			break
		}
		// Both ways are followed to the end, and the shorter description wins.
		whole, pieces := f.clone(), f.clone()
		long := whole.rounds(whole.collapse(s, runs), round+1, choices-1)
		short := pieces.rounds(pieces.cutAt(s, cut), round+1, choices-1)
		if short <= long+cut.benefit {
			*f = *pieces
			return short
		}
		*f = *whole
		return long
	}
	return f.described(s)
}

// group is the runs of one class in one round.
type group struct {
	class  int32
	fresh  bool // seen in this round first
	period int
	runs   []int // indices
	canon  []int // for each run: where the canonical rotation starts, from the run's start
}

// collapse replaces every repetition by a token of its class.
func (f *finder) collapse(s *sequence, runs []run) *sequence {
	groups, of := f.group(s, runs)
	offsets := make([]int, len(runs)) // of the first repetition from the run's start
	for gi := range groups {
		f.chooseRotation(s, runs, &groups[gi], offsets)
	}
	c := collapser{f: f, s: s, heads: f.heads(groups)}
	done := 0
	for i, r := range runs {
		p := r.period
		first := r.start + offsets[i]
		for first < done {
			first += p
		}
		count := (r.end - first) / p
		if count <= 0 {
			continue
		}
		c.loose(done, first)
		c.emit(groups[of[i]].class, first, count)
		done = first + count*p
	}
	c.loose(done, len(s.t))
	return c.sequence()
}

// group finds the class of every run; a class that is new gets its word when its rotation is chosen.
func (f *finder) group(s *sequence, runs []run) ([]group, []int) {
	var groups []group
	at := map[int32]int{}
	of := make([]int, len(runs))
	var keys []uint64
	var last []uint32
	lastClass, lastCanon := int32(-1), 0
	for i, r := range runs {
		w := s.t[r.start : r.start+r.period]
		if lastClass < 0 || !slices.Equal(w, last) {
			keys = keys[:0]
			for _, t := range w {
				keys = append(keys, uint64(t))
			}
			lastCanon = leastRotation(keys)
			lastClass = f.classOf(w, lastCanon, hashFrom(keys, lastCanon))
			last = w
		}
		gi, ok := at[lastClass]
		if !ok {
			gi = len(groups)
			at[lastClass] = gi
			groups = append(groups, group{class: lastClass, fresh: len(f.classes[lastClass].blocks) == 0, period: r.period})
		}
		groups[gi].runs = append(groups[gi].runs, i)
		groups[gi].canon = append(groups[gi].canon, lastCanon)
		of[i] = gi
	}
	return groups, of
}

// classOf returns the class whose canonical rotation is w from canon on, and makes it where there is none.
func (f *finder) classOf(w []uint32, canon int, hash uint64) int32 {
	for _, c := range f.byKey[hash] {
		if len(f.classes[c].word) == len(w) {
			return c
		}
	}
	word := append(append(make([]uint32, 0, len(w)), w[canon:]...), w[:canon]...)
	return f.addClass(word, hash)
}

func (f *finder) addClass(word []uint32, hash uint64) int32 {
	cl := &class{word: word, height: 1}
	for _, t := range word {
		cl.period += f.size(t)
		if t >= f.base {
			cl.height = max(cl.height, 1+f.classes[f.nodes[t-f.base].class].height)
		}
	}
	c := int32(len(f.classes))
	f.classes = append(f.classes, cl)
	f.byKey[hash] = append(f.byKey[hash], c)
	return c
}

// chooseRotation picks one rotation for all runs of a class and says where the first repetition of each run starts.
func (f *finder) chooseRotation(s *sequence, runs []run, g *group, offsets []int) {
	p := g.period
	cl := f.classes[g.class]
	phase := 0 // of the border, counted from the canonical rotation
	if g.fresh {
		cl.word = append(append(make([]uint32, 0, p), cl.word[p-cl.rotation:]...), cl.word[:p-cl.rotation]...)
		cl.flat, cl.inside = nil, nil
		phase = f.vote(s, runs, g)
		cl.word = append(append(make([]uint32, 0, p), cl.word[phase:]...), cl.word[:phase]...)
		cl.rotation = phase
	} else {
		phase = cl.rotation
	}
	for k, i := range g.runs {
		offsets[i] = (g.canon[k] + phase) % p
	}
}

// vote returns the rotation that puts the most symbols into repetitions, in tokens from the canonical one.
func (f *finder) vote(s *sequence, runs []run, g *group) int {
	b := f.newBallot(s, runs, g)
	for k := range g.runs {
		if h, ok := b.between(k); ok {
			b.gaps.add(h, s.at(b.end(k)))
		}
	}
	for k := 0; k < len(g.runs); {
		k = b.chain(k)
	}
	return b.winner()
}

// ballot counts how many symbols each rotation of a class puts into repetitions.
type ballot struct {
	f       *finder
	s       *sequence
	runs    []run
	g       *group
	p       int
	period  int   // symbols
	offsets []int // of each token of the canonical rotation, in symbols
	diff    []int // of votes, from one rotation to the next
	flat    []uint32
	want    []uint32
	a       aligner
	gaps    stretches // short ones between runs
}

func (f *finder) newBallot(s *sequence, runs []run, g *group) *ballot {
	cl := f.classes[g.class]
	b := &ballot{f: f, s: s, runs: runs, g: g, p: g.period, period: cl.period, diff: make([]int, g.period+1)}
	if s.pos != nil {
		at := 0
		for _, t := range cl.word {
			b.offsets = append(b.offsets, at)
			at += f.size(t)
		}
	}
	return b
}

// offset is where a token of the canonical rotation starts, in symbols.
func (b *ballot) offset(token int) int {
	if b.offsets == nil {
		return token
	}
	return b.offsets[token]
}

// phase is where in the canonical rotation a run starts.
func (b *ballot) phase(k int) int { return (b.p - b.g.canon[k]) % b.p }

// chain lets run k vote together with those after it that go on where it ends but for a few edits, and returns the next one.
func (b *ballot) chain(k int) int {
	first, last := k, k
	slack := max(min(3, b.period/4), b.period*max(0, b.f.opt.EditPercent)/100)
	length := b.nominal(k) // in symbols, as if nothing had been edited
	for last+1 < len(b.g.runs) {
		next := last + 1
		gap := b.s.at(b.start(next)) - b.s.at(b.end(last))
		real := length + gap
		wanted := b.offset(b.phase(next)) - b.offset(b.phase(first))
		off := ((real-wanted)%b.period + b.period) % b.period
		if off > b.period/2 {
			off -= b.period
		}
		if gap < 0 || gap > 2*b.period || max(off, -off) > slack || !b.inEdits(last, next, gap-off, slack) {
			break
		}
		length = real - off + b.nominal(next)
		last = next
	}
	b.cast(first, length)
	b.conflict(last)
	return last + 1
}

// between hashes what lies between run k and the next, if that is short enough to be edits.
func (b *ballot) between(k int) (h uint64, ok bool) {
	if k+1 >= len(b.g.runs) {
		return 0, false
	}
	from, to := b.end(k), b.start(k+1)
	if to < from || b.s.at(to)-b.s.at(from) > 2*b.period {
		return 0, false
	}
	for _, t := range b.s.t[from:to] {
		h = mix(h ^ uint64(t))
	}
	return h, true
}

// nominal is the length of a run in symbols without edits.
func (b *ballot) nominal(k int) int {
	length := b.end(k) - b.start(k)
	from, rest := b.phase(k), length%b.p
	n := length / b.p * b.period
	if rest > 0 {
		n += (b.offset((from+rest)%b.p) - b.offset(from) + b.period) % b.period
	}
	return n
}

// inEdits reports whether what lies between two runs is what the class would have there, but for a few edits.
func (b *ballot) inEdits(k, next, length, slack int) bool {
	from, to := b.s.at(b.end(k)), b.s.at(b.start(next))
	h, ok := b.between(k)
	if !ok || length < 0 || b.gaps.recur(h) {
		return false
	}
	if b.flat == nil {
		b.flat = b.f.flatWord(b.g.class)
		b.a.budget = alignPerSymbol*len(b.f.in) + 1<<18
	}
	at := b.offset((b.phase(k) + b.end(k) - b.start(k)) % b.p)
	b.want = b.want[:0]
	for i := range length {
		b.want = append(b.want, b.flat[(at+i)%b.period])
	}
	if len(b.want) == 0 {
		return to-from <= slack
	}
	_, ok = b.a.align(b.f.in[from:to], b.want, 1, min(2*slack, maxEdits), false)
	return ok
}

func (b *ballot) start(k int) int { return b.runs[b.g.runs[k]].start }
func (b *ballot) end(k int) int   { return b.runs[b.g.runs[k]].end }

// cast votes for the rotations that give a stretch of a length one repetition more than the others.
func (b *ballot) cast(k, length int) {
	from, spare := b.phase(k), length%b.period
	n := 1 // rotations
	if b.offsets == nil {
		n = spare + 1
	} else {
		for n < b.p && (b.offset((from+n)%b.p)-b.offset(from)+b.period)%b.period <= spare {
			n++
		}
	}
	b.add(from, min(n, b.p), b.period)
}

// add gives n rotations votes.
func (b *ballot) add(from, n, votes int) {
	b.diff[from] += votes
	if to := from + n; to <= b.p {
		b.diff[to] -= votes
	} else {
		b.diff[b.p] -= votes
		b.diff[0] += votes
		b.diff[to-b.p] -= votes
	}
}

// conflict takes votes from the rotations that cost the run after this one a repetition, because they reach into it.
func (b *ballot) conflict(k int) {
	i := b.g.runs[k]
	if i+1 == len(b.runs) {
		return
	}
	r, next := b.runs[i], b.runs[i+1]
	spare := (r.end - r.start) % b.p
	free := next.start - (r.end - spare) // rotations up to this one do not reach into it
	length := next.end - next.start
	period := b.s.at(next.start+next.period) - b.s.at(next.start)
	for o := max(1, free+1); o <= spare; o++ {
		if lost := length/next.period - max(0, length-(o-free))/next.period; lost > 0 {
			b.add((b.phase(k)+o)%b.p, 1, -lost*period)
		}
	}
}

// winner is the rotation with the most votes.
func (b *ballot) winner() int {
	votes := make([]int, b.p)
	best, sum := math.MinInt, 0
	for i := range b.p {
		sum += b.diff[i]
		votes[i] = sum
		best = max(best, sum)
	}
	var tied []int
	start := b.phase(0)
	for d := range b.p { // in the order of the first run
		if q := (start + d) % b.p; votes[q] == best {
			tied = append(tied, q)
		}
	}
	if len(tied) == 1 || b.f.opt.Weight == nil {
		return tied[0]
	}
	return b.f.heaviest(b.s, b.runs, b.g, tied)
}

// clearly is how many times the weight of the first rotation another one needs.
const clearly = 3

// heaviest returns the phase with the largest weight in front of its borders, the first one unless another is clearly heavier.
func (f *finder) heaviest(s *sequence, runs []run, g *group, tied []int) int {
	p := g.period
	budget := max(4, 1<<20/len(tied)) // borders to look at for each phase
	stride := max(1, len(g.runs)/budget)
	best, heaviest, first := tied[0], int64(-1), int64(-1)
	for _, phase := range tied {
		var sum int64
		left := budget
		for k := 0; k < len(g.runs) && left > 0; k += stride {
			r := runs[g.runs[k]]
			for b := r.start + (g.canon[k]+phase)%p; b+p <= r.end && left > 0; b += p {
				sum += f.opt.Weight(s.at(b))
				left--
			}
		}
		if heaviest < 0 || sum > clearly*first && sum > heaviest {
			best, heaviest = phase, sum
		}
		if first < 0 {
			first = sum
		}
	}
	return best
}

// heads are the beginnings of words, to find single repetitions outside of runs.
func (f *finder) heads(groups []group) map[uint64][]int32 {
	heads := map[uint64][]int32{}
	for i := range groups {
		c := groups[i].class
		w := f.classes[c].word
		if len(w) >= 4 || slices.ContainsFunc(w, func(t uint32) bool { return t >= f.base }) && len(w) > 1 {
			h := headHash(w)
			heads[h] = append(heads[h], c)
		}
	}
	return heads
}

func headHash(w []uint32) uint64 { return mix(uint64(w[0])<<32 | uint64(w[1])) }

type collapser struct {
	f       *finder
	s       *sequence
	heads   map[uint64][]int32
	out     []uint32
	pos     []int32
	edits   []int32
	end     int // of what was written last, in symbols
	emitted []int32
	seen    map[int32]bool
}

// sequence is what was written, with edited repetitions put where they belong.
func (c *collapser) sequence() *sequence {
	s := &sequence{t: c.out, pos: c.pos, edits: c.edits, n: c.s.n}
	return c.f.mend(s, c.emitted)
}

// write adds a token.
func (c *collapser) write(t uint32, start, end, edits int) {
	c.out = append(c.out, t)
	c.pos = append(c.pos, int32(start))
	if edits > 0 && c.edits == nil {
		c.edits = make([]int32, len(c.out)-1, cap(c.out))
	}
	if c.edits != nil {
		c.edits = append(c.edits, int32(edits))
	}
	c.end = end
}

// join writes count repetitions of a class; where they follow others of it, they join them.
func (c *collapser) join(cl int32, count, start, end, edits int) {
	f := c.f
	if k := len(c.out) - 1; k >= 0 && c.end == start && c.out[k] >= f.base {
		if n := f.nodes[c.out[k]-f.base]; n.class == cl {
			at, more := int(c.pos[k]), edits
			if c.edits != nil {
				more += int(c.edits[k])
				c.edits = c.edits[:k]
			}
			c.out, c.pos = c.out[:k], c.pos[:k]
			c.write(f.token(cl, n.count+int32(count)), at, end, more)
			return
		}
	}
	c.write(f.token(cl, int32(count)), start, end, edits)
}

// loose copies tokens outside of runs, and collapses single repetitions of known classes among them.
func (c *collapser) loose(from, to int) {
	t := c.s.t
	for i := from; i < to; {
		if cl, ok := c.single(i, to); ok {
			c.emit(cl, i, 1)
			i += len(c.f.classes[cl].word)
			continue
		}
		c.write(t[i], c.s.at(i), c.s.at(i+1), c.s.edited(i, i+1))
		i++
	}
}

func (c *collapser) single(i, to int) (int32, bool) {
	if len(c.heads) == 0 || to-i < 2 {
		return 0, false
	}
	t := c.s.t
	for _, cl := range c.heads[headHash(t[i:])] {
		w := c.f.classes[cl].word
		if i+len(w) <= to && equal(w, t[i:i+len(w)]) {
			return cl, true
		}
	}
	return 0, false
}

// emit writes count repetitions that start at token i.
func (c *collapser) emit(cl int32, i, count int) {
	s, class := c.s, c.f.classes[cl]
	if !c.seen[cl] {
		if c.seen == nil {
			c.seen = map[int32]bool{}
		}
		c.seen[cl] = true
		c.emitted = append(c.emitted, cl)
	}
	p := len(class.word)
	if s.edits == nil {
		class.blocks = append(class.blocks, block{int32(s.at(i)), int32(count)})
		c.join(cl, count, s.at(i), s.at(i+count*p), 0)
		return
	}
	for k := range count {
		a, b := i+k*p, i+(k+1)*p
		edits := s.edited(a, b)
		if edits == 0 {
			class.addBlock(s.at(a))
		} else {
			class.edited = append(class.edited, Span{int32(s.at(a)), int32(s.at(b)), int32(edits)})
		}
		c.join(cl, 1, s.at(a), s.at(b), edits)
	}
}

// addBlock enters an exact repetition.
func (c *class) addBlock(start int) {
	if k := len(c.blocks) - 1; k >= 0 {
		if b := &c.blocks[k]; int(b.start)+int(b.count)*c.period == start {
			b.count++
			return
		}
	}
	c.blocks = append(c.blocks, block{int32(start), 1})
}
