package diff

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// passed is one event of a recording written down by hand.
type passed struct {
	site   uint32
	active uint64
	taken  uint64
}

// handSites are the sites of recordings written down by hand: four branches and a barrier.
func handSites() *site.Table {
	sites := make([]site.Site, 5)
	for i := range sites {
		sites[i] = site.Site{
			Key: site.Key(100 + i), Ordinal: -1, Compare: site.NoCompare,
			Chain: []site.Frame{{Function: "k", File: "k.py", Line: uint32(10 + i), Column: 1}},
		}
	}
	sites[4].Kind = site.Barrier
	return site.NewTable(sites)
}

// byHand makes a recording of warps of 32 or 64 lanes, of which those without events recorded nothing. lost says how many events each
// warp lost at its end.
func byHand(t testing.TB, wave int, lost uint64, warps ...[]passed) *warptrace.Trace {
	t.Helper()
	per := uint32(2 * 32 / wave)
	h := warptrace.Header{
		Version: 2, Kernel: "k", KernelHash: warptrace.Hash64("k"), Grid: [3]uint32{uint32(max(1, len(warps)/int(per))), 1, 1}, Block: [3]uint32{64, 1, 1}, WaveSize: wave,
		WarpsPerBlock: per, WarpSlots: uint64(len(warps)), Mode: warptrace.ModeControlFlow, SampleRate: 1, Taken: true,
	}
	r := &warptracetest.Recording{Header: h, Sites: handSites()}
	for n, events := range warps {
		if len(events) == 0 {
			continue
		}
		w := warptrace.Warp{WarpInfo: warptrace.WarpInfo{Warp: uint64(n), Events: uint32(len(events)), Total: uint64(len(events)) + lost, Dropped: lost}}
		for _, e := range events {
			w.Site, w.Kind, w.Dir, w.Aux = append(w.Site, e.site), append(w.Kind, r.Sites.At(int(e.site)).Kind), append(w.Dir, uint8(e.taken&1)), append(w.Aux, 0)
			w.Active, w.Taken, w.Value, w.Type = append(w.Active, e.active), append(w.Taken, e.taken), append(w.Value, 0), append(w.Type, warptrace.TypeNone)
		}
		r.Warps = append(r.Warps, w)
	}
	return r.OpenV2(t, "hand.prlx")
}

const all = 0xffffffff

func TestPathsInAnotherOrderAreNotADifferenceUnlessAskedFor(t *testing.T) {
	a := byHand(t, 32, 0, []passed{{0, all, 0xffff}, {1, 0xffff, 0}, {2, 0xffff0000, 0}, {3, all, all}})
	b := byHand(t, 32, 0, []passed{{0, all, 0xffff}, {2, 0xffff0000, 0}, {1, 0xffff, 0}, {3, all, all}})
	d := documentOf(t, compared(t, a, b, Options{}, 1))
	if d.Status != "identical" || d.TotalDivergences != 0 || len(d.Clusters) != 1 || !d.Clusters[0].Reordered || d.First != nil {
		t.Errorf("%s, %d divergences, clusters %+v", d.Status, d.TotalDivergences, d.Clusters)
	}
	if !strings.Contains(d.Verdict, "every thread did the same") {
		t.Errorf("verdict %q", d.Verdict)
	}
	if d := documentOf(t, compared(t, a, b, Options{StrictOrder: true}, 1)); d.Status != "diverged" || d.TotalDivergences == 0 || d.First == nil {
		t.Errorf("strict: %s, %d divergences", d.Status, d.TotalDivergences)
	}
	// The same lanes in two passes instead of one are the same as well; another decision of one lane is not.
	c := byHand(t, 32, 0, []passed{{0, all, 0xffff}, {1, 0xff, 0}, {1, 0xff00, 0}, {2, 0xffff0000, 0}, {3, all, all}})
	if d := documentOf(t, compared(t, a, c, Options{}, 1)); d.Status != "identical" {
		t.Errorf("split: %s: %+v", d.Status, d.Divergences)
	}
	e := byHand(t, 32, 0, []passed{{0, all, 0xffff}, {2, 0xffff0000, 0x10000}, {1, 0xffff, 0}, {3, all, all}})
	if d := documentOf(t, compared(t, a, e, Options{}, 1)); d.Status != "diverged" {
		t.Errorf("another decision: %s", d.Status)
	}
}

