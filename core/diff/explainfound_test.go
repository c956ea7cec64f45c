package diff

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// TestWhatACheckFoundOnOneSideTellsTheStatement: two addresses were changed, and the load comes first. What is beyond its end is the store.
func TestWhatACheckFoundOnOneSideTellsTheStatement(t *testing.T) {
	beyond := func(line uint32, at uint32) []warptrace.Finding {
		return []warptrace.Finding{{Check: "out-of-bounds", Site: at, Function: "k", File: "k.py", Line: line, Count: 3, Message: "stores beyond out"}}
	}
	texts := textsOf("x + i)", "x + 2 * i)", "%r1, 4, %rd1", "%r1, 8, %rd1", "out + i,", "out + 2 * i,", "%r1, 4, %rd2", "%r1, 8, %rd2")
	for name, c := range map[string]struct {
		a, b []warptrace.Finding
		line string
		says bool
	}{
		"nothing was found":  {nil, nil, "k.py:k:12:0", false},
		"in B":               {nil, beyond(14, 4), "k.py:k:14:0", true},
		"in A":               {beyond(14, 4), nil, "k.py:k:14:0", false}, // of A, and the statement is B's
		"in both":            {beyond(14, 4), beyond(14, 4), "k.py:k:12:0", false},
		"where nothing is":   {nil, beyond(13, warptrace.NoSite), "k.py:k:12:0", true}, // it depends on the load
		"before all of them": {nil, beyond(11, warptrace.NoSite), "k.py:k:12:0", false},
	} {
		a, b := storing(1, textsOf()), storing(7, texts)
		a.findings, b.findings = c.a, c.b
		why, _ := whyOf(t, a, b)
		if why == nil || why.Statement == nil || why.Statement.SourceLocation != c.line || why.Class != classIndex || why.Confidence == confidenceStrong {
			t.Errorf("%s: got %+v, statement %+v", name, why, why.Statement)
			continue
		}
		said := "a check found out-of-bounds in B alone"
		if got := strings.Contains(why.Statement.Why, said); got != c.says {
			t.Errorf("%s: the statement says %q", name, why.Statement.Why)
		}
		if got := strings.Contains(strings.Join(why.Considered[0].For, "; "), said); got != c.says {
			t.Errorf("%s: for the class speaks %q", name, why.Considered[0].For)
		}
	}
}

// TestRacesAndStaleMemoryAreEvidenceForTheirClasses: what a check finds is of the kind that its class is about.
func TestRacesAndStaleMemoryAreEvidenceForTheirClasses(t *testing.T) {
	for check, want := range map[string]string{"shared-race": classRace, "uninitialised-shared": classStale, "misaligned": classIndex, "assert": ""} {
		a, b := storing(1, textsOf()), storing(7, textsOf("v * 2.0", "v * v", "add.f32 %r3", "mul.f32 %r3"))
		b.findings = []warptrace.Finding{{Check: check, Site: 4, Function: "k", File: "k.py", Line: 14, Count: 1, Message: "m"}}
		why, r := whyOf(t, a, b)
		if len(r.findings.order) != 1 {
			continue // nobody says that it was looked for
		}
		for i := range why.Considered {
			one := &why.Considered[i]
			if got := strings.Contains(strings.Join(one.For, "; "), "a check found "+check); got != (one.Class == want) {
				t.Errorf("%s: %s has %q", check, one.Class, one.For)
			}
		}
		if !strings.Contains(why.Statement.Why, "a check found "+check+" in B alone") {
			t.Errorf("%s: the statement says %q", check, why.Statement.Why)
		}
	}
}
