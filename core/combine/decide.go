package combine

import (
	"path/filepath"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/job"
)

// clocks is what was decided: which map every line of every node goes through, and where the result goes.
type clocks struct {
	*related
	at        *placed
	marks     marks
	devices   []deviceClocks // by node
	shares    sharing        // which nodes share the clock of another
	reference string         // on whose clock the times are
	to        destination
	repair    *Repair   // nil unless clocks were to be repaired
	matched   *matching // the collectives, where they were looked for on the way
	because   string    // why no clock was corrected, "" one was
	said      remarks
}

// decide learns the clocks of the inputs and places every line. It reads no event of a trace but collectives.
func decide(j *job.Job, in *inputs, to destination) (*clocks, error) {
	ev, err := gather(j, in, gathering{programs: to.format == FormatChrome})
	if err != nil {
		return nil, err
	}
	r, err := relate(j, in, ev)
	if err != nil {
		return nil, err
	}
	c := &clocks{related: r, devices: ev.devices, shares: ev.relation.shares, matched: ev.relation.matched}
	c.said.add(ev.said, r.said)
	var notes []string
	if c.to, notes, err = to.named(in.req, in.nodes, r.corrects(in, nil)); err != nil {
		return nil, err
	}
	c.said.add(remarks{notes: notes})
	if c.at, err = placeNodes(in, r, c.devices); err != nil {
		return nil, err
	}
	c.said.add(c.at.said)
	if err := c.mend(j, in); err != nil {
		return nil, err
	}
	c.reference = in.nodes[in.ref].referenceName(in.req.Reference)
	if r.reference != "" {
		c.reference = r.reference
	}
	c.marks = markAll(in, c.related, c.at, c.devices, c.reference)
	var said remarks
	c.because, said = whyNotAligned(in, c)
	c.said.add(said, sayNoBounds(in, c))
	return c, nil
}

// mend moves clocks within their bounds, where that is asked for, and places the lines again.
func (c *clocks) mend(j *job.Job, in *inputs) (err error) {
	switch {
	case !in.req.Repair:
		return nil
	case len(in.nodes) < 2:
		c.said.warn("nothing was repaired: there is one node")
		return nil
	case !in.req.applies():
		c.said.warn("nothing was repaired: no clock is corrected")
		return nil
	}
	if c.matched == nil {
		var said remarks
		if c.matched, said, err = match(j, in, in.found, wanting{programs: c.to.format == FormatChrome}); err != nil {
			return err
		}
		c.said.add(said)
	}
	done := repair(in, c.related, c.shares, c.matched.Matched, c.clock(in))
	if c.repair = done.done; len(done.done.Moved) == 0 {
		return nil
	}
	c.related = c.related.moved(done.moved)
	c.at, err = placeNodes(in, c.related, c.devices)
	return err
}

// clock returns the clock of all executions, as it was decided.
func (c *clocks) clock(in *inputs) collective.Clock { return c.at.clock(in, c.devices) }

// The values of Document.NotAligned.
const (
	becauseNoClockData = "no clock data"
	becauseUndated     = "the traces do not say when they were recorded"
	becauseMergeOnly   = "a merge was asked for"
	becauseWall        = "the wall clocks were to be taken as they are"
	becauseAlone       = "one trace, whose devices were looked at"
)

// whyNotAligned says why no clock was corrected, and what to do about it; "" where one was.
func whyNotAligned(in *inputs, c *clocks) (because string, said remarks) {
	req := in.req
	if c.marks.mark.Aligned {
		if req.Nearby != "" && slices.ContainsFunc(c.nodes, func(n nodeClock) bool { return n.method == methodCollectives }) {
			said.warn("the clocks rest on collectives alone; %s", req.Nearby)
		}
		return "", said
	}
	switch {
	case !req.applies():
		return becauseMergeOnly, said
	case req.Method == MethodWall:
		return becauseWall, said
	case in.alone() && req.DeviceClocks != deviceClocksTrust:
		return becauseAlone, said
	}
	if undated := in.undated(); undated > 0 && len(in.nodes)-undated < 2 {
		said.warn("not aligned: %d of %d traces do not say when they were recorded, so nothing can place their times beside each other; combine recordings of the same run that say it, such as the .xplane.pb that JAX writes beside its JSON", undated, len(in.nodes))
		return becauseUndated, said
	}
	if i := slices.IndexFunc(in.nodes, func(n *Node) bool { return n.parts() > 1 }); i >= 0 && !in.nodes[i].aligned {
		said.warn("not aligned: %s holds %d ranks that were merged on clocks of their own, and only traces as recorded can be put on one clock; prlx validate judges their collectives", in.nodes[i].ID, in.nodes[i].parts())
		return becauseNoClockData, said
	}
	advice := "the traces share no collective that relates them either" + whyNoneShared(in.nodes, c.matched) + "; pass probes, round offsets or declared offsets (--probes, --offsets, --declared)"
	if req.Nearby != "" {
		advice = req.Nearby
	}
	said.warn("not aligned: no clock data, so the times of each node are on a clock of its own; %s", advice)
	return becauseNoClockData, said
}

