package snapshot

import (
	"context"
	"time"
)

// SystemTimer waits by the machine's own monotonic clock.
type SystemTimer struct{ start time.Time }

// NewSystemTimer makes a timer that begins now.
func NewSystemTimer() *SystemTimer { return &SystemTimer{start: time.Now()} }

// Now is the time since the timer was made.
func (t *SystemTimer) Now() int64 { return int64(time.Since(t.start)) }

// Wait returns when Now has reached an instant, or with the context's error.
func (t *SystemTimer) Wait(ctx context.Context, untilNS int64) error {
	d := time.NewTimer(time.Duration(untilNS - t.Now()))
	defer d.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.C:
		return nil
	}
}
