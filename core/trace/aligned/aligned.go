// Package aligned is what prlx writes into a trace about what it did to it: that its times are on the clock of a reference, by which
// version, and of every node the map that they went through with the bound on its error. So a file that lost the document beside it
// still says what it is, and is neither moved twice nor judged without bounds.
//
// The mark is one JSON document, the same in both formats of traces; where it stands in a file is known to xspace and chrometrace.
// docs/formats/alignment-mark.md describes it.
package aligned

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Schema is the schema of Mark.
const Schema = "prlx.mark/1"

// KeyMark is the top-level key under which a Chrome JSON holds its mark.
const KeyMark = "prlxAlignment"

const (
	// MaxBytes is the longest text of a mark that is read: maps of a thousand nodes with a thousand knots each.
	MaxBytes = 64 << 20
	// MaxNodes is how many nodes one mark may speak of.
	MaxNodes = 1 << 14
)

// Mark is what was done to the times of a trace.
type Mark struct {
	Schema    string `json:"schema"`
	Version   string `json:"prlx"`      // the version that wrote the file
	Aligned   bool   `json:"aligned"`   // some clock was corrected; false: the traces were merged as they were
	Reference string `json:"reference"` // the node whose clock the times are on
	Timebase  string `json:"timebase"`  // "host", or "tracer": lines of a tracer's clock went back to it
	ZeroNS    int64  `json:"zero_ns"`   // instant of the reference's wall clock, ns since 1970, from which times count
	Nodes     []Node `json:"nodes"`

	Programs []Program `json:"programs,omitempty"` // compiled programs of nodes that have Compiled, equal ones once
}

// Node is what was done to the times of one node.
type Node struct {
	ID       string  `json:"id"`
	Host     string  `json:"host"`
	Rank     *int64  `json:"rank"`
	Method   string  `json:"method"`    // what related its clock: probes, declared, wall, none
	OffsetNS int64   `json:"offset_ns"` // how far its clock was ahead, in the middle of the clock data
	DriftPPM float64 `json:"drift_ppm"` // and how fast that changes, to 1e-6 ppm
	BoundNS  *int64  `json:"bound_ns"`  // the largest error of any of its times; null: nothing is known
	OwnZero  bool    `json:"own_zero"`  // the trace does not say when it was recorded: its times count from a zero of their own

	Wall   *clock.Map `json:"wall,omitempty"`   // its wall clock -> the output's; absent: not moved
	Tracer *clock.Map `json:"tracer,omitempty"` // its tracer's clock -> the output's, where lines were on it

	// What belongs to the node in a Chrome JSON of several; absent: everything.
	Processes     []int64          `json:"processes,omitempty"`      // pids
	TracerThreads map[string][]int `json:"tracer_threads,omitempty"` // tids by pid, of what was on the tracer's clock

	// What a Chrome JSON keeps of an XSpace to tell its collectives; absent: the trace was none, or is one.
	Compiled *Compiled `json:"compiled,omitempty"`
}

// Lines is what belongs to a node in an XSpace, and which of its lines were on the tracer's clock.
type Lines struct {
	All   bool // every line of the plane
	Lines []int
}

// Has reports whether a line was on the tracer's clock.
func (l Lines) Has(line int) bool { return l.All || slices.Contains(l.Lines, line) }

// Text writes the mark as one line of JSON.
func (m *Mark) Text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Of returns the mark with one of its nodes alone.
func (m *Mark) Of(node int) *Mark {
	one := *m
	one.Nodes = []Node{m.Nodes[node]}
	return &one
}

// Read reads the text of a mark that a file holds.
func Read(text []byte) (*Mark, error) {
	if len(text) > MaxBytes {
		return nil, fault.New(fault.Limit, "its mark of an alignment has %d bytes, more than %d", len(text), MaxBytes)
	}
	var head struct {
		Schema string `json:"schema"`
		Prlx   string `json:"prlx"`
	}
	damaged := func(err error) error {
		return fault.New(fault.Format, "its mark of an alignment by prlx is damaged: %v", err).WithHint("combine the traces as recorded")
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, damaged(err)
	}
	if head.Schema != Schema {
		return nil, fault.New(fault.Format, "its mark of an alignment has the schema %.40q, expected %s", head.Schema, Schema).WithHint("a newer prlx wrote it: %.20q", head.Prlx)
	}
	m := &Mark{}
	raw := struct {
		*Mark
		Nodes    json.RawMessage `json:"nodes"`
		Programs json.RawMessage `json:"programs"`
	}{Mark: m}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, damaged(err)
	}
	if err := m.readLists(raw.Nodes, raw.Programs); err != nil {
		return nil, damaged(err)
	}
	return m, nil
}

// Joins reports whether two marks are about one alignment: their files count from one zero on one clock.
func (m *Mark) Joins(o *Mark) bool {
	return m.Aligned == o.Aligned && m.Reference == o.Reference && m.Timebase == o.Timebase && m.ZeroNS == o.ZeroNS
}

// Stated is the map of a node's times, as they stand in the file, to themselves with what is known of their error. tracer chooses the
// lines that were on the tracer's clock.
func (n *Node) Stated(tracer bool) *clock.Map {
	if tracer && n.Tracer != nil {
		return n.Tracer.OnTarget()
	}
	return n.Wall.OnTarget()
}
