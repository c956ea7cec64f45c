package diff

import (
	"cmp"
	"context"
	"sync"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
)

// inFlight is how many warps may be compared ahead of the first that is not done: results are gathered in the order of warps.
const inFlight = 1024

// pool compares warps. The walk itself compares those that take no time, and the others when no worker is idle.
type pool struct {
	ctx    context.Context
	a, b   *warptrace.Trace
	g      *gathering
	own    *worker // the walk's
	tasks  chan task
	idle   chan *rawPair // workers that wait for a task, by their buffers
	window chan struct{}
	next   int64 // number of the next task

	mu    sync.Mutex
	ready map[int64]*warpDiff // results that wait for earlier ones
	first int64               // number of the first result that is missing
}

// task is one warp to be compared: as bytes, or to be read.
type task struct {
	number int64
	pair   warptrace.Pair
	raw    *rawPair // nil: to be read
	buffer *rawPair // the worker's from now on
	held   bool     // raw lies in mapped files

	expected int // edits
}

// rawPair holds the events of two v1 warps, which are copies where a worker has them and the files are not mapped.
type rawPair struct{ a, b []byte }

// compareWarps walks through two recordings and gathers what differs.
func compareWarps(j *job.Job, a, b *warptrace.Trace, g *gathering) error {
	workers := j.Workers()
	group, ctx := safe.NewGroup(j.Context())
	p := &pool{
		ctx: ctx, a: a, b: b, g: g, own: g.newWorker(ctx), tasks: make(chan task), idle: make(chan *rawPair, workers),
		window: make(chan struct{}, inFlight), ready: make(map[int64]*warpDiff),
	}
	for range workers - 1 { // the walk is one, too
		group.Go(func() error { return file.Guarded(p.work) })
	}
	group.Go(func() error {
		defer close(p.tasks)
		opt := warptrace.WalkOptions{Values: g.opt.Values, Reused: g.sites.reused}
		if !g.opt.Warps.All() {
			opt.Warps = g.opt.Warps.Has
		}
		stats, err := warptrace.Walk(ctx, a, b, opt, func(pair *warptrace.Pair) error { return p.visit(pair) })
		g.walked(stats)
		return err
	})
	return group.Wait()
}

// visit compares a pair, or has it compared.
func (p *pool) visit(pair *warptrace.Pair) error {
	select {
	case p.window <- struct{}{}:
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	number := p.next
	p.next++
	if d, done := p.g.withoutEvents(pair); done {
		p.finish(number, d)
		return nil
	}
	p.own.expected = 0
	rawA, rawB, isRaw := pair.V1()
	if isRaw {
		p.own.setRaw(pair, rawA, rawB)
		if d, done := p.own.compare(pair.Warp, true); done {
			p.finish(number, d)
			return nil
		}
	}
	t := task{number: number, pair: *pair, expected: p.own.expected}
	select {
	case buffer := <-p.idle:
		if t.buffer = buffer; isRaw {
			if t.held = pair.Hold(); t.held {
				t.raw = &rawPair{rawA, rawB}
			} else {
				buffer.a, buffer.b = append(buffer.a[:0], rawA...), append(buffer.b[:0], rawB...)
				t.raw = buffer
			}
		}
		p.tasks <- t // to the worker that was idle, or one that has become so
		return nil
	default:
	}
	if isRaw {
		t.raw = &rawPair{rawA, rawB}
	}
	return p.do(p.own, &t)
}

// work does tasks until there are no more.
func (p *pool) work() error {
	w, buffer := p.g.newWorker(p.ctx), &rawPair{}
	for {
		p.idle <- buffer
		t, ok := <-p.tasks
		if !ok {
			return nil
		}
		buffer = t.buffer // which may have been another worker's
		err := p.do(w, &t)
		if t.held {
			err = cmp.Or(err, t.pair.Release())
		}
		if err != nil {
			return err
		}
	}
}

func (p *pool) do(w *worker, t *task) error {
	if t.raw != nil {
		w.setRaw(&t.pair, t.raw.a, t.raw.b)
	} else if err := w.read(p.ctx, p.a, p.b, &t.pair); err != nil {
		if !p.g.r.damage.took(err, p.a, p.b) {
			return err
		}
		p.finish(t.number, &warpDiff{warp: t.pair.Warp, lost: true})
		return nil
	}
	w.expected = t.expected
	d, _ := w.compare(t.pair.Warp, false)
	p.finish(t.number, d)
	return nil
}

// finish hands in a result; those that are complete from the first on are gathered.
func (p *pool) finish(number int64, d *warpDiff) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready[number] = d
	for {
		d, ok := p.ready[p.first]
		if !ok {
			return
		}
		delete(p.ready, p.first)
		p.first++
		if d != nil {
			p.g.add(d)
		}
		<-p.window
	}
}

// setRaw sets the pair of streams to events of v1.
func (w *worker) setRaw(pair *warptrace.Pair, a, b warptrace.V1Events) {
	w.pair.a = stream{n: a.Len(), raw: a, info: pair.A}
	w.pair.b = stream{n: b.Len(), raw: b, info: pair.B}
}

// read fills the pair of streams from the recordings.
func (w *worker) read(ctx context.Context, a, b *warptrace.Trace, pair *warptrace.Pair) error {
	if done, err := w.readCoded(ctx, a, b, pair.Warp); done || err != nil {
		return err
	}
	if err := a.ReadWarp(ctx, pair.Warp, &w.warpA); err != nil {
		return err
	}
	if err := b.ReadWarp(ctx, pair.Warp, &w.warpB); err != nil {
		return err
	}
	w.setColumns(&w.warpA, &w.warpB)
	return nil
}

func (w *worker) setColumns(a, b *warptrace.Warp) {
	w.pair.a = stream{n: a.Len(), w: a, info: a.WarpInfo, taken: w.sites.a.Header().Taken}
	w.pair.b = stream{n: b.Len(), w: b, info: b.WarpInfo, taken: w.sites.b.Header().Taken}
}