func TestEventsThatASideLostAreNotADivergence(t *testing.T) {
	var whole []passed
	for i := range 40 {
		whole = append(whole, passed{uint32(i % 3), all, uint64(i)})
	}
	a := byHand(t, 32, 0, whole)
	cut := byHand(t, 32, 15, whole[:25])
	d := documentOf(t, compared(t, a, cut, Options{}, 1))
	if d.Status != "inconclusive" || d.TotalDivergences != 0 || !strings.Contains(d.Verdict, "B: 15 events were lost") || !strings.HasSuffix(d.Verdict, " (B: 38 % dropped)") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	if !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "is a loss and no divergence") }) {
		t.Errorf("warnings %q", d.Warnings)
	}
	// An event more in the middle pushes one out at the end.
	more := slices.Insert(slices.Clone(whole), 10, passed{3, all, 0})[:40]
	r := compared(t, byHand(t, 32, 7, whole), byHand(t, 32, 8, more), Options{}, 1)
	if len(r.Rows) != 1 || r.Rows[0].Kind != RowExtraEvents || r.Rows[0].EventA != 10 || r.Stats.LostTails != 1 {
		t.Errorf("%+v, %d lost tails", r.Rows, r.Stats.LostTails)
	}
	// Without drops the same end is a divergence.
	if r := compared(t, a, byHand(t, 32, 0, whole[:25]), Options{}, 1); len(r.Rows) != 1 || r.Rows[0].Count != 15 {
		t.Errorf("%+v", r.Rows)
	}
}

func TestBarriersOrderTheWarpsOfABlock(t *testing.T) {
	same := []passed{{0, all, 0}, {1, all, 0}, {4, all, 0}, {2, all, 0}, {3, all, 0}}
	late := slices.Clone(same)
	late[3].taken = 1 // behind the barrier
	early := slices.Clone(same)
	early[1].taken = 2
	alone := slices.Clone(same)
	alone[4].taken = 4
	a := byHand(t, 32, 0, same, same, same, same)
	b := byHand(t, 32, 0, late, early, alone, same)
	r := compared(t, a, b, Options{}, 2)
	if len(r.Rows) != 3 || len(r.Clusters) != 3 {
		t.Fatalf("%d rows in %d clusters", len(r.Rows), len(r.Clusters))
	}
	if first := r.Rows[r.First]; first.Warp != 1 || first.EventA != 1 {
		t.Errorf("first is %+v, want warp 1, event 1", first)
	}
	for warp, follows := range []bool{true, false, false} {
		if r.Rows[warp].Follows != follows {
			t.Errorf("warp %d follows: %v, want %v", warp, r.Rows[warp].Follows, follows)
		}
	}
	if got := r.Clusters[0].Warps[0]; got != 1 {
		t.Errorf("the first cluster is of warp %d", got)
	}
}

func TestWarpsThatDifferAlikeAreOneCluster(t *testing.T) {
	same := []passed{{0, all, 0}, {1, all, 0}, {2, all, 0}}
	other := slices.Clone(same)
	other[1].taken = 5
	wa, wb := make([][]passed, 1000), make([][]passed, 1000)
	for i := range wa {
		wa[i], wb[i] = same, other
		if i%10 == 9 {
			wb[i] = same
		}
	}
	d := documentOf(t, compared(t, byHand(t, 32, 0, wa...), byHand(t, 32, 0, wb...), Options{}, 2))
	if len(d.Clusters) != 1 || d.Clusters[0].Warps != 900 || d.TotalDivergences != 900 || d.Clusters[0].Blocks != 500 {
		t.Fatalf("%+v", d.Clusters)
	}
	if !strings.HasPrefix(d.Clusters[0].WarpRanges, "0-8,10-18,") {
		t.Errorf("warps %q", d.Clusters[0].WarpRanges)
	}
	if f := d.First; f.Kind != KindBranch || f.SourceLocation != "k.py:k:11:1" || !slices.Equal(f.Lanes, []int{0, 2}) || f.TakenB != "0x00000005" {
		t.Errorf("first %+v", f)
	}
	if h := d.First.History; len(h) != 3 || h[0].Mark != "=" || h[1].Mark != "!" || h[1].TextB != "taken 0x00000005 of 0xffffffff" {
		t.Errorf("history %+v", h)
	}
	few := documentOf(t, compared(t, byHand(t, 32, 0, wa...), byHand(t, 32, 0, wb...), Options{MaxRows: 10}, 2))
	if few.TotalDivergences != 900 || few.DivergencesOmitted != 890 || few.Sites[0].Divergences != 900 || few.First == nil {
		t.Errorf("with few rows: %d, %d omitted, sites %+v", few.TotalDivergences, few.DivergencesOmitted, few.Sites)
	}
}

