package reading

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/segment"
)

// finish ties together what has come.
func (b *builder) finish(seen segment.Seen) {
	b.out.ClockBoundNS = b.t.bound()
	for _, w := range b.waiting {
		if w.stop {
			b.stop(w.handle, w.ns, true)
		} else {
			b.state(w.handle, w.state, w.value, 0, w.ns, true)
		}
	}
	b.waiting = nil
	b.orphans = b.out.Loss.Orphans
	b.calls()
	b.orderOps()
	b.orderKernels()
	b.orderProxies()
	b.occurrences()
	b.losses(seen)
}

func (b *builder) calls() {
	for i := range b.apis {
		if codeOf(b.apis[i].parent) == codeGroupAPI {
			b.out.APIs[i].Group = b.find(b.apis[i].parent)
		}
	}
	for i := range b.launch {
		if codeOf(b.launch[i].parent) == codeGroupAPI {
			b.out.Launch[i].Group = b.find(b.launch[i].parent)
		}
	}
}

// launchOf finds the launch for each group and stream; those of one communicator are preferred. Most groups have one launch.
func (b *builder) launchOf() func(api *operation.API, member int32) int32 {
	type key struct {
		group, member int32
		stream        uint64
	}
	only, several := make([]int32, len(b.groups)), map[key]int32{} // place + 1 of the one launch of a group; those of groups that have more
	add := func(n int32) {
		l := &b.out.Launch[n]
		for _, k := range []key{{l.Group, l.Member, l.Stream}, {l.Group, operation.None, l.Stream}} {
			if _, ok := several[k]; !ok {
				several[k] = n
			}
		}
	}
	const more = -1
	for i := range b.out.Launch {
		g := b.out.Launch[i].Group
		switch {
		case g < 0:
		case only[g] == 0:
			only[g] = int32(i) + 1
		default:
			if only[g] != more {
				add(only[g] - 1)
				only[g] = more
			}
			add(int32(i))
		}
	}
	return func(api *operation.API, member int32) int32 {
		if api.Group < 0 {
			return operation.None
		}
		if n := only[api.Group] - 1; n >= 0 {
			if b.out.Launch[n].Stream == api.Stream {
				return n
			}
			return operation.None
		}
		for _, k := range []key{{api.Group, member, api.Stream}, {api.Group, operation.None, api.Stream}} {
			if n, ok := several[k]; ok {
				return n
			}
		}
		return operation.None
	}
}

// orderOps sorts operations by time and finds the calls and launches behind them.
func (b *builder) orderOps() {
	launch := b.launchOf()
	for i := range b.ops {
		op := &b.out.Ops[i]
		if c := codeOf(b.ops[i].parent); c == codeCollAPI || c == codeP2PAPI {
			op.API = b.find(b.ops[i].parent)
		}
		if op.API >= 0 {
			api := &b.out.APIs[op.API]
			op.Captured = api.Captured
			op.Launch = launch(api, op.Member)
		}
	}
	n := len(b.out.Ops)
	if slices.IsSortedFunc(b.out.Ops, func(x, y operation.Op) int { return cmp.Compare(x.StartNS, y.StartNS) }) {
		return
	}
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(b.out.Ops[x].StartNS, b.out.Ops[y].StartNS) })
	ops, owners := make([]operation.Op, n), make([]owned, n)
	for to, from := range order {
		ops[to], owners[to] = b.out.Ops[from], b.ops[from]
		b.h.set(owners[to].handle, int32(to))
	}
	b.out.Ops, b.ops = ops, owners
}

// parentOp is the operation of a handle.
func (b *builder) parentOp(handle uint64) int32 {
	if c := codeOf(handle); c == codeColl || c == codeP2P {
		return b.find(handle)
	}
	return operation.None
}

// byOp returns the order in which things stand by their operation, those without one first, and where those of each operation begin.
func byOp(n, ops int, of func(i int) int32) (order, begin []int32) {
	begin = make([]int32, ops+2)
	for i := range n {
		begin[of(i)+2]++
	}
	for i := 1; i < len(begin); i++ {
		begin[i] += begin[i-1]
	}
	order = make([]int32, n)
	next := slices.Clone(begin)
	for i := range n {
		k := of(i) + 1
		order[next[k]] = int32(i)
		next[k]++
	}
	return order, begin[1:]
}

func (b *builder) orderKernels() {
	for i := range b.kerns {
		k := &b.out.Kernels[i]
		k.Op = b.parentOp(b.kerns[i].parent)
		if k.Op < 0 {
			b.out.Loss.Orphans++
		}
		k.StartNS, k.StopNS = k.CallStartNS, k.CallStopNS
	}
	order, begin := byOp(len(b.out.Kernels), len(b.out.Ops), func(i int) int32 { return b.out.Kernels[i].Op })
	sorted := make([]operation.Kernel, len(order))
	for to, from := range order {
		sorted[to] = b.out.Kernels[from]
	}
	b.out.Kernels = sorted
	for i := range b.out.Ops {
		b.out.Ops[i].KernelFrom, b.out.Ops[i].KernelTo = begin[i], begin[i+1]
	}
}

func (b *builder) orderProxies() {
	last := b.out.LastNS
	for i := range b.out.Proxies {
		p := &b.out.Proxies[i]
		if !p.Foreign {
			p.Op = b.parentOp(p.Parent)
		}
		b.leave(int32(i), last)
	}
	layProxies(b.out)
	b.steps, b.live = nil, nil
}

