// Package job is what a long operation sees of the world around it: a context that the user can cancel, counters that the
// user watches, a budget of memory that it must not exceed and a number of workers that it may use. A Table runs operations
// in the background under ids, so that a caller without goroutines (Python) can start, poll, cancel and collect them. It
// knows nothing of what the operations do.
package job

import (
	"context"
	"maps"
	"runtime"
	"sync"
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
	attached *attachments
	workers  int
}

type attachments struct {
	mu    sync.Mutex
	named map[string]any
}

// New returns a job that runs under ctx, for callers that do not use a Table.
func New(ctx context.Context, opt Options) *Job {
	return &Job{
		ctx:      ctx,
		progress: new(Progress),
		budget:   newBudget(opt.MemoryLimit),
		attached: &attachments{named: make(map[string]any)},
		workers:  opt.Workers,
	}
}

// With returns a job with the same context, progress and attachments and with its own limits. Options that are 0 are inherited.
func (j *Job) With(opt Options) *Job {
	if j == nil {
		return New(context.Background(), opt)
	}
	derived := *j
	if opt.MemoryLimit > 0 {
		derived.budget = newBudget(opt.MemoryLimit)
	}
	if opt.Workers > 0 {
		derived.workers = opt.Workers
	}
	return &derived
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

// Attach leaves v beside the job's result under a name: a table of columns, say, that is too large for the result's JSON. A
// second attachment of the same name replaces the first. On a nil job nothing is kept.
func (j *Job) Attach(name string, v any) {
	if j == nil {
		return
	}
	j.attached.mu.Lock()
	defer j.attached.mu.Unlock()
	j.attached.named[name] = v
}

// Attached returns what was attached, by name.
func (j *Job) Attached() map[string]any {
	if j == nil {
		return nil
	}
	j.attached.mu.Lock()
	defer j.attached.mu.Unlock()
	return maps.Clone(j.attached.named)
}
