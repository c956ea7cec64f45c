package warptrace

import (
	"cmp"
	"context"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/safe"
)

// WalkOptions say what Walk looks at.
type WalkOptions struct {
	Values bool              // values count when warps are told equal
	All    bool              // visit equal warps too
	Reused bool              // a site number or key of one side stands for another site on the other: no warp is told equal
	Rings  bool              // decode histories and snapshots as well
	Warps  func(uint64) bool // nil: all; others are neither visited nor counted as compared
}

// WalkStats are totals over all warps, visited or not.
type WalkStats struct {
	Warps            int64 // that either side recorded and that were asked for
	Equal            int64
	WarpsA, WarpsB   int64 // that recorded something, of all
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
	held     [2]*file.Mapping // what v1a and v1b lie in; nil: a buffer of the walk
}

// Decode reads both sides. It works until visit returns; the Warps are the caller's and stay valid. Histories and snapshots are
// there under WalkOptions.Rings only.
func (p *Pair) Decode(a, b *Warp) error { return p.decode(a, b) }

// V1 returns the events of both sides as they stand in the files, when both recordings are of format v1: most of two warps that differ
// is equal, and what is equal is found faster as bytes than decoded. They are valid until visit returns.
func (p *Pair) V1() (a, b V1Events, ok bool) { return p.v1a, p.v1b, p.isV1 }

// Hold keeps what V1 returns valid behind visit, until Release. It returns false where they lie in a buffer, which is used again: they have
// to be copied. Whoever reads them in another goroutine does it under file.Guarded.
func (p *Pair) Hold() bool {
	if p.held[0] == nil || p.held[1] == nil {
		return false
	}
	p.held[0].Hold()
	p.held[1].Hold()
	return true
}

// Release lets go of what Hold held.
func (p *Pair) Release() error { return cmp.Or(p.held[0].Release(), p.held[1].Release()) }

// stream is one pass over a recording, in ascending order of warps.
type stream interface {
	// next moves to the next warp that recorded something. It returns false behind the last one.
	next() (WarpInfo, bool, error)
	// events returns the events of the current warp as they stand in a file of v1. It returns false for other formats.
	events() (V1Events, bool)
	// mapping is what events lie in, nil: a buffer.
	mapping() *file.Mapping
	// decode reads the current warp, its rings when they are asked for.
	decode(into *Warp, rings bool) error
	// losses says what is missing from the whole file. It is called when next has returned false.
	losses() Losses
	close()
}

// Walk goes once through two recordings, in ascending order of warps, and visits those that are not equal. Equal ones are told
// without decoding: by their bytes where both are v1, by their digests where both have them; otherwise a warp counts as unequal and
// whoever visits it decides. Site numbers are taken to mean the same on both sides where both are v1; in v2 digests are made of
// site keys. Histories and snapshots do not make warps unequal.
func Walk(ctx context.Context, a, b *Trace, opt WalkOptions, visit func(*Pair) error) (WalkStats, error) {
	w := walker{ctx: ctx, opt: opt, visit: visit, paths: [2]string{a.Path(), b.Path()}}
	group, gctx := safe.NewGroup(ctx)
	group.Go(func() error { return w.a.open(ctx, gctx, a) })
	group.Go(func() error { return w.b.open(ctx, gctx, b) })
	err := group.Wait()
	defer w.a.close()
	defer w.b.close()
	if err != nil {
		return w.stats, err
	}
	if err := file.Guarded(w.run); err != nil {
		return w.stats, err
	}
	w.stats.WarpsA, w.stats.WarpsB = w.a.warps, w.b.warps
	w.stats.LossesA, w.stats.LossesB = w.a.losses(), w.b.losses()
	w.stats.EventsA, w.stats.EventsB = w.stats.LossesA.Events, w.stats.LossesB.Events
	return w.stats, nil
}

// walker is one Walk.
type walker struct {
	ctx   context.Context
	opt   WalkOptions
	visit func(*Pair) error
	a, b  side
	paths [2]string
	stats WalkStats
}

// side is one recording of a walk and the warp where it stands.
type side struct {
	stream
	info  WarpInfo
	ok    bool
	warps int64 // behind or where it stands
}

// open starts the pass under walk; index, the context of opening both sides, ends before the pass does.
func (s *side) open(walk, index context.Context, t *Trace) (err error) {
	s.stream, err = t.stream(walk, index)
	return err
}

// absent refuses a warp that is not there because of damage.
func (s *side) absent(warp uint64) error {
	if of, ok := s.stream.(*v1Stream); ok {
		return of.v.absent(warp)
	}
	return nil
}

func (s *side) close() {
	if s.stream != nil {
		s.stream.close()
	}
}

func (s *side) advance() (err error) {
	if s.info, s.ok, err = s.next(); s.ok {
		s.warps++
	}
	return err
}

