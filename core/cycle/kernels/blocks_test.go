package kernels

import (
	"strings"
	"testing"
)

func TestThreadBlocksAreRead(t *testing.T) {
	text := `{"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"stream": 7}},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 3, "dur": 1, "args": {"grid": [132, 2, 1]}},
{"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"grid": "[64,1,1]"}},
{"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "tid": 7, "ts": 7, "dur": 1, "args": {"grid": [4294967295, 4294967295, 4294967295]}},
{"ph": "X", "cat": "kernel", "name": "e", "pid": 0, "tid": 7, "ts": 9, "dur": 1, "args": {"grid": [1, -2]}},
{"ph": "X", "cat": "kernel", "name": "f", "pid": 0, "tid": 7, "ts": 11, "dur": 1, "args": {"grid": [1, 2, 3, 4]}},
{"ph": "X", "cat": "kernel", "name": "g", "pid": 0, "tid": 7, "ts": 13, "dur": 1, "args": {"grid": []}},
{"ph": "X", "cat": "kernel", "name": "h", "pid": 0, "tid": 7, "ts": 15, "dur": 1}
]}`
	tr, err := fromBytes("a.json", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{0, 264, 64, 4294967295, 0, 0, 0, 0} {
		if got := tr.Sequences[0].Blocks[i]; got != want {
			t.Errorf("kernel %s has %d blocks, not %d", tr.Names[tr.Sequences[0].Name[i]], got, want)
		}
	}
	plain, err := fromBytes("b.json", []byte(`[{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1, "dur": 1}]`), Options{})
	if err != nil || plain.Sequences[0].Blocks != nil {
		t.Errorf("%v, blocks of a trace that names none", err)
	}
}

// TestNegativeDurationsAreSaid holds that a kernel that ends before it starts is taken as 0 ns long, and that a warning says so.
func TestNegativeDurationsAreSaid(t *testing.T) {
	tr, err := fromBytes("a.json", []byte(`[{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1, "dur": -5},
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 9, "dur": 2}]`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tr.Losses.Negative != 1 || tr.Sequences[0].DurNS(0) != 0 || len(tr.Warnings) != 1 || !strings.Contains(tr.Warnings[0], "negative") {
		t.Errorf("%+v, %v", tr.Losses, tr.Warnings)
	}
}
