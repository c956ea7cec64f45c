package warptrace

import (
	"cmp"
	"slices"
)

// sortRings puts ring entries into the order in which they were written.
func sortRings(w *Warp) {
	slices.SortStableFunc(w.History, func(a, b HistoryEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(w.Snapshots, func(a, b Snapshot) int { return cmp.Compare(a.Seq, b.Seq) })
}

// attach finds the event that each snapshot belongs to, where that is certain: rings keep the newest, so the n-th newest snapshot
// of a site belongs to the n-th newest event of that site, provided that no event was dropped or sampled away.
func (v *v1) attach(w *Warp) {
	if len(w.Snapshots) == 0 || w.Dropped > 0 || v.header.SampleRate > 1 || uint32(w.Stored) > w.Events {
		return
	}
	last := make(map[uint32]int, 16) // by site: the oldest event that is already spoken for
	for i := len(w.Snapshots) - 1; i >= 0; i-- {
		s := &w.Snapshots[i]
		before, seen := last[s.Site]
		if !seen {
			before = w.Len()
		}
		e := before - 1
		for e >= 0 && w.Site[e] != s.Site {
			e--
		}
		last[s.Site] = max(e, 0)
		if e < 0 {
			continue
		}
		s.Event = int32(e)
	}
}
