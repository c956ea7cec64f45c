package collective

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// member is one execution in a test: node, participant, start, end.
type member struct {
	node       int32
	who        int64
	start, end int64
}

func judged(op Op, bound int64, ms ...member) result {
	var times []timed
	for _, m := range ms {
		times = append(times, timed{seat: seat{slot: Slot{Node: m.node}, who: m.who}, start: m.start, end: m.end, startBound: bound, endBound: bound})
	}
	return judge(&op, times)
}

func TestRulesOfEachKind(t *testing.T) {
	for _, tc := range []struct {
		name  string
		op    Op
		bound int64
		ms    []member
		want  Judgement
		gap   int64
	}{
		{"all-reduce in order", Op{Kind: event.AllReduce}, 0, []member{{0, 0, 0, 10}, {1, 1, 5, 12}}, Consistent, 5},
		{"touching is possible", Op{Kind: event.AllGather}, 0, []member{{0, 0, 0, 10}, {1, 1, 10, 12}}, Consistent, 0},
		{"ended before another began", Op{Kind: event.ReduceScatter}, 0, []member{{0, 0, 0, 10}, {1, 1, 11, 12}}, Violated, -1},
		{"within the bounds", Op{Kind: event.AllToAll}, 1, []member{{0, 0, 0, 10}, {1, 1, 11, 12}}, Undecidable, -1},
		{"close, within the bounds", Op{Kind: event.AllReduce}, 3, []member{{0, 0, 0, 10}, {1, 1, 9, 20}}, Undecidable, 1},
		{"one node has one clock", Op{Kind: event.AllReduce}, 100, []member{{0, 0, 0, 10}, {0, 1, 11, 12}}, Violated, -1},
		{"permute against the arrow", Op{Kind: event.Permute, Pairs: []hlo.Pair{{Source: 0, Target: 1}}}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Violated, -40},
		{"permute along the arrow only", Op{Kind: event.Permute, Pairs: []hlo.Pair{{Source: 1, Target: 0}}}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Consistent, 60},
		{"broadcast before its root", Op{Kind: event.Broadcast, Rooted: true, Ranked: true, Root: 0}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Violated, -40},
		{"broadcast after its root", Op{Kind: event.Broadcast, Rooted: true, Ranked: true, Root: 1}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Consistent, 60},
		{"reduce waits for everyone", Op{Kind: event.Reduce, Rooted: true, Ranked: true, Root: 1}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Violated, -40},
		{"a root nobody knows", Op{Kind: event.Broadcast}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Undecidable, 0},
		{"a kind nobody knows", Op{Kind: event.Unknown}, 0, []member{{0, 0, 50, 60}, {1, 1, 0, 10}}, Undecidable, 0},
	} {
		if got := judged(tc.op, tc.bound, tc.ms...); got.judgement != tc.want || got.gap != tc.gap {
			t.Errorf("%s: %s with a gap of %d, want %s, %d", tc.name, got.judgement, got.gap, tc.want, tc.gap)
		}
	}
}

// TestManyMembersAreJudgedLikePairByPair compares the shortcut for large groups with comparing everyone to everyone.
func TestManyMembersAreJudgedLikePairByPair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[Judgement]int{}
	for range 3000 {
		var times []timed
		n, nodes := 17+r.IntN(30), 1+r.IntN(6)
		for i := range n {
			start := r.Int64N(60)
			times = append(times, timed{
				seat: seat{slot: Slot{int32(i * nodes / n), int32(i)}}, start: start, end: start + 20 + r.Int64N(80), startBound: r.Int64N(20), endBound: r.Int64N(20),
			})
		}
		var quick, slow result
		symmetric(&quick, times)
		for i := range times {
			for j := range times {
				if i != j {
					slow.take(&times[i], &times[j])
				}
			}
		}
		seen[slow.judgement]++
		if quick.judgement != slow.judgement {
			t.Fatalf("%d members on %d nodes: %s, pair by pair %s (gaps %d, %d)", n, nodes, quick.judgement, slow.judgement, quick.gap, slow.gap)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the cases are too tame: %v", seen)
	}
}