// sayNoBounds says whose events carry no bound where they should: nothing is known of those clocks.
func sayNoBounds(in *inputs, c *clocks) (said remarks) {
	var silent []string
	for k, n := range in.nodes {
		if in.req.BoundStat && c.eventStats(in, k).Bound == "" {
			silent = append(silent, n.ID)
		}
	}
	if len(silent) > 0 {
		said.warn("events of %s carry no bound (--bound-stat): nothing is known of the error of their clock", shortList(silent))
	}
	return said
}

// eventStats names the stats that the events of node k receive. Where nothing is known of the error of its times, no bound is stated.
func (c *clocks) eventStats(in *inputs, k int) align.EventStats {
	return statsFor(in.req, in.nodes[k].absolute && !c.nodes[k].unknown)
}

// statsFor names the stats that events receive. bounded: something is known of the error of their times.
func statsFor(req *Request, bounded bool) (add align.EventStats) {
	if req.CorrectionStat {
		add.Correction = correctionStatName
	}
	if req.BoundStat && bounded {
		add.Bound = boundStatName
	}
	return add
}

// drawnAs is the name of node k on the curves of its clock, "" where they are not asked for or nothing is known of it.
func (c *clocks) drawnAs(in *inputs, k int) string {
	n := in.nodes[k]
	if in.req.BoundStat && n.absolute && !n.stays(c.at.nodes[k].maps.Wall) && c.corrects(in, c.at.tracerLines()) && !c.nodes[k].unknown {
		return n.tag
	}
	return ""
}

// rowOf is what is known of node k before it is written.
func (c *clocks) rowOf(in *inputs, k int) NodeResult {
	n, own, at := in.nodes[k], &c.nodes[k], &c.at.nodes[k]
	r := NodeResult{
		ID: n.ID, Identity: n.Source, Host: n.Host, Rank: n.Rank, Holds: n.members(), Inputs: []string{filepath.Base(n.Path)},
		Method: own.method, Snapshots: own.snapshots, OffsetWindows: own.windows, MissingSnapshots: own.missed, OffsetNS: own.offsetNS, DriftPPM: own.driftPPM,
		RestsOn: append([]Rest{}, own.rests...), Clock: c.clockOf(in, k), Steps: append([]Step{}, own.steps...), DeviceClocks: c.devices[k].found,
		Warnings: append([]string{}, own.warnings...), Salvaged: n.salvaged, OutsideGrowthPPB: at.outsideGrowthPPB(),
	}
	if n.absolute {
		r.TracerLines, r.Warnings = at.tracerLines(), append(r.Warnings, at.reasons()...)
	}
	return r
}

// clockOf is what the clock of node k showed over its trace, where it is related.
func (c *clocks) clockOf(in *inputs, k int) []ClockAt {
	out := []ClockAt{}
	switch c.nodes[k].method {
	case MethodProbes, MethodDeclared, methodCollectives, methodSystem, methodHost:
	default:
		return out
	}
	first, last, ok := in.nodes[k].spanNS()
	if !ok || k == in.ref && !c.external {
		return out
	}
	for _, at := range clockInstants(first, last) {
		y, bound, _ := c.at.nodes[k].maps.Wall.At(at)
		out = append(out, ClockAt{AtNS: at, OffsetNS: at - y, BoundNS: bound})
	}
	return out
}
