package simulation

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
)

// observed records the kernel of decides.ptx from outside.
func observed(t *testing.T, r *recorder.Record) (*warptrace.Trace, []warptrace.WarpInfo) {
	t.Helper()
	text, _ := decides(t)
	p, err := simt.Load(t.Context(), "decides.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := launchOf(0)
	r.Path = filepath.Join(t.TempDir(), "a.prlx")
	if _, err := Run(newJob(t), p, l, About{}, r, nil); err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.OpenPath(t.Context(), r.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	index, err := trace.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return trace, index
}

func TestOnlyTheWarpsThatAreAskedForHaveEvents(t *testing.T) {
	everywhere, all := observed(t, &recorder.Record{Predicates: true})
	trace, some := observed(t, &recorder.Record{Predicates: true, Warps: observe.Warps{{1, 2}, {5, 5}}})
	if len(all) != 6 {
		t.Fatalf("%d warps", len(all))
	}
	events := map[uint64]uint64{}
	for _, w := range some {
		events[w.Warp] = w.Total
	}
	for _, w := range all {
		want := uint64(0)
		if slices.Contains([]uint64{1, 2, 5}, w.Warp) {
			want = w.Total
		}
		if events[w.Warp] != want || w.Total == 0 {
			t.Errorf("warp %d has %d events, want %d of %d", w.Warp, events[w.Warp], want, w.Total)
		}
	}
	losses, err := trace.Losses(t.Context())
	if err != nil || losses.Dropped != 0 || len(losses.Notes) != 1 || !strings.Contains(losses.Notes[0], "warps 1-2,5 alone, of 6") {
		t.Errorf("%+v, %v", losses, err)
	}
	a, errA := everywhere.Outputs(t.Context())
	b, errB := trace.Outputs(t.Context())
	if errA != nil || errB != nil || len(a.Stores) == 0 || !reflect.DeepEqual(a.Stores, b.Stores) || !reflect.DeepEqual(a.Arrays, b.Arrays) {
		t.Errorf("what is written is not summed of all warps: %v %v\n%+v\n%+v", errA, errB, a, b)
	}
	_, digest := observed(t, &recorder.Record{Mode: "digest", Warps: observe.Warps{{3, 3}}})
	for _, w := range digest {
		if w.HasRolling != (w.Warp == 3) || (w.Total > 0) != (w.Warp == 3) {
			t.Errorf("digest of warp %d: %+v", w.Warp, w)
		}
	}
}

func TestOnlyTheLinesThatAreAskedForHaveEvents(t *testing.T) {
	lines := func(places ...observe.Place) []uint32 {
		trace, index := observed(t, &recorder.Record{Predicates: true, Places: places})
		var found []uint32
		for _, info := range index {
			var w warptrace.Warp
			if err := trace.ReadWarp(t.Context(), info.Warp, &w); err != nil {
				t.Fatal(err)
			}
			for _, n := range w.Site {
				s, _ := trace.SiteOf(n)
				found = append(found, s.Chain[len(s.Chain)-1].Line)
			}
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	all := lines()
	if len(all) < 2 {
		t.Fatalf("lines %v", all)
	}
	if one := lines(observe.Place{File: "decides.py", First: all[1], Last: all[1]}); !slices.Equal(one, all[1:2]) {
		t.Errorf("line %d: events of lines %v", all[1], one)
	}
	if none := lines(observe.Place{File: "other.py", First: 1, Last: 1 << 20}); len(none) > 0 {
		t.Errorf("events of lines %v", none)
	}
	known := slices.DeleteFunc(slices.Clone(all), func(line uint32) bool { return line == 0 })
	if same := lines(observe.Place{Function: "decides"}); !slices.Equal(same, known) {
		t.Errorf("of the function: lines %v of %v", same, known)
	}
}

func TestRangesOfWarpsThatDoNotAscendAreRefused(t *testing.T) {
	text, _ := decides(t)
	p, err := simt.Load(t.Context(), "decides.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := launchOf(0)
	_, err = Run(newJob(t), p, l, About{}, &recorder.Record{Path: filepath.Join(t.TempDir(), "a.prlx"), Warps: observe.Warps{{4, 2}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "ascend") {
		t.Error(err)
	}
}
