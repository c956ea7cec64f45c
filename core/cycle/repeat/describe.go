package repeat

import (
	"maps"
	"math"
	"math/bits"
	"slices"
)

// Where there is a choice of what repeats, the shorter description is the better one: a word for each class, and the sequence in tokens.

// described returns the length in bits of the description: the sequence and the words of all classes that it is made of, each token by
// how rare it is, and what each token stands for.
func (f *finder) described(s *sequence) float64 {
	counts := make([]int32, int(f.base)+len(f.nodes))
	total := 0
	tally := func(tokens []uint32) {
		total += len(tokens)
		for _, t := range tokens {
			counts[t]++
		}
	}
	tally(s.t)
	used := make([]bool, len(f.classes))
	sum := f.mended
	classes := math.Log2(float64(max(2, len(f.classes))))
	for n := len(f.nodes) - 1; n >= 0; n-- { // a node is made after those inside of its class
		if counts[int(f.base)+n] == 0 {
			continue
		}
		sum += classes + bitsOfNumber(int(f.nodes[n].count))
		if c := f.nodes[n].class; !used[c] {
			used[c] = true
			sum += bitsOfNumber(len(f.classes[c].word))
			tally(f.classes[c].word)
		}
	}
	all := math.Log2(float64(max(1, total)))
	for t, n := range counts {
		if n > 0 {
			sum += float64(n) * (all - math.Log2(float64(n)))
			if t < int(f.base) {
				sum += math.Log2(float64(f.base))
			}
		}
	}
	return sum
}

// bitsOfNumber is the length of Elias' gamma code.
func bitsOfNumber(n int) float64 { return float64(2*bits.Len(uint(max(1, n))) - 1) }

// clone returns a finder that goes on from here without changing f.
func (f *finder) clone() *finder {
	out := *f
	out.nodes = slices.Clip(f.nodes)
	out.nodeIDs = maps.Clone(f.nodeIDs)
	out.byKey = make(map[uint64][]int32, len(f.byKey))
	for k, v := range f.byKey {
		out.byKey[k] = slices.Clip(v)
	}
	out.classes = make([]*class, len(f.classes))
	for i, c := range f.classes {
		cl := *c
		cl.blocks, cl.edited = slices.Clone(c.blocks), slices.Clip(c.edited)
		out.classes[i] = &cl
	}
	return &out
}
