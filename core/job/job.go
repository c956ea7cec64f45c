// Package job is what a long operation sees of the world around it: a context that the user can cancel, counters that the
// user watches, a budget of memory that it must not exceed and a number of workers that it may use. A Table runs operations
// in the background under ids, so that a caller without goroutines (Python) can start, poll, cancel and collect them. It
// knows nothing of what the operations do.
package job

import (
	"context"
	"runtime"
)

// Options are the limits of one job.
type Options struct {
	Workers     int   // how many workers may run at once; 0 means GOMAXPROCS
	MemoryLimit int64 // bytes of buffers that the job may hold at once; 0 means no limit
}

// Job is one running operation. A nil *Job is usable: never cancelled, unwatched, unlimited.
type Job struct {
	ctx      context.Context
	progress *Progress
	budget   *Budget
	workers  int
}

// New returns a job that runs under ctx, for callers that do not use a Table.
func New(ctx context.Context, opt Options) *Job {
	return &Job{ctx: ctx, progress: new(Progress), budget: NewBudget(opt.MemoryLimit), workers: opt.Workers}
}

// With returns a job with the same context and progress and with its own limits. Options that are 0 are inherited.
func (j *Job) With(opt Options) *Job {
	derived := &Job{ctx: j.Context(), progress: j.Progress(), budget: j.Budget(), workers: opt.Workers}
	if opt.MemoryLimit > 0 {
		derived.budget = NewBudget(opt.MemoryLimit)
	}
	if opt.Workers <= 0 && j != nil {
		derived.workers = j.workers
	}
	return derived
}

// Context is done when the user cancels.
func (j *Job) Context() context.Context {
	if j == nil {
		return context.Background()
	}
	return j.ctx
}

// Progress is what the user watches; nil for a nil job, and usable then.
func (j *Job) Progress() *Progress {
	if j == nil {
		return nil
	}
	return j.progress
}

// Budget bounds the memory of buffers; nil means no limit, and is usable then.
func (j *Job) Budget() *Budget {
	if j == nil {
		return nil
	}
	return j.budget
}

// Workers is how many goroutines may work at once, at least 1.
func (j *Job) Workers() int {
	if j == nil || j.workers <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return j.workers
}
