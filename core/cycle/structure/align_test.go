package structure

import (
	"math/rand/v2"
	"testing"
)

// common is the slow obvious twin: the length of a longest common subsequence.
func common(a, b []uint32) int {
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			best[i+1][j+1] = max(best[i][j+1], best[i+1][j])
			if a[i] == b[j] {
				best[i+1][j+1] = max(best[i+1][j+1], best[i][j]+1)
			}
		}
	}
	return best[len(a)][len(b)]
}

func TestSegmentsShareAsMuchAsPossible(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() []uint32 {
		out := make([]uint32, r.IntN(30))
		for i := range out {
			out[i] = uint32(r.IntN(5))
		}
		return out
	}
	for range 2000 {
		a, b := word(), word()
		shared, x, y := 0, int32(0), int32(0)
		for _, s := range Align(a, b, 100) {
			if s.Off < x || s.Slot < y {
				t.Fatalf("%v overlaps or goes back", s)
			}
			for i := range s.N {
				if a[s.Off+i] != b[s.Slot+i] {
					t.Fatalf("%v pairs different symbols of %v and %v", s, a, b)
				}
			}
			x, y = s.Off+s.N, s.Slot+s.N
			shared += int(s.N)
		}
		if want := common(a, b); shared != want {
			t.Fatalf("%v and %v share %d, not %d", a, b, shared, want)
		}
	}
}

func TestSegmentsBeyondTheLimitAreTheEnds(t *testing.T) {
	a, b := []uint32{1, 2, 9, 9, 9, 9, 3}, []uint32{1, 2, 7, 7, 7, 7, 3}
	got := Align(a, b, 2)
	if len(got) != 2 || got[0] != (Segment{0, 0, 2}) || got[1] != (Segment{6, 6, 1}) {
		t.Errorf("%v", got)
	}
	if n := Edits(got, len(a), len(b)); n != 4 {
		t.Errorf("%d edits, not 4", n)
	}
}
