package collective

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/trace/event"
)

// Clock maps an instant of an execution (ns, as recorded) to the common clock, with a bound on the error of that (ns). It is
// called with the execution's own start and end.
type Clock func(s *event.Span, ns int64) (mapped, boundNS int64)

// AsRecorded is the Clock that changes nothing.
func AsRecorded(_ *event.Span, ns int64) (int64, int64) { return ns, 0 }

// Judgement is what can be said about the order within one group.
type Judgement uint8

// The judgements.
const (
	Consistent  Judgement = iota // possible, whatever the clocks' errors within their bounds
	Undecidable                  // the bounds allow both, or it is not known who gives to whom
	Violated                     // impossible: somebody finished receiving before the sender began
)

// String returns the name that documents use.
func (j Judgement) String() string {
	return [...]string{"consistent", "undecidable", "violated"}[j]
}

// Worst is one group with a bad order.
type Worst struct {
	Group      int // index into Matched.Groups
	Key        string
	Kind       event.Kind
	Occurrence int
	Judgement  Judgement
	GapNS      int64 // end of the one who ended early minus start of the one who began late; negative is impossible
	BoundNS    int64 // how far off GapNS can be
	Ended      Slot
	Began      Slot

	first event.Span // execution of its first member
}

// Counts are verdicts over a set of groups.
type Counts struct{ Groups, Violated, Consistent, Undecidable int }

func (c *Counts) add(j Judgement) {
	c.Groups++
	switch j {
	case Violated:
		c.Violated++
	case Undecidable:
		c.Undecidable++
	default:
		c.Consistent++
	}
}

// Verdict is what Check found.
type Verdict struct {
	Counts
	ByKind     map[event.Kind]Counts
	ByHow      map[how]int
	Incomplete int     // groups of which some members are in no trace
	Guessed    int     // groups whose kind was read from a name
	Proven     int     // violated groups that were matched by number, and whose kind is recorded: neither is a guess
	MinGapNS   int64   // smallest gap of a group that has one; 0 when none has
	MedianNS   int64   // median gap, likewise
	Gaps       int     // groups that have one
	Worst      []Worst // violated and undecidable groups, smallest gap first, at most the number asked for
	Overlong   int     // executions that end before they begin on the common clock
}

func newVerdict() *Verdict {
	return &Verdict{ByKind: map[event.Kind]Counts{}, ByHow: map[how]int{}}
}

// Check judges every group on the clock given (nil: as recorded) and keeps the worst ones, at most worst of them.
func Check(ctx context.Context, m *Matched, clock Clock, worst int) (*Verdict, error) {
	if clock == nil {
		clock = AsRecorded
	}
	v := newVerdict()
	gaps := make([]int64, 0, len(m.Groups))
	var times []timed
	for i := range m.Groups {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g := &m.Groups[i]
		op := &m.Part.Ops[g.Op]
		times = times[:0]
		for _, member := range g.Members {
			s := &m.Part.Spans[member.Span]
			t := timed{seat: seat{slot: Slot{s.Node, s.Device}, who: member.Participant, sends: m.Part.Ops[s.Op].Sends}}
			t.start, t.startBound = clock(s, s.StartNS)
			t.end, t.endBound = clock(s, s.EndNS)
			if t.end < t.start {
				v.Overlong++
			}
			times = append(times, t)
		}
		r := judge(op, times)
		v.add(r.judgement)
		k := v.ByKind[op.Kind]
		k.add(r.judgement)
		v.ByKind[op.Kind] = k
		v.ByHow[g.How]++
		if g.Missing > 0 {
			v.Incomplete++
		}
		if op.Guess {
			v.Guessed++
		} else if g.How == byRun && r.judgement == Violated {
			v.Proven++
		}
		if r.decided {
			gaps = append(gaps, r.gap)
		}
		if r.judgement != Consistent && r.decided {
			v.Worst = append(v.Worst, Worst{
				Group: i, Key: op.Key, Kind: op.Kind, Occurrence: g.Occurrence, Judgement: r.judgement,
				GapNS: r.gap, BoundNS: r.bound, Ended: r.ended, Began: r.began, first: m.Part.Spans[g.Members[0].Span],
			})
			if len(v.Worst) >= 2*worst+1024 {
				v.keepWorst(worst)
			}
		}
	}
	v.keepWorst(worst)
	slices.Sort(gaps)
	if v.Gaps = len(gaps); v.Gaps > 0 {
		v.MinGapNS, v.MedianNS = gaps[0], gaps[len(gaps)/2]
	}
	return v, nil
}

