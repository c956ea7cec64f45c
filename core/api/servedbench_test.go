package api

import (
	"fmt"
	"testing"
)

// BenchmarkServedLaunch is what a launch of a kernel that does next to nothing costs a program: there over the pipe, run, written down, and back.
func BenchmarkServedLaunch(b *testing.B) {
	c := newClientOf(b, 1<<16, fmt.Sprintf(`{"folder": %q, "options": {"max_findings": 1000}}`, b.TempDir()))
	var loaded simulateLoadDocument
	c.must("simulate_load", map[string]any{"name": "increment.ptx", "ptx": increment, "signatures": true}, &loaded)
	var mapped simulateArraysDocument
	c.must("simulate_arrays", map[string]any{"add": []map[string]any{{"name": "x", "address": clientBase + 512, "bytes": 40}}}, &mapped)
	launch := map[string]any{
		"module": loaded.Module, "kernel": "increment", "grid": [3]int{1, 1, 1}, "block": [3]int{32, 1, 1}, "table": mapped.Table,
		"params": []map[string]any{{"name": "p", "type": "u64", "bits": clientBase + 512, "allocation": -2}, {"name": "n", "type": "u32", "bits": 10, "allocation": -2}},
	}
	for b.Loop() {
		if reply := c.ask("simulate_launch", launch); reply[0] != replyDocument {
			b.Fatal(string(reply[1:]))
		}
	}
}
