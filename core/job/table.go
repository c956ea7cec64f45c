package job

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prlx-go/prlx/core/safe"
)

// ErrUnknown is the error for an id that was never given out or whose result was already collected.
var ErrUnknown = errors.New("no such job: its result was already collected, or the id is wrong")

// Table runs jobs in the background. Ids count up and are never reused, so a stale one is an error and not somebody else's
// job. The zero Table is ready to use.
type Table struct {
	mu     sync.Mutex
	last   int64
	jobs   map[int64]*entry
	limits Options
}

type entry struct {
	job    *Job
	cancel context.CancelFunc
	done   chan struct{} // closed by the job's goroutine after result and err are set
	result []byte
	err    error
}

// snapshot is the state of a job at one moment.
type snapshot struct {
	Stage    string // name of the current part of the work, "" before the first
	Done     int64  // units done in this stage
	Total    int64  // units in this stage, 0 when unknown
	Finished bool   // the result is there
}

// SetLimits sets the limits of jobs that start from now on.
func (t *Table) SetLimits(opt Options) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = opt
}

// Limits returns what SetLimits set.
func (t *Table) Limits() Options {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limits
}

// Start runs f in the background and returns the id of its job. A panic of f is its error.
func (t *Table) Start(f func(*Job) ([]byte, error)) int64 {
	ctx, cancel := context.WithCancel(context.Background())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs == nil {
		t.jobs = make(map[int64]*entry)
	}
	t.last++
	e := &entry{job: New(ctx, t.limits), cancel: cancel, done: make(chan struct{})}
	t.jobs[t.last] = e
	go e.run(f)
	return t.last
}

func (e *entry) run(f func(*Job) ([]byte, error)) {
	defer close(e.done)
	defer e.cancel()
	e.err = safe.Call(func() (err error) {
		e.result, err = f(e.job)
		return err
	})
}

func (t *Table) find(id int64) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs[id]
}

// Wait waits at most ms milliseconds and reports whether the job has finished. An unknown job has.
func (t *Table) Wait(id int64, ms int) bool {
	e := t.find(id)
	if e == nil {
		return true
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-e.done:
		return true
	case <-timer.C:
		return false
	}
}

// Snapshot returns the state of a job; false when it is unknown.
func (t *Table) Snapshot(id int64) (snapshot, bool) {
	e := t.find(id)
	if e == nil {
		return snapshot{}, false
	}
	var s snapshot
	select {
	case <-e.done:
		s.Finished = true
	default:
	}
	s.Stage, s.Done, s.Total = e.job.Progress().Read()
	return s, true
}

// Cancel asks a job to stop; false when it is unknown. The job ends by itself soon after: collect it with Result.
func (t *Table) Cancel(id int64) bool {
	e := t.find(id)
	if e == nil {
		return false
	}
	e.cancel()
	return true
}

// Forget cancels a job and drops it, running or not; false when it is unknown. A running one ends by itself, and what it
// returns is lost.
func (t *Table) Forget(id int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.jobs[id]
	if e == nil {
		return false
	}
	e.cancel()
	delete(t.jobs, id)
	return true
}

// Collect waits for the end of a job, forgets it and returns what it returned and what it attached.
func (t *Table) Collect(id int64) (result []byte, attached map[string]any, err error) {
	e := t.find(id)
	if e == nil {
		return nil, nil, ErrUnknown
	}
	<-e.done
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs[id] == nil {
		return nil, nil, ErrUnknown // another caller collected it first
	}
	delete(t.jobs, id)
	return e.result, e.job.Attached(), e.err
}
