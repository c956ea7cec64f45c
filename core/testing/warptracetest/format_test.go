package warptracetest

import (
	"context"
	"reflect"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// The readers give back what was recorded, whichever way it was written.
func TestReadersGiveBackWhatWasWritten(t *testing.T) {
	programs(t, 8, func(t *testing.T, p *Program, l Launch, r *Recording) {
		same(t, r, r.OpenV2(t, "a.prlx"))
		v1 := r.V1()
		for _, f := range []V1File{{}, {Compress: true}, {Explicit: true}} {
			if l.Snapshots < 0 {
				f.Snapshots = 4096
			}
			same(t, v1, v1.OpenV1(t, "a.prlx", f))
		}
	})
}

func same(t *testing.T, r *Recording, trace *warptrace.Trace) {
	t.Helper()
	index, err := trace.Index(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(index) != len(r.Warps) {
		t.Fatalf("%d warps, want %d", len(index), len(r.Warps))
	}
	var got warptrace.Warp
	for i := range r.Warps {
		want := &r.Warps[i]
		if err := trace.ReadWarp(context.Background(), want.Warp, &got); err != nil {
			t.Fatal(err)
		}
		if index[i].Warp != want.Warp || index[i].Events != want.Events || index[i].Total != want.Total || index[i].Dropped != want.Dropped {
			t.Errorf("index: %+v, want %+v", index[i], want.WarpInfo)
		}
		for _, c := range [][2]any{
			{got.Site, want.Site},
			{got.Kind, want.Kind},
			{got.Dir, want.Dir},
			{got.Aux, want.Aux},
			{got.Active, want.Active},
			{got.Taken, want.Taken},
			{got.Value, want.Value},
			{got.Type, want.Type},
		} {
			if !reflect.DeepEqual(c[0], c[1]) {
				t.Fatalf("warp %d: a column differs:\n%v, want\n%v", want.Warp, c[0], c[1])
			}
		}
		if len(got.History) != len(want.History) || len(got.Snapshots) != len(want.Snapshots) {
			t.Fatalf("warp %d: %d and %d ring entries, want %d and %d", want.Warp, len(got.History), len(got.Snapshots), len(want.History), len(want.Snapshots))
		}
		for k, g := range got.History {
			if w := want.History[k]; g.Site != w.Site || g.Value != w.Value || g.Seq != w.Seq {
				t.Fatalf("warp %d: history %+v, want %+v", want.Warp, g, w)
			}
		}
		for k, g := range got.Snapshots {
			w := want.Snapshots[k]
			if g.Site != w.Site || g.Active != w.Active || !reflect.DeepEqual(g.Lhs, w.Lhs) {
				t.Fatalf("warp %d: snapshot %+v, want %+v", want.Warp, g, w)
			}
		}
	}
	if h := trace.Header(); h.Kernel != r.Header.Kernel || h.Grid != r.Header.Grid || h.Block != r.Header.Block || h.WarpSlots != r.Header.WarpSlots {
		t.Errorf("header %+v, want %+v", h, r.Header)
	}
}
