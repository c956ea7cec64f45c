// Package rows makes traces of formats that list events one by one, each with its place, its time and its name: tables of databases, records
// of documents, packets of streams. A format gives a Book, which reads the rows of a file; lines, events by line, launches, activities and the
// work of devices are made of them here.
package rows

import (
	"context"
	"math"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// Role is what a row is.
type Role uint8

// The roles.
const (
	Kernel Role = iota // of a device
	Copy               // of a device
	Fill               // of memory, by a device
	Graph              // a graph of a device as a whole
	Call               // of a thread: a function of a runtime or a driver
	Range              // what a program marked, on a thread or a device
	Other              // anything else
)

// category is what Kineto calls such events.
func (r Role) category() string {
	return [...]string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_graph", "cuda_runtime", "nvtx", "other"}[r]
}

// Lane is what tells lines apart: queues of a device, threads of a host, tracks of neither.
type Lane struct {
	PID, Device, Context, Number int64 // Device is -1 for a thread, Number the queue or the thread
}

// Row is one event, valid until the visit returns, its texts excepted.
type Row struct {
	Role        Role
	Lane        Lane
	Timed       bool // AtPS and DurPS can be
	AtPS, DurPS int64
	Name        string
	Key         uint64 // of kernels: equal where Name is; 0 where the format has no such number
	Category    string // what the format calls such events, "" its role says it
	Correlation uint64 // of a call and what it launched, within a process; 0 none
	Blocks      uint32 // of a kernel: thread blocks, 0 unknown
	ToHost      bool   // a copy to memory of the host
	Pageable    bool   // and to memory that the device does not reach by itself
	Graphs      bool   // a call that launches a graph
	Args        source.ArgsWriter
}

// Ask says which rows are wanted, and what of them.
type Ask struct {
	Roles func(Role) bool // nil: all
	Args  bool
}

// Wants reports whether rows of a role are wanted.
func (a Ask) Wants(r Role) bool { return a.Roles == nil || a.Roles(r) }

// Book is an open file of a format.
type Book interface {
	// Facts is what the file says of the whole, times aside, known before its rows were read.
	Facts(ctx context.Context) (*source.Facts, error)
	// Read visits the rows that are wanted, in the order of the file: on each call the same.
	Read(ctx context.Context, ask Ask, visit func(r *Row) error) error
	// Names says what lanes are called, known when the rows were read.
	Names() Names
}

// Names is what a file calls processes, devices and lines. All of it may be missing.
type Names struct {
	Processes map[int64]string    // by pid
	Devices   map[int64]string    // what a GPU is: its product
	Line      func(l Lane) string // "" where a file has no name for it
	Losses    []string            // what was lost, one sentence each
	Warnings  []string            // what is in the file and not used, one sentence each
}

// Clock places times of a file. They count from its first one, so that they fit into picoseconds however long a machine runs.
type Clock struct {
	OriginNS int64
	Set      bool
}

// mostNS is how far a time may lie from the origin: 100 days.
const mostNS = 100 * 24 * 3600 * 1_000_000_000

// Begin sets the origin, unless it is set.
func (c *Clock) Begin(ns int64) {
	if !c.Set {
		c.Set, c.OriginNS = true, ns
	}
}

// Place puts an event into a row. The first one that can be is the origin.
func (c *Clock) Place(r *Row, startNS, endNS int64) {
	r.Timed = false
	if endNS < startNS || startNS < 0 && !c.Set {
		return
	}
	c.Begin(startNS)
	at, dur := startNS-c.OriginNS, endNS-startNS
	if (startNS >= c.OriginNS) != (at >= 0) || dur < 0 || at < -mostNS || at > mostNS || dur > mostNS {
		return
	}
	r.Timed, r.AtPS, r.DurPS = true, at*1000, dur*1000
}

// opener opens a file of a format. Its rows are placed by the clock.
type opener func(ctx context.Context, src *file.Source, c *Clock) (Book, error)

// Format completes the description of a format by what an opener gives.
func Format(f source.Format, open opener) source.Format {
	f.Blank = func() source.Trace { return &Trace{open: open} }
	f.Scan = func(ctx context.Context, src *file.Source, _ source.ScanOptions) (source.Trace, error) {
		t := &Trace{open: open}
		return t, t.scan(ctx, src)
	}
	f.Work = func(j *job.Job, path string, opt work.Options) (*work.Found, error) {
		return readWork(j, path, opt, open)
	}
	return f
}

// BlocksOf is how many thread blocks a grid has, as far as a column of work holds it.
func BlocksOf(x, y, z int64) uint32 {
	product := int64(1)
	for _, n := range [...]int64{x, y, z} {
		product = min(product*min(max(n, 0), math.MaxUint32), math.MaxUint32>>1)
	}
	return uint32(product)
}
