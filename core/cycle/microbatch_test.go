package cycle_test

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
)

// TestMicrobatchesOfAPipeline holds what the README says of a job of 2 data-parallel by 4 pipeline ranks: 32 steps of 4 microbatches each.
// Names are all there is: every stage has a step of its own, with a forward and a backward kernel a microbatch.
func TestMicrobatchesOfAPipeline(t *testing.T) {
	const file, ranks, stages, steps, microbatches = "kineto/ByteDance-Seed+StragglerAnalysis__timeline-ST.json.gz", 2, 4, 32, 4
	d := documentOf(t, file, cycle.Options{IgnoreAnnotations: true})
	found := 0
	for _, l := range d.Levels {
		for _, c := range l.Classes {
			forward, backward := 0, 0
			for _, k := range c.Kernels {
				switch {
				case strings.HasPrefix(k.Name, "forward-compute"):
					forward++
				case strings.HasPrefix(k.Name, "backward-compute"):
					backward++
				}
			}
			if l.Name != cycledoc.LevelStep || forward == 0 {
				continue
			}
			found++
			t.Logf("%s: %q: truth %d steps of %d microbatches on %d ranks, found %d of %d and %d", file, c.Name, steps, microbatches, ranks, c.Count, forward, backward)
			if c.Count != ranks*steps || forward != microbatches || backward != microbatches || c.Edited != 0 {
				t.Errorf("%q: %d steps, %d edited, %d forward, %d backward", c.Name, c.Count, c.Edited, forward, backward)
			}
			for _, r := range c.Ranks {
				if r.Count != steps {
					t.Errorf("%q: %d steps on %s", c.Name, r.Count, r.Device)
				}
			}
		}
	}
	if found != stages {
		t.Errorf("%d stages, not %d\n%s", found, stages, text(d))
	}
}
