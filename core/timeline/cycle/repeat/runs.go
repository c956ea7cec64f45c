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
	mask     uint32
	failed   [1 << 12]struct{ period, end int32 } // stretches that were looked at in vain
	covered  int
	work     int
	limited  bool
	out      []run
}

// gram is a table of where a group of k tokens was seen last.
type gram struct {
	k    int
	last []uint32 // index + 1
}

// workPerToken bounds the steps spent on stretches that turned out not to repeat.
const workPerToken = 24

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
	q = min(q, 0.8)
	return max(4, int(math.Ceil((math.Log(float64(len(t)))+7)/-math.Log(q))))
}

func findRuns(t []uint32, round int, canceled func() bool) ([]run, bool) {
	if len(t) < 4 {
		return nil, false
	}
	ks := []int{4, 12}
	if round > 0 {
		ks = []int{2, 6}
	}
	size := uint32(1) << min(22, max(8, bits.Len(uint(len(t)))+1))
	r := &runFinder{t: t, minMatch: minMatch(t), whole: round > 0, mask: size - 1}
	for _, k := range ks {
		r.grams = append(r.grams, gram{k, make([]uint32, size)})
	}
	r.scan(canceled)
	return r.out, r.limited
}

func (r *runFinder) slot(i, k int) uint32 {
	h := uint64(k)
	for _, s := range r.t[i : i+k] {
		h = (h ^ uint64(s)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return uint32(h>>32) & r.mask
}

func (r *runFinder) scan(canceled func() bool) {
	n := len(r.t)
	for i := 0; i < n; i++ {
		if i&(1<<18-1) == 0 && canceled() {
			return
		}
		jumped := false
		for g := range r.grams {
			gr := &r.grams[g]
			if i+gr.k > n {
				break
			}
			slot := r.slot(i, gr.k)
			j := int(gr.last[slot]) - 1
			gr.last[slot] = uint32(i + 1)
			if j < r.covered || jumped || !equal(r.t[j:j+gr.k], r.t[i:i+gr.k]) {
				continue
			}
			if r.try(i, i-j, gr.k) {
				jumped = true
			}
		}
		if jumped {
			r.remember(i+1, r.covered)
			i = max(i, r.covered-1)
		}
	}
}

// remember enters the last groups of a stretch that is skipped.
func (r *runFinder) remember(from, to int) {
	last := r.out[len(r.out)-1]
	from = max(from, to-last.period)
	for i := from; i < to; i++ {
		for g := range r.grams {
			if gr := &r.grams[g]; i+gr.k <= len(r.t) {
				gr.last[r.slot(i, gr.k)] = uint32(i + 1)
			}
		}
	}
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
	enough := matched >= r.minMatch || (r.whole && length >= 3*period && 10*length >= 8*len(t))
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