// TestAmongManyABoundDecidesAsMuchAsAnInstant: 18 members on three nodes run from 0 to 100, but those of node 0 as said, of which the
// second decides because of its bound and the first lies further out.
func TestAmongManyABoundDecidesAsMuchAsAnInstant(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second timed
		others        timed // of the other nodes
		want          result
	}{
		{
			"a start that may be later than the latest",
			timed{start: 90, end: 200},
			timed{start: 85, startBound: 20, end: 200},
			timed{end: 100},
			result{judgement: Undecidable, gap: 15, bound: 20},
		},
		{
			"an end that may be earlier than the earliest",
			timed{end: 10},
			timed{end: 15, endBound: 20},
			timed{end: 100},
			result{judgement: Undecidable, gap: 15, bound: 20},
		},
		{
			"a start that is surely late",
			timed{start: 130, startBound: 50, end: 200},
			timed{start: 120, end: 200},
			timed{end: 100},
			result{judgement: Violated, gap: -20},
		},
		{
			"an end that is surely early",
			timed{end: 10, endBound: 50},
			timed{end: 20},
			timed{start: 40, end: 100},
			result{judgement: Violated, gap: -20},
		},
	} {
		var times []timed
		for i := range int32(18) {
			m := tc.others
			switch {
			case i == 0:
				m = tc.first
			case i == 1:
				m = tc.second
			case i < 6:
				m = timed{end: 200}
			}
			m.slot = Slot{i / 6, i}
			times = append(times, m)
		}
		var got result
		symmetric(&got, times)
		if got.judgement != tc.want.judgement || got.gap != tc.want.gap || got.bound != tc.want.bound {
			t.Errorf("%s: %s, gap %d ±%d, want %s, gap %d ±%d", tc.name,
				got.judgement, got.gap, got.bound, tc.want.judgement, tc.want.gap, tc.want.bound)
		}
	}
}

// part makes a part of executions of one all-reduce: by node, device and run (0: none), at start.
func part(size int, spans ...event.Span) *Part {
	p := newPart(0)
	p.Ops = []Op{{Key: "m/all-reduce.1", Kind: event.AllReduce, Size: size}}
	for i := range spans {
		s := spans[i]
		s.HasRun = s.Run != 0
		s.EndNS = s.StartNS + 10
		p.add(s)
	}
	return p
}

func TestMatchingNeverShifts(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name              string
		part              *Part
		groups, unmatched int
	}{
		{"by run id, in any order", part(0,
			event.Span{Node: 0, Run: 7, StartNS: 5}, event.Span{Node: 0, Run: 8, StartNS: 1}, event.Span{Node: 1, Run: 8}, event.Span{Node: 1, Run: 7, StartNS: 9}), 2, 0},
		{"one node missed a launch", part(0,
			event.Span{Node: 0, Run: 7}, event.Span{Node: 0, Run: 8}, event.Span{Node: 0, Run: 9}, event.Span{Node: 1, Run: 7}, event.Span{Node: 1, Run: 9}), 2, 1},
		{"by order when counts agree", part(0,
			event.Span{Node: 0, StartNS: 1}, event.Span{Node: 0, StartNS: 2}, event.Span{Node: 1, StartNS: 1}, event.Span{Node: 1, StartNS: 2}), 2, 0},
		{"order is lost when counts differ", part(0,
			event.Span{Node: 0, StartNS: 1}, event.Span{Node: 0, StartNS: 2}, event.Span{Node: 1, StartNS: 2}), 0, 3},
		{"devices of one node are members of their own", part(0,
			event.Span{Node: 0, Device: 0, Run: 7}, event.Span{Node: 0, Device: 1, Run: 7}, event.Span{Node: 1, Device: 0, Run: 7}, event.Span{Node: 1, Device: 1, Run: 7}), 1, 0},
		{"alone", part(0, event.Span{Node: 0, Run: 7}), 0, 1},
		{"nothing", part(0), 0, 0},
	} {
		m, err := Match(ctx, tc.part)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Groups) != tc.groups || m.UnmatchedCount() != tc.unmatched {
			t.Errorf("%s: %d groups and %d unmatched (%v), want %d and %d", tc.name, len(m.Groups), m.UnmatchedCount(), m.Unmatched, tc.groups, tc.unmatched)
		}
		v, err := Check(ctx, m, nil, 5)
		if err != nil || v.Groups != tc.groups {
			t.Errorf("%s: %d groups judged, %v", tc.name, v.Groups, err)
		}
	}
}

