package job_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
)

func TestResultIsCollectedOnce(t *testing.T) {
	var table job.Table
	id := table.Start(func(*job.Job) ([]byte, error) { return []byte("done"), nil })
	got, err := table.Result(id)
	if err != nil || string(got) != "done" {
		t.Fatalf("Result = %q, %v; want \"done\", nil", got, err)
	}
	if _, err := table.Result(id); !errors.Is(err, job.ErrUnknown) {
		t.Errorf("second Result: got %v, want ErrUnknown", err)
	}
	if n := table.Len(); n != 0 {
		t.Errorf("table holds %d jobs, want 0", n)
	}
}

func TestForgottenJobIsCancelledAndLeavesNothing(t *testing.T) {
	var table job.Table
	ended := make(chan error, 1)
	id := table.Start(func(j *job.Job) ([]byte, error) {
		<-j.Context().Done()
		ended <- j.Context().Err()
		return nil, nil
	})
	if !table.Forget(id) {
		t.Fatal("Forget does not know the job")
	}
	if n := table.Len(); n != 0 {
		t.Errorf("table holds %d jobs, want 0", n)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the job ended with %v, want context.Canceled", err)
	}
	if table.Forget(id) {
		t.Error("Forget knows a forgotten job")
	}
}

func TestAttachmentsComeWithTheResult(t *testing.T) {
	var table job.Table
	id := table.Start(func(j *job.Job) ([]byte, error) {
		j.Attach("rows", []int{1, 2})
		j.With(job.Options{Workers: 1}).Attach("cols", 7)
		return nil, nil
	})
	_, attached, err := table.Collect(id)
	if err != nil {
		t.Fatal(err)
	}
	if got := attached["rows"].([]int); len(got) != 2 {
		t.Errorf("rows = %v, want [1 2]", got)
	}
	if got := attached["cols"]; got != 7 {
		t.Errorf("an attachment of a derived job is %v, want 7", got)
	}
}

