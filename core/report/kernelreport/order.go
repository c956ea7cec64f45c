package kernelreport

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/diff"
)

// A slot is where a divergence stands on the time axis of a track: at which event, for how many, and how deep inside the slot
// of the divergence that begins at the same event (a branch that differs in direction and in active lanes, say).
type slot struct {
	d   *diff.Divergence
	at  int64 // events of A and of B-only stretches before it
	len int64 // events
	sub int64 // 0: outermost
}

const (
	maxStretch = 1 << 20 // events that one divergence covers in a picture at most
	maxAt      = 1 << 40 // events; with 1000 ns an event this stays far inside int64
	maxNested  = 4       // divergences of one event that are drawn inside each other
)

// inOrder puts the divergences of each warp on one axis, ascending by warp, so that slots of a warp follow each other or lie
// inside each other. The axis counts events of A; where B has events that A has not, it is stretched by their number.
func inOrder(doc *diff.Document) []slot {
	slots := make([]slot, len(doc.Divergences))
	for i := range slots {
		slots[i].d = &doc.Divergences[i]
	}
	slices.SortStableFunc(slots, func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.d.WarpIdx, b.d.WarpIdx), cmp.Compare(a.d.EventIdx, b.d.EventIdx))
	})
	var shift, end int64
	for i := range slots {
		s := &slots[i]
		if i == 0 || slots[i-1].d.WarpIdx != s.d.WarpIdx {
			shift, end = 0, 0
		} else if p := &slots[i-1]; sameEvent(p.d, s.d) && p.sub < maxNested-1 {
			s.at, s.len, s.sub = p.at, p.len, p.sub+1
			continue
		}
		a, b := extent(s.d)
		s.at = max(min(max(s.d.EventIdx, 0)+shift, maxAt), end)
		s.len = max(a, b, 1)
		end = s.at + s.len
		shift = min(shift+max(b-a, 0), maxAt)
	}
	return slots
}

// sameEvent reports whether two divergences of a warp are about one and the same pair of events.
func sameEvent(a, b *diff.Divergence) bool {
	single := func(d *diff.Divergence) bool { return d.Kind != diff.KindExtraEvents && d.Kind != diff.KindPath }
	return a.EventIdx == b.EventIdx && a.EventIdxB == b.EventIdxB && single(a) && single(b)
}

// extent is how many events of either side a divergence covers.
func extent(d *diff.Divergence) (a, b int64) {
	limit := func(n int64) int64 { return min(max(n, 0), maxStretch) }
	switch d.Kind {
	case diff.KindExtraEvents:
		if d.InTrace == "B" {
			return 0, limit(d.Count)
		}
		return limit(d.Count), 0
	case diff.KindPath:
		return max(limit(d.Count), 1), max(limit(d.CountB), 1)
	}
	return 1, 1
}

// countAt is how many divergences of each kind begin at an event, over all warps.
type countAt struct {
	at     int64
	byKind map[string]any
}

// countsOver returns the counts at every event where some divergence begins, and zero behind the last of a stretch.
func countsOver(slots []slot) []countAt {
	perEvent := map[int64]map[string]int64{}
	seen := map[string]bool{}
	for i := range slots {
		s := &slots[i]
		if perEvent[s.at] == nil {
			perEvent[s.at] = map[string]int64{}
		}
		k := "other"
		if kindRank(s.d.Kind) < len(kinds) {
			k = s.d.Kind
		}
		perEvent[s.at][k]++
		seen[k] = true
	}
	ats := make([]int64, 0, 2*len(perEvent))
	for at := range perEvent {
		ats = append(ats, at, at+1)
	}
	slices.Sort(ats)
	var out []countAt
	for _, at := range slices.Compact(ats) {
		c := countAt{at: at, byKind: map[string]any{}}
		for k := range seen {
			c.byKind[k] = perEvent[at][k]
		}
		out = append(out, c)
	}
	return out
}
