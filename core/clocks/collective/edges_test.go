package collective

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
	"github.com/prlx-go/prlx/core/trace/source"
)

func TestNamesInDocuments(t *testing.T) {
	if got := fmt.Sprint(Consistent, Undecidable, Violated); got != "consistent undecidable violated" {
		t.Errorf("got %q", got)
	}
}

func TestNodesShareTheLimitButEachGetsSome(t *testing.T) {
	for n, want := range map[int]int{-1: MaxSpans, 0: MaxSpans, 1: MaxSpans, 2: MaxSpans / 2, 64: MaxSpans / 64, MaxSpans: 1024, 10 * MaxSpans: 1024} {
		if got := PerNode(MaxSpans, n); got != want {
			t.Errorf("%d nodes: %d executions each, want %d", n, got, want)
		}
	}
}

func TestWarningsAreSaidOnceAndBounded(t *testing.T) {
	p := newPart(0)
	for range 3 {
		for i := range maxWarnings {
			p.warn(fmt.Sprint("warning ", i))
		}
	}
	if len(p.Warnings) != maxWarnings || p.Warnings[0] == p.Warnings[1] {
		t.Errorf("%d warnings, want %d: %q", len(p.Warnings), maxWarnings, p.Warnings)
	}
	p.warn("one more")
	if len(p.Warnings) != maxWarnings {
		t.Errorf("%d warnings, want at most %d", len(p.Warnings), maxWarnings)
	}
}

func TestAGapAsLargeAsTheBoundIsUndecidable(t *testing.T) {
	for _, tc := range []struct {
		bound int64
		want  Judgement
	}{{4, Violated}, {5, Undecidable}, {6, Undecidable}} { // of each of the two instants, which are 10 apart
		if got := judged(Op{Kind: event.AllReduce}, tc.bound, member{0, 0, 0, 10}, member{1, 1, 20, 30}); got.judgement != tc.want {
			t.Errorf("bounds of %d: %s, want %s", tc.bound, got.judgement, tc.want)
		}
	}
}

