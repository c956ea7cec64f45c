package simulation

import (
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// TestWhatARecorderLooksAtDecidesNothing: values that it writes down go nowhere in the kernel.
func TestWhatARecorderLooksAtDecidesNothing(t *testing.T) {
	at := []site.Frame{{File: "k.py", Line: 7}}
	f := &simt.Fidelity{
		Approximated: []execute.Approximated{{Text: "ex2.approx.f32", Count: 3}},
		Decides: []execute.Decision{
			{Use: "branch", Function: "prlx_record_decision", Count: 48, From: []string{"ex2.approx.f32"}},
			{Use: "address", Function: "prlx_record_word", Where: at, Count: 48, From: []string{"ex2.approx.f32"}},
			{Use: "predicate", Function: "k", Where: at, Count: 5, From: []string{"ex2.approx.f32"}},
		},
	}
	if doc := fidelity(f); doc.Exact || len(doc.Decides) != 1 || doc.Decides[0].Use != "predicate" || doc.Decides[0].Line != 7 || doc.More != 0 {
		t.Errorf("got %+v", doc)
	}
}
