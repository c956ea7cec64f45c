package diff

import (
	"github.com/prlx-go/prlx/core/fault"
)

// nothingShared refuses recordings that have nothing in common: they cannot be compared, and "different" would be as wrong as "the
// same". Who forces a comparison of other kernels gets it. Recordings share something when events of one site were paired, when both wrote one array, or when one of them is empty.
func (g *gathering) nothingShared() error {
	r := g.r
	if r.Options.Force || !r.Options.Warps.All() || r.A.WaveSize != r.B.WaveSize || r.Stats.EventsA == 0 || r.Stats.EventsB == 0 {
		return nil
	}
	if r.outputs != nil {
		for i := range r.outputs.arrays {
			if p := &r.outputs.arrays[i]; p.a != nil && p.b != nil {
				return nil
			}
		}
	}
	const hint = "compare recordings of the same kernel; of format v1, --map or --remap-a and --remap-b say which sites are the same"
	if r.Stats.WarpsA+r.Stats.WarpsB == r.Stats.WarpsCompared {
		return fault.New(fault.Incompatible, "the recordings have nothing in common: no warp recorded anything in both").WithPath(r.PathB).WithHint(hint)
	}
	if r.Stats.RowsOmitted > 0 || r.Stats.Filtered > 0 || r.Stats.LostTails > 0 || r.Stats.Reordered > 0 {
		return nil
	}
	var lone [2]int64
	for _, part := range g.parts {
		for k := range part {
			if row := &part[k]; row.Kind == RowPath || row.Kind == RowExtraEvents {
				lone[0] += int64(row.Count)
				lone[1] += int64(row.CountB)
			}
		}
	}
	if lone[0] == r.Stats.EventsA && lone[1] == r.Stats.EventsB {
		return fault.New(fault.Incompatible, "the recordings have nothing in common: no site was passed in both").WithPath(r.PathB).WithHint(hint)
	}
	return nil
}
