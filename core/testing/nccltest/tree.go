package nccltest

// algorithm is how the job executes a function: NCCL has trees for AllReduce alone.
func (j *job) algorithm(function string) string {
	switch {
	case j.p.Algorithm == "NVLS", j.p.Algorithm == "TREE" && function == "AllReduce":
		return j.p.Algorithm
	}
	return "RING"
}

// parent is where a rank sends its sums to in the tree of a channel; -1: it is the root. Hosts are a binary tree, its leaves the odd ones, mirrored
// for odd channels; the ranks of a host are a chain to the one that is in it.
func (j *job) parent(r, c int) int {
	per, hosts := j.p.PerHost, (j.p.Ranks+j.p.PerHost-1)/j.p.PerHost
	host, first := r/per, r/per*per
	size := min(per, j.p.Ranks-first)
	leader := first + c%size
	if r != leader {
		return first + (r-first+size-1)%size
	}
	n := host
	if c%2 == 1 {
		n = hosts - 1 - host
	}
	if n == 0 {
		return -1
	}
	bit := 1
	for n&bit == 0 {
		bit <<= 1
	}
	up := (n ^ bit) | bit<<1
	if up >= hosts {
		up = n ^ bit
	}
	if c%2 == 1 {
		up = hosts - 1 - up
	}
	return up*per + c%min(per, j.p.Ranks-up*per)
}

// edge is what one rank sends to another in a tree.
type edge struct {
	from, to int
	needs    []int // edges whose data it passes on
	steps
}

// edges are those of a tree: to the root, leaves first, and back.
func (j *job) edges(c int) (all []*edge) {
	n := j.p.Ranks
	depth, up := make([]int, n), make([]int, n)
	for r := range n {
		for at := j.parent(r, c); at >= 0; at = j.parent(at, c) {
			depth[r]++
		}
	}
	into := make([][]int, n) // edges that bring sums to a rank
	for d := n; d > 0; d-- {
		for r := range n {
			if depth[r] == d {
				up[r] = len(all)
				to := j.parent(r, c)
				into[to] = append(into[to], len(all))
				all = append(all, &edge{from: r, to: to, needs: into[r]})
			}
		}
	}
	down := make([]int, n)
	for d := 1; d <= n; d++ {
		for r := range n {
			if depth[r] != d {
				continue
			}
			from := j.parent(r, c)
			e := &edge{from: from, to: r}
			if depth[from] == 0 {
				e.needs = into[from]
			} else {
				e.needs = []int{down[from]}
			}
			down[r] = len(all)
			all = append(all, e)
		}
	}
	return all
}

// victim is the edge of a rank at which a step hangs: the first that crosses the network; nil: none does.
func (j *job) victim(all []*edge, r int, sends bool) *edge {
	for _, e := range all {
		if (sends && e.from == r || !sends && e.to == r) && j.network(e.from, e.to) {
			return e
		}
	}
	return nil
}

