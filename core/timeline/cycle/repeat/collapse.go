package repeat

import "slices"

// maxRounds bounds how often the sequence is collapsed. Small repetitions inside a layer take rounds of their own.
const maxRounds = 8

// sequence is the input after some rounds: tokens, and where each starts in the input.
type sequence struct {
	t   []uint32
	pos []int32 // nil while tokens are symbols
	n   int     // symbols of the input
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

// rounds finds classes from the inside out.
func (f *finder) rounds() {
	s := &sequence{t: f.in, n: len(f.in)}
	for round := range maxRounds {
		runs, limited := findRuns(s.t, round, f.canceled)
		f.limited = f.limited || limited
		if len(runs) == 0 || f.canceled() {
			return
		}
		var next *sequence
		if cut, ok := f.chooseCut(s, runs); ok {
			next = f.cutAt(s, cut)
		} else {
			next = f.collapse(s, runs)
		}
		if len(next.t) >= len(s.t) {
			return
		}
		s = next
	}
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
	return &sequence{t: c.out, pos: c.pos, n: s.n}
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

// vote returns the rotation with the most repetitions, in tokens from the canonical one.
func (f *finder) vote(s *sequence, runs []run, g *group) int {
	p := g.period
	diff := make([]int32, p+1)
	for k, i := range g.runs {
		from := (p - g.canon[k]) % p // phase of the run's start
		spare := (runs[i].end - runs[i].start) % p
		diff[from]++
		if to := from + spare + 1; to <= p {
			diff[to]--
		} else {
			diff[0]++
			diff[to-p]--
		}
	}
	votes := make([]int32, p)
	best, sum := int32(-1), int32(0)
	for i := range p {
		sum += diff[i]
		votes[i] = sum
		best = max(best, sum)
	}
	var tied []int
	start := (p - g.canon[0]) % p
	for d := range p { // in the order of the first run
		if q := (start + d) % p; votes[q] == best {
			tied = append(tied, q)
		}
	}
	if len(tied) == 1 || f.opt.Weight == nil {
		return tied[0]
	}
	return f.heaviest(s, runs, g, tied)
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
	f     *finder
	s     *sequence
	heads map[uint64][]int32
	out   []uint32
	pos   []int32
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
		c.out = append(c.out, t[i])
		c.pos = append(c.pos, int32(c.s.at(i)))
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

// emit writes count repetitions that start at token i; repetitions that follow others of the same class join them.
func (c *collapser) emit(cl int32, i, count int) {
	f := c.f
	start := int32(c.s.at(i))
	f.classes[cl].blocks = append(f.classes[cl].blocks, block{start, int32(count)})
	if k := len(c.out) - 1; k >= 0 && c.out[k] >= f.base {
		if n := f.nodes[c.out[k]-f.base]; n.class == cl && int(c.pos[k])+int(n.count)*f.classes[cl].period == int(start) {
			c.out[k] = f.token(cl, n.count+int32(count))
			return
		}
	}
	c.out = append(c.out, f.token(cl, int32(count)))
	c.pos = append(c.pos, start)
}
