package diff

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// TestEventsThatOneSideWasNotAskedToRecordAreNotADifference: stores have events where somebody asked for them.
func TestEventsThatOneSideWasNotAskedToRecordAreNotADifference(t *testing.T) {
	a := run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}
	b := run{warps: [][]passed{{{0, all, 3}, {4, all, all}}, {{4, all, all}, {0, all, 3}}}, stores: a.stores, storeEvents: true}
	for n, pair := range [][2]run{{a, b}, {b, a}} {
		d := judge(t, pair[0], pair[1], Options{})
		side := string("BA"[n])
		if d.Status != StatusIdentical || !d.Passed || !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.HasPrefix(w, side+" alone holds events of global-store") }) {
			t.Errorf("got %s: %s, %q", d.Status, d.Verdict, d.Warnings)
		}
	}
	b.warps[1][1].taken = 1
	if d := judge(t, a, b, Options{}); d.Status != StatusSameResults || d.TotalDivergences != 1 {
		t.Errorf("a different path too: got %s, %d divergences", d.Status, d.TotalDivergences)
	}
	b.warps[1][1].taken, b.storeEvents = 3, false
	if d := judge(t, a, b, Options{}); d.Status != StatusSameResults {
		t.Errorf("where both were asked for the same: got %s", d.Status)
	}
}

// TestHashesBesideEventsAreNotADivergence: nobody can tell whether they are of one way; what was written decides, and the coverage says so.
func TestHashesBesideEventsAreNotADivergence(t *testing.T) {
	a := run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}
	for _, same := range []bool{true, false} {
		b := run{warps: way(3), mode: warptrace.ModeDigest, stores: a.stores}
		status, divergences := StatusIdentical, int64(0)
		if !same {
			b.stores = row(0, 4, 0, 0, 32, 2)
			status, divergences = StatusDiverged, 2
		}
		for _, pair := range [][2]run{{a, b}, {b, a}} {
			d := judge(t, pair[0], pair[1], Options{})
			if strings.Contains(d.Verdict, "control flow does not differ") || d.Status != status || d.Passed != same || d.TotalDivergences != divergences || d.Coverage.ControlFlow.By != byNothing {
				t.Errorf("same outputs %v: got %s, %d divergences, control flow by %q: %s", same, d.Status, d.TotalDivergences, d.Coverage.ControlFlow.By, d.Verdict)
			}
		}
	}
}

func TestOutputsThatDifferAreADivergenceWithoutAnEvent(t *testing.T) {
	a := run{stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 4, 0, 512, 32, 9))}
	b := run{stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 4, 0, 512, 32, 8))}
	d := judge(t, a, b, Options{})
	if d.Status != StatusDiverged || d.Passed || d.TotalDivergences != 2 || d.DivergenceBreakdown[KindOutput] != 1 || d.DivergenceBreakdown[KindStore] != 1 {
		t.Errorf("%s, passed %v, %v", d.Status, d.Passed, d.DivergenceBreakdown)
	}
	f := d.Outputs.First
	if f == nil || f.Array != "out" || *f.From != 512 || *f.To != 767 || f.Element != nil || f.Store == nil || f.Store.Warp == nil || *f.Store.Warp != 1 ||
		f.Store.SourceLocation != "k.py:k:14:1" {
		t.Errorf("the first is %+v", f)
	}
	if !strings.Contains(d.Verdict, "output out differs, first in elements 512-767, stored at k.py:14 by warp 1") || !strings.Contains(d.Outputs.More, "outputs=") {
		t.Errorf("verdict %q, more %q", d.Verdict, d.Outputs.More)
	}
	if got := d.Coverage.Text; got != "control flow of 0 events, 1 store and 1 array by digest; values not recorded" {
		t.Errorf("coverage %q", got)
	}
	if d := judge(t, a, a, Options{}); d.Status != StatusIdentical || !d.Passed || d.Outputs != nil || !strings.HasPrefix(d.Verdict, "the recordings are the same: control flow of 0 events, 1 store and 1 array") {
		t.Errorf("with itself: %s: %s", d.Status, d.Verdict)
	}
	if d := judge(t, a, b, Options{Require: 1 << AspectControlFlow}); d.Status != StatusDiverged || d.CountedDivergences != 1 {
		t.Errorf("outputs not required: %s, %d count, want the store as part of the way", d.Status, d.CountedDivergences)
	}
}

