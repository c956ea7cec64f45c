package combine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/prlx-go/prlx/core/safe"
)

// digester writes an output and takes its size and its SHA-256 on the way. With several workers the digest is taken beside the writing, a
// few blocks behind it: one after the other would take longer than two workers need to make the blocks.
type digester struct {
	dst  io.Writer
	size int64
	sum  hash.Hash

	queue chan written // nil: the digest is taken at once
	group *safe.Group
	ctx   context.Context
}

// written is text that was written; its buffer is free once the digest has it.
type written struct {
	text []byte
	free func([]byte)
}

// digestBehind is how many blocks the digest may be behind.
const digestBehind = 4

func newDigester(ctx context.Context, dst io.Writer, workers int) *digester {
	d := &digester{dst: dst, sum: sha256.New()}
	if workers < 2 {
		return d
	}
	queue := make(chan written, digestBehind)
	d.queue = queue
	d.group, d.ctx = safe.NewGroup(ctx)
	d.group.Go(func() error {
		for w := range queue {
			d.sum.Write(w.text)
			w.free(w.text)
		}
		return nil
	})
	return d
}

// Write writes text that stays the caller's.
func (d *digester) Write(p []byte) (int, error) {
	if d.queue != nil {
		p = append([]byte(nil), p...)
	}
	return len(p), d.take(p, func([]byte) {})
}

// take writes text and owns it until it calls free.
func (d *digester) take(p []byte, free func([]byte)) error {
	n, err := d.dst.Write(p)
	d.size += int64(n)
	if err != nil {
		return err
	}
	if d.queue == nil {
		d.sum.Write(p)
		free(p)
		return nil
	}
	select {
	case d.queue <- written{p, free}:
		return nil
	case <-d.ctx.Done():
		return context.Cause(d.ctx)
	}
}

// close waits for the digest. It may be called twice.
func (d *digester) close() error {
	if d.queue == nil {
		return nil
	}
	close(d.queue)
	d.queue = nil
	return d.group.Wait()
}

// hex is the digest of what was written, after close.
func (d *digester) hex() string { return hex.EncodeToString(d.sum.Sum(nil)) }