func TestLanesOfABranchAreThoseThatRanOnBothSides(t *testing.T) {
	a := byHand(t, 32, 0, []passed{{0, 0b01111, 0b01001}})
	b := byHand(t, 32, 0, []passed{{0, 0b10111, 0b10011}})
	r := compared(t, a, b, Options{Kinds: 1 << RowBranch}, 1)
	if len(r.Rows) != 1 || r.Rows[0].Lanes != 0b00010 { // lane 3 ran in A alone, lane 4 in B alone
		t.Errorf("%+v", r.Rows)
	}
}

func TestWarpsWithOtherActiveLanesAreNotOfOneCluster(t *testing.T) {
	same := []passed{{0, all, 0}}
	fewer, fewest := []passed{{0, 0xff, 0}}, []passed{{0, 0xf, 0}}
	for _, tc := range []struct {
		name string
		a, b [][]passed
	}{
		{"in A", [][]passed{fewer, fewest}, [][]passed{same, same}},
		{"in B", [][]passed{same, same}, [][]passed{fewer, fewest}},
	} {
		if r := compared(t, byHand(t, 32, 0, tc.a...), byHand(t, 32, 0, tc.b...), Options{}, 1); len(r.Clusters) != 2 {
			t.Errorf("%s: %d clusters, want 2: %+v", tc.name, len(r.Clusters), r.Clusters)
		}
	}
}

// TestAReorderedWarpIsOfNoClusterOfOthers: the rows of both warps are alike, for those of a gap say its first event. In the first one
// every lane did the same, in the second one other lanes passed the second event of the gap.
func TestAReorderedWarpIsOfNoClusterOfOthers(t *testing.T) {
	const low, high = 0xffff, 0xffff0000
	events := []passed{{0, all, low}, {1, low, 0}, {3, low, 0}, {2, high, 0}, {2, high, 0}, {2, high, 0}}
	reordered := []passed{{0, all, low}, {2, high, 0}, {2, high, 0}, {2, high, 0}, {1, low, 0}, {3, low, 0}}
	other := slices.Clone(reordered)
	other[5].active = 0xff
	r := compared(t, byHand(t, 32, 0, events, events), byHand(t, 32, 0, reordered, other), Options{}, 1)
	var of [2]*clusterRef
	for i := range r.Clusters {
		for _, warp := range r.Clusters[i].Warps {
			of[warp] = &r.Clusters[i]
		}
	}
	if len(r.Clusters) != 2 || !of[0].Reordered || of[1].Reordered {
		t.Errorf("%d clusters: %+v", len(r.Clusters), r.Clusters)
	}
}

// TestAClusterComesAsEarlyAsItsEarliestWarp: warps 0 and 1 differ alike, warp 0 behind a barrier and warp 1 before any; warp 2 differs
// later than warp 1 and before any barrier.
func TestAClusterComesAsEarlyAsItsEarliestWarp(t *testing.T) {
	behind := []passed{{4, all, 0}, {0, all, 0}, {1, all, 0}, {3, all, 0}}
	before := []passed{{2, all, 0}, {0, all, 0}, {1, all, 0}, {3, all, 0}}
	decided := func(events []passed, at int) []passed {
		other := slices.Clone(events)
		other[at].taken = 1
		return other
	}
	a := byHand(t, 32, 0, behind, before, before, before)
	b := byHand(t, 32, 0, decided(behind, 2), decided(before, 2), decided(before, 3), before)
	r := compared(t, a, b, Options{}, 1)
	if len(r.Clusters) != 2 || !slices.Equal(r.Clusters[0].Warps, []uint64{0, 1}) || !slices.Equal(r.Clusters[1].Warps, []uint64{2}) {
		t.Errorf("clusters %+v, want warps 0 and 1, then warp 2", r.Clusters)
	}
}

func TestWideWarpsAreComparedByThread(t *testing.T) {
	narrow := byHand(t, 32, 0,
		[]passed{{0, all, 0xff}, {1, 0xff, 0}, {2, all, 0}}, []passed{{0, all, 0}, {2, all, 0}})
	wide := func(bit uint64) *warptrace.Trace {
		return byHand(t, 64, 0, []passed{{0, ^uint64(0), 0xff}, {1, 0xff, bit}, {2, ^uint64(0), 0}})
	}
	opt := Options{CrossGPU: true}
	if d := documentOf(t, compared(t, narrow, wide(0), opt, 1)); d.Status != "identical" || d.WarpsCompared != 1 {
		t.Errorf("%s, %d warps: %+v", d.Status, d.WarpsCompared, d.Divergences)
	}
	d := documentOf(t, compared(t, narrow, wide(0x10), opt, 1))
	if d.TotalDivergences != 1 || d.First.Kind != KindBranch || !slices.Equal(d.First.Lanes, []int{4}) || d.First.EventIdx != 1 {
		t.Errorf("%d divergences, first %+v", d.TotalDivergences, d.First)
	}
	if d := documentOf(t, compared(t, wide(0x10), narrow, opt, 1)); d.TotalDivergences != 1 || d.CrossGPU == nil {
		t.Errorf("the other way round: %d divergences", d.TotalDivergences)
	}
}

