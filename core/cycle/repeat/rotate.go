package repeat

import (
	"math"
	"slices"
)

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
	b.gaps.total = len(g.runs)
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
	slack := allowed(b.period, b.f.opt.EditPercent)
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
		if gap < 0 || gap > reach*b.period || max(off, -off) > slack || !b.inEdits(last, next, gap-off, slack) {
			break
		}
		length = real - off + b.nominal(next)
		last = next
	}
	phase := b.phase(first)
	if last+1 == len(b.g.runs) {
		length += b.beyond(b.end(last), phase, length)
	}
	if first == 0 {
		more := b.before(phase)
		length += more
		phase = b.back(phase, more)
	}
	b.cast(phase, length)
	b.conflict(last)
	return last + 1
}

// between hashes what lies between run k and the next, if that is short enough to be edits.
func (b *ballot) between(k int) (h uint64, ok bool) {
	if k+1 >= len(b.g.runs) {
		return 0, false
	}
	from, to := b.end(k), b.start(k+1)
	if to < from || b.s.at(to)-b.s.at(from) > reach*b.period {
		return 0, false
	}
	for _, t := range b.s.t[from:to] {
		h = mix(h ^ uint64(t))
	}
	return h, true
}

// beyond returns how far a class goes on after its last run to the end of the input, with edits; length is what it has had since phase.
func (b *ballot) beyond(end, phase, length int) int {
	text := b.f.in[b.s.at(end):]
	if len(text) == 0 || len(text) > reach*b.period {
		return 0
	}
	return b.edge(text, b.word((b.offset(phase)+length)%b.period))
}

// before returns how far a class goes back from its first run to the start of the input, with edits.
func (b *ballot) before(phase int) int {
	n := b.s.at(b.start(0))
	if n == 0 || n > reach*b.period {
		return 0
	}
	text := slices.Clone(b.f.in[:n])
	word := b.word(b.offset(phase))
	slices.Reverse(text)
	slices.Reverse(word)
	return b.edge(text, word)
}

// edge aligns all of a text with a word said again and again, and returns how much of that it is.
func (b *ballot) edge(text, word []uint32) int {
	slack := allowed(b.period, b.f.opt.EditPercent)
	want := make([]uint32, 0, len(text)+slack)
	for len(want) < len(text)+slack {
		want = append(want, word[:min(len(word), len(text)+slack-len(want))]...)
	}
	if used, ok := b.a.align(want, text, 1, min(2*slack, maxEdits), true); ok {
		return used
	}
	return 0
}

// word is the class from a symbol of its canonical rotation on.
func (b *ballot) word(at int) []uint32 {
	b.flatten()
	return append(append(make([]uint32, 0, b.period), b.flat[at:]...), b.flat[:at]...)
}

func (b *ballot) flatten() {
	if b.flat == nil {
		b.flat = b.f.flatWord(b.g.class)
		b.a.budget = alignPerSymbol*len(b.f.in) + 1<<18
	}
}

// back is the phase so many symbols before another one; within a token it is the next one's.
func (b *ballot) back(phase, symbols int) int {
	at := ((b.offset(phase)-symbols)%b.period + b.period) % b.period
	if b.offsets == nil {
		return at
	}
	i, _ := slices.BinarySearch(b.offsets, at)
	return i % b.p
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
	b.flatten()
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
func (b *ballot) cast(from, length int) {
	spare := length % b.period
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

// heaviest returns the phase with the largest weight in front of its borders, the first one unless another is clearly heavier.
func (f *finder) heaviest(s *sequence, runs []run, g *group, tied []int) int {
	p := g.period
	budget := max(leastBorders, weightBorders/len(tied)) // borders to look at for each phase
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
