package align

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

const start = int64(1_760_000_000_000_000_000)

// process makes a process of lines; they get their numbers here.
func process(index int, name string, lines ...*source.Line) *source.Process {
	for i, l := range lines {
		l.Index = i
	}
	return &source.Process{Index: index, Name: name, Lines: lines}
}

// timed makes a line with events between two offsets, in ps.
func timed(timestampNS, firstPS, lastPS int64) *source.Line {
	return &source.Line{TimestampNS: timestampNS, Events: 3, Aggregated: 1, Summarised: true, MinOffsetPS: firstPS, MaxEndPS: lastPS}
}

// empty makes a line whose events have no time.
func empty(timestampNS int64) *source.Line {
	return &source.Line{TimestampNS: timestampNS, Events: 2, Aggregated: 2}
}

// onTracer puts a line on the tracer's clock.
func onTracer(l *source.Line) *source.Line { l.OnTracer = true; return l }

// twoClocks is a trace with lines of both clocks: the tracer's is 5 s behind, the node's wall clock 1 µs behind the reference's.
func twoClocks(t *testing.T) ([]*source.Process, Clocks) {
	t.Helper()
	tracer, err := clock.New([]clock.Knot{{X: start - 5e9, Y: start, BoundNS: 3}, {X: start - 4e9, Y: start + 1e9, BoundNS: 3}})
	if err != nil {
		t.Fatal(err)
	}
	return []*source.Process{
		process(0, "/host:CPU", timed(0, 7_000, 90_000), onTracer(timed(0, 2_500, 60_000)), onTracer(empty(0))),
		process(1, "/device:GPU:0", onTracer(timed(0, 4_999, 80_001)), onTracer(timed(0, 5_000, 70_000))),
		process(2, "empty"),
	}, Clocks{Tracer: tracer, StartTracerNS: start - 5e9, Wall: clock.Shift(1000, 4)}
}

func TestClocksAreNamed(t *testing.T) {
	if Wall.String() != "wall" || Tracer.String() != "tracer" {
		t.Errorf("%q and %q", Wall, Tracer)
	}
}

func TestLinesGoThroughTheMapOfTheirClock(t *testing.T) {
	processes, c := twoClocks(t)
	p := PlanLines(processes, start, c, HostTime)
	for i, lines := range [][]Domain{{Wall, Tracer, Tracer}, {Tracer, Tracer}, {}} {
		for j, want := range lines {
			lp := &p.Lines[i][j]
			if lp.Domain != want || lp.OldBaseNS != start || lp.NewBaseNS != start+1000 {
				t.Errorf("line %d of process %d: %v from %d to %d", j, i, lp.Domain, lp.OldBaseNS-start, lp.NewBaseNS-start)
			}
		}
	}
	if p.TracerLines != 4 || p.Wall == nil || p.Tracer == nil {
		t.Errorf("%d lines on the tracer's clock, maps %v and %v", p.TracerLines, p.Wall, p.Tracer)
	}
	if want := []string{"4 lines are on the tracer's clock, 2 of them host threads whose base equals that of the device lines"}; !slices.Equal(p.Reasons, want) {
		t.Errorf("reasons %q, want %q", p.Reasons, want)
	}
	if got, want := p.TracerLinesOf(), []aligned.Lines{{Lines: []int{1, 2}}, {All: true}, {}}; !reflect.DeepEqual(got, want) {
		t.Errorf("lines of the tracer %+v, want %+v", got, want)
	}
	from, to, ok := p.TracerSpan(start - 5e9)
	if !ok || from != start-5e9+2 || to != start-5e9+80 {
		t.Errorf("the tracer's events are from %d to %d ns (%v), want 2 to 80", from-start+5e9, to-start+5e9, ok)
	}

	devices := []*source.Process{process(0, "/device:GPU:0", onTracer(timed(0, 1, 2)))}
	if p := PlanLines(devices, start, c, HostTime); !slices.Equal(p.Reasons, []string{"1 lines are on the tracer's clock"}) {
		t.Errorf("reasons %q of a device line alone", p.Reasons)
	}
	c.Tracer = nil
	p = PlanLines(processes, start, c, HostTime)
	if _, _, ok := p.TracerSpan(0); ok || p.TracerLines != 0 || p.Tracer != nil || len(p.Reasons) != 0 {
		t.Errorf("without snapshots %d lines are on the tracer's clock (%q)", p.TracerLines, p.Reasons)
	}
}

