package warptrace

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
)

func converted(t *testing.T, from *Trace, version int, opt ConvertOptions) ([]byte, ConvertReport) {
	t.Helper()
	var out bytes.Buffer
	report, err := Convert(nil, from, &out, version, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), report
}

// TestConvertThereAndBack takes v1 recordings through v2: the same bytes must come out, or, where rings may be rotated, the same warps.
func TestConvertThereAndBack(t *testing.T) {
	for _, shape := range v1Shapes {
		for _, kernel := range []string{"softmax_kernel", "a name of sixty-four bytes that format v1 cannot hold as it is....."} {
			h := v1TestHeader(10, 9)
			h.HistoryDepth, h.SnapshotDepth, h.SampleRate, h.Kernel = shape.history, shape.snapshots, shape.sample, kernel
			h.KernelHash = Hash32(kernel)
			warps := someWarps(rand.New(rand.NewPCG(1, 2)), 10, 9)
			warps[0].Site[0], warps[0].Dropped, warps[1].Stored = 0, 5, 77
			raw := writeV1(t, h, shape.compress, warps)
			first := openV2Bytes(t, raw)
			middle, report := converted(t, first, 2, ConvertOptions{})
			if len(report.Lost) > 0 {
				t.Errorf("%s: v2 cannot hold %v", shape.name, report.Lost)
			}
			between := openV2Bytes(t, middle)
			back, report := converted(t, between, 1, ConvertOptions{Compress: shape.compress})
			if len(report.Lost) > 0 {
				t.Errorf("%s: lost on the way back: %v", shape.name, report.Lost)
			}
			if shape.history == 0 && shape.snapshots == 0 && !bytes.Equal(raw, back) {
				t.Errorf("%s: the bytes differ", shape.name)
			}
			sameWarps(t, shape.name, first, openV2Bytes(t, back))
			if h := between.Header(); h.KernelHash != Hash32(kernel) || h.Means != MeansConverted || h.SampleRate != shape.sample {
				t.Errorf("%s: header of v2: %+v", shape.name, h)
			}
		}
	}
}

// sameWarps compares two recordings warp by warp.
func sameWarps(t *testing.T, name string, a, b *Trace) {
	t.Helper()
	ia, _ := a.Index(context.Background())
	ib, err := b.Index(context.Background())
	if err != nil || len(ia) != len(ib) {
		t.Fatalf("%s: %d and %d warps, %v", name, len(ia), len(ib), err)
	}
	for i := range ia {
		var wa, wb Warp
		if err := a.ReadWarp(context.Background(), ia[i].Warp, &wa); err != nil {
			t.Fatal(err)
		}
		if err := b.ReadWarp(context.Background(), ia[i].Warp, &wb); err != nil {
			t.Fatal(err)
		}
		if d := warpDiff(&wa, &wb); d != "" {
			t.Errorf("%s: warp %d (-a +b):\n%s", name, ia[i].Warp, d)
		}
	}
}

// asRecorded compares sites by what a recording holds of them, not by the frame that a table has chosen to show.
var asRecorded = cmpopts.IgnoreUnexported(site.Site{})

