package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func TestMasksAreAsWideAsTheWiderWave(t *testing.T) {
	rows := []pairSeen{{eventA: 3, eventB: 4, a: eventSeen{site: None, kind: site.Load, active: 0xf}, b: eventSeen{site: None, kind: site.Load, active: 0xff00000000}}}
	for _, tc := range []struct {
		a, b, digits int
	}{{32, 32, 8}, {32, 64, 16}, {64, 32, 16}} {
		r := &Result{A: &warptrace.Header{WaveSize: tc.a}, B: &warptrace.Header{WaveSize: tc.b}}
		got := r.context(rows)
		if want := fmt.Sprintf("lanes 0x%0*x", tc.digits, 0xf); len(got) != 1 || got[0].TextA != want {
			t.Errorf("waves of %d and %d: %+v, want %q", tc.a, tc.b, got, want)
		}
	}
}

func TestBuildsSayOnlyWhatTheyHave(t *testing.T) {
	for want, b := range map[string]Builds{
		"the recordings are of two builds: 7 sites matched by the code and its order":                                        {Matched: 7},
		"the recordings are of two builds: 7 sites matched by the code and its order, 2 on other lines, 1 only in B":         {Matched: 7, Relocated: 2, OnlyB: 1},
		"the recordings are of two builds: 7 sites matched by the code and its order, 4 moved, 3 only in A":                  {Matched: 7, Moved: []MovedSite{{}}, MovedOmitted: 3, OnlyA: 3},
		"the recordings are of two builds: 1 site matched by the code and its order\n2 sites have a match that another site": {Matched: 1, Ambiguous: 2},
	} {
		if got := strings.Join(b.notes(), "\n"); got != want && (b.Ambiguous == 0 || !strings.HasPrefix(got, want)) {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
}

func TestOptionsThatWereLeftToUs(t *testing.T) {
	for _, tc := range []struct{ context, want int }{{0, defaultContext}, {-1, 0}, {7, 7}, {1000, 1000}, {1 << 30, 1000}} {
		o := Options{Context: tc.context}.withDefaults()
		if o.Context != tc.want || o.MaxRows != defaultMaxRows || o.MaxClusters != defaultMaxClusters {
			t.Errorf("a context of %d: %+v, want %d", tc.context, o, tc.want)
		}
	}
	if o := (Options{MaxRows: 3, MaxClusters: 4}).withDefaults(); o.MaxRows != 3 || o.MaxClusters != 4 {
		t.Errorf("what was asked for became %+v", o)
	}
}

func TestPointsAreTakenOffAText(t *testing.T) {
	for text, want := range map[string]string{"floats differ (9)": "floats differ", "a (b) (c)": "a (b)", "none": "none", "": "", "(": "(", "cut short (": "cut short"} {
		if got := withoutPoints(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestLanesAreNamedWhereAllWereRecorded(t *testing.T) {
	if got := laneMask(&sides{differ: 5, whole: true}); got != 5 {
		t.Errorf("got %b, want lanes 0 and 2", got)
	}
	if got := laneMask(&sides{differ: 1}); got != 0 {
		t.Errorf("got %b of one lane that was recorded, want none", got)
	}
}

func TestADifferentCompareOnTheSameOperandsIsRecognised(t *testing.T) {
	one := func(differ uint64) []sides {
		return []sides{{what: "lhs", lanes: 3, whole: true}, {what: "rhs", lanes: 3, whole: true, differ: differ}}
	}
	lt, le := &site.Site{Text: "setp.lt"}, &site.Site{Text: "setp.le"}
	for name, tc := range map[string]struct {
		at    spot
		texts bool
		found bool
	}{
		"two builds":          {spot{kind: site.Branch, siteA: lt, siteB: le, sides: one(0)}, true, true},
		"one build":           {spot{kind: site.Branch, siteA: lt, siteB: lt, sides: one(0)}, false, true},
		"unknown in A":        {spot{kind: site.Branch, siteB: le, sides: one(0)}, false, true},
		"unknown in B":        {spot{kind: site.Branch, siteA: lt, sides: one(0)}, false, true},
		"operands differ":     {spot{kind: site.Branch, siteA: lt, siteB: le, sides: one(1)}, false, false},
		"it is not a compare": {spot{kind: site.Load, siteA: lt, siteB: le, sides: one(0)}, false, false},
		"nothing was looked":  {spot{kind: site.Branch, siteA: lt, siteB: le}, false, false},
	} {
		got := ruleSameOperands(&clues{warpClues: warpClues{at: tc.at, row: &Row{}}})
		if (len(got) > 0) != tc.found || tc.found && strings.Contains(got[0].text, "(setp.lt, setp.le)") != tc.texts {
			t.Errorf("%s: %+v, want something: %v, with both texts: %v", name, got, tc.found, tc.texts)
		}
	}
}

// columns of a site that stands between others, with a row that carries no value.
func TestColumnsAreThoseOfTheSiteInOrder(t *testing.T) {
	w := &warptrace.Warp{}
	for i, s := range []uint32{5, 6, 5, 5, 6, 5} {
		w.Site = append(w.Site, s)
		w.Value = append(w.Value, uint64(10*i))
		typ := warptrace.TypeU32
		if i == 3 {
			typ = warptrace.TypeNone
		}
		w.Type = append(w.Type, typ)
	}
	var got []uint64
	for _, pass := range columns(w, 2) {
		got = append(got, pass...)
	}
	if want := []uint64{0, 20, 50}; !slices.Equal(got, want) {
		t.Errorf("passes %v, want %v", got, want)
	}
	if columns(w, -1) != nil || columns(w, 99) != nil {
		t.Error("columns of an event that is not there")
	}
}

func TestAnArgumentIsNamedAnywhereInATree(t *testing.T) {
	number, other, want := site.Operand{Origin: site.FromArgument, Name: "m"}, site.Operand{Name: "n"}, site.Operand{Origin: site.FromArgument, Name: "n"}
	deep := site.Operand{Inputs: []site.Operand{{Inputs: []site.Operand{number, other}}, {Inputs: []site.Operand{other, want}}}}
	without := site.Operand{Inputs: []site.Operand{{Inputs: []site.Operand{number, other}}, number}}
	if !names(&deep, "n") || !names(&want, "n") {
		t.Error("the argument was not found")
	}
	if names(&without, "n") || names(&other, "n") {
		t.Error("an argument was found that nothing names")
	}
}

func TestSitesComeInTheOrderOfTheirEarliestCause(t *testing.T) {
	row := func(warp uint64, event, site int32) Row {
		return Row{Warp: warp, EventA: event, EventB: event, SiteA: site, SiteB: site, Kind: RowValue}
	}
	r := &Result{
		Rows:  []Row{row(0, 50, 0), row(1, 10, 1), row(2, 2, 0), row(3, 30, 2), row(4, 20, 1)},
		Sites: []SiteRef{{ID: 0xa}, {ID: 0xb}, {ID: 0xc}}, Tallies: make([]siteTally, 3),
	}
	var got []string
	for _, s := range r.siteSummaries(DocumentOptions{}) {
		got = append(got, s.SiteID+" "+s.WarpRanges)
	}
	if want := []string{"0x0000000a 0,2", "0x0000000b 1,4", "0x0000000c 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoBaselineExplainsNothing(t *testing.T) {
	r := &Result{}
	base, err := ApplyBaseline(nil, r, nil, nil, nil, nil, Options{})
	if err != nil || base == nil || base != r.Baseline || base.Pairs != 0 || base.RunsA+base.RunsB != 0 || base.Suppressed != 0 {
		t.Errorf("got %+v, %v", base, err)
	}
}

func TestRangesOfChunksAreJoinedAndFew(t *testing.T) {
	if got := elementRanges([]int64{2, 3, 4}); strings.ContainsAny(got, ",(") || got == "" {
		t.Errorf("three chunks side by side: %q, want one range", got)
	}
	if got := elementRanges([]int64{2, 3, 9}); strings.Count(got, ",") != 1 {
		t.Errorf("two stretches: %q", got)
	}
	var apart []int64
	for i := range int64(maxRangesShown + 7) {
		apart = append(apart, 2*i)
	}
	if got := elementRanges(apart); !strings.HasSuffix(got, ",... (7 more chunks)") || strings.Count(got, ",") != maxRangesShown {
		t.Errorf("%d chunks apart: %q, want %d and how many more", len(apart), got, maxRangesShown)
	}
	if got := elementRanges(apart[:maxRangesShown]); strings.Contains(got, "more") {
		t.Errorf("as many as are shown: %q", got)
	}
}

func TestLanesBeyondASnapshotHaveNoOperands(t *testing.T) {
	s := &warptrace.Snapshot{Active: 0b1101, Type: warptrace.TypeU32, Lhs: []uint64{7, 8}, Rhs: []uint64{9, 8, 6}}
	for lane, want := range []string{"7 9", " ", " 6", " "} {
		taken, lhs, rhs := sideOfLane(nil, s, lane, true, 0b0100)
		if got := lhs + " " + rhs; got != want || taken == nil || *taken != (lane == 2) {
			t.Errorf("lane %d: %q (%v), want %q", lane, got, taken, want)
		}
	}
	if taken, lhs, rhs := sideOfLane(nil, nil, 0, false, 1); taken != nil || lhs+rhs != "" {
		t.Errorf("nothing was recorded: %v %q %q", taken, lhs, rhs)
	}
}

func TestTheFirstDivergenceIsNamedAtAnyPlaceOfTheList(t *testing.T) {
	r := &Result{
		A: &warptrace.Header{}, B: &warptrace.Header{}, Rows: []Row{{SiteA: 0, SiteB: 0, Warp: 4}, {SiteA: 0, SiteB: 0, Warp: 9}},
		Sites: []SiteRef{{ID: 0xa}}, Clusters: make([]clusterRef, 1), Stats: Stats{WarpsDiverged: 2, WarpsCompared: 8},
	}
	for first, want := range map[int32]string{-1: "", 0: "warp 4", 1: "warp 9"} {
		r.First = first
		got := r.diverges(&Judgement{rows: 2})
		if strings.Contains(got, ", first ") != (first >= 0) || !strings.Contains(got, want) || !strings.HasPrefix(got, "2 warps of 8 diverge, all in the same way") {
			t.Errorf("first row %d: %q, want %q", first, got, want)
		}
	}
}
