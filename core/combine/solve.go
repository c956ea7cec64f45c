package combine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/verdict"
)

// SolveRequest is what solve is asked for.
type SolveRequest struct {
	Files []string `json:"files"` // probe windows or raw stamps, of all nodes

	// Where to write round offsets, as JSON lines that `prlx combine --offsets` reads; left out, they are printed only.
	Output string `json:"output" takes:"path" metavar:"OUT" also:"-o"`
	// Replace an output that exists.
	Overwrite bool `json:"overwrite" takes:"switch"`
	// The node that all offsets are relative to.
	Reference string `json:"reference" takes:"node" setting:"own" unset:"the node with the smallest number"`
}

// SolveDocument is prlx.solve/1.
type SolveDocument struct {
	Schema     string          `json:"schema"`
	Conclusion verdict.Verdict `json:"conclusion"`
	Reference  string          `json:"reference"`
	Outputs    []Output        `json:"outputs"`
	Nodes      []SolvedNode    `json:"nodes"`
	Links      []SolvedLink    `json:"links"`
	Warnings   []string        `json:"warnings"`
}

// SolvedNode is the clock of one node against the reference's.
type SolvedNode struct {
	ID             string   `json:"id"`
	OffsetNS       int64    `json:"offset_ns"` // at at_ns: how far the node's clock is ahead
	AtNS           int64    `json:"at_ns"`     // an instant of the reference's clock in the middle of the data
	DriftPPM       float64  `json:"drift_ppm"`
	BoundNS        Bounds   `json:"bound_ns"`
	Windows        int      `json:"windows"`         // probes or windows used
	MissingWindows int      `json:"missing_windows"` // that could not be used
	Steps          []Step   `json:"steps"`
	Warnings       []string `json:"warnings"`
}

// SolvedLink describes the probes between two nodes.
type SolvedLink struct {
	A          int   `json:"a"`
	B          int   `json:"b"`
	Probes     int   `json:"probes"`
	Dropped    int   `json:"dropped"`
	MinRTTNS   int64 `json:"min_rtt_ns"`
	ResidualNS int64 `json:"residual_ns"`
}

// Solve turns probe windows or raw stamps into round offsets.
func Solve(j *job.Job, req SolveRequest) (*SolveDocument, error) {
	if len(req.Files) == 0 {
		return nil, fault.Usagef("no probe files to solve").WithHint("name the files of raw probe stamps or probe windows of all nodes")
	}
	if err := protect(req.Output, req.Overwrite, req.Files); err != nil {
		return nil, err
	}
	doc := &SolveDocument{Schema: "prlx.solve/1", Outputs: []Output{}, Nodes: []SolvedNode{}, Links: []SolvedLink{}, Warnings: []string{}}
	r := &clockReader{job: j}
	p, err := readProbes(req.Files, r.read)
	if err != nil {
		return nil, err
	}
	var opt offsets.Options
	if req.Reference != "" {
		id := givenIdentity(req.Reference)
		if id.Number < 0 {
			return nil, fault.Usagef("%q is not a node of the probe files: they know nodes by number", req.Reference)
		}
		opt.Reference, opt.ReferenceSet = id.Number, true
	}
	s, err := p.solve(j.Context(), opt)
	if err != nil {
		return nil, err
	}
	doc.Warnings = append(append(doc.Warnings, r.said.warnings...), s.Warnings...)
	doc.describe(s)
	doc.Conclusion = concludedOf(s, r.cut)
	if req.Output == "" {
		return doc, nil
	}
	return doc, doc.write(s, req)
}

func (d *SolveDocument) describe(s *offsets.Solution) {
	d.Reference = strconv.Itoa(s.Reference)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		d.Nodes = append(d.Nodes, SolvedNode{
			ID: strconv.Itoa(n.Node), OffsetNS: n.OffsetNS, AtNS: n.AtNS, DriftPPM: n.DriftPPM, BoundNS: Bounds{P50: n.Bound.P50, P99: n.Bound.P99, Max: n.Bound.Max},
			Windows: n.Windows, MissingWindows: n.Missed, Steps: stepsOf(n.Steps), Warnings: append([]string{}, n.Warnings...),
		})
	}
	for _, l := range s.Links {
		d.Links = append(d.Links, SolvedLink{A: l.A, B: l.B, Probes: l.Stamps, Dropped: l.Dropped, MinRTTNS: l.MinRTTNS, ResidualNS: l.ResidualNS})
	}
}

// concludedOf is what solving comes to: passed where every node that the files name has a clock, and there is more than the reference.
func concludedOf(s *offsets.Solution, cut []string) verdict.Verdict {
	var e verdict.Evidence
	e.Looked("clocks beside the reference's", int64(max(0, len(s.Nodes)-1)))
	for _, node := range s.Missing {
		e.Lacks(fmt.Sprintf("the clock of node %d", node), "it exchanged no usable probes with the reference, directly or through others")
	}
	for _, name := range cut {
		e.Lacks("the end of "+name, "it ends inside a line, and how much is missing is not known")
	}
	return e.Check(false, fmt.Sprintf("%s on the clock of node %d", plural(len(s.Nodes), "node"), s.Reference))
}

func stepsOf(steps []offsets.Step) []Step {
	out := []Step{}
	for _, s := range steps {
		out = append(out, Step{FromNS: s.FromNS, ToNS: s.ToNS, SizeNS: s.JumpNS})
	}
	return out
}

func (d *SolveDocument) write(s *offsets.Solution, req SolveRequest) error {
	rows := s.Rounds()
	o, err := file.Create(req.Output, req.Overwrite)
	if err != nil {
		return err
	}
	defer o.Abort()
	if _, err := o.Write(rows); err != nil {
		return err
	}
	sum := sha256.Sum256(rows)
	d.Outputs = append(d.Outputs, Output{Path: filepath.Base(req.Output), Format: "round-offsets", Bytes: int64(len(rows)), SHA256: hex.EncodeToString(sum[:])})
	return o.Commit()
}
