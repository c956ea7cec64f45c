package clocks

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/nccl/operation"
)

// facts are what bounds the clock of one GPU, reduced to the tightest of each stretch of time.
type facts struct {
	launches tightest // host: the launch or the last data for the kernel, GPU: the start or the stop
	seen     tightest // GPU: a stamp, host: the callback that told it
	told     []fact   // of seen, by time
	grain    grain
	from, to int64 // of the stamps
}

// fact is two instants, each on the clock that showed it.
type fact struct{ host, gpu int64 }

// facts collects what kernels say of clocks, and the flaws of stamps that can be told without them.
func (f *Fitted) facts(r *operation.Recording) []*facts {
	seats := int32(0)
	for i := range r.Members {
		seats = max(seats, r.Members[i].Seat+1)
	}
	if int(seats) > len(r.Members) {
		seats = int32(len(r.Members)) // a seat that nobody has
	}
	f.GPUs = make([]GPU, seats)
	out := make([]*facts, seats)
	for i := range out {
		f.GPUs[i].Seat = int32(i)
		out[i] = &facts{launches: tightest{side: +1}, seen: tightest{side: -1}}
	}
	f.repeats(r)
	each := func(visit func(i int, seat int32)) {
		for i := range r.Kernels {
			if seat := seatOf(r, &r.Kernels[i]); seat >= 0 && seat < seats {
				visit(i, seat)
			}
		}
	}
	each(func(i int, seat int32) {
		if k := &r.Kernels[i]; k.GPUStartNS > 0 || k.GPUStopNS > 0 {
			f.GPUs[seat].Kernels++
		}
		f.told(r, i, out[seat])
	})
	for _, o := range out {
		o.told = o.seen.list()
	}
	each(func(i int, seat int32) {
		f.launched(r, i, out[seat])
		f.handed(r, i, out[seat])
	})
	return out
}

// told takes the callbacks of a kernel, and finds what its stamps cannot be. What the host has read was written before, whichever operation wrote it.
func (f *Fitted) told(r *operation.Recording, i int, into *facts) {
	k := &r.Kernels[i]
	if k.Stopped && k.GPUStopNS == 0 && k.GPUStartNS > 0 || k.GPUStopNS > 0 && k.GPUStartNS == 0 {
		f.Flaws[i] |= zero
	}
	if k.GPUStartNS > 0 && k.GPUStopNS > 0 && k.GPUStopNS < k.GPUStartNS {
		f.Flaws[i] |= stopBeforeStart
	}
	if usable(k.GPUStartNS) {
		into.stamp(k.GPUStartNS)
	}
	if usable(k.GPUStartNS) && usable(k.CallStartNS) {
		into.seen.add(fact{k.CallStartNS, k.GPUStartNS})
	}
	if usable(k.GPUStopNS) && usable(k.CallStopNS) {
		into.stamp(k.GPUStopNS)
		into.seen.add(fact{k.CallStopNS, k.GPUStopNS})
	}
}

// launched takes the launch of a kernel. Where the host's count of operations was ahead of the GPU's, the stamp is an older operation's and may have
// come before the launch: what callbacks contradict bounds nothing.
func (f *Fitted) launched(r *operation.Recording, i int, from *facts) {
	k := &r.Kernels[i]
	launch := launchOf(r, k)
	if !usable(k.GPUStartNS) || !usable(launch) || f.Flaws[i] != 0 {
		return
	}
	f.after(i, fact{launch, k.GPUStartNS}, from)
}

// handed takes what a proxy handed to a kernel: it ends after it has used the last of it. This ties clocks where GPUs always have work, and no kernel
// starts soon after its launch. With the protocol SIMPLE a kernel waits for the proxy's word, which NCCL gives after the profiler's (recvProxyProgress
// in net.cc); with LL and LL128 it looks at the data itself, and may be ahead of the proxy. A send or receive does not say which it uses.
func (f *Fitted) handed(r *operation.Recording, i int, from *facts) {
	k := &r.Kernels[i]
	if !usable(k.GPUStopNS) || f.Flaws[i] != 0 {
		return
	}
	op := &r.Ops[k.Op]
	if r.Name(op.Protocol) != "SIMPLE" {
		return
	}
	for n := max(op.ProxyFrom, 0); n < op.ProxyTo && int(n) < len(r.Proxies); n++ {
		if p := &r.Proxies[n]; !p.Send && !p.Foreign && p.Channel == k.Channel && usable(p.HandedNS) {
			f.after(i, fact{p.HandedNS, k.GPUStopNS}, from)
		}
	}
}

// after takes an instant of the host that came before one of a kernel.
func (f *Fitted) after(i int, l fact, from *facts) {
	if contradicts(from.told, l, from.grain.step()) {
		f.Flaws[i] |= beforeLaunch
		return
	}
	from.launches.add(l)
}

func (f *facts) stamp(ns int64) {
	f.grain.add(ns)
	if f.from == 0 || ns < f.from {
		f.from = ns
	}
	f.to = max(f.to, ns)
}