func (v *Verdict) keepWorst(n int) {
	slices.SortStableFunc(v.Worst, func(a, b Worst) int {
		return cmp.Or(cmp.Compare(a.GapNS, b.GapNS), strings.Compare(a.Key, b.Key), cmp.Compare(a.first.StartNS, b.first.StartNS), cmp.Compare(a.Occurrence, b.Occurrence),
			cmp.Compare(a.Ended.Node, b.Ended.Node), cmp.Compare(a.Ended.Device, b.Ended.Device))
	})
	if len(v.Worst) > n {
		v.Worst = v.Worst[:n]
	}
}

// timed is a member of a group on the common clock.
type timed struct {
	seat
	start, end           int64
	startBound, endBound int64
}

// result is the judgement on one group. gap and what follows are those of the pair that decided it.
type result struct {
	judgement    Judgement
	decided      bool // some pair was compared
	gap, bound   int64
	ended, began Slot
}

// take compares one giver with one receiver: the giver's start must not lie after the receiver's end. Touching is possible.
// Instants of one node share a clock, so their difference has no error.
func (r *result) take(giver, receiver *timed) {
	gap := subSat(receiver.end, giver.start)
	bound := int64(0)
	if giver.slot.Node != receiver.slot.Node {
		bound = addSat(giver.startBound, receiver.endBound)
	}
	j := Undecidable
	switch {
	case bound == math.MaxInt64: // endless
	case gap < 0 && gap < -bound:
		j = Violated
	case gap >= bound:
		j = Consistent
	}
	worse := !r.decided || j > r.judgement
	if !worse && j == r.judgement {
		if j == Violated {
			worse = addSat(gap, bound) < addSat(r.gap, r.bound)
		} else {
			worse = subSat(gap, bound) < subSat(r.gap, r.bound)
		}
	}
	if worse {
		r.judgement, r.gap, r.bound, r.ended, r.began = j, gap, bound, receiver.slot, giver.slot
	}
	r.decided = true
}

// judge applies the rule of the operation's kind.
func judge(op *Op, times []timed) result {
	var r result
	if op.Kind.Symmetric() {
		symmetric(&r, times)
	} else {
		seats := make([]seat, len(times))
		for i := range times {
			seats[i] = times[i].seat
		}
		op.orders(seats, func(givers, receivers []int32) {
			for _, i := range givers {
				for _, j := range receivers {
					r.take(&times[i], &times[j])
				}
			}
		})
	}
	if !r.decided {
		r.judgement = Undecidable
	}
	return r
}

// symmetric compares every member with every other. Only the extremes of each node can decide: on one node the latest start
// and the earliest end, between nodes the same with the bounds for and against.
func symmetric(r *result, times []timed) {
	if len(times) <= 16 {
		for i := range times {
			for j := range times {
				if i != j {
					r.take(&times[i], &times[j])
				}
			}
		}
		return
	}
	extremes := make([]int, 0, 64)
	keep := func(value func(*timed) int64) {
		// The best member, and the best one of another node: one of the two is a partner for any member of any node.
		first, second := -1, -1
		for i := range times {
			if first < 0 || value(&times[i]) < value(&times[first]) {
				first = i
			}
		}
		for i := range times {
			if times[i].slot.Node != times[first].slot.Node && (second < 0 || value(&times[i]) < value(&times[second])) {
				second = i
			}
		}
		extremes = append(extremes, first)
		if second >= 0 {
			extremes = append(extremes, second)
		}
	}
	keep(func(t *timed) int64 { return subSat(subSat(0, t.start), t.startBound) }) // latest start, bound for a violation's doubt
	keep(func(t *timed) int64 { return addSat(subSat(0, t.start), t.startBound) })
	keep(func(t *timed) int64 { return subSat(t.end, t.endBound) })
	keep(func(t *timed) int64 { return addSat(t.end, t.endBound) })
	for _, i := range extremes {
		for _, j := range extremes {
			if i != j {
				r.take(&times[i], &times[j])
			}
		}
	}
	sameNode(r, times)
}

// sameNode compares the latest start with the earliest end on each node, where bounds play no part. Members come by node.
func sameNode(r *result, times []timed) {
	for i := 0; i < len(times); {
		j, late, early := i, i, i
		for ; j < len(times) && times[j].slot.Node == times[i].slot.Node; j++ {
			if times[j].start > times[late].start {
				late = j
			}
			if times[j].end < times[early].end {
				early = j
			}
		}
		if late != early {
			r.take(&times[late], &times[early])
		}
		i = j
	}
}

func addSat(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	if b < 0 && a < math.MinInt64-b {
		return math.MinInt64
	}
	return a + b
}

func subSat(a, b int64) int64 {
	if b == math.MinInt64 {
		return addSat(addSat(a, math.MaxInt64), 1)
	}
	return addSat(a, -b)
}
