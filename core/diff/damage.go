package diff

import (
	"fmt"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/verdict"
)

// damage is what was found to be damaged in two recordings. Blocks have checksums: what can be read is as it was recorded, and a
// difference in it is one, whatever became of the rest. Without a difference the comparison is refused, for the rest could have had one.
type damage struct {
	mu     sync.Mutex
	errors [2]*fault.Error // of A and of B, the one that comes first in the file
}

// took keeps an error that says where a recording is damaged, and reports whether it was one.
func (d *damage) took(err error, a, b *warptrace.Trace) bool {
	if !fault.Is(err, fault.Format) {
		return false
	}
	e := fault.Of(err)
	d.mu.Lock()
	defer d.mu.Unlock()
	for side, t := range []*warptrace.Trace{a, b} {
		if e.Path != t.Path() {
			continue
		}
		if held := d.errors[side]; held == nil || e.Offset < held.Offset {
			d.errors[side] = e
		}
		return true
	}
	return false
}

// refusal is the error of a comparison that found no difference in what is whole, nil where nothing is damaged.
func (d *damage) refusal() error {
	for _, e := range d.errors {
		if e != nil {
			return e
		}
	}
	return nil
}

// missing says what was not compared, and why.
func (d *damage) missing() (list []verdict.Missing) {
	for side, e := range d.errors {
		if e != nil {
			name := [2]string{"A", "B"}[side]
			list = append(list, verdict.Missing{What: "damaged blocks of " + name, Why: fmt.Sprintf("%s: at byte %d: %s", name, e.Offset, e.Msg)})
		}
	}
	return list
}

// differs reports whether anything was found that is not the same, noise or not.
func (r *Result) differs() bool {
	v := r.Judge()
	return v.Total > 0 || v.coverage.Outputs.Agrees == Differs
}
