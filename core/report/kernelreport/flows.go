package kernelreport

// maxFlows is how many flows leave the first cause for other clusters.
const maxFlows = 64

// flowsOf gives every slot the numbers of the flows it takes part in. Inside a warp a flow goes from a cause to the followers
// behind it, up to the next cause; from the first cause of all one flow each goes to the lowest warp of other clusters that only
// follow.
func flowsOf(slots []slot) [][]uint64 {
	flows := make([][]uint64, len(slots))
	next := uint64(1)
	cause := -1 // index of the cause in this warp
	for i := range slots {
		d := slots[i].d
		if i > 0 && slots[i-1].d.WarpIdx != d.WarpIdx {
			cause = -1
		}
		switch {
		case roleOf(d).quiet():
		case !d.Follows:
			cause = i
		case cause >= 0:
			if len(flows[cause]) == 0 {
				flows[cause] = []uint64{next}
				next++
			}
			flows[i] = append(flows[i], flows[cause][0])
		}
	}
	first := firstCause(slots)
	if first < 0 {
		return flows
	}
	reached := map[int64]bool{slots[first].d.Cluster: true}
	for i := range slots {
		d := slots[i].d
		if reached[d.Cluster] || roleOf(d).quiet() {
			continue
		}
		reached[d.Cluster] = true
		if d.Follows && len(flows[i]) == 0 && len(reached) <= maxFlows && slots[i].at >= slots[first].at {
			flows[first] = append(flows[first], next)
			flows[i] = append(flows[i], next)
			next++
		}
	}
	return flows
}

// firstCause is the slot of the earliest divergence that is a cause, -1 when there is none.
func firstCause(slots []slot) int {
	best := -1
	for i := range slots {
		if roleOf(slots[i].d) == cause && (best < 0 || slots[i].at < slots[best].at) {
			best = i
		}
	}
	return best
}
