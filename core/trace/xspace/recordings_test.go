package xspace

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

const damaged = "xplane/openxla+xprof__60203f9__tpu_inference_2.xplane.pb"

func intact(t testing.TB) []string {
	t.Helper()
	var paths []string
	for _, p := range append(filetest.Glob(t, "xplane/*.xplane.pb"), filetest.Glob(t, "jax_skew/*/*.xplane.pb")...) {
		if !strings.HasSuffix(p, filepath.Base(damaged)) {
			paths = append(paths, p)
		}
	}
	return paths
}

func open(t testing.TB, path string) *file.Source {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// shifted moves every line of a file by a clock map that changes each offset, end and base.
func shifted(t testing.TB, s *Space) *spaceEdit {
	t.Helper()
	m, err := clock.New([]clock.Knot{{X: 0, Y: 777}, {X: 1 << 40, Y: 1<<40 + 12_345_678}, {X: 1 << 62, Y: 1<<62 + 99_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	e := &spaceEdit{Planes: make([]planeEdit, len(s.Planes)), CorrectionStat: "correction_ns"}
	for i := range s.Planes {
		e.Planes[i].Lines = make([]lineEdit, len(s.Planes[i].Lines))
		for k := range s.Planes[i].Lines {
			l := &s.Planes[i].Lines[k]
			c := m.Cursor(l.TimestampNS)
			e.Planes[i].Lines[k] = lineEdit{Cursor: c, TimestampNS: ptr(c.BaseY()), DisplayID: ptr(int64(k + 1))}
		}
	}
	return e
}

func TestRecordingsSurvive(t *testing.T) {
	for _, path := range intact(t) {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			in, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			src := open(t, path)
			s := scan(t, src)
			if out, _ := rewritten(t, src, s, &spaceEdit{}); !bytes.Equal(in, out) {
				t.Fatal("an edit of nothing changed the file")
			}

			want := decode(t, in)
			e := shifted(t, s)
			out, sizes := rewritten(t, src, s, e)
			got := decode(t, out)
			apply(e, want, newStatIDs(s, e, got).of)
			if d := difference(want, got); d != "" {
				t.Fatalf("the shifted file differs from the edited message at %s", d)
			}
			if sizes.Events != s.Events || sizes.Dropped != 0 || sizes.Saturated != 0 || sizes.Mapped+sizes.Aggregated != s.Events {
				t.Fatalf("counts %+v for %d events", sizes.counts, s.Events)
			}
			again := scan(t, opened(t, out))
			for i := range s.Planes {
				if s.Planes[i].Events != again.Planes[i].Events || s.Planes[i].EventMetadataCount != again.Planes[i].EventMetadataCount {
					t.Fatalf("plane %d: %d events and %d metadata became %d and %d", i, s.Planes[i].Events, s.Planes[i].EventMetadataCount, again.Planes[i].Events, again.Planes[i].EventMetadataCount)
				}
			}
		})
	}
}

func TestRecordingsAgreeWithTheSchema(t *testing.T) {
	for _, path := range intact(t) {
		in, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src := open(t, path)
		s, twin := scan(t, src), decode(t, in)
		for i, p := range twin.list("planes") {
			comparePlane(t, filepath.Base(path)+": plane "+s.Planes[i].Name, src, &s.Planes[i], p)
		}
	}
}

// TestRecordingFacts holds Scan against what was published about each recording.
func TestRecordingFacts(t *testing.T) {
	for _, c := range []struct {
		path  string
		plane string
		want  int64
	}{
		{"xplane/openxla+xprof__GPU-multi-worker__34.83.195.179_6003.xplane.pb", "/host:CPU", 15_354},
		{"xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb", "/host:CPU", 19_270},
		{"xplane/AMD-AGI+TraceLens__jax08_attention__tw003.xplane.pb", "/host:CPU", 4_275},
		{"xplane/AMD-AGI+TraceLens__jax_conv_minimal_08__tw003.xplane.pb", "/host:CPU", 3_415},
		{"xplane/AMD-AGI+TraceLens__jax_conv_minimal_legacy__chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb", "/host:CPU", 5_946},
	} {
		s := scan(t, open(t, filetest.Data(t, c.path)))
		p := s.Plane(c.plane)
		if p == nil {
			t.Errorf("%s: no plane %s", c.path, c.plane)
		} else if p.Events != c.want {
			t.Errorf("%s: %s has %d events, want %d", c.path, c.plane, p.Events, c.want)
		}
	}
	s := scan(t, open(t, filetest.Data(t, "jax_skew/p4/node2.xplane.pb")))
	if s.ProcessID == "" || s.JaxVersion != "0.10.2" || len(s.Hostnames) != 1 || s.ProfileStartNS < 1_700_000_000_000_000_000 || s.ProfileStopNS <= s.ProfileStartNS {
		t.Errorf("p4/node2: process %q, jax %q, hosts %q, %d..%d", s.ProcessID, s.JaxVersion, s.Hostnames, s.ProfileStartNS, s.ProfileStopNS)
	}
}

func TestDamagedRecordingIsRefusedWithItsPlace(t *testing.T) {
	src := open(t, filetest.Data(t, damaged))
	_, err := Scan(context.Background(), src, ScanOptions{})
	e := fault.Of(err)
	if err == nil || e.Kind != fault.Format || e.Offset != 0 || !strings.Contains(e.Msg, "field 1 claims") {
		t.Fatalf("got %v, want a format error with its offset", err)
	}
}

// TestMetadataHasHLOProtos finds the compiled programs of a JAX recording without reading them.
func TestMetadataHasHLOProtos(t *testing.T) {
	src := open(t, filetest.Data(t, "jax_skew/p4/node0.xplane.pb"))
	p := scan(t, src).Plane(planeMetadata)
	if p == nil {
		t.Fatal("no plane " + planeMetadata)
	}
	protos := 0
	err := EventMetadata(context.Background(), src, p, func(m *EventMeta) error {
		for _, st := range m.Stats {
			if st.Kind == statBytes && st.Length > 100 && m.Name != "" {
				protos++
			}
		}
		return nil
	})
	if err != nil || protos == 0 {
		t.Fatalf("%d HLO protos, error %v", protos, err)
	}
}
