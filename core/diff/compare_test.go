package diff

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// format is one of the ways in which a recording can be stored.
type format struct {
	name string
	open func(t testing.TB, r *warptracetest.Recording, name string) *warptrace.Trace
	hold func(r *warptracetest.Recording) *warptracetest.Recording // what of the recording it can hold
}

var formats = []format{
	{"v1", func(t testing.TB, r *warptracetest.Recording, name string) *warptrace.Trace {
		return r.OpenV1(t, name, warptracetest.V1File{})
	}, (*warptracetest.Recording).V1},
	{"v1 zstd", func(t testing.TB, r *warptracetest.Recording, name string) *warptrace.Trace {
		return r.OpenV1(t, name, warptracetest.V1File{Compress: true})
	}, (*warptracetest.Recording).V1},
	{
		"v2", func(t testing.TB, r *warptracetest.Recording, name string) *warptrace.Trace { return r.OpenV2(t, name) },
		func(r *warptracetest.Recording) *warptracetest.Recording { return r },
	},
}

func compared(t testing.TB, a, b *warptrace.Trace, opt Options, workers int) *Result {
	t.Helper()
	r, err := Compare(job.New(context.Background(), job.Options{Workers: workers}), a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func documentOf(t testing.TB, r *Result) *Document {
	t.Helper()
	d, err := r.Document(DocumentOptions{Rows: new(int64)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// twin is the slow obvious comparison of two warps whose sites have the same numbers.
type twin struct {
	a, b   *warptrace.Warp
	taken  bool
	values bool
}

// differs lists how two events of one site differ, by the words of the documentation.
func (w *twin) differs(i, j int) (kinds []RowKind) {
	a, b := w.a, w.b
	both := a.Active[i] & b.Active[j]
	switch {
	case w.taken:
		if a.Taken[i]&both != b.Taken[j]&both {
			kinds = append(kinds, RowBranch)
		}
	case a.Dir[i] != b.Dir[j] && (a.Kind[i] == site.Branch || a.Kind[i] == site.Switch || a.Kind[i] == site.Predicate):
		kinds = append(kinds, RowBranch)
	}
	if a.Active[i] != b.Active[j] {
		kinds = append(kinds, RowActiveMask)
	}
	hidden := a.Type[i] == warptrace.TypeHash && a.Active[i] != b.Active[j]
	if w.values && a.Type[i] != warptrace.TypeNone && b.Type[j] != warptrace.TypeNone && !hidden &&
		(a.Type[i] != b.Type[j] || FormatBits(a.Value[i], a.Type[i]) != FormatBits(b.Value[j], b.Type[j])) {
		kinds = append(kinds, RowValue)
	}
	return kinds
}

// FormatBits spells a value so that any NaN equals any NaN, as is the default.
func FormatBits(v uint64, t warptrace.ValueType) string {
	if f, ok := warptrace.Float(v, t); ok && f != f {
		return "NaN"
	}
	return fmt.Sprintf("%x", v&(^uint64(0)>>(64-t.Bits())))
}

// lockstep is the first index at which the streams differ, -1 when nowhere.
func (w *twin) lockstep() int {
	for i := range max(w.a.Len(), w.b.Len()) {
		if i >= w.a.Len() || i >= w.b.Len() || w.a.Site[i] != w.b.Site[i] || len(w.differs(i, i)) > 0 {
			return i
		}
	}
	return -1
}

// distance is the least number of insertions and deletions that make the sites equal.
func (w *twin) distance() int64 {
	a, b := w.a.Site, w.b.Site
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	row := make([]int32, len(b)+1)
	for _, x := range a {
		diagonal := row[0]
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diagonal = up
		}
	}
	return int64(len(a)+len(b)) - 2*int64(row[len(b)])
}

// check holds the rows of one warp against the twin and returns what their script costs.
func (w *twin) check(t testing.TB, rows []Row) (cost int64) {
	t.Helper()
	first := w.lockstep()
	if (first < 0) != (len(rows) == 0) {
		t.Fatalf("%d rows, read side by side the streams differ at %d", len(rows), first)
	}
	if first < 0 {
		return 0
	}
	if at := int(min(rows[0].EventA, rows[0].EventB)); at != first {
		t.Fatalf("the first row is %s at %d, read side by side the streams differ at %d", rows[0].Kind, at, first)
	}
	i, j := 0, 0
	pairs := func(upTo int) {
		for ; i < upTo; i, j = i+1, j+1 {
			if j >= w.b.Len() || w.a.Site[i] != w.b.Site[j] {
				t.Fatalf("events %d and %d are paired and are of other sites", i, j)
			}
			for _, kind := range w.differs(i, j) {
				if len(rows) == 0 || rows[0].Kind != kind || int(rows[0].EventA) != i || int(rows[0].EventB) != j {
					t.Fatalf("events %d and %d differ in %s, which is not the next row", i, j, kind)
				}
				rows = rows[1:]
			}
		}
	}
	for len(rows) > 0 {
		r := &rows[0]
		if r.Kind <= RowValue {
			before := len(rows)
			if pairs(int(r.EventA) + 1); len(rows) == before {
				t.Fatalf("%s at %d and %d: nothing differs there", r.Kind, r.EventA, r.EventB)
			}
			continue
		}
		pairs(int(r.EventA))
		if i != int(r.EventA) || j != int(r.EventB) {
			t.Fatalf("%s at %d and %d, reached were %d and %d", r.Kind, r.EventA, r.EventB, i, j)
		}
		if (r.Kind == RowPath) != (r.Count > 0 && r.CountB > 0) {
			t.Fatalf("%s of %d and %d events", r.Kind, r.Count, r.CountB)
		}
		if r.Count > 0 && r.OccurrenceA != occurrence(w.a.Site, i) || r.CountB > 0 && r.OccurrenceB != occurrence(w.b.Site, j) {
			t.Fatalf("occurrences %d and %d at %d and %d", r.OccurrenceA, r.OccurrenceB, i, j)
		}
		cost += int64(r.Count) + int64(r.CountB)
		i, j = i+int(r.Count), j+int(r.CountB)
		rows = rows[1:]
	}
	if pairs(w.a.Len()); j != w.b.Len() {
		t.Fatalf("the rows account for %d of %d events of B", j, w.b.Len())
	}
	return cost
}

func occurrence(sites []uint32, at int) uint32 {
	var n uint32
	for _, s := range sites[:at] {
		if s == sites[at] {
			n++
		}
	}
	return n
}

func rowsOf(r *Result, warp uint64) []Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Warp != warp })
}

var empty warptrace.Warp

func find(r *warptracetest.Recording, warp uint64) *warptrace.Warp {
	if w := r.Find(warp); w != nil {
		return w
	}
	return &empty
}

// Generated pairs with known edits, in every format: each warp's rows against the slow obvious twin, the first divergence against
// the generator's truth.
func TestCompareAgainstTheTruth(t *testing.T) {
	warps, minimal, rows, edits, firsts, kinds := 0, 0, 0, 0, 0, 0
	for seed := range sweep.Of[uint64](18, 60) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed, Endless: seed%3 == 0})
		a := p.Run(warptracetest.Launch{Warps: 8, Wave: []int{32, 64}[seed%2], Events: 500, Barriers: seed%2 == 0})
		a.Header.EventsPerWarp = 0
		for i := range a.Warps { // what an endless program has not recorded is no loss
			a.Warps[i].Dropped, a.Warps[i].Total = 0, uint64(a.Warps[i].Len())
		}
		for _, e := range []warptracetest.Edits{{Count: 1, MaxRun: 3}, {Count: 12, MaxRun: 40}, {Rate: 0.05, MaxRun: 2}} {
			e.Seed = seed
			b, truth := warptracetest.Edit(a, e)
			edits += len(truth.Edits)
			for _, f := range formats {
				ha, hb := f.hold(a), f.hold(b)
				r := compared(t, f.open(t, a, "a.prlx"), f.open(t, b, "b.prlx"), Options{Values: seed%2 == 0}, 1+int(seed%3))
				for w := range uint64(8) {
					tw := twin{find(ha, w), find(hb, w), f.name == "v2", seed%2 == 0}
					got := rowsOf(r, w)
					rows += len(got)
					t.Run(fmt.Sprintf("%d/%s/%d", seed, f.name, w), func(t *testing.T) {
						cost := tw.check(t, got)
						warps++
						if cost == tw.distance() {
							minimal++
						}
					})
					if t.Failed() {
						t.Fatalf("seed %d, %s, warp %d, %+v: %+v", seed, f.name, w, e, got)
					}
				}
				want := truth.FirstControl
				if seed%2 == 0 {
					want = truth.First
				}
				if (want == nil) != (len(r.Rows) == 0) && f.name == "v2" {
					t.Fatalf("seed %d: first %+v, %d rows", seed, want, len(r.Rows))
				}
				if want != nil && f.name == "v2" {
					at := rowsOf(r, want.Warp)[0]
					// The generator calls a pair of the same site by what differs in it, also where a run that one side lacks
					// explains more of what follows.
					if int(at.EventA) != want.Event || !slices.Contains(want.Kinds, at.Kind.String()) && at.Kind != RowExtraEvents {
						t.Fatalf("seed %d, warp %d: first is %s at %d, want %v at %d", seed, want.Warp, at.Kind, at.EventA, want.Kinds, want.Event)
					}
					if firsts++; slices.Contains(want.Kinds, at.Kind.String()) {
						kinds++
					}
				}
			}
		}
	}
	t.Logf("%d warps, %d edits in each format: %d rows; %d first divergences exact, %d by kind; %d scripts minimal",
		warps, edits, rows, firsts, kinds, minimal)
	if minimal < warps*99/100 {
		t.Errorf("%d of %d scripts are minimal", minimal, warps)
	}
}

