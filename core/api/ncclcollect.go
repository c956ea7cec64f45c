package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/gathering"
	"github.com/prlx-go/prlx/core/nccl/reading"
)

// ncclCollectRequest is the request of nccl_collect.
type ncclCollectRequest struct {
	requestLimits
	Inputs []string `json:"inputs"` // files, or directories of them
	Output string   `json:"output"` // a folder, or a name that ends in .tar.zst; "": the files are looked at alone
}

// collectNCCL checks recordings, and brings them into one place.
func collectNCCL(j *job.Job, r *ncclCollectRequest) (*gathering.Document, error) {
	paths, err := reading.Find(r.Inputs)
	if err != nil {
		return nil, err
	}
	return gathering.Gather(j, paths, r.Output)
}
