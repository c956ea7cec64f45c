package combine

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/job"
)

// TestVerdictsLookAtAllExecutions: where memory holds a part of them, verdicts on given clocks are those of all, to the last execution that has no
// partner, with the worst under the same numbers; as recorded, after alignment and in a range of time.
func TestVerdictsLookAtAllExecutions(t *testing.T) {
	for _, set := range []string{"p2", "p4"} {
		inputs, probes, _ := jax(t, set)
		whole := func(most int) (*ValidateDocument, *Document) {
			defer func(spans int) { mostSpans = spans }(mostSpans)
			mostSpans = most
			v, err := Validate(job.New(context.Background(), job.Options{Workers: 2}), ValidateRequest{Request: Request{Inputs: inputs}})
			if err != nil {
				t.Fatal(err)
			}
			from := int64(100e6)
			c := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "out"), TimeRange: []*int64{&from, nil}})
			return v, c
		}
		all, after := whole(collective.MaxSpans)
		for _, most := range []int{160, 20} {
			some, afterSome := whole(most)
			if said := strings.Join(some.Notes, "; "); strings.Contains(said, "looked at") {
				t.Errorf("%s, %d in memory: %q", set, most, said)
			}
			all.Notes, some.Notes = nil, nil
			if !reflect.DeepEqual(all, some) {
				t.Errorf("%s, %d in memory: %+v, want %+v", set, most, some, all)
			}
			if !reflect.DeepEqual(after.Collectives, afterSome.Collectives) {
				t.Errorf("%s, %d in memory: %+v, want %+v", set, most, afterSome.Collectives, after.Collectives)
			}
		}
		if all.Violated == 0 || after.Collectives.After.Consistent == 0 {
			t.Errorf("%s: %+v and %+v show nothing", set, all, after.Collectives)
		}
	}
}