// Runs of up to 5,000 events and up to 200 edits, in programs that are one long loop.
func TestLongRunsAgainstTheTruth(t *testing.T) {
	warps, minimal, rows, exact := 0, 0, 0, 0
	var edits int
	var cost, seeded int64
	for seed := range uint64(5) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: 100 + seed, Endless: true})
		a := p.Run(warptracetest.Launch{Warps: 2, Events: 2500})
		for i := range a.Warps {
			a.Warps[i].Dropped, a.Warps[i].Total = 0, uint64(a.Warps[i].Len())
		}
		for _, e := range []warptracetest.Edits{{Count: 1, MaxRun: 5000}, {Count: 4, MaxRun: 5000}, {Count: 40, MaxRun: 200}, {Count: 200, MaxRun: 20}} {
			e.Seed = seed
			b, truth := warptracetest.Edit(a, e)
			edits += len(truth.Edits)
			seeded += truth.Cost
			r := compared(t, a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx"), Options{Values: true}, 2)
			rows += len(r.Rows)
			for i := range truth.Warps {
				want := &truth.Warps[i]
				if got := rowsOf(r, want.Warp); len(got) > 0 && int(got[0].EventA) == want.Event {
					exact++
				}
				tw := twin{find(a, want.Warp), find(b, want.Warp), true, true}
				warps++
				c := tw.check(t, rowsOf(r, want.Warp))
				if cost += c; c == tw.distance() {
					minimal++
				}
			}
		}
	}
	t.Logf("%d warps that differ, %d edits of %d events: %d rows of %d events; %d first divergences exact, %d scripts minimal",
		warps, edits, seeded, rows, cost, exact, minimal)
	if exact != warps || minimal < warps*99/100 {
		t.Errorf("%d of %d first divergences exact, %d scripts minimal", exact, warps, minimal)
	}
}

