package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/flightrecorder"
)

// ncclFlightRequest is the request of nccl_flight.
type ncclFlightRequest struct {
	requestLimits
	Inputs []string `json:"inputs"` // dumps, or directories of them
}

// readFlight says what dumps of PyTorch's Flight Recorder show.
func readFlight(j *job.Job, r *ncclFlightRequest) (*flightrecorder.Document, error) {
	j.Progress().SetStage("read")
	paths, err := flightrecorder.Find(j.Context(), r.Inputs)
	if err != nil {
		return nil, err
	}
	dumps, unread, err := flightrecorder.ReadAll(j.Context(), paths, j.Workers())
	if err != nil {
		return nil, err
	}
	j.Progress().SetStage("compare")
	found, err := flightrecorder.Analyze(dumps, unread...)
	if err != nil {
		return nil, err
	}
	return found.Document(), nil
}
