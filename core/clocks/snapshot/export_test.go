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
	"time"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/snapshot"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

func recording(n int) *snapshot.Recording {
	r := &snapshot.Recording{
		Tracer: snapshot.Clock{Name: "CLOCK_MONOTONIC_RAW", TicksPerSecond: 7}, Period: 4 * time.Second,
		Counters: snapshot.Counters{Taken: int64(n), Missed: 1, Dropped: 2, Wide: 3, Failed: 4},
		Discipline: []snapshot.Discipline{
			{SysNS: 1_760_000_000_000_000_001, Synchronized: true, MaxErrorNS: 250_000, EstErrorNS: 9, DriftPPB: -1234, Source: "adjtimex"},
			{SysNS: 1_760_000_009_000_000_001, MaxErrorNS: 16_000_000_000, Source: "adjtimex"},
		},
	}
	for i := range int64(n) {
		r.Pairs = append(r.Pairs, snapshot.Pair{SysNS: 1_760_000_000_000_000_000 + i*4_000_000_007, TracerNS: 3_000_000_000 + i*4_000_000_000, WidthNS: 40 + i%7})
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
func same(t *testing.T, what string, got *clockfile.Snapshots, want *snapshot.Recording) {
	t.Helper()
	pairs := make([]clockfile.SnapshotPair, len(want.Pairs))
	for i, p := range want.Pairs {
		pairs[i] = clockfile.SnapshotPair{SysNS: p.SysNS, TracerNS: p.TracerNS, BracketNS: p.WidthNS}
	}
	system := make([]clockfile.SystemClock, len(want.Discipline))
	for i, d := range want.Discipline {
		system[i] = clockfile.SystemClock(d)
	}
	c := want.Counters
	counters := clockfile.SnapshotCounters{Stated: true, Taken: c.Taken, Missed: c.Missed, Dropped: c.Dropped, Wide: c.Wide, Failed: c.Failed, Unstored: c.Unstored}
	if !slices.Equal(got.Pairs, pairs) || !slices.Equal(got.System, system) || got.Counters != counters ||
		got.TracerClock != want.Tracer.Name || got.SamplingPeriodNS != int64(want.Period) {
		t.Errorf("%s: read %+v\nwrote %+v", what, got, want)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for _, n := range []int{1, 2, 500} {
		want := recording(n)
		path := filepath.Join(t.TempDir(), "snapshot_pairs.pb")
		if err := os.WriteFile(path, want.Message(), 0o644); err != nil {
			t.Fatal(err)
		}
		same(t, "message", read(t, path), want)
		if k := format.Of(want.Message()); k != format.PairsMessage {
			t.Errorf("%d pairs: the message looks like %s", n, k)
		}
		path = journal(t, want)
		same(t, "lines", read(t, path), want)
		if strings.HasSuffix(path, ".zst") {
			t.Errorf("%d pairs: the file is called %s", n, filepath.Base(path))
		}
	}
	want := recording(2000)
	path := journal(t, want)
	if !strings.HasSuffix(path, "pairs.jsonl.zst") {
		t.Errorf("a file of more than 64 KiB is called %s", filepath.Base(path))
	}
	same(t, "compressed lines", read(t, path), want)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("beside the compressed file lie %q", left)
	}
}

// journal writes a recording as a sampler does.
func journal(t *testing.T, r *snapshot.Recording) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	j, err := snapshot.NewJournal(path, snapshot.Header{Tracer: r.Tracer, PeriodNS: int64(r.Period), Host: `a "host"`, Rank: 3, PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Discipline {
		if err := j.Discipline(d); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range r.Pairs {
		if err := j.Pair(p); err != nil {
			t.Fatal(err)
		}
	}
	to, err := j.Finish(r.Counters)
	if err != nil {
		t.Fatal(err)
	}
	return to
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
		lines := bytes.Count(whole[:cut], []byte("\n")) - 1 - len(want.Discipline)
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

func TestAJournalReplacesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.NewJournal(path, snapshot.Header{Rank: -1}); err == nil {
		t.Error("a file that was there is written over")
	}
}

func TestThePlaneIsReadBackWithTheNameOfItsClock(t *testing.T) {
	for _, zero := range []int64{0, 1_759_999_999_000_000_000} {
		want := recording(300)
		src, err := file.FromBytes("t.xplane.pb", want.Plane(zero))
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
			if err := os.WriteFile(path, doc[snapshot.MemberName], 0o644); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); len(got.Pairs) != 3 || got.Pairs[2].TracerNS != want.Pairs[2].TracerNS || got.TracerClock != want.Tracer.Name {
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
	if f.Pairs != 500 || f.BracketP99NS != 46 || !f.Complete || f.Counters != want.Counters || f.Synchronized || f.Clock != "CLOCK_MONOTONIC_RAW" {
		t.Errorf("got %+v", f)
	}
	want.Tracer.TicksPerSecond = 0 // is not kept
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
	r := recording(2)
	line := snapshot.AppendHeader(nil, snapshot.Header{Tracer: r.Tracer, Rank: -1})
	for _, p := range r.Pairs {
		line = snapshot.AppendPair(line, p)
	}
	if err := os.WriteFile(pairs, line, 0o644); err != nil {
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