func TestWhatIsAlignedStaysWithTheBoundsThatAreStated(t *testing.T) {
	processes, _ := twoClocks(t)
	stated := []Stated{
		{Wall: clock.Shift(0, 11), Lines: aligned.Lines{Lines: []int{1}}},
		{Wall: clock.Shift(0, 12), Tracer: clock.Shift(0, 13), Lines: aligned.Lines{All: true}},
		{},
	}
	p := PlanLines(processes, start, Clocks{Stated: stated}, HostTime)
	for i, want := range [][]int64{{11, 11, 11}, {13, 13}} {
		for j, bound := range want {
			lp := &p.Lines[i][j]
			if ns, b := lp.At(start + 5); ns != start+5 || b != bound || lp.NewBaseNS != lp.OldBaseNS {
				t.Errorf("line %d of process %d: moved by %d, bound %d, want 0 and %d", j, i, ns-start-5, b, bound)
			}
		}
	}
	if p.TracerLines != 3 || len(p.Reasons) != 0 || p.Tracer != nil {
		t.Errorf("%d lines of the tracer, reasons %q, map %v; want 3 and nothing decided here", p.TracerLines, p.Reasons, p.Tracer)
	}
	// With a map of its own, or where the statements are of another trace, the times are those of a trace like any other.
	for name, c := range map[string]Clocks{
		"a map":          {Stated: stated, Wall: clock.Shift(1000, 0)},
		"other planes":   {Stated: stated[:2], Wall: clock.Shift(1000, 0)},
		"fewer, no map":  {Stated: stated[:2]},
		"nothing stated": {},
	} {
		p := PlanLines(processes, start, c, HostTime)
		want := int64(0)
		if c.Wall != nil {
			want = 1000
		}
		if got := p.Lines[0][0].NewBaseNS - p.Lines[0][0].OldBaseNS; got != want || p.TracerLines != 0 {
			t.Errorf("%s: moved by %d, want %d; %d lines on the tracer's clock", name, got, want, p.TracerLines)
		}
	}
}

func TestExtremesLookAtTimedEventsAlone(t *testing.T) {
	lines := []*source.Line{empty(5), timed(100, 40_500, 90_500), timed(100, -1_500, 20_000), timed(101, 0, 89_000)}
	p := PlanLines([]*source.Process{process(0, "a", lines...)}, start, Clocks{Wall: clock.Shift(10, 0)}, HostTime)
	base := start + 10
	if ns, ok := p.EarliestNS(); !ok || ns != base+5 {
		t.Errorf("earliest %d (%v), want the empty line at 5", ns-base, ok)
	}
	if ns, ok := p.EarliestEventNS(); !ok || ns != base+98 {
		t.Errorf("earliest event at %d (%v), want 98: half a ns before 99", ns-base, ok)
	}
	if ns, ok := p.LatestNS(); !ok || ns != base+190 {
		t.Errorf("latest end %d (%v), want 190", ns-base, ok)
	}
	none := PlanLines([]*source.Process{process(0, "a", empty(5)), process(1, "b")}, start, Clocks{}, HostTime)
	if ns, ok := none.EarliestNS(); !ok || ns != start+5 {
		t.Errorf("an empty line begins at %d (%v)", ns-start, ok)
	}
	if _, ok := none.EarliestEventNS(); ok {
		t.Error("an earliest event of none")
	}
	if _, ok := none.LatestNS(); ok {
		t.Error("a latest end of none")
	}
	if _, ok := PlanLines(nil, start, Clocks{}, HostTime).EarliestNS(); ok {
		t.Error("an earliest instant of no line")
	}
}

