package simulation

import (
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/watch"
)

func TestOnlyLinesOfFilesAndLanesOfWarpsAreLookedAt(t *testing.T) {
	lane := func(n int) *int { return &n }
	for name, breaks := range map[string][]watch.Place{
		"no file": {{Line: 3}}, "no line": {{File: "a.py"}}, "lane 32": {{File: "a.py", Line: 3, Lane: lane(32)}}, "lane -1": {{File: "a.py", Line: 3, Lane: lane(-1)}},
		"too many": slices.Repeat([]watch.Place{{File: "a.py", Line: 3}}, 65),
	} {
		if _, err := (&Watch{Breaks: breaks}).watched(&simt.Launch{}); fault.Of(err).Kind != fault.Usage {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, w := range map[string]*Watch{"nobody": nil, "nothing": {}, "layouts alone": {Layouts: []watch.Layout{{}}}} {
		if seen, err := w.watched(&simt.Launch{}); err != nil || seen.with != nil {
			t.Errorf("%s asks and somebody looks, or %v", name, err)
		}
	}
	if seen, err := (&Watch{Breaks: []watch.Place{{File: "a.py", Line: 3, Lane: lane(31)}}}).watched(&simt.Launch{}); err != nil || seen.with == nil {
		t.Errorf("nobody looks at a line: %v", err)
	}
}
