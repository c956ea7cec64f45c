package straggler

import (
	"cmp"
	"slices"
)

// togetherShare is what counts as together: a lateness below this part of the time since the operation before. Were there one in each operation, the
// job would lose no more than this part of its time.
const togetherShare = 0.05

// state is what is known of an operation's members.
type state uint8

// The states. Of an operation whose members are not known to wait for each other nothing is known.
const (
	undecided state = iota
	behind          // one entered later than the middle one of the others
	together        // nobody can have entered later than that by more than togetherShare of the time since the operation before
	notBegun        // the one that was late had not been recorded doing anything before
)

// judged is what is known of an operation.
type judged struct {
	state  state
	event  int32 // that was late for certain; -1 none
	atMost int64 // the most by which anybody can have been late
}

// judge judges all operations. of says by event by how much later than the middle one of the others it entered for certain, 0 where that is not
// known.
func (j *Job) judge(before []int32) (out []judged, of []int64) {
	out, of = make([]judged, len(j.Ops)), make([]int64, len(j.Events))
	lasted := j.lasted(before)
	c := comparison{job: j}
	for k := range j.Ops {
		one := judged{event: -1}
		certain, looked := int64(0), false
		for _, g := range j.Ops[k].Gates {
			if !c.begin(&g) {
				continue
			}
			looked = true
			for _, e := range g.Givers {
				least := c.least(e)
				of[e] = max(of[e], least)
			}
			first, least, most := c.extremes(g.Givers)
			if least > certain {
				certain, one.event = least, first
				of[first] = max(of[first], least)
			}
			one.atMost = max(one.atMost, most)
		}
		switch {
		case !looked:
		case one.event >= 0 && j.unseen(one.event, before, certain):
			one.state = notBegun
		case one.event >= 0:
			one.state = behind
		case float64(one.atMost) <= togetherShare*float64(lasted[k]):
			one.state = together
		}
		out[k] = one
	}
	return out, of
}

// unseen reports whether a rank was late because its recording began late.
func (j *Job) unseen(e int32, before []int32, late int64) bool {
	x := &j.Events[e]
	return before[e] < 0 && j.Ranks[x.Rank].FirstNS > x.EnterNS-late
}

// lasted says of each operation how long it took since its members had left the one before, in the mean.
func (j *Job) lasted(before []int32) []int64 {
	sums, members := make([]int64, len(j.Ops)), make([]int64, len(j.Ops))
	for e := range j.Events {
		x := &j.Events[e]
		from := x.EnterNS
		if b := before[e]; b >= 0 {
			from = j.Events[b].LeaveNS
		}
		sums[x.Op], members[x.Op] = sums[x.Op]+max(x.LeaveNS-from, 0), members[x.Op]+1
	}
	for k := range sums {
		sums[k] /= max(members[k], 1)
	}
	return sums
}

// comparison compares the entries of those who pass one gate.
type comparison struct {
	job      *Job
	peers    []int32
	lo, hi   []int64 // the earliest and the latest that each can have entered, ascending
	oneClock bool
	own      []int64 // for the limits of one member
	left     []int32 // for extremes
	limits   []int64
}

// begin takes a gate; false: nobody is compared with anybody.
func (c *comparison) begin(g *Gate) bool {
	c.peers = append(c.peers[:0], g.Givers...)
	if len(g.Givers) == 1 {
		for _, e := range g.Receivers {
			if e != g.Givers[0] {
				c.peers = append(c.peers, e)
			}
		}
	}
	if len(c.peers) < 2 {
		return false
	}
	c.lo, c.hi, c.oneClock = c.lo[:0], c.hi[:0], true
	first := c.clock(c.peers[0])
	for _, e := range c.peers {
		c.oneClock = c.oneClock && c.clock(e) == first
	}
	for _, e := range c.peers {
		x, b := &c.job.Events[e], c.bound(e)
		c.lo, c.hi = append(c.lo, x.EnterNS-b), append(c.hi, x.EnterNS+b)
	}
	slices.Sort(c.lo)
	slices.Sort(c.hi)
	return true
}

func (c *comparison) clock(e int32) int32 { return c.job.Ranks[c.job.Events[e].Rank].Clock }

func (c *comparison) bound(e int32) int64 {
	if c.oneClock {
		return c.job.Events[e].OwnBoundNS
	}
	return c.job.Events[e].EnterBoundNS
}

// middleWithout is the middle one of sorted values, one of which is left out.
func middleWithout(sorted []int64, v int64) int64 {
	k := (len(sorted) - 1) / 2
	if at, _ := slices.BinarySearch(sorted, v); at <= k {
		return sorted[k+1]
	}
	return sorted[k]
}

// least is a lower limit of an event's lateness that treats all clocks as different; most an upper one.
func (c *comparison) least(e int32) int64 {
	x, b := c.job.Events[e].EnterNS, c.bound(e)
	return x - b - middleWithout(c.hi, x+b)
}

func (c *comparison) most(e int32) int64 {
	x, b := c.job.Events[e].EnterNS, c.bound(e)
	return x + b - middleWithout(c.lo, x-b)
}

// exactly are both limits of an event's lateness. Those on its own clock have no error against it.
func (c *comparison) exactly(e int32) (least, most int64) {
	if c.oneClock {
		return c.least(e), c.most(e)
	}
	middle := func(sign int64) int64 {
		c.own = c.own[:0]
		for _, o := range c.peers {
			if o != e {
				c.own = append(c.own, c.job.Events[e].EnterNS-c.job.Events[o].EnterNS+sign*c.job.between(e, o))
			}
		}
		slices.SortFunc(c.own, func(a, b int64) int { return cmp.Compare(b, a) }) // the middle entry is that with the middle difference, from the greatest on
		return c.own[len(c.own)/2]
	}
	return middle(-1), middle(1)
}

// extremes finds who of several was late by most for certain, by how much, and the most by which anybody can have been late.
func (c *comparison) extremes(of []int32) (event int32, least, most int64) {
	c.left, c.limits = append(c.left[:0], of...), c.limits[:0]
	for _, e := range of {
		c.limits = append(c.limits, c.most(e))
	}
	event = -1
	for len(c.left) > 0 {
		i := 0
		for k := range c.limits {
			if c.limits[k] > c.limits[i] {
				i = k
			}
		}
		if event >= 0 && c.limits[i] <= most {
			break // nor can any other
		}
		e := c.left[i]
		l, m := c.exactly(e)
		if most = max(most, m); event < 0 || l > least {
			event, least = e, l
		}
		c.left, c.limits = slices.Delete(c.left, i, i+1), slices.Delete(c.limits, i, i+1)
	}
	return event, least, most
}
