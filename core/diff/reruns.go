package diff

import (
	"context"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Reruns says how runs of one side agree that were made again. Those with another order of blocks and warps tell whether an order decides.
type Reruns struct {
	Sides [2]RerunSide `json:"sides"` // of A and B
}

// RerunSide is what was made again of one side.
type RerunSide struct {
	Orders int  `json:"orders"` // runs with another order of blocks and warps
	Differ int  `json:"differ"` // of these, how many wrote something else
	Others bool `json:"others"` // some ran another build, or on other arguments: they count for nothing
}

// CompareReruns compares what runs wrote which differ from A, and from B, by the order of blocks and warps alone, and keeps it for Explain.
func CompareReruns(ctx context.Context, r *Result, a, b *warptrace.Trace, runsA, runsB []*warptrace.Trace) error {
	found := &Reruns{}
	for side, group := range [][]*warptrace.Trace{append([]*warptrace.Trace{a}, runsA...), append([]*warptrace.Trace{b}, runsB...)} {
		s := &found.Sides[side]
		reference, err := group[0].Outputs(ctx)
		if err != nil {
			return err
		}
		for _, t := range group[1:] {
			again, err := t.Outputs(ctx)
			if err != nil {
				return err
			}
			x, y := group[0].Header(), t.Header()
			if reference == nil || again == nil || !reference.Coverage.Arrays || !again.Coverage.Arrays ||
				x.ModuleHash != y.ModuleHash || x.ArgumentDigest != y.ArgumentDigest {
				s.Others = true
				continue
			}
			s.Orders++
			if !sameArrays(reference, again) {
				s.Differ++
			}
		}
	}
	r.Reruns = found
	return nil
}

// sameArrays reports whether two launches wrote the same bytes.
func sameArrays(x, y *warptrace.Outputs) bool {
	return slices.EqualFunc(x.Arrays, y.Arrays, func(a, b warptrace.Array) bool {
		return a.ID == b.ID && a.Written == b.Written && a.Digest == b.Digest
	})
}

// ruleReruns: one side writes something else when blocks and warps run in another order, and the other side does not.
func ruleReruns(c *clues) []finding {
	if c.r.Reruns == nil {
		return nil
	}
	a, b := &c.r.Reruns.Sides[0], &c.r.Reruns.Sides[1]
	if a.Orders == 0 || b.Orders == 0 {
		return nil
	}
	for k, s := range []*RerunSide{b, a} {
		other := []*RerunSide{a, b}[k]
		if s.Differ > 0 && other.Differ == 0 {
			side := sideNames[1-k]
			return []finding{{race, 12, fmt.Sprintf("%d of %d runs of %s in another order of blocks and warps wrote something else, and none of %d of the other side did",
				s.Differ, s.Orders, side, other.Orders)}}
		}
	}
	if a.Differ > 0 {
		return []finding{{race, 3, "runs of either side in another order of blocks and warps write something else"}}
	}
	if c.code.change.Kind == slice.LostAtomic {
		return nil // lanes of one warp lose updates to each other in the same order every time
	}
	text := fmt.Sprintf("%d runs of A and %d of B in other orders of blocks and warps wrote the same", a.Orders, b.Orders)
	return []finding{{race, -6, text}}
}