func TestAnyNumberOfWorkersGivesTheSameBytes(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 5, Endless: true})
	a := p.Run(warptracetest.Launch{Warps: 64, Events: 600, Snapshots: 4, Barriers: true})
	b, _ := warptracetest.Edit(a, warptracetest.Edits{Seed: 6, Rate: 0.05, MaxRun: 3, Share: 0.7})
	for _, f := range formats {
		var want []byte
		for _, workers := range []int{1, 2, 3, 8} {
			r := compared(t, f.open(t, a, "a.prlx"), f.open(t, b, "b.prlx"), Options{Values: true}, workers)
			got, err := json.Marshal(documentOf(t, r))
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if string(got) != string(want) {
				t.Fatalf("%s: %d workers give another document than one", f.name, workers)
			}
		}
	}
}

func TestEqualRunsReportNothing(t *testing.T) {
	for seed := range sweep.Of[uint64](5, 20) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed})
		launch := warptracetest.Launch{Warps: 32, Snapshots: 4, Loads: true, Barriers: true, Outputs: true}
		for _, f := range formats {
			r := compared(t, f.open(t, p.Run(launch), "a.prlx"), f.open(t, p.Run(launch), "b.prlx"), Options{Values: true}, 2)
			if d := documentOf(t, r); d.Status != "identical" || d.TotalDivergences != 0 || !d.Passed || d.First != nil {
				t.Fatalf("seed %d, %s: %s, %d divergences", seed, f.name, d.Status, d.TotalDivergences)
			}
		}
	}
}

