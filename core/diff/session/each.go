package session

import (
	"sync/atomic"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
)

// each does the work of n launches in the job's workers. Each launch has its share of the workers and of the memory.
func each(j *job.Job, n int, work func(j *job.Job, i int) error) error {
	workers := min(j.Workers(), n)
	if workers == 0 {
		return j.Context().Err()
	}
	j.Progress().SetTotal(int64(n))
	share := job.Options{Workers: max(1, j.Workers()/workers)}
	if limit := j.Budget().Limit(); limit > 0 {
		share.MemoryLimit = max(1, limit/int64(workers))
	}
	group, ctx := safe.NewGroup(j.Context())
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			mine := job.New(ctx, share)
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(mine, i); err != nil {
					return err
				}
				j.Progress().Add(1)
			}
		})
	}
	return group.Wait()
}
