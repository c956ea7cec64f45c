package perfetto

import "sort"

// The clocks of Perfetto that matter here. Numbers from 64 to 127 belong to a sequence of packets.
const (
	realtime = 1
	boottime = 6
)

const (
	maxSnapshots = 1 << 20 // readings of clocks that are kept
	sequenceFrom = 64
	sequenceTo   = 127
)

// clockKey is a clock, with the sequence that it belongs to, 0 the whole trace.
type clockKey struct {
	sequence uint32
	id       uint32
}

// reading is what a clock said when a snapshot was taken.
type reading struct {
	snapshot int
	ns       int64
}

// incremental is a clock whose packets say how much passed since the one before.
type incremental struct {
	last       int64 // in its units
	increments bool
	unitNS     int64
}

// clocks relates clocks by the snapshots that were seen so far.
type clocks struct {
	trace    uint32 // the clock of the trace
	n        int    // snapshots
	readings map[clockKey][]reading
	rates    map[clockKey]*incremental
	kept     int
}

func newClocks() *clocks {
	return &clocks{trace: boottime, readings: map[clockKey][]reading{}, rates: map[clockKey]*incremental{}}
}

// keyOf is the clock of a number in a sequence.
func keyOf(sequence, id uint32) clockKey {
	if id >= sequenceFrom && id <= sequenceTo {
		return clockKey{sequence, id}
	}
	return clockKey{0, id}
}

// snapshot takes a ClockSnapshot.
func (c *clocks) snapshot(b []byte, sequence uint32) error {
	c.n++
	err := each(b, func(f field) {
		switch f.num {
		case 2:
			if f.v > 0 {
				c.trace = uint32(f.v)
			}
		case 1:
			var id, at, unit uint64
			var increments bool
			_ = each(f.b, func(g field) {
				switch g.num {
				case 1:
					id = g.v
				case 2:
					at = g.v
				case 3:
					increments = g.v != 0
				case 4:
					unit = g.v
				}
			})
			c.set(keyOf(sequence, uint32(id)), at, unit, increments)
		}
	})
	return err
}

// set notes a reading.
func (c *clocks) set(key clockKey, at, unit uint64, increments bool) {
	rate := &incremental{last: int64(at), increments: increments, unitNS: int64(max(1, min(unit, 1e9)))}
	c.rates[key] = rate
	if c.kept >= maxSnapshots {
		return
	}
	c.kept++
	c.readings[key] = append(c.readings[key], reading{c.n, rate.last * rate.unitNS})
}

// time puts a timestamp of a packet on the clock of the trace. ok is false where no snapshot relates the two.
func (c *clocks) time(sequence, id uint32, at uint64) (ns int64, ok bool) {
	if id == 0 || id == c.trace {
		if r := c.rates[keyOf(sequence, c.trace)]; id == 0 || r == nil || !r.increments {
			return int64(at), int64(at) >= 0
		}
	}
	key := keyOf(sequence, id)
	rate := c.rates[key]
	if rate == nil {
		return 0, false
	}
	if rate.increments {
		rate.last += int64(at)
		at = uint64(rate.last)
	}
	ns = int64(at) * rate.unitNS
	if id == c.trace {
		return ns, true
	}
	return c.convert(key, clockKey{0, c.trace}, ns)
}

// convert goes from one clock to another by the last snapshot of both that is not later.
func (c *clocks) convert(from, to clockKey, ns int64) (int64, bool) {
	list, others := c.readings[from], c.readings[to]
	i := max(0, sort.Search(len(list), func(i int) bool { return list[i].ns > ns })-1)
	for ; i >= 0 && i < len(list); i-- {
		k := sort.Search(len(others), func(k int) bool { return others[k].snapshot >= list[i].snapshot })
		if k < len(others) && others[k].snapshot == list[i].snapshot {
			return others[k].ns + (ns - list[i].ns), true
		}
	}
	return 0, false
}

// wall is the wall clock minus the clock of the trace, by the first snapshot of both.
func (c *clocks) wall() (offsetNS int64, ok bool) {
	if c.trace == realtime {
		return 0, true
	}
	others := c.readings[clockKey{0, c.trace}]
	for _, r := range c.readings[clockKey{0, realtime}] {
		k := sort.Search(len(others), func(k int) bool { return others[k].snapshot >= r.snapshot })
		if k < len(others) && others[k].snapshot == r.snapshot {
			return r.ns - others[k].ns, true
		}
	}
	return 0, false
}