func TestContentsNameTheElementAndItsThread(t *testing.T) {
	a := run{keep: true, stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 5, 0, 512, 32, 9))}
	b := run{keep: true, stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 5, 0, 512, 32, 9))}
	b.stores[35].value = 77
	d := judge(t, a, b, Options{})
	f := d.Outputs.First
	if f == nil || f.Element == nil || *f.Element != 515 || f.ValueA != "12" || f.ValueB != "77" || f.WriterB == nil || f.WriterB.Lane != 3 || *f.WriterB.WarpOfBlock != 1 ||
		f.WriterB.SourceLocation != "k.py:k:15:1" || d.Outputs.More != "" {
		t.Fatalf("got %+v, %+v", f, f.WriterB)
	}
	if !strings.Contains(d.Verdict, "output out differs at element 515: 12 in A, 77 in B, stored at k.py:15 by block 0, warp 1, lane 3") {
		t.Errorf("verdict %q", d.Verdict)
	}
	b.stores[35].value = 12.00001
	tolerance, err := ParseTolerance("f32:rel=1e-3")
	must(t, err)
	if d := judge(t, a, b, Options{Values: true, Tolerance: tolerance}); d.Status != StatusIdentical {
		t.Errorf("within the tolerance: %s: %s", d.Status, d.Verdict)
	}
	if d := judge(t, a, b, Options{Values: true}); d.Status != StatusDiverged {
		t.Errorf("without tolerance: %s", d.Status)
	}
	b.stores = b.stores[:len(b.stores)-1]
	b.stores[35].value = 12
	if f := judge(t, a, b, Options{}).Outputs.First; f.ValueB != "" || f.ValueA != "40" || *f.Element != 543 {
		t.Errorf("not written in B: %+v", f)
	}
}

func TestADifferentPathToTheSameResultsIsNotABug(t *testing.T) {
	out := slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 4, 0, 32, 32, 9))
	a, b := run{warps: way(0xff), stores: out}, run{warps: way(0xf), stores: out}
	ta, tb := a.open(t, "a.prlx"), b.open(t, "b.prlx")
	for _, c := range []struct {
		require Require
		passed  bool
	}{{0, false}, {1<<AspectControlFlow | 1<<AspectOutputs, false}, {1 << AspectOutputs, true}, {1 << AspectControlFlow, false}} {
		opt := Options{Require: c.require}
		r := compared(t, ta, tb, opt, 1)
		why, err := Explain(job.New(t.Context(), job.Options{}), r, ta, tb, opt)
		d := documentOf(t, r)
		if err != nil || why != nil || d.Explanation != nil {
			t.Errorf("a cause is named: %+v, %v", why, err)
		}
		if d.Status != StatusSameResults || d.Passed != c.passed || !strings.HasPrefix(d.Verdict, "same results; control flow differs at k.py:10, warp 0, event 0") {
			t.Errorf("require %v: %s, passed %v: %s", d.Require, d.Status, d.Passed, d.Verdict)
		}
	}
	a.nothing = true
	if d := judge(t, a, b, Options{}); d.Status != StatusDiverged || d.Coverage.Outputs.By != byNothing || !slices.Equal(d.Coverage.Outputs.Limits, []string{"A does not say what the kernel wrote"}) {
		t.Errorf("outputs of one side: %s: %s", d.Status, d.Verdict)
	}
	a.nothing, a.stopped = false, true
	if d := judge(t, a, b, Options{}); d.Status != StatusDiverged {
		t.Errorf("a run that was stopped has no results: %s", d.Status)
	}
}

