package combine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// maxDocument is the largest alignment.json that is read.
const maxDocument = 64 << 20

// alignmentOf finds the document that combine wrote beside one of its outputs; nil when there is none. Files
// of today say the same themselves; earlier versions left it to the document.
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

// nodeOf returns what a document says of the one node that an output of it holds; nil when the output holds several.
func (d *Document) nodeOf(path string) *NodeResult {
	if len(d.Nodes) == 1 && len(d.Outputs) == 1 {
		return &d.Nodes[0]
	}
	for k, o := range d.Outputs {
		if len(d.Outputs) == len(d.Nodes) && o.Path == filepath.Base(path) {
			return &d.Nodes[k]
		}
	}
	return nil
}

// StartOf returns the instant (ns since 1970) from which times of a trace count that are not absolute: the zero of its mark for a file
// that prlx wrote, that of the document beside it for one that an earlier version wrote, else what the trace says.
func StartOf(ctx context.Context, src *file.Source, t source.Trace) (int64, error) {
	f := t.Facts()
	if !f.MarkDates {
		return f.StartNS, nil
	}
	m, err := source.ReadMark(ctx, src, t)
	if err != nil {
		return 0, err
	}
	if m != nil {
		return m.ZeroNS, nil
	}
	if d := alignmentOf(src.Path()); d != nil {
		return d.ZeroNS, nil
	}
	return f.StartNS, nil
}
