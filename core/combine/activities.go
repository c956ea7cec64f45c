package combine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
)

// What ranks did between their collectives, and when their hosts launched these: as much of it as traces show.

// What is kept of all traces together, and of one at least: as many activities of devices, and as many of hosts.
const (
	mostActivities  = 6 << 20
	leastActivities = 1 << 15
)

// activity is one, on the clock of the reference.
type activity struct {
	from, to int64
	name     int32 // place in activityNames.all
	line     int32 // of its process
	process  int32
}

// call is a call of a host that launched something.
type call struct {
	process int32
	number  uint64
}

// nodeActivities is what one trace shows.
type nodeActivities struct {
	names   map[string]int32
	all     []straggler.Did
	device  []activity                 // kernels and copies
	host    []activity                 // on threads of hosts, but what follows
	notable []activity                 // data loading, garbage collection
	calls   map[int32]map[uint64]int64 // by party and number: when a call began, on the clock of the reference
	threads map[[2]int32]int           // by process and line: how many numbered calls it has
	most    int                        // of devices, and of hosts
	dropped int64

	launched map[int32]int64 // by event: when it was launched
}

// place is where a collective of a device begins.
type place struct {
	party, process, line int32
	ns                   int64
}

// activities finds out what ranks did, and when collectives were launched.
func (b *jobBuilder) activities(j *job.Job) error {
	b.in.stage(j, "activities")
	begins := map[place]int32{}
	for e, i := range b.spanOf {
		s := &b.m.Part.Spans[i]
		begins[place{s.Node, s.Plane, s.Line, s.StartNS}] = int32(e)
	}
	read := make([]*nodeActivities, len(b.in.nodes))
	err := b.in.eachNode(j, func(ctx context.Context, k, _ int) (err error) {
		share := b.in.nodes[k].share(j)
		defer share.Done()
		read[k], err = b.readActivities(ctx, k, begins)
		return withPath(err, b.in.nodes[k].Path)
	})
	if err != nil {
		return err
	}
	into := b.job
	into.Doing = make([][]straggler.Work, len(into.Ranks))
	names := map[straggler.Did]int32{}
	seen, dropped := false, int64(0)
	for k, a := range read {
		if a == nil {
			continue
		}
		seen, dropped = true, dropped+a.dropped
		for e, ns := range a.launched {
			into.Events[e].LaunchNS = ns
		}
		to := make([]int32, len(a.all))
		for i, d := range a.all {
			n, ok := names[d]
			if !ok {
				n = int32(len(into.Names))
				names[d], into.Names = n, append(into.Names, d)
			}
			to[i] = n
		}
		b.doingOf(k, a, to)
	}
	if !seen {
		into.Doing = nil
	}
	if dropped > 0 {
		b.said.note("of what ranks did between collectives %d events are more than are kept and do not explain anything", dropped)
	}
	return nil
}

// readActivities reads one trace; nil: it shows nothing of this kind.
func (b *jobBuilder) readActivities(ctx context.Context, k int, begins map[place]int32) (*nodeActivities, error) {
	n := b.in.nodes[k]
	trace, ok := n.Trace.(source.Active)
	if !ok || n.Src == nil {
		return nil, nil
	}
	partyOf := b.partiesOf(k)
	a := &nodeActivities{names: map[string]int32{}, calls: map[int32]map[uint64]int64{}, threads: map[[2]int32]int{}, launched: map[int32]int64{}, most: max(mostActivities/len(b.in.nodes), leastActivities)}
	launchedBy := map[int32]call{} // by event; its process is the party
	err := trace.Activities(ctx, n.Src, func(x *source.Activity) {
		if x.Process < 0 || x.Line < 0 {
			return
		}
		party := partyOf(x.Process)
		if party < 0 {
			return
		}
		span := event.Span{Node: party, Plane: x.Process, Line: x.Line}
		from, _ := b.at(&span, x.Start.NS)
		if x.Number != 0 {
			if x.Role == source.ActiveHost {
				a.threads[[2]int32{x.Process, x.Line}]++
				if a.calls[party] == nil {
					a.calls[party] = map[uint64]int64{}
				}
				a.calls[party][x.Number] = from
			} else if e, ok := begins[place{party, x.Process, x.Line, x.Start.NS}]; ok {
				launchedBy[e] = call{process: party, number: x.Number}
			}
		}
		to, _ := b.at(&span, x.EndNS)
		a.add(x, activity{from: from, to: to, line: x.Line, process: x.Process})
	})
	if err != nil {
		return nil, err
	}
	for e, c := range launchedBy {
		if ns, ok := a.calls[c.process][c.number]; ok && ns != 0 {
			a.launched[e] = ns
		}
	}
	a.calls = nil
	return a, nil
}

