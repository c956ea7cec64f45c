package repeat_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
)

// golden is what is known of the recordings: kernels of one iteration, or of one layer of those that hold one step, on the busiest
// stream, and how many there are.
var golden = []struct {
	file               string
	period, iterations int
}{
	{"kineto/facebookresearch+HolisticTraceAnalysis__control.json.gz", 1383, 6},
	{"kineto/facebookresearch+HolisticTraceAnalysis__test.json.gz", 1510, 6},
	{"kineto/facebookresearch+HolisticTraceAnalysis__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 870, 5},
	{"kineto/facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz", 893, 3},
	{"kineto/pytorch+kineto__worker0.1623143566756.pt.trace.json.gz", 1462, 6},
	{"kineto/AMD-AGI+TraceLens__b200__eager_trace.json.gz", 42, 18},
	{"kineto/AMD-AGI+TraceLens__h100__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 42, 34},
	{"kineto/AMD-AGI+TraceLens__mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 43, 34},
	{"kineto/AMD-AGI+TraceLens__sglang_Qwen3-8B_prefilldecode.json.gz", 14, 36},
	{"kineto/AMD-AGI+TraceLens__vllm_decode_full__graph_execution.json.gz", 35, 11},
}

type kernel struct {
	start  chrometrace.Instant
	symbol uint32
	dur    int64
}

// busiest reads the kernels of the stream with the most of them.
func busiest(t *testing.T, path string) []kernel {
	t.Helper()
	ctx := context.Background()
	src, err := file.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	tr, err := chrometrace.Scan(ctx, src, chrometrace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]uint32{}
	streams := map[string][]kernel{}
	err = chrometrace.Events(ctx, src, tr, func(phase byte, cat, _ []byte) bool {
		return phase == 'X' && strings.EqualFold(string(cat), "kernel")
	}, func(e *chrometrace.Event) error {
		id, ok := names[string(e.Name)]
		if !ok {
			id = uint32(len(names))
			names[string(e.Name)] = id
		}
		stream := string(e.TID)
		if e.Process != nil {
			stream = e.Process.PID + " " + stream
		}
		streams[stream] = append(streams[stream], kernel{e.Start, id, e.DurationPS / 1000})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var best []kernel
	for _, k := range streams {
		if len(k) > len(best) {
			best = k
		}
	}
	slices.SortStableFunc(best, func(a, b kernel) int {
		return cmp.Or(cmp.Compare(a.start.NS, b.start.NS), cmp.Compare(a.start.PS, b.start.PS))
	})
	return best
}

func TestRealRecordings(t *testing.T) {
	for _, g := range golden {
		k := busiest(t, filetest.Data(t, g.file))
		symbols, gaps := make([]uint32, len(k)), make([]int64, len(k))
		for i, x := range k {
			symbols[i] = x.symbol
			if i > 0 {
				gaps[i] = max(0, x.start.NS-k[i-1].start.NS-k[i-1].dur)
			}
		}
		st := repeat.Find(symbols, repeat.Options{Weight: func(i int) int64 { return gaps[i] }})
		check(t, symbols, st)
		found, edited := -1, 0
		for _, l := range st.Levels {
			for _, c := range l.Classes {
				if c.Period == g.period {
					found, edited = len(c.Repetitions), c.Edited
				}
			}
		}
		t.Logf("%s: %d kernels: truth %d x %d, found x %d, %d of them edited", g.file, len(symbols), g.period, g.iterations, found, edited)
		if found < g.iterations-1 || found-edited > g.iterations { // one partial first or last
			t.Errorf("%s: truth %d x %d%s", g.file, g.period, g.iterations, describe(st))
		}
	}
}
