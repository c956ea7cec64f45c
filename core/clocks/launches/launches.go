// Package launches reads what a trace says of launches and waits, and turns it into edges between the clock of a host and the clocks of its
// devices: no work begins before the call that launched it, and no call that waits for work returns before that has ended.
//
// It knows no format, which package source does, and solves nothing, which package offsets does. docs/concepts/device-clocks.md says which calls
// count, and why.
package launches

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/clocks/precedence"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// Device is one process of a trace that shows what a device did, with what is known of its clock.
type Device struct {
	Process  int32
	Work     int    // that was looked at
	Linked   int    // of that, what is linked to its call
	Launches []fact // work and the call that launched it
	Waits    []fact // work and a call that returned when it was done
	Shared   bool   // the process has calls of a host, too

	// Instants may be recorded earlier than they were, by as much as their recorder rounds.
	hostGrain, deviceGrain int64
}

// fact is two instants, each on the clock that it was recorded on. Of a launch the call's begin and the work's, of a wait the work's end
// and the call's.
type fact struct{ HostNS, DeviceNS int64 }

// Found is what a trace says.
type Found struct {
	Devices   []Device // ascending by process
	Calls     int      // of the host that have a number
	Ambiguous int      // numbers that calls of several processes have; their work counts as not linked
	Every     int      // of longer traces one number in so many is looked at
}

// latest is beyond every instant that is compared: the year 2116.
const latest = int64(1) << 62

// maxHeld bounds the events that are held to be linked.
const maxHeld = 1 << 19

type call struct {
	from, to int64
	process  int32
	blocks   bool
	several  bool // processes made calls of this number
}

type work struct {
	number          uint64
	from, to        int64
	process         int32
	awaited, toHost bool
}

type reader struct {
	mask  uint64 // numbers are looked at whose hash has none of these bits
	calls map[uint64]call
	works []work
	alone map[int32]int // work without a number, by process
	waits []wait
	every int // of the waits, one in so many is kept
	nth   int

	condensed map[int32]*condensed // by process of the device
	launchers map[int32]*launcher  // by process of the host
	byLot     bool                 // nothing is condensed
	mixed     bool                 // what was condensed may be another process's

	limit          int
	hosts, devices precedence.Grain
}

// wait is a call that returns when all work that was launched before is done.
type wait struct {
	from, to int64
	process  int32
}

// Read reads the launches of a trace. What it holds does not grow with the trace beyond a limit: of more, some numbers are looked at.
func Read(ctx context.Context, src *file.Source, trace source.Linked) (*Found, error) {
	return read(ctx, src, trace, maxHeld)
}

func read(ctx context.Context, src *file.Source, trace source.Linked, limit int) (*Found, error) {
	var r *reader
	for _, byLot := range []bool{false, true} {
		r = &reader{calls: map[uint64]call{}, alone: map[int32]int{}, condensed: map[int32]*condensed{}, launchers: map[int32]*launcher{}, every: 1, limit: limit, byLot: byLot}
		if err := trace.Launches(ctx, src, r.take); err != nil {
			return nil, err
		}
		if !r.mixed {
			break
		}
	}
	return r.found(), nil
}

func (r *reader) take(l *source.Launch) {
	from := l.Start.NS
	if from < 0 || l.EndNS < from || l.EndNS >= latest {
		return // no instant of a clock that can be compared, or a negative duration
	}
	switch l.Role {
	case source.LaunchWait:
		r.hosts.Add(from)
		r.hosts.Add(l.EndNS)
		r.wait(wait{from, l.EndNS, l.Process})
		return
	case source.LaunchCall:
		if l.Number == 0 || hash(l.Number)&r.mask != 0 {
			return
		}
		r.hosts.Add(from)
		r.hosts.Add(l.EndNS)
		c, have := r.calls[l.Number]
		switch {
		case !have:
			c = call{from: from, to: l.EndNS, process: l.Process}
		case c.process != l.Process:
			c.several = true
			r.mixed = r.mixed || len(r.launchers) > 0
		default: // a call of the runtime and the one of the driver that it made
			c.from, c.to = min(c.from, from), max(c.to, l.EndNS)
		}
		c.blocks = c.blocks || l.Blocks
		r.calls[l.Number] = c
		r.mixed = r.mixed || r.strange(&c, l.Number)
	case source.LaunchWork:
		if l.Number == 0 {
			r.alone[l.Process]++
			return
		}
		if hash(l.Number)&r.mask != 0 {
			return
		}
		r.devices.Add(from)
		r.works = append(r.works, work{l.Number, from, max(from, l.EndNS-1), l.Process, l.Awaited, l.ToHost})
	}
	if r.full() && (r.byLot || !r.condense()) { // too little went: it would be looked through again at once
		for r.halve(); r.full(); {
			r.halve()
		}
	}
}

// full reports whether more is held than may be.
func (r *reader) full() bool { return len(r.calls)+len(r.works) > r.limit }

// wait keeps a wait, of many one in two, four, and so on.
func (r *reader) wait(w wait) {
	if r.nth++; (r.nth-1)%r.every != 0 {
		return
	}
	if r.waits = append(r.waits, w); len(r.waits) > r.limit/8 {
		kept := r.waits[:0]
		for i, w := range r.waits {
			if i%2 == 0 {
				kept = append(kept, w)
			}
		}
		r.waits, r.every = kept, 2*r.every
	}
}

// halve looks at half as many numbers from here on, and forgets the others. No number's hash is 0, so that it ends.
func (r *reader) halve() {
	r.mask = r.mask<<1 | 1
	for n := range r.calls {
		if hash(n)&r.mask != 0 {
			delete(r.calls, n)
		}
	}
	r.works = slices.DeleteFunc(r.works, func(w work) bool { return hash(w.number)&r.mask != 0 })
}

