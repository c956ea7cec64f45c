package xspace

import (
	"bytes"
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// TestGeneratedFilesHoldTheirTruth reads generated files back and finds the clocks that made them.
func TestGeneratedFilesHoldTheirTruth(t *testing.T) {
	for name, c := range map[string]xspacetest.Config{
		"plain":    {Nodes: 2, GPUs: 2, EventsPerGPU: 5000, Seed: 3, SnapshotNS: 10_000_000},
		"unsorted": {Nodes: 2, GPUs: 2, EventsPerGPU: 5000, Seed: 3, SnapshotNS: 10_000_000, Unsorted: true},
		"nested":   {Nodes: 2, GPUs: 2, EventsPerGPU: 5000, Seed: 3, SnapshotNS: 10_000_000, Nested: true},
	} {
		j := xspacetest.New(c)
		for n := range j.Clocks {
			var b bytes.Buffer
			if err := j.Write(n, &b); err != nil {
				t.Fatal(err)
			}
			src := opened(t, b.Bytes())
			s := scan(t, src)
			if s.ProfileStartNS != j.ProfileStartNS(n) || s.ProfileStopNS != j.Clocks[n].Wall(j.LastTrueNS()) || len(s.Hostnames) != 1 {
				t.Errorf("%s, node %d: session %d..%d, hosts %q", name, n, s.ProfileStartNS, s.ProfileStopNS, s.Hostnames)
			}
			if len(s.Snapshots) < 5 || !s.SnapshotsAbsolute || s.SnapshotsLost != 0 {
				t.Fatalf("%s, node %d: %d snapshots, absolute %v, %d lost", name, n, len(s.Snapshots), s.SnapshotsAbsolute, s.SnapshotsLost)
			}
			first := j.StartTracerNS(n)
			for k, at := range s.Snapshots {
				i := int64(k) * c.SnapshotNS
				trueNS := xspacetest.Epoch + 4_000_000 + i
				if k == 0 && at.X != first || at.X != j.Clocks[n].Tracer(trueNS) || at.Y != j.Clocks[n].Wall(trueNS) {
					t.Fatalf("%s, node %d: snapshot %d is %+v, want (%d, %d)", name, n, k, at, j.Clocks[n].Tracer(trueNS), j.Clocks[n].Wall(trueNS))
				}
			}
			checkDevice(t, name, j, n, src, s)
		}
	}
}

// checkDevice compares the events of the node's second device with those that were written.
func checkDevice(t *testing.T, name string, j *xspacetest.Job, n int, src *fileSource, s *Space) {
	t.Helper()
	p := s.Plane("/device:GPU:1")
	l := &p.Lines[0]
	if l.Sorted == j.Unsorted {
		t.Errorf("%s, node %d: sorted %v", name, n, l.Sorted)
	}
	var want []xspacetest.Event
	j.Events(n, 1, func(e xspacetest.Event) { want = append(want, e) })
	if int64(len(want)) != l.Events {
		t.Fatalf("%s, node %d: %d events, want %d", name, n, l.Events, len(want))
	}
	base := j.StartTracerNS(n)
	err := EventsOf(context.Background(), src, p, l, EventOptions{}, func(e *Event) error {
		w := want[e.Index]
		start, end := j.Clocks[n].Tracer(w.Start), j.Clocks[n].Tracer(w.End)
		if e.OffsetPS != (start-base)*1000 || e.DurationPS != (end-start)*1000 || e.MetadataID != w.Name {
			t.Fatalf("%s, node %d, event %d: %d + %d ps, want %d + %d", name, n, e.Index, e.OffsetPS, e.DurationPS, (start-base)*1000, (end-start)*1000)
		}
		it := e.Stats()
		if !it.Next() || it.Stat().Name != "hlo_op" || it.Stat().Ref == "" || !it.Next() || it.Stat().Name != "correlation_id" || it.Stat().Uint != uint64(w.Index) || it.Next() {
			t.Fatalf("%s, node %d, event %d: unexpected stats", name, n, e.Index)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
