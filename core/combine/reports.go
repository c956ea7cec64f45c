package combine

import (
	"encoding/json"
	"path/filepath"

	"github.com/prlx-go/prlx/core/clocks/align"
	"github.com/prlx-go/prlx/core/file"
)

// statsSchema is the schema of the per-node diagnostics file.
const statsSchema = "prlx.alignment_stats/1"

// NodeStats is <node>.alignment_stats.json, behind the name of the output where that is a file: the counts of the described diagnostics file, and what they rest on.
type NodeStats struct {
	Schema                 string        `json:"schema"`
	Node                   string        `json:"node"`
	Method                 string        `json:"method"`
	Events                 int64         `json:"events"`
	EventsCorrected        int64         `json:"events_corrected"`
	EventsClamped          int64         `json:"events_clamped_monotonic"`
	EventsInStep           int64         `json:"events_in_step"`
	SnapshotExtrapolations int64         `json:"snapshot_extrapolations"`
	OffsetExtrapolations   int64         `json:"offset_extrapolations"`
	MinCorrectionNS        int64         `json:"min_correction_ns"`
	MaxCorrectionNS        int64         `json:"max_correction_ns"`
	BoundNS                Bounds        `json:"bound_ns"`
	Clamps                 []align.Clamp `json:"clamps"` // each clamped event, up to 1000
}

func statsOf(r *NodeResult) NodeStats {
	s := NodeStats{
		Schema: statsSchema, Node: r.ID, Method: r.Method, Events: r.Events, EventsCorrected: r.EventsCorrected, EventsClamped: r.EventsClamped,
		EventsInStep: r.EventsInStep, SnapshotExtrapolations: r.SnapshotExtrapolations, OffsetExtrapolations: r.OffsetExtrapolations,
		MinCorrectionNS: r.MinCorrectionNS, MaxCorrectionNS: r.MaxCorrectionNS, BoundNS: r.BoundNS, Clamps: r.Clamps,
	}
	if s.Clamps == nil {
		s.Clamps = []align.Clamp{}
	}
	return s
}

// writeReports writes alignment.json and the statistics of nodes with create: of each node inside a run directory, of the only
// node beside a single file. prefix goes before their names: that of the
// file, so that several outputs in one directory have their own.
func (d *Document) writeReports(create func(name string) (*file.Output, error), prefix string) error {
	if err := writeJSON(create, prefix+"alignment.json", d); err != nil {
		return err
	}
	if prefix != "" && len(d.Nodes) > 1 {
		return nil
	}
	for k := range d.Nodes {
		r := &d.Nodes[k]
		if err := writeJSON(create, prefix+clean(r.ID)+".alignment_stats.json", statsOf(r)); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(create func(name string) (*file.Output, error), name string, doc any) error {
	o, err := create(name)
	if err != nil {
		return err
	}
	defer o.Abort()
	e := json.NewEncoder(o)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	return o.Commit()
}

// commitWithReports places a single output, then the documents beside it. The output comes first: a document without its file
// would mislead, a file without its document does not.
func (d *Document) commitWithReports(out *file.Output, to destination) error {
	dir, name := filepath.Split(to.output)
	create := func(n string) (*file.Output, error) { return file.Create(filepath.Join(dir, n), to.overwrite) }
	if err := out.Commit(); err != nil {
		return err
	}
	return d.writeReports(create, name+".")
}
