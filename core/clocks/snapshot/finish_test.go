package snapshot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/snapshot"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/testing/snapshottest"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

func recording(n int) *clockfile.Snapshots {
	rank := 3
	r := &clockfile.Snapshots{
		TracerClock: "CLOCK_MONOTONIC_RAW", SamplingPeriodNS: 4e9, Host: `a "host"`, Rank: &rank,
		Counters: clockfile.SnapshotCounters{Stated: true, Taken: int64(n), Missed: 1, Dropped: 2, Wide: 3, Failed: 4},
		System: []clockfile.SystemClock{
			{SysNS: 1_760_000_000_000_000_001, Synchronized: true, MaxErrorNS: 250_000, EstErrorNS: 9, DriftPPB: -1234, Source: "adjtimex"},
			{SysNS: 1_760_000_009_000_000_001, MaxErrorNS: 16_000_000_000, Source: "chrony", GrowthPPB: 2000, Reference: "UTC"},
		},
	}
	for i := range int64(n) {
		r.Pairs = append(r.Pairs, clockfile.SnapshotPair{SysNS: 1_760_000_000_000_000_000 + i*4_000_000_007, TracerNS: 3_000_000_000 + i*4_000_000_000, BracketNS: 40 + i%7})
	}
	return r
}

func read(t *testing.T, path string) *clockfile.Snapshots {
	t.Helper()
	src, err := file.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f, err := clockfile.Read(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	if f.Kind != clockfile.KindSnapshots || f.Skipped > 0 {
		t.Fatalf("%s: read as %s, %d lines skipped: %q", filepath.Base(path), f.Kind, f.Skipped, f.Warnings)
	}
	return f.Snapshots
}

// same compares what a reader found with what was recorded.
func same(t *testing.T, what string, got, want *clockfile.Snapshots) {
	t.Helper()
	if !slices.Equal(got.Pairs, want.Pairs) || !slices.Equal(got.System, want.System) || got.Counters != want.Counters ||
		got.TracerClock != want.TracerClock || got.SamplingPeriodNS != want.SamplingPeriodNS {
		t.Errorf("%s: read %+v\nwrote %+v", what, got, want)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for _, n := range []int{1, 2, 500, 2000} {
		want := recording(n)
		lines, message := journal(t, want), filepath.Join(t.TempDir(), "snapshot_pairs.pb")
		same(t, "lines", read(t, lines), want)
		f, err := snapshot.Finish(context.Background(), lines, message, false)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "message", read(t, message), want)
		if b, err := os.ReadFile(message); err != nil || format.Of(b) != format.PairsMessage {
			t.Errorf("%d pairs: the message looks like %s (%v)", n, format.Of(b), err)
		}
		same(t, "finished lines", read(t, f.Path), want)
		if large := n == 2000; strings.HasSuffix(f.Path, "pairs.jsonl.zst") != large {
			t.Errorf("%d pairs: the file is called %s", n, filepath.Base(f.Path))
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(f.Path), "*")); len(left) != 1 {
			t.Errorf("%d pairs: beside the finished file lie %q", n, left)
		}
	}
}

// journal writes a recording as the sampler does.
func journal(t *testing.T, r *clockfile.Snapshots) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(path, snapshottest.Lines(r), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAJournalThatIsCutAnywhereGivesWhatWasWhole: a recorder that was killed leaves everything but the line that it was writing.
func TestAJournalThatIsCutAnywhereGivesWhatWasWhole(t *testing.T) {
	want := recording(5)
	whole, err := os.ReadFile(journal(t, want))
	if err != nil {
		t.Fatal(err)
	}
	head := bytes.IndexByte(whole, '\n') + 1
	path := filepath.Join(t.TempDir(), "cut.jsonl")
	for cut := head; cut <= len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		got := read(t, path)
		n := bytes.Count(whole[:cut], []byte("sys_clock_ns")) - bytes.Count(whole[:cut], []byte("system_clock"))
		lines := bytes.Count(whole[:cut], []byte("\n")) - 1 - len(want.System)
		if complete := max(0, min(lines, len(want.Pairs))); len(got.Pairs) < complete || len(got.Pairs) > max(n, 0) {
			t.Fatalf("cut at %d: %d pairs, %d lines are whole", cut, len(got.Pairs), complete)
		}
		for i, p := range got.Pairs {
			if p.SysNS != want.Pairs[i].SysNS || p.TracerNS != want.Pairs[i].TracerNS {
				t.Fatalf("cut at %d: pair %d is %+v", cut, i, p)
			}
		}
	}
}

