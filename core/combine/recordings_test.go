package combine

import (
	"github.com/prlx-go/prlx/core/nccl/ncclrecording"
	"github.com/prlx-go/prlx/core/trace/formats"
)

// What core/api adds to the table of formats: jobs of these tests have recordings of NCCL beside their traces.
func init() {
	formats.Table = append(formats.Table, &ncclrecording.Format)
}