// partiesOf says by process of a trace whose it is; -1: nobody's.
func (b *jobBuilder) partiesOf(k int) func(process int32) int32 {
	n, first := b.in.nodes[k], int32(slices.IndexFunc(b.in.parties, func(p party) bool { return p.node == k }))
	of := n.nodesOfProcesses()
	return func(process int32) int32 {
		switch {
		case of == nil:
			return first
		case int(process) >= len(of) || of[process] < 0:
			return -1
		}
		return first + int32(of[process])
	}
}

// add keeps an activity.
func (a *nodeActivities) add(x *source.Activity, one activity) {
	if one.to <= one.from {
		return
	}
	list, kind := &a.host, straggler.DidHost
	switch {
	case x.Role == source.ActiveKernel && source.Communicates(x.Name):
		list, kind = &a.device, straggler.DidCollective
	case x.Role == source.ActiveKernel:
		list, kind = &a.device, straggler.DidKernel
	case x.Role == source.ActiveCopy:
		list, kind = &a.device, straggler.DidCopy
	case source.CollectsGarbage(x.Name):
		list, kind = &a.notable, straggler.DidGarbage
	case source.LoadsData(x.Name):
		list, kind = &a.notable, straggler.DidData
	case strings.HasPrefix(string(x.Name), "ProfilerStep"): // it holds all the rest
		return
	}
	if len(*list) >= a.most {
		a.dropped++
		return
	}
	n, ok := a.names[string(x.Name)]
	if !ok {
		n = int32(len(a.all))
		name := string(x.Name)
		a.names[name], a.all = n, append(a.all, straggler.Did{Name: name, Kind: kind})
	}
	one.name = n
	*list = append(*list, one)
}

// doingOf says what the ranks of one trace did: what their devices executed, and where these had nothing to do what hosts did: data loading and garbage
// collection first, then what the threads that launch did, innermost ranges first.
func (b *jobBuilder) doingOf(k int, a *nodeActivities, names []int32) {
	partyOf := b.partiesOf(k)
	byProcess := map[int32][]straggler.Work{} // of devices
	for _, communicates := range []bool{false, true} {
		for process, list := range group(a.device, func(x *activity) (int32, bool) {
			return x.process, (a.all[x.name].Kind == straggler.DidCollective) == communicates
		}) {
			byProcess[process] = fill(byProcess[process], oneAfterAnother(list, names))
		}
	}
	notable := group(a.notable, func(x *activity) (int32, bool) { return partyOf(x.process), true })
	host := group(a.host, func(x *activity) (int32, bool) { return partyOf(x.process), true })
	own := map[int32][]straggler.Work{} // of hosts, by party
	for r, seat := range b.seats {
		if b.in.parties[seat.slot.Node].node != k {
			continue
		}
		hosts, done := own[seat.slot.Node]
		if !done {
			hosts = fill(oneAfterAnother(notable[seat.slot.Node], names), a.threadsOf(host[seat.slot.Node], names))
			own[seat.slot.Node] = hosts
		}
		var device []straggler.Work
		for _, p := range seat.processes {
			device = fill(device, byProcess[p])
		}
		b.job.Doing[r] = fill(device, hosts)
	}
}

// group sorts activities out.
func group(list []activity, by func(*activity) (int32, bool)) map[int32][]activity {
	out := map[int32][]activity{}
	for i := range list {
		if key, ok := by(&list[i]); ok {
			out[key] = append(out[key], list[i])
		}
	}
	for _, l := range out {
		slices.SortFunc(l, func(x, y activity) int {
			return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.to, x.to), cmp.Compare(x.process, y.process), cmp.Compare(x.line, y.line), cmp.Compare(x.name, y.name))
		})
	}
	return out
}

