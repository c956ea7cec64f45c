package precedence

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// TestTwoDevicesOfOneClockSayWhatBothDo: of those that give the later entry counts, of those that take the earlier leave; an instant of one that does not give, or
// does not take, is none.
func TestTwoDevicesOfOneClockSayWhatBothDo(t *testing.T) {
	giver, taker := offsets.Presence{Gives: true, EnterNS: 10, LeftNS: 900}, offsets.Presence{Takes: true, EnterNS: 990, LeftNS: 800}
	early, late := offsets.Presence{Gives: true, Takes: true, EnterNS: 5, LeftNS: 700}, offsets.Presence{Gives: true, Takes: true, EnterNS: 20, LeftNS: 850}
	for _, c := range []struct{ a, b, want offsets.Presence }{
		{giver, taker, offsets.Presence{Gives: true, Takes: true, EnterNS: 10, LeftNS: 800}},
		{early, late, offsets.Presence{Gives: true, Takes: true, EnterNS: 20, LeftNS: 700}},
		{giver, late, offsets.Presence{Gives: true, Takes: true, EnterNS: 20, LeftNS: 850}},
		{taker, late, offsets.Presence{Gives: true, Takes: true, EnterNS: 20, LeftNS: 800}},
		{giver, early, offsets.Presence{Gives: true, Takes: true, EnterNS: 10, LeftNS: 700}},
		{taker, early, offsets.Presence{Gives: true, Takes: true, EnterNS: 5, LeftNS: 700}},
	} {
		for _, got := range []offsets.Presence{join(c.a, c.b), join(c.b, c.a)} {
			if got != c.want {
				t.Errorf("%+v with %+v: %+v, want %+v", c.a, c.b, got, c.want)
			}
		}
	}
	a, b := giver, offsets.Presence{Gives: true, EnterNS: 15, LeftNS: 100}
	if got := join(a, b); !got.Gives || got.Takes || got.EnterNS != 15 {
		t.Errorf("two givers: %+v", got)
	}
	a, b = taker, offsets.Presence{Takes: true, EnterNS: 1, LeftNS: 950}
	if got := join(a, b); got.Gives || !got.Takes || got.LeftNS != 800 {
		t.Errorf("two takers: %+v", got)
	}
}

// TestWhoIsOfOneClockIsJoinedWhateverTheOrder: of a hundred devices on three clocks three members are left, in every order in which they are found.
func TestWhoIsOfOneClockIsJoinedWhateverTheOrder(t *testing.T) {
	var all []offsets.Presence
	for i := range int64(99) {
		all = append(all, offsets.Presence{Clock: int32(i % 3), Gives: i%3 != 2, Takes: i%3 != 1, EnterNS: 1000 + i, LeftNS: 5000 - i})
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		x := &Executions{}
		if !x.keep(7, slices.Clone(all)) || !slices.Equal(x.Groups, []int32{7}) || x.Meetings.Len() != 1 {
			t.Fatalf("%+v", x)
		}
		list := x.Meetings.Of(0)
		if len(list) != 3 || list[0].EnterNS != 1096 || list[0].LeftNS != 5000-96 || list[1].EnterNS != 1097 || list[2].LeftNS != 5000-98 || list[1].Takes || list[2].Gives {
			t.Fatalf("%+v", list)
		}
	}
}

// TestAMeetingNeedsOneThatGivesAndAnotherThatTakes: a broadcast of which only those who take are on known clocks orders nothing, nor does one member.
func TestAMeetingNeedsOneThatGivesAndAnotherThatTakes(t *testing.T) {
	give, take := offsets.Presence{Gives: true}, offsets.Presence{Takes: true}
	both := offsets.Presence{Gives: true, Takes: true}
	for _, c := range []struct {
		list []offsets.Presence
		want bool
	}{
		{[]offsets.Presence{give, take}, true},
		{[]offsets.Presence{both, both}, true},
		{[]offsets.Presence{give, both}, true},
		{[]offsets.Presence{both, take}, true},
		{[]offsets.Presence{give, give}, false},
		{[]offsets.Presence{take, take, take}, false},
		{[]offsets.Presence{both}, false},
		{nil, false},
	} {
		for i := range c.list {
			c.list[i].Clock = int32(i)
		}
		x := &Executions{}
		if got := x.keep(0, c.list); got != c.want || (x.Meetings.Len() == 1) != c.want || (len(x.Groups) == 1) != c.want {
			t.Errorf("%+v: %v, %d meetings", c.list, got, x.Meetings.Len())
		}
	}
}

