package combine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/launches"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// What is asked for about the clocks of devices.
const (
	deviceClocksTrust   = "trust"   // their events are where the recorder has put them
	deviceClocksCheck   = "check"   // how far off they can be is in the document, and nothing is moved
	deviceClocksCorrect = "correct" // what is in an impossible order is moved
)

// DeviceClock is what launches and waits say of the clock that a device's events are on.
type DeviceClock struct {
	Process  string              `json:"process"` // as the trace calls it
	GPU      int                 `json:"gpu"`     // its number, -1 unknown
	Work     int                 `json:"work"`    // kernels, copies and fills that were looked at
	Launches int                 `json:"launches"`
	Waits    int                 `json:"waits"`
	Before   launches.Inversions `json:"before"`
	After    launches.Inversions `json:"after"`     // where the clock was corrected
	AtNS     int64               `json:"at_ns"`     // an instant of the host's clock
	OffsetNS *int64              `json:"offset_ns"` // how far the device's clock is ahead then; null: nothing says it
	DriftPPM *float64            `json:"drift_ppm"` // how much faster it runs
	BoundNS  *Bounds             `json:"bound_ns"`  // of the clock; null: one side is open
	Moved    bool                `json:"corrected"`
	Said     string              `json:"said"`

	to *clock.Map // the clock -> that of the host; nil: its events stay
}

// deviceClocks is what launches and waits say of the devices of one node.
type deviceClocks struct {
	found    []DeviceClock
	maps     map[int32]*clock.Map // by process, of devices whose clock is not taken for the host's: the one -> the other
	warnings sentences
}

// devicesOf reads the launches of a node and judges the clocks of its devices. With correct, what is in an impossible order is moved.
func devicesOf(ctx context.Context, n *Node, correct bool) (out deviceClocks, err error) {
	trace, ok := n.Trace.(source.Linked)
	switch {
	case !ok:
		out.warnings.say("device clocks: a trace of this format is not looked at for launches")
		return out, nil
	case n.Src == nil:
		out.warnings.say("device clocks: the tasks of an executor do not look for launches")
		return out, nil
	case !n.absolute:
		out.warnings.say("device clocks: the trace does not say when it was recorded, so its launches are not looked at")
		return out, nil
	case n.aligned:
		out.warnings.say("device clocks: prlx has aligned this trace before, and they are left as they are")
		return out, nil
	}
	read, err := launches.Read(ctx, n.Src, trace)
	if err != nil {
		return out, err
	}
	if read.Every > 1 {
		out.warnings.say("device clocks: one launch in %d is looked at", read.Every)
	}
	if read.Ambiguous > 0 {
		out.warnings.say("device clocks: %d launches have a number that several processes use, and are not looked at", read.Ambiguous)
	}
	out.found = []DeviceClock{}
	linked := 0
	for i := range read.Devices {
		d := &read.Devices[i]
		one := DeviceClock{Process: deviceName(n.layout[d.Process]), GPU: n.layout[d.Process].GPU, Work: d.Work, Launches: len(d.Launches), Waits: len(d.Waits)}
		if linked += one.Launches; d.Linked > one.Launches {
			out.warnings.say("device clocks: %s: of %d launches the %d are looked at that leave the least room, over the whole time", one.Process, d.Linked, one.Launches)
		}
		if err := one.judge(ctx, d); err != nil {
			return out, err
		}
		switch {
		case !correct:
			one.stay("")
		case n.text == nil:
			one.stay("in an XSpace its events are not moved")
		case d.Shared:
			one.stay("its events share a process with those of the host, and are not moved")
		}
		if one.to != nil {
			if out.maps == nil {
				out.maps = map[int32]*clock.Map{}
			}
			out.maps[d.Process] = one.to
		}
		out.found = append(out.found, one)
	}
	if linked == 0 {
		out.warnings.say("device clocks: no launch is linked to what a device did, so nothing can be said of them")
	}
	for i := range out.found {
		if d := &out.found[i]; d.Moved || !d.Before.None() {
			out.warnings.say("%s: %s", d.Process, d.Said)
		}
	}
	return out, nil
}

// deviceName is what a process is called: by its accelerator, else as the trace says.
func deviceName(p *source.Process) string {
	switch {
	case p.GPU >= 0:
		return fmt.Sprintf("GPU %d", p.GPU)
	case p.Name != "":
		return p.Name
	}
	return "process " + unquoted(p.TextID)
}

// stay leaves the events where they are, and says why where they should move.
func (c *DeviceClock) stay(because string) {
	if because != "" && c.Moved {
		c.Said += "; " + because
	}
	c.to, c.Moved, c.After = nil, false, c.Before
}

// judge finds the clock of a device by what its launches and waits say. What is in no impossible order stays as recorded.
func (c *DeviceClock) judge(ctx context.Context, d *launches.Device) error {
	c.Before = d.Judge(nil)
	c.After = c.Before
	switch {
	case c.Launches == 0 && c.Waits == 0:
		c.Said = "nothing to see: no launch is linked to what it did"
		return nil
	case c.Launches == 0 || c.Waits == 0:
		c.oneSided(d)
		return nil
	}
	m, drift, err := solveDevice(ctx, d)
	if err != nil {
		return err
	}
	if m != nil {
		at := func(ns int64) int64 { y, _, _ := m.At(ns); return y }
		if late := d.Judge(at); late.BeforeLaunch > 0 { // what rounding and thinning leave
			m = clock.Compose(m, clock.Shift(late.WorstNS, late.WorstNS))
		}
		if left := d.Judge(at); left.BeforeLaunch > 0 {
			m = nil
		}
	}
	if m == nil {
		c.oneSided(d)
		c.Said += "; its launches and its waits contradict each other, and the waits are not used"
		return nil
	}
	from, to := d.Span()
	mid := from + (to-from)/2
	host, _, _ := m.At(mid)
	offset := mid - host
	if c.Before.None() {
		kept, err := asRecorded(m, from, to)
		if err != nil {
			return err
		}
		c.to = kept
		c.describe(kept, mid, 0, 0)
		c.Said = fmt.Sprintf("as recorded, within %s: launches and waits allow it", span(c.BoundNS.P50))
		return nil
	}
	c.to, c.Moved = m, true
	c.describe(m, mid, offset, drift)
	c.After = d.Judge(func(ns int64) int64 { y, _, _ := m.At(ns); return y })
	c.Said = fmt.Sprintf("its clock is %s, to within %s: %d kernels and copies begin before the call that launched them, %d had not ended when a call that waits for them returned",
		aheadOfHost(offset), span(c.BoundNS.P50), c.Before.BeforeLaunch, c.Before.AfterWait)
	return nil
}

