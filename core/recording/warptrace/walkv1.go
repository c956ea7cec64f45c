package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// slotReader reads the event buffers of warps in ascending order, under file.Guarded.
type slotReader interface {
	// next returns the counters of the next slot and its events, valid until the next call.
	next() (v1Counters, V1Events, error)
	// mapping is what the events that next returned lie in, nil: a buffer.
	mapping() *file.Mapping
	// finish is called behind the last slot. It says what is missing from the rings, which lie behind the events.
	finish() (cut bool, err error)
	close()
}

// v1Stream is one pass over a file of v1, compressed or not.
type v1Stream struct {
	ctx     context.Context
	v       *v1
	slots   slotReader
	slot    int64 // the next one
	info    WarpInfo
	current V1Events
	lost    Losses
	ended   bool
}

func (v *v1) stream(ctx context.Context) (stream, error) {
	slots, err := v.slotReader(ctx)
	if err != nil {
		return nil, err
	}
	return &v1Stream{ctx: ctx, v: v, slots: slots, lost: Losses{SampleRate: v.header.SampleRate}}, nil
}

func (s *v1Stream) next() (WarpInfo, bool, error) {
	for s.slot < s.v.layout.slots {
		if s.slot&0xff == 0 && s.ctx.Err() != nil {
			return WarpInfo{}, false, s.ctx.Err()
		}
		c, events, err := s.slots.next()
		if err != nil {
			return WarpInfo{}, false, err
		}
		s.slot++
		if c == (v1Counters{}) {
			continue
		}
		s.info, s.current = s.v.info(s.slot-1, c), events
		s.lost.count(&s.info)
		return s.info, true, nil
	}
	if s.ended {
		return WarpInfo{}, false, nil
	}
	s.ended = true
	cut, err := s.slots.finish()
	s.v.addNotes(&s.lost, cut)
	return WarpInfo{}, false, err
}

func (s *v1Stream) events() (V1Events, bool) { return s.current, true }
func (s *v1Stream) mapping() *file.Mapping   { return s.slots.mapping() }
func (s *v1Stream) losses() Losses           { return s.lost }
func (s *v1Stream) close()                   { s.slots.close() }

func (s *v1Stream) decode(into *Warp, rings bool) error {
	into.reset(s.info, 0)
	s.current.decode(0, s.current.Len(), into)
	if !rings || !s.v.layout.hasRings() {
		return nil
	}
	at := 0
	if s.v.layout.compressed() { // plain files are read by number
		index, err := s.v.index(s.ctx)
		if err != nil {
			return err
		}
		at, _ = find(index, s.info.Warp)
	}
	return s.v.readRings(s.v.place(at, s.info.Warp), into)
}

// sameEvents compares the events of a warp. Without values the last four bytes of each event and its reserved field do not count.
func sameEvents(a, b V1Events, values bool) bool {
	if values || len(a) != len(b) {
		return bytes.Equal(a, b)
	}
	for len(a) > 0 {
		n := min(sameAtOnce, len(a))
		if x, y := a[:n], b[:n]; !bytes.Equal(x, y) && !sameControls(x, y) {
			return false
		}
		a, b = a[n:], b[n:]
	}
	return true
}

// sameAtOnce is how many bytes of events are compared before what differs is looked at.
const sameAtOnce = 256 * v1EventBytes

// sameControls compares events without their values.
func sameControls(x, y V1Events) bool {
	for len(x) >= v1EventBytes && len(y) >= v1EventBytes {
		low := binary.LittleEndian.Uint64(x) ^ binary.LittleEndian.Uint64(y)
		mask := binary.LittleEndian.Uint32(x[8:]) ^ binary.LittleEndian.Uint32(y[8:])
		if low&v1ControlMask != 0 || mask != 0 {
			return false
		}
		x, y = x[v1EventBytes:], y[v1EventBytes:]
	}
	return true
}

// slotReader starts a pass over the event buffers.
func (v *v1) slotReader(ctx context.Context) (slotReader, error) {
	if !v.layout.compressed() {
		return &plainSlots{src: v.src, layout: v.layout}, nil
	}
	d, err := v.inflate(ctx)
	if err != nil {
		return nil, err
	}
	return &inflatedSlots{v: v, d: d, buf: make([]byte, v1WarpHead)}, nil
}

// slotWindow is how much of a file is read at once: both sides together stay in a core's second-level cache.
const slotWindow = 128 << 10

// slotsAtOnce is how many slots are read at once that just miss the window, when they are mostly in use: original prlx writes such.
const slotsAtOnce = 2

// mappedWindow is how much of a file is mapped at once: enough that mapping costs little, and no more than the machine has at hand.
const mappedWindow = 2 << 20

// plainSlots reads the buffers of an uncompressed file: mapped where they are small or mostly in use, else one by one and only what is
// used. Where nothing can be mapped it reads several small ones at once.
type plainSlots struct {
	src      *file.Source
	layout   *v1Layout
	slot     int64 // the next one
	buf      []byte
	held     []byte        // of whole slots
	first    int64         // slot at the start of held
	used     int64         // bytes of the last slot that were in use
	window   *file.Mapping // that held lies in, nil: buf
	unmapped bool          // it cannot be mapped
}

