// Package nsys reads what Nsight Systems recorded, from the SQLite database that `nsys export --type sqlite` writes: kernels, copies, fills and
// graph launches of GPUs, calls of the CUDA runtime and NVTX ranges of threads. docs/formats/nsys.md says which tables and columns.
//
// All times are on one clock, that of the session, which nsys has put GPUs and hosts on.
package nsys

import (
	"context"
	"strings"

	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/sqlite"
)

// Format is the database in the table of formats.
var Format = rows.Format(source.Format{Name: "nsys", Title: "Nsight Systems database", Kind: format.Nsight, Endings: []string{".sqlite"}, Devices: "with nsys profile --trace=cuda,nvtx"}, open)

// Facts reads what the database says of the whole.
func (b *book) Facts(ctx context.Context) (*source.Facts, error) {
	f := &source.Facts{}
	err := b.each(ctx, "TARGET_INFO_SESSION_START_TIME", func(r *sqlite.Row, col func(string) int) {
		f.StartNS = r.Int(col("utcEpochNs"))
	})
	if err != nil {
		return nil, err
	}
	if f.HasStart = f.StartNS >= source.AbsoluteNS; f.HasStart {
		f.Dated = true
	} else {
		f.StartNS, f.Undated = 0, "TARGET_INFO_SESSION_START_TIME"
	}
	err = b.each(ctx, "TARGET_INFO_SYSTEM_ENV", func(r *sqlite.Row, col func(string) int) {
		if string(r.Text(col("name"))) == "Hostname" && len(f.Hosts) == 0 {
			f.Hosts = []string{string(r.Text(col("value")))}
		}
	})
	if err != nil {
		return nil, err
	}
	if f.Rank, err = b.rank(ctx); err != nil {
		return nil, err
	}
	if unused := b.unused(ctx); len(unused) > 0 {
		f.Warnings = append(f.Warnings, "prlx does not use these tables of the database: "+strings.Join(unused, ", "))
	}
	if b.holds(ctx, b.db.Table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")) {
		f.Warnings = append(f.Warnings, "CUDA graphs were recorded as wholes, without the kernels in them: nsys profile --cuda-graph-trace=node shows them")
	}
	return f, nil
}
