package api

import (
	"github.com/prlx-go/prlx/core/clocks/snapshot"
	"github.com/prlx-go/prlx/core/job"
)

type finishSnapshotsRequest struct {
	requestLimits
	Path      string `json:"path"`    // JSON lines that a sampler wrote
	Message   string `json:"message"` // where they are written as SnapshotPairs; "" nowhere
	Overwrite bool   `json:"overwrite"`
}

type attachSnapshotsRequest struct {
	requestLimits
	Path        string       `json:"path"`        // JSON lines that a sampler writes; it may go on
	Trace       string       `json:"trace"`       // a Chrome JSON
	Output      string       `json:"output"`      // where it is written with the readings in it
	Distributed *distributed `json:"distributed"` // of the process, for a trace that does not say it; null: not known
	Overwrite   bool         `json:"overwrite"`
}

// distributed is what Kineto says of a process of a job.
type distributed struct {
	Backend   string `json:"backend"`
	Rank      int    `json:"rank"`
	WorldSize int    `json:"world_size"`
}

// attachSnapshots puts the readings of clocks into a trace that was exported.
func attachSnapshots(j *job.Job, r *attachSnapshotsRequest) (*SnapshotsDocument, error) {
	var info []byte
	if r.Distributed != nil {
		var err error
		if info, err = encode(r.Distributed); err != nil {
			return nil, err
		}
	}
	f, err := snapshot.Attach(j.Context(), r.Trace, r.Path, r.Output, string(info), r.Overwrite)
	if err != nil {
		return nil, err
	}
	return described(f), nil
}

// SnapshotsDocument is the reply of finish_snapshots and attach_snapshots: what a file of readings holds, and where it is now.
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
	f, err := snapshot.Finish(j.Context(), r.Path, r.Message, r.Overwrite)
	if err != nil {
		return nil, err
	}
	return described(f), nil
}

func described(f *snapshot.Finished) *SnapshotsDocument {
	doc := &SnapshotsDocument{
		Path: f.Path, Clock: f.Clock, Pairs: f.Pairs, BracketP99NS: f.BracketP99NS, Counters: f.Counters, Complete: f.Complete, Warnings: append([]string{}, f.Warnings...),
	}
	if f.Synchronized {
		doc.MaxErrorNS = &f.MaxErrorNS
	}
	return doc
}
