package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/snapshot"
)

type finishSnapshotsRequest struct {
	requestLimits
	Path      string `json:"path"`    // JSON lines that a sampler wrote
	Message   string `json:"message"` // where they are written as SnapshotPairs; "" nowhere
	Trace     string `json:"trace"`   // a Chrome JSON that is written to Output with the readings in it; "" none
	Output    string `json:"output"`
	Overwrite bool   `json:"overwrite"`
}

// SnapshotsDocument is the reply of finish_snapshots: what a file of readings holds, and where it is now.
type SnapshotsDocument struct {
	Path         string            `json:"path"`
	Clock        string            `json:"clock"`
	Pairs        int               `json:"pairs"`
	BracketP99NS int64             `json:"bracket_p99_ns"`
	Counters     snapshot.Counters `json:"counters"`
	Complete     bool              `json:"complete"`
	MaxErrorNS   *int64            `json:"max_error_ns"` // of the system clock against UTC; null: nothing keeps it
	Warnings     []string          `json:"warnings"`
}

// finishSnapshots writes what a sampler has left in the forms that others read.
func finishSnapshots(j *job.Job, r *finishSnapshotsRequest) (*SnapshotsDocument, error) {
	if r.Trace != "" {
		if _, err := snapshot.Attach(j.Context(), r.Trace, r.Path, r.Output, r.Overwrite); err != nil {
			return nil, err
		}
	}
	f, err := snapshot.Finish(j.Context(), r.Path, r.Message, r.Overwrite)
	if err != nil {
		return nil, err
	}
	doc := &SnapshotsDocument{
		Path: f.Path, Clock: f.Clock, Pairs: f.Pairs, BracketP99NS: f.BracketP99NS, Counters: f.Counters, Complete: f.Complete, Warnings: append([]string{}, f.Warnings...),
	}
	if f.Synchronized {
		doc.MaxErrorNS = &f.MaxErrorNS
	}
	return doc, nil
}