func TestThePlaneIsReadBackWithTheNameOfItsClock(t *testing.T) {
	for _, zero := range []int64{0, 1_759_999_999_000_000_000} {
		want := recording(300)
		src, err := file.FromBytes("t.xplane.pb", snapshottest.Plane(want, zero))
		if err != nil {
			t.Fatal(err)
		}
		s, err := xspace.Scan(context.Background(), src, xspace.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s.SnapshotsClock != "CLOCK_MONOTONIC_RAW" || s.SnapshotsLost != 0 || len(s.Snapshots) != 300 || len(s.Findings) > 0 {
			t.Fatalf("read %d snapshots of %q, %d lost, %q", len(s.Snapshots), s.SnapshotsClock, s.SnapshotsLost, s.Findings)
		}
		for i, p := range s.Snapshots {
			if p.X != want.Pairs[i].TracerNS || p.Y+zero != want.Pairs[i].SysNS {
				t.Fatalf("pair %d: read %+v, wrote %+v", i, p, want.Pairs[i])
			}
		}
	}
}

func TestReadingsAreAttachedToAChromeTrace(t *testing.T) {
	want := recording(3)
	pairs := journal(t, want)
	for name, trace := range map[string]string{
		"as Kineto ends": "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n  {\"ph\": \"X\", \"name\": \"}\", \"ts\": 5}\n  ],\n  \"traceName\": \"x.json\"\n}\n",
		"no members":     "{}", "no space": `{"traceEvents":[]}`,
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "in.json")
		if err := os.WriteFile(in, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, ending := range []string{".json", ".json.gz"} {
			out := filepath.Join(dir, "out"+ending)
			if _, err := snapshot.Attach(context.Background(), in, pairs, out, "", false); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			src, err := file.Open(context.Background(), out)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, src.Size())
			src.ReadAt(b, 0)
			src.Close()
			var doc map[string]json.RawMessage
			if err := json.Unmarshal(b, &doc); err != nil {
				t.Fatalf("%s%s: %v\n%s", name, ending, err, b)
			}
			var original map[string]json.RawMessage
			if err := json.Unmarshal([]byte(trace), &original); err != nil {
				t.Fatal(err)
			}
			for key, value := range original {
				if !bytes.Equal(doc[key], value) {
					t.Errorf("%s%s: %s is %s", name, ending, key, doc[key])
				}
			}
			path := filepath.Join(t.TempDir(), "member.json")
			if err := os.WriteFile(path, doc["prlx_snapshots"], 0o644); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); len(got.Pairs) != 3 || got.Pairs[2].TracerNS != want.Pairs[2].TracerNS || got.TracerClock != want.TracerClock {
				t.Errorf("%s%s: the member is read as %+v", name, ending, got)
			}
		}
	}
	info := `{"backend":"gloo","rank":1,"world_size":4}`
	for trace, want := range map[string]string{`{"traceEvents":[]}`: info, `{"distributedInfo": {"rank": 7}, "traceEvents":[]}`: `{"rank": 7}`} {
		in, out := filepath.Join(t.TempDir(), "in.json"), filepath.Join(t.TempDir(), "out.json")
		if err := os.WriteFile(in, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := snapshot.Attach(context.Background(), in, pairs, out, info, false); err != nil {
			t.Fatal(err)
		}
		var doc map[string]json.RawMessage
		if b, _ := os.ReadFile(out); json.Unmarshal(b, &doc) != nil || string(doc["distributedInfo"]) != want {
			t.Errorf("%s: distributedInfo is %s", trace, doc["distributedInfo"])
		}
	}
	for name, trace := range map[string]string{"a list": `[{"ph":"X"}]`, "cut": `{"traceEvents": [{"ph"`, "empty": "", "a number": "7}"} {
		in := filepath.Join(t.TempDir(), "in.json")
		if err := os.WriteFile(in, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.json")
		if _, err := snapshot.Attach(context.Background(), in, pairs, out, "", false); err == nil {
			t.Errorf("%s: readings are attached to %q", name, trace)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: there is an output", name)
		}
	}
}

func TestAFinishedFileSaysWhatItHolds(t *testing.T) {
	want := recording(500)
	path := filepath.Join(t.TempDir(), "snapshot_pairs.pb")
	f, err := snapshot.Finish(context.Background(), journal(t, want), path, false)
	if err != nil {
		t.Fatal(err)
	}
	if f.Pairs != 500 || f.BracketP99NS != 46 || !f.Complete || f.Counters != (snapshot.Counters{Taken: 500, Missed: 1, Dropped: 2, Wide: 3, Failed: 4}) || f.Synchronized || f.Clock != "CLOCK_MONOTONIC_RAW" {
		t.Errorf("got %+v", f)
	}
	same(t, "message", read(t, path), want)
	if _, err := snapshot.Finish(context.Background(), f.Path, path, false); err == nil {
		t.Error("a message that was there is replaced")
	}
}

// FuzzAttach puts readings into anything: the output is JSON where the input was an object, and everything else is an error without an output.
func FuzzAttach(f *testing.F) {
	for _, seed := range []string{"{}", "{\"traceEvents\":[]}", "{\n} \n", "[]", "", "{\"a\":\"}\"}", "{\"distributedInfo\":{}}\n", "{\"a\":1", "  {  }  "} {
		f.Add([]byte(seed))
	}
	pairs := filepath.Join(f.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(pairs, snapshottest.Lines(recording(2)), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, trace []byte) {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json")
		if err := os.WriteFile(in, trace, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := snapshot.Attach(context.Background(), in, pairs, out, `{"rank":1}`, false)
		b, missing := os.ReadFile(out)
		if err != nil {
			if missing == nil || fault.Of(err).Kind == fault.Internal {
				t.Fatalf("%v, and an output: %v", err, missing == nil)
			}
			return
		}
		if json.Valid(trace) && trace[0] != 0x1f && !json.Valid(b) {
			t.Fatalf("%q became %q", trace, b)
		}
	})
}