func TestReplicaGroupsAreApart(t *testing.T) {
	p := part(0)
	p.Ops[0].Groups = [][]int64{{0, 1}, {2, 3}}
	p.Ops[0].Devices = []int64{0, 1, 2, 3}
	for node := range int32(4) {
		p.add(event.Span{Node: node, HasRun: true, Run: 1, StartNS: int64(node/2) * 1000, EndNS: int64(node/2)*1000 + 10})
		p.DeviceIDs[Slot{node, 0}] = int64(node)
	}
	m, err := Match(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Check(context.Background(), m, nil, 5)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Groups) != 2 || v.Violated != 0 { // as one group of four they would be impossible
		t.Errorf("%d groups, %d violated; want 2 and 0", len(m.Groups), v.Violated)
	}
}

// TestExecutionsWithoutANumberAreSampledOverTheirWholeTime: by their turn, and what is left is matched as it belongs together.
func TestExecutionsWithoutANumberAreSampledOverTheirWholeTime(t *testing.T) {
	const devices, times = 4, 1000
	for _, tc := range []struct {
		name    string
		lost    int64 // the turn that device 2 lacks; -1: none
		jumbled bool
		reason  string
	}{{"complete", -1, false, ""}, {"one lost", 500, false, reasonCounts}, {"jumbled", -1, true, reasonJumbled}} {
		p := newPart(400)
		p.Ops = []Op{{Key: "x", Kind: event.AllReduce}}
		for d := range int32(devices) {
			for k := range int64(times) {
				if d == 2 && k == tc.lost {
					continue
				}
				at := k
				if tc.jumbled && d == 1 && k/2 == 100 {
					at ^= 1 // two change places
				}
				p.add(event.Span{Node: d, StartNS: 10 * at, EndNS: 10*at + 5})
			}
		}
		if len(p.Spans) > 400 || len(p.Spans) < 100 || int64(len(p.Spans))+p.Thinned != p.Turns[Seat{0, Slot{0, 0}}].Count*devices-min(1, tc.lost+1) || p.Dropped != 0 {
			t.Fatalf("%s: %d kept, %d left out, %d dropped", tc.name, len(p.Spans), p.Thinned, p.Dropped)
		}
		m, err := Match(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if tc.reason != "" {
			if len(m.Groups) != 0 || len(m.Unmatched) != 1 || m.Unmatched[0].Reason != tc.reason {
				t.Errorf("%s: %d groups, unmatched %+v", tc.name, len(m.Groups), m.Unmatched)
			}
			continue
		}
		if len(m.Groups) != len(p.Spans)/devices || m.UnmatchedCount() != 0 {
			t.Errorf("%s: %d groups of %d executions, %d unmatched", tc.name, len(m.Groups), len(p.Spans), m.UnmatchedCount())
		}
		latest := int64(0)
		for _, g := range m.Groups {
			start := p.Spans[g.Members[0].Span].StartNS
			latest = max(latest, start)
			for _, member := range g.Members {
				if p.Spans[member.Span].StartNS != start {
					t.Fatalf("%s: %d and %d are in one group", tc.name, start, p.Spans[member.Span].StartNS)
				}
			}
		}
		if latest < 10*times*9/10 {
			t.Errorf("%s: the latest that is kept began at %d of %d ns", tc.name, latest, 10*times)
		}
	}
}

// TestTheShortestOfEachTimeAreKept: those that a lot would leave out, of every operation and all along, on nodes that were not the ones who
// saw that they were short, too.
func TestTheShortestOfEachTimeAreKept(t *testing.T) {
	const launches, stretch = 40_000, int64(50e6)
	short := func(node int32, k int64) bool { return k%1000 == 10*int64(node) }
	read := func(node int32, wanted map[launch]bool) *Part {
		p := newPart(4000)
		p.wanted = wanted
		p.Ops = []Op{{Key: "x", Kind: event.AllReduce}, {Key: "y", Kind: event.AllReduce}}
		for k := range int64(launches) {
			took := int64(1e6) + k%7*1000
			if short(node, k) {
				took = 1000
			}
			op := int32(k % 2)
			if op == 1 {
				took *= 3 // an operation that takes more is not left out for that
			}
			p.add(event.Span{Node: node, Op: op, HasRun: true, Run: k, StartNS: k * stretch, EndNS: k*stretch + took})
		}
		p.finish()
		return p
	}
	first := []*Part{read(0, nil), read(1, nil), read(2, nil)}
	wanted := Wanted(first, 1000)
	if len(wanted) > 1000 || len(wanted) < 120 {
		t.Fatalf("%d launches are wanted", len(wanted))
	}
	var again []*Part
	for node := range int32(3) {
		p := read(node, wanted)
		if len(p.Spans) > 4000 {
			t.Fatalf("%d kept", len(p.Spans))
		}
		again = append(again, p)
	}
	m, err := Match(context.Background(), Join(again...))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]bool{}
	for _, g := range m.Groups {
		if len(g.Members) != 3 {
			t.Fatalf("a group of %d", len(g.Members))
		}
		found[m.Part.Spans[g.Members[0].Span].Run] = true
	}
	all, lost := 0, 0
	for k := range int64(launches) {
		for node := range int32(3) {
			if short(node, k) {
				all++
				if !found[k] {
					lost++
				}
			}
		}
	}
	if all != 120 || lost > 0 {
		t.Errorf("%d of %d launches that were short somewhere are lost", lost, all)
	}
	if got := Wanted([]*Part{newPart(10)}, 100); len(got) != 0 {
		t.Errorf("nothing was left out, and %d are wanted", len(got))
	}
}

