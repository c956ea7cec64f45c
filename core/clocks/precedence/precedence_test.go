package precedence

import (
	"context"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// execution is one operation of four ranks, one of each node, that rank k enters at 1001+k and leaves at 5001+k on a clock of its own.
func execution(op collective.Op) *collective.Part {
	op.Key, op.Ranked, op.Size = "op", true, 4
	op.Groups = [][]int64{{0, 1, 2, 3}}
	p := &collective.Part{Ops: []collective.Op{op}, DeviceIDs: map[collective.Slot]int64{}, Ranks: map[int32]int{}}
	for k := range int32(4) {
		p.Ranks[k] = int(k)
		p.Spans = append(p.Spans, event.Span{Node: k, StartNS: 1001 + int64(k), EndNS: 5001 + int64(k)})
	}
	return p
}

func match(t *testing.T, p *collective.Part) *collective.Matched {
	t.Helper()
	m, err := collective.Match(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fact: giver entered before taker left.
type fact struct{ giver, taker int32 }

func (x *Executions) node(p offsets.Presence) int32 {
	for n := range 8 {
		if c, _ := own(int32(n)); x.Meetings.Clock(c) == p.Clock {
			return int32(n)
		}
	}
	return -1
}

func factsOf(x *Executions) []fact {
	var out []fact
	for i := range x.Meetings.Len() {
		for _, a := range x.Meetings.Of(i) {
			for _, b := range x.Meetings.Of(i) {
				if a.Clock != b.Clock && a.Gives && b.Takes {
					out = append(out, fact{x.node(a), x.node(b)})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b fact) int { return int((a.giver-b.giver)*8 + a.taker - b.taker) })
	return out
}

func own(node int32) (offsets.Clock, bool) { return offsets.Clock{Node: int(node)}, true }

func TestEachKindBindsOnlyThoseWhoseDataIsNeeded(t *testing.T) {
	everyone := []fact{{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {1, 3}, {2, 0}, {2, 1}, {2, 3}, {3, 0}, {3, 1}, {3, 2}}
	fromOne := []fact{{1, 0}, {1, 2}, {1, 3}}
	toOne := []fact{{0, 1}, {2, 1}, {3, 1}}
	ring := []hlo.Pair{{Source: 0, Target: 1}, {Source: 1, Target: 2}, {Source: 2, Target: 3}, {Source: 3, Target: 0}}
	for _, tc := range []struct {
		kind event.Kind
		want []fact
	}{
		{event.AllReduce, everyone},
		{event.AllGather, everyone},
		{event.ReduceScatter, everyone},
		{event.AllToAll, everyone},
		{event.Barrier, everyone},
		{event.Broadcast, fromOne},
		{event.Scatter, fromOne},
		{event.Reduce, toOne},
		{event.Gather, toOne},
		{event.Permute, []fact{{0, 1}, {1, 2}, {2, 3}, {3, 0}}},
		{event.Unknown, nil},
	} {
		op := collective.Op{Kind: tc.kind, Rooted: true, Root: 1}
		if tc.kind.Paired() {
			op.Pairs = ring
		}
		x := Collect(match(t, execution(op)), collective.AsRecorded, own)
		if got := factsOf(x); !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %v, want %v", tc.kind, got, tc.want)
		}
		if silent := tc.want == nil; (x.Silent == 1) != silent {
			t.Errorf("%v: %d executions count as saying nothing", tc.kind, x.Silent)
		}
	}
	rootless := execution(collective.Op{Kind: event.Broadcast})
	if got := factsOf(Collect(match(t, rootless), collective.AsRecorded, own)); got != nil {
		t.Errorf("a broadcast whose root is not recorded: got %v, want nothing", got)
	}
}

// TestDevicesOfOneClockAreOneMember: the last that entered gives, the first that left takes, and they say nothing of each other.
func TestDevicesOfOneClockAreOneMember(t *testing.T) {
	m := match(t, execution(collective.Op{Kind: event.AllReduce}))
	x := Collect(m, collective.AsRecorded, func(node int32) (offsets.Clock, bool) { return own(node / 2) })
	if len(x.Meetings.Of(0)) != 2 {
		t.Fatalf("%d members, want 2", len(x.Meetings.Of(0)))
	}
	if a := x.Meetings.Of(0)[0]; a.EnterNS != 1002 || a.LeftNS != 5001 {
		t.Errorf("entered at %d and left at %d, want 1002 and 5001", a.EnterNS, a.LeftNS)
	}
	if x = Collect(m, collective.AsRecorded, func(int32) (offsets.Clock, bool) { return own(0) }); x.Meetings.Len() != 0 || x.Silent != 1 {
		t.Errorf("one clock: %d statements, %d silent, want 0 and 1", x.Meetings.Len(), x.Silent)
	}
	if x = Collect(m, collective.AsRecorded, func(node int32) (offsets.Clock, bool) { return offsets.Clock{}, node == 3 }); x.Meetings.Len() != 0 {
		t.Errorf("three nodes without a clock: %d statements, want 0", x.Meetings.Len())
	}
}

// TestInstantsAreAsEarlyAndAsLateAsTheyCanBe: what is not known of them never makes an order tighter than it was.
func TestInstantsAreAsEarlyAndAsLateAsTheyCanBe(t *testing.T) {
	m := match(t, execution(collective.Op{Kind: event.AllReduce}))
	x := Collect(m, func(_ *event.Span, ns int64) (int64, int64) { return ns + 7, 100 }, own)
	if a := x.Meetings.Of(0)[2]; a.EnterNS != 1003+7-100 || a.LeftNS != 5003+7+100 {
		t.Errorf("within 100 ns: entered at %d and left at %d, want 910 and 5110", a.EnterNS, a.LeftNS)
	}
	rough := execution(collective.Op{Kind: event.AllReduce})
	for i := range rough.Spans {
		rough.Spans[i].StartNS *= 1000
		rough.Spans[i].EndNS *= 1000
	}
	x = Collect(match(t, rough), collective.AsRecorded, own)
	if a := x.Meetings.Of(0)[1]; a.EnterNS != 1002_000-1000 || a.LeftNS != 5002_000+2000 {
		t.Errorf("whole microseconds: entered at %d and left at %d, want 1001000 and 5004000", a.EnterNS, a.LeftNS)
	}
}

// TestFactsReachTheirEdges: the graph says of two clocks what the execution says.
func TestFactsReachTheirEdges(t *testing.T) {
	x := Collect(match(t, execution(collective.Op{Kind: event.Broadcast, Rooted: true, Root: 2})), collective.AsRecorded, own)
	g := offsets.NewGraph()
	g.Meet(&x.Meetings, offsets.Clock{})
	if edges := g.Edges(); len(edges) != 3 {
		t.Fatalf("%d edges, want 3: from the root to each of the others", len(edges))
	}
}
