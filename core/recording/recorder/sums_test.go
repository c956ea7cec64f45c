package recorder

import (
	"reflect"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// TestValuesOfStatements adds the sums of warps: not those of compare-and-swaps, and none where a warp has more than it could count.
func TestValuesOfStatements(t *testing.T) {
	of := func(slot uint64, overflown bool) arena.Sum {
		return arena.Sum{Slot: slot, Count: 1, Values: warptrace.ValueSums{Hash: 1, Bits: 2, Tops: 3, Specials: 4}, Overflown: overflown}
	}
	s := &Arena{Table: &observe.Table{Sums: []observe.Sum{{Site: 0}, {Site: 1, Swaps: true}, {Site: 2}}}}
	s.sums(nil, &arena.Warp{Sums: []arena.Sum{of(0, false), of(1, false), of(2, false)}})
	s.sums(nil, &arena.Warp{Sums: []arena.Sum{of(0, false), of(1, false), of(2, true)}})
	s.sums(nil, &arena.Warp{Sums: []arena.Sum{of(2, false)}})
	twice := warptrace.ValueSums{Hash: 2, Bits: 4, Tops: 6, Specials: 8}
	for site, want := range []*warptrace.ValueSums{&twice, {}, nil} {
		if got := s.totals[[2]uint32{uint32(site), 0}]; !reflect.DeepEqual(got.Values, want) || got.Swaps != (site == 1) {
			t.Errorf("statement %d: %+v, want %+v", site, got.Values, want)
		}
	}
}