func TestFiltersLeaveOutAndSaySo(t *testing.T) {
	same := []passed{{0, all, 0}, {1, all, 0}, {2, all, 0}, {3, all, 0}}
	other := []passed{{0, all, 1}, {1, 0xff, 0}, {2, all, 0}}
	a, b := byHand(t, 32, 0, same, same), byHand(t, 32, 0, other, other)
	pattern := func(text string) []site.Pattern {
		p, err := site.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return []site.Pattern{p}
	}
	warps, err := ParseWarps("1, 5-9")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		opt   Options
		kinds []RowKind
	}{
		{"all", Options{}, []RowKind{RowBranch, RowActiveMask, RowExtraEvents, RowBranch, RowActiveMask, RowExtraEvents}},
		{"one warp", Options{Warps: warps}, []RowKind{RowBranch, RowActiveMask, RowExtraEvents}},
		{"one kind", Options{Warps: warps, Kinds: 1 << RowActiveMask}, []RowKind{RowActiveMask}},
		{"one site", Options{Warps: warps, SiteFilter: pattern("k.py:13")}, []RowKind{RowExtraEvents}},
		{"without a site", Options{Warps: warps, Ignore: pattern("k.py:10")}, []RowKind{RowActiveMask, RowExtraEvents}},
		{"without the file", Options{Ignore: pattern("k.py")}, nil},
	} {
		r := compared(t, a, b, c.opt, 1)
		var got []RowKind
		for k := range r.Rows {
			got = append(got, r.Rows[k].Kind)
		}
		if !slices.Equal(got, c.kinds) {
			t.Errorf("%s: %v, want %v", c.name, got, c.kinds)
		}
		if d := documentOf(t, r); len(got) == 0 && (!d.Passed || !strings.Contains(d.Verdict, "6 divergences left out on request")) {
			t.Errorf("%s: %s", c.name, d.Verdict)
		}
	}
	if d := documentOf(t, compared(t, a, b, Options{IgnoreActiveMask: true}, 1)); d.TotalDivergences != 6 || d.CountedDivergences != 4 {
		t.Errorf("%d, %d count", d.TotalDivergences, d.CountedDivergences)
	}
}

func TestSitesOfTwoBuildsAreMatched(t *testing.T) {
	moved := make([]site.Site, 5)
	for i := range moved {
		moved[4-i] = *handSites().At(i) // other numbers
		moved[4-i].Key += 1000          // and other keys: lines were inserted above
		moved[4-i].Chain = []site.Frame{{Function: "k", File: "k.py", Line: uint32(40 + i), Column: 1}}
	}
	events := []passed{{0, all, 0}, {1, all, 0}, {2, all, 0}, {3, all, 0}}
	a := byHand(t, 32, 0, events)
	h := *a.Header()
	w := warptrace.Warp{WarpInfo: warptrace.WarpInfo{Events: 4, Total: 4}}
	for i, e := range events {
		taken := uint64(0)
		if i == 2 {
			taken = 1
		}
		w.Site, w.Kind, w.Dir, w.Aux = append(w.Site, 4-e.site), append(w.Kind, site.Branch), append(w.Dir, 0), append(w.Aux, 0)
		w.Active, w.Taken, w.Value, w.Type = append(w.Active, e.active), append(w.Taken, taken), append(w.Value, 0), append(w.Type, warptrace.TypeNone)
	}
	other := &warptracetest.Recording{Header: h, Sites: site.NewTable(moved), Warps: []warptrace.Warp{w}}
	r := compared(t, a, other.OpenV2(t, "moved.prlx"), Options{}, 1)
	if len(r.Rows) != 1 || r.Rows[0].Kind != RowBranch || r.Rows[0].EventA != 2 {
		t.Fatalf("%+v", r.Rows)
	}
	if s := r.Sites[r.Rows[0].SiteA]; s.LocalA != 2 || s.LocalB != 2 || s.Name() != "0x0000000000000066" {
		t.Errorf("site %+v", s)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "5 sites matched by the code and its order, 5 on other lines")
	}) {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// A recording may leave out how many warps a block has: its threads tell.
func TestWideWarpsAreFoundByTheThreadsOfABlock(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 3, Portable: true})
	q, err := p.WithBug("bound")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{CrossGPU: true}
	for name, other := range map[string]*warptracetest.Program{"the same": p, "another": q} {
		narrow := p.Run(warptracetest.Launch{Warps: 16, WarpsPerBlock: 4, Wave: 32})
		wide := other.Run(warptracetest.Launch{Warps: 8, WarpsPerBlock: 2, Wave: 64})
		want := compared(t, narrow.OpenV2(t, "a.prlx"), wide.OpenV2(t, "b.prlx"), opt, 1)
		narrow.Header.WarpsPerBlock, wide.Header.WarpsPerBlock = 0, 0
		got := compared(t, narrow.OpenV2(t, "a.prlx"), wide.OpenV2(t, "b.prlx"), opt, 1)
		if got.Stats.WarpsCompared != 8 || !reflect.DeepEqual(got.Rows, want.Rows) || (len(got.Rows) == 0) != (other == p) {
			t.Errorf("%s: %d warps compared, %d rows, want 8 and %d", name, got.Stats.WarpsCompared, len(got.Rows), len(want.Rows))
		}
	}
}

