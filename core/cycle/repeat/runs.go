package repeat

import (
	"math"
	"math/bits"
)

// run is a stretch [start, end) of tokens with a period, at least two periods long.
type run struct{ start, end, period int }

// runFinder goes once over tokens.
type runFinder struct {
	t        []uint32
	minMatch int  // tokens that must equal those one period before
	whole    bool // runs that fill the sequence need no more than three repetitions
	grams    []gram
	failed   [1 << 12]struct{ period, end int32 } // stretches that were looked at in vain
	covered  int
	work     int
	limited  bool
	out      []run
}

// gram is a table of where a group of k tokens was seen last. Tables have a fixed size, so that they stay near the processor however long
// the sequence is: groups push out others, and the table says what was seen not too long ago. What repeats over longer distances is
// found by a table that takes in few groups, picked by their hash.
type gram struct {
	k     int
	drop  uint64 // pow of the multiplier: takes the oldest token out of the hash
	hash  uint64 // of the tokens at the place the finder is at
	sieve uint64 // groups whose bits are not all 0 here are left out
	shift uint8
	last  []uint64 // check bits and index + 1
}

const (
	gramBits      = 18 // of a table of groups, at most
	leastGramBits = 8
	gramStep      = 0x9e3779b97f4a7c15 // of the rolling hash
)

func newGram(k, tokens int, sieve uint64) gram {
	size := min(gramBits, max(leastGramBits, bits.Len(uint(tokens))+1))
	g := gram{k: k, drop: 1, sieve: sieve, shift: uint8(64 - size), last: make([]uint64, 1<<size)}
	for range k {
		g.drop *= gramStep
	}
	return g
}

// start hashes the group at i from nothing.
func (g *gram) start(t []uint32, i int) {
	g.hash = 0
	for _, s := range t[i : i+g.k] {
		g.hash = g.hash*gramStep + uint64(s) + 1
	}
}

// next moves the hash from the group at i to the one after it.
func (g *gram) next(t []uint32, i int) {
	g.hash = g.hash*gramStep + uint64(t[i+g.k]) + 1 - (uint64(t[i])+1)*g.drop
}

// swap enters the group at i and returns where an equal one was before, or something less than 0.
func (g *gram) swap(i int) int {
	h := g.hash ^ g.hash>>32
	h *= 0xd6e8feb86659fd93
	if h&g.sieve != 0 {
		return -1
	}
	e := &g.last[h>>g.shift]
	was := *e
	check := h << 32
	*e = check | uint64(i+1)
	if was&^math.MaxUint32 != check {
		return -1
	}
	return int(uint32(was)) - 1
}

// minMatch is how many tokens in a row must equal those one period before, so that less than one such stretch in a thousand
// sequences is chance.
func minMatch(t []uint32) int {
	counts := map[uint32]int{}
	step := max(1, len(t)>>20)
	total := 0
	for i := 0; i < len(t); i += step {
		counts[t[i]]++
		total++
	}
	var squares uint64 // integers: the order of a map must not matter
	for _, c := range counts {
		squares += uint64(c) * uint64(c)
	}
	q := float64(squares) / (float64(total) * float64(total))
	q = min(q, mostAlike)
	return max(leastMatch, int(math.Ceil((math.Log(float64(len(t)))+chancePower)/-math.Log(q))))
}

func findRuns(t []uint32, round int, canceled func() bool) ([]run, bool) {
	if len(t) < leastTokens {
		return nil, false
	}
	ks := []int{4, 12}
	if round > 0 {
		ks = []int{2, 6}
	}
	r := &runFinder{t: t, minMatch: minMatch(t), whole: round > 0}
	for _, k := range ks {
		r.grams = append(r.grams, newGram(k, len(t), 0))
	}
	if extra := bits.Len(uint(len(t))) - gramBits; extra > 0 {
		r.grams = append(r.grams, newGram(ks[1], len(t), 1<<(extra+2)-1))
	}
	r.scan(canceled)
	return r.out, r.limited
}

func (r *runFinder) scan(canceled func() bool) {
	n := len(r.t)
	r.seek(0)
	for i := 0; i < n; i++ {
		if i&(1<<18-1) == 0 && canceled() {
			return
		}
		jumped := false
		for g := range r.grams {
			gr := &r.grams[g]
			if i+gr.k > n {
				continue
			}
			j := gr.swap(i)
			if j < r.covered || jumped || !equal(r.t[j:j+gr.k], r.t[i:i+gr.k]) {
				continue
			}
			jumped = r.try(i, i-j, gr.k)
		}
		if jumped {
			r.seek(i + 1)
			i = r.remember(i+1) - 1
			continue
		}
		r.advance(i)
	}
}

// seek puts all hashes to the groups at i.
func (r *runFinder) seek(i int) {
	for g := range r.grams {
		if gr := &r.grams[g]; i+gr.k <= len(r.t) {
			gr.start(r.t, i)
		}
	}
}

// advance moves all hashes from i to i + 1.
func (r *runFinder) advance(i int) {
	for g := range r.grams {
		if gr := &r.grams[g]; i+gr.k < len(r.t) {
			gr.next(r.t, i)
		}
	}
}

// remember skips a run that was found, enters its last groups, and returns where to go on.
func (r *runFinder) remember(from int) int {
	if r.covered <= from {
		return from
	}
	last := r.out[len(r.out)-1]
	from = max(from, r.covered-last.period)
	r.seek(from)
	for i := from; i < r.covered; i++ {
		for g := range r.grams {
			if gr := &r.grams[g]; i+gr.k <= len(r.t) {
				gr.swap(i)
			}
		}
		r.advance(i)
	}
	return r.covered
}

func equal(a, b []uint32) bool {
	for i, x := range a {
		if x != b[i] {
			return false
		}
	}
	return true
}

// try extends the match of the k tokens at i with those one period before and keeps it when it is a run.
func (r *runFinder) try(i, period, k int) bool {
	f := &r.failed[period&(len(r.failed)-1)]
	if int(f.period) == period && i < int(f.end) {
		return false
	}
	if r.work > workPerToken*len(r.t) {
		r.limited = true
		return false
	}
	t := r.t
	left, right := i, i+k
	for left-1-period >= r.covered && t[left-1] == t[left-1-period] {
		left--
	}
	for right < len(t) && t[right] == t[right-period] {
		right++
	}
	start := left - period
	matched, length := right-left, right-start
	enough := matched >= r.minMatch || (r.whole && length >= wholePeriods*period && 100*length >= wholePercent*len(t))
	if matched < period || !enough {
		r.work += matched
		f.period, f.end = int32(period), int32(right)
		return false
	}
	period = primitive(t[start : start+period])
	r.out = append(r.out, run{start, right, period})
	r.covered = right - length%period
	return true
}