// repeats finds stamps that several operations of a channel have. The two halves of a send and a receive, and all operations of one launch, run in
// one kernel and may share them.
func (f *Fitted) repeats(r *operation.Recording) {
	type stamp struct {
		gpu    int64
		kernel int32
	}
	type lane struct {
		member int32
		chan_  uint8
	}
	lanes := map[lane]*[]stamp{}
	last, list := lane{member: operation.None}, (*[]stamp)(nil)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		m := memberOf(r, k)
		if m < 0 || k.GPUStartNS <= 0 {
			continue
		}
		if l := (lane{m, k.Channel}); l != last {
			if last, list = l, lanes[l]; list == nil {
				list = &[]stamp{}
				lanes[l] = list
			}
		}
		*list = append(*list, stamp{k.GPUStartNS, int32(i)})
	}
	for _, list := range lanes {
		inOrder := func(a, b stamp) int { return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.kernel, b.kernel)) }
		if !slices.IsSortedFunc(*list, inOrder) {
			slices.SortFunc(*list, inOrder)
		}
		for i := 1; i < len(*list); i++ {
			a, b := (*list)[i-1], (*list)[i]
			if a.gpu == b.gpu && !together(r, a.kernel, b.kernel) {
				f.Flaws[a.kernel] |= repeated
				f.Flaws[b.kernel] |= repeated
			}
		}
	}
}

// together reports whether two kernels may be one: they have a launch in common, or, of operations whose launch is not told, were scheduled by
// the same call.
func together(r *operation.Recording, a, b int32) bool {
	x, y := &r.Ops[r.Kernels[a].Op], &r.Ops[r.Kernels[b].Op]
	if r.Kernels[a].Op == r.Kernels[b].Op {
		return true
	}
	if x.Captured || y.Captured {
		return x.Launch == y.Launch && x.Occurrence == y.Occurrence
	}
	return x.Launch >= 0 && x.Launch == y.Launch || x.Launch < 0 && y.Launch < 0 && x.API >= 0 && x.API == y.API
}

const (
	// cellShift makes stretches of 67 ms, of whose facts the tightest are kept.
	cellShift = 26
	// mostCells is how many stretches there are before they become longer.
	mostCells = 1 << 14
	keptOf    = 2
)

// tightest keeps of each stretch of time the facts that leave the clocks the least room.
type tightest struct {
	side  int64 // +1: the GPU's instant is the later one, so that it less the host's is an upper bound of their difference
	shift uint
	cells map[int64]*cell
	count int
	at    int64 // the cell that was looked at last, and its stretch
	last  *cell
}

// cell is the facts that are kept of one stretch, ascending by room.
type cell struct {
	kept [keptOf]fact
	n    int
}

func (t *tightest) room(f fact) int64 { return t.side * (f.gpu - f.host) }

func (t *tightest) add(f fact) {
	t.count++
	if t.cells == nil {
		t.cells, t.shift = map[int64]*cell{}, cellShift
	}
	t.put(f)
	for len(t.cells) > mostCells && t.shift < 60 {
		old := t.list()
		t.shift++
		clear(t.cells)
		t.last = nil
		for _, f := range old {
			t.put(f)
		}
	}
}

func (t *tightest) put(f fact) {
	if at := f.host >> t.shift; t.last == nil || at != t.at {
		t.at, t.last = at, t.cells[at]
		if t.last == nil {
			t.last = &cell{}
			t.cells[at] = t.last
		}
	}
	c := t.last
	i := c.n
	for i > 0 && cmp.Or(cmp.Compare(t.room(c.kept[i-1]), t.room(f)), cmp.Compare(c.kept[i-1].host, f.host)) >= 0 {
		i--
	}
	if i == keptOf {
		return
	}
	c.n = min(c.n+1, keptOf)
	copy(c.kept[i+1:c.n], c.kept[i:])
	c.kept[i] = f
}

// list returns the facts by time.
func (t *tightest) list() (out []fact) {
	for _, c := range t.cells {
		out = append(out, c.kept[:c.n]...)
	}
	slices.SortFunc(out, func(a, b fact) int { return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.gpu, b.gpu)) })
	return out
}

// bind makes an edge of the facts. A stamp is at most its grain earlier than what it stamps.
func (f *facts) bind(graph *offsets.Graph, host, gpu offsets.Clock, grainNS int64) {
	edge := graph.Between(host, gpu, offsets.Launches)
	for _, s := range f.told {
		edge.Before(gpu, s.gpu, s.host)
	}
	for _, l := range f.launches.list() {
		edge.Before(host, l.host, l.gpu+grainNS-1)
	}
}

// reachNS and steepest are how far around a launch callbacks are looked at that contradict it, and by how much the clocks may move apart meanwhile.
const (
	reachNS  = int64(1e9)
	steepest = 200e-6
)

// contradicts reports whether a callback near a launch shows the GPU's clock farther ahead than the launch allows.
func contradicts(told []fact, l fact, grainNS int64) bool {
	i, _ := slices.BinarySearchFunc(told, l.host-reachNS, func(f fact, at int64) int { return cmp.Compare(f.host, at) })
	for ; i < len(told) && told[i].host <= l.host+reachNS; i++ {
		s := told[i]
		slack := int64(float64(max(s.host-l.host, l.host-s.host)) * steepest)
		if s.gpu-s.host > l.gpu+grainNS-l.host+slack {
			return true
		}
	}
	return false
}
