package api

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
)

// debugOperations are for the tests of the boundary: they fail, block and allocate on request. They answer only after
// configure with debug_ops.
var debugOperations = sync.OnceValue(func() map[string]op {
	return map[string]op{
		"debug.allocate":        typed(debugAllocate),
		"debug.echo":            func(_ *job.Job, request []byte) ([]byte, error) { return request, nil },
		"debug.error":           typed(debugError),
		"debug.goroutine_panic": typed(debugGoroutinePanic),
		"debug.limits":          typed(debugLimits),
		"debug.panic":           typed(func(*job.Job, *struct{}) (*struct{}, error) { panic("debug.panic was asked to") }),
		"debug.sleep":           typed(debugSleep),
		"debug.table":           typed(debugTable),
	}
})

type debugAllocateRequest struct {
	Bytes int64 `json:"bytes"`
}

func debugAllocate(j *job.Job, r *debugAllocateRequest) (map[string]int, error) {
	if err := j.Budget().Acquire(j.Context(), r.Bytes); err != nil {
		return nil, err
	}
	defer j.Budget().Release(r.Bytes)
	b := make([]byte, r.Bytes)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return map[string]int{"bytes": len(b)}, nil
}

func debugError(_ *job.Job, e *Envelope) (*struct{}, error) {
	offset := fault.Unknown
	if e.Offset != nil {
		offset = *e.Offset
	}
	f := &fault.Error{Kind: e.Kind, Path: e.Path, Offset: offset, Line: e.Line, Msg: e.Message, Hint: e.Hint}
	return nil, fmt.Errorf("debug: %w", f)
}

func debugGoroutinePanic(j *job.Job, _ *struct{}) (*struct{}, error) {
	g, ctx := safe.NewGroup(j.Context())
	g.Go(func() error { write(nil); return nil })
	g.Go(func() error { <-ctx.Done(); return ctx.Err() })
	return nil, g.Wait()
}

func write(to map[string]int) { to["a"] = 1 } // panics for a nil map

// debugLimits says under which limits a job runs.
func debugLimits(j *job.Job, _ *requestLimits) (map[string]int64, error) {
	return map[string]int64{
		"workers":         int64(j.Workers()),
		"budget":          j.Budget().Limit(),
		"collector_limit": debug.SetMemoryLimit(-1),
	}, nil
}

type debugSleepRequest struct {
	Milliseconds int  `json:"ms"`
	Deaf         bool `json:"deaf"` // do not watch the context, as a badly written operation would
}

func debugSleep(j *job.Job, r *debugSleepRequest) (map[string]int, error) {
	j.Progress().SetStage("sleep")
	j.Progress().SetTotal(int64(r.Milliseconds))
	end := time.Now().Add(time.Duration(r.Milliseconds) * time.Millisecond)
	for time.Now().Before(end) {
		if !r.Deaf && j.Context().Err() != nil {
			return nil, j.Context().Err()
		}
		time.Sleep(time.Millisecond)
		j.Progress().Add(1)
	}
	return map[string]int{"slept_ms": r.Milliseconds}, nil
}

type debugTableRequest struct {
	Rows int `json:"rows"`
}

// debugTable makes a table with a column of every type, with and without missing values.
func debugTable(j *job.Job, r *debugTableRequest) (*struct{}, error) {
	ints, shorts, floats := make([]int64, r.Rows), make([]int32, r.Rows), make([]float64, r.Rows)
	bools, valid := make([]bool, r.Rows), make([]bool, r.Rows)
	var texts, sparse stringColumn
	for i := range r.Rows {
		ints[i] = 1_760_000_000_000_000_000 + int64(i)
		shorts[i] = int32(-i)
		floats[i] = float64(i) / 2
		bools[i] = i%2 == 1
		valid[i] = i%3 != 0
		texts.append(fmt.Sprintf("kernel %d", i%5))
		if valid[i] {
			sparse.append("größer ☃"[:i%8])
		} else {
			sparse.appendMissing()
		}
	}
	t := newTable(r.Rows)
	t.Int64("start", "ns", ints, nil)
	t.Int64("run_id", "", ints, valid)
	t.int32("line", "", shorts, nil)
	t.float64("drift", "ppm", floats, valid)
	t.bool("clamped", bools, nil)
	t.bool("matched", bools, valid)
	t.strings("name", &texts)
	t.strings("group", &sparse)
	attachTable(j, "events", t)
	return &struct{}{}, nil
}