// run merges the warps of both sides.
func (w *walker) run() error {
	advanceA, advanceB := true, true
	for n := uint(0); ; n++ {
		if n&0xff == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if advanceA {
			if err := w.a.advance(); err != nil {
				return err
			}
		}
		if advanceB {
			if err := w.b.advance(); err != nil {
				return err
			}
		}
		if !w.a.ok && !w.b.ok {
			return nil
		}
		advanceA = w.a.ok && (!w.b.ok || w.a.info.Warp <= w.b.info.Warp)
		advanceB = w.b.ok && (!w.a.ok || w.b.info.Warp <= w.a.info.Warp)
		if err := w.pair(advanceA, advanceB); err != nil {
			return err
		}
	}
}

// pair counts the warp where one or both sides stand, and visits it when that is due.
func (w *walker) pair(hasA, hasB bool) error {
	warp := w.a.info.Warp
	if !hasA {
		warp = w.b.info.Warp
	}
	if w.opt.Warps != nil && !w.opt.Warps(warp) {
		return nil
	}
	w.stats.Warps++
	equal := hasA && hasB && w.same()
	if equal {
		w.stats.Equal++
		if !w.opt.All {
			return nil
		}
	}
	p := &Pair{Warp: warp, A: WarpInfo{Warp: warp}, B: WarpInfo{Warp: warp}, HasA: hasA, HasB: hasB, Equal: equal}
	_, v1A := w.a.events()
	_, v1B := w.b.events()
	p.isV1 = v1A && v1B
	if hasA {
		p.A = w.a.info
		p.v1a, _ = w.a.events()
		p.held[0] = w.a.mapping()
		if err := p.v1a.whole(w.paths[0], warp); err != nil {
			return err
		}
	} else if err := w.a.absent(warp); err != nil {
		return err
	}
	if hasB {
		p.B = w.b.info
		p.v1b, _ = w.b.events()
		p.held[1] = w.b.mapping()
		if err := p.v1b.whole(w.paths[1], warp); err != nil {
			return err
		}
	} else if err := w.b.absent(warp); err != nil {
		return err
	}
	p.decode = func(a, b *Warp) error { return w.decode(p, a, b) }
	return w.visit(p)
}

func (w *walker) decode(p *Pair, a, b *Warp) error {
	a.reset(p.A, 0)
	b.reset(p.B, 0)
	if p.HasA {
		if err := w.a.decode(a, w.opt.Rings); err != nil {
			return err
		}
	}
	if !p.HasB {
		return nil
	}
	return w.b.decode(b, w.opt.Rings)
}

// same reports whether both sides stand at equal warps, as far as that shows without decoding.
func (w *walker) same() bool {
	if w.opt.Reused {
		return false
	}
	ea, rawA := w.a.events()
	eb, rawB := w.b.events()
	if rawA && rawB {
		return w.a.info.Dropped == w.b.info.Dropped && sameEvents(ea, eb, w.opt.Values)
	}
	return sameByDigest(&w.a.info, &w.b.info, w.opt.Values)
}

// sameByDigest reports whether digests say that two warps are equal; that they are not, digests cannot say. Warps that lost events are equal only when they lost as many.
func sameByDigest(a, b *WarpInfo, values bool) bool {
	if !a.HasDigest || !b.HasDigest || a.Events != b.Events || a.Dropped != b.Dropped || a.Before != b.Before || a.Total != b.Total {
		return false
	}
	if a.HasRolling && b.HasRolling && a.Rolling != b.Rolling {
		return false
	}
	if a.Events == 0 {
		return true
	}
	if values {
		return a.Digest == b.Digest
	}
	return a.Control == b.Control
}

// stream starts a pass over the recording under walk. What has to be read before the first warp is read under index.
func (t *Trace) stream(walk, index context.Context) (stream, error) {
	if v, ok := t.rec.(*v1); ok {
		return v.stream(walk)
	}
	warps, err := t.rec.index(index)
	if err != nil {
		return nil, err
	}
	lost, err := t.rec.losses(index)
	if err != nil {
		return nil, err
	}
	return &indexStream{ctx: walk, rec: t.rec, index: warps, at: -1, lost: lost}, nil
}

// indexStream is a pass over a recording that has an index.
type indexStream struct {
	ctx   context.Context
	rec   recording
	index []WarpInfo
	at    int
	lost  Losses
}

func (s *indexStream) next() (WarpInfo, bool, error) {
	if s.at++; s.at >= len(s.index) {
		return WarpInfo{}, false, nil
	}
	return s.index[s.at], true, nil
}

func (s *indexStream) decode(into *Warp, rings bool) error {
	if err := s.rec.readWarp(s.ctx, s.at, into); err != nil {
		return err
	}
	if !rings {
		into.History, into.Snapshots = into.History[:0], into.Snapshots[:0]
	}
	return nil
}

func (s *indexStream) events() (V1Events, bool) { return nil, false }
func (s *indexStream) mapping() *file.Mapping   { return nil }
func (s *indexStream) losses() Losses           { return s.lost }
func (s *indexStream) close()                   {}
