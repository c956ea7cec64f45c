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

// attachSnapshots finds the event that each snapshot belongs to, where that is certain. A ring keeps the newest, so the n-th newest
// snapshot of a site belongs to the n-th newest event of that site, provided that every event of the site left both. That is not so
// when events were dropped or sampled away, nor at a site that has more snapshots than events, or fewer in a ring that never
// wrapped: those keep Event -1. The cost is one pass over the events, whatever the snapshots say.
func attachSnapshots(w *Warp, sampled, wrapped bool) {
	if len(w.Snapshots) == 0 || w.Dropped > 0 || sampled || w.Stored > w.Events {
		return
	}
	waiting := map[uint32][]int{} // by site: the positions of its snapshots, the next one last
	for i := range w.Snapshots {
		waiting[w.Snapshots[i].Site] = append(waiting[w.Snapshots[i].Site], i)
	}
	uncertain := map[uint32]bool{}
	for e := w.Len() - 1; e >= 0; e-- {
		queue, has := waiting[w.Site[e]]
		if !has {
			continue
		}
		if len(queue) == 0 {
			uncertain[w.Site[e]] = !wrapped
			continue
		}
		w.Snapshots[queue[len(queue)-1]].Event = int32(e)
		waiting[w.Site[e]] = queue[:len(queue)-1]
	}
	for site, queue := range waiting {
		uncertain[site] = uncertain[site] || len(queue) > 0
	}
	for i := range w.Snapshots {
		if uncertain[w.Snapshots[i].Site] {
			w.Snapshots[i].Event = -1
		}
	}
}
