package api

import (
	"fmt"
	"math"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/joining"
	recorded "github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
)

// ncclInputs are recordings of NCCL's events, and what relates the clocks of their hosts.
type ncclInputs struct {
	requestLimits
	Inputs []string `json:"inputs"` // files, or directories of them
	Probes []string `json:"probes"` // stamps that name their hosts
}

// ncclDiagnoseRequest is the request of nccl_diagnose.
type ncclDiagnoseRequest struct {
	ncclInputs
	StallS *float64 `json:"stall_after"` // seconds without progress after which an operation counts as stalled; default 5
	Limit  *int     `json:"limit"`       // findings that are listed; default 20
}

// readNCCL reads the recordings of a job and ties them together.
func (r *ncclInputs) readNCCL(j *job.Job) (*recorded.Job, error) {
	paths, err := reading.Find(r.Inputs)
	if err != nil {
		return nil, err
	}
	all, unread, err := reading.Read(j, paths, reading.Options{})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fault.New(fault.Incompatible, "no recording holds anything: %s", unread[0])
	}
	all, others, warnings := joining.Apart(all)
	for _, u := range slices.Backward(unread) {
		warnings = slices.Insert(warnings, 0, u.String())
	}
	var opt joining.Options
	for _, p := range r.Probes {
		f, err := readProbes(j, p)
		if err != nil {
			return nil, err
		}
		opt.Clocks = append(opt.Clocks, f)
	}
	tied, err := joining.Join(j, all, opt)
	if err != nil {
		return nil, err
	}
	tied.Warnings, tied.Unread, tied.Others = append(warnings, tied.Warnings...), unread, others
	return tied, nil
}

func readProbes(j *job.Job, path string) (*clockfile.File, error) {
	src, err := file.Open(j.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return clockfile.Read(j.Context(), src)
}

// diagnoseNCCL says what holds a job up.
func diagnoseNCCL(j *job.Job, r *ncclDiagnoseRequest) (*diagnosing.Document, error) {
	opt := diagnosing.Options{}
	if s := r.StallS; s != nil {
		if !(*s > 0) || math.IsInf(*s, 0) || *s > 1e6 {
			return nil, fault.Usagef("stall_after is %s, expected seconds above 0", fmt.Sprint(*s))
		}
		opt.StallNS = max(1, int64(*s*1e9))
	}
	if n := r.Limit; n != nil {
		if *n < 1 || *n > 1<<20 {
			return nil, fault.Usagef("limit is %d, expected 1 to %d", *n, 1<<20)
		}
		opt.Limit = *n
	}
	tied, err := r.readNCCL(j)
	if err != nil {
		return nil, err
	}
	return diagnosing.Diagnose(tied, opt)
}

// ncclReportRequest is the request of nccl_report.
type ncclReportRequest struct {
	ncclInputs
	Limit     *int        `json:"limit"` // operations that are listed with all their ranks; default 10
	Outputs   []outputArg `json:"outputs"`
	Overwrite bool        `json:"overwrite"`
}

// options are those of the report.
func (r *ncclReportRequest) options() (dividing.Options, error) {
	opt := dividing.Options{}
	if n := r.Limit; n != nil {
		if *n < 1 || *n > 1<<16 {
			return opt, fault.Usagef("limit is %d, expected 1 to %d", *n, 1<<16)
		}
		opt.Worst = *n
	}
	return opt, nil
}
