package observe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
)

// reached are the leaves of a value as a plain walk finds them.
func reached(c code, v string) []string {
	seen, list := map[string]bool{v: true}, []string{v}
	var found []string
	for len(list) > 0 {
		s := c.Source(list[0])
		list = list[1:]
		inputs := append(slices.Clone(s.Inputs), s.Around...)
		if s.Same != nil {
			inputs = []string{*s.Same}
		} else if text, ends := leaf(s.Origin, s.Name, s.Lanes); ends {
			found, inputs = append(found, text), nil
		}
		for _, input := range inputs {
			if !seen[input] {
				seen[input] = true
				list = append(list, input)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Values are followed through circles, whichever of them is asked for first, and with more leaves than one word of bits has.
func TestLeavesAreThoseOfAPlainWalk(t *testing.T) {
	most := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(7, seed))
		c, n := code{}, 3+r.IntN(700)
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("v", i)
		}
		for i, name := range names {
			s := Source[string]{Origin: site.FromArith}
			switch r.IntN(4) {
			case 0:
				s = Source[string]{Origin: site.FromArgument, Name: fmt.Sprint("%", r.IntN(150))}
			case 1:
				s.Same = &names[r.IntN(n)]
			default:
				for range 1 + r.IntN(5) {
					s.Inputs = append(s.Inputs, names[max(0, i-1-r.IntN(40))])
				}
				if r.IntN(3) == 0 {
					s.Around = append(s.Around, names[r.IntN(n)])
				}
			}
			c[name] = s
		}
		h := NewHashes[string](c)
		for _, i := range r.Perm(n) {
			got, want := h.leaves([]string{names[i]}), reached(c, names[i])
			most = max(most, len(got))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, %s: %v, want %v", seed, names[i], got, want)
			}
		}
	}
	if most <= 64 {
		t.Errorf("%d leaves at most", most)
	}
}
