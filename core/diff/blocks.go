package diff

import (
	"fmt"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Blocks says how much of two recordings of format v2 was read. Warps with equal digests are not, nor are
// the details of outputs with equal sums: what is damaged in a block that was not read is not noticed.
type Blocks struct {
	Total    int64 `json:"total"` // of both recordings, that hold events or what was written
	Unread   int64 `json:"unread"`
	Verified bool  `json:"verified"` // everything was read and checked first
}

// verify reads all of two recordings, where that was asked for. Damage is noted, and refused where the rest does not differ.
func (r *Result) verify(j *job.Job, opt *Options, a, b *warptrace.Trace) error {
	if !opt.Verify {
		return nil
	}
	j.Progress().SetStage("verifying")
	for _, t := range []*warptrace.Trace{a, b} {
		if err := t.Verify(j.Context(), j.Workers()); err != nil && !r.damage.took(err, a, b) {
			return err
		}
	}
	return nil
}

// blocksOf counts what was read of two recordings, nil where the format has no blocks.
func blocksOf(a, b *warptrace.Trace, opt *Options) *Blocks {
	x, y := a.BlocksRead(), b.BlocksRead()
	if x.Blocks+y.Blocks == 0 {
		return nil
	}
	return &Blocks{Total: x.Blocks + y.Blocks, Unread: x.Unread + y.Unread, Verified: opt.Verify}
}

// Add counts another pair of recordings.
func (b *Blocks) Add(o *Blocks) {
	if o != nil {
		b.Total, b.Unread, b.Verified = b.Total+o.Total, b.Unread+o.Unread, b.Verified || o.Verified
	}
}

// Text says what was not read, "" when everything was.
func (b *Blocks) Text() string {
	if b == nil || b.Unread == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s equal by digest and not read", b.Unread, counted(b.Total, "block"))
}

// unread is what a verdict says of blocks that were not read, where nothing differs.
func (b *Blocks) unread(differ int64) string {
	if text := b.Text(); text != "" && differ == 0 {
		return " (" + text + ")"
	}
	return ""
}