func TestTheEditShowsTheWholeCorrection(t *testing.T) {
	processes, c := twoClocks(t)
	processes[0].Lines[0].TimestampNS = 70 // counts from the start
	p := PlanLines(processes, start, c, HostTime)
	const zero = start - 400
	e, stats := p.Edit(zero, &Range{FromNS: start + 1000, ToNS: math.MaxInt64}, EventStats{Correction: "correction"})
	if len(stats) != 5 {
		t.Fatalf("%d lines are counted, want 5", len(stats))
	}
	for i := range p.Lines {
		for j := range p.Lines[i] {
			l, lp, le := processes[i].Lines[j], &p.Lines[i][j], &e.Planes[i].Lines[j]
			if want := lp.NewBaseNS - zero; *le.TimestampNS != want {
				t.Errorf("line %d of process %d begins at %d, want %d", j, i, *le.TimestampNS, want)
			}
			shown := *le.TimestampNS - l.TimestampNS // what a Retimer sees
			if got, want := shown+le.CorrectionBaseNS, lp.NewBaseNS-lp.OldBaseNS; got != want || want != 1000 {
				t.Errorf("line %d of process %d: a correction of %d ns, want %d", j, i, got, want)
			}
			if *le.KeepFromPS != (start+1000-lp.NewBaseNS)*1000 || *le.KeepToPS != math.MaxInt64 {
				t.Errorf("line %d of process %d is kept from %d to %d ps", j, i, *le.KeepFromPS, *le.KeepToPS)
			}
		}
	}
}

func TestObserversCountWhatMovedAndBySoMuch(t *testing.T) {
	bent, err := clock.New([]clock.Knot{{X: start, Y: start, BoundNS: 9}, {X: start + 1000, Y: start + 3000, BoundNS: 9}, {X: start + 2000, Y: start + 4000, BoundNS: 9}})
	if err != nil {
		t.Fatal(err)
	}
	p := PlanLines([]*source.Process{process(0, "a", timed(0, 0, 1))}, start, Clocks{Wall: bent}, HostTime)
	e, stats := p.Edit(0, nil, EventStats{})
	line := e.Planes[0].Lines[0]
	bounds := line.Cursor.Bounds(0)
	line.Observe(&source.Observed{OldPS: []int64{0, 0}, NewPS: []int64{0, 0}, Bounds: bounds})
	line.Observe(&source.Observed{OldPS: []int64{500_000}, NewPS: []int64{1_500_000}, Bounds: bounds})
	bounds.Coverage = clock.Clamped | clock.InStep
	line.Observe(&source.Observed{OldPS: []int64{500_000}, NewPS: []int64{500_300}, Bounds: bounds}) // less than a ns: moved, by 0
	s := stats[0]
	if s.Timed != 4 || s.EventsCorrected != 2 || s.MinCorrectionNS != 0 || s.MaxCorrectionNS != 1000 || s.Events != 3 || s.Aggregated != 1 {
		t.Errorf("%+v", s)
	}
	if want := []Clamp{{Plane: "a", Line: "line 0", OffsetPS: 500_000, BoundNS: 9}}; !slices.Equal(s.Clamps, want) || s.EventsClamped != 1 || s.EventsInStep != 1 {
		t.Errorf("clamps %+v (%d), %d in steps", s.Clamps, s.EventsClamped, s.EventsInStep)
	}

	moved := PlanLines([]*source.Process{process(0, "a", timed(0, 0, 1))}, start, Clocks{Wall: clock.Shift(-70, 6)}, HostTime)
	e, stats = moved.Edit(0, nil, EventStats{})
	e.Planes[0].Lines[0].Observe(&source.Observed{OldPS: []int64{5}, NewPS: []int64{5}}) // a Retimer knows no bound of a line that moves as a whole
	if s := stats[0]; s.EventsCorrected != 1 || s.MinCorrectionNS != -70 || s.MaxCorrectionNS != -70 || s.Bounds.Max() != 6 {
		t.Errorf("a line moved by -70 ns: %+v", s)
	}
}