func TestOtherLaunchesAreRefusedByName(t *testing.T) {
	a := warptracetest.NewProgram(warptracetest.Config{Seed: 1}).Run(warptracetest.Launch{Warps: 8})
	b := warptracetest.NewProgram(warptracetest.Config{Seed: 2}).Run(warptracetest.Launch{Warps: 12})
	j := job.New(context.Background(), job.Options{})
	_, err := Compare(j, a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx"), Options{})
	if !fault.Is(err, fault.Incompatible) {
		t.Fatalf("got %v, want an error of the kind incompatible", err)
	}
	for _, word := range []string{a.Header.Kernel, b.Header.Kernel, "grid", "8 and 12 warps"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %q", err, word)
		}
	}
	r := compared(t, a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx"), Options{Force: true}, 1)
	if len(r.Rows) == 0 || len(r.Warnings) == 0 {
		t.Errorf("by force: %d rows, warnings %v", len(r.Rows), r.Warnings)
	}
}

// TestAKernelThatRecordsItselfIsNotComparedWithOneThatWasWatched: of equal runs the two note different events, which is not a difference.
func TestAKernelThatRecordsItselfIsNotComparedWithOneThatWasWatched(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 1})
	for _, c := range []struct {
		a, b    warptrace.Means
		refused bool
	}{
		{warptrace.MeansObserved, warptrace.MeansInstrumented, true},
		{warptrace.MeansInstrumented, warptrace.MeansObserved, true},
		{warptrace.MeansInstrumented, warptrace.MeansInstrumented, false},
		{warptrace.MeansObserved, warptrace.MeansConverted, false},
		{warptrace.MeansUnknown, warptrace.MeansInstrumented, false},
	} {
		a, b := p.Run(warptracetest.Launch{Warps: 8}), p.Run(warptracetest.Launch{Warps: 8})
		a.Header.Means, b.Header.Means = c.a, c.b
		_, err := Compare(job.New(t.Context(), job.Options{}), a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx"), Options{})
		if refused := fault.Is(err, fault.Incompatible) && strings.Contains(err.Error(), "by the kernel itself"); refused != c.refused || (err != nil) != c.refused {
			t.Errorf("means %d and %d: %v", c.a, c.b, err)
		}
		if r := compared(t, a.OpenV2(t, "a.prlx"), b.OpenV2(t, "b.prlx"), Options{Force: true}, 1); (len(r.Warnings) > 0) != c.refused {
			t.Errorf("by force, means %d and %d: warnings %v", c.a, c.b, r.Warnings)
		}
	}
}
