package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/file"
)

// slotReader reads the event buffers of warps in ascending order.
type slotReader interface {
	// next returns the counters of the next slot and the bytes of its events, valid until the next call.
	next() (v1Counters, []byte, error)
	close()
}

// walkV1 walks two recordings of format v1 with as many warps. It reads each once, in order, compressed or not.
func walkV1(ctx context.Context, a, b *v1, opt WalkOptions, visit func(*Pair) error) (WalkStats, error) {
	stats := WalkStats{LossesA: a.newLosses(), LossesB: b.newLosses()}
	ra, err := a.slotReader(ctx)
	if err != nil {
		return stats, err
	}
	defer ra.close()
	rb, err := b.slotReader(ctx)
	if err != nil {
		return stats, err
	}
	defer rb.close()
	for slot := range a.layout.slots {
		if slot&0xff == 0 && ctx.Err() != nil {
			return stats, ctx.Err()
		}
		ca, ea, err := ra.next()
		if err != nil {
			return stats, err
		}
		cb, eb, err := rb.next()
		if err != nil {
			return stats, err
		}
		if err := v1Pair(ctx, a, b, slot, ca, cb, ea, eb, opt, &stats, visit); err != nil {
			return stats, err
		}
	}
	stats.EventsA, stats.EventsB = stats.LossesA.Events, stats.LossesB.Events
	return stats, nil
}

// v1Pair counts one slot of both sides, and visits it when it asks for that.
func v1Pair(ctx context.Context, a, b *v1, slot int64, ca, cb v1Counters, ea, eb []byte, opt WalkOptions, stats *WalkStats, visit func(*Pair) error) error {
	p := Pair{Warp: uint64(slot), HasA: ca != v1Counters{}, HasB: cb != v1Counters{}}
	if !p.HasA && !p.HasB {
		return nil
	}
	p.A, p.B = a.info(slot, ca), b.info(slot, cb)
	stats.LossesA.count(&p.A)
	stats.LossesB.count(&p.B)
	if opt.Warps != nil && !opt.Warps(p.Warp) {
		return nil
	}
	stats.Warps++
	if p.Equal = p.HasA && p.HasB && p.A.Dropped == p.B.Dropped && sameEvents(ea, eb, opt.Values); p.Equal {
		stats.Equal++
		if !opt.All {
			return nil
		}
	}
	p.v1a, p.v1b, p.isV1 = ea, eb, true
	p.decode = func(wa, wb *Warp) error {
		decodeV1(ea, p.A, wa)
		decodeV1(eb, p.B, wb)
		if !opt.Rings {
			return nil
		}
		if err := a.readRings(ctx, wa); err != nil {
			return err
		}
		return b.readRings(ctx, wb)
	}
	return visit(&p)
}

// readRings reads a warp's rings, wherever they are.
func (v *v1) readRings(ctx context.Context, w *Warp) error {
	if v.layout.history.depth == 0 && v.layout.snapshots.depth == 0 {
		return nil
	}
	v.mu.Lock()
	src, base, err := v.at(ctx)
	v.mu.Unlock()
	if err != nil {
		return err
	}
	return v.rings(src, base, w)
}

// sameEvents compares the events of a warp. Without values the last four bytes of each event and its reserved field do not count.
func sameEvents(a, b []byte, values bool) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if values || len(a) != len(b) {
		return false
	}
	const control = 0x0000_ffff_ffff_ffff // site, kind, direction
	for i := 0; i+v1EventBytes <= len(a); i += v1EventBytes {
		x, y := a[i:i+12], b[i:i+12]
		low := binary.LittleEndian.Uint64(x) ^ binary.LittleEndian.Uint64(y)
		mask := binary.LittleEndian.Uint32(x[8:]) ^ binary.LittleEndian.Uint32(y[8:])
		if low&control != 0 || mask != 0 {
			return false
		}
	}
	return true
}

// slotReader starts a pass over the event buffers.
func (v *v1) slotReader(ctx context.Context) (slotReader, error) {
	if v.layout.compressed() {
		d, err := v.inflate(ctx, 1)
		if err != nil {
			return nil, err
		}
		return &inflatedSlots{v: v, d: d, buf: make([]byte, v1WarpHead)}, nil
	}
	return &plainSlots{src: v.src, layout: v.layout}, nil
}