// TestExecutionsAreCountedByWhatTheySay: one whose kind was read from a name is told apart, one that says nothing is not called guessed.
func TestExecutionsAreCountedByWhatTheySay(t *testing.T) {
	for _, guess := range []bool{false, true} {
		m := match(t, execution(collective.Op{Kind: event.AllReduce, Guess: guess}))
		x := Collect(m, collective.AsRecorded, own)
		if x.Silent != 0 || (x.Guessed == 1) != guess || !slices.Equal(x.Groups, []int32{0}) {
			t.Errorf("guessed: %v: %+v", guess, x)
		}
		x = Collect(m, collective.AsRecorded, func(int32) (offsets.Clock, bool) { return own(0) })
		if x.Silent != 1 || x.Guessed != 0 || len(x.Groups) != 0 {
			t.Errorf("of one clock, guessed: %v: %+v", guess, x)
		}
	}
	pairs := execution(collective.Op{Kind: event.Permute, Pairs: []hlo.Pair{{Source: 0, Target: 1}, {Source: 2, Target: 2}}})
	if x := Collect(match(t, pairs), collective.AsRecorded, own); x.Silent != 0 || x.Meetings.Len() != 1 {
		t.Errorf("one pair of two says something: %+v", x)
	}
}

// TestWhatEndsBeforeItBeginsSaysNothing, as of a clock that was set back; what takes no time does say when.
func TestWhatEndsBeforeItBeginsSaysNothing(t *testing.T) {
	for left, want := range map[int64]int{1000: 3, 1001: 4, 1003: 4} {
		p := execution(collective.Op{Kind: event.AllReduce})
		m := match(t, p)
		x := Collect(m, func(s *event.Span, ns int64) (int64, int64) {
			if s.Node == 0 && ns == s.EndNS {
				return left, 0
			}
			return ns, 0
		}, own)
		if got := len(x.Meetings.Of(0)); got != want {
			t.Errorf("entered at 1001 and left at %d: %d members, want %d", left, got, want)
		}
	}
}

// TestGrainIsWhatAllInstantsAreMultiplesOf: one instant that is not tells that nothing was rounded.
func TestGrainIsWhatAllInstantsAreMultiplesOf(t *testing.T) {
	for _, c := range []struct {
		list []int64
		want int64
	}{
		{[]int64{5_000_000, 12_000_000, 3_000_000}, 1_000_000},
		{[]int64{5_000_000, 12_001_000}, 1000},
		{[]int64{-7000, 21_000}, 1000},
		{[]int64{1_700_000_000_000_000_250, 1_700_000_000_000_001_500}, 250},
		{[]int64{5_000_000, 12_001_000, 777}, 0},
		{[]int64{500, 1500}, 250},
		{[]int64{40, 80}, 0},
	} {
		var g Grain
		for _, ns := range c.list {
			g.Add(ns)
		}
		if got := g.Step(); got != c.want {
			t.Errorf("%v: %d, want %d", c.list, got, c.want)
		}
	}
	// Of a node both begins and ends tell, and each node for itself.
	for name, c := range map[string]struct {
		start, end int64
		want       int64
	}{"both": {1000, 1000, 1000}, "begins alone": {1000, 1, 0}, "ends alone": {1, 1000, 0}} {
		spans := []event.Span{{Node: 3, StartNS: 7 * c.start, EndNS: 9 * c.end}, {Node: 3, StartNS: 8 * c.start, EndNS: 11 * c.end}, {Node: 4, StartNS: 3, EndNS: 7}}
		got, is := grains(spans)[3]
		if _, fine := grains(spans)[4]; got != c.want || is != (c.want > 0) || fine {
			t.Errorf("%s: %v", name, grains(spans))
		}
	}
}
