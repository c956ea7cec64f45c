package ncclrecording

import (
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/nccl/tracks"
	"github.com/prlx-go/prlx/core/testing/nccltest"
	"github.com/prlx-go/prlx/core/trace/source"
)

const wall = int64(1_795_000_000_000_000_000)

// recording is one rank with n AllReduces.
func recording(n int) []byte { return recordingOf(n).Bytes() }

// smallRecording has a few kB.
func smallRecording(n int) []byte {
	f := recordingOf(n)
	f.Small = true
	return f.Bytes()
}

func recordingOf(n int) *nccltest.File {
	f := nccltest.NewFile("node0", 500)
	f.Level, f.WallNS, f.Ended = 1, wall, true
	at := int64(1_000_000_000)
	comm := f.Comm(77, "world", 2, 2, 0, at)
	t := f.Thread()
	for i := range n {
		at += 1_000_000
		group := t.GroupAPI(at, comm)
		api := t.API(at+1000, comm, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: 1024, Stream: 5})
		t.Stop(at+2000, api)
		launch := t.Launch(at+3000, comm, group, 5)
		t.Stop(at+5000, launch)
		op := t.Coll(at+6000, comm, api, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Sequence: uint64(i), Count: 1024, Channels: 1})
		t.Stop(at+7000, op)
		t.Stop(at+8000, group)
		kernel := t.Kernel(at+20_000, comm, op, 0, wall+at+10_000)
		t.KernelStop(at+120_000, kernel, wall+at+110_000)
	}
	f.Heartbeat = at + 1_000_000
	return f
}

func scanned(t testing.TB, b []byte) (*file.Source, source.Trace, error) {
	src, err := file.FromBytes("a.prlx-nccl", b)
	if err != nil {
		return nil, nil, err // bytes that begin like gzip and are not
	}
	trace, err := Format.Scan(t.Context(), src, source.ScanOptions{})
	return src, trace, err
}