func (r *plainSlots) next() (v1Counters, V1Events, error) {
	slot, stride := r.slot, r.layout.warpBytes()
	r.slot++
	if at := (slot - r.first) * stride; at < int64(len(r.held)) {
		return r.cut(r.held[at:][:stride])
	}
	if err := r.release(); err != nil {
		return v1Counters{}, nil, err
	}
	n := slotWindow / stride
	if !r.unmapped && (n > 1 || r.used >= stride-stride/4) && r.mapped(slot, stride) {
		return r.cut(r.held[:stride])
	}
	if n < slotsAtOnce && slotsAtOnce*stride <= slotWindow+slotWindow/4 && r.used >= stride-stride/4 {
		n = slotsAtOnce
	}
	if n > 1 {
		return r.several(slot, stride, min(n, r.layout.slots-slot))
	}
	return r.single(slot, stride)
}

// mapped maps the slots of a window.
func (r *plainSlots) mapped(slot, stride int64) bool {
	n := min(max(1, mappedWindow/stride), r.layout.slots-slot)
	if r.window = r.src.Map(v1Header+slot*stride, int(n*stride)); r.window == nil {
		r.unmapped = true
		return false
	}
	r.first, r.held = slot, r.window.Bytes()
	return true
}

// release lets go of what was held.
func (r *plainSlots) release() error {
	m := r.window
	r.held, r.window = nil, nil
	if m == nil {
		return nil
	}
	return m.Release()
}

// several reads several slots at once.
func (r *plainSlots) several(slot, stride, n int64) (v1Counters, V1Events, error) {
	r.buf = grown(r.buf, n*stride)
	if _, err := r.src.ReadAt(r.buf[:n*stride], v1Header+slot*stride); err != nil {
		return v1Counters{}, nil, shorter(r.src.Path(), v1Header+slot*stride, err)
	}
	r.first, r.held = slot, r.buf[:n*stride]
	return r.cut(r.buf[:stride])
}

// single reads one slot: as much as the one before used, then the rest.
func (r *plainSlots) single(slot, stride int64) (v1Counters, V1Events, error) {
	off := v1Header + slot*stride
	got := max(v1WarpHead, r.used)
	r.buf = grown(r.buf, got)
	if _, err := r.src.ReadAt(r.buf[:got], off); err != nil {
		return v1Counters{}, nil, shorter(r.src.Path(), off, err)
	}
	c := v1CountersOf(r.buf)
	r.used = v1WarpHead + r.layout.usedBytes(c)
	if r.used > got {
		r.buf = grown(r.buf, r.used)
		if _, err := r.src.ReadAt(r.buf[got:r.used], off+got); err != nil {
			return v1Counters{}, nil, shorter(r.src.Path(), off+got, err)
		}
	}
	return c, r.buf[v1WarpHead:r.used], nil
}

func (r *plainSlots) cut(b []byte) (v1Counters, V1Events, error) {
	c := v1CountersOf(b)
	r.used = v1WarpHead + r.layout.usedBytes(c)
	return c, b[v1WarpHead:r.used], nil
}

func (r *plainSlots) finish() (bool, error)  { return false, r.release() }
func (r *plainSlots) close()                 { _ = r.release() }
func (r *plainSlots) mapping() *file.Mapping { return r.window }

// grown makes room for n bytes and keeps what is there.
func grown(b []byte, n int64) []byte {
	if int64(len(b)) < n {
		b = append(b, make([]byte, n-int64(len(b)))...)
	}
	return b
}

// inflatedSlots reads the buffers of a compressed file while it is inflated.
type inflatedSlots struct {
	v   *v1
	d   *zstd.Decoder
	buf []byte
}

func (r *inflatedSlots) next() (v1Counters, V1Events, error) {
	if _, err := io.ReadFull(r.d, r.buf[:v1WarpHead]); err != nil {
		return v1Counters{}, nil, r.v.corrupt(err)
	}
	c := v1CountersOf(r.buf)
	used := v1WarpHead + r.v.layout.usedBytes(c)
	// What a lying file claims is allocated as it comes, not at once.
	for have := int64(v1WarpHead); have < used; {
		n := min(used, max(2*have, 1<<16))
		r.buf = grown(r.buf, n)
		if _, err := io.ReadFull(r.d, r.buf[have:n]); err != nil {
			return c, nil, r.v.corrupt(err)
		}
		have = n
	}
	if _, err := io.CopyN(io.Discard, r.d, r.v.layout.warpBytes()-used); err != nil {
		return c, nil, r.v.corrupt(err)
	}
	return c, r.buf[v1WarpHead:used], nil
}

// finish inflates what lies behind the events, for the frame's checksum and for its size, which must be what the header implies.
func (r *inflatedSlots) finish() (bool, error) {
	rest := r.v.layout.payload - r.v.layout.eventBytes()
	n, err := io.Copy(io.Discard, io.LimitReader(r.d, rest+1))
	if err != nil {
		return false, r.v.corrupt(err)
	}
	if n > rest {
		return false, r.v.tooLong()
	}
	return n < rest, nil
}

func (r *inflatedSlots) close()                 { r.d.Close() }
func (r *inflatedSlots) mapping() *file.Mapping { return nil }

// tooLong is the error for a frame that holds more than the header implies.
func (v *v1) tooLong() error {
	return fault.Formatf(v.src.Path(), v1Header, "the compressed events inflate to more than the %d bytes that the header implies", v.layout.payload).
		WithHint("the header does not belong to these events: record again, or copy the file again")
}