func TestIdsAreNeverReused(t *testing.T) {
	var table job.Table
	seen := make(map[int64]bool)
	for range 100 {
		id := table.Start(func(*job.Job) ([]byte, error) { return nil, nil })
		if seen[id] {
			t.Fatalf("id %d was given out twice", id)
		}
		seen[id] = true
		if _, err := table.Result(id); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelReachesTheJob(t *testing.T) {
	var table job.Table
	id := table.Start(func(j *job.Job) ([]byte, error) {
		<-j.Context().Done()
		return nil, j.Context().Err()
	})
	if table.Wait(id, 1) {
		t.Fatal("the job ended before it was cancelled")
	}
	if !table.Cancel(id) {
		t.Fatal("Cancel does not know the job")
	}
	if _, err := table.Result(id); !errors.Is(err, context.Canceled) {
		t.Errorf("Result: got %v, want context.Canceled", err)
	}
	if table.Cancel(id) {
		t.Error("Cancel of a collected job reports success")
	}
}

func TestPanicOfAJobIsItsError(t *testing.T) {
	var table job.Table
	id := table.Start(func(*job.Job) ([]byte, error) { panic("boom") })
	var caught *safe.PanicError
	if _, err := table.Result(id); !errors.As(err, &caught) {
		t.Errorf("Result: got %v, want a *safe.PanicError", err)
	}
}

func TestSnapshotFollowsTheStages(t *testing.T) {
	var table job.Table
	step, seen := make(chan struct{}), make(chan struct{})
	id := table.Start(func(j *job.Job) ([]byte, error) {
		j.Progress().SetStage("scan")
		j.Progress().SetTotal(10)
		j.Progress().Add(4)
		seen <- struct{}{}
		<-step
		j.Progress().SetStage("write")
		seen <- struct{}{}
		<-step
		return nil, nil
	})
	for _, want := range []job.Snapshot{{Stage: "scan", Done: 4, Total: 10}, {Stage: "write"}} {
		<-seen
		if got, ok := table.Snapshot(id); !ok || got != want {
			t.Errorf("Snapshot = %+v, %v; want %+v", got, ok, want)
		}
		step <- struct{}{}
	}
	for !table.Wait(id, 1000) {
	}
	if got, _ := table.Snapshot(id); !got.Finished {
		t.Errorf("Snapshot after the end = %+v, want Finished", got)
	}
}

func TestUnknownJobNeverBlocks(t *testing.T) {
	var table job.Table
	if !table.Wait(42, 60_000) {
		t.Error("Wait for an unknown job says that it still runs")
	}
	if _, ok := table.Snapshot(42); ok {
		t.Error("Snapshot knows an unknown job")
	}
}

func TestNilJobIsUsable(t *testing.T) {
	var j *job.Job
	j.Progress().SetStage("x")
	j.Progress().SetTotal(1)
	j.Progress().Add(1)
	if err := j.Budget().Acquire(j.Context(), 1<<60); err != nil {
		t.Errorf("Acquire without a budget: %v", err)
	}
	j.Budget().Release(1 << 60)
	if got, want := j.Workers(), runtime.GOMAXPROCS(0); got != want {
		t.Errorf("Workers = %d, want %d", got, want)
	}
	if got := j.With(job.Options{Workers: 3, MemoryLimit: 7}); got.Workers() != 3 || got.Budget().Limit() != 7 {
		t.Errorf("With: got %d workers and %d bytes, want 3 and 7", got.Workers(), got.Budget().Limit())
	}
}

func TestTableLimitsReachTheJob(t *testing.T) {
	var table job.Table
	table.SetLimits(job.Options{Workers: 5, MemoryLimit: 1000})
	id := table.Start(func(j *job.Job) ([]byte, error) {
		if j.Workers() != 5 || j.Budget().Limit() != 1000 {
			return nil, errors.New("limits did not arrive")
		}
		if d := j.With(job.Options{}); d.Workers() != 5 || d.Budget() != j.Budget() {
			return nil, errors.New("limits are not inherited")
		}
		return nil, nil
	})
	if _, err := table.Result(id); err != nil {
		t.Error(err)
	}
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	const limit = 100
	budget := job.NewBudget(limit)
	var mu sync.Mutex
	held, most := int64(0), int64(0)
	g, ctx := safe.NewGroup(context.Background())
	for i := range 200 {
		n := int64(1 + i%limit)
		g.Go(func() error {
			if err := budget.Acquire(ctx, n); err != nil {
				return err
			}
			mu.Lock()
			held += n
			most = max(most, held)
			mu.Unlock()
			runtime.Gosched() // give the others a chance to take too much
			mu.Lock()
			held -= n
			mu.Unlock()
			budget.Release(n)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if most > limit {
		t.Errorf("%d bytes were held at once, limit %d", most, limit)
	}
}

func TestBudgetRefusesWhatCanNeverFit(t *testing.T) {
	err := job.NewBudget(100).Acquire(context.Background(), 101)
	if !fault.Is(err, fault.Limit) {
		t.Fatalf("Acquire: got %v, want a limit fault", err)
	}
	if want := "needs 101 bytes of memory at once, but only 100 may be held"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
}

func TestWaitingForBudgetEndsWithTheContext(t *testing.T) {
	budget := job.NewBudget(10)
	if err := budget.Acquire(context.Background(), 10); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := budget.Acquire(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire: got %v, want context.DeadlineExceeded", err)
	}
}

func TestLateAddOfAnOldStageDoesNotLeak(t *testing.T) {
	var p job.Progress
	var wg sync.WaitGroup
	p.SetStage("one")
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				p.Add(1)
			}
		})
	}
	wg.Wait()
	if name, done, _ := p.Read(); name != "one" || done != 4000 {
		t.Errorf("Read = %q, %d; want one, 4000", name, done)
	}
	p.SetStage("two")
	if name, done, total := p.Read(); name != "two" || done != 0 || total != 0 {
		t.Errorf("Read = %q, %d, %d; want two, 0, 0", name, done, total)
	}
}

// TestSharesAddUpToTheStage: parts in units of their own, rough or too many, fill the total and never pass it.
func TestSharesAddUpToTheStage(t *testing.T) {
	p := &job.Progress{}
	p.SetStage("scan")
	p.SetTotal(1000)
	a, b := p.Share(300, 7), p.Share(700, 1<<62)
	last := int64(0)
	for range 10 {
		a.Add(1)
		b.Add(1 << 58)
		_, done, total := p.Read()
		if done < last || done > total {
			t.Fatalf("%d of %d after %d", done, total, last)
		}
		last = done
	}
	if _, done, _ := p.Read(); done != 300+700*10/16 {
		t.Errorf("%d are done, want all of the first and 10 of 16 parts of the second", done)
	}
	b.Done()
	b.Add(5)
	p.SetStage("write")
	a.Add(3)
	if name, done, _ := p.Read(); name != "write" || done != 0 {
		t.Errorf("work of an old stage counts in %s: %d", name, done)
	}
	var none *job.Progress
	none.Share(1, 0).Done()
}
