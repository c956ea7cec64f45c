package dividing

import (
	"cmp"
	"slices"
)

// maxWaits is how many pairs of ranks a document lists: of a job with many ranks that are late in turn there may be millions.
const maxWaits = 20_000

// Wait is for how long one rank waited for another: its kernel had begun, and that of the other, which began last of all, had not.
type Wait struct {
	Rank       string `json:"rank"`
	For        string `json:"for"`
	WaitingNS  int64  `json:"waiting_ns"`
	CertainNS  int64  `json:"certain_ns"` // of it, in operations of which it is certain who began last
	Operations int    `json:"operations"`
}

// pair is two places in Job.Ranks.
type pair struct{ rank, other int32 }

// wait adds what a rank waited for the one that began last.
func (r *reporter) wait(w *whole, rank int32, ns int64, certain bool) {
	last := r.job.Parts[w.Last].Rank
	if ns <= 0 || rank == last {
		return
	}
	k := pair{rank, last}
	of := r.waits[k]
	if of == nil {
		of = &Wait{Rank: r.job.Ranks[rank].ID, For: r.job.Ranks[last].ID}
		r.waits[k] = of
	}
	of.WaitingNS += ns
	of.Operations++
	if certain {
		of.CertainNS += ns
	}
}

// listWaits lists who waited for whom, longest first.
func (r *reporter) listWaits() {
	keys := make([]pair, 0, len(r.waits))
	for k := range r.waits {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y pair) int {
		return cmp.Or(cmp.Compare(r.waits[y].WaitingNS, r.waits[x].WaitingNS), cmp.Compare(x.rank, y.rank), cmp.Compare(x.other, y.other))
	})
	r.doc.Waits = make([]Wait, 0, min(len(keys), maxWaits))
	for i, k := range keys {
		if i == maxWaits {
			r.doc.WaitsLeftOut = len(keys) - i
			break
		}
		r.doc.Waits = append(r.doc.Waits, *r.waits[k])
	}
}