func TestALaneOfASwitchDecidesWhereTheLeaderGoes(t *testing.T) {
	w := warptrace.Warp{Site: []uint32{0}, Kind: []site.Kind{site.Switch}, Dir: []uint8{3}, Active: []uint64{0b1110}, Taken: []uint64{0b1010}}
	for lane, want := range []int{decidedUnknown, decidedCase + 3, decidedUnknown, decidedCase + 3} {
		if got := decision(&w, 0, lane, true); got != want {
			t.Errorf("lane %d: %d, want %d", lane, got, want)
		}
	}
	for lane, want := range []int{decidedUnknown, decidedCase + 3, decidedUnknown, decidedUnknown} {
		if got := decision(&w, 0, lane, false); got != want {
			t.Errorf("without taken lanes, lane %d: %d, want %d", lane, got, want)
		}
	}
}

func TestOperandsAreReadWhereOnlyOneRecordingHoldsThem(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 4})
	q, err := p.WithBug("mask")
	if err != nil {
		t.Fatal(err)
	}
	with, without := warptracetest.Launch{Warps: 4, Snapshots: -1}, warptracetest.Launch{Warps: 4}
	for name, launch := range map[string][2]warptracetest.Launch{"a": {with, without}, "b": {without, with}} {
		r := compared(t, p.Run(launch[0]).OpenV2(t, "a.prlx"), q.Run(launch[1]).OpenV2(t, "b.prlx"), Options{}, 1)
		if len(r.Clusters) == 0 || len(r.Clusters[0].Operands) == 0 {
			t.Fatalf("only %s holds operands: %d clusters, none read", name, len(r.Clusters))
		}
		a, b := false, false
		for _, v := range r.Clusters[0].Operands {
			a, b = a || v.LhsA != "", b || v.LhsB != ""
		}
		if a != (name == "a") || b != (name == "b") {
			t.Errorf("only %s holds operands: those of a %t, of b %t", name, a, b)
		}
	}
}

// What threads of one side alone did is extra, in warps of two sizes as in those of one.
func TestExtraEventsOfWideWarpsAreDistinguishedFromOtherPaths(t *testing.T) {
	whole := func(wave int, lanes uint64, warps int) *warptrace.Trace {
		events := make([][]passed, warps)
		for i := range events {
			events[i] = []passed{{0, lanes, 0}, {1, lanes, 0}, {2, lanes, 0}}
		}
		return byHand(t, wave, 0, events...)
	}
	for name, c := range map[string]struct {
		wide []passed
		kind RowKind
	}{
		"extra":        {[]passed{{0, ^uint64(0), 0}, {2, ^uint64(0), 0}}, RowExtraEvents},
		"another path": {[]passed{{0, ^uint64(0), 0}, {3, ^uint64(0), 0}, {2, ^uint64(0), 0}}, RowPath},
	} {
		other := byHand(t, 64, 0, c.wide)
		for _, pair := range [][2]*warptrace.Trace{{whole(32, all, 2), other}, {other, whole(32, all, 2)}} {
			r := compared(t, pair[0], pair[1], Options{CrossGPU: true}, 1)
			if len(r.Rows) != 1 || r.Rows[0].Kind != c.kind {
				t.Errorf("%s: %+v, want one row of kind %v", name, r.Rows, c.kind)
			}
		}
	}
}
