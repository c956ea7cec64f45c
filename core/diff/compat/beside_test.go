package compat

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// TestHowManyMoreTheGreedyAlgorithmReports counts, for the same known edits, the divergences of original prlx 0.5 and of package
// diff. -v prints them.
func TestHowManyMoreTheGreedyAlgorithmReports(t *testing.T) {
	j := job.New(context.Background(), job.Options{})
	for _, kind := range []warptracetest.EditKind{warptracetest.Insert, warptracetest.Delete, warptracetest.Replace} {
		edits, described, ours := 0, int64(0), 0
		for seed := range uint64(6) {
			a, b, n := editedPair(seed, kind)
			edits += n
			ta, tb := a.OpenV1(t, "a.prlx", warptracetest.V1File{}), b.OpenV1(t, "b.prlx", warptracetest.V1File{})
			greedy, err := Compare(j, ta, tb, Options{Lookahead: DefaultLookahead, ContinueAfterPath: true})
			if err != nil {
				t.Fatal(err)
			}
			minimal, err := diff.Compare(j, ta, tb, diff.Options{})
			if err != nil {
				t.Fatal(err)
			}
			described += greedy.counted()
			ours += len(minimal.Rows)
		}
		t.Logf("%s: %d edits of up to 200 events: original prlx 0.5 reports %d divergences, package diff %d", kind, edits, described, ours)
		if described <= int64(ours) {
			t.Errorf("%s: the greedy algorithm reports %d divergences and the minimal one %d", kind, described, ours)
		}
		if kind != warptracetest.Replace && ours > 2*edits { // what replaces events may be of the same sites, and then pairs
			t.Errorf("%s: %d divergences for %d edits", kind, ours, edits)
		}
	}
}

// editedPair makes a recording of 8 warps and one with up to 30 edits per warp, none of which fills a buffer.
func editedPair(seed uint64, kind warptracetest.EditKind) (a, b *warptracetest.Recording, edits int) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 40 + seed, Endless: true})
	a = p.Run(warptracetest.Launch{Warps: 8, Events: 3000})
	for i := range a.Warps { // as if the programs had ended by themselves
		a.Warps[i].Dropped, a.Warps[i].Total = 0, uint64(a.Warps[i].Len())
	}
	b, truth := warptracetest.Edit(a, warptracetest.Edits{Seed: seed, Count: 30, MaxRun: 200, Kinds: []warptracetest.EditKind{kind}})
	a.Header.EventsPerWarp, b.Header.EventsPerWarp = 1<<14, 1<<14
	return a, b, len(truth.Edits)
}