func TestTooLittleIsInconclusive(t *testing.T) {
	empty := run{nothing: true}
	d := judge(t, empty, empty, Options{})
	if d.Status != StatusInconclusive || d.Passed || !strings.Contains(d.Verdict, "neither recording holds an event") {
		t.Errorf("nothing on both sides: %s, passed %v: %s", d.Status, d.Passed, d.Verdict)
	}
	idle := run{}
	if d := judge(t, idle, idle, Options{}); d.Status != StatusInconclusive || !strings.Contains(d.Verdict, "the kernel wrote nothing") {
		t.Errorf("no event, and nothing written: %s: %s", d.Status, d.Verdict)
	}
	if d := judge(t, run{warps: way(3)}, run{warps: way(1)}, Options{}); d.Status != StatusDiverged {
		t.Errorf("two ways to nothing are no same results: %s", d.Status)
	}
	events := run{nothing: true, warps: way(3)}
	if d := judge(t, events, events, Options{}); d.Status != StatusInconclusive || d.Passed || !slices.Equal(d.Coverage.Missing, []string{"outputs"}) ||
		!strings.Contains(d.Verdict, "what the kernel wrote was not recorded on both sides: no store and no array was compared") {
		t.Errorf("events alone: %s, missing %v: %s", d.Status, d.Coverage.Missing, d.Verdict)
	}
	if d := judge(t, events, run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}, Options{}); d.Status != StatusInconclusive {
		t.Errorf("outputs of one side: %s: %s", d.Status, d.Verdict)
	}
	for name, free := range map[string]run{
		"no statement that stores": {nothing: true, warps: way(3), storeless: true},
		"converted from v1":        {nothing: true, warps: way(3), means: warptrace.MeansConverted},
		"generated":                {nothing: true, warps: way(3), means: warptrace.MeansGenerated},
	} {
		if d := judge(t, free, free, Options{}); d.Status != StatusIdentical || !slices.Equal(d.Coverage.Missing, []string{"outputs"}) || !strings.Contains(d.Verdict, "outputs and values not recorded") {
			t.Errorf("%s: %s: %s", name, d.Status, d.Verdict)
		}
	}
	if d := judge(t, events, events, Options{Require: 1 << AspectControlFlow}); d.Status != StatusIdentical || !d.Passed {
		t.Errorf("its way alone: %s: %s", d.Status, d.Verdict)
	}
	only := Options{Require: 1 << AspectOutputs}
	if d := judge(t, events, events, only); d.Status != StatusInconclusive {
		t.Errorf("outputs are required, and not there: %s", d.Status)
	}
	other := run{nothing: true, warps: way(1)}
	if d := judge(t, events, other, only); d.Status != StatusDiverged || d.Passed {
		t.Errorf("outputs are required, and the way differs: %s, passed %v", d.Status, d.Passed)
	}
	events.mode = warptrace.ModeDigest
	if d := judge(t, events, events, Options{Require: 1 << AspectControlFlow}); d.Status != StatusIdentical || d.Coverage.Text != "control flow of 2 events by digest; outputs and values not recorded" {
		t.Errorf("hashes: %s: %s", d.Status, d.Verdict)
	}
	if d := judge(t, events, run{nothing: true, warps: way(3)}, Options{}); d.Status != StatusDiverged && d.Status != StatusInconclusive {
		t.Errorf("hashes beside events: %s: %s", d.Status, d.Verdict)
	}
	r := compared(t, events.open(t, "a.prlx"), events.open(t, "b.prlx"), Options{}, 1)
	r.Undecided = append(r.Undecided, "two more equal runs would do")
	if d := documentOf(t, r); d.Status != StatusInconclusive || !strings.Contains(d.Verdict, "two more equal runs would do") {
		t.Errorf("undecided: %s: %s", d.Status, d.Verdict)
	}
}

