package api

import (
	"math"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/dividing"
)

// ncclCompareRequest is the request of nccl_compare.
type ncclCompareRequest struct {
	requestLimits
	A          []string `json:"a"` // recordings of one run: files, or directories of them
	B          []string `json:"b"` // and of the other
	LeastShare *float64 `json:"least_share"`
}

// compareNCCL says which part of the time of NCCL operations grew from one run to another, and for whom.
func compareNCCL(j *job.Job, r *ncclCompareRequest) (*dividing.Comparison, error) {
	var opt dividing.CompareOptions
	if s := r.LeastShare; s != nil {
		if !(*s > 0) || math.IsInf(*s, 0) {
			return nil, fault.Usagef("least_share is %g, expected a part above 0, such as 0.02", *s)
		}
		opt.LeastShare = *s
	}
	a, err := (&ncclInputs{Inputs: r.A}).readNCCL(j)
	if err != nil {
		return nil, err
	}
	b, err := (&ncclInputs{Inputs: r.B}).readNCCL(j)
	if err != nil {
		return nil, err
	}
	return dividing.Compare(a, b, opt), nil
}
