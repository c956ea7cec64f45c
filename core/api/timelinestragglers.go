package api

import (
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/report/kernelreport"
	"github.com/prlx-go/prlx/core/report/stragglerreport"
	"github.com/prlx-go/prlx/core/timeline/combine"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// stragglersRequest is the request of stragglers, with inputs that are expanded.
type stragglersRequest struct {
	requestLimits
	combine.StragglersRequest
	Inputs    []traceArg  `json:"inputs"`
	Outputs   []outputArg `json:"outputs"`
	Overwrite bool        `json:"overwrite"`
	FailOn    *float64    `json:"fail_on"` // percent of the time that a rank that is blamed may cost, for reports that say who did
}

// stragglersReply is prlx.stragglers/1 with what was written.
type stragglersReply struct {
	*straggler.Document
	writtenReports
}

var stragglerReports = reportKind{stragglerreport.Formats, stragglerreport.FormatOf, neverBinary, ".html, .md, .csv, .xml or .json"}

func renderStragglers(d *straggler.Document, failOn *float64) render {
	return func(format string, w io.Writer, _ kernelreport.Options) error {
		return stragglerreport.Write(format, w, d, stragglerreport.Options{MostPercent: failOn})
	}
}

// checkGate refuses a part of the time below zero.
func checkGate(percent *float64) error {
	if percent != nil && !(*percent >= 0) {
		return fault.Usagef("fail_on is %v, expected 0 or more percent", *percent)
	}
	return nil
}

// findStragglers says who was late at the collectives of several traces, and what it cost.
func findStragglers(j *job.Job, r *stragglersRequest) (*stragglersReply, error) {
	if err := checkGate(r.FailOn); err != nil {
		return nil, err
	}
	found, err := combine.Discover(j.Context(), inputsOf(r.Inputs))
	if err != nil {
		return nil, err
	}
	r.StragglersRequest.Inputs = found.Traces
	paths := make([]string, len(found.Traces))
	for i := range found.Traces {
		paths[i] = found.Traces[i].Path
	}
	out, err := createReports(stragglerReports, r.Outputs, r.Overwrite, paths, "")
	if err != nil {
		return nil, err
	}
	defer out.abort()
	if err := r.AddClockFiles(j.Context(), found); err != nil {
		return nil, err
	}
	r.Notes = found.Notes
	doc, err := combine.Stragglers(j, r.StragglersRequest)
	if err != nil {
		return nil, err
	}
	if err := out.write(renderStragglers(doc, r.FailOn)); err != nil {
		return nil, err
	}
	return &stragglersReply{Document: doc, writtenReports: out.reply()}, nil
}
