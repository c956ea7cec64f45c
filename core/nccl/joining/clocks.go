package joining

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// The values of Job.Clocked.
const (
	byOneHost     = "one host"    // all processes read one clock
	byProbes      = "probes"      // clocks of hosts were measured
	byCollectives = "collectives" // nobody left before those had entered whom it needed
	ByRealtime    = "realtime"    // nothing relates them but what they say of the time
)

// align puts all recordings on the clock of the host of the first rank.
func (b *builder) align(ctx context.Context, opt Options) error {
	clocks := b.out.Clocks
	reference := int32(0)
	for i := range b.out.Ranks {
		if r := &b.out.Ranks[i]; r.World == 0 && r.Clock >= 0 {
			reference = r.Clock
		}
	}
	for i := range clocks {
		clocks[i].Method = ByRealtime
	}
	if len(clocks) == 0 {
		return nil
	}
	clocks[reference].Method, clocks[reference].BoundNS = byOneHost, 0
	b.out.Clocked = byOneHost
	if len(clocks) == 1 {
		return nil
	}
	s, nodes, err := b.solve(ctx, reference, opt)
	if err != nil {
		return err
	}
	b.out.Clocked = ByRealtime
	if s == nil {
		b.warn("nothing relates the clocks of the %d hosts: times of different hosts are compared as their clocks show them", len(clocks))
		return nil
	}
	maps := make([]*clock.Map, len(clocks))
	for i := range clocks {
		n, ok := s.Node(nodes[i])
		if !ok {
			b.warn("nothing relates the clock of %s to that of %s", clocks[i].Host, clocks[reference].Host)
			continue
		}
		clocks[i].OffsetNS, clocks[i].BoundNS, clocks[i].Method = n.OffsetNS, n.Bound.Max, s.Method
		maps[i] = n.Map
	}
	b.out.Clocked = s.Method
	g, _ := safe.NewGroup(ctx)
	g.SetLimit(opt.workers)
	for i, r := range b.out.Recordings {
		if m := maps[b.hostOf[i]]; m != nil && !m.IsIdentity() {
			g.Go(func() error {
				r.Shift(m.Instant)
				return nil
			})
		}
	}
	return g.Wait()
}

// solve finds the clocks of hosts: by probes where they were measured, else by operations. nil: nothing relates them.
func (b *builder) solve(ctx context.Context, reference int32, opt Options) (*offsets.Solution, []int, error) {
	nodes := make([]int, len(b.out.Clocks))
	for i := range nodes {
		nodes[i] = i
	}
	if len(opt.Clocks) > 0 {
		s, err := b.byProbes(ctx, nodes, reference, opt)
		if s != nil {
			s.Method = byProbes
		}
		return s, nodes, err
	}
	meetings := b.meetings()
	if meetings.Len() == 0 {
		return nil, nil, nil
	}
	g := offsets.NewGraph()
	for _, n := range nodes {
		g.Mention(offsets.Clock{Node: n})
	}
	g.Meet(meetings, offsets.Clock{Node: int(reference)})
	s, err := g.Solve(ctx, offsets.Clock{Node: int(reference)}, offsets.Options{})
	if err != nil {
		b.warn("the operations say nothing of the clocks: %v", err)
		return nil, nil, nil
	}
	b.out.Warnings = append(b.out.Warnings, s.Warnings...)
	s.Method = byCollectives
	return s, nodes, nil
}

// byProbes solves stamps whose files say which host a number is.
func (b *builder) byProbes(ctx context.Context, nodes []int, reference int32, opt Options) (*offsets.Solution, error) {
	byName := map[string]int{}
	g := offsets.NewGraph()
	stamps := 0
	for _, f := range opt.Clocks {
		if len(f.Stamps) == 0 {
			return nil, fault.Usagef("%s holds %s, expected raw stamps of probes", f.Path, f.Kind).WithHint("prlx probe writes them")
		}
		for _, p := range f.Probers {
			byName[p.Hostname] = p.Node
		}
		g.AddStamps(f.Stamps)
		stamps += len(f.Stamps)
	}
	for i := range b.out.Clocks {
		n, ok := byName[b.out.Clocks[i].Host]
		if !ok {
			n = -1 - i
			b.warn("no probe names the host %s", b.out.Clocks[i].Host)
		}
		nodes[i] = n
	}
	if nodes[reference] < 0 {
		return nil, fault.New(fault.Incompatible, "the probes name no host %s", b.out.Clocks[reference].Host).WithHint("give the stamps that prlx probe wrote on the hosts of this job")
	}
	return g.Solve(ctx, offsets.Clock{Node: nodes[reference]}, offsets.Options{})
}

// slots is into how many parts the time of a job is divided at most, of each of which the operations count that say most of the clocks: that
// of each communicator, and that between each two hosts. Parts begin at multiples of their length, a power of two, so that those of a job stay what they
// are when a recording begins a little later or goes on.
const slots = 256

// telling is what tells most of the clocks in one slot.
type telling struct {
	wideNS int64
	list   []offsets.Presence
}

// slotKey is a slot of a communicator, or of the way from one clock to another.
type slotKey struct {
	slot           int64
	comm, from, to int32
}