// slotWindow is how much of a file is read at once: both sides together stay in a core's second-level cache.
const slotWindow = 128 << 10

// plainSlots reads the buffers of an uncompressed file: whole windows where buffers are well filled, else only what is used.
type plainSlots struct {
	src    *file.Source
	layout *v1Layout
	slot   int64 // the next one
	buf    []byte
	first  int64 // slot at the start of buf
	held   int64 // whole slots in buf
	used   int64 // bytes of the last slot that were in use
}

func (r *plainSlots) next() (v1Counters, []byte, error) {
	slot, stride := r.slot, r.layout.warpBytes()
	r.slot++
	if slot < r.first+r.held {
		return r.cut(r.buf[(slot-r.first)*stride:][:stride])
	}
	r.held = 0
	if n := slotWindow / stride; n > 1 {
		return r.window(slot, stride, min(n, r.layout.slots-slot))
	}
	return r.single(slot, stride)
}

// window reads several slots at once.
func (r *plainSlots) window(slot, stride, n int64) (v1Counters, []byte, error) {
	r.grow(n * stride)
	if _, err := r.src.ReadAt(r.buf[:n*stride], v1Header+slot*stride); err != nil {
		return v1Counters{}, nil, err
	}
	r.first, r.held = slot, n
	return r.cut(r.buf[:stride])
}

// single reads one slot: as much as the one before used, then the rest.
func (r *plainSlots) single(slot, stride int64) (v1Counters, []byte, error) {
	off := v1Header + slot*stride
	got := max(v1WarpHead, min(r.used, stride))
	r.grow(got)
	if _, err := r.src.ReadAt(r.buf[:got], off); err != nil {
		return v1Counters{}, nil, err
	}
	c := v1CountersOf(r.buf)
	r.used = v1WarpHead + min(int64(c.events), r.layout.eventsPerWarp)*v1EventBytes
	if r.used > got {
		r.grow(r.used)
		if _, err := r.src.ReadAt(r.buf[got:r.used], off+got); err != nil {
			return v1Counters{}, nil, err
		}
	}
	return c, r.buf[v1WarpHead:r.used], nil
}

// grow makes room for n bytes and keeps what is there.
func (r *plainSlots) grow(n int64) {
	if int64(len(r.buf)) < n {
		r.buf = append(r.buf, make([]byte, n-int64(len(r.buf)))...)
	}
}

func (r *plainSlots) cut(b []byte) (v1Counters, []byte, error) {
	c := v1CountersOf(b)
	return c, b[v1WarpHead : v1WarpHead+min(int64(c.events), r.layout.eventsPerWarp)*v1EventBytes], nil
}

func (r *plainSlots) close() {}

// inflatedSlots reads the buffers of a compressed file while it is inflated.
type inflatedSlots struct {
	v   *v1
	d   *zstd.Decoder
	buf []byte
}

func (r *inflatedSlots) next() (v1Counters, []byte, error) {
	stride := r.v.layout.warpBytes()
	if _, err := io.ReadFull(r.d, r.buf[:v1WarpHead]); err != nil {
		return v1Counters{}, nil, r.v.corrupt(err)
	}
	c := v1CountersOf(r.buf)
	used := v1WarpHead + min(int64(c.events), r.v.layout.eventsPerWarp)*v1EventBytes
	// What a lying file claims is allocated as it comes, not at once.
	for have := int64(v1WarpHead); have < used; {
		n := min(used, max(2*have, 1<<16))
		if int64(len(r.buf)) < n {
			r.buf = append(r.buf, make([]byte, n-int64(len(r.buf)))...)
		}
		if _, err := io.ReadFull(r.d, r.buf[have:n]); err != nil {
			return c, nil, r.v.corrupt(err)
		}
		have = n
	}
	if _, err := io.CopyN(io.Discard, r.d, stride-used); err != nil {
		return c, nil, r.v.corrupt(err)
	}
	return c, r.buf[v1WarpHead:used], nil
}

// maxSlot is the most bytes that the events of one warp may take.
const maxSlot = 1 << 30

func (r *inflatedSlots) close() { r.d.Close() }
