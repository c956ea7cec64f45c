package chrometrace

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/trace/work"
)

// TestRanksThatAnotherToolMergedShareNoCorrelationIDs: SGLang puts a label in front of the pids of each rank and leaves correlation ids as
// they were, so launches of one rank are none of another's.
func TestRanksThatAnotherToolMergedShareNoCorrelationIDs(t *testing.T) {
	for name, c := range map[string]struct {
		pids  [2]string
		names [2]string
		ranks [2]int
	}{
		"labels": {[2]string{`"[TP00] 0"`, `"[TP01] 0"`}, [2]string{"python", "python"}, [2]int{-1, -1}},
		"names":  {[2]string{"7", "8"}, [2]string{"RANK 0 - GPU", "RANK 1 - GPU"}, [2]int{0, 1}},
	} {
		text := `{"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [`
		for k := range 2 {
			text += `{"ph":"M","name":"process_name","pid":` + c.pids[k] + `,"tid":0,"args":{"name":"` + c.names[k] + `"}},` +
				`{"ph":"X","cat":"kernel","name":"k","pid":` + c.pids[k] + `,"tid":7,"ts":10,"dur":5,"args":{"correlation":3}},`
		}
		found, err := Work(t.Context(), strings.NewReader(strings.TrimSuffix(text, ",")+"]}"), "a.json", work.Options{Read: func(string) work.Saying { return work.Saying{} }}, func() {})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(found.Processes) != 2 || found.Processes[0].Group == found.Processes[1].Group {
			t.Fatalf("%s: %+v", name, found.Processes)
		}
		for k, p := range found.Processes {
			if p.Rank != c.ranks[k] {
				t.Errorf("%s: process %s is of rank %d, want %d", name, p.PID, p.Rank, c.ranks[k])
			}
		}
	}
}
