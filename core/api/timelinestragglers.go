package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/combine"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// stragglersRequest is the request of stragglers, with inputs that are expanded.
type stragglersRequest struct {
	requestLimits
	combine.StragglersRequest
	Inputs []traceArg `json:"inputs"`
}

// findStragglers says who was late at the collectives of several traces, and what it cost.
func findStragglers(j *job.Job, r *stragglersRequest) (*straggler.Document, error) {
	found, err := combine.Discover(j.Context(), inputsOf(r.Inputs))
	if err != nil {
		return nil, err
	}
	r.StragglersRequest.Inputs = found.Traces
	if err := r.AddClockFiles(j.Context(), found); err != nil {
		return nil, err
	}
	r.Notes = found.Notes
	return combine.Stragglers(j, r.StragglersRequest)
}
