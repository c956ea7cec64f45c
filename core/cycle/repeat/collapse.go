package repeat

import "slices"

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
		if len(runs) == 0 && round == 0 || f.canceled() {
			break
		}
		cut, ok := f.chooseCut(s, runs)
		if !ok {
			if len(runs) == 0 {
				break
			}
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
		long := 0.0
		if len(runs) == 0 {
			long = whole.described(s)
		} else {
			long = whole.rounds(whole.collapse(s, runs), round+1, choices-1)
		}
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
	left := len(s.t)
	for _, r := range runs {
		left -= (r.end-r.start)/r.period*r.period - 1
	}
	c.grow(left)
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

// heads are the beginnings of words, to find single repetitions outside of runs.
func (f *finder) heads(groups []group) map[uint64][]int32 {
	heads := map[uint64][]int32{}
	for i := range groups {
		c := groups[i].class
		w := f.classes[c].word
		if len(w) >= leastHead || slices.ContainsFunc(w, func(t uint32) bool { return t >= f.base }) && len(w) > 1 {
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

// grow makes room for tokens.
func (c *collapser) grow(n int) {
	c.out, c.pos = make([]uint32, 0, max(0, n)), make([]int32, 0, max(0, n))
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
