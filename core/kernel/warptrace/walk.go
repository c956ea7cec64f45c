package warptrace

import (
	"context"

	"github.com/prlx-go/prlx/core/safe"
)

// WalkOptions say what Walk looks at.
type WalkOptions struct {
	Values bool              // values count when warps are told equal
	All    bool              // visit equal warps too
	Rings  bool              // decode histories and snapshots as well
	Warps  func(uint64) bool // nil: all; others are neither visited nor counted as compared
}

// WalkStats are totals over all warps, visited or not.
type WalkStats struct {
	Warps            int64 // that either side recorded and that were asked for
	Equal            int64
	EventsA, EventsB int64
	LossesA, LossesB Losses
}

// Pair is one warp of both recordings.
type Pair struct {
	Warp       uint64
	A, B       WarpInfo
	HasA, HasB bool
	Equal      bool

	decode   func(a, b *Warp) error
	v1a, v1b V1Events
	isV1     bool
}

// Decode reads both sides. It works until visit returns; the Warps are the caller's and stay valid. Histories and snapshots are
// there under WalkOptions.Rings only.
func (p *Pair) Decode(a, b *Warp) error { return p.decode(a, b) }

// V1 returns the events of both sides as they stand in the files, when both recordings are of format v1: most of two warps that differ
// is equal, and what is equal is found faster as bytes than decoded. They are valid until visit returns.
func (p *Pair) V1() (a, b V1Events, ok bool) { return p.v1a, p.v1b, p.isV1 }

// Walk goes once through two recordings, in ascending order of warps, and visits those that are not equal. Equal ones are told
// without decoding: by their bytes in v1, by their digests in v2. Site numbers are taken to mean the same on both sides where both
// are v1; in v2 digests are made of site keys.
func Walk(ctx context.Context, a, b *Trace, opt WalkOptions, visit func(*Pair) error) (WalkStats, error) {
	va, oneA := a.rec.(*v1)
	vb, oneB := b.rec.(*v1)
	if oneA && oneB && va.layout.slots == vb.layout.slots {
		return walkV1(ctx, va, vb, opt, visit)
	}
	return walkIndexes(ctx, a, b, opt, visit)
}

// walkIndexes merges the indexes of two recordings of any format.
func walkIndexes(ctx context.Context, a, b *Trace, opt WalkOptions, visit func(*Pair) error) (WalkStats, error) {
	var stats WalkStats
	var ia, ib []WarpInfo
	group, gctx := safe.NewGroup(ctx)
	group.Go(func() (err error) {
		if ia, err = a.Index(gctx); err == nil {
			stats.LossesA, err = a.Losses(gctx)
		}
		return err
	})
	group.Go(func() (err error) {
		if ib, err = b.Index(gctx); err == nil {
			stats.LossesB, err = b.Losses(gctx)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return stats, err
	}
	stats.EventsA, stats.EventsB = stats.LossesA.Events, stats.LossesB.Events
	w := &indexWalk{ctx: ctx, a: a, b: b, opt: opt, visit: visit, stats: &stats}
	for len(ia) > 0 || len(ib) > 0 {
		p := Pair{HasA: len(ia) > 0, HasB: len(ib) > 0}
		if p.HasA && p.HasB && ia[0].Warp != ib[0].Warp {
			p.HasA, p.HasB = ia[0].Warp < ib[0].Warp, ib[0].Warp < ia[0].Warp
		}
		if p.HasA {
			p.A, ia = ia[0], ia[1:]
			p.Warp = p.A.Warp
		}
		if p.HasB {
			p.B, ib = ib[0], ib[1:]
			p.Warp = p.B.Warp
		}
		if err := w.pair(&p); err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// indexWalk is what walkIndexes does with each pair.
type indexWalk struct {
	ctx   context.Context
	a, b  *Trace
	opt   WalkOptions
	visit func(*Pair) error
	stats *WalkStats
}

func (w *indexWalk) pair(p *Pair) error {
	if w.opt.Warps != nil && !w.opt.Warps(p.Warp) {
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.stats.Warps++
	p.A.Warp, p.B.Warp = p.Warp, p.Warp
	p.Equal = p.HasA && p.HasB && sameByDigest(&p.A, &p.B, w.opt.Values)
	if p.Equal {
		w.stats.Equal++
		if !w.opt.All {
			return nil
		}
	}
	p.decode = func(a, b *Warp) error {
		if err := w.a.ReadWarp(w.ctx, p.Warp, a); err != nil {
			return err
		}
		return w.b.ReadWarp(w.ctx, p.Warp, b)
	}
	return w.visit(p)
}

// sameByDigest reports whether digests say that two warps are equal. Warps that lost events are equal only when they lost as many.
func sameByDigest(a, b *WarpInfo, values bool) bool {
	if !a.HasDigest || !b.HasDigest || a.Events != b.Events || a.Dropped != b.Dropped || a.Before != b.Before {
		return false
	}
	if a.HasRolling && b.HasRolling && a.Rolling != b.Rolling {
		return false
	}
	if values {
		return a.Digest == b.Digest
	}
	return a.Control == b.Control
}