func TestNothingInCommonIsRefused(t *testing.T) {
	a := run{nothing: true, warps: [][]passed{{{0, all, 1}}, nil}}
	for name, b := range map[string]run{
		"no site": {nothing: true, warps: [][]passed{{{1, all, 1}, {2, all, 1}}, nil}},
		"no warp": {nothing: true, warps: [][]passed{nil, {{0, all, 1}}}},
	} {
		j := job.New(context.Background(), job.Options{})
		if _, err := Compare(j, a.open(t, "a.prlx"), b.open(t, "b.prlx"), Options{}); !fault.Is(err, fault.Incompatible) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b := run{warps: [][]passed{{{1, all, 1}, {2, all, 1}}, nil}, stores: row(0, 4, 0, 0, 32, 1)}
	a.nothing, a.stores = false, b.stores
	if d := judge(t, a, b, Options{}); d.Status != StatusSameResults {
		t.Errorf("one array is in common: %s", d.Status)
	}
}

func TestFindingsBelongToTheRecording(t *testing.T) {
	clean := run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}
	found := clean
	found.findings = []warptrace.Finding{{Check: "out-of-bounds", Site: warptrace.NoSite, Function: "k", File: "dir/k.py", Line: 12, Count: 4, Message: "loads 4 bytes beyond x"}}
	d := judge(t, clean, found, Options{})
	if d.Status != StatusDiverged || d.Passed || d.DivergenceBreakdown[KindFinding] != 1 || !strings.Contains(d.Verdict, "out-of-bounds at dir/k.py:12 only in B") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	if d := judge(t, clean, found, Options{Require: 1 << AspectOutputs}); d.Passed {
		t.Error("passes where outputs alone are required")
	}
	again := found
	again.findings = slices.Clone(found.findings)
	again.findings[0].Message = "another address"
	if d := judge(t, found, again, Options{}); d.Status != StatusInconclusive || d.Passed || len(d.Findings) != 1 || !d.Findings[0].Both || !strings.Contains(d.Verdict, "both runs have findings") {
		t.Errorf("the same finding: %s: %s", d.Status, d.Verdict)
	}
	again.findings[0].Count = 5
	if d := judge(t, found, again, Options{}); d.Status != StatusDiverged || !strings.Contains(d.Verdict, "4 times in A, 5 times in B") {
		t.Errorf("more often: %s: %s", d.Status, d.Verdict)
	}
	found.findings[0].Check = "nan" // A did not look for NaN
	if d := judge(t, clean, found, Options{}); d.Status != StatusInconclusive || len(d.Findings) != 1 || !strings.Contains(d.Verdict, "only in B, and the other was not checked for it") {
		t.Errorf("a check that one side did not make: %s: %s", d.Status, d.Verdict)
	}
}

func TestStoresOnTheWayAreNotResults(t *testing.T) {
	final := row(0, 5, 0, 0, 32, 1)
	a, b := run{stores: slices.Concat(row(0, 4, 0, 0, 32, 5), final)}, run{stores: slices.Concat(row(0, 4, 0, 0, 32, 6), final)}
	d := judge(t, a, b, Options{})
	if d.Status != StatusSameResults || d.Passed || !strings.HasPrefix(d.Verdict, "same results; something else was stored on the way, stored at k.py:14 by warp 0") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
	if d := judge(t, a, b, Options{Require: 1 << AspectOutputs}); !d.Passed {
		t.Errorf("outputs agree, and it does not pass: %d count", d.CountedDivergences)
	}
	ignore, err := site.ParsePattern("k.py:14")
	must(t, err)
	if d := judge(t, a, b, Options{Ignore: []site.Pattern{ignore}}); d.Status != StatusIdentical {
		t.Errorf("ignored: %s: %s", d.Status, d.Verdict)
	}
	// One statement became two: what they store together is the same.
	split := run{stores: slices.Concat(row(0, 4, 0, 0, 16, 1), row(0, 5, 0, 16, 16, 17))}
	if d := judge(t, run{stores: row(0, 3, 0, 0, 32, 1)}, split, Options{}); d.Status != StatusIdentical {
		t.Errorf("split: %s: %s", d.Status, d.Verdict)
	}
}