// meetings are the operations that hosts of several clocks took part in.
func (b *builder) meetings() *offsets.Meetings {
	first, last := int64(0), int64(1)
	for _, r := range b.out.Recordings {
		if first == 0 || r.FirstNS > 0 && r.FirstNS < first {
			first = r.FirstNS
		}
		last = max(last, r.LastNS)
	}
	shift := uint(max(bits.Len64(uint64(max(last-first, 1)/slots)), 1))
	best := map[slotKey]telling{}
	keep := func(k slotKey, atNS, wideNS int64, list ...offsets.Presence) {
		k.slot = min(max(atNS, first), last) >> shift
		if had, ok := best[k]; !ok || wideNS < had.wideNS {
			best[k] = telling{wideNS, list}
		}
	}
	for i := range b.out.Matches {
		m := &b.out.Matches[i]
		if list := b.presences(m); len(list) > 1 {
			entered, left := int64(math.MinInt64), int64(math.MaxInt64)
			for _, p := range list {
				if p.Gives {
					entered = max(entered, p.EnterNS)
				}
				if p.Takes {
					left = min(left, p.LeftNS)
				}
			}
			keep(slotKey{comm: m.Comm, from: -1}, list[0].EnterNS, left-entered, list...)
		}
		b.deliveries(m, keep)
	}
	keys := make([]slotKey, 0, len(best))
	for k := range best {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y slotKey) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.comm, y.comm), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	// Our recorder counts by CLOCK_MONOTONIC, which nobody sets; other plug-ins read the wall clock.
	out := &offsets.Meetings{Steady: !slices.ContainsFunc(b.out.Recordings, func(r *operation.Recording) bool { return r.Writer != "" })}
	for i := range b.out.Clocks {
		out.Clock(offsets.Clock{Node: i})
	}
	for _, k := range keys {
		out.Add(best[k].list)
	}
	return out
}

// way is what a rank sends to another on a channel.
type way struct {
	from, to int32
	channel  uint8
}

// deliveries is what the proxies of an operation say of the clocks: nothing comes from a rank before that has given it to the network.
func (b *builder) deliveries(m *operation.Match, keep func(k slotKey, atNS, wideNS int64, list ...offsets.Presence)) {
	var sent map[way]offsets.Presence
	for _, sends := range []bool{true, false} {
		for i := range b.out.Of(m) {
			part := &b.out.Of(m)[i]
			r, op := b.out.Recordings[part.Recording], b.out.Op(part)
			for k := op.ProxyFrom; k < op.ProxyTo; k++ {
				p := &r.Proxies[k]
				c := b.hostOf[part.Recording]
				switch {
				case p.Send != sends:
				case sends && p.SentNS > 0:
					if sent == nil {
						sent = map[way]offsets.Presence{}
					}
					sent[way{part.Seat, p.Peer, p.Channel}] = offsets.Presence{Clock: c, Gives: true, EnterNS: p.SentNS, LeftNS: p.SentNS}
				case !sends && p.CameNS > 0:
					s, ok := sent[way{p.Peer, part.Seat, p.Channel}]
					if !ok || s.Clock == c {
						continue
					}
					came := offsets.Presence{Clock: c, Takes: true, EnterNS: p.CameNS, LeftNS: p.CameNS}
					key, wide := slotKey{comm: -1, from: s.Clock, to: c}, came.LeftNS-s.EnterNS
					if s.Clock > came.Clock {
						s, came = came, s
					}
					keep(key, p.CameNS, wide, s, came)
				}
			}
		}
	}
}

// presences is what an operation says of the clocks, ascending by clock; nothing where too few of its members are known.
func (b *builder) presences(m *operation.Match) []offsets.Presence {
	at := map[int32]*offsets.Presence{}
	gives, takes := 0, 0
	for i := range b.out.Of(m) {
		p := &b.out.Of(m)[i]
		give, take := operation.Role(m, b.out.Op(p), p.Seat)
		entered, left := b.extent(p)
		give, take = give && entered > 0, take && left > 0
		if entered == 0 || left == 0 && take {
			continue
		}
		left = max(left, entered)
		c := b.hostOf[p.Recording]
		q := at[c]
		if q == nil {
			q = &offsets.Presence{Clock: c, LeftNS: left}
			at[c] = q
		}
		if give && (!q.Gives || entered > q.EnterNS) {
			q.Gives, q.EnterNS = true, entered
			gives++
		}
		if take && (!q.Takes || left < q.LeftNS) {
			q.Takes, q.LeftNS = true, left
			takes++
		}
		if q.EnterNS == 0 {
			q.EnterNS = entered
		}
	}
	if len(at) < 2 || gives == 0 || takes == 0 {
		return nil
	}
	out := make([]offsets.Presence, 0, len(at))
	for c := range int32(len(b.out.Clocks)) {
		if q := at[c]; q != nil && q.LeftNS >= q.EnterNS {
			out = append(out, *q)
		}
	}
	return out
}

// extent bounds when a member executed an operation: it entered no earlier, and had left no later. 0: not known.
func (b *builder) extent(p *operation.Part) (entered, left int64) {
	r := b.out.Recordings[p.Recording]
	op := &r.Ops[p.Op]
	switch {
	case op.Occurrence > 0 && op.Kind == operation.Collective: // a replay of a graph, whose launch is not recorded
		entered = op.StartNS
	case op.Launch >= 0:
		entered = r.Launch[op.Launch].StartNS
	case op.API >= 0:
		entered = r.APIs[op.API].StartNS
	}
	for i := op.KernelFrom; i < op.KernelTo; i++ {
		k := &r.Kernels[i]
		if !k.Stopped {
			return entered, 0
		}
		at := k.CallStopNS
		if k.BoundNS >= 0 {
			at = min(at, k.StopNS+k.BoundNS)
			entered = max(entered, k.StartNS-k.BoundNS)
		} else {
			entered = max(entered, k.CallStartNS-operation.SeenNS)
		}
		left = max(left, at)
	}
	for i := op.ProxyFrom; i < op.ProxyTo && op.KernelFrom == op.KernelTo; i++ {
		if r.Proxies[i].StopNS == 0 {
			return entered, 0
		}
		left = max(left, r.Proxies[i].StopNS)
	}
	return entered, left
}
