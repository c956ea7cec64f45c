package launches

import (
	"cmp"
	"maps"
	"slices"
)

// Of a long trace what is linked is not held: of each device and stretch of time those facts stay that leave the clocks the least room. Numbers
// follow one another, so that the lower half of those that are linked will hardly be seen again.

const (
	// tightOnes is how many facts of each sort are kept of a stretch of time.
	tightOnes = 4
	// firstShift makes the first stretches 67 ms.
	firstShift = 26
)

// tight keeps the facts of one sort that leave the least room. Stretches become longer when they are too many.
type tight struct {
	most  int
	shift uint
	cells map[int64][]fact // ascending by room
	room  func(fact) int64
}

func newTight(most int, room func(fact) int64) *tight {
	return &tight{most: max(most, 1), shift: firstShift, cells: map[int64][]fact{}, room: room}
}

func launchRoom(f fact) int64 { return f.DeviceNS - f.HostNS }
func waitRoom(f fact) int64   { return f.HostNS - f.DeviceNS }

func (t *tight) add(f fact) {
	t.put(f)
	for len(t.cells) > t.most { // it ends: instants are below latest, so that one stretch holds all
		old := t.list()
		t.shift++
		clear(t.cells)
		for _, f := range old {
			t.put(f)
		}
	}
}

func (t *tight) put(f fact) {
	at := f.HostNS >> t.shift
	list := t.cells[at]
	i, _ := slices.BinarySearchFunc(list, f, func(a, b fact) int { return cmp.Or(cmp.Compare(t.room(a), t.room(b)), cmp.Compare(a.HostNS, b.HostNS)) })
	if i == tightOnes {
		return
	}
	if list = slices.Insert(list, i, f); len(list) > tightOnes {
		list = list[:tightOnes]
	}
	t.cells[at] = list
}

// list returns the facts by time.
func (t *tight) list() (out []fact) {
	for _, list := range t.cells {
		out = append(out, list...)
	}
	slices.SortFunc(out, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.HostNS, b.HostNS), cmp.Compare(a.DeviceNS, b.DeviceNS))
	})
	return out
}

// condensed is what is left of work that was linked and is no longer held.
type condensed struct {
	work            int
	launches, waits *tight
}

// launcher is a process of the host whose calls were condensed.
type launcher struct {
	first, last uint64 // numbers
	untilNS     int64  // when the latest of its calls returned
	lastNS      int64  // the end of the last work of them
	device      int32  // the one that it used
	several     bool   // it used others, too
	waits       *tight
}

// condense keeps the tightest of what is linked. It returns false where too little is.
func (r *reader) condense() bool {
	byHost := map[int32][]linked{}
	before := len(r.calls) + len(r.works)
	r.works = slices.DeleteFunc(r.works, func(w work) bool {
		c, ok := r.calls[w.number]
		if !ok || c.several {
			return false
		}
		byHost[c.process] = append(byHost[c.process], linked{c, w})
		return true
	})
	middle := map[int32]uint64{}
	for process, list := range byHost {
		slices.SortFunc(list, func(a, b linked) int { return cmp.Compare(a.number, b.number) })
		middle[process] = list[len(list)/2].number
		r.condenseOf(process, list)
	}
	maps.DeleteFunc(r.calls, func(number uint64, c call) bool { return number < middle[c.process] })
	return len(r.calls)+len(r.works) <= before*7/8
}

func (r *reader) condenseOf(process int32, list []linked) {
	l := r.launchers[process]
	if l == nil {
		l = &launcher{first: list[0].number, lastNS: -1, device: list[0].work.process, waits: newTight(r.limit/64, waitRoom)}
		r.launchers[process] = l
	}
	slices.SortStableFunc(list, func(a, b linked) int { return cmp.Compare(a.call.to, b.call.to) })
	for _, x := range list {
		l.first, l.last = min(l.first, x.number), max(l.last, x.number)
		l.several = l.several || x.work.process != l.device
		d := r.condensed[x.work.process]
		if d == nil {
			d = &condensed{launches: newTight(r.limit/64, launchRoom), waits: newTight(r.limit/64, waitRoom)}
			r.condensed[x.work.process] = d
		}
		d.work++
		d.launches.add(fact{HostNS: x.call.from, DeviceNS: x.work.from})
		if x.returnsAfter() {
			d.waits.add(fact{HostNS: x.call.to, DeviceNS: x.work.to})
		}
	}
	var mine []wait
	r.waits = slices.DeleteFunc(r.waits, func(w wait) bool {
		if w.process != process || w.from > list[len(list)-1].call.to+2*r.hosts.Step() {
			return false
		}
		mine = append(mine, w)
		return true
	})
	for _, f := range l.waited(mine, list, r.hosts.Step()) {
		l.waits.add(f)
	}
	l.untilNS = max(l.untilNS, list[len(list)-1].call.to)
	for _, x := range list {
		l.lastNS = max(l.lastNS, x.work.to)
	}
}

// returnsAfter reports whether the call waited for its work.
func (x *linked) returnsAfter() bool { return x.awaited || x.toHost && x.blocks }

// waited finds for each wait the last work that it waited for: of list, by the return of its call, and of what was condensed before. A wait
// that began before that was launched says nothing any more.
func (l *launcher) waited(waits []wait, list []linked, grain int64) (out []fact) {
	slices.SortStableFunc(waits, func(a, b wait) int { return cmp.Compare(a.from, b.from) })
	i, last := 0, l.lastNS
	for _, w := range waits {
		for i < len(list) && list[i].call.to+2*grain <= w.from {
			last = max(last, list[i].work.to)
			i++
		}
		if (i > 0 || l.lastNS >= 0) && (l.lastNS < 0 || w.from >= l.untilNS+2*grain) {
			out = append(out, fact{HostNS: w.to, DeviceNS: last})
		}
	}
	return out
}

// strange reports whether a call has a number that another process had, whose calls were condensed: whose work that was is not known.
func (r *reader) strange(l *call, number uint64) bool {
	for process, of := range r.launchers {
		if process != l.process && number >= of.first && number <= of.last {
			return true
		}
	}
	return false
}

// addCondensed puts what was condensed to the devices.
func (r *reader) addCondensed(device func(process int32) *Device) {
	for _, process := range slices.Sorted(maps.Keys(r.condensed)) {
		c, d := r.condensed[process], device(process)
		d.Work, d.Linked = d.Work+c.work, d.Linked+c.work
		d.Launches, d.Waits = append(d.Launches, c.launches.list()...), append(d.Waits, c.waits.list()...)
		if r.launchers[process] != nil { // it has calls of a host
			d.Shared = true
		}
	}
}