func TestConvertTakesTheSiteMapAlong(t *testing.T) {
	sites := someSites(3)
	for i := range sites {
		sites[i].ID = uint32(100 + i)
	}
	from := openV2Bytes(t, writeV1(t, v1TestHeader(10, 9), false, someWarps(rand.New(rand.NewPCG(1, 2)), 10, 9)))
	from.SetSites(site.NewTable(sites))
	raw, report := converted(t, from, 2, ConvertOptions{})
	to := openV2Bytes(t, raw)
	if to.Sites().Len() != 5 || report.Sites.Len() != 5 { // 100 to 102 of the map, 103 and 104 of events
		t.Errorf("got %d sites, the report says %d, want 5", to.Sites().Len(), report.Sites.Len())
	}
	for i := range sites {
		if d := cmp.Diff(&sites[i], to.Sites().At(i), asRecorded); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	at, ok := to.Sites().ByID(104)
	if !ok || uint64(to.Sites().At(at).Key) != 104 {
		t.Errorf("a site that the map does not have is not there under its id: %v", ok)
	}
	var w1, w2 Warp
	index, _ := from.Index(context.Background())
	for _, info := range index {
		if err := from.ReadWarp(context.Background(), info.Warp, &w1); err != nil {
			t.Fatal(err)
		}
		if err := to.ReadWarp(context.Background(), info.Warp, &w2); err != nil {
			t.Fatal(err)
		}
		for e := range w1.Site {
			if s, ok := to.SiteOf(w2.Site[e]); !ok || s.ID != w1.Site[e] {
				t.Fatalf("warp %d, event %d: site %d became %+v", info.Warp, e, w1.Site[e], s)
			}
		}
	}
}

func TestConvertSaysWhatV1CannotHold(t *testing.T) {
	h := v2TestHeader(8)
	h.WaveSize, h.Arch, h.Producer, h.Launch = 64, "gfx942", "prlx", 3
	w := &Warp{}
	w.reset(WarpInfo{Warp: 2, Before: 1, Dropped: 1, HasRolling: true}, 4)
	for i := range 4 {
		w.Kind[i], w.Active[i], w.Type[i], w.Value[i] = site.Load, 1<<40|1, TypeI64, 1<<33
		w.Taken[i] = 1
	}
	w.Active[0], w.Value[1], w.Kind[2], w.Taken[3] = 1, 5, site.Branch, 0
	w.Snapshots = []Snapshot{{Site: 1, Event: 2, Active: 1<<50 | 1, Compare: 40, Lhs: make([]uint64, 64), Rhs: make([]uint64, 64)}}
	w.Snapshots[0].Lhs[0] = 1 << 35
	sites := someSites(2)
	sites[0].ID = 0
	raw := writeV2(t, h, sites, []*Warp{w}, never)
	back, report := converted(t, openV2Bytes(t, raw), 1, ConvertOptions{EventsPerWarp: 3})
	want := []convertLoss{
		{"the index of the launch", 1},
		{"the name of the architecture", 1},
		{"the producer", 1},
		{"events beyond the capacity of their warp", 1},
		{"events whose mask was cut to 32 lanes", 2},
		{"events whose value was cut to 32 bits", 2},
		{"events whose taken lanes were left out", 3},
		{"events whose value lost its type", 4},
		{"events of kinds that readers of v1 do not know", 2},
		{"operands of lanes above 32", 2},
		{"operands that were cut to 32 bits", 1},
		{"rolling hashes of warps", 1},
		{"places of the events that are lost", 1},
	}
	if d := cmp.Diff(want, report.Lost); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	to := openV2Bytes(t, back)
	if to.Header().WaveSize != 64 || to.Header().EventsPerWarp != 3 {
		t.Errorf("got %d lanes, %d events per warp", to.Header().WaveSize, to.Header().EventsPerWarp)
	}
	var got Warp
	if err := to.ReadWarp(context.Background(), 2, &got); err != nil {
		t.Fatal(err)
	}
	if got.Len() != 3 || got.Dropped != 2 || got.Total != 5 || got.Value[1] != 5 || len(got.Snapshots) != 1 {
		t.Errorf("got %+v", got)
	}
	if id := report.Sites.At(0).ID; id == 0 || got.Site[0] != id || id != v1ID("rows.cu:_Z4rowsPf:1:3:0") {
		t.Errorf("site 0 got the id %#x, its event has %#x", id, got.Site[0])
	}
}

func TestConvertToTheSameVersionKeepsEverything(t *testing.T) {
	raw, _ := smallV2(t)
	from := openV2Bytes(t, raw)
	again, report := converted(t, from, 2, ConvertOptions{Level: 19})
	if len(report.Lost) > 0 || report.Warps != 4 || report.Events != 16 {
		t.Errorf("got %+v", report)
	}
	sameWarps(t, "v2 to v2", from, openV2Bytes(t, again))
}

// What a cut recording lost would look like what the kernel never did: comparing the copy would find differences, or none, that are not
// there.
func TestConvertMakesNoWholeRecordingOfOneThatWasCut(t *testing.T) {
	v2, _ := smallV2(t)
	h := v1TestHeader(10, 9)
	h.HistoryDepth = 4
	v1 := writeV1(t, h, false, someWarps(rand.New(rand.NewPCG(1, 2)), 10, 9))
	for name, raw := range map[string][]byte{"v2": v2[:len(v2)-40], "v1": v1[:len(v1)-8]} {
		for version := 1; version <= 2; version++ {
			var out bytes.Buffer
			if _, err := Convert(nil, openV2Bytes(t, raw), &out, version, ConvertOptions{}); !fault.Is(err, fault.Format) || out.Len() > 0 {
				t.Errorf("%s to v%d: got %v and %d bytes", name, version, err, out.Len())
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	if _, err := Convert(nil, openV2Bytes(t, writeV2(t, v2TestHeader(3), nil, nil, never)), &bytes.Buffer{}, 3, ConvertOptions{}); !fault.Is(err, fault.Usage) {
		t.Errorf("version 3: got %v", err)
	}
	h := v2TestHeader(1 << 31)
	h.EventsPerWarp = 4096
	if _, err := Convert(nil, openV2Bytes(t, writeV2(t, h, nil, nil, never)), &bytes.Buffer{}, 1, ConvertOptions{}); !fault.Is(err, fault.Limit) {
		t.Errorf("a file of 140 TB: got %v", err)
	}
}

// cancellingWriter cancels a job as soon as something is written.
type cancellingWriter struct{ cancel context.CancelFunc }

func (w cancellingWriter) Write(p []byte) (int, error) {
	w.cancel()
	return len(p), nil
}

// TestConvertEndsWhenItsJobIsCancelled asks for the end in the middle: what is not over must not be taken for a finished conversion.
func TestConvertEndsWhenItsJobIsCancelled(t *testing.T) {
	for _, version := range []int{1, 2} {
		from := openV2Bytes(t, writeV1(t, v1TestHeader(10, 9), false, someWarps(rand.New(rand.NewPCG(1, 2)), 10, 9)))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, err := Convert(job.New(ctx, job.Options{}), from, cancellingWriter{cancel}, version, ConvertOptions{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("to v%d: got %v, want the cancellation", version, err)
		}
	}
}

// v1ID is the FNV-1a-32 of a text, of which ids in format v1 are made.
func v1ID(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}