// TestAPartHoldsNoMoreThanItsLimit: where neither launches nor turns are what fills it, either.
func TestAPartHoldsNoMoreThanItsLimit(t *testing.T) {
	p := newPart(100)
	p.Ops = []Op{{Key: "x", Kind: event.AllReduce}}
	for range 1000 { // one launch, and one instant for all of them: nothing to choose by
		p.add(event.Span{HasRun: true, StartNS: -5})
	}
	if len(p.Spans) > 100 || p.Dropped == 0 {
		t.Errorf("%d kept, %d dropped", len(p.Spans), p.Dropped)
	}
}

// TestALongTraceIsSampledOverItsWholeTime: the same launches on every node, however full each is, matched as they belong together.
func TestALongTraceIsSampledOverItsWholeTime(t *testing.T) {
	const launches = 5000
	var parts []*Part
	for node := range int32(3) {
		p := newPart(400 * int(node+1)) // they are full at different times
		p.Ops = []Op{{Key: "x", Kind: event.AllReduce}}
		for k := range int64(launches) {
			p.add(event.Span{Node: node, HasRun: true, Run: k, StartNS: 10 * k, EndNS: 10*k + 5})
		}
		if len(p.Spans) > p.limit || int64(len(p.Spans))+p.Thinned != launches || p.Dropped != 0 {
			t.Fatalf("%d kept, %d left out, %d dropped of %d", len(p.Spans), p.Thinned, p.Dropped, launches)
		}
		parts = append(parts, p)
	}
	m, err := Match(context.Background(), Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	if m.UnmatchedCount() != 0 || len(m.Groups) < 100 || len(m.Groups) > 400 {
		t.Errorf("%d groups, %d unmatched", len(m.Groups), m.UnmatchedCount())
	}
	tenths := map[int64]int{}
	for _, g := range m.Groups {
		tenths[m.Part.Spans[g.Members[0].Span].StartNS/launches]++
	}
	for k := range int64(10) {
		if n := tenths[k]; 30*n < len(m.Groups) {
			t.Errorf("%d of %d groups are in tenth %d", n, len(m.Groups), k)
		}
	}
	one := newPart(50)
	one.Ops = []Op{{Key: "x", Kind: event.AllReduce}}
	for k := range int64(500) { // one launch alone fills it
		one.add(event.Span{HasRun: true, Run: 7, StartNS: k, EndNS: k})
	}
	if len(one.Spans) > 50 || int64(len(one.Spans))+one.Thinned+one.Dropped != 500 {
		t.Errorf("%d kept, %d left out, %d dropped", len(one.Spans), one.Thinned, one.Dropped)
	}
}