func TestArraysArePairedByNameAndScratchIsNotAResult(t *testing.T) {
	a := run{names: []string{"x", "y"}, stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(0, 5, 1, 0, 32, 9))}
	swapped := run{names: []string{"y", "x"}, stores: slices.Concat(row(0, 4, 1, 0, 32, 1), row(0, 5, 0, 0, 32, 9))}
	if d := judge(t, a, swapped, Options{}); d.Status != StatusIdentical {
		t.Errorf("arguments in another order: %s: %s", d.Status, d.Verdict)
	}
	renamed := a
	renamed.names = []string{"x", "result"}
	if d := judge(t, a, renamed, Options{}); d.Status != StatusIdentical {
		t.Errorf("an argument with another name: %s: %s", d.Status, d.Verdict)
	}
	b := a
	b.stores = row(0, 4, 0, 0, 32, 1)
	if d := judge(t, a, b, Options{}); d.Status != StatusDiverged || d.Outputs.First.Array != "y" {
		t.Errorf("an array that B did not write: %s: %s", d.Status, d.Verdict)
	}
	c := run{names: a.names, scratch: 1, stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(0, 5, 1, 0, 32, 3))}
	e := run{names: a.names, scratch: 1, stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(0, 5, 1, 0, 32, 4))}
	if d := judge(t, c, e, Options{}); d.Status != StatusIdentical || d.Coverage.Outputs.Arrays != 1 {
		t.Errorf("scratch: %s: %s", d.Status, d.Verdict)
	}
}

func TestWhoLooksAtSomeWarpsComparesWhatTheyStored(t *testing.T) {
	a := run{stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 4, 0, 512, 32, 9))}
	b := run{stores: slices.Concat(row(0, 4, 0, 0, 32, 1), row(1, 4, 0, 512, 32, 8))}
	a.warps, b.warps = way(3), way(3)
	for text, want := range map[string]string{"0": StatusIdentical, "1": StatusDiverged} {
		warps, err := ParseWarps(text)
		must(t, err)
		if d := judge(t, a, b, Options{Warps: warps}); d.Status != want || d.Coverage.Outputs.Arrays != 0 {
			t.Errorf("warp %s: %s: %s", text, d.Status, d.Verdict)
		}
	}
	if d := judge(t, a, b, Options{Kinds: 1 << RowBranch}); d.Status != StatusIdentical || d.Coverage.Outputs.By != byRequest {
		t.Errorf("branches alone: %s: %s", d.Status, d.Verdict)
	}
}

func TestAtomicsInAnotherOrderAreNoiseAndOtherOperandsAreNot(t *testing.T) {
	orders := [][]float32{{1e8, 1, 2, 3}, {1, 2, 3, 1e8}, {3, 1e8, 2, 1}, {3, 2, 1e8, 1}}
	var runs []*warptrace.Trace
	for _, o := range orders {
		runs = append(runs, run{warps: way(3), atomics: o}.open(t, "run.prlx"))
	}
	withRuns := func(b *warptrace.Trace) *Document {
		j := job.New(t.Context(), job.Options{})
		r := compared(t, runs[0], b, Options{}, 1)
		_, err := ApplyBaseline(j, r, runs[0], b, runs[2:], nil, Options{})
		must(t, err)
		return documentOf(t, r)
	}
	d := judge(t, run{warps: way(3), atomics: orders[0]}, run{warps: way(3), atomics: orders[1]}, Options{})
	if d.Status != StatusDiverged || !strings.Contains(d.Verdict, "atomics in another order") {
		t.Errorf("without equal runs: %s: %s", d.Status, d.Verdict)
	}
	d = withRuns(runs[1])
	if d.Status != StatusIdentical || !d.Passed || d.Baseline.OutputChunks != 1 || !slices.Equal(d.Baseline.Outputs, []string{"out"}) || !strings.Contains(d.Verdict, "the same but for noise: equal runs differ in out, too") {
		t.Errorf("with equal runs: %s: %s", d.Status, d.Verdict)
	}
	wrong := run{warps: way(3), atomics: []float32{1e8, 1, 2, 40}}.open(t, "wrong.prlx")
	if d := withRuns(wrong); d.Status != StatusDiverged || d.Passed || !strings.Contains(d.Verdict, "k.py:13") {
		t.Errorf("another operand: %s: %s", d.Status, d.Verdict)
	}
}

