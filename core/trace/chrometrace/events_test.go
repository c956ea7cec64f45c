package chrometrace

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/chrometracetest"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

func TestEventsReadsWhatCollectivesNeed(t *testing.T) {
	src, err := file.Open(context.Background(), filetest.Data(t, "kineto/facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	tr := mustScan(t, src, ScanOptions{})
	kernels, calls := 0, 0 // record_param_comms and the kernels behind it
	err = Events(context.Background(), src, tr, func(ph byte, cat, name []byte) bool {
		return ph == 'X' && (string(cat) == "kernel" && strings.HasPrefix(string(name), "nccl") || string(name) == "record_param_comms")
	}, func(e *Event) error {
		ranks, ok := e.Arg("Process Group Ranks")
		if string(e.Name) == "record_param_comms" {
			calls++
			n, has := e.ArgInt("In msg nelems")
			if kind, _ := e.Arg("Collective name"); len(kind) == 0 || !ok || (string(ranks) != "[0, 1]" && string(kind) != "wait") || !has || n < 0 || e.Process.Labels != "CPU" {
				t.Fatalf("call of %q among %q, %d elements", kind, ranks, n)
			}
			return nil
		}
		kernels++
		if stream, ok := e.ArgInt("stream"); !ok || stream < 0 || !e.Timed || e.DurationPS <= 0 || e.Process.Device != 0 || e.Process.Threads[e.Thread].TID != string(e.TID) {
			t.Fatalf("kernel %s on %+v stream %d lasts %d ps", e.Name, e.Process, stream, e.DurationPS)
		}
		return nil
	})
	if err != nil || kernels == 0 || calls == 0 {
		t.Fatalf("%d kernels and %d calls: %v", kernels, calls, err)
	}
	listed := 0
	err = collectiveKernels(context.Background(), src, tr, func(e *Event) error {
		listed++
		if string(e.Cat) != "kernel" || !strings.HasPrefix(string(e.Name), "nccl") || !e.Timed {
			t.Fatalf("listed: %s of %s", e.Name, e.Cat)
		}
		return nil
	})
	if err != nil || listed != kernels || tr.CollectivesOmitted != 0 {
		t.Fatalf("the scan lists %d kernels of collectives, want %d: %v", listed, kernels, err)
	}
}

func TestEventsAgreesWithEncodingJSON(t *testing.T) {
	doc, _ := chrometracetest.Generate(chrometracetest.Options{Bytes: 200_000, DriftPPB: 70_000})
	tw, _ := readTwin(doc)
	src := bytesSource(t, doc)
	tr := mustScan(t, src, ScanOptions{ChunkBytes: 5000})
	i := 0
	err := Events(context.Background(), src, tr, nil, func(e *Event) error {
		want := tw.events[i]
		i++
		if string(e.Name) != tw.text(want["name"]) || e.Process.PID != string(want["pid"]) || string(e.TID) != string(want["tid"]) || string(e.Phase) != tw.text(want["ph"]) {
			t.Fatalf("event %d: %s on %s of %s", i, e.Name, e.TID, e.Process.PID)
		}
		us, ps, _ := twinStamp(t, string(want["ts"]))
		if got := (e.Start.NS-tr.BaseNS)*1000 + int64(e.Start.PS); got != us*1_000_000+int64(ps) {
			t.Fatalf("event %d: starts %d ps behind the base, want ts %s", i, got, want["ts"])
		}
		var args map[string]json.RawMessage
		json.Unmarshal(want["args"], &args)
		seen := 0
		e.args(func(key, value []byte) bool {
			seen++
			if w := tw.text(args[string(key)]); w != string(value) {
				t.Fatalf("event %d: %s is %s, want %s", i, key, value, w)
			}
			return true
		})
		if seen != len(args) {
			t.Fatalf("event %d: %d args, want %d", i, seen, len(args))
		}
		return nil
	})
	if err != nil || i != len(tw.events) {
		t.Fatalf("%d events, want %d: %v", i, len(tw.events), err)
	}
}

func TestEventsStopsWhenAskedOrCancelled(t *testing.T) {
	src := bytesSource(t, []byte(`[{"a":1},{"a":2}]`))
	tr := mustScan(t, src, ScanOptions{})
	stop := errors.New("enough")
	if err := Events(context.Background(), src, tr, nil, func(*Event) error { return stop }); err != stop {
		t.Fatalf("got %v, want the visitor's own error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Events(ctx, src, tr, nil, func(*Event) error { return nil }); !fault.Is(err, fault.Cancelled) {
		t.Fatalf("got %v, want cancelled", err)
	}
	if _, err := Scan(ctx, src, ScanOptions{}); !fault.Is(err, fault.Cancelled) {
		t.Fatalf("got %v, want cancelled", err)
	}
}