func TestARecordingIsATrace(t *testing.T) {
	b := recording(10)
	if !Format.Claims(b[:64]) || Format.Claims([]byte("PRLX")) {
		t.Error("the format is told by other bytes")
	}
	src, trace, err := scanned(t, b)
	if err != nil {
		t.Fatal(err)
	}
	f := trace.Facts()
	if f.Events != 50 || f.Hosts[0] != "node0" || f.StartNS != wall+1_001_000_000 || f.Counts["cat nccl_kernel"] != 10 || !f.Dated {
		t.Errorf("%+v", f)
	}
	layout := trace.Layout()
	if len(layout) != 1 || layout[0].Name != "NCCL rank 0 (node0, pid 500)" || len(layout[0].Lines) != 3 {
		t.Fatalf("%+v", layout)
	}
	by, err := trace.(source.ByLine).Open(t.Context(), src, layout[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := int64(0)
	for _, l := range layout[0].Lines {
		first, last, n := int64(-1), int64(0), int64(0)
		err := by.Line(t.Context(), l, func(e *source.Event) error {
			if first < 0 {
				first = e.OffsetPS
			}
			last = max(last, e.OffsetPS+e.DurationPS)
			n++
			args := string(e.Args.AppendArgs([]byte("{"), 1, nil)) + "}"
			if !json.Valid([]byte(args)) {
				t.Errorf("%s: args %s", e.Name, args)
			}
			if strings.HasPrefix(l.Name, "kernels") && e.Name != "AllReduce #"+string(rune('0'+n-1)) {
				t.Errorf("kernel %d is %s", n, e.Name)
			}
			return nil
		})
		if err != nil || n != l.Events || first != l.MinOffsetPS || last != l.MaxEndPS {
			t.Errorf("%s: %d events from %d to %d, %+v, %v", l.Name, n, first, last, l, err)
		}
		seen += n
	}
	kernels := 0
	err = trace.Visit(t.Context(), src, source.Kernels, 0, func(e *source.Event) error {
		kernels++
		if e.BaseNS+e.OffsetPS/1000 < wall+1_001_000_000+5000 {
			t.Errorf("%s begins before its launch", e.Name)
		}
		return nil
	})
	if seen != 50 || kernels != 10 || err != nil {
		t.Errorf("%d events, %d kernels, %v", seen, kernels, err)
	}
	if len(tracks.Categories) != 7 {
		t.Error("another kind of slice: count it here")
	}
}

// TestASmallRecordingIsThatOfALargeOne: short segments and tables hold the same.
func TestASmallRecordingIsThatOfALargeOne(t *testing.T) {
	facts := func(b []byte) *source.Facts {
		_, trace, err := scanned(t, b)
		if err != nil {
			t.Fatal(err)
		}
		return trace.Facts()
	}
	if small, large := facts(smallRecording(40)), facts(recording(40)); !reflect.DeepEqual(small, large) {
		t.Errorf("small %+v, large %+v", small, large)
	}
}

// TestWhatARecordingSaysOfItsProcess: whose it is, its kernels in order, collectives by numbers that others have too, and that moving it moves all.
func TestWhatARecordingSaysOfItsProcess(t *testing.T) {
	src, trace, err := scanned(t, recording(3))
	if err != nil {
		t.Fatal(err)
	}
	r := trace.(*Recording)
	if p := r.Process(); p.Host != "node0" || p.PID != 500 || p.Rank == nil || *p.Rank != 0 || *r.Facts().Rank != 0 {
		t.Errorf("%+v", p)
	}
	at := func() (starts []int64, ids []int64) {
		if err := r.Executed(t.Context(), src, func(k *source.Execution) {
			if took := k.EndNS - k.StartNS; k.Function != "AllReduce" || took < 99_000 || took > 101_000 {
				t.Errorf("%+v", k)
			}
			starts = append(starts, k.StartNS)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Communication(t.Context(), src, func(c *source.Communication) {
			if c.Collective != "allreduce" || c.GroupSize != 2 || c.Description != "world" || !c.HasID || c.Start.NS != starts[len(ids)] {
				t.Errorf("%+v", c)
			}
			ids = append(ids, c.ID)
		}); err != nil {
			t.Fatal(err)
		}
		return starts, ids
	}
	starts, ids := at()
	if len(starts) != 3 || len(ids) != 3 || ids[0] == ids[1] || ids[1] == ids[2] {
		t.Fatalf("starts %d, ids %d", starts, ids)
	}
	before := *r.Facts()
	r.Move(-7_000)
	moved, again := at()
	for i := range moved {
		if moved[i] != starts[i]-7_000 || again[i] != ids[i] {
			t.Errorf("kernel %d began at %d, then at %d", i, starts[i], moved[i])
		}
	}
	if f := r.Facts(); f.StartNS != before.StartNS-7_000 || f.Last.NS != before.Last.NS-7_000 || r.Layout()[0].Lines[0].TimestampNS != f.StartNS {
		t.Errorf("facts %+v, before %+v", f, before)
	}
}

func FuzzScan(f *testing.F) {
	whole := smallRecording(2)
	if len(whole) > 16<<10 {
		f.Fatalf("%d bytes: a fuzzer would execute few", len(whole))
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("\x1f\x8b\x08\x00 a gzip stream that is cut short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		src, trace, err := scanned(t, b)
		if err == nil {
			defer src.Close()
			err = trace.Visit(t.Context(), src, source.AllEvents, 0, func(*source.Event) error { return nil })
		}
		if one, ok := trace.(*Recording); ok && err == nil {
			last := int64(math.MinInt64)
			err = one.Executed(t.Context(), src, func(k *source.Execution) {
				if k.StartNS < last || k.EndNS < k.StartNS {
					t.Errorf("kernel %+v after %d", k, last)
				}
				last = k.StartNS
			})
			layout := one.Layout()
			if err := one.FlowEnds(t.Context(), src, func(e *source.FlowEnd) { _ = layout[e.Process].Lines[e.Line] }); err != nil {
				t.Error(err)
			}
			if _, err := one.Communication(t.Context(), src, func(*source.Communication) {}); err != nil {
				t.Error(err)
			}
			if err := one.WriteXSpace(t.Context(), src, io.Discard); err != nil {
				t.Error(err)
			}
		}
		if err != nil && fault.Of(err).Kind == fault.Internal {
			t.Fatal(err)
		}
	})
}