// layProxies puts proxy operations in the order of their operations, and steps in that of their proxy operations.
func layProxies(r *operation.Recording) {
	order, begin := byOp(len(r.Proxies), len(r.Ops), func(i int) int32 { return r.Proxies[i].Op })
	sorted, place := make([]operation.ProxyOp, len(order)), make([]int32, len(order))
	for to, from := range order {
		sorted[to], place[from] = r.Proxies[from], int32(to)
		sorted[to].StepFrom, sorted[to].StepTo = 0, 0
	}
	r.Proxies = sorted
	for i := range r.Ops {
		r.Ops[i].ProxyFrom, r.Ops[i].ProxyTo = begin[i], begin[i+1]
	}
	for i := range r.Steps {
		r.Steps[i].Proxy = place[r.Steps[i].Proxy]
	}
	slices.SortStableFunc(r.Steps, func(x, y operation.Step) int {
		return cmp.Or(cmp.Compare(x.Proxy, y.Proxy), cmp.Compare(x.StartNS, y.StartNS))
	})
	for i := range r.Steps {
		p := &r.Proxies[r.Steps[i].Proxy]
		if p.StepTo == 0 {
			p.StepFrom = int32(i)
		}
		p.StepTo = int32(i) + 1
	}
}

// lane is what a member executes again and again.
type lane struct {
	member, function, peer int32
	kind                   operation.Kind
}

func laneOf(op *operation.Op) lane {
	if op.Kind == operation.Send || op.Kind == operation.Recv {
		return lane{member: op.Member, peer: op.Peer, kind: op.Kind}
	}
	return lane{member: op.Member, function: op.Func, kind: op.Kind}
}

// occurrences counts how often a member executed the same before: graphs are replayed under one number, and point-to-point operations
// have none. Where numbers only rise, which they do unless several graphs take turns, the last one tells it.
func (b *builder) occurrences() {
	type run struct {
		sequence uint64
		times    int32
	}
	runs := map[lane]run{}
	for i := range b.out.Ops {
		op := &b.out.Ops[i]
		l := laneOf(op)
		r := runs[l]
		switch {
		case r.times > 0 && op.Sequence < r.sequence:
			b.countOccurrences()
			return
		case op.Sequence > r.sequence:
			r = run{sequence: op.Sequence}
		}
		op.Occurrence = r.times
		r.times++
		runs[l] = r
	}
}

// countOccurrences counts them in any order.
func (b *builder) countOccurrences() {
	type key struct {
		lane
		sequence uint64
	}
	seen := map[key]int32{}
	for i := range b.out.Ops {
		op := &b.out.Ops[i]
		k := key{laneOf(op), op.Sequence}
		op.Occurrence = seen[k]
		seen[k]++
	}
}

func (b *builder) losses(seen segment.Seen) {
	l := &b.out.Loss
	l.Records, l.Damaged, l.Retaken, l.StorageErrno = seen.Records, seen.Damaged, seen.Retaken, b.f.StorageErrno
	l.Gone = seen.Gone + seen.Corrupt
	l.TextsMissing, l.CommsMissing = b.f.LostTexts, b.f.CommsBeyond
	for c := range segment.Codes {
		l.Overwritten += b.f.Overwritten[c]
		l.Lost += b.f.LostNowhere[c]
		l.LostByCode[c] += b.f.LostNowhere[c]
		l.ByCode[c] += b.f.Overwritten[c] + b.f.LostNowhere[c]
	}
	for i := range b.f.Threads {
		th := &b.f.Threads[i]
		for c, n := range th.Lost {
			l.Lost += n
			l.ByCode[c] += n
			l.LostByCode[c] += n
		}
		if from := b.t.ns(th.PendingFrom); from > 0 && th.Pending > 0 {
			if l.LostFromNS == 0 || from < l.LostFromNS {
				l.LostFromNS = from
			}
			l.LostToNS = max(l.LostToNS, b.t.ns(th.PendingTo))
		}
	}
	b.harm(&seen)
}

// harm says what of the file is damaged: its tables, its segments, and what contradicts itself.
func (b *builder) harm(seen *segment.Seen) {
	l := &b.out.Loss
	l.Harm = append(append(l.Harm, b.f.Harm...), seen.Harm()...)
	if l.Unreadable > 0 {
		l.Harm = append(l.Harm, fmt.Sprintf("%d records are shorter than what they are of", l.Unreadable))
	}
	if b.orphans > 0 && !b.f.Checked && l.Lost == 0 && l.Overwritten == 0 && len(b.f.Masks) < 2 { // nothing else explains them
		l.Harm = append(l.Harm, fmt.Sprintf("%d stops and states are of events whose start is not in the file", b.orphans))
	}
	if b.strays > 0 {
		l.Harm = append(l.Harm, fmt.Sprintf("%d records are of communicators or operations that the file does not name", b.strays))
	}
	told, lost := uint64(0), uint64(0)
	for code := range segment.Codes {
		told += b.told[code]
		for i := range b.f.Threads {
			lost += b.f.Threads[i].Lost[code]
		}
	}
	if told > lost {
		l.Harm = append(l.Harm, fmt.Sprintf("records tell of %d callbacks that were lost, and the table of threads of %d", told, lost))
	}
}
