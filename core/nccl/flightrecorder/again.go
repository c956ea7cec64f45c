package flightrecorder

import (
	"fmt"
	"slices"
)

// again finds the ranks of a group whose numbering began again, or whose dump is of another time: numbers alone would lay operations side by side
// that have nothing to do with each other. Of such a rank nothing is compared.
//
// A process that takes the place of one that ended counts from 1. It is told by two things together: others have completed operations of
// numbers that it has not come to, which they cannot have done without its rank; and all that it has was created after that.
func (a *analysis) again(g *group, by map[int]numbered) (began []int) {
	for _, rank := range g.ranks {
		first, last, n := span(by[rank])
		if n == 0 {
			continue
		}
		for _, other := range g.ranks {
			if other == rank || by[other] == nil {
				continue
			}
			if at := completedBeyond(by[other], last); at > 0 && first > at {
				began = append(began, rank)
				break
			}
		}
	}
	return began
}

// span is when the first operation of a rank was created, 0 not known, its last number, and how many numbers it has.
func span(n numbered) (createdNS, last int64, count int) {
	for seq, calls := range n {
		if last < seq {
			last = seq
		}
		for _, e := range calls {
			if e.CreatedNS > 0 && (createdNS == 0 || e.CreatedNS < createdNS) {
				createdNS = e.CreatedNS
			}
		}
	}
	return createdNS, last, len(n)
}

// completedBeyond is when the last operation was created that has a number beyond one, was completed and needs all members; 0: there is none.
func completedBeyond(n numbered, beyond int64) (createdNS int64) {
	for seq, calls := range n {
		for _, e := range calls {
			if seq > beyond && e.State == completed && needsAll[e.Name] {
				createdNS = max(createdNS, e.CreatedNS)
			}
		}
	}
	return createdNS
}

// needsAll are operations that nobody leaves before all members have entered.
var needsAll = map[string]bool{
	"all_reduce": true, "allreduce_coalesced": true, "all_gather": true, "_all_gather_base": true, "all_gather_into_tensor_coalesced": true, "all_gather_single": true,
	"reduce_scatter": true, "_reduce_scatter_base": true, "reduce_scatter_tensor_coalesced": true, "reduce_scatter_single": true, "all_to_all": true, "all_to_all_single": true,
	"all_to_all_v_single": true, "alltoall": true, "alltoall_base": true, "barrier": true, "all_reduce_barrier": true,
}

// restarted says of ranks whose numbering began again who waits for them. Whoever waits does so for the process that was there before.
func (a *analysis) restarted(g *group, rep *groupReport, by map[int]numbered, began []int) {
	if len(began) == 0 {
		return
	}
	seq, op := int64(0), ""
	var waiting []int
	for _, rank := range g.ranks {
		if slices.Contains(began, rank) {
			continue
		}
		for n, calls := range by[rank] {
			last := calls[len(calls)-1]
			switch {
			case last.State == completed || !needsAll[last.Name]:
			case seq == 0 || n < seq:
				seq, op, waiting = n, last.Name, []int{rank}
			case n == seq && !slices.Contains(waiting, rank):
				waiting = append(waiting, rank)
			}
		}
	}
	if len(waiting) == 0 {
		a.result.Warnings = append(a.result.Warnings, fmt.Sprintf("group %s: the numbering of %s began again: nothing of it is compared", g.label(), named(began)))
		return
	}
	slices.Sort(waiting)
	a.find(g, rep, &finding{Class: restarted, Op: op, Ranks: began, Waiting: waiting}, seq)
}
