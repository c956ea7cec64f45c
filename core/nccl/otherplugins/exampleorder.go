package otherplugins

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// order sorts operations by when they were scheduled, and what belongs to them alike; then it counts occurrences.
func (x *example) order() {
	r := x.out
	order := make([]int32, len(r.Ops))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(r.Ops[a].StartNS, r.Ops[b].StartNS) })
	ops, kernels, proxies := make([]operation.Op, 0, len(r.Ops)), make([]operation.Kernel, 0, len(r.Kernels)), make([]operation.ProxyOp, 0, len(r.Proxies))
	for i := range r.Proxies { // those without an operation come first
		if p := &r.Proxies[i]; p.Op < 0 {
			proxies = append(proxies, *p)
		}
	}
	type key struct {
		member, function, peer int32
		kind                   operation.Kind
		sequence               uint64
	}
	seen := map[key]int32{}
	for n, i := range order {
		op := r.Ops[i]
		k := key{member: op.Member, function: op.Func, kind: op.Kind, sequence: op.Sequence}
		if op.Kind != operation.Collective {
			k = key{member: op.Member, peer: op.Peer, kind: op.Kind}
		}
		op.Occurrence = seen[k]
		seen[k]++
		from, to := len(kernels), len(proxies)
		for _, one := range r.Kernels[op.KernelFrom:op.KernelTo] {
			one.Op = int32(n)
			kernels = append(kernels, one)
		}
		for _, one := range r.Proxies[op.ProxyFrom:op.ProxyTo] {
			if one.Op >= 0 {
				one.Op = int32(n)
				proxies = append(proxies, one)
			}
		}
		op.KernelFrom, op.KernelTo, op.ProxyFrom, op.ProxyTo = int32(from), int32(len(kernels)), int32(to), int32(len(proxies))
		ops = append(ops, op)
	}
	r.Ops, r.Kernels, r.Proxies = ops, kernels, proxies
}

// addUp fills in a proxy operation what its steps tell: its time by the stage of the oldest step that was open, as `reading` does.
func addUp(p *operation.ProxyOp, list []operation.Step) {
	type change struct {
		ns    int64
		step  int
		stage operation.Stage
		stop  bool
	}
	var all []change
	for i := range list {
		s := &list[i]
		p.Begun++
		for stage, at := range s.Entered {
			if at > 0 {
				all = append(all, change{ns: at, step: i, stage: operation.Stage(stage)})
			}
		}
		if s.StopNS > 0 {
			p.Finished++
			all = append(all, change{ns: s.StopNS, step: i, stop: true})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.step, b.step)) })
	stage, since := make([]operation.Stage, len(list)), make([]int64, len(list))
	open := map[int]bool{}
	cursor := int64(0)
	for _, c := range all {
		oldest := operation.StageNone
		first := len(list)
		for s := range open {
			if s < first {
				first, oldest = s, stage[s]
			}
		}
		if cursor > 0 {
			p.StageNS[oldest] += c.ns - cursor
		} else {
			p.FirstNS = c.ns
		}
		cursor, p.LastNS = c.ns, max(p.LastNS, c.ns)
		if since[c.step] > 0 {
			p.SumNS[stage[c.step]] += c.ns - since[c.step]
		}
		if c.stop {
			p.Stage, since[c.step] = stage[c.step], 0
			delete(open, c.step)
			continue
		}
		stage[c.step], since[c.step] = c.stage, c.ns
		if len(open) < mostOpen || open[c.step] {
			open[c.step] = true
		}
		switch c.stage {
		case operation.SendWait:
			p.SentNS = firstOf(p.SentNS, c.ns)
		case operation.RecvFlushWait, operation.RecvGPUWait:
			p.CameNS = firstOf(p.CameNS, c.ns)
			if c.stage == operation.RecvGPUWait {
				p.HandedNS = max(p.HandedNS, c.ns)
			}
		}
	}
}

// mostOpen is how many steps of an operation are open at once at most: NCCL has 8 in flight, and a file may claim what it likes.
const mostOpen = 64

func firstOf(had, ns int64) int64 {
	if had > 0 {
		return had
	}
	return ns
}
