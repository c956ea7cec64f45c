package api

import (
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/job"
)

// The operations behind combine_traces(executor=...): combine_inputs, then combine_scan for each node, combine_plan, combine_node
// for each node, combine_finish; combine_abandon instead of the last when anything failed. The two for each node run where its
// trace lies.

type inputsDocument struct {
	Schema  string          `json:"schema"`
	Inputs  []combine.Input `json:"inputs"`
	Request combine.Request `json:"request"`
	Notes   []string        `json:"notes"`
}

// combineInputs expands the inputs and picks up clock files beside them.
func combineInputs(j *job.Job, r *combineRequest) (*inputsDocument, error) {
	found, err := combine.Discover(j.Context(), inputsOf(r.Inputs))
	if err != nil {
		return nil, err
	}
	found.LeaveBeside() // what lies on another machine cannot be compared
	r.Request.Inputs = found.Traces
	if err := r.AddClockFiles(j.Context(), found); err != nil {
		return nil, err
	}
	r.Account(found)
	return &inputsDocument{Schema: "prlx.combine_inputs/1", Inputs: found.Traces, Request: r.Request, Notes: found.Notes}, nil
}

type scanRequest struct {
	requestLimits
	Input combine.Input `json:"input"`
	Nodes int           `json:"nodes"`

	SkipUnreadable bool `json:"skip_unreadable"`
	Salvage        bool `json:"salvage"`
}

func combineScan(j *job.Job, r *scanRequest) (*combine.Scanned, error) {
	return combine.ScanNode(j, r.Input, max(1, r.Nodes), combine.LoadOptions{SkipUnreadable: r.SkipUnreadable, Salvage: r.Salvage})
}

type planRequest struct {
	requestLimits
	Request combine.Request   `json:"request"`
	Notes   []string          `json:"notes"`
	Scans   []combine.Scanned `json:"scans"`
}

func combinePlan(j *job.Job, r *planRequest) (*combine.RemotePlan, error) {
	r.Request.Notes, r.Request.Version = r.Notes, Version
	return combine.Plan(j, r.Request, r.Scans)
}

type nodeRequest struct {
	requestLimits
	Task combine.NodeTask `json:"task"`
}

func combineNode(j *job.Job, r *nodeRequest) (*combine.NodeDone, error) {
	return combine.WriteNode(j, r.Task)
}

type finishRequest struct {
	requestLimits
	Plan   *combine.RemotePlan `json:"plan"`
	Done   []combine.NodeDone  `json:"done"`
	Strict bool                `json:"strict"`
}

func combineFinish(_ *job.Job, r *finishRequest) (*combine.Document, error) {
	if r.Plan == nil {
		return nil, errNoPlan
	}
	doc, err := combine.Finish(r.Plan, r.Done)
	if err == nil && r.Strict {
		err = doc.Strict(r.Plan.Output)
	}
	return doc, err
}

type abandonDocument struct {
	Schema string `json:"schema"`
}

func combineAbandon(_ *job.Job, r *finishRequest) (*abandonDocument, error) {
	if r.Plan == nil {
		return nil, errNoPlan
	}
	return &abandonDocument{Schema: "prlx.combine_abandon/1"}, combine.Abandon(r.Plan)
}