// hash spreads numbers, most of which follow one another; that of 0 alone is 0.
func hash(n uint64) uint64 {
	n ^= n >> 31
	n *= 0x9e3779b97f4a7c15
	n ^= n >> 29
	n *= 0xbf58476d1ce4e5b9
	return n ^ n>>32
}

// linked is work with its call.
type linked struct {
	call
	work
}

func (r *reader) found() *Found {
	f := &Found{Calls: len(r.calls), Every: int(r.mask&math.MaxInt32) + 1}
	for _, c := range r.calls {
		if c.several {
			f.Ambiguous++
		}
	}
	of := map[int32]*Device{}
	device := func(process int32) *Device {
		if of[process] == nil {
			of[process] = &Device{Process: process, hostGrain: r.hosts.Step(), deviceGrain: r.devices.Step()}
		}
		return of[process]
	}
	for process, n := range r.alone {
		device(process).Work += n
	}
	byHost := map[int32][]linked{}
	for _, w := range r.works {
		d := device(w.process)
		d.Work++
		c, ok := r.calls[w.number]
		if !ok || c.several {
			continue
		}
		d.Linked++
		d.Launches = append(d.Launches, fact{HostNS: c.from, DeviceNS: w.from})
		one := linked{c, w}
		if one.returnsAfter() {
			d.Waits = append(d.Waits, fact{HostNS: c.to, DeviceNS: w.to})
		}
		byHost[c.process] = append(byHost[c.process], one)
	}
	for _, c := range r.calls {
		if d := of[c.process]; d != nil {
			d.Shared = true
		}
	}
	r.addCondensed(device)
	for process := range r.launchers {
		if _, more := byHost[process]; !more { // all of its work was condensed
			byHost[process] = nil
		}
	}
	for _, process := range slices.Sorted(maps.Keys(byHost)) {
		r.waited(process, byHost[process], device)
	}
	for _, d := range of {
		f.Devices = append(f.Devices, *d)
	}
	slices.SortFunc(f.Devices, func(a, b Device) int { return cmp.Compare(a.Process, b.Process) })
	return f
}

// waited finds for each wait of a process the last work that it waited for: of what was launched before. Which device a call waits for is not
// written, so that it counts where the process used one.
func (r *reader) waited(process int32, list []linked, device func(int32) *Device) {
	l := r.launchers[process]
	if l == nil {
		l = &launcher{device: list[0].work.process, lastNS: -1}
	}
	for _, x := range list {
		if l.several || x.work.process != l.device {
			return
		}
	}
	var mine []wait
	for _, w := range r.waits {
		if w.process == process {
			mine = append(mine, w)
		}
	}
	slices.SortStableFunc(list, func(a, b linked) int { return cmp.Compare(a.call.to, b.call.to) })
	d := device(l.device)
	if l.waits != nil {
		d.Waits = append(d.Waits, l.waits.list()...)
	}
	d.Waits = append(d.Waits, l.waited(mine, list, d.hostGrain)...)
}

// Bind puts the facts into a graph, as an edge between the clock of the host and the device's.
func (d *Device) Bind(g *offsets.Graph, host, device offsets.Clock) {
	e := g.Between(host, device, offsets.Launches)
	for _, f := range d.Launches {
		e.Before(host, f.HostNS, f.DeviceNS+1+d.deviceGrain)
	}
	for _, f := range d.Waits {
		e.Before(device, f.DeviceNS, f.HostNS+2*d.hostGrain)
	}
}

// Inversions counts what is in an impossible order.
type Inversions struct {
	BeforeLaunch int   `json:"before_launch"` // work that began before the call that launched it
	AfterWait    int   `json:"after_wait"`    // work that had not ended when a call that waits for it returned
	WorstNS      int64 `json:"worst_ns"`      // the largest of either, 0 where there is none
}

// None reports whether nothing is in an impossible order.
func (v *Inversions) None() bool { return v.BeforeLaunch == 0 && v.AfterWait == 0 }

// Judge counts inversions with the device's instants put through a map; nil: as recorded.
func (d *Device) Judge(at func(deviceNS int64) int64) (v Inversions) {
	if at == nil {
		at = func(ns int64) int64 { return ns }
	}
	for _, f := range d.Launches {
		if by := f.HostNS - at(f.DeviceNS); by > 0 {
			v.BeforeLaunch++
			v.WorstNS = max(v.WorstNS, by)
		}
	}
	for _, f := range d.Waits {
		if by := at(f.DeviceNS) - f.HostNS - 2*d.hostGrain; by > 0 {
			v.AfterWait++
			v.WorstNS = max(v.WorstNS, by)
		}
	}
	return v
}

// Span returns the first and the last instant of the device that a fact speaks of.
func (d *Device) Span() (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for _, list := range [2][]fact{d.Launches, d.Waits} {
		for _, f := range list {
			from, to = min(from, f.DeviceNS), max(to, f.DeviceNS)
		}
	}
	return from, to
}

// Ahead returns by how much the device's clock can be ahead of the host's, and by how much it must be, were the difference constant; ok is false
// where nothing says that.
func (d *Device) Ahead() (atMost int64, most bool, atLeast int64, least bool) {
	for i, f := range d.Launches {
		if v := f.DeviceNS - f.HostNS; i == 0 || v < atMost {
			atMost, most = v, true
		}
	}
	for i, f := range d.Waits {
		if v := f.DeviceNS - f.HostNS - 2*d.hostGrain; i == 0 || v > atLeast {
			atLeast, least = v, true
		}
	}
	return atMost, most, atLeast, least
}
