package combine

import (
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// tracerClock is what is known of the clock of a node's tracer.
type tracerClock struct {
	clock             *clock.Map // R -> S; nil: nothing
	name              string
	startNS           int64 // R at the start of the collector
	snapshots, missed int   // readings, and those that their cadence promises and that are not there
	steps             []Step
	idle              *string // a clock of which there are readings, and which stamped no line; nil: none
	warnings          sentences
}

// learnTracers finds out what readings say of the tracers of all nodes.
func learnTracers(nodes []*Node, k *readings) ([]tracerClock, error) {
	out := make([]tracerClock, len(nodes))
	for i, n := range nodes {
		var err error
		if out[i], err = tracerOf(n, k.snapshots[i], k.metas[k.numbers[i]]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tracerOf finds a node's map R -> S, from its snapshots plane or a snapshot file that is given for it.
func tracerOf(n *Node, given *clockfile.Snapshots, meta clockfile.NodeMeta) (c tracerClock, err error) {
	if n.text != nil || n.onHost {
		if given != nil && source.IsTracer(given.TracerClock) {
			c.warnings.say("its snapshots are not used: %s", n.withoutTracer())
		}
		return c, nil
	}
	pairs, fromStart, name := n.facts.Snapshots, false, n.facts.SnapshotsClock
	if given != nil {
		name = given.TracerClock
	}
	if n.strange(name) && (given != nil || len(pairs) > 0) {
		if source.IsTracer(name) {
			c.warnings.say("its clock snapshots are of %s, which stamped none of its lines: they move nothing", name)
		} else {
			c.idle = &name
		}
		return c, nil
	}
	if given != nil {
		start, from := n.startOf(meta)
		abs, wall, tracer, err := given.Resolve(start)
		if err != nil {
			return c, withPath(err, n.Path)
		}
		c.warnings.say("the snapshot file's wall clock is read as %s, its tracer clock as %s", wall, tracer)
		if wall == clockfile.Relative && from != "" {
			c.warnings.say("start_walltime_ns is in no clock file: the recording began at %d ns, as %s of the trace says", start.StartWalltimeNS, from)
		}
		pairs, fromStart = abs, tracer == clockfile.Relative && start.StartTracerNS <= 0
	}
	c.snapshots = len(pairs)
	if len(pairs) == 0 {
		return c, nil
	}
	m, report, err := offsets.FromSnapshots(pairs, offsets.Options{})
	if err != nil {
		return c, err
	}
	c.warnings = append(c.warnings, report.Warnings...)
	c.missed, c.steps = missing(pairs), stepsOf(report.Steps)
	c.clock, c.name = m, name
	if fromStart { // so do the offsets of events
		c.warnings.say("start_gpu_ns is in no clock file: the tracer's clock counts from the collector's start, as the snapshots do")
		return c, nil
	}
	c.startAt(n, meta)
	return c, nil
}

// withoutTracer says why no line of a trace is on its tracer's clock.
func (n *Node) withoutTracer() string {
	if n.onHost {
		return "prlx has put its device lines on the host's clock before"
	}
	return "the times of a Chrome trace are on the host's clock, where its profiler has put them"
}

// startOf completes what clock files say about the start of a node's recording by what its trace says, and names where that stands;
// "" when nothing was missing, or the trace does not say it either.
func (n *Node) startOf(meta clockfile.NodeMeta) (start clockfile.NodeMeta, from string) {
	if meta.StartWalltimeNS > 0 || !n.absolute {
		return meta, ""
	}
	from = "the base of the device lines"
	base, ok := n.collectorStart()
	if !ok {
		base, from = n.start, "profile_start_time"
	}
	meta.StartWalltimeNS = base
	return meta, from
}

// missing counts the readings that the snapshots' own cadence promises and that are not there: gaps beyond 1.5 times the median
// spacing, in spacings.
func missing(pairs []clock.Pair) int {
	if len(pairs) < 3 {
		return 0
	}
	at := make([]int64, len(pairs))
	for i, p := range pairs {
		at[i] = p.X
	}
	slices.Sort(at)
	gaps := make([]int64, 0, len(at)-1)
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i]-at[i-1])
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	median := sorted[len(sorted)/2]
	n := int64(0)
	for _, g := range gaps {
		if median > 0 && g > median+median/2 {
			n += (g+median/2)/median - 1
		}
	}
	return int(min(n, math.MaxInt32))
}

// startAt finds R at the start of the collector, from which offsets on R count: as the clock files' meta says, else R at the
// wall-clock instant that the exporter gave the device lines.
func (c *tracerClock) startAt(n *Node, meta clockfile.NodeMeta) {
	if c.startNS = meta.StartTracerNS; c.startNS > 0 {
		return
	}
	base, ok := n.collectorStart()
	if !ok {
		base = n.start
	}
	c.startNS, _, _ = c.clock.Inverse().At(base)
	c.warnings.say("start_gpu_ns is in no clock file: the tracer's clock at the collector's start is taken from the snapshots (%d ns)", c.startNS)
}

// collectorStart finds the instant of the wall clock at which the collector started: the exporter gives it, as their base, to the
// snapshots and to the lines that the tracer stamped. The session began earlier.
func (n *Node) collectorStart() (ns int64, ok bool) {
	if n.facts.HasSnapshots {
		ns, ok = n.facts.SnapshotsBaseNS, true
	}
	for _, p := range n.layout {
		if !ok && len(p.Lines) > 0 && p.Name != "" && isDeviceName(p.Name) {
			ns, ok = p.Lines[0].TimestampNS, true
		}
	}
	if ns < source.AbsoluteNS {
		ns += n.start
	}
	return ns, ok
}

func isDeviceName(name string) bool {
	_, _, ok := source.Device(name)
	return ok
}

// strange reports whether the clock that snapshots name is not that of the lines which a tracer stamped. Where there is no such line, a tracer's
// own clock is not strange.
func (n *Node) strange(clock string) bool {
	if source.Stamps(n.layout, clock) {
		return false
	}
	return !source.IsTracer(clock) || source.Stamps(n.layout, source.AnyTracer)
}

// noteIdle says which readings move nothing, and why.
func sayIdle(nodes []*Node, tracers []tracerClock) (said remarks) {
	idle := map[string][]string{} // nodes with such readings, by the clock
	for k, n := range nodes {
		if name := tracers[k].idle; name != nil {
			idle[*name] = append(idle[*name], n.ID)
		}
	}
	clocks := make([]string, 0, len(idle))
	for name := range idle {
		clocks = append(clocks, name)
	}
	slices.Sort(clocks)
	for _, name := range clocks {
		of := idle[name]
		shown := strings.Join(of[:min(len(of), 4)], ", ")
		if len(of) > 4 {
			shown += andMore(len(of) - 4)
		}
		said.note("clock readings of %s are there (%s): no line of the traces is on that clock, so they move nothing", name, shown)
	}
	return said
}

// RoughTracer is a tracer clock good enough to tell which lines are on it: the snapshots' first reading, no drift.
func RoughTracer(f *source.Facts) align.Clocks {
	p := f.Snapshots[0]
	return align.Clocks{Tracer: clock.Shift(p.Y-p.X, 0), TracerName: f.SnapshotsClock, StartTracerNS: p.X}
}