// oneAfterAnother makes work of activities that are sorted: of several at a time the one that began first.
func oneAfterAnother(list []activity, names []int32) (out []straggler.Work) {
	until := int64(-1 << 63)
	for i := range list {
		x := &list[i]
		if from := max(x.from, until); from < x.to {
			out, until = append(out, straggler.Work{Name: names[x.name], FromNS: from, ToNS: x.to}), x.to
		}
	}
	return out
}

// threadsOf is what the threads of hosts did: innermost ranges, of the thread that launches most first. Where none launches all threads count.
func (a *nodeActivities) threadsOf(list []activity, names []int32) (out []straggler.Work) {
	byThread := map[[2]int32][]activity{}
	launches := false
	for i := range list {
		at := [2]int32{list[i].process, list[i].line}
		byThread[at] = append(byThread[at], list[i])
		launches = launches || a.threads[at] > 0
	}
	threads := make([][2]int32, 0, len(byThread))
	for at := range byThread {
		if !launches || a.threads[at] > 0 {
			threads = append(threads, at)
		}
	}
	slices.SortFunc(threads, func(x, y [2]int32) int {
		return cmp.Or(cmp.Compare(a.threads[y], a.threads[x]), cmp.Compare(len(byThread[y]), len(byThread[x])), cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	for _, at := range threads {
		out = fill(out, innermost(byThread[at], names))
	}
	return out
}

// innermost makes work of the ranges of one thread, which are sorted and nest: at each instant the innermost one.
func innermost(list []activity, names []int32) (out []straggler.Work) {
	var open []activity
	at := int64(0)
	until := func(ns int64) { // the innermost open range, up to ns
		for len(open) > 0 {
			top := &open[len(open)-1]
			if to := min(top.to, ns); to > at {
				out, at = append(out, straggler.Work{Name: names[top.name], FromNS: at, ToNS: to}), to
			}
			if top.to > ns {
				return
			}
			open = open[:len(open)-1]
		}
	}
	for i := range list {
		until(list[i].from)
		at = max(at, list[i].from)
		open = append(open, list[i])
	}
	until(1<<63 - 1)
	return out
}

// fill puts more where base has nothing. Both ascend and overlap with nothing of their own.
func fill(base, more []straggler.Work) []straggler.Work {
	if len(base) == 0 || len(more) == 0 {
		return append(base, more...)
	}
	out := make([]straggler.Work, 0, len(base)+len(more))
	i := 0
	for _, w := range more {
		for w.FromNS < w.ToNS {
			for i < len(base) && base[i].ToNS <= w.FromNS {
				out = append(out, base[i])
				i++
			}
			to := w.ToNS
			if i < len(base) {
				to = min(to, base[i].FromNS)
			}
			if w.FromNS < to {
				out = append(out, straggler.Work{Name: w.Name, FromNS: w.FromNS, ToNS: to})
			}
			if i == len(base) {
				break
			}
			w.FromNS = max(to, base[i].ToNS)
		}
	}
	return append(out, base[i:]...)
}

// sayWhat fills what documents say of an operation and its size.
func sayWhat(o *straggler.Op, key string, kind event.Kind, members int, bytes int64) {
	o.Name = key
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		o.Name = key[i+1:]
	}
	if o.Kind, o.Members = kind.String(), members; kind == event.Unknown {
		o.Kind = ""
	}
	switch kind {
	case event.AllGather, event.Gather: // what one member gives is written, and all of it is meant
		bytes *= int64(members)
	case event.Barrier, event.Unknown:
		bytes = 0
	}
	o.Bytes = bytes
}

// seat is where a rank's collectives were recorded.
func (b *jobBuilder) seat(r int32, s *event.Span) {
	for int(r) >= len(b.seats) {
		b.seats = append(b.seats, rankSeat{})
	}
	at := &b.seats[r]
	at.slot.Node, at.slot.Device = s.Node, s.Device
	if !slices.Contains(at.processes, s.Plane) {
		at.processes = append(at.processes, s.Plane)
	}
}
