package diff

import (
	"bytes"
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// asV1 converts a recording to format v1, with the site map that goes with it.
func asV1(t *testing.T, from *warptrace.Trace) *warptrace.Trace {
	t.Helper()
	var out bytes.Buffer
	report, err := warptrace.Convert(nil, from, &out, 1, warptrace.ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := file.FromBytes("converted.prlx", out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { trace.Close() })
	trace.SetSites(report.Sites)
	return trace
}

// TestARecordingEqualsItsConversion compares v2 with v1 of the same events, where several sites of v2 share an id of v1.
func TestARecordingEqualsItsConversion(t *testing.T) {
	merged := 0
	for seed := range uint64(8) {
		p := warptracetest.NewProgram(warptracetest.Config{Seed: seed})
		v2 := p.Run(warptracetest.Launch{Warps: 6, WarpsPerBlock: 2, Wave: 32, Data: seed, Run: 1}).OpenV2(t, "v2")
		v1 := asV1(t, v2)
		ids := map[uint32]bool{}
		for i := range v1.Sites().Len() {
			ids[v1.Sites().At(i).ID] = true
		}
		if len(ids) < v2.Sites().Len() {
			merged++
		}
		for _, pair := range [][2]*warptrace.Trace{{v2, v1}, {v1, v2}, {v1, v1}} {
			r, err := Compare(job.New(context.Background(), job.Options{}), pair[0], pair[1], Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Rows) > 0 {
				t.Errorf("seed %d: %s and %s have %d divergences, the first %+v", seed, pair[0].Path(), pair[1].Path(), len(r.Rows), r.Rows[0])
			}
		}
	}
	if merged == 0 {
		t.Error("no program had sites that share an id: the test shows nothing")
	}
}

// TestAFileOfWhichNothingIsLeftIsNotTheSame cuts a recording before its first warp.
func TestAFileOfWhichNothingIsLeftIsNotTheSame(t *testing.T) {
	p := warptracetest.NewProgram(warptracetest.Config{Seed: 3})
	recording := p.Run(warptracetest.Launch{Warps: 4, WarpsPerBlock: 2, Wave: 32, Data: 1, Run: 1})
	whole, err := recording.V2Bytes()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := 64; n < len(whole); n += 97 {
		src, err := file.FromBytes("cut.prlx", whole[:n])
		if err != nil {
			t.Fatal(err)
		}
		cut, err := warptrace.Open(context.Background(), src)
		if err != nil {
			continue
		}
		r, err := Compare(job.New(context.Background(), job.Options{}), recording.OpenV2(t, "whole"), cut, Options{})
		switch {
		case fault.Is(err, fault.Incompatible):
			refused++
		case err != nil:
			t.Fatal(err)
		case r.LossesB.Truncated && r.Stats.WarpsB == 0:
			t.Fatalf("cut to %d bytes, nothing was left to compare, and it was compared", n)
		}
		cut.Close()
	}
	if refused == 0 {
		t.Error("no cut left a readable file without warps")
	}
}
