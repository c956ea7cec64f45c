package diff

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Launches of one kernel on the same arguments can have other shapes: another block size, number of warps or configuration of the
// autotuner. Then no warp of one does what a warp of the other does, and what they wrote is compared alone: arrays by element, statements by
// their sums over all warps, and what the checks found.

// sameCall reports whether two launches of other shapes were given the same numbers, so that they should write the same.
func sameCall(a, b *warptrace.Header) bool {
	if a.Version != 2 || b.Version != 2 || a.WaveSize != b.WaveSize || len(a.Arguments) == 0 {
		return false
	}
	return slices.EqualFunc(a.Arguments, b.Arguments, func(x, y warptrace.Argument) bool {
		return x.Name == y.Name && x.Type == y.Type && x.Value == y.Value
	})
}

// writtenBoth refuses launches of other shapes of which nothing can be compared: arrays that were written must be known on both sides.
func (g *gathering) writtenBoth() error {
	for _, o := range g.written {
		if o == nil || !o.Coverage.Arrays {
			return fault.New(fault.Incompatible, "the recordings are not of the same launch: %s", g.r.OtherShape).WithPath(g.r.PathB).
				WithHint("launches of other shapes are compared by what they wrote, which one of these recordings does not say; record both again")
		}
	}
	if !g.opt.Warps.All() {
		return fault.New(fault.Incompatible, "warps of launches of other shapes do not correspond: %s", g.r.OtherShape).WithPath(g.r.PathB).
			WithHint("leave out the choice of warps")
	}
	return nil
}

// countOnly notes how much two launches of other shapes recorded, in place of comparing their warps.
func (g *gathering) countOnly(ctx context.Context, a, b *warptrace.Trace) error {
	if err := g.writtenBoth(); err != nil {
		return err
	}
	s := &g.r.Stats
	for _, side := range []struct {
		t             *warptrace.Trace
		warps, events *int64
		losses        *warptrace.Losses
	}{{a, &s.WarpsA, &s.EventsA, &g.r.LossesA}, {b, &s.WarpsB, &s.EventsB, &g.r.LossesB}} {
		index, err := side.t.Index(ctx)
		if err != nil {
			return err
		}
		if *side.losses, err = side.t.Losses(ctx); err != nil {
			return err
		}
		*side.warps, *side.events = int64(len(index)), side.losses.Events
	}
	return nil
}

// shapes says how the shapes of two launches differ.
func shapes(launches []string) string { return cmp.Or(strings.Join(launches, ", "), "their warps") }