// solveDevice finds the map from a device's clock to its host's; nil where no straight lines explain most of what is said.
func solveDevice(ctx context.Context, d *launches.Device) (m *clock.Map, driftPPM float64, err error) {
	host, device := offsets.Clock{}, offsets.Clock{Kind: offsets.Device}
	g := offsets.NewGraph()
	d.Bind(g, host, device)
	s, err := g.Solve(ctx, host, offsets.Options{})
	if err != nil {
		return nil, 0, err
	}
	for i := range s.Others {
		if s.Others[i].Clock == device {
			return s.Others[i].Map, s.Others[i].DriftPPM, nil
		}
	}
	return nil, 0, nil
}

// oneSided judges a clock that nothing bounds from one of its sides: it is moved by no more than the order asks for.
func (c *DeviceClock) oneSided(d *launches.Device) {
	atMost, most, atLeast, least := d.Ahead()
	shift := int64(0) // by how much its events come later
	switch {
	case most && atMost < 0:
		shift = -atMost
	case !most && least && atLeast > 0:
		shift = -atLeast
	}
	side := "no call that waits for its work says how far behind the host's clock it is"
	switch {
	case !most:
		side = "no launch says how far ahead of the host's clock it is"
	case least:
		side = "what is known of it is not of one piece"
	}
	if shift == 0 {
		c.Said = "as recorded: " + side
		return
	}
	m := clock.Shift(shift, 0)
	c.to, c.Moved = m, true
	c.After = d.Judge(func(ns int64) int64 { return ns + shift })
	c.Said = fmt.Sprintf("moved by %s, as little as its %d events in an impossible order ask for; %s, so that bounds of its events leave its clock out", span(shift), c.Before.BeforeLaunch+c.Before.AfterWait, side)
}

// asRecorded is the identity with a bound that holds what a map allows.
func asRecorded(m *clock.Map, from, to int64) (*clock.Map, error) {
	var knots []clock.Knot
	add := func(x int64) {
		y, bound, _ := m.At(x)
		knots = append(knots, clock.Knot{X: x, Y: x, BoundNS: bound + max(y-x, x-y)})
	}
	add(from)
	for _, k := range m.Knots() {
		if k.X > from && k.X < to {
			add(k.X)
		}
	}
	if to > from {
		add(to)
	}
	_, _, growth, wander := m.Tails()
	return clock.New(knots, clock.WithTails(0, 0, growth), clock.WithWander(wander))
}

// describe fills in what is known of the clock.
func (c *DeviceClock) describe(m *clock.Map, at, offset int64, drift float64) {
	c.AtNS, c.OffsetNS, c.DriftPPM = at, &offset, &drift
	bounds := make([]int64, 0, len(m.Knots()))
	for _, k := range m.Knots() {
		bounds = append(bounds, k.BoundNS)
	}
	slices.Sort(bounds)
	n := len(bounds)
	c.BoundNS = &Bounds{P50: bounds[n/2], P99: bounds[n*99/100], Max: bounds[n-1]}
}

// span says how long some ns are.
func span(ns int64) string {
	switch size := max(ns, -ns); {
	case size >= 1_000_000_000:
		return fmt.Sprintf("%.3g s", float64(ns)/1e9)
	case size >= 1_000_000:
		return fmt.Sprintf("%.3g ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.3g us", float64(ns)/1e3)
}

func aheadOfHost(ns int64) string {
	if ns < 0 {
		return span(-ns) + " behind the host's"
	}
	return span(ns) + " ahead of the host's"
}

// onHost maps an instant of a process of the node to the clock of its host.
func (d *deviceClocks) onHost(process int32, ns int64) (hostNS, boundNS int64) {
	m := d.maps[process]
	if m == nil {
		return ns, 0
	}
	ns, boundNS, _ = m.At(ns)
	return ns, boundNS
}

// onReference is the map of a process's clock to that of the reference, nil where it is the host's. wall is that of the host.
func (d *deviceClocks) onReference(process int32, wall *clock.Map) *clock.Map {
	m := d.maps[process]
	if m == nil {
		return nil
	}
	return clock.Compose(m, wall)
}

// bound is the largest error of events of devices that have a clock of their own, between two instants.
func (d *deviceClocks) bound(wall *clock.Map, from, to int64) (boundNS int64, ok bool) {
	for p := range d.maps {
		boundNS, ok = max(boundNS, d.onReference(p, wall).LargestBound(from, to)), true
	}
	return boundNS, ok
}

// lead is by how much the events of devices come earlier at most.
func (d *deviceClocks) lead() (leadNS int64) {
	for _, m := range d.maps {
		for _, k := range m.Knots() {
			leadNS = max(leadNS, k.X-k.Y)
		}
	}
	return min(leadNS, math.MaxInt64/4)
}