func TestStatsOfEventsAndTheirSums(t *testing.T) {
	type seen struct {
		correction, bound int64
		c                 clock.Coverage
	}
	count := func(all ...seen) *Stats {
		var s Stats
		for _, o := range all {
			bounds := clock.Shift(o.correction, o.bound).Cursor(0).Bounds(0)
			bounds.Coverage = o.c
			(&eventsOf{stats: &s, shiftNS: o.correction}).observe([]int64{0}, []int64{0}, &bounds)
		}
		return &s
	}
	later := count(seen{5, 1, 0}, seen{9, 8, clock.Extrapolated}, seen{7, 2, clock.ExtrapolatedThen}, seen{6, 3, clock.InStep | clock.Clamped})
	want := Stats{Timed: 4, Uncovered: 3, SnapshotExtrapolations: 1, OffsetExtrapolations: 1, EventsInStep: 1, EventsClamped: 1, MinCorrectionNS: 5, MaxCorrectionNS: 9, EventsCorrected: 4, Bounds: later.Bounds, Clamps: []Clamp{{BoundNS: 3}}}
	if !reflect.DeepEqual(*later, want) || later.Coverage() != 0.25 {
		t.Errorf("%+v, want %+v", *later, want)
	}
	before := count(seen{-3, 4, clock.Extrapolated}, seen{-2, 4, 0})
	for name, sum := range map[string][]*Stats{"forwards": {later, {}, before}, "backwards": {before, {}, later}} {
		var total Stats
		for _, s := range sum {
			s := *s
			s.Events, s.EventsCorrected, s.Aggregated = 10, 7, 2
			total.Merge(&s)
		}
		want := Stats{
			Events: 30, EventsCorrected: 21, Aggregated: 6, Timed: 6, Uncovered: 4, SnapshotExtrapolations: 2, OffsetExtrapolations: 1,
			EventsInStep: 1, EventsClamped: 1, MinCorrectionNS: -3, MaxCorrectionNS: 9, Bounds: total.Bounds, Clamps: []Clamp{{BoundNS: 3}},
		}
		if !reflect.DeepEqual(total, want) || total.Bounds.Total() != 6 || total.Bounds.Max() != 8 {
			t.Errorf("%s: %+v, want %+v", name, total, want)
		}
	}
	if c := new(Stats).Coverage(); c != 1 {
		t.Errorf("coverage of nothing %v", c)
	}
}

func TestInstantsRelativeToABase(t *testing.T) {
	const widest = math.MaxInt64 / 1000 // ns that fit as ps
	for _, tc := range []struct{ ns, base, want int64 }{
		{5, 5, 0},
		{7, 5, 2000},
		{5, 7, -2000},
		{start + widest, start, widest * 1000},
		{start + widest + 1, start, math.MaxInt64},
		{start - widest, start, -widest * 1000},
		{start - widest - 1, start, math.MinInt64},
		{math.MaxInt64, -start, math.MaxInt64},
		{math.MinInt64, start, math.MinInt64},
	} {
		if got := relativePS(tc.ns, tc.base); got != tc.want {
			t.Errorf("%d from %d: %d ps, want %d", tc.ns, tc.base, got, tc.want)
		}
	}
	for ps, want := range map[int64]int64{0: 0, 1: 0, 999: 0, 1000: 1, 1999: 1, 5_000_000: 5000, -1: -1, -999: -1, -1000: -1, -1001: -2, -5_000_000: -5000} {
		if got := floorNS(ps); got != want {
			t.Errorf("%d ps are %d ns, want %d", ps, got, want)
		}
	}
	for _, tc := range []struct{ a, b, want int64 }{
		{1, 2, 3},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MaxInt64 - 1, 1, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64},
		{math.MinInt64, math.MinInt64, math.MinInt64},
		{math.MaxInt64, -1, math.MaxInt64 - 1},
		{math.MinInt64, 0, math.MinInt64},
		{math.MinInt64, math.MaxInt64, -1},
		{0, math.MaxInt64, math.MaxInt64},
	} {
		if got := addSat(tc.a, tc.b); got != tc.want {
			t.Errorf("%d + %d = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
