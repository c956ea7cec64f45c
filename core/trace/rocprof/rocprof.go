// Package rocprof reads what rocprofv3 recorded, in three of the forms that it writes: JSON, a table a kind of event (CSV), and a database
// (rocpd). docs/formats/rocprof.md says which records and columns. Its Perfetto files are read by package perfetto.
//
// All times are on one clock, that of the host since it was started, which rocprofiler-sdk has put GPUs on. None of the forms says which date
// that was.
package rocprof

import (
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/rows"
	"github.com/prlx-go/prlx/core/trace/source"
)

// The forms, in the table of formats.
var (
	JSON     = rows.Format(source.Format{Name: "rocprofv3-json", Title: "rocprofv3 JSON", Kind: format.RocprofJSON, Endings: []string{"_results.json"}, Devices: devices}, openJSON)
	Table    = rows.Format(source.Format{Name: "rocprofv3-csv", Title: "rocprofv3 table", Kind: format.RocprofCSV, Endings: []string{"_kernel_trace.csv"}, Devices: devices}, openTable)
	Database = rows.Format(source.Format{Name: "rocpd", Title: "rocpd database", Kind: format.Rocpd, Endings: []string{"_results.db"}, Devices: devices}, openDatabase)
)

// devices is how kernels come into any of them.
const devices = "with rocprofv3 --kernel-trace"

// undated is what all forms lack.
const undated = "date of the start of the host, from which rocprofv3 counts"

// agent is a processor, by the number that records use for it.
type agent struct {
	gpu     int64 // its number among the GPUs, -1 for a CPU
	product string
}

// place finds the lane of work on an agent: its stream, as a program orders work, and where it names none the queue. What is on no GPU belongs to
// the thread that asked for it.
func place(a agent, ok bool, pid, tid, queue, stream int64) rows.Lane {
	if !ok || a.gpu < 0 {
		return rows.Lane{PID: pid, Device: -1, Number: tid}
	}
	if stream != 0 && queue != copies {
		queue = 0
	}
	return rows.Lane{PID: pid, Device: a.gpu, Context: queue, Number: stream}
}

// blocks is how many work-groups a grid of work-items has.
func blocks(grid, group [3]int64) uint32 {
	var n [3]int64
	for i := range n {
		n[i] = (max(grid[i], 0) + max(group[i], 1) - 1) / max(group[i], 1)
	}
	return rows.BlocksOf(n[0], n[1], n[2])
}

// copies are lanes of copies, which have no queue.
const copies = -1

// lineName is what a lane of a GPU is called.
func lineName(l rows.Lane) string {
	switch {
	case l.Device < 0:
		return ""
	case l.Context == copies:
		return "copies, stream " + decimal(l.Number)
	}
	if l.Number == 0 {
		return "queue " + decimal(l.Context)
	}
	return "stream " + decimal(l.Number)
}

// graphs reports whether a call launches a graph.
func graphs(call string) bool { return call == "hipGraphLaunch" || call == "hipGraphLaunch_spt" }

// toHost reports whether a copy ends in memory of the host.
func toHost(name string) bool {
	return name == "MEMORY_COPY_DEVICE_TO_HOST" || name == "DEVICE_TO_HOST"
}
