package api

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/report"
)

// traceArg is one input of a request: a path, "ID=PATH", or {"id": ..., "path": ...}.
type traceArg combine.Input

// UnmarshalJSON reads either form.
func (a *traceArg) UnmarshalJSON(b []byte) error {
	var path string
	if json.Unmarshal(b, &path) == nil {
		a.Path = path
		return nil
	}
	return json.Unmarshal(b, (*combine.Input)(a))
}

func inputsOf(args []traceArg) []combine.Input {
	out := make([]combine.Input, len(args))
	for i, a := range args {
		out[i] = combine.Input(a)
	}
	return out
}

// combineRequest is the request of combine: combine.Request with inputs that are expanded.
type combineRequest struct {
	combine.Request
	Inputs []traceArg `json:"inputs"`
	// Exit 5 when a part could not be aligned. In Python: `PartialResultError`, after the output is written; also where a trace or a
	// part of one is missing, or no collective confirms the clocks.
	Strict bool `json:"strict" takes:"switch" setting:"own"`
	requestLimits
}

// combineTraces aligns the clocks of N nodes and merges their traces.
func combineTraces(j *job.Job, r *combineRequest) (*combineReply, error) {
	found, err := combine.Discover(j.Context(), inputsOf(r.Inputs))
	if err != nil {
		return nil, err
	}
	found.TakeBeside()
	r.Request.Inputs = found.Traces
	if err := r.AddClockFiles(j.Context(), found); err != nil {
		return nil, err
	}
	r.Account(found)
	r.Notes = found.Notes
	return runCombine(j, r.Request, r.Strict)
}

// combineReply is a document and the directory that its paths are relative to.
type combineReply struct {
	*combine.Document
	Base string `json:"base"`
}

// runCombine combines, and writes the HTML report when one is asked for. Under strict a result that is not what was asked for is
// an error, after it has been written.
func runCombine(j *job.Job, r combine.Request, strict bool) (*combineReply, error) {
	var page *file.Output
	if r.Report != "" {
		if err := combine.CheckReport(r.Output, r.Report); err != nil {
			return nil, err
		}
		var err error
		if page, err = file.Create(r.Report, r.Overwrite); err != nil {
			return nil, err
		}
		defer page.Abort()
	}
	r.Version = Version
	doc, evidence, err := combine.Run(j, r)
	if err != nil {
		return nil, err
	}
	if page != nil {
		if err := writeReport(j, page, doc, evidence); err != nil {
			return nil, err
		}
	}
	if strict {
		if err := doc.Strict(evidence.Output); err != nil {
			return nil, err
		}
	}
	return &combineReply{Document: doc, Base: evidence.Base}, nil
}

// writeReport writes the HTML summary.
func writeReport(j *job.Job, page *file.Output, doc *combine.Document, e *combine.Evidence) error {
	in := report.CombineReport{Doc: doc, Late: e.Late}
	if rel, err := filepath.Rel(filepath.Dir(page.Path()), e.Output); err == nil {
		in.Output = rel
	}
	for _, n := range e.Nodes {
		in.Curves = append(in.Curves, report.CurveOf(n.ID, n.Wall, n.FromNS, n.ToNS, doc.ZeroNS))
	}
	if e.Matched != nil {
		var err error
		if in.Groups, in.GroupsTotal, err = report.Groups(j.Context(), e.Matched, collective.AsRecorded, e.After, doc.ZeroNS); err != nil {
			return err
		}
	}
	if err := report.Combine(page, in); err != nil {
		return err
	}
	return page.Commit()
}

// compareAlignmentsRequest is the request of combine_compare: two documents of combine.
type compareAlignmentsRequest struct {
	requestLimits
	combine.CompareRequest
}

// compareAlignments says how the clocks of two alignments differ.
func compareAlignments(j *job.Job, r *compareAlignmentsRequest) (*combine.CompareDocument, error) {
	return combine.Compare(j.Context(), r.CompareRequest)
}

// alignRequest is the request of align: one trace.
type alignRequest struct {
	Trace string `json:"trace"`
	// Which node of the clock files this is.
	Node string `json:"node" takes:"node" unset:"by its name, then by what is recorded inside"`
	combine.Request
	// Exit 5 when a part could not be aligned. In Python: `PartialResultError`, after the output is written.
	Strict bool `json:"strict" takes:"switch" setting:"own"`
	requestLimits
}

// alignTrace aligns one trace.
func alignTrace(j *job.Job, r *alignRequest) (*combineReply, error) {
	r.Request.Inputs = []combine.Input{{ID: r.Node, Path: r.Trace}}
	if r.Request.Format == "" && (r.Request.Output != "" || strings.HasSuffix(r.Trace, ".pb")) {
		r.Request.Format = combine.FormatOf(r.Trace, r.Request.Output)
	}
	return runCombine(j, r.Request, r.Strict)
}

// solve turns probes into round offsets.
type solveRequest struct {
	requestLimits
	combine.SolveRequest
}

func solve(j *job.Job, r *solveRequest) (*combine.SolveDocument, error) {
	return combine.Solve(j, r.SolveRequest)
}

// validateRequest is the request of validate, with inputs that are expanded.
type validateRequest struct {
	combine.ValidateRequest
	Inputs []traceArg `json:"inputs"`
	requestLimits
}

func validate(j *job.Job, r *validateRequest) (*combine.ValidateDocument, error) {
	found, err := combine.Discover(j.Context(), inputsOf(r.Inputs))
	if err != nil {
		return nil, err
	}
	found.LeaveBeside()
	r.ValidateRequest.Inputs = found.Traces
	r.Account(found)
	r.Notes = found.Notes
	return combine.Validate(j, r.ValidateRequest)
}
