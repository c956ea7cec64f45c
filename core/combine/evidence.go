package combine

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/event"
)

// evidence is what is known of the clocks of the inputs before anything is decided about them.
type evidence struct {
	files    readings          // what clock files say
	tracers  []tracerClock     // by node: what readings say of its tracer's clock
	devices  []deviceClocks    // by node: what launches and waits say of its devices
	kept     *offsets.Solution // offsets that follow from what systems say of their own clocks, by place of the node; nil: none
	relation relation          // what collectives say
	said     remarks
}

// gathering says what evidence is looked for.
type gathering struct {
	judging  bool // the clocks that are given are judged by collectives, so they are not made of them
	programs bool // compiled programs that are found on the way are needed to write
}

// gather finds all that relates the clocks. Where no time is to be touched it looks at the devices alone.
func gather(j *job.Job, in *inputs, what gathering) (*evidence, error) {
	ev := untold(in)
	var err error
	if !in.req.applies() {
		ev.devices, err = lookAtDevices(j, in)
		return ev, err
	}
	if ev.files, err = readClockFiles(j, in); err != nil {
		return nil, err
	}
	if ev.tracers, err = learnTracers(in.nodes, &ev.files); err != nil {
		return nil, err
	}
	ev.said.add(ev.files.said, sayIdle(in.nodes, ev.tracers))
	if ev.devices, err = lookAtDevices(j, in); err != nil {
		return nil, err
	}
	var said remarks
	if ev.kept, said, err = learnKept(in, ev.files.system); err != nil {
		return nil, err
	}
	ev.said.add(said)
	if ev.relation, err = learnRelation(j, in, ev, what); err != nil {
		return nil, err
	}
	ev.said.add(ev.relation.said)
	return ev, nil
}

// untold is the evidence of inputs about whose clocks nothing is looked for.
func untold(in *inputs) *evidence {
	n := len(in.nodes)
	return &evidence{tracers: make([]tracerClock, n), devices: make([]deviceClocks, n)}
}

// keptWithin is how far, at most, the system clock of a node was from what it is kept to while its trace was recorded, by reference, as the
// system says.
func (n *Node) keptWithin(system []clockfile.SystemClock) map[string]int64 {
	first, last, ok := n.spanNS()
	if !ok || !n.absolute {
		return nil
	}
	return clockfile.Kept(system, first, last)
}

// keptTogether is how far two clocks can be apart that are kept to the same reference, by the one that says least; ok is false where there is none.
func keptTogether(a, b map[string]int64) (boundNS int64, reference string, ok bool) {
	for r, e := range a {
		if f, both := b[r]; both && (!ok || e+f < boundNS || e+f == boundNS && r < reference) {
			boundNS, reference, ok = e+f, r, true
		}
	}
	return boundNS, reference, ok
}

// learnKept takes what the systems say of their own clocks, by node, for offsets: two clocks that are kept near one reference are near each other. It
// is a claim of these systems, which nothing here has measured.
func learnKept(in *inputs, system [][]clockfile.SystemClock) (*offsets.Solution, remarks, error) {
	var said remarks
	if in.req.Method != "auto" || in.alone() {
		return nil, said, nil
	}
	ofReference := in.nodes[in.ref].keptWithin(system[in.ref])
	d := &clockfile.Declared{Reference: in.ref, Nodes: []clockfile.DeclaredNode{{Node: in.ref}}}
	widest, kept := int64(0), map[string]bool{}
	for i, n := range in.nodes {
		if bound, to, ok := keptTogether(n.keptWithin(system[i]), ofReference); ok && i != in.ref {
			d.Nodes = append(d.Nodes, clockfile.DeclaredNode{Node: i, BoundNS: bound})
			widest, kept[to] = max(widest, bound), true
		}
	}
	if len(d.Nodes) == 1 {
		return nil, said, nil
	}
	s, err := offsets.FromDeclared(d, nil, offsets.Options{})
	if err != nil {
		return nil, said, err
	}
	said.note("the systems of %d nodes say that their clocks are kept near %s: they are within %d us of that of %s", len(d.Nodes)-1,
		strings.Join(slices.Sorted(maps.Keys(kept)), " and "), int64(math.Ceil(float64(widest)/1e3)), in.nodes[in.ref].ID)
	return s, said, nil
}

// ownClocks maps executions to the wall clocks of their own nodes.
func (ev *evidence) ownClocks(in *inputs) collective.Clock {
	plans := make([]*align.Plan, len(in.nodes))
	for k, n := range in.nodes {
		if tracer := &ev.tracers[k]; n.text == nil && tracer.clock != nil {
			plans[k] = align.PlanLines(n.layout, n.start, align.Clocks{Tracer: tracer.clock, TracerName: tracer.name, StartTracerNS: tracer.startNS}, align.HostTime)
		}
	}
	return func(s *event.Span, ns int64) (int64, int64) {
		k := in.nodeOf(s.Node)
		if p := plans[k]; p != nil {
			return p.Lines[s.Plane][s.Line].At(ns)
		}
		return ev.devices[k].onHost(s.Plane, ns)
	}
}

// lookAtDevices finds out, where it is asked for, what clocks the devices of each node are on.
func lookAtDevices(j *job.Job, in *inputs) ([]deviceClocks, error) {
	found := make([]deviceClocks, len(in.nodes))
	if in.req.DeviceClocks == "" || in.req.DeviceClocks == deviceClocksTrust {
		return found, nil
	}
	in.stage(j, "launches")
	return found, in.eachNode(j, func(ctx context.Context, k, _ int) (err error) {
		share := in.nodes[k].share(j)
		defer share.Done()
		found[k], err = devicesOf(ctx, in.nodes[k], in.req.DeviceClocks == deviceClocksCorrect)
		return withPath(err, in.nodes[k].Path)
	})
}
