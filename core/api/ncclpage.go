package api

import (
	"io"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	recorded "github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/report/kernelreport"
	"github.com/prlx-go/prlx/core/report/ncclreport"
)

// ncclReports are what can be written of NCCL's documents.
var ncclReports = reportKind{ncclreport.Formats, ncclreport.FormatOf, neverBinary, ".html or .json"}

func renderNCCL(of ncclreport.Job) render {
	return func(format string, w io.Writer, _ kernelreport.Options) error { return ncclreport.Write(format, w, of) }
}

// ncclReportReply is prlx.nccl/1 with what was written.
type ncclReportReply struct {
	*dividing.Document
	writtenReports
}

// reportNCCL says where the time of a job's operations went. Pages also say what holds it up.
func reportNCCL(j *job.Job, r *ncclReportRequest) (*ncclReportReply, error) {
	opt, err := r.options()
	if err != nil {
		return nil, err
	}
	paths, err := reading.Find(r.Inputs)
	if err != nil {
		return nil, err
	}
	out, err := createReports(ncclReports, r.Outputs, r.Overwrite, paths, "")
	if err != nil {
		return nil, err
	}
	defer out.abort()
	tied, err := r.readNCCL(j)
	if err != nil {
		return nil, err
	}
	doc, err := dividing.Report(tied, opt)
	if err != nil {
		return nil, err
	}
	if len(r.Outputs) > 0 {
		if err := writeNCCL(out, tied, doc); err != nil {
			return nil, err
		}
	}
	return &ncclReportReply{Document: doc, writtenReports: out.reply()}, nil
}

// writeNCCL writes the pages of a job.
func writeNCCL(out *reports, tied *recorded.Job, doc *dividing.Document) error {
	held, err := diagnosing.Diagnose(tied, diagnosing.Options{})
	if err != nil {
		return err
	}
	return out.write(renderNCCL(ncclreport.Job{Report: doc, Diagnosis: held}))
}
