package combine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/straggler"
)

// TestFillPutsWorkWhereThereIsNone: compared with one that looks at every instant.
func TestFillPutsWorkWhereThereIsNone(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	list := func(name int32) (out []straggler.Work) {
		at := int64(0)
		for range rng.IntN(6) {
			at += rng.Int64N(5)
			to := at + 1 + rng.Int64N(6)
			out, at = append(out, straggler.Work{Name: name, FromNS: at, ToNS: to}), to
		}
		return out
	}
	at := func(list []straggler.Work, ns int64) int32 {
		for _, w := range list {
			if w.FromNS <= ns && ns < w.ToNS {
				return w.Name
			}
		}
		return -1
	}
	for range 2000 {
		base, more := list(1), list(2)
		got := fill(slices.Clone(base), more)
		for i := 1; i < len(got); i++ {
			if got[i].FromNS < got[i-1].ToNS || got[i].FromNS >= got[i].ToNS {
				t.Fatalf("%v and %v: %v", base, more, got)
			}
		}
		for ns := range int64(70) {
			want := at(base, ns)
			if want < 0 {
				want = at(more, ns)
			}
			if at(got, ns) != want {
				t.Fatalf("%v and %v at %d: %v", base, more, ns, got)
			}
		}
	}
}

// TestInnermostRangesAreWhatAThreadDid.
func TestInnermostRangesAreWhatAThreadDid(t *testing.T) {
	got := innermost([]activity{{from: 0, to: 100, name: 0}, {from: 10, to: 40, name: 1}, {from: 20, to: 30, name: 2}, {from: 40, to: 50, name: 1}, {from: 120, to: 130, name: 2}}, []int32{7, 8, 9})
	want := []straggler.Work{{Name: 7, FromNS: 0, ToNS: 10}, {Name: 8, FromNS: 10, ToNS: 20}, {Name: 9, FromNS: 20, ToNS: 30}, {Name: 8, FromNS: 30, ToNS: 40}, {Name: 8, FromNS: 40, ToNS: 50}, {Name: 7, FromNS: 50, ToNS: 100}, {Name: 9, FromNS: 120, ToNS: 130}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	one := oneAfterAnother([]activity{{from: 0, to: 10, name: 0}, {from: 5, to: 8, name: 1}, {from: 9, to: 12, name: 2}}, []int32{7, 8, 9})
	if want := []straggler.Work{{Name: 7, FromNS: 0, ToNS: 10}, {Name: 9, FromNS: 10, ToNS: 12}}; !slices.Equal(one, want) {
		t.Errorf("%v", one)
	}
}
