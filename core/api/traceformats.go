package api

import (
	"github.com/prlx-go/prlx/core/nccl/ncclrecording"
	"github.com/prlx-go/prlx/core/trace/formats"
)

// Formats of traces whose readers stand above core/trace, a line each.
func init() {
	formats.Table = append(formats.Table, &ncclrecording.Format)
}