// tree simulates one channel of an AllReduce: sums to the root, and the result back.
func (j *job) tree(n, c int, begin, called []int64, handles []func() uint64, bytes float64) []int64 {
	p := &j.p
	all := j.edges(c)
	var hung *edge
	if p.Fault >= HangSendGPU && n == p.At && c == p.Channel {
		hung = j.victim(all, p.Rank, p.Fault <= HangSend)
	}
	for _, e := range all {
		for _, l := range []*[]int64{&e.start, &e.fill, &e.credit, &e.sent, &e.posted, &e.arrived, &e.flushed, &e.consumed} {
			*l = line(p.Steps)
		}
	}
	at := func(list []int64, k int, otherwise int64) int64 {
		if k < 0 {
			return otherwise
		}
		return list[k]
	}
	add := func(t, d int64) int64 {
		if t >= never {
			return never
		}
		return t + d
	}
	works := func(r int) int64 { // when its proxy begins
		if handles[r] == nil {
			return never
		}
		return called[r] + 15_000
	}
	for k := range p.Steps {
		for _, e := range all {
			stops := func(f Fault, at *int64) {
				if e == hung && p.Fault == f && k >= p.Steps/2 {
					*at = never
				}
			}
			e.start[k] = max(works(e.from), at(e.sent, k-8, 0))
			ready := max(e.start[k], begin[e.from], at(e.fill, k-1, 0))
			for _, need := range e.needs {
				ready = max(ready, all[need].consumed[k])
			}
			e.fill[k] = add(ready, j.vary(1500))
			stops(HangSendGPU, &e.fill[k])
			e.posted[k] = max(works(e.to), at(e.consumed, k-8, 0))
			e.credit[k] = add(e.posted[k], 1_000)
			stops(HangSendPeer, &e.credit[k])
			e.sent[k] = add(max(e.fill[k], e.credit[k], at(e.sent, k-1, 0)), j.linkNS(e.from, e.to, c, bytes))
			stops(HangSend, &e.sent[k])
			e.arrived[k] = max(add(e.sent[k], 800), e.posted[k], at(e.arrived, k-1, 0))
			stops(HangRecv, &e.arrived[k])
			e.flushed[k] = max(add(e.arrived[k], 600), at(e.flushed, k-1, 0))
			stops(HangFlush, &e.flushed[k])
			e.consumed[k] = add(max(e.flushed[k], begin[e.to], at(e.consumed, k-1, 0)), j.vary(1500))
			stops(HangRecvGPU, &e.consumed[k])
		}
	}
	return j.treeEnds(c, all, begin, called, handles, bytes)
}

// treeEnds writes the kernels and the proxies of a tree, and returns when the kernels end.
func (j *job) treeEnds(c int, all []*edge, begin, called []int64, handles []func() uint64, bytes float64) []int64 {
	last := j.p.Steps - 1
	ends := make([]int64, j.p.Ranks)
	for r := range ends {
		ends[r] = begin[r]
		if handles[r] == nil {
			ends[r] = never
		}
	}
	for _, e := range all {
		ends[e.from], ends[e.to] = max(ends[e.from], e.sent[last]), max(ends[e.to], e.consumed[last])
	}
	for r := range ends {
		if handles[r] != nil && begin[r] < never {
			j.kernelOf(r, c, handles[r], begin[r], ends[r])
		}
	}
	for _, e := range all {
		if handles[e.from] != nil {
			j.proxy(e.from, c, e.to, true, handles[e.from], called[e.from], &e.steps, bytes, ends[e.from])
		}
		if handles[e.to] != nil {
			j.proxy(e.to, c, e.from, false, handles[e.to], called[e.to], &e.steps, bytes, ends[e.to])
		}
	}
	return ends
}

// switched simulates an operation that the switch of a host executes: no proxy, and nobody ends before all have begun.
func (j *job) switched(c int, begin []int64, handles []func() uint64, bytes float64) []int64 {
	last := int64(0)
	for r := range begin {
		last = max(last, begin[r])
		if handles[r] == nil {
			last = never
		}
	}
	ends := make([]int64, len(begin))
	for r := range ends {
		ends[r] = never
		if last < never {
			ends[r] = last + j.vary(float64(j.p.Steps)*bytes/100) + 3_000
		}
		if handles[r] != nil && begin[r] < never {
			j.kernelOf(r, c, handles[r], begin[r], ends[r])
		}
	}
	return ends
}

// channel simulates one channel of an operation, and returns when the kernels end.
func (j *job) channel(function string, n, c int, begin, called []int64, handles []func() uint64, bytes float64) []int64 {
	switch j.algorithm(function) {
	case "TREE":
		return j.tree(n, c, begin, called, handles, bytes)
	case "NVLS":
		return j.switched(c, begin, handles, bytes)
	}
	return j.ring(n, c, begin, called, handles, bytes)
}

// Crosses reports whether what a rank sends, or receives, on a channel goes through the network in the operation of the fault.
func Crosses(p Plan, r, channel int, sends bool) bool {
	j := &job{p: p}
	if j.algorithm(mix[p.At%len(mix)].function) == "TREE" {
		return j.victim(j.edges(channel), r, sends) != nil
	}
	for from := range p.Ranks {
		to := j.next(from, channel)
		if sends && from == r || !sends && to == r {
			return j.network(from, to)
		}
	}
	return false
}
