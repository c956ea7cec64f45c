package diff

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// operandClusters is of how many clusters the operands of the first divergence are read.
const operandClusters = 64

// readOperands reads what every lane held at the first divergence of the first clusters.
func (r *Result) readOperands(j *job.Job, a, b *warptrace.Trace, opt *Options) error {
	if !holdsOperands(a) && !holdsOperands(b) || opt.CrossGPU && r.A.WaveSize != r.B.WaveSize {
		return nil
	}
	var wa, wb warptrace.Warp
	held := a.MayHaveSnapshots() || b.MayHaveSnapshots()
	for i := range r.Clusters[:min(len(r.Clusters), operandClusters)] {
		c := &r.Clusters[i]
		if err := j.Context().Err(); err != nil {
			return err
		}
		if held {
			if err := a.ReadWarp(j.Context(), c.First.Warp, &wa); err != nil {
				return err
			}
			if err := b.ReadWarp(j.Context(), c.First.Warp, &wb); err != nil {
				return err
			}
		}
		c.Operands, c.Compare, c.CompareB = laneValues(r, &c.First, &wa, &wb)
		if c.First.Lanes != 0 {
			continue
		}
		for k := range c.Operands {
			if v := &c.Operands[k]; v.Differs {
				c.First.Lanes |= 1 << v.Lane
			}
		}
		if c.At >= 0 {
			r.Rows[c.At].Lanes = c.First.Lanes
		}
	}
	return nil
}

// holdsOperands reports whether a recording may have snapshots.
func holdsOperands(t *warptrace.Trace) bool {
	h := t.Header()
	return h.SnapshotDepth > 0 || h.Version != 1 && h.Mode != warptrace.ModeDigest
}

// laneValues puts together what is known of every lane of either wave at a divergence; nil when no snapshot is there.
func laneValues(r *Result, row *Row, wa, wb *warptrace.Warp) (values []LaneValues, compareA, compareB site.Compare) {
	var a, b *warptrace.Snapshot
	if row.Count > 0 {
		a = snapshotFor(wa, int(row.EventA))
	}
	if row.CountB > 0 {
		b = snapshotFor(wb, int(row.EventB))
	}
	if a == nil && b == nil {
		return nil, site.NoCompare, site.NoCompare
	}
	compareA, compareB = site.NoCompare, site.NoCompare
	if a != nil {
		compareA = a.Compare
	}
	if b != nil {
		compareB = b.Compare
	}
	if compareA == site.NoCompare {
		compareA = compareB
	}
	for lane := range max(r.A.WaveSize, r.B.WaveSize, 1) {
		v := LaneValues{Lane: lane, ActiveA: row.ActiveA>>lane&1 != 0, ActiveB: row.ActiveB>>lane&1 != 0}
		v.TakenA, v.LhsA, v.RhsA = sideOfLane(r.A, a, lane, r.A.Taken && row.Count > 0, row.TakenA)
		v.TakenB, v.LhsB, v.RhsB = sideOfLane(r.B, b, lane, r.B.Taken && row.CountB > 0, row.TakenB)
		if !v.ActiveA && !v.ActiveB && v.LhsA == "" && v.LhsB == "" {
			continue
		}
		v.Differs = v.ActiveA != v.ActiveB || v.TakenA != nil && v.TakenB != nil && *v.TakenA != *v.TakenB ||
			a != nil && b != nil && otherOperands(a, b, lane)
		values = append(values, v)
	}
	return values, compareA, compareB
}

// snapshotFor finds the snapshot of an event. Rings of v1 keep entries in the order of events, but not for all of them.
func snapshotFor(w *warptrace.Warp, event int) *warptrace.Snapshot {
	for i := range w.Snapshots {
		if int(w.Snapshots[i].Event) == event {
			return &w.Snapshots[i]
		}
	}
	return nil
}

// sideOfLane is one lane of one side.
func sideOfLane(h *warptrace.Header, s *warptrace.Snapshot, lane int, known bool, mask uint64) (taken *bool, lhs, rhs string) {
	if known {
		t := mask>>lane&1 != 0
		taken = &t
	}
	if s == nil || s.Active>>lane&1 == 0 {
		return taken, "", ""
	}
	if lane < len(s.Lhs) {
		lhs = heldText(h, s.Lhs[lane], typeOf(s.Role, true, s.Type))
	}
	if lane < len(s.Rhs) {
		rhs = heldText(h, s.Rhs[lane], s.Type)
	}
	return taken, lhs, rhs
}
