package job

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/prlx-go/prlx/core/fault"
)

// Budget bounds how many bytes of buffers are held at once. Whoever needs a buffer acquires its size first and releases it
// afterwards; requests are served in order, so a large one is not starved by small ones. A nil *Budget has no limit.
type Budget struct {
	limit int64
	free  *semaphore.Weighted
}

// newBudget returns a budget of limit bytes, or nil (no limit) when limit is not positive.
func newBudget(limit int64) *Budget {
	if limit <= 0 {
		return nil
	}
	return &Budget{limit: limit, free: semaphore.NewWeighted(limit)}
}

// Limit is the size of the whole budget in bytes, 0 when there is none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Acquire waits until n bytes are free and takes them. It fails when ctx is done, and at once, with a
// fault.Limit error, when n exceeds the whole budget: waiting would never end.
func (b *Budget) Acquire(ctx context.Context, n int64) error {
	if b == nil {
		return ctx.Err()
	}
	if n > b.limit {
		return fault.New(fault.Limit, "needs %d bytes of memory at once, but only %d may be held", n, b.limit).
			WithHint("raise the memory limit (--memory-limit)")
	}
	return b.free.Acquire(ctx, n)
}

// Release gives n bytes back. Releasing more than was acquired panics.
func (b *Budget) Release(n int64) {
	if b != nil {
		b.free.Release(n)
	}
}
