package combine

import (
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// TestLengthsThatOutgrowTheirPlaceAreWrittenAgain: with a stat an event, planes grow past 2 MiB and need one more byte of length
// than the input has room for, after much of them was written. One worker then starts over; several measure first. The bytes
// are the same, and events are counted once.
func TestLengthsThatOutgrowTheirPlaceAreWrittenAgain(t *testing.T) {
	_, inputs, offsets := recorded(t, xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 55_000, Seed: 11})
	var docs []*Document
	for _, workers := range []int{1, 6} {
		out := filepath.Join(t.TempDir(), "out")
		docs = append(docs, combined(t, workers, Request{Inputs: inputs, Offsets: offsets, Output: out, Format: FormatRun, CorrectionStat: true}))
	}
	for k := range inputs {
		one, six := docs[0].Outputs[k], docs[1].Outputs[k]
		if one.SHA256 != six.SHA256 || one.Bytes != six.Bytes {
			t.Errorf("%s: %d bytes with one worker, %d with six, or others", one.Path, one.Bytes, six.Bytes)
		}
		if one.Bytes < 2<<20 {
			t.Errorf("%s has %d bytes: the test does not reach 2 MiB", one.Path, one.Bytes)
		}
		if a, b := docs[0].Nodes[k].Events, docs[1].Nodes[k].Events; a != b || a < 55_000 {
			t.Errorf("%s: %d events with one worker, %d with six", one.Path, a, b)
		}
	}
}