// A participant may send to one and receive from another: only its send gives.
func TestSendsGiveAndReceivesTake(t *testing.T) {
	sender, receiver := Slot{Node: 0}, Slot{Node: 1}
	seats := []seat{{slot: sender, who: 0, sends: true}, {slot: sender, who: 0}, {slot: receiver, who: 1}, {slot: receiver, who: 1, sends: true}}
	var got [][2]int32
	transfers([]hlo.Pair{{Source: 0, Target: 1}}, seats, func(giver, receiver int32) { got = append(got, [2]int32{giver, receiver}) })
	if want := [][2]int32{{0, 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// groupsOf says who is in which group, as node/device.
func groupsOf(m *Matched) []string {
	var all []string
	for _, g := range m.Groups {
		who := ""
		for _, member := range g.Members {
			s := &m.Part.Spans[member.Span]
			who += fmt.Sprintf(" %d/%d", s.Node, s.Device)
		}
		all = append(all, who[1:])
	}
	return all
}

func TestRanksCountOnlyWhereEveryNodeHasItsOwn(t *testing.T) {
	op := Op{Key: "op", Kind: event.AllReduce, Groups: [][]int64{{0, 1}, {2, 3}}, Devices: []int64{0, 1, 2, 3}}
	unknown := spread(op, 4, 1, []int{3, 0, 2, 1})
	delete(unknown.Ranks, 3)
	for name, p := range map[string]*Part{"unknown on one node": unknown, "twice": spread(op, 4, 1, []int{3, 1, 1, 0})} {
		if got, want := groupsOf(mustMatch(t, p)), []string{"0/0 1/0", "2/0 3/0"}; !slices.Equal(got, want) {
			t.Errorf("%s: groups %q, want those in the order of nodes, %q", name, got, want)
		}
	}
}

func TestNodesThatAreJobsOfTheirOwnShareNoGroup(t *testing.T) {
	p := spread(Op{Key: "op", Kind: event.AllReduce, Groups: [][]int64{{0, 1}, {2, 3}}, Devices: []int64{0, 1, 2, 3}}, 3, 4, nil)
	if got, want := groupsOf(mustMatch(t, p)), []string{"0/0 0/1", "0/2 0/3", "1/0 1/1", "1/2 1/3", "2/0 2/1", "2/2 2/3"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}

func TestWhatOneNodeExecutedAloneLosesNoOrder(t *testing.T) {
	p := part(0, event.Span{Node: 0, StartNS: 1}, event.Span{Node: 1, StartNS: 1})
	p.Ops[0].Chain = "stream 7"
	p.Ops = append(p.Ops, Op{Key: "m/alone", Kind: event.AllReduce, Chain: "stream 7", Groups: [][]int64{{5, 6}}})
	p.add(event.Span{Node: 0, Op: 1, StartNS: 100, EndNS: 110}) // nobody knows who this is
	m := mustMatch(t, p)
	if len(m.Groups) != 1 || m.UnmatchedCount() != 1 {
		t.Errorf("%d groups, unmatched %+v; want one group and one without partners", len(m.Groups), m.Unmatched)
	}
}

func TestACutCountsWhoIsMissing(t *testing.T) {
	p := part(0, event.Span{Node: 0, Run: 7}, event.Span{Node: 1, Run: 7, StartNS: 5}, event.Span{Node: 2, Run: 7, StartNS: 100}, event.Span{Node: 0, Run: 8, StartNS: 200}, event.Span{Node: 1, Run: 8, StartNS: 12})
	same := func(_ *event.Span, ns int64) (int64, int64) { return ns, 0 }
	m := mustMatch(t, p).Within(same, 0, 50)
	if len(m.Groups) != 1 || m.Groups[0].Missing != 1 || len(m.Groups[0].Members) != 2 {
		t.Errorf("groups %+v, want one of two members with one missing", m.Groups)
	}
	if len(m.Unmatched) != 1 || m.Unmatched[0].Reason != reasonCut || m.UnmatchedCount() != 1 {
		t.Errorf("unmatched %+v, want one whose partner lies outside", m.Unmatched)
	}
}

func TestWhereTheLatestWereLeftOutTheEarliestBelongTogether(t *testing.T) {
	spans := []event.Span{
		{Node: 0, StartNS: 1}, {Node: 0, StartNS: 2}, {Node: 0, StartNS: 3}, {Node: 1, StartNS: 1}, {Node: 1, StartNS: 2}, {Node: 2, StartNS: 1}, {Node: 2, StartNS: 2}, {Node: 2, StartNS: 3},
	}
	p := part(0, spans...)
	p.Dropped = 1
	m := mustMatch(t, p)
	if len(m.Groups) != 2 || len(m.Groups[0].Members) != 3 || len(m.Groups[1].Members) != 3 {
		t.Errorf("groups %+v, want two of three members", m.Groups)
	}
	if m := mustMatch(t, part(0, spans...)); len(m.Groups) != 0 || m.UnmatchedCount() != 8 {
		t.Errorf("nothing was left out: %d groups, %d unmatched, want none and all", len(m.Groups), m.UnmatchedCount())
	}
}

func TestRanksAreThoseOfTheKernelElseOfItsGroup(t *testing.T) {
	c := &recordedReader{distributed: &source.Distributed{Groups: []source.ProcessGroup{
		{Name: "8", Size: 2, Ranks: []int{0, 2}}, {Name: "9", Size: 2, Ranks: []int{1, 3}}, {Name: "cut", Size: 3, Ranks: []int{1}}, {Name: "empty"},
	}}}
	for _, tc := range []struct {
		group, ranks string
		want         []int64
	}{
		{"9", "[4, 5]", []int64{4, 5}},
		{"9", "[1, ...]", []int64{1, 3}},
		{"9", "[]", []int64{1, 3}},
		{"8", "", []int64{0, 2}},
		{"cut", "", nil},
		{"empty", "", nil},
		{"other", "", nil},
		{"9", "[6, , 7,]", []int64{6, 7}},
		{"other", "[1", nil},
		{"other", "1]", nil},
	} {
		if got := c.ranks(&source.Communication{Group: tc.group, Ranks: tc.ranks}); !slices.Equal(got, tc.want) {
			t.Errorf("group %s with ranks %q: %v, want %v", tc.group, tc.ranks, got, tc.want)
		}
	}
	if got := new(recordedReader).ranks(&source.Communication{Group: "9"}); got != nil {
		t.Errorf("without groups: %v", got)
	}
}

func TestTheInnermostRangeOfTheSameThreadIsAround(t *testing.T) {
	call := func(line int32, start, end int64) source.Call {
		c := source.Call{Span: source.Span{Line: line, EndNS: end}}
		c.Start.NS = start
		return c
	}
	c := &recordedReader{ranges: []source.Call{call(1, 0, 1000), call(1, 10, 90), call(1, 20, 30), call(2, 200, 300)}}
	slices.SortFunc(c.ranges, compareCalls)
	for _, tc := range []struct {
		line        int32
		at, want    int64
		nothingHere bool
	}{{1, 25, 20, false}, {1, 50, 10, false}, {1, 95, 0, false}, {2, 250, 200, false}, {2, 100, 0, true}, {3, 25, 0, true}, {1, 1001, 0, true}} {
		x := call(tc.line, tc.at, tc.at+1)
		if got := c.around(&x); (got == nil) != tc.nothingHere || got != nil && (got.Start.NS != tc.want || got.Line != tc.line) {
			t.Errorf("around %d on line %d: %+v, want the range from %d (none: %v)", tc.at, tc.line, got, tc.want, tc.nothingHere)
		}
	}
}

func TestPlanesOfAMarkAreFoundByTheirProcess(t *testing.T) {
	layout := []*source.Process{{TextID: "7"}, {TextID: `"9"`}, {TextID: "11"}}
	got := planesOf(layout, []aligned.Plane{{Process: 5, Kind: "gone"}, {Process: 9, Kind: "b", Threads: []int{3, 4}}, {Process: 7, Kind: "a"}})
	if got[0].Kind != "a" || got[1].Kind != "b" || got[2].Kind != "" {
		t.Errorf("planes %+v", got)
	}
	if want := map[string]bool{"3": true, "4": true}; !reflect.DeepEqual(got[1].threads, want) || got[0].threads != nil {
		t.Errorf("threads %v and %v, want %v and all", got[1].threads, got[0].threads, want)
	}
}

func TestAMarkMaySayNothingOfSomeNodes(t *testing.T) {
	got, err := ReadCompiled(&aligned.Mark{Nodes: []aligned.Node{{}, {Compiled: &aligned.Compiled{Planes: []aligned.Plane{{Process: 1}}}}, {}}})
	if err != nil || len(got) != 3 || got[0] != nil || got[1] == nil || got[2] != nil {
		t.Errorf("%v, %v; want something of the second node alone", got, err)
	}
}

func TestADoneEndsOneStart(t *testing.T) {
	p := newPart(0)
	p.Ops = []Op{
		{Key: "start", Kind: event.AllReduce, Phase: hlo.Start},
		{Key: "start", Kind: event.AllReduce, Phase: hlo.Start, Root: 1},
		{Key: "done", Kind: event.AllReduce, Phase: hlo.Done, Start: "start"},
	}
	p.paired = []event.Span{{Op: 0, StartNS: 10, EndNS: 11}, {Op: 1, StartNS: 20, EndNS: 21}, {Op: 2, StartNS: 30, EndNS: 31}}
	p.finish()
	if len(p.Spans) != 1 || p.Spans[0].StartNS != 10 || p.Spans[0].EndNS != 31 {
		t.Errorf("executions %+v, want one from 10 to 31", p.Spans)
	}
}

func TestNothingIsMatchedOnceItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Match(ctx, part(0, event.Span{Run: 7}, event.Span{Node: 1, Run: 7})); err == nil {
		t.Error("matched although it was cancelled")
	}
}
