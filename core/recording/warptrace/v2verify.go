package warptrace

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/prlx-go/prlx/core/safe"
)

// BlocksRead says how much of a recording was read. Equal warps are told by their digests and equal outputs by their sums, so the blocks
// with their details are not, and what is damaged in those is not noticed.
type BlocksRead struct {
	Blocks int64 // that hold events or what was written; 0 where the format has none
	Unread int64
}

// BlocksRead says how much was read since the recording was opened.
func (t *Trace) BlocksRead() BlocksRead {
	v, ok := t.rec.(*v2)
	if !ok {
		return BlocksRead{}
	}
	var n BlocksRead
	for i := range v.blocks {
		if holdsWarps(v.blocks[i].head.kind) {
			n.Blocks++
			if !v.read[i].Load() {
				n.Unread++
			}
		}
	}
	n.Blocks += int64(len(v.extras))
	for i := range v.extras {
		if !v.extra[i].Load() {
			n.Unread++
		}
	}
	return n
}

// Verify reads the whole recording, by so many workers (0: as many as there are processors): every block must be there and have its
// checksum, the index must list them all and say what they say, and every warp must decode to events with the digests that the index has.
// What is not so is an error with the offset. A recording that was found whole is not read again. A file that was cut short is whole up to its end. Files of v1 have nothing to be checked by.
func (t *Trace) Verify(ctx context.Context, workers int) error {
	v, ok := t.rec.(*v2)
	if !ok || v.verified.Load() {
		return nil
	}
	if err := v.verifyChain(ctx); err != nil {
		return err
	}
	if err := v.verifyWarps(ctx, workers); err != nil {
		return err
	}
	if err := v.verifyOutputs(ctx); err != nil {
		return err
	}
	v.verified.Store(true)
	return nil
}

// verifyChain goes from block to block. They lie one behind the other, up to the trailer.
func (v *v2) verifyChain(ctx context.Context) error {
	size := v.in.Size()
	listed := make(map[int64]v2Head, len(v.blocks))
	for _, b := range slices.Concat(v.blocks, v.extras) {
		listed[b.offset] = b.head
	}
	if v.textsAt != nil {
		listed[v.textsAt.offset] = v.textsAt.head
	}
	off, stop, last := int64(v2Preamble), size-v2Trailer, uint8(0)
	if v.header.Truncated {
		stop = size
	}
	for off < stop {
		head, ok, err := v.headAt(off, stop)
		if err != nil {
			return err
		}
		if !ok {
			if v.header.Truncated && (v.isCut(off) || last == v2End && size-off < v2Trailer) {
				break
			}
			return v.corrupt(off, "the recording is damaged: expected a block here, and there is none that fits")
		}
		sum, err := v.crcOf(ctx, off+v2HeadBytes, int64(head.stored))
		if err != nil {
			return err
		}
		if sum != head.payCRC {
			return v.corrupt(off, "the recording is damaged: the checksum of a block does not fit")
		}
		if head.kind == v2Sites || holdsWarps(head.kind) || isExtra(head.kind) || head.kind == v2TextsKind {
			if known, ok := listed[off]; !ok || known != head {
				return v.corrupt(off, "the recording is damaged: neither index nor end list this block")
			}
			delete(listed, off)
		}
		off, last = off+v2HeadBytes+int64(head.stored), head.kind
	}
	if len(listed) > 0 {
		missing := size
		for at := range listed {
			missing = min(missing, at)
		}
		return v.corrupt(missing, "the recording is damaged: the index lists a block here, and there is none")
	}
	return v.verifyTotals()
}

// isCut reports whether a file ends inside the block that begins at an offset, as it does when its writer was stopped.
func (v *v2) isCut(off int64) bool {
	rest := v.in.Size() - off
	if rest < v2HeadBytes {
		b := make([]byte, min(rest, int64(len(v2BlockMagic))))
		return v.readAt(b, off) == nil && string(b) == v2BlockMagic[:len(b)]
	}
	b := make([]byte, v2HeadBytes)
	if v.readAt(b, off) != nil {
		return false
	}
	head, ok := parseV2Head(b)
	return ok && int64(head.stored) > rest-v2HeadBytes
}

// verifyTotals compares the end of a file with what the index says of its warps.
func (v *v2) verifyTotals() error {
	if v.header.Truncated {
		return nil
	}
	found := v2Totals{
		warps: uint64(len(v.warps)), events: uint64(v.lost.Events), dropped: uint64(v.lost.Dropped), dropping: uint64(v.lost.WarpsWithDrops),
	}
	t := v.totals
	if t.warps != found.warps || t.events != found.events || t.dropped != found.dropped || t.dropping != found.dropping {
		return v.corrupt(v.in.Size()-v2Trailer, "the recording is damaged: its end counts %d warps and %d events, its blocks have %d and %d",
			t.warps, t.events, found.warps, found.events)
	}
	return nil
}

// verifyWarps reads every warp, block by block. Of several errors the one of the first block is returned, whoever found it first.
func (v *v2) verifyWarps(ctx context.Context, workers int) error {
	of := make([][]int, len(v.blocks)) // positions in the index, by block
	for at, where := range v.where {
		of[where.block] = append(of[where.block], at)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, len(v.blocks))
	var next, failed atomic.Int64
	failed.Store(int64(len(v.blocks)))
	group, ctx := safe.NewGroup(ctx)
	for range min(workers, len(v.blocks)) {
		group.Go(func() error {
			var w Warp
			for {
				i := next.Add(1) - 1
				if i >= failed.Load() || i >= int64(len(v.blocks)) {
					return ctx.Err()
				}
				if errs[i] = v.verifyBlock(ctx, of[i], &w); errs[i] != nil {
					for was := failed.Load(); i < was && !failed.CompareAndSwap(was, i); was = failed.Load() {
					}
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if at := slices.IndexFunc(errs, func(err error) bool { return err != nil }); at >= 0 {
		return errs[at]
	}
	return nil
}

// verifyBlock reads the warps of one block.
func (v *v2) verifyBlock(ctx context.Context, positions []int, w *Warp) error {
	for _, at := range positions {
		if err := v.readWarp(ctx, at, w); err != nil {
			return err
		}
	}
	return nil
}

// verifyOutputs reads what the launch wrote, and the text of the kernel.
func (v *v2) verifyOutputs(ctx context.Context) error {
	if _, err := v.stores(ctx); err != nil {
		return err
	}
	if _, err := v.outputs(ctx); err != nil {
		return err
	}
	if _, err := v.texts(ctx); err != nil {
		return err
	}
	return v.contents(ctx, func(*Contents) error { return nil })
}
