package combine

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/job"
)

// TestEveryStageHasATotal: of the bytes that it goes over, which are never passed.
func TestEveryStageHasATotal(t *testing.T) {
	spaces, probes, _ := jax(t, "p4")
	for name, r := range map[string]Request{
		"run":    {Inputs: spaces, Probes: probes, Output: "run"},
		"single": {Inputs: spaces, Probes: probes, Output: "one.xplane.pb"},
		"json":   {Inputs: dlrm(t), Output: "all.json", Method: MethodWall},
	} {
		r.Output = filepath.Join(t.TempDir(), r.Output)
		j := job.New(context.Background(), job.Options{Workers: 2})
		seen := map[string]int64{}
		look := func() {
			stage, done, total := j.Progress().Read()
			if done > total {
				t.Errorf("%s: %s: %d of %d", name, stage, done, total)
			}
			seen[stage] = max(seen[stage], total)
		}
		var ended atomic.Bool
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			for !ended.Load() {
				look()
				time.Sleep(time.Microsecond)
			}
		}()
		_, _, err := Run(j, r)
		ended.Store(true)
		<-looked
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if stage, done, total := j.Progress().Read(); stage != "write" || total == 0 || done < total/2 || done > total {
			t.Errorf("%s: ended in %s at %d of %d", name, stage, done, total)
		}
		delete(seen, "") // before the first stage
		if len(seen) == 0 {
			t.Errorf("%s: no stage was seen", name)
		}
	}
}