func TestMovedLinesAreMatchedForStoresToo(t *testing.T) {
	a := run{warps: way(3), stores: row(0, 4, 0, 0, 32, 1)}
	b := a
	b.lines = 7
	if d := judge(t, a, b, Options{}); d.Status != StatusIdentical {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
}

func TestV1CoversWhatItHolds(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 3})
	r := p.Run(warptracetest.Launch{Warps: 4})
	a, b := r.OpenV1(t, "a.prlx", warptracetest.V1File{}), r.OpenV1(t, "b.prlx", warptracetest.V1File{})
	d := documentOf(t, compared(t, a, b, Options{}, 1))
	if d.Status != StatusIdentical || d.Coverage.ControlFlow.By != byLeader || !strings.Contains(d.Verdict, "(one lane of each warp); outputs not recorded; values not compared") {
		t.Errorf("%s: %s", d.Status, d.Verdict)
	}
}

func TestRacingStoresAreNoiseInSoManyWarpsOnly(t *testing.T) {
	// In every run another warp of two is the last to write element 0; the other warps write what is theirs.
	racing := func(value float32, more ...float32) run {
		r := run{warps: make([][]passed, 40), stores: row(0, 4, 0, 0, 1, value)}
		for warp := range uint64(40) {
			r.warps[warp] = []passed{{0, all, 1}}
			v := float32(warp)
			if int(warp) < len(more) {
				v += more[warp]
			}
			if warp > 0 {
				r.stores = append(r.stores, row(warp, 4, 0, 32*int(warp), 32, v)...)
			}
		}
		return r
	}
	a := racing(1).open(t, "a.prlx")
	equal := []*warptrace.Trace{racing(2).open(t, "a2.prlx"), racing(3).open(t, "a3.prlx")}
	bug := make([]float32, 40)
	for i := range bug {
		bug[i] = 0.5
	}
	for _, c := range []struct {
		b    *warptrace.Trace
		want string
	}{{racing(4).open(t, "b.prlx"), StatusIdentical}, {racing(4, bug...).open(t, "bug.prlx"), StatusDiverged}} {
		r := compared(t, a, c.b, Options{}, 1)
		_, err := ApplyBaseline(job.New(t.Context(), job.Options{}), r, a, c.b, equal, nil, Options{})
		must(t, err)
		if d := documentOf(t, r); d.Status != c.want {
			t.Errorf("%s: %s: %s", c.b.Path(), d.Status, d.Verdict)
		}
	}
}

func TestNoiseIsNoLargerThanAmongEqualRuns(t *testing.T) {
	summed := func(order []float32, before float32) *warptrace.Trace {
		r := run{warps: way(3), keep: true, atomics: order}
		r.before = before
		return r.open(t, "run.prlx")
	}
	orders := [][]float32{{1e8, 1, 20, 3}, {1, 20, 3, 1e8}, {3, 1e8, 20, 1}, {3, 20, 1e8, 1}}
	equal := []*warptrace.Trace{summed(orders[2], 0), summed(orders[3], 0)}
	a := summed(orders[0], 0)
	for _, c := range []struct {
		before float32
		want   string
	}{{0, StatusIdentical}, {5e6, StatusDiverged}} { // what the atomics are added to is no operand
		b := summed(orders[1], c.before)
		r := compared(t, a, b, Options{}, 1)
		_, err := ApplyBaseline(job.New(t.Context(), job.Options{}), r, a, b, equal, nil, Options{})
		must(t, err)
		if d := documentOf(t, r); d.Status != c.want {
			t.Errorf("before %g: %s: %s", c.before, d.Status, d.Verdict)
		}
	}
}

func TestTheShareOfDroppedEventsIsSpelledOut(t *testing.T) {
	for _, c := range []struct {
		events, dropped int64
		want            string
	}{{0, 5, "100 %"}, {1, 1e6, "99.9 %"}, {4, 996, "99.6 %"}, {3, 1, "25 %"}, {999, 1, "0.1 %"}} {
		if got := droppedShare(&warptrace.Losses{Events: c.events, Dropped: c.dropped}); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.dropped, c.events+c.dropped, got, c.want)
		}
	}
}
