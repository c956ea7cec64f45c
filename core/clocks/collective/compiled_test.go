package collective

import (
	"context"
	"fmt"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

func fromFile(t *testing.T, path string, opt Options) *Part {
	t.Helper()
	ctx := context.Background()
	src, err := file.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	opt.StartNS = s.ProfileStartNS
	p, err := FromCompiled(ctx, src, s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRealCollectivesAsRecorded is the known count of impossible orders on the raw clocks of the recordings.
func TestRealCollectivesAsRecorded(t *testing.T) {
	for _, tc := range []struct {
		set      string
		nodes    int
		violated int
		worstNS  int64 // of check_hb.py, which rounds to 10 us
	}{{"p2", 2, 240, -37_930_000}, {"p4", 4, 238, -43_580_000}, {"p2_step", 2, 87, -1_570_000}} {
		var parts []*Part
		for k := range tc.nodes {
			parts = append(parts, fromFile(t, filetest.Data(t, fmt.Sprintf("jax_skew/%s/node%d.xplane.pb", tc.set, k)), Options{Node: int32(k)}))
		}
		m, err := Match(context.Background(), Join(parts...))
		if err != nil {
			t.Fatal(err)
		}
		v, err := Check(context.Background(), m, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if v.Groups != 240 || v.Violated != tc.violated || m.UnmatchedCount() != 0 {
			t.Errorf("%s: %d groups, %d violated, %d unmatched; want 240, %d, 0", tc.set, v.Groups, v.Violated, m.UnmatchedCount(), tc.violated)
		}
		if d := v.Worst[0].GapNS - tc.worstNS; d > 10_000 || d < -10_000 {
			t.Errorf("%s: worst gap %d ns, want about %d", tc.set, v.Worst[0].GapNS, tc.worstNS)
		}
		for _, kind := range []event.Kind{event.AllReduce, event.AllGather, event.ReduceScatter, event.Permute} {
			if v.ByKind[kind].Groups != 60 {
				t.Errorf("%s: %d groups of %s, want 60", tc.set, v.ByKind[kind].Groups, kind)
			}
		}
		if v.ByHow[byRun] != 240 || v.Guessed != 0 {
			t.Errorf("%s: matched %v, %d kinds guessed", tc.set, v.ByHow, v.Guessed)
		}
	}
}

func TestTracesWithoutCollectivesGiveNone(t *testing.T) {
	for _, path := range filetest.Glob(t, "xplane/AMD*.pb") {
		if p := fromFile(t, path, Options{}); len(p.Spans) != 0 {
			t.Errorf("%s: %d executions, first %+v", path, len(p.Spans), p.Ops[p.Spans[0].Op])
		}
	}
}

// TestCollectivesOfTPUsAreAloneWithoutTheOtherHost reads four of the eight TPUs of a job. The program says that each of them
// reduces with one on the other host, {0,4} {1,5} {2,6} {3,7}; matching the four with each other would be wrong.
func TestCollectivesOfTPUsAreAloneWithoutTheOtherHost(t *testing.T) {
	path := filetest.Data(t, "xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb")
	p := fromFile(t, path, Options{})
	if len(p.Spans) != 12 || len(p.Ops) != 1 {
		t.Fatalf("%d executions of %d operations, want 12 of 1", len(p.Spans), len(p.Ops))
	}
	op := &p.Ops[0]
	if op.Key != "jit__psum/all-reduce" || op.Kind != event.AllReduce || op.Guess || fmt.Sprint(op.Groups) != "[[0 4] [1 5] [2 6] [3 7]]" {
		t.Errorf("operation %+v", *op)
	}
	for d := range int32(4) {
		if id := p.DeviceIDs[Slot{0, d}]; id != int64(4+d) {
			t.Errorf("device %d has the global id %d, want %d", d, id, 4+d)
		}
	}
	m := mustMatch(t, p)
	if len(m.Groups) != 0 || m.UnmatchedCount() != 12 || m.Unmatched[0].Reason != reasonAlone {
		t.Errorf("%d groups, unmatched %v; want 12 without partners", len(m.Groups), m.Unmatched)
	}

	// The other host, made of this one: its devices are 0 to 3.
	other := fromFile(t, path, Options{Node: 1})
	for d := range int32(4) {
		other.DeviceIDs[Slot{1, d}] = int64(d)
	}
	v := mustCheck(t, mustMatch(t, p, other), nil, 0)
	if v.Groups != 12 || v.Consistent != 12 || v.Incomplete != 0 || v.ByHow[byOrder] != 12 {
		t.Errorf("with the other host: %+v %v, want 12 groups of two", v.Counts, v.ByHow)
	}
}
