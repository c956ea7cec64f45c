package combine

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/xspace"
)

// maxDocument is the largest alignment.json that is read.
const maxDocument = 64 << 20

// alignmentOf finds the document that combine wrote beside one of its outputs; nil when there is none. Times of such a file count
// from the document's zero, not from the profile_start_time that it still carries.
func alignmentOf(path string) *Document {
	name := filepath.Base(path)
	for _, doc := range []string{path + ".alignment.json", filepath.Join(filepath.Dir(path), "alignment.json")} {
		st, err := os.Stat(doc)
		if err != nil || st.Size() > maxDocument {
			continue
		}
		b, err := os.ReadFile(doc)
		if err != nil {
			continue
		}
		var d Document
		if json.Unmarshal(b, &d) != nil || d.Schema != Schema {
			continue
		}
		for _, o := range d.Outputs {
			if o.Path == name {
				return &d
			}
		}
	}
	return nil
}

// wasAligned reports whether a file is an output of combine or align whose times were corrected; onHost, whether its tracer lines
// are on the host's clock, as after every run that was not a mere merge.
func wasAligned(path string) (aligned, onHost bool) {
	d := alignmentOf(path)
	if d == nil {
		return false, false
	}
	for _, n := range d.Nodes {
		onHost = onHost || n.Method != MethodNone
	}
	return d.Status != StatusUnaligned, onHost
}

// refuseTwice keeps clock data, which is about the clocks that traces were recorded on, from being applied to traces that are not
// on those clocks any more.
func (t *task) refuseTwice() error {
	for _, n := range t.nodes {
		if n.aligned {
			return fault.New(fault.Incompatible, "prlx has aligned this trace already, and clock data would move its times twice").WithPath(n.Path).
				WithHint("combine the traces as recorded, or leave the clock data out: --method wall")
		}
	}
	return nil
}

// StartOf returns the instant (ns since 1970) from which normalised times of a file count: combine's zero for a file that
// combine wrote, else the profile_start_time in it.
func StartOf(path string, s *xspace.Space) int64 {
	if d := alignmentOf(path); d != nil {
		return d.ZeroNS
	}
	return s.ProfileStartNS
}
