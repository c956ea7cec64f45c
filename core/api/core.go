package api

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/device"
)

// Core is the state behind the boundary: jobs that run and tables that wait to be read. A process has one.
type Core struct {
	jobs      job.Table
	tables    tableStore
	device    device.Device
	collector collector
	tapes     tapes
	debug     atomic.Bool
}

// New returns a Core without limits; the operation configure sets them.
func New() *Core {
	c := new(Core)
	c.collector.standby = 1<<63 - 1
	return c
}

// Call runs a short operation at once and returns its reply: a status byte and a JSON text.
func (c *Core) Call(op string, request []byte) []byte {
	return c.callUnder(context.Background(), op, request)
}

// callUnder is Call of an operation that ends with a context.
func (c *Core) callUnder(ctx context.Context, op string, request []byte) []byte {
	var doc []byte
	err := safe.Call(func() (err error) {
		if op == "configure" {
			doc, err = c.configure(request)
			return err
		}
		var done bool
		if doc, done, err = c.callPacked(op, request); done {
			return err
		}
		j := job.New(ctx, c.jobs.Limits())
		if doc, err = c.run(j, op, request); err != nil {
			return err
		}
		doc, err = c.tables.publish(doc, j.Attached())
		return err
	})
	return reply(doc, err)
}

// Start runs an operation in the background and returns the id of its job, always positive. The request is the job's own
// from here on.
func (c *Core) Start(op string, request []byte) int64 {
	return c.jobs.Start(func(j *job.Job) ([]byte, error) { return c.run(j, op, request) })
}

// run finds the operation and runs it under the limits that the request asks for.
func (c *Core) run(j *job.Job, op string, request []byte) ([]byte, error) {
	f, ok := operations()[op]
	if !ok {
		f, ok = c.machineOperations(op)
	}
	if !ok && c.debug.Load() {
		f, ok = debugOperations()[op]
	}
	if !ok {
		return nil, fault.Usagef("there is no operation %q in this core", op).
			WithHint("the Python package and the core may be of different versions: reinstall prlx-go")
	}
	var limits requestLimits
	if err := json.Unmarshal(request, &limits); err != nil && len(request) > 0 {
		return nil, misfit(err)
	}
	if err := limits.check(); err != nil {
		return nil, err
	}
	if limits.MemoryLimit != nil {
		defer c.collector.hold(int64(*limits.MemoryLimit))()
	}
	return f(j.With(limits.options()), request)
}

// Wait waits at most ms milliseconds and reports whether a job has finished.
func (c *Core) Wait(id int64, ms int) bool { return c.jobs.Wait(id, ms) }

// ProgressDocument is the state of a job at one moment.
type ProgressDocument struct {
	Stage    string `json:"stage"`
	Done     int64  `json:"done"`
	Total    int64  `json:"total"` // 0 when unknown
	Finished bool   `json:"finished"`
}

// Progress returns the state of a job as a reply.
func (c *Core) Progress(id int64) []byte {
	s, ok := c.jobs.Snapshot(id)
	if !ok {
		return reply(nil, job.ErrUnknown)
	}
	return reply(encode(ProgressDocument(s)))
}

// Cancel asks a job to stop. With forget its result is dropped as well: nobody will collect it.
func (c *Core) Cancel(id int64, forget bool) bool {
	if forget {
		return c.jobs.Forget(id)
	}
	return c.jobs.Cancel(id)
}

// Result waits for the end of a job and returns its reply, once.
func (c *Core) Result(id int64) []byte {
	var doc []byte
	err := safe.Call(func() (err error) {
		var attached map[string]any
		if doc, attached, err = c.jobs.Collect(id); err != nil {
			return err
		}
		doc, err = c.tables.publish(doc, attached)
		return err
	})
	return reply(doc, err)
}

// Fill copies one part of a table's column into p; see tableStore.
func (c *Core) Fill(table int64, column, part int, p []byte) int64 {
	return c.tables.fill(table, column, part, p)
}

// Release drops a table; false when it is unknown.
func (c *Core) Release(table int64) bool { return c.tables.release(table) }
